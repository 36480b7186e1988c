# SPDX-License-Identifier: Apache-2.0
"""Weights that exporters wrote in another way train as those of the plain model: copies of a weight, Constant nodes."""

import numpy as np
import onnx
from harness import case, check, check_relative
from onnx import TensorProto, helper, numpy_helper

BATCH, TOKENS, VOCABULARY, WIDTH = 2, 4, 16, 8
RNG = np.random.default_rng(0)
EMBEDDING = (RNG.standard_normal((VOCABULARY, WIDTH)) * 0.3).astype(np.float32)
BIAS = RNG.standard_normal(VOCABULARY).astype(np.float32)
HEAD = "onnx::MatMul_7"


def node(op, inputs, output, **attributes):
    return helper.make_node(op, inputs, [output], **attributes)


def constant(name, value):
    return node("Constant", [], name, value=numpy_helper.from_array(value, name))


def build(path, nodes, weights):
    """A language model: `h` are the tokens' rows of the embedding, `y` the logits."""
    body = [*nodes, node("Tanh", ["h"], "a"), node("MatMul", ["a", HEAD], "p"), node("Add", ["p", "bias"], "y")]
    graph = helper.make_graph(
        body,
        "g",
        [helper.make_tensor_value_info("t", TensorProto.INT64, ["n", TOKENS])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", TOKENS, VOCABULARY])],
        [numpy_helper.from_array(value, name) for name, value in weights.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    model.producer_name = "pytorch" if "e" in weights else ""
    onnx.save(model, path)


LOOKUP = node("Gather", ["e", "t"], "h")
MODELS = {
    "plain": ([LOOKUP, node("Transpose", ["e"], HEAD)], {"e": EMBEDDING, "bias": BIAS}),
    "folded": ([LOOKUP], {"e": EMBEDDING, HEAD: EMBEDDING.T.copy(), "bias": BIAS}),
    "constants": ([constant("e", EMBEDDING), LOOKUP, node("Transpose", ["e"], HEAD), constant("bias", BIAS)], {}),
}


def train(ingot, name):
    model, data, out = ingot.path("m.onnx"), ingot.path("x.npz"), ingot.path("w.onnx")
    build(model, *MODELS[name])
    rng = np.random.default_rng(1)
    shape = (3 * BATCH, TOKENS)
    np.savez(data, t=rng.integers(0, VOCABULARY, shape), labels=rng.integers(0, VOCABULARY, shape))
    trainer = ingot.compile(model, "--loss", "cross-entropy:2", "--batch", str(BATCH), "--optimizer", "sgd")
    steps, _ = ingot.train(trainer, "--data", data, "--no-shuffle", "--epochs", "2", "--lr", "0.5", "--export", out)
    trained = onnx.load(out)
    onnx.checker.check_model(trained)
    return [s["loss"] for s in steps], {t.name: numpy_helper.to_array(t) for t in trained.graph.initializer}


def register(name):
    def run(ingot):
        losses, weights = train(ingot, "plain")
        others, same = train(ingot, name)
        check_relative(f"losses of {name}", others, losses, 1e-6)
        check(sorted(same) == ["bias", "e"], f"the export has {sorted(same)}")
        for key, value in weights.items():
            check(np.allclose(same[key], value, atol=1e-6), f"{key} differs from that of the plain model")

    case(f"weights-{name}")(run)


for name in ("folded", "constants"):
    register(name)
