# SPDX-License-Identifier: Apache-2.0
"""Optimizers with moments of any shape, shared scalars, or an optimizer per parameter, beside what else a step has."""

from harness import case, check, check_close, golden, initializers
from launch import compile_for, losses

NEW = ("rmsprop-momentum", "nadam", "ademamix", "adafactor", "muon", "schedule-free-adamw")
WHOLE = ("adafactor", "muon", "schedule-free-adamw")
STEPS = 12
G = golden("mlp")


def with_others(optimizer):
    def run(ingot):
        """Each way trains, a resumed run has the bits of one that never stopped, and groups start late."""
        flags = ["--data", G.data, "--seed", "3"]
        if optimizer == "rmsprop-momentum":
            flags += ["--lr", "0.001"]
        for options in (
            ["--clip", "--guard", "--grad-accumulation", "2"],
            ["--precision", "bf16", "--optimizer-precision", "bf16"],
            ["--precision", "fp16"],
            ["--group", "head=4\\..*", "--no-decay", "norms-and-biases"],
        ):
            trainer = ingot.compile(G.model, *G.compile_flags(optimizer), *options)
            own = ["--group", "head:lr=0.5,freeze-until=2"] if "--group" in options else []
            whole, resumed, folder = ingot.path("whole.onnx"), ingot.path("resumed.onnx"), ingot.path("save")
            steps, _ = ingot.train(trainer, *flags, *own, "--steps", STEPS, "--export", whole)
            check(steps[-1]["loss"] < steps[0]["loss"], f"{options}: {steps[0]['loss']} to {steps[-1]['loss']}")
            ingot.train(trainer, *flags, *own, "--steps", STEPS // 2, "--save", folder)
            ingot.train(trainer, *flags, "--resume", folder, "--steps", STEPS, "--export", resumed, log_from=7)
            check(resumed.read_bytes() == whole.read_bytes(), f"{options}: a resumed run differs")

    return run


def with_ranks(optimizer, kinds):
    def run(ingot):
        flags = ["--data", G.data, "--steps", STEPS, "--seed", "5"]
        if optimizer == "rmsprop-momentum":
            flags += ["--lr", "0.001"]
        want = losses(ingot, 1, compile_for(ingot, G, optimizer, 1), *flags)
        for zero in kinds:
            trainer = compile_for(ingot, G, optimizer, 2, "--zero", zero, "--bucket-mb", "0.01")
            check_close(f"--zero {zero}", losses(ingot, 2, trainer, *flags), want, 1e-5)

    return run


for name in NEW:
    needs_whole = name in WHOLE
    case(f"optimizers-{name}")(with_others(name))
    case(f"optimizers-{name}-ranks")(with_ranks(name, ["0"] if needs_whole else ["0", "1", "2", "3"]))


@case("optimizers-whole-matrices")
def whole_matrices(ingot):
    for name in WHOLE:
        command = [ingot.bin / "ingotc", G.model, *G.compile_flags(name), "--data-parallel", "--zero", "1"]
        ingot.check_error([*command, "-o", ingot.path("trainer")], 2, "--zero", name, "of which each rank would have")


@case("optimizers-averaged-weights")
def averaged(ingot):
    """What is evaluated is what is exported: a trainer that starts from the export evaluates alike."""
    trainer = ingot.compile(G.model, *G.compile_flags("schedule-free-adamw"))
    out, state = ingot.path("out.onnx"), ingot.path("save")
    _, first = ingot.train(
        trainer, "--data", G.data, "--eval-data", G.data, "--steps", STEPS, "--export", out, "--save", state
    )
    again = ingot.compile(out, *G.compile_flags("sgd"))
    _, second = ingot.train(again, "--data", G.data, "--eval-data", G.data, "--steps", "0")
    check_close("losses of evaluations", [second[-1]["eval_loss"]], [first[-1]["eval_loss"]], 1e-6)
    check(len(initializers(out)) == len(initializers(G.model)), "other initializers")
