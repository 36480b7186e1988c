# SPDX-License-Identifier: Apache-2.0
"""Valid models to start from: one per case of the ONNX standard's own tests, with its
inputs turned into parameters and its outputs into a loss, and models of the tree."""

import functools
import hashlib
import os
import pathlib
import pickle
import warnings

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

ROOT = pathlib.Path(__file__).resolve().parents[3]
LARGEST = 1 << 15


def trainable(nodes, initializers, loss_terms, opset=18, functions=()):
    """A model with a batch, a parameter W and a scalar loss: the mean of `x W` plus the
    means of the float tensors `loss_terms`. Nodes may read `a`, which is x W."""
    nodes = [helper.make_node("MatMul", ["x", "W"], ["a"], "first"), *nodes]
    total = "mean_a"
    nodes.append(helper.make_node("ReduceMean", ["a"], [total], "mean of a", keepdims=0))
    for i, name in enumerate(loss_terms):
        nodes.append(helper.make_node("ReduceMean", [name], [f"mean_{i}"], f"mean of {i}", keepdims=0))
        nodes.append(helper.make_node("Add", [total, f"mean_{i}"], [f"sum_{i}"], f"sum {i}"))
        total = f"sum_{i}"
    nodes[-1].output[0] = "y"
    weight = numpy_helper.from_array(np.eye(4, dtype=np.float32), "W")
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [])],
        [weight, *initializers],
    )
    opsets = [helper.make_opsetid("", opset)]
    opsets += [helper.make_opsetid(domain, 1) for domain in sorted({f.domain for f in functions})]
    return helper.make_model(graph, opset_imports=opsets, functions=list(functions), ir_version=10)


def from_test(case):
    """The training form of a case of the standard's tests; None if it has no place here."""
    model = case.model
    opsets = {entry.domain: entry.version for entry in model.opset_import}
    if set(opsets) - {"", "ai.onnx"} or opsets.get("", 1) < 7 or model.graph.sparse_initializer:
        return None
    inputs, outputs = case.data_sets[0]
    if not inputs or any(not isinstance(a, np.ndarray) for a in [*inputs, *outputs]):
        return None
    if any(a.nbytes > LARGEST or a.dtype.kind not in "fiub" for a in [*inputs, *outputs]):
        return None
    graph = model.graph
    nodes = [onnx.NodeProto.FromString(node.SerializeToString()) for node in graph.node]
    names = [value.name for value in graph.input]
    taken = {"x", "W", "a", "y"}
    rename = {name: f"t_{name}" for node in nodes for name in [*node.input, *node.output] if name in taken}
    for node in nodes:
        for field in (node.input, node.output):
            field[:] = [rename.get(name, name) for name in field]
    initializers, casts = list(graph.initializer), []
    for name, array in zip(names, inputs):
        name = rename.get(name, name)
        initializers.append(numpy_helper.from_array(array, name))
    # The loss depends on the batch through the first float input.
    reads = next((rename.get(n, n) for n, a in zip(names, inputs) if a.dtype == np.float32), None)
    if reads:
        for node in nodes:
            node.input[:] = ["of_batch" if name == reads else name for name in node.input]
        casts = [
            helper.make_node("ReduceMean", ["a"], ["scalar"], "scalar", keepdims=0),
            helper.make_node("Add", [reads, "scalar"], ["of_batch"], "of the batch"),
        ]
    terms = []
    for value, array in zip(graph.output, outputs):
        name = rename.get(value.name, value.name)
        if array.dtype != np.float32:
            nodes.append(helper.make_node("Cast", [name], [f"{name}_f32"], "cast", to=TensorProto.FLOAT))
            name += "_f32"
        terms.append(name)
    try:
        return trainable([*casts, *nodes], initializers, terms[:3], opsets[""])
    except Exception:
        return None


def collect():
    """{operator: [(name, bytes of a model)]} over the cases of the standard's tests."""
    from onnx.backend.test.case.node import collect_testcases

    np.random.seed(0)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        cases = collect_testcases(None)
    found = {}
    for case in sorted(cases, key=lambda case: case.name):
        model = from_test(case)
        if model and model.ByteSize() < 4 * LARGEST:
            entry = (case.name.removeprefix("test_"), model.SerializeToString())
            found.setdefault(case.model.graph.node[-1].op_type, []).append(entry)
    return found


@functools.cache
def operators():
    """collect(), which takes a while: what it found is kept in the build folder."""
    key = hashlib.sha256(pathlib.Path(__file__).read_bytes() + onnx.__version__.encode()).hexdigest()[:12]
    kept = ROOT / "build" / f"fuzz-pool-{key}.pickle"
    if kept.exists():
        return pickle.loads(kept.read_bytes())
    found = collect()
    if kept.parent.is_dir():
        partial = kept.with_suffix(f".{os.getpid()}")
        partial.write_bytes(pickle.dumps(found))
        partial.rename(kept)
    return found


# Folder of a model, its loss, and its other flags.
TREE = [
    ("test/end-to-end/goldens/mlp/model.onnx", "cross-entropy"),
    ("test/end-to-end/goldens/cnn/model.onnx", "cross-entropy"),
    ("test/end-to-end/goldens/segmentation/model.onnx", "cross-entropy:1"),
    ("test/end-to-end/goldens/regression/model.onnx", "mse"),
    ("test/end-to-end/goldens/multilabel/model.onnx", "bce-with-logits"),
    ("test/end-to-end/goldens/loss-in-graph/model.onnx", None),
    ("docs/examples/digits/digits.onnx", "cross-entropy"),
]


@functools.cache
def models():
    """[(name, bytes, flags)] of models in the tree."""
    found = []
    for path, loss in TREE:
        flags = ["--batch=4", *([f"--loss={loss}"] if loss else [])]
        found.append((pathlib.Path(path).parent.name, (ROOT / path).read_bytes(), flags))
    return found
