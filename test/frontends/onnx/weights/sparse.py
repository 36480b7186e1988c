# SPDX-License-Identifier: Apache-2.0
"""Models with sparse tensors, as an initializer and in a Constant node: good ones, and one for each thing that can be
wrong with indices. Arguments: the folder."""

import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper


def make_sparse(name, indices, shape=(3, 2)):
    values = helper.make_tensor(name, TensorProto.FLOAT, [2], [1.5, -2.5])
    numbers = np.asarray(indices)
    kept = helper.make_tensor(f"{name}_indices", TensorProto.INT64, numbers.shape, numbers.ravel())
    return helper.make_sparse_tensor(values, kept, shape)


def save(path, sparse, as_node=False):
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"])]
    if as_node:
        nodes.insert(0, helper.make_node("Constant", [], ["w"], sparse_value=sparse))
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 2])],
        sparse_initializer=[] if as_node else [sparse],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


folder = pathlib.Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)
save(folder / "flat.onnx", make_sparse("w", [1, 4]))
save(folder / "pairs.onnx", make_sparse("w", [[0, 1], [2, 0]]))
save(folder / "node.onnx", make_sparse("w", [1, 4]), as_node=True)
save(folder / "beyond.onnx", make_sparse("w", [1, 6]))
save(folder / "few.onnx", make_sparse("w", [1]))
save(folder / "large.onnx", make_sparse("w", [1, 4], shape=(2**40, 2**40)))
