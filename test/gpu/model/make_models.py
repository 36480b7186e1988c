# SPDX-License-Identifier: Apache-2.0
"""make_models.py NAME... -o DIRECTORY: the models of real size that plans for GPUs are made of, as ONNX files.

NAME is gpt2, gpt2-xl (1,024 tokens), gpt-mini (256), resnet50 (v1.5, 224 x 224), resnet18 (32 x 32) or mlp, each for
any batch. The files have the shapes of the models and not their weights: all matrices are views of one file of random
values, so that gpt2-xl needs no memory for 1.6 billion parameters. Compile them with --weights none. PyTorch is not
needed; test/bench/models.py makes the same models with it.
"""

import argparse
import math
import pathlib
import sys

import numpy
import onnx
from onnx import TensorProto, helper

OPSET = 23


class Graph:
    """Nodes and initializers in the order in which they are added; every value has the name of its node."""

    def __init__(self, name):
        self.name, self.nodes, self.initializers, self.shapes = name, [], [], {}

    def parameter(self, name, *shape):
        self.shapes[name] = shape
        return name

    def constant(self, name, values, kind="int64"):
        self.initializers.append(onnx.numpy_helper.from_array(numpy.array(values, dtype=kind), name))
        return name

    def add(self, kind, inputs, name, outputs=1, **attributes):
        results = [name] if outputs == 1 else [f"{name}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(kind, inputs, results, name=name, **attributes))
        return results[0] if outputs == 1 else results

    def save(self, folder, inputs, outputs):
        largest = max(math.prod(shape) for shape in self.shapes.values())
        values = f"{self.name}.bin"
        numpy.random.default_rng(0).normal(scale=0.02, size=largest).astype("f").tofile(folder / values)
        for name, shape in self.shapes.items():
            if len(shape) == 1:
                fill = float(name.endswith(("norm.weight", "running_var")))
                self.initializers.append(onnx.numpy_helper.from_array(numpy.full(shape, fill, "f"), name))
                continue
            tensor = TensorProto(name=name, dims=shape, data_type=TensorProto.FLOAT, data_location=TensorProto.EXTERNAL)
            for key, value in (("location", values), ("offset", 0), ("length", 4 * math.prod(shape))):
                tensor.external_data.add(key=key, value=str(value))
            self.initializers.append(tensor)
        graph = helper.make_graph(self.nodes, self.name, inputs, outputs, self.initializers)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=11)
        onnx.save(model, folder / f"{self.name}.onnx")


def linear(graph, x, name, inputs, outputs):
    weight = graph.parameter(f"{name}.weight", inputs, outputs)
    product = graph.add("MatMul", [x, weight], f"{name}.product")
    return graph.add("Add", [product, graph.parameter(f"{name}.bias", outputs)], name)


def layer_norm(graph, x, name, width):
    parameters = [graph.parameter(f"{name}.{part}", width) for part in ("weight", "bias")]
    return graph.add("LayerNormalization", [x, *parameters], name, axis=-1, epsilon=1e-5)


def gpt(name, layers, heads, width, vocabulary=50257, context=1024):
    """GPT-2 (Radford et al., 2019) with tied embeddings."""
    graph = Graph(name)
    tokens = graph.parameter("tokens.weight", vocabulary, width)
    graph.constant("positions", list(range(context)))
    graph.constant("split_heads", [0, 0, heads, width // heads])
    graph.constant("join_heads", [0, 0, width])
    x = graph.add(
        "Add",
        [
            graph.add("Gather", [tokens, "x"], "tokens"),
            graph.add("Gather", [graph.parameter("positions.weight", context, width), "positions"], "places"),
        ],
        "embedding",
    )
    for layer in range(layers):
        block = f"block{layer}"
        y = layer_norm(graph, x, f"{block}.attention_norm", width)
        parts = graph.add(
            "Split", [linear(graph, y, f"{block}.qkv", width, 3 * width)], f"{block}.parts", 3, axis=2, num_outputs=3
        )
        parts = [
            graph.add(
                "Transpose",
                [graph.add("Reshape", [part, "split_heads"], f"{part}.rows")],
                f"{part}.heads",
                perm=[0, 2, 1, 3],
            )
            for part in parts
        ]
        y = graph.add("Attention", parts, f"{block}.attention", is_causal=1)
        y = graph.add("Transpose", [y], f"{block}.attention.rows", perm=[0, 2, 1, 3])
        y = graph.add("Reshape", [y, "join_heads"], f"{block}.attention.joined")
        x = graph.add("Add", [x, linear(graph, y, f"{block}.out", width, width)], f"{block}.attended")
        y = linear(graph, layer_norm(graph, x, f"{block}.mlp_norm", width), f"{block}.up", width, 4 * width)
        y = graph.add("Gelu", [y], f"{block}.gelu", approximate="tanh")
        x = graph.add("Add", [x, linear(graph, y, f"{block}.down", 4 * width, width)], f"{block}.done")
    head = graph.add("Transpose", [tokens], "head", perm=[1, 0])
    graph.add("MatMul", [layer_norm(graph, x, "norm", width), head], "y")
    shape = ["batch", context]
    return (
        graph,
        [helper.make_tensor_value_info("x", TensorProto.INT64, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [*shape, vocabulary])],
    )


def convolution(graph, x, name, inputs, outputs, taps, stride, activates=True):
    weight = graph.parameter(f"{name}.weight", outputs, inputs, taps, taps)
    x = graph.add("Conv", [x, weight], name, kernel_shape=[taps, taps], strides=[stride, stride], pads=[taps // 2] * 4)
    norm = [
        graph.parameter(f"{name}.norm.{part}", outputs) for part in ("weight", "bias", "running_mean", "running_var")
    ]
    x = graph.add("BatchNormalization", [x, *norm], f"{name}.norm")
    return graph.add("Relu", [x], f"{name}.relu") if activates else x


def classify(graph, x, width, classes, size):
    """The head of a network of convolutions, and its inputs and outputs."""
    x = graph.add("Flatten", [graph.add("GlobalAveragePool", [x], "mean")], "flat")
    weights = [graph.parameter("head.weight", width, classes), graph.parameter("head.bias", classes)]
    graph.add("Gemm", [x, *weights], "y")
    return (
        graph,
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 3, size, size])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", classes])],
    )


def resnet50(name):
    """ResNet-50 v1.5: the stride of a block is in its convolution of 3 x 3."""
    graph, inputs = Graph(name), 64
    x = convolution(graph, "x", "stem", 3, 64, 7, 2)
    x = graph.add("MaxPool", [x], "pool", kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    for stage, (width, blocks) in enumerate([(64, 3), (128, 4), (256, 6), (512, 3)]):
        for number in range(blocks):
            block, stride = f"stage{stage}.{number}", 2 if stage > 0 and number == 0 else 1
            y = convolution(graph, x, f"{block}.first", inputs, width, 1, 1)
            y = convolution(graph, y, f"{block}.second", width, width, 3, stride)
            y = convolution(graph, y, f"{block}.third", width, 4 * width, 1, 1, activates=False)
            if number == 0:
                x = convolution(graph, x, f"{block}.shortcut", inputs, 4 * width, 1, stride, activates=False)
            x = graph.add("Relu", [graph.add("Add", [y, x], f"{block}.sum")], f"{block}.relu")
            inputs = 4 * width
    return classify(graph, x, inputs, 1000, 224)


def resnet18(name):
    """ResNet-18 as used on images of 32 x 32."""
    graph, inputs = Graph(name), 64
    x = convolution(graph, "x", "stem", 3, 64, 3, 1)
    for number, width in enumerate([64, 64, 128, 128, 256, 256, 512, 512]):
        block, stride = f"block{number}", 1 if width == inputs else 2
        y = convolution(graph, x, f"{block}.first", inputs, width, 3, stride)
        y = convolution(graph, y, f"{block}.second", width, width, 3, 1, activates=False)
        if stride == 2:
            x = convolution(graph, x, f"{block}.shortcut", inputs, width, 1, 2, activates=False)
        x = graph.add("Relu", [graph.add("Add", [y, x], f"{block}.sum")], f"{block}.relu")
        inputs = width
    return classify(graph, x, inputs, 10, 32)


def mlp(name):
    graph = Graph(name)
    x = graph.add("Relu", [linear(graph, "x", "first", 784, 512)], "first.relu")
    x = graph.add("Relu", [linear(graph, x, "second", 512, 512)], "second.relu")
    weights = [graph.parameter("head.weight", 512, 10), graph.parameter("head.bias", 10)]
    graph.add("Gemm", [x, *weights], "y")
    return (
        graph,
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 784])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 10])],
    )


MODELS = {
    "mlp": mlp,
    "gpt-mini": lambda name: gpt(name, 6, 6, 384, 512, 256),
    "gpt2": lambda name: gpt(name, 12, 12, 768),
    "gpt2-xl": lambda name: gpt(name, 48, 25, 1600),
    "resnet18": resnet18,
    "resnet50": resnet50,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="+", choices=MODELS, metavar="NAME")
    parser.add_argument("-o", "--output", type=pathlib.Path, required=True, metavar="DIRECTORY")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    for name in options.names:
        graph, inputs, outputs = MODELS[name](name)
        graph.save(options.output, inputs, outputs)
    return 0


if __name__ == "__main__":
    sys.exit(main())
