# SPDX-License-Identifier: Apache-2.0
"""Models as PyTorch's exporters write them (exported_models.py)."""

import math

import numpy as np
from harness import EXPORTED, case, check


def images(source):
    return {"x": source.standard_normal((12, 3, 8, 8), np.float32), "labels": source.integers(0, 10, 12)}


def tokens(source):
    return {"ids": source.integers(0, 64, (12, 32)), "labels": source.integers(0, 64, (12, 32))}


def trains(path, make_data):
    def run(ingot):
        data = ingot.path("data.npz")
        np.savez(data, **make_data(np.random.default_rng(0)))
        trainer = ingot.compile(path, "--loss", "cross-entropy", "--batch", "2")
        steps, _ = ingot.train(trainer, "--data", data, "--no-shuffle", "--steps", "3")
        check(len(steps) == 3, f"{len(steps)} steps")
        check(all(math.isfinite(s["loss"]) for s in steps), f"losses {steps}")

    return run


for path in sorted(EXPORTED.glob("*.onnx")):
    case(f"trains-{path.stem}")(trains(path, images if path.stem.startswith("resnet") else tokens))


def warned(name, words, expected):
    """Compiling exported/NAME.onnx warns of `words` as often as `expected`."""

    def run(ingot):
        model = EXPORTED / f"{name}.onnx"
        flags = [model, "-o", ingot.path("trainer"), "--loss", "cross-entropy", "--batch", "2"]
        warnings = [
            line
            for line in ingot.succeed(ingot.ingotc(*flags)).err.splitlines()
            if line.startswith("warning: ") and words in line.lower()
        ]
        check(len(warnings) == expected, f"{len(warnings)} warnings of {words}: {warnings}")

    return run


case("folded-batch-norm-warned")(warned("resnet-default", "batch norm", 1))
case("kept-batch-norm-not-warned")(warned("resnet-unoptimized", "batch norm", 0))
case("merged-parameters-warned")(warned("gpt-default", "parameters share the values of others", 1))
case("kept-parameters-not-warned")(warned("gpt-unoptimized", "parameters share the values of others", 0))
