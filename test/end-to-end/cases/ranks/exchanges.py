# SPDX-License-Identifier: Apache-2.0
"""What ranks exchange, and how long steps wait for it."""

import json

import exchanges
from harness import case, check, check_close, golden
from launch import compile_for, losses, run_ranks

STEPS = 20


@case("exchanges-unchanged")
def unchanged(ingot):
    """No step has more exchanges, bytes, waiting or memory than the table says; every model and every way is tried."""
    table = json.loads(exchanges.TABLE.read_text())
    models = sorted({name.split()[0] for name in table})
    for i, way in enumerate(exchanges.WAYS):
        for j, model in enumerate(models):
            if (i + 2 * j) % len(exchanges.WAYS) not in (0, 3):
                continue
            folder = ingot.path("step.mlir").parent
            got = exchanges.measure(lambda words: ingot.succeed(words).out, ingot.bin / "ingotc", folder, model, way)
            for name, value, most in zip(exchanges.FIGURES, got, table[f"{model} {way}"], strict=True):
                check(value <= most * 1.0001, f"{model}, {way}: {name} is {value}, was {most}")


@case("exchanges-lamb")
def lamb(ingot):
    """An optimizer that divides by norms of parameters: whole gradients and shards, with clipping and without."""
    g = golden("mlp")
    flags = ["--data", g.data, "--steps", STEPS, "--seed", "5"]
    for clip in ([], ["--clip"]):
        run = [*flags, *(["--clip-norm", 0.5] if clip else [])]
        want = losses(ingot, 1, compile_for(ingot, g, "lamb", 1, *clip), *run)
        for ranks, zero in ((2, "0"), (2, "1"), (4, "2")):
            trainer = compile_for(ingot, g, "lamb", ranks, "--zero", zero, "--bucket-mb", "0.01", *clip)
            got = losses(ingot, ranks, trainer, *run)
            check_close(f"{ranks} ranks, --zero {zero} {' '.join(clip)}", got, want, 1e-5)


@case("exchanges-lamb-precision")
def lamb_precision(ingot):
    """With loss scaling ranks skip the same steps, and groups of parameters have norms of their own."""
    g = golden("mlp")
    flags = ["--data", g.data, "--steps", STEPS, "--no-shuffle"]
    options = ["--precision", "fp16", "--group", "head=4\\..*"]
    want = run_ranks(ingot, 1, compile_for(ingot, g, "lamb", 1, *options), *flags)[0]
    got = run_ranks(ingot, 2, compile_for(ingot, g, "lamb", 2, *options, "--zero", "2"), *flags)[0]
    check_close("losses", [s["loss"] for s in got], [s["loss"] for s in want], 1e-2)
    check([s["loss_scale"] for s in got] == [s["loss_scale"] for s in want], "other loss scales")
