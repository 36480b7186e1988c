# SPDX-License-Identifier: Apache-2.0
"""Trained numbers against PyTorch's, and compiled code against itself."""

import numpy as np
import onnx
import onnxruntime
from harness import GOLDENS, case, check, check_close, check_relative, golden, initializers


def against_pytorch(name, optimizer):
    def run(ingot):
        g = golden(name)
        want = g.runs[optimizer]
        trainer = ingot.compile(g.model, *g.compile_flags(optimizer))
        flags = ["--data", g.data, "--no-shuffle", *want["flags"]]

        steps, _ = ingot.train(trainer, *flags, "--steps", "50")
        losses = [s["loss"] for s in steps]
        check_relative("loss", losses[:10], want["losses"][:10], 1e-4)
        check_relative("loss", losses, want["losses"], 1e-3)

        exported = ingot.path("exported.onnx")
        steps, evaluations = ingot.train(trainer, *flags, "--steps", "10", "--export", exported, "--eval-data", g.data)
        check([s["loss"] for s in steps] == losses[:10], "10 steps differ from the first 10 of 50")
        trained = initializers(exported)
        for key, value in g.weights(optimizer).items():
            check(key in trained, f"{key} is not an initializer of the exported model")
            check_close(key, trained[key], value, 1e-4)
        if g.loss is None:
            return
        check(evaluations, "no evaluation in the log")
        check_relative("eval_loss", [evaluations[-1]["eval_loss"]], [want["eval_loss"]], 1e-4)
        if "eval_accuracy" in want:
            check_close("eval_accuracy", evaluations[-1]["eval_accuracy"], want["eval_accuracy"], 1e-6)

    return run


for folder in sorted(GOLDENS.iterdir()):
    for optimizer in golden(folder.name).runs:
        case(f"pytorch-{folder.name}-{optimizer}")(against_pytorch(folder.name, optimizer))


def export_and_predict(name):
    def run(ingot):
        """The exported model in onnxruntime gives the trainer's own predictions."""
        g = golden(name)
        optimizer = next(iter(g.runs))
        trainer = ingot.compile(g.model, *g.compile_flags(optimizer))
        exported, predicted = ingot.path("exported.onnx"), ingot.path("predicted.npz")
        # One sample more than whole batches: the padding must not show.
        samples = g.batch * 2 + 1
        part = ingot.path("part.npz")
        with np.load(g.data) as data:
            arrays = {k: data[k][:samples] for k in data}
        np.savez(part, **arrays)
        ingot.train(
            trainer, "--data", g.data, "--no-shuffle", "--steps", "10",
            "--export", exported, "--eval-data", part, "--predict", predicted,
        )  # fmt: skip
        session = onnxruntime.InferenceSession(exported, providers=["CPUExecutionProvider"])
        inputs = {i.name: arrays[i.name] for i in session.get_inputs()}
        names = [o.name for o in session.get_outputs()]
        with np.load(predicted) as outputs:
            for key, want in zip(names, session.run(names, inputs)):
                check(key in outputs, f"{key} is not in the predictions")
                check_close(key, outputs[key], want, 1e-5)

    return run


for folder in sorted(GOLDENS.iterdir()):
    if golden(folder.name).loss:
        case(f"export-{folder.name}")(export_and_predict(folder.name))


def optimization_levels(name):
    def run(ingot):
        """-O0, which compiles op by op, and the default agree."""
        g = golden(name)
        optimizer = next(iter(g.runs))
        losses = []
        trainer = ingot.compile(path, "--loss", "mse", "--batch", str(rows), "-O0")
    steps, _ = ingot.train(trainer, "--data", data, "--no-shuffle", "--steps", "1")
    check_relative("loss", [steps[0]["loss"]], [want], 2e-6)
