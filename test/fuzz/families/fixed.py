# SPDX-License-Identifier: Apache-2.0
"""Hostile inputs that once took a program down, each described by what it is. All of
them end in a short time, with an error or with a trainer that trains."""

import numpy as np
from onnx import TensorProto, helper
from subjects import Model, Words

from families import files, pool, stages, structures

ROOT = pool.ROOT
DIGITS = (ROOT / "docs/examples/digits/digits.onnx").read_bytes()
BYTES = (ROOT / "docs/examples/bytes/bytes.onnx").read_bytes()


def dense():
    """Two linear layers, 24-32-21, that compute logits."""
    rng = np.random.default_rng(0)
    initializers = [
        structures.const("w1", rng.standard_normal((24, 32)), np.float32),
        structures.const("w2", rng.standard_normal((32, 21)), np.float32),
    ]
    nodes = [
        helper.make_node("MatMul", ["x", "w1"], ["h"]),
        helper.make_node("Relu", ["h"], ["r"]),
        helper.make_node("MatMul", ["r", "w2"], ["logits"]),
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 24])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["N", 21])],
        initializers,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)


def model(build, *flags, stage="train"):
    flags = [*(flags if any(flag.startswith(("--batch", "--fit")) for flag in flags) else ["--batch=4", *flags])]
    return lambda label: Model(label, build().SerializeToString(), flags, stage)


def raw(data, *flags, stage="train"):
    return lambda label: Model(label, data, list(flags), stage)


def on_empty(op, shape, *flags, stage="train"):
    entry = next(e for e in structures.ON_EMPTY if e[0] == op and e[2] == shape)
    return model(lambda: structures.empty(*entry), *flags, stage=stage)


def compiler(groups, special=None, contents=None, kept=("model.onnx",)):
    contents = {"model.onnx": dense().SerializeToString(), **(contents or {})}
    words = ["ingotc", "model.onnx", "--loss=cross-entropy", "--batch=4"]
    if any(group[0] == "model.onnx" for group in groups):
        words = ["ingotc"]
    return lambda label: Words(label, words, groups, contents, special or {}, list(kept))


def trainer(groups, special=None, contents=None, kept=("train.npz",), env=None, name="dense"):
    def make(label):
        found, data = files.trainer(name)
        contained = {"train.npz": data, **(contents or {})}
        return Words(label, [str(found)], groups, contained, special or {}, list(kept), env=env or {})

    return make


ESCAPE = b'{"\\u001b[2J": 1}'
NESTED = b"[" * 200_000
DATA = ["--data", "train.npz"]

CASES = {
    # Tensors without elements.
    "empty-reshape": on_empty("Reshape", [0, 4]),
    "empty-tile-by-zero": on_empty("Tile", [4, 4]),
    "empty-tile": on_empty("Tile", [0, 4]),
    "empty-batch-of-batch-norm": on_empty("BatchNormalization", [0, 1, 8, 8]),
    "empty-keys-of-attention": on_empty("Attention", [4, 2, 0, 8]),
    "empty-keys-of-attention-O0": on_empty("Attention", [4, 2, 0, 8], "-O0"),
    "empty-channels-of-convolution": on_empty("Conv", [4, 0, 8, 8]),
    # Deep, wide and doubling graphs.
    "chain-of-16000-relu": model(lambda: structures.chain("Relu", 16_000)),
    "chain-of-20000-doublings": model(lambda: structures.chain("Add", 20_000, twice=True)),
    "concat-of-1000": model(lambda: structures.wide("Concat", 1000, False)),
    "concat-of-5000": model(lambda: structures.wide("Concat", 5000, False)),
    "sum-of-4000-parameters": model(lambda: structures.wide("Sum", 4000, True)),
    "sequence-of-100000": model(lambda: structures.sequence(25_000)),
    "functions-that-double-16-times": model(lambda: structures.call_tree(16, 2)),
    "functions-that-double-30-times": model(lambda: structures.call_tree(30, 2)),
    "recursive-functions": model(lambda: structures.call_tree(3, 2, cycle=True)),
    # Many rows of a loss.
    "loss-over-262144-rows": model(dense, "--loss=cross-entropy", "--batch=262144"),
    "loss-over-524288-rows": model(dense, "--loss=cross-entropy", "--batch=524288"),
    "loss-of-a-language-model": raw(BYTES, "--loss=cross-entropy", "--batch=256"),
    "digits-of-500000-rows": raw(DIGITS, "--loss=cross-entropy", "--batch=500000"),
    "fit-to-much-memory": raw(DIGITS, "--loss=cross-entropy", "--fit=100GB"),
    # Models whose trainers could not start.
    "scalar-beside-target": model(lambda: scalar_beside_target()),
    "no-batch-dimension": model(lambda: scalar_input(), "--batch=1"),
    "no-features": model(lambda: no_features()),
    # Names that control a terminal.
    "escape-in-operator": model(lambda: renamed("op_type", "\x1b]0;title\x07")),
    "escape-in-input": model(lambda: renamed("input", "\x9b31m")),
    "escape-in-machine-json": compiler(
        [["--machine", "m.json"], ["-o", "t"]], contents={"m.json": b'{"\\u001b[2J": 1}'}
    ),
    # Files of unusual kinds.
    "deep-machine-json": compiler([["--machine", "deep.json"], ["-o", "t"]], contents={"deep.json": NESTED}),
    "deep-cluster-json": compiler(
        [["--data-parallel"], ["--plan", "deep.json"], ["-o", "t"]], contents={"deep.json": NESTED}
    ),
    "zeros-as-model": compiler([["model.onnx"], ["-o", "t"]], special={"model.onnx": "zero"}, kept=()),
    "zeros-as-machine": compiler([["--machine", "zeros"], ["-o", "t"]], special={"zeros": "zero"}),
    "random-as-model": compiler([["model.onnx"], ["-o", "t"]], special={"model.onnx": "random"}, kept=()),
    "fifo-as-model": compiler([["model.onnx"], ["-o", "t"]], special={"model.onnx": "fifo"}, kept=()),
    "fifo-as-machine": compiler([["--machine", "fifo"], ["-o", "t"]], special={"fifo": "fifo"}),
    "fifo-as-cluster": compiler([["--data-parallel"], ["--plan", "fifo"], ["-o", "t"]], special={"fifo": "fifo"}),
    "fifo-as-data": trainer([["--data", "fifo.npz"]], special={"fifo.npz": "fifo"}),
    "fifo-as-tokens": trainer([["--data", "fifo.bin"]], special={"fifo.bin": "fifo"}),
    "fifo-as-weights": trainer([DATA, ["--init", "fifo"]], special={"fifo": "fifo"}),
    "fifo-as-latest": trainer([DATA, ["--resume", "ck"]], special={"ck/latest": "fifo"}, contents={"ck/a": b""}),
    # Outputs that are something else already.
    "device-as-trainer": compiler([["-o", "device"]], special={"device": "null"}),
    "device-as-report": compiler([["-o", "t"], ["--report", "device"]], special={"device": "null"}),
    "device-as-export": trainer([DATA, ["--export", "device"]], special={"device": "null"}),
    "device-as-profile": trainer([DATA, ["--profile", "device"]], special={"device": "null"}),
    "link-loop-as-trainer": compiler([["-o", "loop"]], special={"loop": "link-loop"}),
    "link-loop-as-export": trainer([DATA, ["--export", "loop"]], special={"loop": "link-loop"}),
    "fifo-as-remarks": compiler([["-o", "t"], ["--remarks", "fifo"]], special={"fifo": "fifo"}),
    "fifo-as-log": trainer([DATA, ["--log", "fifo"]], special={"fifo": "fifo"}),
    "model-as-trainer": compiler([["-o", "model.onnx"]]),
    "model-as-remarks": compiler([["-o", "t"], ["--remarks", "model.onnx"]]),
    "data-as-log": trainer([DATA, ["--log", "train.npz"]]),
    "data-as-export": trainer([DATA, ["--export", "train.npz"]]),
    # Words that shells and job scripts make.
    "empty-word": trainer([DATA, ["--init=x", ""]]),
    "fewer-threads-by-limit": trainer([DATA], env={"OMP_THREAD_LIMIT": "1", "OMP_NUM_THREADS": "4"}, name="digits"),
    "fewer-threads-by-choice": trainer([DATA], env={"OMP_DYNAMIC": "true", "OMP_NUM_THREADS": "4"}, name="digits"),
    # Passes on later stages.
    **stages.CASES,
}


def renamed(part, name):
    """The dense model with an operator or its input of this name."""
    changed = dense()
    first = changed.graph.node[0]
    if part == "op_type":
        first.op_type = name
    else:
        changed.graph.input[0].name = first.input[0] = name
    total = helper.make_node("ReduceMean", ["logits"], ["y"], keepdims=0)
    changed.graph.node.append(total)
    changed.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", TensorProto.FLOAT, []))
    return changed


def scalar_input():
    """A model whose input is a scalar."""
    graph = helper.make_graph(
        [helper.make_node("Mul", ["x", "w"], ["y"])],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [])],
        [structures.const("w", 2.0, np.float32)],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)


def scalar_beside_target():
    """A model whose input is a scalar, and whose targets count samples."""
    graph = helper.make_graph(
        [
            helper.make_node("Mul", ["x", "w"], ["z"]),
            helper.make_node("Sub", ["z", "target"], ["d"]),
            helper.make_node("ReduceSumSquare", ["d"], ["y"], keepdims=0),
        ],
        "g",
        [
            helper.make_tensor_value_info("x", TensorProto.FLOAT, []),
            helper.make_tensor_value_info("target", TensorProto.FLOAT, ["N", 3]),
        ],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [])],
        [structures.const("w", np.ones(3), np.float32)],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)


def no_features():
    """A model whose input has no elements."""
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["z"]), helper.make_node("ReduceMean", ["z"], ["y"], keepdims=0)],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 0])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [])],
        [structures.const("w", np.ones((0, 3)), np.float32)],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)


def prepare(programs, scratch):
    files.prepare(programs, scratch)
    stages.prepare(programs, scratch)


def make(_rng, _box, name):
    return CASES[name](name)
