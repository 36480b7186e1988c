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
        for level in ("-O0", "-O2"):
            trainer = ingot.compile(g.model, *g.compile_flags(optimizer), level)
            steps, _ = ingot.train(trainer, "--data", g.data, "--no-shuffle", "--steps", "10")
            losses.append([s["loss"] for s in steps])
        check_relative("loss", losses[0], losses[1], 1e-5)

    return run


for name in ("mlp", "cnn", "regression"):
    case(f"levels-{name}")(optimization_levels(name))


@case("same-bits")
def same_bits(ingot):
    """Same trainer, data and seed: same bits. Another seed: another order."""
    g = golden("cnn")
    trainer = ingot.compile(g.model, *g.compile_flags("adamw"))
    exports, losses = [], []
    for seed in ("7", "7", "8"):
        exported = ingot.path("exported.onnx")
        steps, _ = ingot.train(trainer, "--data", g.data, "--steps", "15", "--seed", seed, "--export", exported)
        exports.append(exported.read_bytes())
        losses.append([s["loss"] for s in steps])
    check(losses[0] == losses[1], "losses of two equal runs differ")
    check(exports[0] == exports[1], "exports of two equal runs differ")
    check(losses[0] != losses[2], "another seed gives the same losses")


@case("optimizers-differ")
def optimizers_differ(ingot):
    """Each optimizer compiles to its own update, with its defaults in force."""
    g = golden("multilabel")
    seen = {}
    for optimizer in ("sgd", "momentum", "adam", "adamw"):
        trainer = ingot.compile(g.model, *g.compile_flags(optimizer))
        steps, _ = ingot.train(
            trainer, "--data", g.data, "--no-shuffle", "--steps", "12",
            "--lr", "0.05", "--weight-decay", "0.1",
        )  # fmt: skip
        seen[optimizer] = tuple(s["loss"] for s in steps)
        check(steps[-1]["lr"] == 0.05, f"{optimizer}: logged rate {steps[-1]['lr']}")
    check(len(set(seen.values())) == len(seen), "two optimizers give the same losses")


def long_sums(rows, level):
    def run(ingot):
        """A mean over millions of elements is as accurate as its terms, also where their number has no divisors."""
        weight = onnx.numpy_helper.from_array(np.full((1, 1), 0.5, np.float32), "w")
        shapes = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ["N", 1]) for name in "xy"]
        product = onnx.helper.make_node("MatMul", ["x", "w"], ["y"])
        graph = onnx.helper.make_graph([product], "line", shapes[:1], shapes[1:], [weight])
        path = ingot.path("line.onnx")
        onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 18)], ir_version=9), path)
        x = np.random.default_rng(0).uniform(1, 2, (rows, 1)).astype(np.float32)
        data = ingot.path("line.npz")
        np.savez(data, x=x, labels=np.zeros_like(x))
        want = np.mean((0.5 * x.astype(np.float64)) ** 2)
        trainer = ingot.compile(path, "--loss", "mse", "--batch", str(rows), level)
        steps, _ = ingot.train(trainer, "--data", data, "--no-shuffle", "--steps", "1")
        check_relative("loss", [steps[0]["loss"]], [want], 1e-6)

    return run


for level in ("-O0", "-O2"):
    case(f"long-sums{level}")(long_sums(4_000_000, level))
case("long-sums-prime")(long_sums(4_000_037, "-O2"))
