#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures how far gradients in fp32 are from those in double, and how far PyTorch's are.

  accuracy.py [--bin DIR] [--work DIR] [--filter REGEX] [--parameters] [-- FLAG...]

Smooth variants of image networks (SiLU for ReLU, averages for maxima), where no sign flips at a kink. A line says the
median error over the parameters, PyTorch's own, and their quotient, which is at most 2.5. FLAGs are ingotc's.
"""

import argparse
import os
import pathlib
import re
import statistics
import sys

if os.environ.get("INGOT_MODELS_PYTHON", sys.executable) != sys.executable:
    os.execv(os.environ["INGOT_MODELS_PYTHON"], [os.environ["INGOT_MODELS_PYTHON"], *sys.argv])
# ruff: noqa: E402

import agreement
import prepare
import torch
import zoo

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
ARCHITECTURES = """
resnet18 resnet50 mobilenet_v2 shufflenet_v2_x0_5 vgg11_bn densenet121 efficientnet_b0 mnasnet0_5 regnet_x_400mf
googlenet
""".split()
# Winograd's algorithm, which PyTorch does not use, errs more: docs/performance/convolutions.md.
ALLOWED = 2.5


def prepared(model, folder):
    """Writes the smooth variant, unless it is there."""
    if (folder / "reference.json").exists():
        return
    torch.manual_seed(0)
    torch.set_num_threads(1)
    example = model.build()
    module = prepare.One(example)
    prepare.still(module)
    shape = prepare.drop_unused(module, [t[: example.batch] for t in example.inputs.values()])
    example.inputs["labels"] = prepare.labels_for(example.loss, shape, example.batch * prepare.STEPS)
    with prepare.smooth():
        prepare.write(folder, module, example, model.exporter, 1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/release/bin", help="folder of ingotc")
    parser.add_argument("--work", type=pathlib.Path, default=ROOT / "build/accuracy", help="prepared models")
    parser.add_argument("--filter", default="", help="regular expression of names")
    parser.add_argument("--parameters", action="store_true", help="the errors of each parameter, too")
    parser.add_argument("flags", nargs="*")
    args = parser.parse_args()
    failures = 0
    known = {model.name: model for model in zoo.models()}
    for name in [name for name in ARCHITECTURES if re.search(args.filter, name)]:
        folder = args.work / name
        prepared(known[f"torchvision/{name}"], folder)
        trainer = agreement.Trainer(args.bin / "ingotc", folder, args.work / "scratch", flags=args.flags)
        found, own = agreement.gradient_errors(trainer), trainer.reference["gradient_errors"]
        error, torchs = statistics.median(found.values()), statistics.median(own.values())
        failed = not error <= ALLOWED * torchs
        failures += failed
        print(f"{'FAILED ' * failed}{name}: {error:.2e}, PyTorch {torchs:.2e}, {error / torchs:.2f} times", flush=True)
        if args.parameters:
            for parameter in own:
                print(f"  {parameter}: {found[parameter]:.2e} {own[parameter]:.2e}")
    print(f"{failures} of the architectures fail")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
