#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes artifacts of ONNX Runtime training, and trains them with it.

    ort_artifacts.py [NAME...]

Writes ort/NAME/{training,eval,optimizer}_model.onnx, checkpoint and golden.npz:
the data, the losses of each step and the trained parameters. The files are
checked in; making them again needs Python 3.11 and the packages
onnxruntime-training 1.19.2 (the last there is), onnx 1.16.2 and numpy below 2.
"""

import argparse
import os
import pathlib
import sys
import types

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

# The package itself imports PyTorch, which what is used here does not need.
package = types.ModuleType("onnxruntime.training")
package.__path__ = [os.path.join(os.path.dirname(onnxruntime.__file__), "training")]
sys.modules["onnxruntime.training"] = package

from onnxruntime.training import artifacts, onnxblock  # noqa: E402
from onnxruntime.training.api import CheckpointState, Module, Optimizer  # noqa: E402

FOLDER = pathlib.Path(__file__).resolve().parent / "ort"


class Graph:
    """A forward model under construction: calling it adds a node."""

    def __init__(self, seed):
        self.nodes, self.initializers, self.parameters = [], [], []
        self.source = np.random.default_rng(seed)

    def parameter(self, name, *shape, scale=None, mean=0.0, dtype=np.float32):
        scale = scale or (1 / np.sqrt(shape[-1]) if len(shape) > 1 else 0.1)
        self.parameters.append(name)
        return self.constant(name, (mean + scale * self.source.standard_normal(shape)).astype(dtype))

    def constant(self, name, value):
        self.initializers.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def __call__(self, op, *inputs, outputs=1, to=None, **attributes):
        name = f"{op}_{len(self.nodes)}"
        results = [to] if to else [f"{name}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(op, inputs, results, name="/" + name, **attributes))
        return results[0]

    def model(self, inputs, output):
        def info(name, shape, dtype=TensorProto.FLOAT):
            return helper.make_tensor_value_info(name, dtype, shape)

        graph = helper.make_graph(self.nodes, "g", [info(*i) for i in inputs], [info(*output)], self.initializers)
        model = helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
        )
        model.ir_version = 8
        onnx.checker.check_model(model)
        return onnx.shape_inference.infer_shapes(model)


def perceptron():
    g = Graph(1)
    x = g("Tanh", g("Gemm", "x", g.parameter("fc1.weight", 8, 5), g.parameter("fc1.bias", 8), transB=1))
    x = g("Relu", g("Gemm", x, g.parameter("fc2.weight", 8, 8), g.parameter("fc2.bias", 8), transB=1))
    g("Gemm", x, g.parameter("fc3.weight", 3, 8), g.parameter("fc3.bias", 3), transB=1, to="logits")
    return g, g.model([("x", ["batch", 5])], ("logits", ["batch", 3]))


def convolutional():
    g = Graph(2)
    # Its gradients of convolutions divide by zero where an attribute is left to its default.
    window = {"pads": [1] * 4, "strides": [1, 1], "dilations": [1, 1], "kernel_shape": [3, 3]}
    x = g("Conv", "x", g.parameter("c1.weight", 4, 2, 3, 3), g.parameter("c1.bias", 4), **window)
    statistics = g.constant("n1.mean", np.full(4, 0.1, np.float32)), g.constant("n1.var", np.ones(4, np.float32))
    affine = g.parameter("n1.weight", 4, mean=1.0), g.parameter("n1.bias", 4)
    x = g("BatchNormalization", x, *affine, *statistics, training_mode=1, outputs=3)
    kept = x = g("MaxPool", g("Relu", x), kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4, dilations=[1, 1])
    x = g("Conv", x, g.parameter("c2.weight", 4, 2, 3, 3), group=2, **window)
    x = g("LeakyRelu", g("Add", g("Sigmoid", x), kept), alpha=0.1)
    x = g("Flatten", g("GlobalAveragePool", x))
    g("Gemm", x, g.parameter("fc.weight", 5, 4), g.parameter("fc.bias", 5), transB=1, to="logits")
    return g, g.model([("x", ["batch", 2, 8, 8])], ("logits", ["batch", 5]))


def transformer(tokens=6, width=8, heads=2, words=11):
    g = Graph(3)
    number = {
        name: g.constant(name, np.float32(v))
        for name, v in (("low", -1e9), ("root2", 2**0.5), ("one", 1), ("half", 0.5), ("scale", (width / heads) ** 0.5))
    }
    split = g.constant("split", np.array([0, -1, heads, width // heads]))
    x = g("Add", g("Gather", g.parameter("words", words, width), "ids"), g.parameter("places", tokens, width))

    def norm(name, x):
        affine = g.parameter(name + ".weight", width, mean=1.0), g.parameter(name + ".bias", width)
        return g("LayerNormalization", x, *affine, axis=-1, epsilon=1e-5, outputs=3)

    def linear(name, x, into, of=width):
        return g("Add", g("MatMul", x, g.parameter(name + ".weight", of, into)), g.parameter(name + ".bias", into))

    def head(name, x, perm):
        return g("Transpose", g("Reshape", linear(name, x, width), split), perm=perm)

    n = norm("norm1", x)
    scores = g("MatMul", head("query", n, [0, 2, 1, 3]), head("key", n, [0, 2, 3, 1]))
    causal = g.constant("causal", np.tril(np.ones((1, 1, tokens, tokens), bool)))
    scores = g("Where", causal, g("Div", scores, number["scale"]), number["low"])
    mixed = g("MatMul", g("Softmax", scores, axis=-1), head("value", n, [0, 2, 1, 3]))
    mixed = g("Reshape", g("Transpose", mixed, perm=[0, 2, 1, 3]), g.constant("join", np.array([0, -1, width])))
    x = g("Add", x, linear("out", mixed, width))
    u = linear("up", norm("norm2", x), 2 * width)
    grown = g("Mul", u, g("Add", g("Erf", g("Div", u, number["root2"])), number["one"]))
    x = g("Add", x, linear("down", g("Mul", grown, number["half"]), width, of=2 * width))
    x = g("ReduceMean", x, axes=[1], keepdims=0)
    g("MatMul", x, g.parameter("head", width, words), to="logits")
    return g, g.model([("ids", [4, tokens], TensorProto.INT64)], ("logits", [4, words]))


def selections():
    """One of each operator whose gradient is not of another family."""
    g = Graph(4)
    ints = lambda name, *v: g.constant(name, np.array(v, np.int64))  # noqa: E731
    x = g("MatMul", "x", g.parameter("w", 6, 8))
    halves = g("Split", x, ints("halves", 4, 4), axis=1, outputs=2)
    other = g.nodes[-1].output[1]
    cut = g("Slice", x, ints("starts", 1), ints("ends", 7), ints("axes", 1), ints("steps", 2))
    x = g("Concat", g("Exp", halves), g("Mul", other, other), cut, axis=1)
    x = g("Gather", x, ints("chosen", 3, 0, 10, 3, 5), axis=1)
    x = g("Sqrt", g("Add", g("Abs", x), g.constant("above", np.float32(0.5))))
    x = g("Div", x, g("Add", g("ReduceSum", x, ints("last", -1), keepdims=1), g.constant("one", np.float32(1))))
    x = g("Pow", x, g.constant("power", np.float32(1.5)))
    x = g("LogSoftmax", g("MatMul", x, g.parameter("v", 5, 4)), axis=-1)
    x = g("Unsqueeze", g("Transpose", x, perm=[1, 0]), ints("front", 0))
    x = g("Transpose", g("Squeeze", x, ints("again", 0)), perm=[1, 0])
    x = g("Sub", g("Neg", x), g.parameter("shift", 4))
    g("Expand", x, ints("wide", 3, 4), to="y")
    return g, g.model([("x", [3, 6])], ("y", [3, 4]))


def half():
    g = Graph(5)
    kind = {"dtype": np.float16}
    g.nodes.append(helper.make_node("Cast", ["x"], ["low"], name="/Cast_0", to=TensorProto.FLOAT16))
    x = g("Gemm", "low", g.parameter("fc1.weight", 8, 5, **kind), g.parameter("fc1.bias", 8, **kind), transB=1)
    x = g("Gemm", g("Relu", x), g.parameter("fc2.weight", 3, 8, **kind), g.parameter("fc2.bias", 3, **kind), transB=1)
    g.nodes.append(helper.make_node("Cast", [x], ["logits"], name="/Cast_1", to=TensorProto.FLOAT))
    return g, g.model([("x", [4, 5])], ("logits", [4, 3]))


def recurrent(batch=4, steps=5, features=6, hidden=8):
    g = Graph(6)
    zeros = [g.constant(name, np.zeros((1, batch, hidden), np.float32)) for name in ("h0", "c0")]
    weights = [g.parameter("lstm.w", 1, 4 * hidden, features), g.parameter("lstm.r", 1, 4 * hidden, hidden)]
    bias = g.parameter("lstm.b", 1, 8 * hidden)
    g("LSTM", g("Transpose", "x", perm=[1, 0, 2]), *weights, bias, "", *zeros, outputs=3, hidden_size=hidden)
    last = g("Squeeze", g.nodes[-1].output[1], g.constant("front", np.array([0])))
    g("Gemm", last, g.parameter("fc.weight", 3, hidden), g.parameter("fc.bias", 3), transB=1, to="logits")
    return g, g.model([("x", [batch, steps, features])], ("logits", [batch, 3]))


def gated(batch=4, steps=5, features=6, hidden=8):
    """A GRU, and the activations and norms of language models."""
    g = Graph(7)
    zeros = g.constant("h0", np.zeros((1, batch, hidden), np.float32))
    weights = [g.parameter("gru.w", 1, 3 * hidden, features), g.parameter("gru.r", 1, 3 * hidden, hidden)]
    kept = {"hidden_size": hidden, "linear_before_reset": 1}
    g(
        "GRU",
        g("Transpose", "x", perm=[1, 0, 2]),
        *weights,
        g.parameter("gru.b", 1, 6 * hidden),
        "",
        zeros,
        outputs=2,
        **kept,
    )
    x = g("Squeeze", g.nodes[-1].output[1], g.constant("front", np.array([0])))
    microsoft = {"domain": "com.microsoft"}
    x = g("QuickGelu", x, alpha=1.702, **microsoft)
    x = g("FastGelu", g("MatMul", x, g.parameter("up", hidden, 12)), **microsoft)
    x = g("Gelu", g("MatMul", x, g.parameter("down", 12, hidden)), **microsoft)
    chosen = g.constant("chosen", np.array([[0, 3, 3, 7, 1, 2]] * batch))
    x = g("GatherElements", x, chosen, axis=1)
    x = g("GatherND", x, g.constant("cells", np.array([[[0], [2], [2], [5]]] * batch)), batch_dims=1)
    g("Gemm", x, g.parameter("fc.weight", 3, 4), g.parameter("fc.bias", 3), transB=1, to="logits")
    return g, g.model([("x", [batch, steps, features])], ("logits", [batch, 3]))


def pools():
    """Average pools, and dropout that drops nothing."""
    g = Graph(8)
    window = {"pads": [1] * 4, "strides": [1, 1], "dilations": [1, 1], "kernel_shape": [3, 3], "group": 1}
    x = g("Conv", "x", g.parameter("c1.weight", 4, 2, 3, 3), g.parameter("c1.bias", 4), **window)
    x = g("AveragePool", x, kernel_shape=[2, 2], strides=[2, 2], pads=[0] * 4)
    x = g("Dropout", x, g.constant("ratio", np.float32(0)), g.constant("trains", np.array(True)), outputs=2)
    x = g("Softmax", g("Flatten", g("AveragePool", x, kernel_shape=[2, 2], strides=[2, 2], pads=[0] * 4)), axis=1)
    g("Gemm", x, g.parameter("fc.weight", 5, 16), g.parameter("fc.bias", 5), transB=1, to="logits")
    return g, g.model([("x", [BATCH, 2, 8, 8])], ("logits", [BATCH, 5]))


LOSS, OPTIM = artifacts.LossType, artifacts.OptimType

# The model, its loss and optimizer; `frozen` parameters; micro-batches per step;
# steps that a checkpoint with the optimizer's state comes after; classes of labels.
SETS = {
    "perceptron": {
        "model": perceptron,
        "optimizer": onnxblock.optim.SGD(clip_grad=onnxblock.optim.ClipGradNorm(0.5)),
        "frozen": ["fc1.weight"],
        "classes": 3,
        "lr": 0.1,
    },
    # Ingot takes the mean over micro-batches, ONNX Runtime the sum: with SGD, that is another rate.
    "convolutional": {
        "model": convolutional,
        "optimizer": OPTIM.SGD,
        "micro": 2,
        "classes": 5,
        "outputs": ["logits"],
        "lr": 0.05,
    },
    "transformer": {
        "model": transformer,
        "optimizer": onnxblock.optim.AdamW(
            weight_decay=0.1, betas=(0.8, 0.99), clip_grad=onnxblock.optim.ClipGradNorm(1.0)
        ),
        "classes": 11,
    },
    "selections": {
        "model": selections,
        "loss": LOSS.MSELoss,
        "optimizer": onnxblock.optim.AdamW(bias_correction=False),
        "lr": 1e-3,
    },
    "binary": {"model": perceptron, "loss": LOSS.BCEWithLogitsLoss, "resumed": 4},
    "absolute": {"model": perceptron, "loss": LOSS.L1Loss},
    "recurrent": {"model": recurrent, "classes": 3},
    "gated": {"model": gated, "classes": 3},
    "pools": {"model": pools, "classes": 5, "optimizer": OPTIM.SGD, "lr": 0.2},
    "half": {"model": half, "classes": 3, "optimizer": OPTIM.SGD},
}
BATCH, STEPS = 4, 8


def make_data(known, options, source):
    """Arrays for all inputs but the `known` ones, for every step and micro-batch."""
    samples = {}
    graph = onnx.load(FOLDER / options["name"] / "training_model.onnx").graph
    for value in graph.input:
        if value.name in known or "accumulation" in value.name or value.name == "lazy_reset_grad":
            continue
        kind = value.type.tensor_type
        shape = [d.dim_value or BATCH for d in kind.shape.dim]
        shape[0] *= STEPS * options.get("micro", 1)
        if kind.elem_type == TensorProto.INT64:
            samples[value.name] = source.integers(0, options["classes"], shape)
        else:
            drawn = source.standard_normal(shape).astype(np.float32)
            binary = value.name == "target" and options.get("loss") == LOSS.BCEWithLogitsLoss
            samples[value.name] = (drawn > 0).astype(np.float32) if binary else drawn
    return samples


def train(module, optimizer, data, options, steps):
    micro = options.get("micro", 1)
    losses = []
    for step in steps:
        total = 0.0
        for part in range(micro):
            batch = []
            for array in data.values():
                size = len(array) // (STEPS * micro)
                at = (step * micro + part) * size
                batch.append(array[at : at + size])
            loss = module(*batch)
            total += float(loss[0] if isinstance(loss, (list, tuple)) else loss)
        losses.append(total / micro)
        optimizer.step()
        module.lazy_reset_grad()
    return losses


def make(name):
    options = {"name": name, **SETS[name]}
    folder = FOLDER / name
    folder.mkdir(parents=True, exist_ok=True)
    graph, forward = options["model"]()
    frozen = options.get("frozen", [])
    artifacts.generate_artifacts(
        forward,
        requires_grad=[p for p in graph.parameters if p not in frozen],
        frozen_params=frozen,
        loss=options.get("loss", LOSS.CrossEntropyLoss),
        optimizer=options.get("optimizer", OPTIM.AdamW),
        additional_output_names=options.get("outputs"),
        artifact_directory=folder,
    )
    if name == "half":
        twin(folder, options)
        return
    rate = options.get("lr", 1e-2)
    checkpoint = str(folder / "checkpoint")
    state = CheckpointState.load_checkpoint(checkpoint)
    module = Module(str(folder / "training_model.onnx"), state, device="cpu")
    optimizer = Optimizer(str(folder / "optimizer_model.onnx"), module)
    optimizer.set_learning_rate(rate)
    data = make_data({n for n, _ in state.parameters}, options, np.random.default_rng(0))
    module.train()
    resumed = options.get("resumed", 0)
    if resumed:
        train(module, optimizer, data, options, range(resumed))
        state.properties["epoch"], state.properties["note"] = 3, "half way"
        state.properties["best"] = 0.5
        CheckpointState.save_checkpoint(state, checkpoint, include_optimizer_state=True)
    losses = train(module, optimizer, data, options, range(resumed, STEPS))
    used = {k: v[len(v) // STEPS * resumed :] for k, v in data.items()}
    final = {f"final/{n}": p.data for n, p in state.parameters}
    rate *= options.get("micro", 1)
    np.savez_compressed(folder / "golden.npz", loss=np.array(losses), lr=rate, **used, **final)
    print(f"{name}: {losses[0]:.6f} .. {losses[-1]:.6f}")


def twin(folder, options):
    """ONNX Runtime has no kernels for half precision on CPUs: the losses are those of a model in single precision with
    the same initial parameters."""
    graph, _ = options["model"]()
    values = {i.name: numpy_helper.to_array(i).astype(np.float32) for i in graph.initializers}
    source = np.random.default_rng(0)
    x = source.standard_normal((BATCH * STEPS, 5)).astype(np.float32)
    labels = source.integers(0, options["classes"], BATCH * STEPS)
    losses, rate = [], 0.1
    for step in range(STEPS):
        rows = slice(step * BATCH, (step + 1) * BATCH)
        h = np.maximum(x[rows] @ values["fc1.weight"].T + values["fc1.bias"], 0)
        y = h @ values["fc2.weight"].T + values["fc2.bias"]
        p = np.exp(y - y.max(1, keepdims=True))
        p /= p.sum(1, keepdims=True)
        hit = np.eye(options["classes"])[labels[rows]]
        losses.append(float(-np.log((p * hit).sum(1)).mean()))
        dy = (p - hit) / BATCH
        dh = (dy @ values["fc2.weight"]) * (h > 0)
        for name, gradient in (
            ("fc2.weight", dy.T @ h),
            ("fc2.bias", dy.sum(0)),
            ("fc1.weight", dh.T @ x[rows]),
            ("fc1.bias", dh.sum(0)),
        ):
            values[name] = values[name] - rate * gradient
    final = {f"final/{n}": v.astype(np.float16) for n, v in values.items()}
    np.savez_compressed(folder / "golden.npz", loss=np.array(losses), lr=rate, x=x, labels=labels, **final)
    print(f"half: {losses[0]:.6f} .. {losses[-1]:.6f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", nargs="*", metavar="NAME")
    for name in parser.parse_args().name or SETS:
        make(name)


if __name__ == "__main__":
    main()
