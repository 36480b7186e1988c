#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures how far gradients in fp32 are from those in double, and how far PyTorch's are.

  accuracy.py [--bin DIR] [--work DIR] [--filter REGEX] [--parameters] [--table] [-- FLAG...]

Smooth variants of networks (SiLU for ReLU, averages for maxima), where no sign flips at a kink. A line says the median
error over the parameters, that with --exact-math, and PyTorch's own with channels first and last, and what the first
two are as multiples of PyTorch's with channels first. Each has a limit. FLAGs are ingotc's.
"""

import argparse
import contextlib
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
torchvision/resnet18 torchvision/resnet50 torchvision/mobilenet_v2 torchvision/shufflenet_v2_x0_5 torchvision/vgg11_bn
torchvision/efficientnet_b0 torchvision/densenet121 torchvision/vit_b_16 transformers/gpt2 written/lstm-language-model
""".split()
# Winograd's algorithm, which PyTorch does not use, errs more: docs/performance/accuracy.md.
ALLOWED, EXACT_ALLOWED = 1.8, 1.1


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
    # The exporter does not follow recurrent layers where functions are replaced; these have no kinks.
    with prepare.smooth() if model.name.startswith("torchvision/") else contextlib.nullcontext():
        record, double = prepare.write(folder, module, example, model.exporter, 1)
        record["channels_last_errors"] = prepare.errors(prepare.channels_last(module, example, 1)[1], double)
    (folder / "reference.json").write_text(prepare.json.dumps(record, indent=1))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/release/bin", help="folder of ingotc")
    parser.add_argument("--work", type=pathlib.Path, default=ROOT / "build/accuracy", help="prepared models")
    parser.add_argument("--filter", default="", help="regular expression of names")
    parser.add_argument("--parameters", action="store_true", help="the errors of each parameter, too")
    parser.add_argument("--table", action="store_true", help="rows for docs/performance/accuracy.md")
    parser.add_argument("flags", nargs="*")
    args = parser.parse_args()
    failures = 0
    known = {model.name: model for model in zoo.models()}
    for name in [name for name in ARCHITECTURES if re.search(args.filter, name)]:
        folder = args.work / name
        prepared(known[name], folder)
        found = []
        for flags in ([], ["--exact-math"]):
            trainer = agreement.Trainer(args.bin / "ingotc", folder, args.work / "scratch", flags=[*flags, *args.flags])
            found.append(agreement.gradient_errors(trainer))
        own, last = (trainer.reference[kind] for kind in ("gradient_errors", "channels_last_errors"))
        error, exact, first, second = (statistics.median(errors.values()) for errors in (*found, own, last))
        # What is exact in PyTorch may be off by one rounding.
        scale = max(first, 1e-7)
        failed = not (error <= ALLOWED * scale and exact <= EXACT_ALLOWED * scale)
        failures += failed
        if args.table:
            cells = [f"{value:.1e}".replace("e-0", "e-") for value in (first, second, error, exact)]
            print(f"| {name.split('/')[1]} | {' | '.join(cells)} |", flush=True)
        else:
            print(
                f"{'FAILED ' * failed}{name}: {error:.2e}, {error / scale:.2f} times PyTorch's; exact {exact:.2e},"
                f" {exact / scale:.2f} times; PyTorch {first:.2e}, channels last {second:.2e}",
                flush=True,
            )
        if args.parameters:
            for parameter in own:
                print(f"  {parameter}: {found[0][parameter]:.2e} {found[1][parameter]:.2e} {own[parameter]:.2e}")
    print(f"{failures} of the architectures fail")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
