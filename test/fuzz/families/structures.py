# SPDX-License-Identifier: Apache-2.0
"""Models whose structure is hostile: deep, wide, nested, doubled, empty, in several
files, with unusual names. Each kind has a size that is drawn at random."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from subjects import Model

from families import mutations, pool

UNARY = ["Relu", "Tanh", "Sigmoid", "Neg", "Exp", "Identity", "Softplus", "Abs", "Sqrt", "Reciprocal"]
WIDE = ["Sum", "Concat", "Max", "Mean", "SequenceConstruct"]
BINARY = ["Add", "Mul", "Sub", "Div", "Max", "Min", "Pow"]


def const(name, values, dtype=np.int64):
    return numpy_helper.from_array(np.asarray(values, dtype), name)


def chain(op, length, twice=False):
    """A chain of one elementwise operator; `twice`: of its result with itself."""
    nodes, last = [], "a"
    for i in range(length):
        nodes.append(helper.make_node(op, [last, last] if twice else [last], [f"c{i}"]))
        last = f"c{i}"
    return pool.trainable(nodes, [], [last])


def mixed_chain(rng, length):
    """A chain of many operators, some of which read an earlier value."""
    nodes, values = [], ["a"]
    for i in range(length):
        op = rng.choice(UNARY + BINARY + ["Softmax", "Transpose"])
        reads = [values[-1]] if op not in BINARY else [values[-1], rng.choice(values[-20:])]
        if op == "Transpose":
            nodes.append(helper.make_node(op, reads, [f"t{i}"], perm=[1, 0]))
            nodes.append(helper.make_node(op, [f"t{i}"], [f"c{i}"], perm=[1, 0]))
        else:
            nodes.append(helper.make_node(op, reads, [f"c{i}"]))
        values.append(f"c{i}")
    return pool.trainable(nodes, [], [values[-1]])


def wide(op, count, parameters):
    """An operator with many operands, which are parameters or the same value."""
    names = [f"p{i}" if parameters else "a" for i in range(count)]
    initializers = [const(name, np.zeros((4, 4)), np.float32) for name in dict.fromkeys(names) if parameters]
    attributes = {"axis": 0} if op == "Concat" else {}
    nodes = [helper.make_node(op, names, ["w"], **attributes)]
    if op == "SequenceConstruct":
        nodes.append(helper.make_node("ConcatFromSequence", ["w"], ["w2"], axis=0))
    return pool.trainable(nodes, initializers, ["w2" if op == "SequenceConstruct" else "w"])


def many_outputs(count):
    """Split into many parts, each of which is used."""
    nodes = [
        helper.make_node("Tile", ["a", "times"], ["tiled"]),
        helper.make_node("Split", ["tiled"], [f"s{i}" for i in range(count)], axis=0, num_outputs=count),
        helper.make_node("Sum", [f"s{i}" for i in range(count)], ["w"]),
    ]
    return pool.trainable(nodes, [const("times", [count, 1])], ["w"])


def sequence(count):
    """A tensor split into a sequence of many, and joined again."""
    nodes = [
        helper.make_node("Tile", ["a", "times"], ["b"]),
        helper.make_node("SplitToSequence", ["b"], ["q"], axis=0),
        helper.make_node("ConcatFromSequence", ["q"], ["c"], axis=0),
    ]
    return pool.trainable(nodes, [const("times", [count, 1])], ["c"])


def call_tree(depth, calls, op="Relu", cycle=False):
    """Functions of which each calls the one before `calls` times."""
    functions = []
    for level in range(depth + 1):
        nodes, last = [], "v0"
        callee, domain = (op, "") if level == 0 else (f"f{level - 1}", "own")
        if level == 0 and cycle:
            callee, domain = f"f{depth}", "own"
        for i in range(1 if level == 0 else calls):
            nodes.append(helper.make_node(callee, [last], [f"v{i + 1}"], domain=domain))
            last = f"v{i + 1}"
        opsets = [helper.make_opsetid("", 18), helper.make_opsetid("own", 1)]
        functions.append(helper.make_function("own", f"f{level}", ["v0"], [last], nodes, opsets))
    nodes = [helper.make_node(f"f{depth}", ["a"], ["z"], domain="own")]
    return pool.trainable(nodes, [], ["z"], functions=functions)


def field(number, content):
    """A field of a protobuf message, so that messages can nest deeper than Python's
    protobuf permits."""
    size, length = len(content), bytearray()
    while size > 127:
        length.append(size & 127 | 128)
        size >>= 7
    return bytes([number << 3 | 2]) + bytes([*length, size]) + content


def conditions(depth, constant=True):
    """`If` in `If`, to some depth; the bytes of the model."""
    end = leaf().SerializeToString()
    inner = end
    for i in range(depth):
        graphs_of = [(b"then_branch", inner), (b"else_branch", inner if i < 6 else end)]
        attributes = b"".join(field(5, field(1, name) + field(6, body) + b"\xa0\x01\x05") for name, body in graphs_of)
        node = field(1, b"condition") + field(2, b"leaf") + field(4, b"If") + attributes
        inner = field(1, node) + field(2, b"g") + field(12, field(1, b"leaf"))
    holder = helper.make_node("If", ["condition"], ["z"], then_branch=leaf(), else_branch=leaf())
    nodes, initializers = [holder], [const("condition", True, bool)]
    if not constant:
        initializers = []
        nodes = [
            helper.make_node("ReduceSum", ["a"], ["s"], keepdims=0),
            helper.make_node("Greater", ["s", "s"], ["condition"]),
            holder,
        ]
    model = pool.trainable(nodes, initializers, ["z"])
    node = next(node for node in model.graph.node if node.op_type == "If")
    node.attribute.remove(next(a for a in node.attribute if a.name == "then_branch"))
    deep = field(1, b"then_branch") + field(6, inner) + b"\xa0\x01\x05"
    graph = b"".join(
        field(1, other.SerializeToString() + (field(5, deep) if other.op_type == "If" else b""))
        for other in model.graph.node
    )
    del model.graph.node[:]
    outer = model.graph.SerializeToString()
    model.ClearField("graph")
    return model.SerializeToString() + field(7, graph + outer)


def value(name):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, None)


def leaf():
    return helper.make_graph([helper.make_node("Identity", ["a"], ["leaf"])], "leaf", [], [value("leaf")])


def loop(count, condition=True):
    """`Loop` with a known number of iterations."""
    body = helper.make_graph(
        [helper.make_node("Identity", ["c"], ["c2"]), helper.make_node("Relu", ["v"], ["v2"])],
        "body",
        [
            helper.make_tensor_value_info("i", TensorProto.INT64, []),
            helper.make_tensor_value_info("c", TensorProto.BOOL, []),
            value("v"),
        ],
        [helper.make_tensor_value_info("c2", TensorProto.BOOL, []), value("v2")],
    )
    nodes = [helper.make_node("Loop", ["count", "condition", "a"], ["z"], body=body)]
    return pool.trainable(nodes, [const("count", count), const("condition", condition, bool)], ["z"])


# What to apply to the empty tensor `e`, of the shape `shape`: operator, constants, attributes.
ON_EMPTY = [
    ("Reshape", [[-1]], [0, 4], {}),
    ("Reshape", [[0, 0]], [0, 4], {"allowzero": 1}),
    ("Tile", [[0, 1]], [4, 4], {}),
    ("Tile", [[3, 2]], [0, 4], {}),
    ("Expand", [[3, 0, 4]], [0, 4], {}),
    ("Transpose", [], [0, 4], {"perm": [1, 0]}),
    ("Softmax", [], [0, 4], {"axis": 0}),
    ("Softmax", [], [0, 4], {"axis": 1}),
    ("LogSoftmax", [], [4, 0], {"axis": -1}),
    ("ReduceMean", [], [0, 4], {}),
    ("ReduceMax", [[0]], [0, 4], {"keepdims": 0}),
    ("ReduceLogSumExp", [[1]], [4, 0], {}),
    ("ArgMax", [], [4, 0], {"axis": 1}),
    ("ArgMin", [], [0, 4], {"axis": 1}),
    ("CumSum", [0], [0, 4], {}),
    ("Gather", [[]], [4, 4], {}),
    ("Gather", [[0]], [0, 4], {}),
    ("Pad", [[1, 0, 0, 1]], [0, 4], {}),
    ("Pad", [[1, 0, 0, 1]], [0, 4], {"mode": "reflect"}),
    ("Trilu", [], [0, 0], {}),
    ("Flatten", [], [0, 2, 2], {"axis": 1}),
    ("Flatten", [], [4, 0, 2], {"axis": 2}),
    ("MaxPool", [], [0, 1, 8, 8], {"kernel_shape": [2, 2]}),
    ("AveragePool", [], [1, 0, 8, 8], {"kernel_shape": [2, 2]}),
    ("GlobalAveragePool", [], [1, 2, 0, 8], {}),
    ("GlobalMaxPool", [], [1, 2, 8, 0], {}),
    ("Attention", [], [4, 2, 0, 8], {}),
    ("Attention", [], [0, 2, 4, 8], {"is_causal": 1}),
    ("Attention", [], [4, 0, 4, 8], {}),
    ("LayerNormalization", [np.ones(0, np.float32)], [4, 0], {}),
    ("LayerNormalization", [np.ones(4, np.float32)], [0, 4], {}),
    ("RMSNormalization", [np.ones(4, np.float32)], [0, 4], {}),
    ("InstanceNormalization", [np.ones(2, np.float32)] * 2, [0, 2, 4], {}),
    ("GroupNormalization", [np.ones(2, np.float32)] * 2, [1, 2, 0], {"num_groups": 2}),
    ("BatchNormalization", [np.ones(1, np.float32)] * 4, [0, 1, 8, 8], {}),
    ("BatchNormalization", [np.ones(0, np.float32)] * 4, [4, 0, 8, 8], {}),
    ("Conv", [np.ones((2, 0, 3, 3), np.float32)], [4, 0, 8, 8], {}),
    ("Conv", [np.ones((2, 1, 3, 3), np.float32)], [0, 1, 8, 8], {}),
    ("Conv", [np.ones((0, 1, 3, 3), np.float32)], [4, 1, 8, 8], {}),
    ("Conv", [np.ones((2, 1, 0, 0), np.float32)], [4, 1, 8, 8], {}),
    ("ConvTranspose", [np.ones((1, 0, 3, 3), np.float32)], [4, 1, 8, 8], {}),
    ("ConvTranspose", [np.ones((0, 2, 3, 3), np.float32)], [4, 0, 8, 8], {}),
    ("MatMul", [np.ones((4, 0), np.float32)], [4, 4], {}),
    ("MatMul", [np.ones((0, 3), np.float32)], [4, 0], {}),
    ("Gemm", [np.ones((0, 3), np.float32), np.ones(3, np.float32)], [4, 0], {}),
    ("Einsum", [np.ones((0, 3), np.float32)], [4, 0], {"equation": "ij,jk->ik"}),
    ("Resize", ["", np.array([1, 1, 2, 2], np.float32)], [1, 0, 4, 4], {}),
    ("Resize", ["", np.array([1, 1, 0.1, 0.1], np.float32)], [1, 1, 4, 4], {}),
    ("DepthToSpace", [], [0, 4, 2, 2], {"blocksize": 2}),
    ("SpaceToDepth", [], [1, 0, 4, 4], {"blocksize": 2}),
    ("Concat", [np.ones((4, 0), np.float32)], [4, 4], {"axis": 1}),
    ("Split", [[0, 4]], [4, 4], {"axis": 0}),
    ("LRN", [], [1, 0, 4, 4], {"size": 3}),
    ("Hardmax", [], [4, 0], {}),
    ("LpNormalization", [], [4, 0], {}),
    ("OneHot", [0, np.array([0, 1], np.float32)], [4, 4], {}),
    ("EyeLike", [], [0, 4], {}),
    ("ScatterND", [np.zeros((0, 1), np.int64), np.ones((0, 4), np.float32)], [4, 4], {}),
    ("GatherElements", [np.zeros((0, 4), np.int64)], [4, 4], {}),
    ("GatherND", [np.zeros((0, 2), np.int64)], [4, 4], {}),
    ("Where", [], [0, 4], {}),
    ("Dropout", [], [0, 4], {}),
    ("MeanVarianceNormalization", [], [0, 4, 4, 4], {}),
    ("Shrink", [], [0, 4], {}),
    ("Clip", [], [0, 4], {}),
]


def empty(op, constants, shape, attributes):
    """An operator on `e`, which has this shape and no elements if one of its sizes is 0."""
    size = int(np.prod(shape))
    initializers = [const("s0", [0]), const("s1", [1]), const("size", [size])]
    nodes, last = [], "a"
    if size:
        # As many elements as the shape asks for, from repetitions of the batch.
        initializers += [const("flat", [-1]), const("times", [-(-size // 4)])]
        nodes.append(helper.make_node("Reshape", ["a", "flat"], ["f"]))
        nodes.append(helper.make_node("Tile", ["f", "times"], ["more"]))
        last = "more"
    nodes.append(helper.make_node("Slice", [last, "s0", "size", "s0", "s1"], ["cut"]))
    if shape == [0, 4]:
        nodes[-1].output[0] = "e"
    else:
        initializers.append(const("shape", shape))
        nodes.append(helper.make_node("Reshape", ["cut", "shape"], ["e"], allowzero=1))
    operands = ["e"]
    for i, entry in enumerate(constants):
        if isinstance(entry, str):
            operands.append(entry)
            continue
        dtype = entry.dtype if isinstance(entry, np.ndarray) else np.int64
        initializers.append(const(f"k{i}", entry, dtype))
        operands.append(f"k{i}")
    if op == "Attention":
        operands = ["e", "e", "e"]
    if op == "Where":
        nodes.append(helper.make_node("Greater", ["e", "e"], ["greater"]))
        operands = ["greater", "e", "e"]
    if op == "OneHot":
        nodes.append(helper.make_node("Cast", ["e"], ["index"], to=TensorProto.INT64))
        operands[0] = "index"
    outputs = ["r0", "r1"] if op == "Split" else ["r0"]
    nodes.append(helper.make_node(op, operands, outputs, f"an empty {op}", **attributes))
    if op in ("ArgMax", "ArgMin"):
        nodes.append(helper.make_node("Cast", ["r0"], ["r"], to=TensorProto.FLOAT))
        outputs = ["r"]
    nodes.append(helper.make_node("ReduceSum", outputs[:1], ["total"], "total", keepdims=0))
    return pool.trainable(nodes, initializers, ["total"], opset=23)


def names(rng, _size):
    model = pool.trainable(
        [helper.make_node("Relu", ["a"], ["r"], "act"), helper.make_node("Softmax", ["r"], ["s"], "soft")], [], ["s"]
    )
    for _ in range(rng.randint(1, 4)):
        mutations.rename(rng, model)
    model.graph.name = rng.choice(mutations.NAMES)
    model.producer_name = rng.choice(mutations.NAMES)
    model.doc_string = rng.choice(mutations.NAMES)
    if rng.random() < 0.3:
        rng.choice(model.graph.node).op_type = rng.choice(mutations.NAMES)
    return model


LOCATIONS = [
    "weights.bin",
    "",
    ".",
    "..",
    "../weights.bin",
    "/etc/passwd",
    "none.bin",
    "a/../weights.bin",
    "weights.bin/x",
]
LOCATIONS += ["\0", "weights.bin\0", "x" * 5000, "\x1b[31m", "./weights.bin", "model.onnx", "fifo"]


def external(rng, _size):
    """Weights in another file: names, offsets and lengths."""
    model = pool.trainable([helper.make_node("Relu", ["a"], ["r"])], [], ["r"])
    tensor = model.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    entries = {"location": rng.choice(LOCATIONS if rng.random() < 0.5 else LOCATIONS[:1])}
    hostile = [
        "0",
        "64",
        "-1",
        "1",
        "99999999999999999999",
        "9223372036854775807",
        "",
        "x",
        "0x10",
        "4e1",
        " 64",
        "64\0",
    ]
    for key in ("offset", "length", "checksum", "basepath", "location"):
        if rng.random() < 0.5:
            entries[key] = rng.choice(hostile) if key != "location" else entries[key]
    for key, text in entries.items():
        entry = tensor.external_data.add()
        entry.key, entry.value = key, text
    if rng.random() < 0.2:
        tensor.external_data.add().key = "location"
    return model


def huge(rng, _size):
    """Tensors of enormous sizes, which are computed rather than stored."""
    shape = [rng.choice([1, 2, 1000, 65536, 2**20, 2**31, 2**33, 2**62]) for _ in range(rng.randint(1, 4))]
    kind = rng.choice(["Expand", "ConstantOfShape", "Tile", "Pad", "Range", "EyeLike", "OneHot", "Upsample", "Resize"])
    initializers, nodes = [const("shape", shape)], []
    if kind == "Expand":
        nodes = [
            helper.make_node("ReduceMean", ["a"], ["s"], keepdims=0),
            helper.make_node("Expand", ["s", "shape"], ["z"]),
        ]
    elif kind == "ConstantOfShape":
        nodes = [helper.make_node("ConstantOfShape", ["shape"], ["z"])]
    elif kind == "Tile":
        nodes = [helper.make_node("Tile", ["a", "times"], ["z"])]
        initializers.append(const("times", (shape * 2)[:2]))
    elif kind == "Pad":
        nodes = [helper.make_node("Pad", ["a", "pads"], ["z"])]
        initializers.append(const("pads", [shape[0], shape[-1], rng.choice([0, -1, shape[0], -(2**63)]), 0]))
    elif kind == "Range":
        nodes = [
            helper.make_node("Range", ["from", "to", "by"], ["i"]),
            helper.make_node("Cast", ["i"], ["z"], to=TensorProto.FLOAT),
        ]
        initializers += [const("from", rng.choice([0, -(2**63)])), const("to", rng.choice([shape[0], 2**63 - 1]))]
        initializers += [const("by", rng.choice([1, 2, -1, 0, 2**62]))]
    elif kind == "EyeLike":
        nodes = [
            helper.make_node("ConstantOfShape", ["shape"], ["c"]),
            helper.make_node("EyeLike", ["c"], ["z"], dtype=TensorProto.FLOAT, k=rng.choice([0, 2**40, -(2**63)])),
        ]
    elif kind == "OneHot":
        nodes = [
            helper.make_node("Cast", ["a"], ["i"], to=TensorProto.INT64),
            helper.make_node("OneHot", ["i", "depth", "values"], ["z"]),
        ]
        initializers += [const("depth", shape[0]), const("values", [0, 1], np.float32)]
    else:
        nodes = [
            helper.make_node("Unsqueeze", ["a", "axes"], ["u"]),
            helper.make_node("Resize", ["u", "", "", "sizes"], ["z"], mode=rng.choice(["nearest", "linear", "cubic"])),
        ]
        initializers += [const("axes", [0, 1]), const("sizes", (shape * 4)[:4])]
    return pool.trainable(nodes, initializers, ["z"])


def strange_proto(rng, _size):
    """Fields that are missing, nested deeply, or of no use."""
    model = pool.trainable([helper.make_node("Relu", ["a"], ["r"])], [], ["r"])
    action = rng.randrange(6)
    if action == 0:
        model.ClearField(rng.choice(["graph", "ir_version", "opset_import"]))
    elif action == 1:
        rng.choice(list(model.graph.input) + list(model.graph.output)).ClearField("type")
    elif action == 2:
        kind = model.graph.input[0].type
        for _ in range(rng.choice([1, 50, 90, 200])):
            inner = onnx.TypeProto()
            inner.CopyFrom(kind)
            kind.sequence_type.elem_type.CopyFrom(inner)
    elif action == 3:
        model.ir_version = rng.choice([0, 1, 3, 8, 11, 13, 99, 2**62, -1])
    elif action == 4:
        for _ in range(rng.choice([1, 1000])):
            model.metadata_props.add().key = rng.choice(mutations.NAMES)
    else:
        attribute = model.graph.node[1].attribute.add()
        attribute.name, attribute.type = "ref", onnx.AttributeProto.INT
        attribute.ref_attr_name = "nothing"
    return model


def scaled(rng, sizes):
    return rng.choice(sizes) + rng.randint(0, 3)


KINDS = {
    "chain": lambda rng, n: chain(rng.choice(UNARY), n),
    "doubling chain": lambda rng, n: chain(rng.choice(BINARY), n, twice=True),
    "mixed chain": lambda rng, n: mixed_chain(rng, min(n, 1500)),
    "wide": lambda rng, n: wide(
        rng.choice(["Sum", "Concat", "Max", "Mean", "SequenceConstruct"]), n, rng.random() < 0.5
    ),
    "many outputs": lambda rng, n: many_outputs(max(n, 1)),
    "sequence": lambda rng, n: sequence(n),
    "call tree": lambda rng, n: call_tree(min(n, 40), rng.choice([1, 2, 2, 3]), cycle=rng.random() < 0.1),
    "conditions": lambda rng, n: conditions(min(n, 300), rng.random() < 0.8),
    "loop": lambda rng, n: loop(rng.choice([n, 0, -1, 2**40])),
    "names": names,
    "external data": external,
    "huge": huge,
    "strange fields": strange_proto,
    "empty": lambda rng, n: empty(*rng.choice(ON_EMPTY)),
}
SIZES = [0, 1, 2, 5, 10, 30, 100, 300, 1000, 3000]


def make(rng, _box, _seed):
    kind = rng.choice([*KINDS, "empty", "names", "external data", "huge"])
    size = rng.choice(SIZES)
    model = KINDS[kind](rng, size)
    flags = ["--batch=4", *rng.choice([[], [], ["-O0"]])]
    files = {}
    if kind == "external data":
        files["weights.bin"] = np.arange(32, dtype=np.float32).tobytes()
    stage = "train" if kind == "names" or rng.random() < 0.3 else "plan"
    data = model if isinstance(model, bytes) else model.SerializeToString()
    return Model(f"{kind} {size}", data, flags, stage, files=files)
