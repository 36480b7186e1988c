# SPDX-License-Identifier: Apache-2.0
"""Models in which tensors have no elements: they train, alike at -O0 and -O2, as a cache without entries does."""

import numpy as np
import onnx
from harness import case, check_relative
from onnx import TensorProto, helper

BATCH = 4


def ints(name, *values):
    return helper.make_tensor(name, TensorProto.INT64, [len(values)], values)


def node(op, inputs, output, **attributes):
    return helper.make_node(op, inputs, [output], **attributes)


EMPTY = node("Slice", ["h", "zero", "zero", "one"], "e")  # [n, 0]
SAMPLES = node("Slice", ["h", "zero", "zero", "first"], "e")  # [0, 4]

# Nodes that compute `z` from h [n, 4], and the opset they need.
MODELS = {
    "tile": ([node("Tile", ["h", "nothing"], "z")], 17),
    "reshape": ([EMPTY, node("Reshape", ["e", "cube"], "z", allowzero=1)], 17),
    "samples": ([SAMPLES, node("Reshape", ["e", "cube"], "z", allowzero=1)], 17),
    "transpose": ([EMPTY, node("Transpose", ["e"], "z", perm=[1, 0])], 17),
    "concat": ([EMPTY, node("Concat", ["e", "h", "e"], "z", axis=1)], 17),
    "pad": ([EMPTY, node("Pad", ["e", "margins"], "z")], 17),
    "matmul": ([EMPTY, node("MatMul", ["e", "none"], "p"), node("Add", ["p", "h"], "z")], 17),
    "batch-norm": ([SAMPLES, node("BatchNormalization", ["e", "s", "b", "m", "v"], "z", training_mode=0)], 17),
    "softmax": ([EMPTY, node("Softmax", ["e"], "z")], 17),
    "layer-norm": ([SAMPLES, node("LayerNormalization", ["e", "s", "b"], "z")], 17),
    "gather": ([node("Gather", ["h", "indices"], "z", axis=1)], 17),
    "convolution": (
        [
            EMPTY, node("Reshape", ["e", "image"], "i", allowzero=1),
            node("Conv", ["i", "filter"], "z", pads=[1, 1, 1, 1]),
        ],
        17,
    ),
    "attention": (
        [EMPTY, node("Reshape", ["e", "heads"], "q", allowzero=1), node("Attention", ["q", "q", "q"], "z")],
        23,
    ),
    "attention-keys": (
        [
            EMPTY, node("Reshape", ["e", "heads"], "k", allowzero=1), node("Reshape", ["h", "query"], "q"),
            node("Attention", ["q", "k", "k"], "a"), node("Reshape", ["a", "flat"], "r"), node("Add", ["r", "h"], "z"),
        ],
        23,
    ),
}  # fmt: skip


def build(path, nodes, opset):
    rng = np.random.default_rng(0)
    weight = rng.standard_normal((4, 4), dtype=np.float32)
    constants = [
        ints("zero", 0), ints("one", 1), ints("first", 0), ints("nothing", 0, 1), ints("cube", 2, 0, 8),
        ints("margins", 0, 1, 0, 2), ints("indices"), ints("image", BATCH, 0, 3, 3), ints("heads", BATCH, 2, 0, 2),
        ints("query", BATCH, 2, 1, 2), ints("flat", BATCH, 4),
        helper.make_tensor("w", TensorProto.FLOAT, [4, 4], weight.ravel()),
        helper.make_tensor("none", TensorProto.FLOAT, [0, 4], []),
        helper.make_tensor("filter", TensorProto.FLOAT, [2, 0, 3, 3], []),
        *(helper.make_tensor(n, TensorProto.FLOAT, [4], [x] * 4) for n, x in zip("sbmv", (1.5, 0.5, 0.0, 1.0))),
    ]  # fmt: skip
    used = {name for n in nodes for name in n.input} | {"w"}
    tail = [
        node("ReduceSum", ["z"], "t", keepdims=0),
        node("ReduceMean", ["h"], "c", keepdims=0),
        node("Add", ["t", "c"], "y"),
    ]
    graph = helper.make_graph(
        [node("MatMul", ["x", "w"], "h"), *nodes, *tail],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [])],
        [c for c in constants if c.name in used],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)
    onnx.save(model, path)


def register(name, nodes, opset):
    def run(ingot):
        model, data = ingot.path("m.onnx"), ingot.path("x.npz")
        build(model, nodes, opset)
        np.savez(data, x=np.random.default_rng(1).standard_normal((2 * BATCH, 4), dtype=np.float32))
        flags = ["--loss", "output:y", "--batch", str(BATCH), "--optimizer", "sgd"]
        losses = []
        for level in ("-O0", "-O2"):
            trainer = ingot.compile(model, *flags, level)
            steps, _ = ingot.train(trainer, "--data", data, "--no-shuffle", "--steps", "4", "--lr", "0.1")
            losses.append([step["loss"] for step in steps])
        check_relative("-O2 against -O0", losses[1], losses[0], 1e-5)

    case(f"empty-{name}")(run)


for name, (nodes, opset) in MODELS.items():
    register(name, nodes, opset)
