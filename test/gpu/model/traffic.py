# SPDX-License-Identifier: Apache-2.0
"""traffic.py [--write]: bytes that a step of ResNet-50 moves, planned by ingotc and estimated for PyTorch.

Both are counted without a cache: each node reads its operands from memory and writes its results there. PyTorch's are
those of the operations that it runs for torchvision's resnet50 under autocast in bf16 with channels last and
torch.optim.SGD with momentum: one kernel for each operation in eager mode, and with torch.compile what Inductor fuses
(statistics in one pass; normalization with the sum of a block and ReLU; the mask of ReLU with the sums of a gradient).
--write puts the table into docs/gpu/model.md.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import make_models
import steps

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
PAGE = ROOT / "docs/gpu/model.md"
BEGIN, END = "<!-- traffic.py: begin -->\n", "<!-- traffic.py: end -->\n"
HALF, FLOAT, INDEX = steps.HALF, steps.FLOAT, 8


def count_torch(batch, compiled):
    """Bytes of each kind of operation."""
    kinds = {"convolutions": 0, "other kernels": 0}
    layers = steps.resnet50_layers()
    parameters = 2048 * 1000 + 1000
    ends = [number for number, layer in enumerate(layers) if layer[-1] == "add"]
    for number, (inputs, outputs, side, out, taps, _, then) in enumerate(layers):
        x, y = HALF * batch * side * side * inputs, HALF * batch * out * out * outputs
        weights = inputs * outputs * taps * taps
        parameters += weights + 2 * outputs
        # Forward, and the gradients of weights and, except for images, of inputs.
        kinds["convolutions"] += (2 if number == 0 else 3) * (x + y + HALF * weights)
        # Forward: statistics, then the normalization reads and writes; the sum of a block reads another tensor.
        # Backward: sums over the gradient and the input, which are read again with them.
        passes = 1 + 2 + 2 + 3
        if not compiled:
            # ReLU is in place, and its gradient reads its result; so is the sum of a block.
            passes += {"relu": 2 + 3, "add": 3 + 2 + 3, "": 0}[then]
        else:
            # Both kernels of the gradient read the result for ReLU's mask. At the end of a block, a kernel adds the
            # gradients of the two branches that read it and applies the mask.
            passes += {"relu": 2, "add": 1 + (3 if number == ends[-1] else 4), "": 0}[then]
        kinds["other kernels"] += passes * y
        if not compiled and then == "add" and number != ends[-1]:
            # The gradients of the two branches that read a block's result.
            kinds["other kernels"] += 3 * y
    # The pooling after the first layer keeps indices, of 8 bits with torch.compile; two branches read its result.
    stem, pooled = batch * 112 * 112 * 64, batch * 56 * 56 * 64
    index = 1 if compiled else INDEX
    kinds["other kernels"] += 2 * (HALF * stem + (HALF + index) * pooled) + 3 * HALF * pooled
    # The mean over each image, and its gradient.
    kinds["other kernels"] += 2 * HALF * batch * 7 * 7 * 2048
    # Copies of weights and of gradients in the other precision; momentum, its sum with the gradient and the update are
    # an operation each.
    kinds["other kernels"] += parameters * (2 * (HALF + FLOAT) + (2 + 3 + 3) * FLOAT)
    return kinds


def count_ingot(ingotc, batch):
    """Bytes of each kind of node in the plan, without a cache."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        graph, inputs, outputs = make_models.MODELS["resnet50"]("resnet50")
        graph.save(folder, inputs, outputs)
        machine = json.loads((ROOT / "passes/targets/cuda/machines/h100.json").read_text())
        machine["cache_bytes"] = 1
        (folder / "machine.json").write_text(json.dumps(machine))
        command = [ingotc, folder / "resnet50.onnx", "--batch", str(batch), "--loss", "cross-entropy"]
        command += ["--precision", "bf16", "--optimizer", "sgd", "--weights", "none", "--target", "cuda"]
        command += ["--plan-gpu", folder / "machine.json"]
        text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = dict(re.findall(r"^(\w+) +\d+ +[\d.]+ +[\d.]+ +([\d.]+) +[\d.]+$", text, re.M))
    kinds = {"convolutions": 1e6 * float(found.pop("convolution"))}
    kinds["other kernels"] = 1e6 * sum(float(value) for value in found.values())
    return kinds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="put the table into docs/gpu/model.md")
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--ingotc", default=str(ROOT / "build/release/bin/ingotc"))
    options = parser.parse_args()
    ingot = count_ingot(options.ingotc, options.batch)
    rows = [("Ingot", ingot)]
    rows += [("PyTorch, eager", count_torch(options.batch, False))]
    rows += [("PyTorch, torch.compile", count_torch(options.batch, True))]
    text = "\n| | convolutions GB | other kernels GB | sum GB | Ingot's share |\n|---|---|---|---|---|\n"
    for what, kinds in rows:
        total = sum(kinds.values())
        share = sum(ingot.values()) / total
        text += f"| {what} | {1e-9 * kinds['convolutions']:.1f} | {1e-9 * kinds['other kernels']:.1f} "
        text += f"| {1e-9 * total:.1f} | {share:.2f} |\n"
    print(text.strip())
    if options.write:
        page = PAGE.read_text()
        head, rest = page.split(BEGIN)
        PAGE.write_text(head + BEGIN + text + "\n" + END + rest.split(END)[1])
    return 0


if __name__ == "__main__":
    sys.exit(main())
