# SPDX-License-Identifier: Apache-2.0
"""Ranks that share the memory of the optimizer's state (--zero)."""

import json

import numpy as np
from harness import case, check, check_close, golden, initializers, read_log
from launch import ALONE, compile_for, losses, mpirun, run_ranks

STEPS = 50


@case("zero-losses")
def equal(ingot):
    """Stages, ranks and micro-batches make no difference."""
    g = golden("mlp")
    # Not in the order of the file: see parallel.py.
    flags = ["--data", g.data, "--steps", STEPS, "--seed", "5"]
    want = losses(ingot, 1, compile_for(ingot, g, "adamw", 1), *flags)
    for stage in ("1", "2"):
        for ranks, accumulation in ((1, 1), (2, 1), (2, 2), (4, 1)):
            trainer = compile_for(
                ingot, g, "adamw", ranks * accumulation,
                "--bucket-mb", "0.01", "--zero", stage, "--grad-accumulation", str(accumulation),
            )  # fmt: skip
            got = losses(ingot, ranks, trainer, *flags)
            check_close(f"stage {stage}, {ranks} ranks, {accumulation} micro-batches", got, want, 1e-5)


@case("zero-models")
def models(ingot):
    """Other models and optimizers."""
    for name, optimizer in {"regression": "momentum", "multilabel": "adagrad", "loss-in-graph": "lion"}.items():
        g = golden(name)
        flags = ["--data", g.data, "--steps", 20, "--no-shuffle"]
        want = losses(ingot, 1, compile_for(ingot, g, optimizer, 1), *flags)
        trainer = compile_for(ingot, g, optimizer, 2, "--zero", "2", "--no-decay", "bias")
        plain = losses(ingot, 1, compile_for(ingot, g, optimizer, 1, "--no-decay", "bias"), *flags)
        check_close(name, losses(ingot, 2, trainer, *flags), plain, 1e-5)
        check(len(want) == 20, "steps are missing")


@case("zero-clip")
def clip(ingot):
    """The norm is that of all ranks' shards."""
    g = golden("mlp")
    flags = ["--data", g.data, "--steps", STEPS, "--no-shuffle", "--clip-norm", 0.5]
    want = run_ranks(ingot, 1, compile_for(ingot, g, "adamw", 1, "--clip"), *flags)[0]
    for stage in ("1", "2"):
        trainer = compile_for(ingot, g, "adamw", 2, "--clip", "--zero", stage, "--bucket-mb", "0.01")
        got = run_ranks(ingot, 2, trainer, *flags)[0]
        for key in ("loss", "grad_norm"):
            check_close(f"stage {stage}: {key}", [s[key] for s in got], [s[key] for s in want], 1e-5)


@case("zero-low-precision")
def low_precision(ingot):
    """Ranks skip the same steps and scale alike; moments may be of 16 bits too."""
    g = golden("mlp")
    flags = ["--data", g.data, "--steps", STEPS, "--no-shuffle"]
    for options in (
        ["--precision", "bf16"],
        ["--precision", "fp16"],
        ["--grad-comm", "bf16"],
        ["--optimizer-precision", "bf16"],
    ):
        want = run_ranks(ingot, 1, compile_for(ingot, g, "adamw", 1, *options), *flags)[0]
        got = run_ranks(ingot, 2, compile_for(ingot, g, "adamw", 2, *options, "--zero", "2"), *flags)[0]
        check_close(" ".join(options), [s["loss"] for s in got], [s["loss"] for s in want], 1e-2)
        if "fp16" in options:
            check([s["loss_scale"] for s in got] == [s["loss_scale"] for s in want], "other loss scales")


@case("zero-memory")
def memory(ingot):
    """The optimizer's state takes an Nth of what it takes alone, and stage 2 the gradients, too."""
    g = golden("mlp")
    for stage in ("1", "2"):
        trainer = compile_for(ingot, g, "adamw", 2, "--zero", stage)
        parts = {}
        for ranks in (1, 2, 4):
            plan = json.loads(ingot.succeed([trainer, "--inspect=json", "--ranks", ranks]).out)
            check(sum(v for k, v in plan.items() if k.endswith("_bytes") and k != "peak_bytes") == plan["peak_bytes"],
                  "the parts are not the whole")  # fmt: skip
            parts[ranks] = plan
        elements = sum(np.prod(p["shape"], dtype=int) for p in parts[1]["parameters"])
        # Shards begin at multiples of 32 elements, tensors in them at 64 bytes, and each has an address.
        slack = len(parts[1]["parameters"]) * 2 * 3 * 128
        for ranks, plan in parts.items():
            check(abs(plan["optimizer_bytes"] - 8 * elements / ranks) < slack, f"{plan['optimizer_bytes']} bytes")
            if stage == "2":
                check(abs(plan["gradient_bytes"] - 4 * elements / ranks) < slack, f"{plan['gradient_bytes']} bytes")


@case("zero-check-memory")
def check_memory(ingot):
    """What steps wait for first leaves the inputs alone."""
    g = golden("mlp")
    for options in ([], ["--precision", "bf16"]):
        trainer = compile_for(ingot, g, "adamw", 2, "--zero", "1", "--bucket-mb", "0.01", *options)
        losses(ingot, 2, trainer, "--data", g.data, "--steps", 3, "--check-memory")


@case("zero-exchanges")
def exchanges(ingot):
    """Gradients and parameters are exchanged once a step, whatever the micro-batches."""
    g = golden("mlp")
    trainer = compile_for(
        ingot, g, "adamw", 4, "--zero", "2", "--bucket-mb", "0.01", "--grad-accumulation", "2"
    )  # fmt: skip
    path = ingot.path("trace.json")
    ingot.succeed([*mpirun(2), trainer, "--data", g.data, "--steps", "3", "--profile", path], env=ALONE)
    events = json.loads(path.read_text())["traceEvents"]
    for kind in ("reduce-scatter of bucket", "all-gather of bucket"):
        seen = [(e["args"]["step"], e["name"]) for e in events if e["name"].startswith(kind)]
        check(len(seen) >= 6 and len(set(seen)) == len(seen), f"{kind}: {seen}")


@case("zero-plan")
def plan(ingot):
    """What a cluster would take, from the links' figures."""
    g = golden("mlp")
    cluster = ingot.path("cluster.json")
    link = {"latency_us": 5, "bandwidth_gbps": 8}
    cluster.write_text(json.dumps({"ranks": [1, 2, 4096], "between": link, "step_ms": 2}))
    command = ingot.ingotc(
        g.model, "--loss", g.loss, "--batch", 16, "--data-parallel", "--bucket-mb", 1, "--plan", cluster
    )
    plain = json.loads(ingot.succeed(command).out)
    check_close("a rank alone", [plain[0]["step_ms"], plain[0]["exchange_ms"]], [2, 0], 1e-6)
    # Two ranks exchange each byte once in each direction; the loss has a bucket, too.
    params = json.loads(ingot.succeed([compile_for(ingot, g, "adamw", 2), "--inspect=json"]).out)["parameters"]
    seconds = 4 * sum(np.prod(p["shape"], dtype=int) for p in params) / 1e9 + 4 * 5e-6
    check_close("two ranks", plain[1]["exchange_ms"], 1e3 * seconds, 0.02)
    # A message of each rank: a quarter of the bytes once, where sums go around twice, by half.
    coded = json.loads(ingot.succeed([*command, "--grad-comm", "int8"]).out)
    check_close("int8", coded[1]["exchange_ms"] - 4 * 5e-3, (plain[1]["exchange_ms"] - 4 * 5e-3) * 260 / 1024, 0.05)
    for one in plain:
        check_close("the step", one["step_ms"], one["compute_ms"] + one["exposed_ms"], 1e-6)
        check(one["exposed_ms"] <= one["exchange_ms"], f"waits longer than exchanges take: {one}")
    # What computes moves the data, too: in and out, once for each half of an exchange.
    host = {"exchange_us": 100, "bandwidth_gbps": 16}
    cluster.write_text(json.dumps({"ranks": [1, 2], "between": link, "host": host, "step_ms": 2}))
    moved = json.loads(ingot.succeed(command).out)
    check(moved[0]["host_ms"] == 0, "a rank alone sends")
    exchanges = round((moved[1]["host_ms"] - 1e3 * 4 * sum(np.prod(p["shape"], dtype=int) for p in params) / 1e9) / 0.1)
    check(exchanges == 2, f"{moved[1]['host_ms']} ms for the loss and a bucket")
    check_close("with sending", moved[1]["step_ms"],
                sum(moved[1][part] for part in ("compute_ms", "host_ms", "exposed_ms")), 1e-6)  # fmt: skip
    cluster.write_text(json.dumps({"ranks": [1, 2, 4096], "between": link, "step_ms": 2}))
    shards = json.loads(ingot.succeed([*command, "--zero", "2"]).out)
    memory = [one["memory_bytes"] for one in shards]
    check(memory[0] > memory[1] > memory[2], f"memory does not shrink: {memory}")
    cluster.write_text(json.dumps({"ranks": [0], "between": link}))
    ingot.check_error(command, 3, "ranks")


@case("zero-checkpoints")
def checkpoints(ingot):
    """Each rank saves its shards; any number of ranks goes on, with shards or without."""
    g = golden("mlp")
    flags = ["--data", g.data, "--no-shuffle"]
    trainers = {
        (ranks, stage): compile_for(ingot, g, "adamw", ranks, "--zero", stage)
        for ranks, stage in ((1, "0"), (1, "2"), (2, "1"), (2, "2"), (4, "2"))
    }
    whole = losses(ingot, 1, trainers[1, "0"], *flags, "--steps", 14)
    saves = {}
    for start in ((1, "0"), (2, "2"), (4, "2")):
        saves[start] = ingot.path("save")
        got = losses(ingot, start[0], trainers[start], *flags, "--steps", 10, "--save", saves[start], "--save-every", 5)
        check_close(f"{start}", got, whole[:10], 1e-5)
        shards = list(saves[start].glob("step-10/shard-*"))
        check(len(shards) == (0 if start[0] == 1 else start[0]), f"{start}: {len(shards)} shards")
    for start, save in saves.items():
        for (ranks, stage), trainer in trainers.items():
            log = ingot.path("log.jsonl")
            launcher = mpirun(ranks) if ranks > 1 else []
            ingot.succeed([*launcher, trainer, *flags, "--steps", 14, "--resume", save, "--log", log], env=ALONE)
            resumed = [step["loss"] for step in read_log(log, first=11)[0]]
            check_close(f"{start} goes on as {ranks}, stage {stage}", resumed, whole[10:], 1e-5)
    # The same ranks: the same bits.
    trainer = trainers[2, "2"]
    straight = losses(ingot, 2, trainer, *flags, "--steps", 14)
    log = ingot.path("log.jsonl")
    ingot.succeed([*mpirun(2), trainer, *flags, "--steps", 14, "--resume", saves[2, "2"], "--log", log], env=ALONE)
    check([s["loss"] for s in read_log(log, first=11)[0]] == straight[10:], "other bits after a resume")
    exported = {}
    for key in ((1, "0"), (2, "2")):
        path = ingot.path("trained.onnx")
        losses(ingot, key[0], trainers[key], *flags, "--steps", 3, "--export", path)
        exported[key] = initializers(path)
    for name, value in exported[1, "0"].items():
        check_close(name, exported[2, "2"][name], value, 1e-5)


@case("zero-save-that-one-rank-cannot-write")
def save_fails(ingot):
    """The other ranks learn of it, training goes on, and no part of a checkpoint is left."""
    g = golden("mlp")
    trainer = compile_for(ingot, g, "adamw", 2, "--zero", "1")
    save, log = ingot.path("save"), ingot.path("log.jsonl")
    own = [trainer, "--data", g.data, "--steps", "30", "--save", save, "--save-every", "10", "--log", log]
    limited = ["sh", "-c", 'ulimit -f 1; exec "$@"', "sh"]
    result = ingot.run([*mpirun(1), *own, ":", "-n", 1, *limited, *own], env=ALONE)
    check(result.status == 1, f"exit {result.status}: {result.err}")
    check("File too large" in result.err and "rank 1: cannot write its part" in result.err, result.err)
    check(len(read_log(log)[0]) == 30, "steps are missing")
    check(not list(save.glob("step-*")) and not (save / "latest").exists(), f"left {list(save.iterdir())}")


@case("zero-best")
def best(ingot):
    """The ranks agree on which checkpoint is the best, also where the last one is."""
    g = golden("mlp")
    trainer = compile_for(ingot, g, "adamw", 2, "--zero", "1")
    save = ingot.path("save")
    flags = ["--data", g.data, "--eval-data", g.data, "--steps", "20", "--eval-every", "5", "--best", "eval_loss"]
    _, evaluations = run_ranks(ingot, 2, trainer, *flags, "--save", save, "--save-every", "4", "--ema", "0.5")
    step = min(evaluations, key=lambda row: row["eval_loss"])["step"]
    check((save / "best").read_text().startswith(f"step-{step}\n"), f"{step} is the best of {evaluations}")
    check((save / "latest").read_text().startswith("step-20\n"), "the last step is not there")
    check(all(list(save.glob(f"step-{at}/shard-*")) for at in (step, 20)), f"{sorted(save.iterdir())}")


@case("zero-batch-norm")
def batch_norm(ingot):
    """Normalization over ranks: what one rank does with the whole batch, with shards or without."""
    g = golden("cnn")
    flags = ["--data", g.data, "--steps", STEPS, "--no-shuffle"]
    want = losses(ingot, 1, compile_for(ingot, g, "sgd", 1), *flags)
    for ranks, options in ((2, []), (4, ["--zero", "2"]), (2, ["--zero", "1", "--bucket-mb", "0.01"])):
        trainer = compile_for(ingot, g, "sgd", ranks, "--sync-batch-norm", *options)
        check_close(f"{ranks} ranks {options}", losses(ingot, ranks, trainer, *flags), want, 1e-5)
