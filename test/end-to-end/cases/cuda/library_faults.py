# SPDX-License-Identifier: Apache-2.0
"""What cuDNN computes wrongly on an H100, and its fake as well, is never asked of it: trainers on a GPU in software
have the losses of a CPU."""

import numpy as np
import onnx
from cases.cuda.software_gpu import compare
from fakes import trainer
from harness import DIGITS, case
from onnx import helper, numpy_helper

# Steps of Adam have the same length whatever the gradients: losses would hardly tell that some are wrong.
FLAGS = ["--loss", "cross-entropy", "--batch", "16", "--optimizer", "sgd"]


class Model:
    """A classifier of the digits."""

    def __init__(self):
        self.random = np.random.default_rng(3)
        self.nodes, self.weights = [], []

    def weight(self, name, *shape, scale=0.3):
        return self.constant(name, (self.random.standard_normal(shape) * scale).astype(np.float32))

    def constant(self, name, values):
        self.weights.append(numpy_helper.from_array(np.asarray(values), name))
        return name

    def add(self, operator, *inputs, result, **attributes):
        self.nodes.append(helper.make_node(operator, list(inputs), [result], **attributes))
        return result

    def save(self, path, features, size):
        self.add("Gemm", features, self.weight("fc.w", size, 10), result="logits")
        graph = helper.make_graph(
            self.nodes,
            "classifier",
            [helper.make_tensor_value_info("image", onnx.TensorProto.FLOAT, ["batch", 1, 8, 8])],
            [helper.make_tensor_value_info("logits", onnx.TensorProto.FLOAT, ["batch", 10])],
            self.weights,
        )
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
        return path


@case("cuda software gpu: filters in groups with uneven padding train as on a CPU")
def groups(ingot):
    trainer(ingot)
    model = Model()
    x = model.add("Conv", "image", model.weight("stem", 8, 1, 3, 3), result="stem.y", pads=[1, 1, 1, 1])
    x = model.add("Relu", x, result="stem.r")
    filters = model.weight("grouped", 8, 2, 2, 2)
    x = model.add("Conv", x, filters, result="grouped.y", group=4, pads=[0, 1, 1, 0])
    x = model.add("Flatten", model.add("GlobalAveragePool", x, result="pooled"), result="flat")
    compare(ingot, model.save(ingot.path("groups.onnx"), x, 8), DIGITS / "train.npz", *FLAGS, seeds=(0,))


@case("cuda software gpu: attention whose queries share a bias trains as on a CPU")
def shared_bias(ingot):
    trainer(ingot)
    model = Model()
    x = model.add("Reshape", "image", model.constant("pixels", [0, 64, 1]), result="tokens")
    heads = {}
    for name in ("query", "key", "value"):
        y = model.add("MatMul", x, model.weight(f"{name}.w", 1, 32), result=f"{name}.y")
        y = model.add("Reshape", y, model.constant(f"{name}.shape", [0, 64, 2, 16]), result=f"{name}.s")
        heads[name] = model.add("Transpose", y, result=name, perm=[0, 2, 1, 3])
    key = model.add("Transpose", heads["key"], result="key.t", perm=[0, 1, 3, 2])
    scores = model.add("MatMul", heads["query"], key, result="scores")
    scale = model.add("Constant", result="scale", value=numpy_helper.from_array(np.float32(0.25)))
    scaled = model.add("Mul", scores, scale, result="scaled")
    bias = model.constant("bias", (-0.1 * np.arange(64, dtype=np.float32)).reshape(1, 1, 1, 64))
    biased = model.add("Add", scaled, bias, result="biased")
    weights = model.add("Softmax", biased, result="softmax", axis=-1)
    y = model.add("MatMul", weights, heads["value"], result="attended")
    y = model.add("Transpose", y, result="joined", perm=[0, 2, 1, 3])
    y = model.add("Reshape", y, model.constant("flat.shape", [0, 2048]), result="flat")
    path = model.save(ingot.path("bias.onnx"), y, 2048)
    flags = [*FLAGS, "--freeze", "^bias$"]
    compare(ingot, path, DIGITS / "train.npz", *flags, precision="bf16", seeds=(0,))
