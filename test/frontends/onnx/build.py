# SPDX-License-Identifier: Apache-2.0
"""Builds the models that a test describes.

    build.py TEST FOLDER

Writes FOLDER/NAME.onnx for each `MODEL NAME` in the test file, from the lines
that follow it, up to the next or an `END`; leading `#` are dropped:

    # MODEL small producer=pytorch
    # <ir_version: 8, opset_import: ["": 18]>
    # g (float["n",3] x) => (float["n",2] y) { y = Gemm <transB=1> (x, w, b) }
    # INIT w float[2,3] seed=1
    # INIT b float[2] = 1 2
    # NODE 0 NAME encoder/act
    # NODE 0 META key=value        metadata of node 0
    # VALUE w META key=value       metadata of a value
    # GRAPH META key=value         metadata of the graph
    # EXTERNAL w location=w.bin offset=0 length=24
    # END

Values of INIT are drawn from the seed where they are not given, or are those of
another tensor: permuted=NAME:1,0 (of another shape, too, and rounded). CONST
is an INIT that becomes a Constant node at the beginning. Nodes are named
after their operator and position: Gemm_0.
"""

import pathlib
import re
import shlex
import sys

import numpy as np
import onnx
import onnx.parser
from onnx import helper, numpy_helper

DTYPES = {
    "float": np.float32,
    "double": np.float64,
    "float16": np.float16,
    "int64": np.int64,
    "int32": np.int32,
    "bool": np.bool_,
    "uint8": np.uint8,
}


def add_metadata(proto, text):
    key, value = text.split("=", 1)
    proto.metadata_props.add(key=key, value=value.encode().decode("unicode_escape"))


def initializer(words, graph):
    name, kind = words[0], words[1]
    dtype, dims = re.fullmatch(r"(\w+)\[([\d,]*)\]", kind).groups()
    shape = [int(d) for d in dims.split(",") if d]
    rest = words[2:]
    if rest and rest[0] == "=":
        values = np.array([float(v) for v in rest[1:]])
        array = np.full(shape, values[0]) if values.size == 1 else values.reshape(shape)
    elif rest and rest[0].startswith("permuted="):
        other, order = rest[0].split("=")[1].rsplit(":", 1)
        source = numpy_helper.to_array(next(t for t in graph.initializer if t.name == other))
        array = source.transpose([int(d) for d in order.split(",")]).reshape(shape)
    else:
        seed = int(rest[0].split("=")[1]) if rest else 0
        array = np.random.default_rng(seed).standard_normal(shape)
    return numpy_helper.from_array(array.astype(DTYPES[dtype], order="C"), name)


def directive(model, line):
    """Applies one line that is not the model's text; false if it is."""
    words = shlex.split(line)
    graph = model.graph if model else None
    if words[:1] == ["INIT"]:
        graph.initializer.append(initializer(words[1:], graph))
    elif words[:1] == ["CONST"]:
        value = initializer(words[1:], graph)
        graph.node.insert(0, helper.make_node("Constant", [], [words[1]], name=words[1], value=value))
    elif words[:1] == ["NODE"] and words[2] == "NAME":
        graph.node[int(words[1])].name = words[3]
    elif words[:1] == ["NODE"]:
        add_metadata(graph.node[int(words[1])], line.split("META ", 1)[1])
    elif words[:1] == ["VALUE"]:
        info = next((v for v in graph.value_info if v.name == words[1]), None)
        if info is None:
            tensor = next(t for t in graph.initializer if t.name == words[1])
            info = helper.make_tensor_value_info(words[1], tensor.data_type, tensor.dims)
            graph.value_info.append(info)
            info = graph.value_info[-1]
        add_metadata(info, line.split("META ", 1)[1])
    elif words[:2] == ["GRAPH", "META"]:
        add_metadata(graph, line.split("META ", 1)[1])
    elif words[:1] == ["EXTERNAL"]:
        tensor = next(t for t in graph.initializer if t.name == words[1])
        tensor.ClearField("raw_data")
        tensor.data_location = onnx.TensorProto.EXTERNAL
        for pair in words[2:]:
            key, value = pair.split("=", 1)
            tensor.external_data.add(key=key, value=value)
    else:
        return False
    return True


def build(lines, producer):
    keywords = ("INIT", "CONST", "NODE", "VALUE", "GRAPH", "EXTERNAL")
    text = "\n".join(line for line in lines if not line.startswith(keywords))
    # ONNX's text form has plain identifiers only.
    plain = {}
    for line in lines:
        if line.startswith(("INIT ", "CONST ")) and not line.split()[1].isidentifier():
            plain[f"plain_{len(plain)}_"] = line.split()[1]
    for short, name in plain.items():
        text = text.replace(name, short)
    model = onnx.parser.parse_model(text)
    for node in model.graph.node:
        node.input[:] = [plain.get(name, name) for name in node.input]
    model.producer_name = producer
    for i, node in enumerate(model.graph.node):
        if not node.name:
            node.name = f"{node.op_type}_{i}"
    for line in lines:
        if line.startswith(keywords):
            directive(model, line)
    return model


def main():
    test, folder = map(pathlib.Path, sys.argv[1:])
    folder.mkdir(parents=True, exist_ok=True)
    name, lines, producer = None, [], ""
    for raw in [*test.read_text().split("\n"), "# END"]:
        line = raw.lstrip("# ").rstrip()
        if line == "END" or line.startswith("MODEL "):
            if name:
                (folder / f"{name}.onnx").write_bytes(build(lines, producer).SerializeToString())
            name, lines, producer = None, [], ""
            if line != "END":
                words = line.split()
                name = words[1]
                producer = dict(w.split("=") for w in words[2:]).get("producer", "")
        elif name:
            lines.append(line)


if __name__ == "__main__":
    main()
