# SPDX-License-Identifier: Apache-2.0
"""Makes policy.onnx beside this file: the policy of reinforce.cpp, with the loss of a policy gradient.

Needs onnx and numpy, and is only run when the example itself changes. The model has four numbers of a cart with a pole
as input, and two logits as output; the loss is the mean of -advantage * log p(action), which the graph computes.
"""

import pathlib

import numpy as np
from onnx import TensorProto, checker, helper, numpy_helper, save

HERE = pathlib.Path(__file__).parent
STATE, HIDDEN, ACTIONS = 4, 32, 2


def main():
    random = np.random.default_rng(0)

    def weight(name, rows, columns):
        values = random.normal(0, rows**-0.5, (rows, columns)).astype(np.float32)
        return numpy_helper.from_array(values, name)

    nodes = [
        helper.make_node("Gemm", ["state", "w1", "b1"], ["h1"]),
        helper.make_node("Tanh", ["h1"], ["a1"]),
        helper.make_node("Gemm", ["a1", "w2", "b2"], ["logits"]),
        helper.make_node("LogSoftmax", ["logits"], ["log_p"], axis=-1),
        helper.make_node("Mul", ["log_p", "advantage"], ["weighted"]),
        helper.make_node("ReduceSum", ["weighted", "axes"], ["each"], keepdims=0),
        helper.make_node("ReduceMean", ["each"], ["mean"], keepdims=0),
        helper.make_node("Neg", ["mean"], ["loss"]),
    ]
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes,
        "policy",
        [
            value("state", TensorProto.FLOAT, ["batch", STATE]),
            # The advantage in the column of the action that was taken, and 0 in the other.
            value("advantage", TensorProto.FLOAT, ["batch", ACTIONS]),
        ],
        [value("logits", TensorProto.FLOAT, ["batch", ACTIONS]), value("loss", TensorProto.FLOAT, [])],
        [
            weight("w1", STATE, HIDDEN),
            numpy_helper.from_array(np.zeros(HIDDEN, np.float32), "b1"),
            weight("w2", HIDDEN, ACTIONS),
            numpy_helper.from_array(np.zeros(ACTIONS, np.float32), "b2"),
            numpy_helper.from_array(np.array([-1], np.int64), "axes"),
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    checker.check_model(model)
    save(model, HERE / "policy.onnx")


if __name__ == "__main__":
    main()
