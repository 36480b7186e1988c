"""Models as exporters write them: shared/models, where this machine has it."""

import math

import numpy as np

from harness import MODELS, Skip, case, check


def needs(path):
    if not path.exists():
        raise Skip("this machine has no shared/models")
    return path


def trains(name):
    def run(ingot):
        model = needs(MODELS / "torch" / f"{name}.onnx")
        source = np.random.default_rng(0)
        data = ingot.path("data.npz")
        np.savez(
            data,
            x=source.standard_normal((12, 3, 8, 8), np.float32),
            labels=source.integers(0, 10, 12),
        )
        trainer = ingot.compile(model, "--loss", "cross-entropy", "--batch", "4")
        steps, _ = ingot.train(trainer, "--data", data, "--no-shuffle", "--steps", "3")
        check(len(steps) == 3, f"{len(steps)} steps")
        check(all(math.isfinite(s["loss"]) for s in steps), f"losses {steps}")

    return run


for name in ("resnet_default_export", "resnet_optimize_false", "resnet_torchscript_training"):
    case(f"trains-{name}")(trains(name))


def folded(name, expected):
    def run(ingot):
        model = needs(MODELS / "torch" / f"{name}.onnx")
        flags = [model, "-o", ingot.path("trainer"), "--loss", "cross-entropy", "--batch", "4"]
        warnings = [
            line
            for line in ingot.succeed(ingot.ingotc(*flags)).err.splitlines()
            if line.startswith("warning: ") and "batch norm" in line.lower()
        ]
        check(len(warnings) == expected, f"{len(warnings)} warnings of folded batch norm: {warnings}")

    return run


case("folded-batch-norm-warned")(folded("resnet_default_export", 1))
case("kept-batch-norm-not-warned")(folded("resnet_optimize_false", 0))
