# SPDX-License-Identifier: Apache-2.0
"""Several ranks do what one does with the whole batch."""

import json
import os
import pathlib
import re
import signal
import subprocess
import time

import numpy as np
from harness import Failure, case, check, check_close, golden, initializers, read_log
from launch import ALONE, compile_for, losses, mpirun, run_ranks

MODELS = {"mlp": "adamw", "regression": "momentum", "multilabel": "adagrad", "loss-in-graph": "sgd"}
STEPS = 50
# An order of samples in which none comes so close to the kink of a relu that
# rounding decides on its side. In the file's order the mlp's step 23 has one.
ORDER = ["--seed", "5"]


def equal_to_one_rank(name, optimizer):
    def run(ingot):
        g = golden(name)
        flags = ["--data", g.data, "--steps", STEPS, *ORDER]
        want = losses(ingot, 1, compile_for(ingot, g, optimizer, 1), *flags)
        for ranks in (2, 4):
            if g.batch % ranks:
                continue
            trainer = compile_for(ingot, g, optimizer, ranks, "--bucket-mb", "0.01")
            check_close(f"{ranks} ranks", losses(ingot, ranks, trainer, *flags), want, 1e-5)

    return run


for model, optimizer in MODELS.items():
    case(f"ranks-{model}")(equal_to_one_rank(model, optimizer))


@case("ranks-shuffle-clip")
def shuffled(ingot):
    """All ranks clip by one norm, and evaluate together."""
    g = golden("mlp")
    flags = ["--data", g.data, "--eval-data", g.data, "--steps", STEPS, "--seed", 5, "--clip-norm", 0.5]
    want = run_ranks(ingot, 1, compile_for(ingot, g, "adamw", 1, "--clip"), *flags)
    got = run_ranks(ingot, 2, compile_for(ingot, g, "adamw", 2, "--clip"), *flags)
    for key in ("loss", "grad_norm"):
        check_close(key, [s[key] for s in got[0]], [s[key] for s in want[0]], 1e-5)
    for key in ("eval_loss", "eval_accuracy"):
        check_close(key, got[1][-1][key], want[1][-1][key], 1e-5)


@case("ranks-masks")
def masks(ingot):
    """Means are over labels that count, whichever rank has them."""
    g = golden("mlp")
    with np.load(g.data) as arrays:
        data = {name: arrays[name] for name in arrays}
    keep = np.random.default_rng(3).random(len(data["labels"])) < 0.6
    # A rank without any.
    keep[: g.batch // 4] = False
    data["labels"] = np.where(keep, data["labels"], -100)
    path = ingot.path("masked.npz")
    np.savez(path, **data)
    flags = ["--data", path, "--steps", STEPS, "--no-shuffle"]
    want = losses(ingot, 1, ingot.compile(g.model, *g.compile_flags("adamw")), *flags)
    for ranks, accumulation in ((4, 1), (2, 2), (1, 4)):
        trainer = compile_for(ingot, g, "adamw", ranks * accumulation, "--grad-accumulation", str(accumulation))
        got = losses(ingot, ranks, trainer, *flags)
        check_close(f"{ranks} ranks, {accumulation} micro-batches", got, want, 1e-5)


@case("ranks-low-precision")
def low_precision(ingot):
    """Ranks skip the same steps and scale alike."""
    g = golden("mlp")
    flags = ["--data", g.data, "--steps", STEPS, "--no-shuffle"]
    for precision in ("bf16", "fp16"):
        logs = []
        for ranks in (1, 2):
            trainer = compile_for(ingot, g, "adamw", ranks, "--precision", precision)
            logs.append(run_ranks(ingot, ranks, trainer, *flags)[0])
        want, got = logs
        check_close(precision, [s["loss"] for s in got], [s["loss"] for s in want], 1e-2)
        if precision == "fp16":
            check([s["loss_scale"] for s in got] == [s["loss_scale"] for s in want], "other loss scales")


@case("ranks-grad-comm")
def grad_comm(ingot):
    """Gradients of 16 bits on the way: close, and not the same."""
    g = golden("mlp")
    flags = ["--data", g.data, "--steps", STEPS, "--no-shuffle"]
    want = losses(ingot, 2, compile_for(ingot, g, "adamw", 2), *flags)
    for sent in ("bf16", "fp16"):
        got = losses(ingot, 2, compile_for(ingot, g, "adamw", 2, "--grad-comm", sent), *flags)
        check_close(sent, got, want, 1e-2)
        check(got != want, f"{sent}: nothing was rounded")


@case("ranks-log-of-collectives")
def log_of_collectives(ingot):
    """The log says what collectives cost and carry; a single rank has none."""
    g = golden("mlp")
    flags = ["--data", g.data, "--steps", 40]
    for ranks in (1, 2):
        trainer = compile_for(ingot, g, "adamw", ranks)
        rows = run_ranks(ingot, ranks, trainer, *flags)[0]
        stats = [row["stats"] for row in rows if "stats" in row]
        check(stats and all(("exposed_share" in s) == (ranks > 1) for s in stats), f"{ranks} ranks: {stats}")
        if ranks == 1:
            continue
        check(all(0 < s["exposed_share"] <= 1 for s in stats), f"waits: {stats}")
        # Each step sends the gradients, and a few words.
        gradients = 4 * sum(w.size for w in g.weights("adamw").values())
        sent, first = 0, 0
        for row in rows:
            if "stats" in row:
                window = sum(r["step_ms"] for r in rows[first : row["step"]]) * 1e-3
                sent, first = sent + row["stats"]["sent_bytes_per_s"] * window, row["step"]
        check(1 <= sent / 40 / gradients < 1.2, f"{sent / 40:.0f} bytes a step, gradients have {gradients}")


@case("ranks-repeat")
def repeat(ingot):
    """The same bits from run to run."""
    g = golden("mlp")
    trainer = compile_for(ingot, g, "adamw", 4)
    flags = ["--data", g.data, "--steps", 20, "--seed", 3]
    first, second = (losses(ingot, 3, trainer, *flags) for _ in range(2))
    check(first == second, "two runs differ")


def signal_one(ingot, trainer, number, *flags, save=None):
    """Sends the signal to rank 1 in the middle of a run, after a checkpoint if it saves; the launcher's result, and
    the last collectives of rank 0."""
    g = golden("mlp")
    record, log = ingot.path("record"), ingot.path("log.jsonl")
    command = [*mpirun(2), trainer, "--data", g.data, "--epochs", "1000000", "--comm-record", record, "--log", log]
    command += [*flags, *(["--save", save, "--save-every", "1"] if save else [])]

    def is_under_way():
        steps = log.read_bytes().count(b"\n") if log.exists() else 0
        return steps >= 5 and (not save or (save / "latest").exists())

    process = subprocess.Popen(
        [str(part) for part in command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **ALONE},
    )
    victim = None
    until = time.monotonic() + 120
    while victim is None and time.monotonic() < until:
        time.sleep(0.2)
        for entry in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                own = f"{trainer}\0" in (entry / "cmdline").read_text()
                ours = f"PPid:\t{process.pid}\n" in (entry / "status").read_text()
                rank = "OMPI_COMM_WORLD_RANK=1\0" in (entry / "environ").read_text()
            except OSError:
                continue
            if own and ours and rank:
                victim = int(entry.name)
    check(victim, "rank 1 did not start")
    # However long the first steps take.
    while not is_under_way() and process.poll() is None and time.monotonic() < until:
        time.sleep(0.05)
    os.kill(victim, number)
    try:
        _, err = process.communicate(timeout=120)
    except subprocess.TimeoutExpired:
        process.kill()
        raise Failure("the run goes on") from None
    path = pathlib.Path(f"{record}.0.jsonl")
    lines = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    return process.returncode, err, lines


def check_named(err, lines):
    """Rank 0 says where it was."""
    check(re.search(r"(error|warning): rank 0, step [0-9]+: .*: ", err), f"no word from rank 0: {err!r}")
    check(any("end_ms" not in line for line in lines), "no collective under way in the record")
    check(any(line["what"].startswith("all-reduce of bucket") for line in lines), "no bucket in the record")


@case("ranks-killed")
def killed(ingot):
    """A rank that dies ends the run; the checkpoint goes on."""
    g = golden("mlp")
    trainer = compile_for(ingot, g, "adamw", 2)
    save = ingot.path("save")
    status, err, lines = signal_one(ingot, trainer, signal.SIGKILL, save=save)
    check(status != 0, "exit 0 of a run that lost a rank")
    check_named(err, lines)
    step = max((json.loads(p.read_text())["step"] for p in save.rglob("checkpoint.json")), default=0)
    check(step > 0, "no checkpoint")
    log = ingot.path("log.jsonl")
    flags = ["--data", g.data, "--resume", save, "--steps", step + 3, "--log", log]
    ingot.succeed([*mpirun(2), trainer, *flags], env=ALONE)
    check(len(read_log(log, first=step + 1)[0]) == 3, "does not go on")


@case("ranks-stopped")
def stopped(ingot):
    """A rank that hangs ends the run after the limit."""
    trainer = compile_for(ingot, golden("mlp"), "adamw", 2)
    status, err, lines = signal_one(ingot, trainer, signal.SIGSTOP, "--comm-timeout", "2")
    check(status == 4, f"exit {status} of a run that hung")
    check("has not ended for 2 s" in err, f"no word of the limit: {err!r}")
    check_named(err, lines)


@case("ranks-files")
def files(ingot):
    """Rank 0 alone writes, and what it writes is what one rank would; a checkpoint
    goes on with another number of ranks."""
    g = golden("mlp")
    paths = {ranks: (ingot.path("save"), ingot.path("trained.onnx")) for ranks in (1, 2)}
    trainers = {ranks: compile_for(ingot, g, "adamw", ranks) for ranks in (1, 2)}
    for ranks, (save, export) in paths.items():
        flags = ["--data", g.data, "--no-shuffle", "--steps", 10, "--save", save, "--export", export]
        losses(ingot, ranks, trainers[ranks], *flags)
    one, two = (initializers(paths[ranks][1]) for ranks in (1, 2))
    for name, value in one.items():
        check_close(name, two[name], value, 1e-5)
    flags = ["--data", g.data, "--steps", 14, "--no-shuffle"]
    log = ingot.path("log.jsonl")
    ingot.succeed([trainers[1], *flags, "--resume", paths[2][0], "--log", log])
    resumed = [step["loss"] for step in read_log(log, first=11)[0]]
    whole = losses(ingot, 1, trainers[1], *flags)
    check_close("resumed", resumed, whole[10:], 1e-5)


@case("ranks-trace")
def trace(ingot):
    """Collectives are in the profile, under way while kernels run."""
    g = golden("mlp")
    trainer = compile_for(ingot, g, "adamw", 2, "--bucket-mb", "0.01")
    path = ingot.path("trace.json")
    ingot.succeed([*mpirun(2), trainer, "--data", g.data, "--steps", "3", "--profile", path], env=ALONE)
    events = json.loads(path.read_text())["traceEvents"]
    sums = [e for e in events if e["name"].startswith("all-reduce of bucket")]
    check({e["args"]["step"] for e in sums} == {1, 2, 3}, "not every step has collectives")
    check(len(sums) >= 6, f"{len(sums)} collectives in three steps")
    kernels = [e for e in events if e["ph"] == "X" and e["tid"] == 0 and e["cat"] in ("loop", "row", "matmul")]

    def overlap(a, b):
        return a["ts"] < b["ts"] + b["dur"] and b["ts"] < a["ts"] + a["dur"]

    check(any(overlap(s, k) for s in sums for k in kernels), "no collective beside a kernel")


@case("ranks-messages")
def messages(ingot):
    """One rank speaks, errors name what is wrong."""
    g = golden("mlp")
    trainer = compile_for(ingot, g, "adamw", 2)
    said = ingot.succeed([*mpirun(2), trainer, "--data", g.data, "--epochs", "1"], env=ALONE).err
    check(said.count("epoch 1 ") == 1, f"the epoch is reported {said.count('epoch 1 ')} times: {said!r}")
    alone = ingot.compile(g.model, *g.compile_flags("adamw"))
    result = ingot.run([*mpirun(2), alone, "--data", g.data, "--steps", "1"])
    check(result.status == 2, f"exit {result.status} of a trainer for one rank")
    check("--data-parallel" in result.err, f"no word of --data-parallel: {result.err!r}")
    # Two files in one run.
    other = compile_for(ingot, g, "adamw", 2, "--clip")
    command = [
        *mpirun(1), trainer, "--data", g.data, "--steps", "1",
        ":", "-n", "1", other, "--data", g.data, "--steps", "1",
    ]  # fmt: skip
    result = ingot.run(command, env=ALONE, timeout=60)
    check(result.status == 1, f"exit {result.status} of two trainers in one run")
    check("another trainer than rank 0's" in result.err, f"two trainers in one run: {result.err!r}")
    # Options that differ would hang, or train models that part.
    one = ["--steps", "1"]
    for flags in (
        ["--steps", "2"], [*one, "--lr", "0.5"], [*one, "--seed", "3"], [*one, "--eval-data", g.data],
        [*one, "--diagnose"], [*one, "--tune=measure:1"],
    ):  # fmt: skip
        command = [
            *mpirun(1), trainer, "--data", g.data, "--steps", "1",
            ":", "-n", "1", trainer, "--data", g.data, *flags,
        ]  # fmt: skip
        result = ingot.run(command, env=ALONE, timeout=60)
        check(result.status == 1, f"exit {result.status} of ranks with {flags}")
        check("than rank 0's" in result.err, f"ranks with {flags}: {result.err!r}")
