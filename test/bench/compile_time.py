# SPDX-License-Identifier: Apache-2.0
"""How compile time grows with the depth of a model: transformers of 12, 24, 48 and 96 layers.

Prints the seconds of ingotc for each, of which the passes over the graph (--emit mlir), the seconds with half the
memory for activations, and the growth from the first depth of the first and the last. Needs numpy and onnx.
"""

import os
import subprocess
import tempfile
import time

import bench
import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper


class Transformer:
    """A decoder as exporters write it: attention and gelu in parts."""

    def __init__(self, layers, width, heads, tokens, vocabulary):
        self.width, self.heads, self.tokens = width, heads, tokens
        self.nodes, self.weights, self.random = [], [], numpy.random.default_rng(0)
        x = self.node("Gather", self.weight("embedding", vocabulary, width), "ids")
        for i in range(layers):
            x = self.block(f"layers.{i}.", x)
        x = self.norm("norm", x)
        self.node("MatMul", x, self.weight("head", width, vocabulary), output="logits")
        inputs = [helper.make_tensor_value_info("ids", TensorProto.INT64, [2, tokens])]
        outputs = [helper.make_tensor_value_info("logits", TensorProto.FLOAT, [2, tokens, vocabulary])]
        graph = helper.make_graph(self.nodes, "transformer", inputs, outputs, self.weights)
        self.model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)

    def constant(self, name, values):
        if all(weight.name != name for weight in self.weights[-8:]):
            self.weights.append(numpy_helper.from_array(numpy.asarray(values), name))
        return name

    def weight(self, name, *shape):
        return self.constant(name, self.random.normal(0, 0.02, shape).astype(numpy.float32))

    def node(self, kind, *inputs, output=None, **attributes):
        name = f"node_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [output or name], name=name, **attributes))
        return output or name

    def scalar(self, value):
        return self.node("Constant", value=numpy_helper.from_array(numpy.float32(value)))

    def shape(self, *sizes):
        name = "shape_" + "_".join(map(str, sizes))
        if all(weight.name != name for weight in self.weights):
            self.weights.append(numpy_helper.from_array(numpy.array(sizes, numpy.int64), name))
        return name

    def norm(self, name, x):
        return self.node(
            "LayerNormalization",
            x,
            self.weight(name + ".weight", self.width),
            self.weight(name + ".bias", self.width),
            axis=-1,
        )

    def linear(self, name, x, inputs, outputs):
        product = self.node("MatMul", x, self.weight(name + ".weight", inputs, outputs))
        return self.node("Add", product, self.weight(name + ".bias", outputs))

    def block(self, name, x):
        width, heads, tokens = self.width, self.heads, self.tokens
        y = self.norm(name + "norm1", x)
        split = []
        for part in ("query", "key", "value"):
            z = self.linear(name + part, y, width, width)
            z = self.node("Reshape", z, self.shape(2, tokens, heads, width // heads))
            split.append(self.node("Transpose", z, perm=[0, 2, 3, 1] if part == "key" else [0, 2, 1, 3]))
        scores = self.node("Mul", self.node("MatMul", split[0], split[1]), self.scalar((width // heads) ** -0.5))
        y = self.node("MatMul", self.node("Softmax", scores, axis=-1), split[2])
        y = self.node("Reshape", self.node("Transpose", y, perm=[0, 2, 1, 3]), self.shape(2, tokens, width))
        x = self.node("Add", x, self.linear(name + "out", y, width, width))
        y = self.linear(name + "up", self.norm(name + "norm2", x), width, 4 * width)
        cube = self.node("Mul", self.node("Mul", y, y), y)
        inner = self.node("Add", y, self.node("Mul", cube, self.scalar(0.044715)))
        gate = self.node("Add", self.node("Tanh", self.node("Mul", inner, self.scalar(0.7978846))), self.scalar(1.0))
        y = self.node("Mul", self.node("Mul", y, gate), self.scalar(0.5))
        return self.node("Add", x, self.linear(name + "down", y, 4 * width, width))


def main():
    parser = bench.make_parser(__doc__)
    parser.add_argument("depths", nargs="*", type=int, default=[12, 24, 48, 96])
    options = parser.parse_args()
    ingotc = os.path.join(options.bin, "ingotc")

    results = {}
    first = options.depths[0]
    print(f"{'layers':>6} {'compile s':>10} {'growth':>7} {'graph s':>8} {'budget s':>9} {'growth':>7}")
    with tempfile.TemporaryDirectory() as directory:
        for depth in options.depths:
            path = os.path.join(directory, f"{depth}.onnx")
            onnx.save(Transformer(depth, 64, 4, 32, 128).model, path)

            def seconds(*arguments, path=path):
                start = time.perf_counter()
                subprocess.run([ingotc, path, "-o", path + ".out", "--loss", "cross-entropy", *arguments], check=True)
                return time.perf_counter() - start

            result = results[depth] = {
                "compile_s": seconds(),
                "graph_s": seconds("--emit", "mlir"),
                "budget_s": seconds("--memory-budget", "50%"),
            }

            def growth(figure, result=result):
                return result[figure] / results[first][figure]

            print(
                f"{depth:6} {result['compile_s']:10.2f} {growth('compile_s'):7.2f} {result['graph_s']:8.2f} "
                f"{result['budget_s']:9.2f} {growth('budget_s'):7.2f}",
                flush=True,
            )
    bench.write_json(options.json, results)


if __name__ == "__main__":
    main()
