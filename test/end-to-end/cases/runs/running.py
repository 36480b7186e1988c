# SPDX-License-Identifier: Apache-2.0
"""How a run goes: learning rates, its configuration, and what ends it."""

import json
import os
import re

import numpy as np
from harness import HERE, case, check, check_close, check_relative, golden, initializers
from launch import ALONE, compile_for, mpirun

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


@case("schedule-of-plateaus")
def plateaus(ingot):
    """The rate follows evaluations as torch's ReduceLROnPlateau does, in a run that is resumed too."""
    trainer, folder = trainer_of(ingot), ingot.path("save")
    # So large a rate that the loss does not always fall.
    base = ["--data", G.data, "--eval-data", G.data, "--eval-every", "2", "--lr", "0.3"]
    base += ["--schedule", "plateau:0.5:1", "--steps", "40"]
    rows, evaluations = ingot.train(trainer, *base)
    rate, best, bad, rates = 0.3, float("inf"), 0, []
    for evaluation in evaluations:
        rates += [rate, rate]
        bad = 0 if evaluation["eval_loss"] < best * (1 - 1e-4) else bad + 1
        best = best if bad else evaluation["eval_loss"]
        if bad > 1:
            rate, bad = rate * 0.5, 0
    check(len(set(rates)) > 2, f"the rate never falls: {rates}")
    check_relative("rates", [row["lr"] for row in rows], rates, 1e-9)
    short = [*base[:-1], "23", "--save", folder, "--save-every", "7"]
    ingot.train(trainer, *short)
    resumed, _ = ingot.train(
        trainer, *base[:6], "--steps", "40", "--resume", folder / "step-21", log_from=22
    )  # fmt: skip
    check([r["loss"] for r in resumed] == [r["loss"] for r in rows[21:]], "another run after --resume")
    ingot.check_error([trainer, "--data", G.data, "--schedule", "plateau"], 2, "--schedule", "plateau needs")
    ingot.check_error([trainer, "--data", G.data, "--schedule", "plateau:2"], 2, "--schedule", "not below 1")


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
    fifo, large = ingot.path("fifo"), ingot.path("large.toml")
    os.mkfifo(fifo)
    large.write_bytes(b"#" * (2 << 20))
    for path, words in [
        (fifo, "not a regular file"),
        ("/dev/zero", "not a regular file"),
        (large, "larger than 1 MiB"),
    ]:
        ingot.check_error([trainer, "--config", path], 2, "--config", words)


def read_state(path):
    """The tensors of a safetensors file that are f32."""
    content = path.read_bytes()
    size = int.from_bytes(content[:8], "little")
    tensors = {}
    for name, entry in json.loads(content[8 : 8 + size]).items():
        if name != "__metadata__" and entry["dtype"] == "F32":
            begin, end = (8 + size + at for at in entry["data_offsets"])
            tensors[name] = np.frombuffer(content[begin:end], np.float32).reshape(entry["shape"])
    return tensors


@case("average-of-weights")
def average(ingot):
    """Evaluated, predicted with and exported: torch's AveragedModel (average_goldens.py)."""
    goldens = json.loads((HERE / "goldens-average.json").read_text())
    trainer = ingot.compile(G.model, *G.compile_flags(goldens["optimizer"]))
    base = ["--data", G.data, "--eval-data", G.data, "--no-shuffle", *goldens["flags"]]
    for decay, want in goldens["runs"].items():
        out, folder = ingot.path("out.onnx"), ingot.path("save")
        flags = [*base, "--steps", goldens["steps"], "--ema", decay]
        _, evaluations = ingot.train(trainer, *flags, "--export", out, "--save", folder)
        trained = initializers(out)
        for name, values in want["weights"].items():
            check_close(name, trained[name].ravel(), values, 1e-6)
        check_relative("eval_loss", [evaluations[-1]["eval_loss"]], [want["eval_loss"]], 1e-6)
        # The checkpoint has both, and a resumed run goes on with both.
        state = read_state(folder / f"step-{goldens['steps']}/state.safetensors")
        for name in want["weights"]:
            check(np.array_equal(state[name + "/ema"], trained[name]), f"{name}: another average")
            check(not np.array_equal(state[name], trained[name]), f"{name}: the weights are the average")
        part, whole, resumed = ingot.path("part"), ingot.path("whole.onnx"), ingot.path("resumed.onnx")
        ingot.succeed([trainer, *base, "--steps", "9", "--ema", decay, "--export", whole])
        ingot.succeed([trainer, *base, "--steps", "6", "--ema", decay, "--save", part])
        ingot.succeed([trainer, *base, "--resume", part, "--steps", "9", "--export", resumed])
        check(resumed.read_bytes() == whole.read_bytes(), "another average after a resume")


@case("average-in-bf16")
def average_bf16(ingot):
    """Split masters come back with their bits after each evaluation."""
    trainer = ingot.compile(G.model, *G.compile_flags("adamw"), "--precision", "bf16")
    base = ["--data", G.data, "--eval-data", G.data, "--steps", "12", "--lr", "0.01"]
    plain, _ = ingot.train(trainer, *base)
    averaged, evaluations = ingot.train(trainer, *base, "--ema", "0.9", "--eval-every", "1")
    check([r["loss"] for r in plain] == [r["loss"] for r in averaged], "evaluations change the training")
    _, current = ingot.train(trainer, *base, "--eval-every", "1")
    check(evaluations[0] == current[0], "the first average is the weights")
    check(evaluations[-1] != current[-1], "the average was not evaluated")


def make_hard_data(ingot, at=None):
    """The data of the case, with a value that is not finite in the samples `at`."""
    path = ingot.path("data.npz")
    with np.load(G.data) as arrays:
        content = {k: arrays[k].copy() for k in arrays}
    if at is not None:
        content["x"][at] = -3e38
    np.savez(path, **content)
    return path


@case("early-stop-and-best")
def early_stop(ingot):
    """A rate that is too high gets worse: the best checkpoint stays, and the run ends."""
    trainer, folder, log = trainer_of(ingot), ingot.path("save"), ingot.path("log.jsonl")
    flags = ["--data", G.data, "--eval-data", G.data, "--eval-every", "5", "--lr", "0.5", "--no-shuffle"]
    result = ingot.succeed(
        [trainer, *flags, "--steps", "4000", "--early-stop", "4", "--best", "eval_loss", "--save", folder,
         "--save-every", "3", "--keep", "3", "--log", log]
    )  # fmt: skip
    rows = [json.loads(line) for line in log.read_text().splitlines()]
    evaluations = [(row["eval_loss"], row["step"]) for row in rows if "eval_loss" in row]
    best, step = min(evaluations)
    last = evaluations[-1][1]
    check(last == step + 4 * 5 and last < 4000, f"best at {step}, ended at {last}")
    check(f"stopping after step {last}" in result.err, result.err)
    kept = {p.name for p in folder.glob("step-*")}
    newest = {f"step-{n}" for n in ([last] + [n for n in range(last - 1, 0, -1) if n % 3 == 0])[:3]}
    check(kept == newest | {f"step-{step}"}, f"kept {kept}, best {step}, newest {newest}")
    check((folder / "best").read_text().startswith(f"step-{step}\n"), "another best")
    _, again = ingot.train(
        trainer, "--eval-data", G.data, "--resume", folder / "best", "--steps", "0", log_from=step + 1
    )
    check(again[0]["eval_loss"] == best, f"the best one evaluates to {again[0]}, not {best}")
    # A resumed run counts on.
    result = ingot.succeed([trainer, *flags, "--steps", "4000", "--early-stop", "6", "--resume", folder])
    check(f"stopping after step {last + 10}" in result.err, result.err)
    # Found before the first step.
    said = ingot.check_error([trainer, *flags, "--steps", "9", "--best", "elegance"], 2, "--best", "eval_elegance").err
    check("step" not in said and "eval_loss" in said, said)
    ingot.check_error([trainer, *flags, "--steps", "9", "--log-max-mb", "1"], 2, "--log-max-mb", "--log")


@case("max-time")
def max_time(ingot):
    """A run ends in order when its time has passed, and the next one goes on as if it had not."""
    trainer, folder, out = trainer_of(ingot), ingot.path("save"), ingot.path("out.onnx")
    flags = ["--data", G.data, "--eval-data", G.data, "--eval-every", "1000000"]
    result = ingot.succeed(
        [trainer, *flags, "--steps", "100000000", "--max-time", "0.5s", "--save", folder, "--export", out]
    )
    ended = re.search(r"--max-time: 0.5 s have passed, ends after step (\d+)\n", result.err)
    check(ended and (folder / f"step-{ended[1]}").is_dir() and out.exists(), result.err)
    check("eval_loss" in result.err, result.err)
    steps = str(int(ended[1]) + 2)
    check("--max-time" not in ingot.succeed([trainer, *flags, "--steps", steps, "--max-time", "2d"]).err, "has passed")
    ingot.succeed([trainer, *flags, "--steps", steps, "--resume", folder, "--max-time", "1.5h"])
    # The time of one rank ends all, and ranks that have none and some do not wait for each other.
    ranks = ingot.path("ranks")
    parallel = compile_for(ingot, G, "adamw", 2)
    base = [parallel, "--data", G.data, "--steps", "100000000"]
    own = [*base, "--max-time", "0.5"]
    other = [*base, "--max-time", "9h"]
    result = ingot.run([*mpirun(1), *own, "--save", ranks, ":", "-n", 1, *other], env=ALONE, timeout=90)
    check(result.status == 0 and len(list(ranks.glob("step-*"))) == 1, f"exit {result.status}: {result.err}")
    result = ingot.run([*mpirun(1), *own, ":", "-n", 1, *base], env=ALONE, timeout=90)
    check(result.status == 1 and "another --max-time" in result.err, f"exit {result.status}: {result.err}")
    for wrong in ("0", "-1s", "1w", "h", "nan", "1e9d", "", "5 m"):
        ingot.check_error([trainer, *flags, f"--max-time={wrong}"], 2, "--max-time")


@case("nan-stop-skip-rollback")
def nan_policies(ingot):
    guarded = trainer_of(ingot, "--guard")
    plain = trainer_of(ingot)
    hard = make_hard_data(ingot, slice(16, 17))
    base = ["--data", hard, "--no-shuffle", "--steps", "6", "--lr", "1e-2"]
    ingot.check_error([plain, *base], 1, "step 3", "not")
    ingot.check_error([guarded, *base], 1, "step 3", "not finite")
    ingot.check_error([plain, *base, "--nan", "skip"], 2, "--nan")
    log = ingot.path("log.jsonl")
    result = ingot.succeed([guarded, *base, "--nan", "skip", "--log", log])
    rows = [json.loads(line) for line in log.read_text().splitlines()]
    check([row.get("skipped", False) for row in rows] == [False, False, True, False, False, False], f"{rows}")
    check("step 3: skipped" in result.err and "1 of 6 steps were skipped" in result.err, result.err)
    check(all(np.isfinite(row["loss"]) for row in rows if not row["skipped"]), f"{rows}")
    # The check alone changes no bits.
    same = ["--data", G.data, "--no-shuffle", "--steps", "8", "--clip-norm", "1"]
    check(
        [r["loss"] for r in ingot.train(guarded, *same)[0]] == [r["loss"] for r in ingot.train(plain, *same)[0]],
        "the guard changes losses",
    )


@case("nan-rollback")
def nan_rollback(ingot):
    """A rate far too high: half of it, and half of that, until it goes through."""
    trainer = ingot.compile(golden("regression").model, *golden("regression").compile_flags("momentum"))
    folder, log = ingot.path("save"), ingot.path("log.jsonl")
    data = golden("regression").data
    base = [trainer, "--data", data, "--steps", "300", "--lr", "8"]
    ingot.check_error(base, 1, "step")
    result = ingot.succeed(
        [*base, "--nan", "rollback", "--save", folder, "--save-every", "5", "--keep", "4", "--log", log]
    )
    scales = [float(n) for n in re.findall(r"with (\S+) of the learning rate", result.err)]
    check(scales and scales == [0.5 ** (i + 1) for i in range(len(scales))], result.err)
    rows = [json.loads(line) for line in log.read_text().splitlines()]
    check([row["step"] for row in rows] == list(range(1, 301)), "a step is missing, or there twice")
    check(rows[-1]["lr"] == 8 * scales[-1] and np.isfinite(rows[-1]["loss"]), f"{rows[-1]}")
    # A resumed run keeps its rate.
    rows, _ = ingot.train(trainer, "--data", data, "--resume", folder, "--steps", "302", log_from=301)
    check([row["lr"] for row in rows] == [8 * scales[-1]] * 2, f"{rows}")


@case("save-on-a-full-disk")
def full_disk(ingot):
    """Checkpoints that do not fit are warned of; the run goes on, and saves once there is space."""
    if os.geteuid() != 0 or ingot.run(["unshare", "-m", "true"]).status != 0:
        return
    trainer, folder, log = trainer_of(ingot), ingot.path("disk"), ingot.path("log.jsonl")
    folder.mkdir()
    # Another file takes the space until the run is under way.
    script = (
        'mount -t tmpfs -o size=256k none "$0" && head -c 250000 /dev/zero > "$0/filler"; '
        '"$@" & run=$!; while [ "$(wc -l < "$LOG")" -lt 400 ]; do sleep 0.02; done; ls "$0" >&2; '
        'rm "$0/filler"; wait $run; status=$?; ls "$0/save" >&2; exit $status'
    )
    log.write_text("")
    command = [
        trainer,
        "--data",
        G.data,
        "--steps",
        "3000",
        "--save",
        folder / "save",
        "--save-every",
        "20",
        "--log",
        log,
    ]
    result = ingot.succeed(["unshare", "-m", "bash", "-c", script, folder, *command], env={"LOG": str(log)})
    warnings = [line for line in result.err.splitlines() if line.startswith("warning: ")]
    check(warnings and all("No space left" in line for line in warnings), result.err)
    check(len(warnings) < 5, f"{len(warnings)} warnings of one problem")
    check("step-3000" in result.err.splitlines(), result.err)
    check(len(log.read_text().splitlines()) == 3000, "the log is not whole")
