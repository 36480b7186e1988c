# SPDX-License-Identifier: Apache-2.0
"""Attention in each of its kinds, as exported, against PyTorch: forward, and
backward through the parameters that a few large steps leave."""

import json

import numpy as np
import onnx
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
        flags = [
            "--loss",
            "mse",
            "--optimizer",
            "sgd",
            "--machine",
            machine,
            "--remarks",
            remarks,
            "--precision",
            precision,
        ]
        trainer = ingot.compile(model, *flags)
        for category, expected in (
            ("form-attention\nName:            Attention", form == "whole"),
            (
                "merge-projections\nName:            PackedAttention",
                form == "whole" and name in MERGED and precision == "fp32",
            ),
        ):
            count = remarks.read_text().count(f"--- !Passed\nPass:            {category}")
            check(count == expected, f"{count} of {category}")
        if name == "ragged" and form == "whole":
            steps = ingot.path("steps.mlir")
            ingot.succeed(ingot.ingotc(model, *flags, "--emit", "exec", "-o", steps))
            calls = [line for line in steps.read_text().splitlines() if "exec.call @ingot_attention" in line]
            check(calls and all("lengths = " in call and "mask = " not in call for call in calls), "lengths are a mask")

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


def add_dropout(source, target):
    """Puts dropout behind the softmax."""
    model = onnx.load(source)
    nodes = model.graph.node
    at, softmax = next((i, node) for i, node in enumerate(nodes) if node.op_type == "Softmax")
    weights = softmax.output[0]
    softmax.output[0] = "all_weights"
    for name, value in (("dropout_ratio", np.float32(0.3)), ("dropout_on", np.bool_(True))):
        model.graph.initializer.append(onnx.numpy_helper.from_array(np.asarray(value), name))
    nodes.insert(at + 1, onnx.helper.make_node("Dropout", ["all_weights", "dropout_ratio", "dropout_on"], [weights]))
    onnx.save(model, target)


@case("attention drops the same weights whole and as products, and none in evaluation")
def dropout(ingot):
    for name, extra in (("causal", []), ("grouped", ["--grad-accumulation", "2"]), ("packed", [])):
        model = ingot.path(f"{name}.onnx")
        add_dropout(FOLDER / f"{name}.onnx", model)
        data = [
            "--data",
            FOLDER / "data.npz",
            "--eval-data",
            FOLDER / "data.npz",
            "--no-shuffle",
            "--lr",
            str(GOLDEN["lr"]),
        ]
        _, without = ingot.train(ingot.compile(FOLDER / f"{name}.onnx", "--loss", "mse"), *data, "--steps", "0")
        runs = {}
        for form, machine in FORMS.items():
            path, remarks = ingot.path("machine.json"), ingot.path("remarks.yaml")
            path.write_text(json.dumps(machine))
            trainer = ingot.compile(
                model, "--loss", "mse", "--optimizer", "sgd", "--machine", path, "--remarks", remarks, *extra
            )
            formed = remarks.read_text().count("--- !Passed\nPass:            form-attention")
            check(formed == (form == "whole"), f"{name} {form}: {formed} formed")
            _, before = ingot.train(trainer, *data, "--steps", "0")
            check_relative(f"{name} {form}: evaluation", [before[0]["eval_loss"]], [without[0]["eval_loss"]], 2e-6)
            steps, after = ingot.train(trainer, *data, "--epochs", "1")
            runs[form] = [s["loss"] for s in steps] + [e["eval_loss"] for e in after]
        check_relative(f"{name}: losses", runs["whole"], runs["plain"], 2e-6)
        # Numbers were drawn: the first loss is not that of the model without dropout.
        difference = abs(runs["plain"][0] - GOLDEN["cases"][name]["losses"][0])
        check(extra or difference > 1e-4 * runs["plain"][0], f"{name}: nothing is dropped")
