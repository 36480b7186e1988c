# SPDX-License-Identifier: Apache-2.0
"""Hostile changes of a model. Each takes the generator of random numbers and the
model, changes it, and returns what it did; None if there was nothing to change."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

SMALL = [0, 1, 2, 3, 4, 5, 7, 8, -1, -2, -9]
LARGE = [1000, 65536, 2**31 - 1, 2**31, 2**32, 2**40, 2**53, 2**62, 2**63 - 1, -(2**63), -(2**31)]
REALS = [0.0, -0.0, 1.0, -1.0, 0.5, 1e-45, 3e38, -3e38, float("inf"), float("-inf"), float("nan")]
WORDS = ["", "\0", "nearest", "SAME_UPPER", "VALID", "NOTSET", "x" * 300, "sum", "linear", "\x1b[31m", "ij,jk->ik", "é"]
TYPES = [0, 1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 13, 14, 16, 17, 22, 23, 99, -1]
NAMES = [
    "",
    " ",
    "\x1b]0;title\x07",
    "\x1b[2J",
    "a\nb",
    "a\rerror: forged: x",
    "\x7f",
    "\u202e",
    "\x9b31m",
    "../../a",
    "/dev/null",
]
NAMES += [
    "%s%n",
    "a" * 5000,
    "'; rm -rf x; '",
    "<script>",
    "a\tb",
    "\0",
    "@main",
    "{}",
    "labels",
    "lr",
    "step",
    "--help",
]


def number(rng):
    return rng.choice(SMALL if rng.random() < 0.65 else LARGE)


def graphs(graph):
    """A graph and those in attributes of its nodes."""
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from graphs(attribute.g)


def attribute(rng, model):
    """Changes the value of an attribute, adds one of the schema, or removes one."""
    node = rng.choice([node for graph in graphs(model.graph) for node in graph.node])
    try:
        schema = onnx.defs.get_schema(node.op_type, 23, node.domain)
        known = list(schema.attributes)
    except onnx.defs.SchemaError:
        schema, known = None, []
    action = rng.random()
    if known and (action < 0.35 or not node.attribute):
        name = rng.choice(known)
        old = [a for a in node.attribute if a.name == name]
        for a in old:
            node.attribute.remove(a)
        kind = str(schema.attributes[name].type).rpartition(".")[2]
        value = {
            "INT": lambda: number(rng),
            "FLOAT": lambda: float(rng.choice(REALS)),
            "STRING": lambda: rng.choice(WORDS),
            "INTS": lambda: [number(rng) for _ in range(rng.randint(0, 5))],
            "FLOATS": lambda: [float(rng.choice(REALS)) for _ in range(rng.randint(0, 5))],
        }.get(kind)
        if not value:
            return None
        value = value()
        proto = helper.make_attribute(name, value, attr_type=getattr(onnx.AttributeProto, kind))
        node.attribute.append(proto)
        return f"{node.op_type}.{name} = {str(value)[:40]}"
    if not node.attribute:
        return None
    chosen = rng.choice(node.attribute)
    if action < 0.42:
        name = chosen.name
        node.attribute.remove(chosen)
        return f"{node.op_type} without {name}"
    if chosen.type == onnx.AttributeProto.INT:
        chosen.i = number(rng)
    elif chosen.type == onnx.AttributeProto.FLOAT:
        chosen.f = rng.choice(REALS)
    elif chosen.type == onnx.AttributeProto.STRING:
        chosen.s = rng.choice(WORDS).encode()
    elif chosen.type == onnx.AttributeProto.INTS and rng.random() < 0.7 and chosen.ints:
        chosen.ints[rng.randrange(len(chosen.ints))] = number(rng)
    elif chosen.type == onnx.AttributeProto.INTS and rng.random() < 0.3 and chosen.ints:
        chosen.ints.pop()
    elif chosen.type == onnx.AttributeProto.INTS:
        chosen.ints.append(number(rng))
    elif action < 0.6:
        chosen.type = rng.choice(range(1, 15))
    else:
        return None
    return f"{node.op_type}.{chosen.name} changed"


def initializer_shape(rng, model):
    """A shape that does not fit the data."""
    if not model.graph.initializer:
        return None
    tensor = rng.choice(model.graph.initializer)
    if tensor.dims and rng.random() < 0.7:
        tensor.dims[rng.randrange(len(tensor.dims))] = number(rng)
    else:
        tensor.dims.append(rng.choice([1, 2, 0]))
    return f"dims of {tensor.name[:20]}"


def tensor_shape(rng, model):
    """Another shape with data that fits: sizes of 0 and 1, other ranks."""
    tensors = [t for t in model.graph.initializer if t.name != "W" and t.data_type in (1, 7, 6, 9)]
    if not tensors:
        return None
    tensor = rng.choice(tensors)
    shape = list(tensor.dims)
    action = rng.random()
    if shape and action < 0.6:
        shape[rng.randrange(len(shape))] = rng.choice([0, 0, 0, 1, 2, 3, 5, 17])
    elif shape and action < 0.8:
        del shape[rng.randrange(len(shape))]
    else:
        shape.insert(rng.randint(0, len(shape)), rng.choice([0, 1, 2, 3]))
    if min(shape, default=0) < 0 or np.prod(shape, dtype=float) > 1e6:
        return None
    try:
        old = numpy_helper.to_array(tensor)
    except ValueError:
        return None  # An earlier change made it inconsistent.
    new = np.resize(old, shape) if old.size else np.zeros(shape, old.dtype)
    tensor.CopyFrom(numpy_helper.from_array(np.ascontiguousarray(new), tensor.name))
    return f"shape of {tensor.name[:20]} = {shape}"


def tensor_data(rng, model):
    """Raw data that is too short, too long or empty, or in another field."""
    if not model.graph.initializer:
        return None
    tensor = rng.choice(model.graph.initializer)
    action = rng.randrange(4)
    if action == 0:
        tensor.raw_data = tensor.raw_data[: rng.randrange(len(tensor.raw_data) + 1)]
    elif action == 1:
        tensor.raw_data += bytes(rng.randint(1, 9))
    elif action == 2:
        tensor.float_data.extend([1.0] * rng.randint(1, 5))
    else:
        tensor.int64_data.extend([1] * rng.randint(1, 5))
    return f"data of {tensor.name[:20]}, way {action}"


def choose_values(rng, model, types):
    """An initializer of one of these types and a copy of its elements; None twice if there is none to read."""
    tensors = [t for t in model.graph.initializer if t.data_type in types]
    if not tensors:
        return None, None
    tensor = rng.choice(tensors)
    try:
        values = numpy_helper.to_array(tensor).copy()
    except ValueError:
        return None, None
    return (tensor, values) if values.size else (None, None)


def integer_data(rng, model):
    """Operands that are shapes, axes or indices."""
    tensor, values = choose_values(rng, model, (TensorProto.INT64, TensorProto.INT32))
    if values is None:
        return None
    for _ in range(rng.choice([1, 1, 2])):
        with np.errstate(all="ignore"):
            values.reshape(-1)[rng.randrange(values.size)] = np.array(number(rng)).astype(values.dtype)
    tensor.CopyFrom(numpy_helper.from_array(values, tensor.name))
    return f"{tensor.name[:20]} = {str(values.tolist())[:60]}"


def real_data(rng, model):
    """NaN, infinities, denormals."""
    tensor, values = choose_values(rng, model, (TensorProto.FLOAT,))
    if values is None:
        return None
    values.reshape(-1)[rng.randrange(values.size)] = rng.choice(REALS)
    tensor.CopyFrom(numpy_helper.from_array(values, tensor.name))
    return f"a value of {tensor.name[:20]}"


def tensor_type(rng, model):
    if not model.graph.initializer:
        return None
    tensor = rng.choice(model.graph.initializer)
    tensor.data_type = rng.choice([t for t in TYPES if t >= 0])
    return f"type of {tensor.name[:20]} = {tensor.data_type}"


def input_shape(rng, model):
    shape = rng.choice(model.graph.input).type.tensor_type.shape
    if shape.dim and rng.random() < 0.7:
        dim = shape.dim[rng.randrange(len(shape.dim))]
        if rng.random() < 0.2:
            dim.dim_param = rng.choice(NAMES)
            return "a symbolic dimension"
        dim.dim_value = number(rng)
        return f"input's dimension {dim.dim_value}"
    if rng.random() < 0.5:
        shape.dim.add().dim_value = number(rng)
        return "a further dimension of the input"
    del shape.dim[:]
    return "a scalar input"


def input_type(rng, model):
    chosen = rng.choice(list(model.graph.input) + list(model.graph.output))
    chosen.type.tensor_type.elem_type = rng.choice(TYPES)
    return f"type of {chosen.name[:20]} = {chosen.type.tensor_type.elem_type}"


def operand(rng, model):
    graph = rng.choice(list(graphs(model.graph)))
    names = [name for node in graph.node for name in [*node.input, *node.output]] + ["", "no such value", "x"]
    names += [tensor.name for tensor in graph.initializer]
    nodes = [node for node in graph.node if node.input]
    if not nodes:
        return None
    node = rng.choice(nodes)
    at, name = rng.randrange(len(node.input)), rng.choice(names)
    node.input[at] = name
    return f"operand {at} of {node.op_type} is {name[:20]}"


def arity(rng, model):
    node = rng.choice(model.graph.node)
    values = rng.choice([node.input, node.output])
    if values and rng.random() < 0.6:
        values.pop()
        return f"{node.op_type} with fewer values"
    values.append(rng.choice(["", "extra", "a", "W"]))
    return f"{node.op_type} with more values"


def operator(rng, model):
    names = [node.op_type for node in model.graph.node] + ["NoSuchOperator", "Loop", "", "If", "Scan", "Relu"]
    node = rng.choice(model.graph.node)
    old, node.op_type = node.op_type, rng.choice(names + [rng.choice(onnx.defs.get_all_schemas()).name] * 4)
    return f"{old} becomes {node.op_type}"


def domain(rng, model):
    node = rng.choice(model.graph.node)
    node.domain = rng.choice(["ai.onnx", "com.microsoft", "ai.onnx.ml", "ai.onnx.preview.training", *NAMES])
    return f"{node.op_type} of {node.domain[:20]}"


def order(rng, model):
    nodes = list(model.graph.node)
    rng.shuffle(nodes)
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    return "nodes shuffled"


def removal(rng, model):
    at = rng.randrange(len(model.graph.node))
    what = model.graph.node[at].op_type
    del model.graph.node[at]
    return f"without {what}"


def duplicate(rng, model):
    """The same node, input, output or initializer twice."""
    values = rng.choice([model.graph.node, model.graph.input, model.graph.output, model.graph.initializer])
    if not values:
        return None
    values.append(rng.choice(values))
    return "one of the parts twice"


def opset(rng, model):
    version = rng.choice([0, -1, 1, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 16, 18, 20, 22, 23, 24, 25, 26, 99, 2**63 - 1])
    entry = rng.choice(model.opset_import)
    if rng.random() < 0.1:
        del model.opset_import[:]
        return "no opset"
    entry.version = version
    return f"opset {version}"


def rename(rng, model):
    """A hostile name, wherever it is used."""
    new = rng.choice(NAMES) if rng.random() < 0.8 else "".join(chr(rng.randrange(1, 0x300)) for _ in range(8))
    node = rng.choice(model.graph.node)
    if rng.random() < 0.5:
        node.name = new
        return f"{node.op_type} named {new[:20]!r}"
    names = {name for n in model.graph.node for name in [*n.input, *n.output] if name}
    names |= {tensor.name for tensor in model.graph.initializer} | {value.name for value in model.graph.input}
    old = rng.choice(sorted(names))
    for n in model.graph.node:
        for values in (n.input, n.output):
            values[:] = [new if name == old else name for name in values]
    for values in (model.graph.input, model.graph.output, model.graph.initializer, model.graph.value_info):
        for value in values:
            if value.name == old:
                value.name = new
    return f"a value named {new[:20]!r}"


def output(rng, model):
    names = [name for node in model.graph.node for name in node.output if name] + ["x", "W", "nothing", ""]
    rng.choice(model.graph.output).name = rng.choice(names)
    return "another output"


ALL = [
    *[attribute] * 7, *[tensor_shape] * 5, *[integer_data] * 5, initializer_shape, tensor_data, real_data, tensor_type,
    *[input_shape] * 2, input_type, *[operand] * 2, arity, operator, domain, order, removal, duplicate, opset,
    *[rename] * 2, output,
]  # fmt: skip


def mutate(rng, model, count):
    """What was done to `model`."""
    done = []
    for _ in range(count):
        for _ in range(5):
            what = rng.choice(ALL)(rng, model)
            if what:
                done.append(what)
                break
        if not model.graph.node or not model.graph.input or not model.graph.output or not model.opset_import:
            break
    return "; ".join(done)
