# SPDX-License-Identifier: Apache-2.0
"""Models of one op family each, of any size: what a compiler must take in time proportional to the size."""

import numpy as np
from onnx import TensorProto, helper, numpy_helper

ROWS, WIDTH = "N", 8


class Graph:
    """A model under construction: `nodes` and `weights` in order, and fresh names for values."""

    def __init__(self):
        self.nodes, self.weights = [], []
        self.random = np.random.default_rng(0)

    def weight(self, *shape):
        name = f"w{len(self.weights)}"
        values = self.random.normal(0, 0.1, shape).astype(np.float32)
        self.weights.append(numpy_helper.from_array(values, name))
        return name

    def integers(self, *values):
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.array(values, np.int64), name))
        return name

    def node(self, kind, *inputs, results=1, **attributes):
        names = [f"v{len(self.nodes)}_{i}" for i in range(results)]
        self.nodes.append(helper.make_node(kind, list(inputs), names, name=f"{kind}_{len(self.nodes)}", **attributes))
        return names[0] if results == 1 else names

    def linear(self, x, inputs=WIDTH, outputs=WIDTH):
        return self.node("Add", self.node("MatMul", x, self.weight(inputs, outputs)), self.weight(outputs))

    def model(self, x_shape, result, result_shape):
        self.node("Identity", result)
        self.nodes[-1].output[0] = "y"
        inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, x_shape)]
        outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, result_shape)]
        graph = helper.make_graph(self.nodes, "growth", inputs, outputs, self.weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def chain(size):
    """One elementwise op after the other."""
    g = Graph()
    x = g.linear("x")
    for i in range(size):
        x = g.node(("Relu", "Tanh", "Sigmoid")[i % 3], x)
    return g.model([ROWS, WIDTH], x, [ROWS, WIDTH])


def sums(size):
    """One addition of a parameter after the other."""
    g = Graph()
    x = g.linear("x")
    for _ in range(size):
        x = g.node("Add", x, g.weight(WIDTH))
    return g.model([ROWS, WIDTH], g.node("Relu", x), [ROWS, WIDTH])


def wide_sum(size):
    """One sum of many parameters."""
    g = Graph()
    return g.model([ROWS, WIDTH], g.node("Sum", g.linear("x"), *(g.weight(WIDTH) for _ in range(size))), [ROWS, WIDTH])


def wide_tree(size):
    """One sum of many matmuls."""
    g = Graph()
    return g.model([ROWS, WIDTH], g.node("Sum", *(g.linear("x") for _ in range(size))), [ROWS, WIDTH])


def concat(size):
    """One concatenation of many tensors, each computed on its own."""
    g = Graph()
    x = g.linear("x")
    parts = [g.node("Mul", x, g.weight(WIDTH)) for _ in range(size)]
    joined = g.node("Concat", *parts, axis=1)
    return g.model([ROWS, WIDTH], g.linear(joined, size * WIDTH), [ROWS, WIDTH])


def repeated_concat(size):
    """One concatenation of many times the same tensor."""
    g = Graph()
    joined = g.node("Concat", *[g.linear("x")] * size, axis=1)
    return g.model([ROWS, WIDTH], g.linear(joined, size * WIDTH), [ROWS, WIDTH])


def split(size):
    """One tensor split into many parts, each of which is used."""
    g = Graph()
    parts = g.node("Split", g.linear("x", WIDTH, size * WIDTH), g.integers(*[WIDTH] * size), results=size, axis=1)
    parts = [g.node("Mul", part, g.weight(WIDTH)) for part in parts]
    return g.model([ROWS, WIDTH], g.node("Sum", *parts), [ROWS, WIDTH])


def matmuls(size):
    """Linear layers."""
    g = Graph()
    x = "x"
    for _ in range(size):
        x = g.node("Relu", g.linear(x))
    return g.model([ROWS, WIDTH], x, [ROWS, WIDTH])


def attention(size):
    """Layers of attention and a residual connection."""
    g = Graph()
    tokens, width = 16, 16
    x, shape = "x", g.integers(-1, tokens, 2, width // 2)
    for _ in range(size):
        heads = []
        for perm in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]):
            heads.append(g.node("Transpose", g.node("Reshape", g.linear(x, width, width), shape), perm=perm))
        scores = g.node("Softmax", g.node("MatMul", heads[0], heads[1]), axis=-1)
        y = g.node("Transpose", g.node("MatMul", scores, heads[2]), perm=[0, 2, 1, 3])
        y = g.node("Reshape", y, g.integers(-1, tokens, width))
        x = g.node("Add", x, g.linear(y, width, width))
    return g.model([ROWS, tokens, width], x, [ROWS, tokens, width])


def convolutions(size):
    """Convolutions with batch normalization."""
    g = Graph()
    x = "x"
    for _ in range(size):
        x = g.node("Conv", x, g.weight(4, 4, 3, 3), kernel_shape=[3, 3], pads=[1, 1, 1, 1])
        ones = numpy_helper.from_array(np.ones(4, np.float32), f"w{len(g.weights)}")
        g.weights.append(ones)
        x = g.node("BatchNormalization", x, g.weight(4), g.weight(4), g.weight(4), ones.name)
        x = g.node("Relu", x)
    return g.model([ROWS, 4, 8, 8], x, [ROWS, 4, 8, 8])


def recurrent(size):
    """An unrolled GRU over slices of its input."""
    g = Graph()
    gates = [[g.weight(WIDTH, WIDTH) for _ in range(2)] for _ in range(3)]
    state = g.node("MatMul", g.node("Gather", "x", g.integers(0), axis=1), g.weight(WIDTH, WIDTH))
    state = g.node("Reshape", state, g.integers(-1, WIDTH))
    one = numpy_helper.from_array(np.float32(1), "one")
    g.weights.append(one)

    def gate(kind, weights, x, h):
        return g.node(kind, g.node("Add", g.node("MatMul", x, weights[0]), g.node("MatMul", h, weights[1])))

    for i in range(size):
        x = g.node("Reshape", g.node("Gather", "x", g.integers(i), axis=1), g.integers(-1, WIDTH))
        update, reset = gate("Sigmoid", gates[0], x, state), gate("Sigmoid", gates[1], x, state)
        candidate = gate("Tanh", gates[2], x, g.node("Mul", reset, state))
        kept = g.node("Mul", g.node("Sub", "one", update), state)
        state = g.node("Add", kept, g.node("Mul", update, candidate))
    return g.model([ROWS, size, WIDTH], state, [ROWS, WIDTH])


def loss_rows(_):
    """A linear layer; its size is that of the batch, in units of 4096 rows."""
    g = Graph()
    return g.model([ROWS, WIDTH], g.linear("x", WIDTH, 64), [ROWS, 64])


def weights(size):
    """Two linear layers; its size is that of their weights in MiB."""
    g = Graph()
    width = 8192 * size
    x = g.node("MatMul", g.node("MatMul", "x", g.weight(16, width)), g.weight(width, 16))
    return g.model([ROWS, 16], x, [ROWS, 16])


# The sizes before the first doubling: large enough to be measured.
FAMILIES = {
    chain: 500,
    sums: 500,
    wide_sum: 250,
    wide_tree: 50,
    concat: 125,
    repeated_concat: 250,
    split: 125,
    matmuls: 12,
    attention: 3,
    convolutions: 8,
    recurrent: 16,
    loss_rows: 128,
    weights: 32,
}
