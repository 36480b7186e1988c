# SPDX-License-Identifier: Apache-2.0
"""hostile_onnx.py OUT-FOLDER MODEL...: changes models in hostile ways, and imports each
with ingot-opt, which must either succeed or end with status 3, an `error:` line and a
`hint:` line.

HOSTILE_SEED and HOSTILE_COUNT in the environment choose others, and how many.
"""

import concurrent.futures
import os
import pathlib
import random
import subprocess
import sys

import onnx

NUMBERS = [0, 1, 2, 3, 5, 1000, -1, -2, -9, 2**31, 2**40, 2**62, 2**63 - 1, -(2**63)]
REALS = [0.0, -1.0, 1e300, float("inf"), float("nan")]


def mutate_attribute(rng, graph):
    attributes = [a for node in graph.node for a in node.attribute]
    if not attributes:
        return
    attribute = rng.choice(attributes)
    if attribute.type == onnx.AttributeProto.INT:
        attribute.i = rng.choice(NUMBERS)
    elif attribute.type == onnx.AttributeProto.FLOAT:
        attribute.f = min(max(rng.choice(REALS), -3e38), 3e38)
    elif attribute.type == onnx.AttributeProto.INTS and rng.random() < 0.7 and attribute.ints:
        attribute.ints[rng.randrange(len(attribute.ints))] = rng.choice(NUMBERS)
    elif attribute.type == onnx.AttributeProto.INTS:
        attribute.ints.append(rng.choice(NUMBERS))


def mutate_initializer_shape(rng, graph):
    if graph.initializer:
        dims = rng.choice(graph.initializer).dims
        if dims and rng.random() < 0.7:
            dims[rng.randrange(len(dims))] = rng.choice(NUMBERS)
        else:
            dims.append(rng.choice([1, 2, 0]))


def mutate_integer_data(rng, graph):
    """Shape operands: what Reshape, Slice and the like are told."""
    tensors = [t for t in graph.initializer if t.data_type == onnx.TensorProto.INT64]
    if tensors:
        tensor = rng.choice(tensors)
        values = onnx.numpy_helper.to_array(tensor).copy()
        if values.size:
            values.reshape(-1)[rng.randrange(values.size)] = rng.choice(NUMBERS)
            tensor.CopyFrom(onnx.numpy_helper.from_array(values, tensor.name))


def mutate_input_shape(rng, graph):
    dims = rng.choice(graph.input).type.tensor_type.shape.dim
    if dims:
        dims[rng.randrange(len(dims))].dim_value = rng.choice(NUMBERS)


def mutate_input_type(rng, graph):
    rng.choice(graph.input).type.tensor_type.elem_type = rng.choice([0, 1, 7, 8, 9, 10, 11, 14, 16, 99])


def mutate_operand(rng, graph):
    names = [name for node in graph.node for name in [*node.input, *node.output]] + ["", "no such value"]
    node = rng.choice(graph.node)
    if node.input:
        node.input[rng.randrange(len(node.input))] = rng.choice(names)


def mutate_arity(rng, graph):
    node = rng.choice(graph.node)
    values = rng.choice([node.input, node.output])
    if values and rng.random() < 0.6:
        values.pop()
    else:
        values.append(rng.choice(graph.node).output[0] if rng.random() < 0.5 else "extra")


def mutate_operator(rng, graph):
    rng.choice(graph.node).op_type = rng.choice([node.op_type for node in graph.node] + ["NoSuchOperator", "Loop", ""])


def mutate_order(rng, graph):
    nodes = list(graph.node)
    rng.shuffle(nodes)
    del graph.node[:]
    graph.node.extend(nodes)


def mutate_removal(rng, graph):
    del graph.node[rng.randrange(len(graph.node))]


MUTATIONS = [
    *[mutate_attribute] * 3, mutate_initializer_shape, mutate_integer_data, mutate_input_shape,
    mutate_input_type, mutate_operand, mutate_arity, mutate_operator, mutate_order, mutate_removal,
]  # fmt: skip


def mutant(rng, path):
    """The bytes of a changed model, and what was done."""
    data = path.read_bytes()
    if rng.random() < 0.15:
        cut = bytearray(data)
        for _ in range(rng.randint(1, 20)):
            cut[rng.randrange(len(cut))] = rng.randrange(256)
        return bytes(cut[: rng.choice([len(cut), rng.randrange(len(cut))])]), "bytes"
    model, done = onnx.ModelProto.FromString(data), []
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        mutation = rng.choice(MUTATIONS)
        mutation(rng, model.graph)
        done.append(mutation.__name__)
        if not model.graph.node or not model.graph.input:
            break
    return model.SerializeToString(), " ".join(done)


def complaint(path):
    """What is wrong with how the import ended; empty if nothing."""
    command = ["ingot-opt", str(path), "--batch", "2", "--canonicalize", "-o", os.devnull]
    try:
        run = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=120)
    except subprocess.TimeoutExpired:
        return "ran longer than two minutes"
    lines = run.stderr.splitlines()
    if run.returncode == 0:
        return ""
    if run.returncode != 3:
        return f"ended with {run.returncode}: {run.stderr[:600]}"
    errors = [i for i, line in enumerate(lines) if line.startswith("error: ")]
    if not errors or not lines[-1].startswith("hint: "):
        return f"does not end in error and hint: {run.stderr[:600]}"
    return ""


def main():
    rng = random.Random(int(os.environ.get("HOSTILE_SEED", "7")))
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    paths, stories = [], {}
    for number in range(int(os.environ.get("HOSTILE_COUNT", "120"))):
        source = pathlib.Path(rng.choice(sys.argv[2:]))
        data, done = mutant(rng, source)
        path = folder / f"mutant-{number}.onnx"
        path.write_bytes(data)
        paths.append(path)
        stories[path] = f"{path} ({source.parent.name}: {done})"
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        complaints = list(pool.map(complaint, paths))
    for path, text in zip(paths, complaints):
        if text:
            print(f"{stories[path]} {text}")
    failed = sum(map(bool, complaints))
    print(f"{len(paths) - failed} of {len(paths)} fine")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
