# SPDX-License-Identifier: Apache-2.0
"""Language models without weights: the shapes of their tensors are all there is, so that none is too large.

shapes.py FILE.onnx 7b writes one of SIZES, and shapes.py FILE.onnx layers=8 hidden=512 ... one of other sizes.
"""

import sys

import onnx
from onnx import TensorProto, helper

# Llama's: heads that share keys and values, a gated perceptron, no biases.
SIZES = {
    "7b": {"layers": 32, "hidden": 4096, "heads": 32, "key_heads": 32, "inner": 11008, "tokens": 32000},
    "8b": {"layers": 32, "hidden": 4096, "heads": 32, "key_heads": 8, "inner": 14336, "tokens": 128256},
    "70b": {"layers": 80, "hidden": 8192, "heads": 64, "key_heads": 8, "inner": 28672, "tokens": 128256},
    "405b": {"layers": 126, "hidden": 16384, "heads": 128, "key_heads": 8, "inner": 53248, "tokens": 128256},
}


def language_model(layers, hidden, heads, key_heads, inner, tokens, positions=8192, gated=True):
    """A decoder; without `gated` its perceptrons are those of GPT."""
    nodes, weights = [], []

    def weight(name, *shape):
        weights.append(TensorProto(name=name, data_type=TensorProto.FLOAT, dims=shape))
        return name

    def add(kind, *inputs, **attributes):
        name = f"{kind}_{len(nodes)}"
        nodes.append(helper.make_node(kind, inputs, [name], name=name, **attributes))
        return name

    def normalize(x, name):
        return add("RMSNormalization", x, weight(f"{name}.weight", hidden), axis=-1, epsilon=1e-5)

    def multiply(x, name, inputs, outputs):
        return add("MatMul", x, weight(f"{name}.weight", inputs, outputs))

    keys = hidden // heads * key_heads
    x = add("Gather", weight("embed.weight", tokens, hidden), "input_ids", axis=0)
    for layer in range(layers):
        path = f"layers.{layer}"
        y = normalize(x, f"{path}.attention_norm")
        parts = [multiply(y, f"{path}.{part}", hidden, size)
                 for part, size in (("q", hidden), ("k", keys), ("v", keys))]  # fmt: skip
        y = add("Attention", *parts, is_causal=1, q_num_heads=heads, kv_num_heads=key_heads)
        x = add("Add", x, multiply(y, f"{path}.o", hidden, hidden))
        y = normalize(x, f"{path}.norm")
        up = multiply(y, f"{path}.up", hidden, inner)
        if gated:
            gate = multiply(y, f"{path}.gate", hidden, inner)
            up = add("Mul", add("Mul", gate, add("Sigmoid", gate)), up)
        else:
            up = add("Gelu", up)
        x = add("Add", x, multiply(up, f"{path}.down", inner, hidden))
    multiply(normalize(x, "norm"), "head", hidden, tokens)
    nodes[-1].output[0] = "logits"
    graph = helper.make_graph(
        nodes, "decoder",
        [helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["batch", positions])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", positions, tokens])], weights,
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=11)


def write_language_model(path, **sizes):
    onnx.save(language_model(**sizes), path)
    return path


def main():
    path, first, *others = sys.argv[1:]
    sizes = dict(SIZES.get(first, {}))
    for word in others if first in SIZES else [first, *others]:
        name, value = word.split("=")
        sizes[name] = int(value)
    write_language_model(path, **sizes)


if __name__ == "__main__":
    main()
