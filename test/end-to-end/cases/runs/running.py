# SPDX-License-Identifier: Apache-2.0
"""How a run goes: learning rates, its configuration, and what ends it."""

import json

from harness import HERE, case, check, check_relative, golden

G = golden("multilabel")


def trainer_of(ingot, *flags):
    return ingot.compile(G.model, *G.compile_flags("adamw"), "--clip", *flags)


@case("schedules-of-torch")
def schedules(ingot):
    """Rates of every step are those of torch.optim.lr_scheduler (schedule_goldens.py)."""
    goldens = json.loads((HERE / "goldens-schedules.json").read_text())
    base = ["--data", G.data, "--steps", goldens["steps"], "--lr", goldens["lr"]]
    for flags, rates in goldens["runs"].items():
        rows, _ = ingot.train(trainer_of(ingot), *base, *flags.split())
        got = [row["lr"] for row in rows]
        # A rate of zero has no relative error.
        check_relative(flags, [1 + rate for rate in got], [1 + rate for rate in rates], 1e-9)
        check_relative(flags, [rate + 1e-12 for rate in got], [rate + 1e-12 for rate in rates], 1e-6)


@case("configuration")
def configuration(ingot):
    """What a run writes beside its log repeats the run."""
    trainer, log, again = trainer_of(ingot), ingot.path("log.jsonl"), ingot.path("again.jsonl")
    flags = ["--schedule", "wsd", "--warmup", "10%", "--lr", "0.02", "--seed", "4", "--log-every", "5"]
    result = ingot.succeed([trainer, "--data", G.data, "--steps", "33", *flags, "--log", log])
    check("model.onnx: adamw, fp32, batch 8; ingotc" in result.err, f"no header: {result.err}")
    stored = log.with_name("log.jsonl.toml")
    check("33 steps" in stored.read_text().splitlines()[0], stored.read_text())
    ingot.succeed([trainer, "--config", stored, "--log", again])
    rows, repeated = ([json.loads(line) for line in path.read_text().splitlines()] for path in (log, again))
    check([row["step"] for row in rows][:4] == [5, 10, 15, 20], f"steps {[row['step'] for row in rows]}")
    check(rows[-1]["step"] == 33 and "stats" in rows[-1], f"the last step is missing: {rows[-1]}")
    check([r["loss"] for r in rows] == [r["loss"] for r in repeated], "another run")
    stats = rows[-1]["stats"]
    check(0 < stats["step_ms_p50"] <= stats["step_ms_p90"] <= stats["step_ms_max"], f"percentiles {stats}")
    check(stats["resident_bytes"] > 1 << 20 and 0 <= stats["data_share"] <= 1, f"stats {stats}")
    # A resumed run is stored with what it inherited.
    folder = ingot.path("save")
    ingot.succeed([trainer, "--config", stored, "--log", again, "--save", folder])
    ingot.succeed([trainer, "--data", G.data, "--resume", folder, "--steps", "40", "--log", again])
    text = again.with_name("again.jsonl.toml").read_text()
    for line in ("lr = 0.02", 'schedule = "wsd:20%"', "steps = 40"):
        check(line in text.splitlines(), f"{line!r} is not in {text!r}")
