# SPDX-License-Identifier: Apache-2.0
"""Ranks that send gradients compressed (--grad-comm powersgd:RANK, int8, topk:SHARE)."""

import json
import math

from harness import case, check, check_close, golden, read_log
from launch import ALONE, compile_for, losses, mpirun, run_ranks

STEPS = 50
RANK, START = 2, 3
SENT = f"powersgd:{RANK},start:{START}"


def shapes_of(ingot, trainer):
    return [p["shape"] for p in json.loads(ingot.succeed([trainer, "--inspect=json"]).out)["parameters"]]


def bytes_of_steps(trace):
    """What a rank hands to all-reduces of buckets, by step."""
    events = [e["args"] for e in json.loads(trace.read_text())["traceEvents"] if "of bucket" in e["name"]]
    return {step: sum(e["bytes"] for e in events if e["step"] == step) for step in (START, START + 1)}


@case("compression-losses")
def equal(ingot):
    """Projections are linear: whatever the ranks, the sum of what they send is that of the whole batch.

    Optimizers that divide by small gradients would make rounding visible."""
    g = golden("mlp")
    flags = ["--data", g.data, "--steps", STEPS, "--no-shuffle"]
    plain = losses(ingot, 1, compile_for(ingot, g, "momentum", 1), *flags)
    want = losses(ingot, 1, compile_for(ingot, g, "momentum", 1, "--grad-comm", SENT), *flags)
    check(want[: START + 1] == plain[: START + 1], "the first steps are compressed")
    check(want[START + 1 :] != plain[START + 1 :], "no step is compressed")
    # Gradients that were held back come later.
    check(want[-1] < plain[0] - 0.8 * (plain[0] - plain[-1]), f"the loss ends at {want[-1]}, without at {plain[-1]}")
    for ranks, accumulation in ((2, 1), (4, 1), (2, 2)):
        trainer = compile_for(
            ingot, g, "momentum", ranks * accumulation, "--grad-comm", SENT, "--bucket-mb", "0.01",
            "--grad-accumulation", str(accumulation),
        )  # fmt: skip
        check_close(f"{ranks} ranks, {accumulation} micro-batches", losses(ingot, ranks, trainer, *flags), want, 1e-4)


@case("compression-low-precision")
def low_precision(ingot):
    """Skipped steps leave residuals alone; factors may be of 16 bits."""
    g = golden("mlp")
    flags = ["--data", g.data, "--steps", STEPS, "--no-shuffle"]
    for options in (["--precision", "fp16", "--grad-comm", SENT], ["--grad-comm", f"bf16,{SENT}"]):
        want = run_ranks(ingot, 1, compile_for(ingot, g, "momentum", 1, *options), *flags)[0]
        got = run_ranks(ingot, 2, compile_for(ingot, g, "momentum", 2, *options), *flags)[0]
        check_close(" ".join(options), [s["loss"] for s in got], [s["loss"] for s in want], 1e-2)


@case("compression-bytes")
def sent_bytes(ingot):
    """What is sent is as the paper says: rank (n + m) numbers instead of n m."""
    g = golden("mlp")
    trainer = compile_for(ingot, g, "momentum", 2, "--grad-comm", SENT)
    path = ingot.path("trace.json")
    ingot.succeed([*mpirun(2), trainer, "--data", g.data, "--steps", START + 1, "--profile", path], env=ALONE)
    sent = bytes_of_steps(path)
    shapes = shapes_of(ingot, trainer)

    def elements(shape, compressed):
        n, m = shape[0], shape[-1] if len(shape) > 1 else 1
        shrinks = len(shape) > 1 and n * m >= 2 * RANK * (n + m)
        return RANK * (n + m) if compressed and shrinks else n * m

    whole, compressed = (4 * sum(elements(shape, c) for shape in shapes) for c in (False, True))
    # Parts of buckets start at multiples of 64 bytes; the loss and its weight are sent, too.
    slack = 64 * (2 * len(shapes) + 4)
    check(whole <= sent[START] <= whole + slack, f"{sent[START]} bytes for {whole}")
    check(compressed <= sent[START + 1] <= compressed + slack, f"{sent[START + 1]} bytes for {compressed}")
    check(compressed < whole / 3, "nothing was compressed")


@case("compression-codes")
def codes(ingot):
    """Integers of 8 bits with a scale per 256 elements; the largest elements with their indices."""
    g = golden("mlp")
    flags = ["--data", g.data, "--no-shuffle"]
    plain = losses(ingot, 2, compile_for(ingot, g, "momentum", 2), *flags, "--steps", STEPS)
    for code, drop in (("int8", 0.99), ("topk:0.05", 0.6)):
        trainer = compile_for(ingot, g, "momentum", 2, "--grad-comm", f"{code},start:{START}", "--bucket-mb", 8)
        save, trace = ingot.path("save"), ingot.path("trace.json")
        got = losses(ingot, 2, trainer, *flags, "--steps", STEPS, "--save", save, "--save-every", 20)
        check(got[: START + 1] == plain[: START + 1], "the first steps are compressed")
        check(got[START + 1 :] != plain[START + 1 :], "no step is compressed")
        check(got[-1] < plain[0] - drop * (plain[0] - plain[-1]), f"{code} ends at {got[-1]}, without at {plain[-1]}")
        log = ingot.path("log.jsonl")
        resume = [*mpirun(2), trainer, *flags, "--steps", STEPS, "--resume", save / "step-40", "--log", log]
        ingot.succeed(resume, env=ALONE)
        check([s["loss"] for s in read_log(log, first=41)[0]] == got[40:], f"{code}: other bits after a resume")

        ingot.succeed([*mpirun(2), trainer, *flags, "--steps", START + 1, "--profile", trace], env=ALONE)
        alone = losses(ingot, 1, trainer, *flags, "--steps", START + 5)
        check(len(alone) == START + 5, "a rank alone does not compress")

        elements = sum(math.prod(shape) for shape in shapes_of(ingot, trainer))
        want = 260 * -(-elements // 256) if code == "int8" else 8 * round(elements * 0.05)
        sent = bytes_of_steps(trace)[START + 1]
        # The loss, its weight and the count of ranks have a bucket of their own.
        check(want <= sent <= want + 192, f"{code}: {sent} bytes, not {want}")


@case("compression-checkpoints")
def checkpoints(ingot):
    """Each rank saves what it has not sent; any number of ranks goes on."""
    g = golden("mlp")
    flags = ["--data", g.data, "--no-shuffle"]
    trainers = {ranks: compile_for(ingot, g, "momentum", ranks, "--grad-comm", SENT) for ranks in (1, 2, 4)}
    plain = compile_for(ingot, g, "momentum", 1)
    whole = losses(ingot, 2, trainers[2], *flags, "--steps", 14)

    def resumed(ranks, save):
        log = ingot.path("log.jsonl")
        launcher = mpirun(ranks) if ranks > 1 else []
        ingot.succeed([*launcher, trainers[ranks], *flags, "--steps", 14, "--resume", save, "--log", log], env=ALONE)
        return [step["loss"] for step in read_log(log, first=11)[0]]

    for start in (1, 2, 4):
        save = ingot.path("save")
        losses(ingot, start, trainers[start], *flags, "--steps", 10, "--save", save)
        for ranks in trainers:
            check_close(f"{start} goes on as {ranks}", resumed(ranks, save), whole[10:], 1e-4)
        if start == 2:
            check(resumed(2, save) == whole[10:], "other bits after a resume")
    # A run may start without compression.
    save = ingot.path("save")
    losses(ingot, 1, plain, *flags, "--steps", 10, "--save", save)
    check(len(resumed(2, save)) == 4, "does not go on from a checkpoint without residuals")


@case("compression-errors")
def errors(ingot):
    g = golden("mlp")
    command = ingot.ingotc(g.model, "-o", ingot.path("out"), "--loss", g.loss, "--data-parallel")
    for sent, what in {
        "int4": "int4",
        "powersgd": "powersgd",
        "powersgd:x": "powersgd:x",
        "start:5": "start",
        "topk:2": "topk:2",
        "int8,topk:0.1": "topk:0.1",
        "bf16,int8": "int8",
    }.items():
        ingot.check_error([*command, "--grad-comm", sent], 2, what)
    ingot.check_error([*command, "--grad-comm", "powersgd:2", "--zero", "1"], 2, "--grad-comm")
    ingot.check_error(
        ingot.ingotc(g.model, "-o", ingot.path("out"), "--loss", g.loss, "--grad-comm", "bf16"), 2, "--grad-comm"
    )
