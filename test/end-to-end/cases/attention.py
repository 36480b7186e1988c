"""Attention in each of its kinds, as exported, against PyTorch: forward, and
backward through the parameters that a few large steps leave."""

import json

import numpy as np

from harness import HERE, case, check, check_relative, initializers

FOLDER = HERE / "goldens-attention"
GOLDEN = json.loads((FOLDER / "golden.json").read_text())

# What makes one form or the other the cheaper one.
FORMS = {"whole": {"memory_bandwidth": 1e6}, "plain": {"memory_bandwidth": 1e15}}

# PyTorch's exporter writes -3.4e38 for -infinity up to opset 18: a query that
# may look nowhere then sees the mean of all values, where PyTorch has zeros.
EXCEPT = {("ragged", 18)}

# Whose projections become one product: not where keys come from elsewhere, nor
# where two heads of 4 columns are no aligned part of a row.
MERGED = GOLDEN["cases"].keys() - {"ragged", "grouped"}

# Largest errors: of losses and of how far parameters moved, relative; and of
# that, absolute, for the keys' bias, whose gradient is 0. Parts of rows in half
# precision are not aligned.
ERRORS = {"fp32": (2e-6, 1e-4, 1e-7), "bf16": (2e-2, 5e-2, 5e-5), "fp16": (4e-3, 1e-2, 5e-6)}


def attention(name, opset, form, precision="fp32"):
    want = GOLDEN["cases"][name]
    model = FOLDER / (f"{name}.onnx" if opset == 18 else f"{name}-{opset}.onnx")

    def run(ingot):
        machine, remarks = ingot.path("machine.json"), ingot.path("remarks.yaml")
        machine.write_text(json.dumps(FORMS[form]))
        flags = ["--loss", "mse", "--optimizer", "sgd", "--machine", machine, "--remarks", remarks,
                 "--precision", precision]
        trainer = ingot.compile(model, *flags)
        for category, expected in (
            ("ingot-form-attention\nName:            attention", form == "whole"),
            ("ingot-merge-projections\nName:            packed", form == "whole" and name in MERGED and precision == "fp32"),
        ):
            count = remarks.read_text().count(f"--- !Passed\nPass:            {category}")
            check(count == expected, f"{count} of {category}")

        exported = ingot.path("exported.onnx")
        flags = ["--data", FOLDER / "data.npz", "--no-shuffle", "--lr", str(GOLDEN["lr"])]
        steps, _ = ingot.train(trainer, *flags, "--epochs", "1", "--export", exported)
        check_relative("loss", [s["loss"] for s in steps], want["losses"], ERRORS[precision][0])
        before, after = initializers(model), initializers(exported)
        for parameter, distance in want["moved"].items():
            moved = np.linalg.norm(after[parameter].astype(float) - before[parameter])
            check(
                abs(moved - distance) <= ERRORS[precision][1] * distance + ERRORS[precision][2],
                f"{parameter} moved by {moved:.9g}, expected {distance:.9g}",
            )

    case(f"attention-{name}-{opset}-{form}-{precision}")(run)


for name in GOLDEN["cases"]:
    for opset in (18, 23):
        if (name, opset) not in EXCEPT:
            attention(name, opset, "whole")
for name in ("grouped", "packed", "ragged"):
    attention(name, 23, "plain")
for name in GOLDEN["cases"]:
    for precision in ("bf16", "fp16"):
        attention(name, 23, "whole", precision)
