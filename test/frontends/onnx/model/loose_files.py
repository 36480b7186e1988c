# SPDX-License-Identifier: Apache-2.0
"""Files that ONNX's checker refuses, or that say what is not so, and that
ONNX Runtime runs: ingot-eval computes the same.

    loose_files.py INGOT_EVAL FOLDER

Each case changes one small model. What ONNX Runtime refuses is not a case.
"""

import pathlib
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

F = TensorProto.FLOAT
X = np.arange(-3, 3, dtype=np.float32).reshape(2, 3)
CASES = {}


def case(change):
    CASES[change.__name__.replace("_", "-")] = change
    return change


def value(name, shape, kind=F):
    return helper.make_tensor_value_info(name, kind, shape)


def base():
    rng = np.random.default_rng(1)
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["h"], name="product"),
        helper.make_node("Relu", ["h"], ["y"], name="act"),
    ]
    weights = numpy_helper.from_array(rng.standard_normal((3, 4)).astype(np.float32), "w")
    graph = helper.make_graph(nodes, "g", [value("x", ["n", 3])], [value("y", ["n", 4])], [weights])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


def initialize(m, **arrays):
    m.graph.initializer.extend(numpy_helper.from_array(np.asarray(a), k) for k, a in arrays.items())


def last(m, *nodes):
    """Replaces the last node."""
    del m.graph.node[-1]
    m.graph.node.extend(nodes)


def branches(m, change):
    """Puts a condition in the place of the last node."""
    then = helper.make_graph(
        [helper.make_node("Neg", ["h"], ["a"]), helper.make_node("Relu", ["a"], ["b"])],
        "then",
        [],
        [value("b", ["n", 4])],
    )
    other = helper.make_graph([helper.make_node("Relu", ["h"], ["c"])], "else", [], [value("c", ["n", 4])])
    change(then)
    initialize(m, condition=np.array(True))
    last(m, helper.make_node("If", ["condition"], ["y"], then_branch=then, else_branch=other))


@case
def graph_without_name(m):
    m.graph.ClearField("name")


@case
def output_without_type(m):
    m.graph.output[0].ClearField("type")


@case
def output_without_shape(m):
    m.graph.output[0].type.tensor_type.ClearField("shape")


@case
def output_of_other_shape(m):
    m.graph.output[0].CopyFrom(value("y", [7, 9]))


@case
def output_of_other_rank(m):
    m.graph.output[0].CopyFrom(value("y", [1, 2, 3]))


@case
def output_twice(m):
    m.graph.output.append(m.graph.output[0])


@case
def negative_sizes(m):
    m.graph.input[0].CopyFrom(value("x", [-1, 3]))
    m.graph.output[0].CopyFrom(value("y", [-1, 4]))


@case
def version_zero(m):
    m.ir_version = 0


@case
def version_one(m):
    m.ir_version = 1


@case
def old_version_without_inputs(m):
    m.ir_version = 3


@case
def initializer_is_input(m):
    m.graph.input.insert(0, value("w", ["a", "b"]))


@case
def initializer_without_name(m):
    initialize(m, unnamed=np.ones(2, np.float32))
    m.graph.initializer[-1].name = ""


@case
def initializer_twice(m):
    m.graph.initializer.append(m.graph.initializer[0])


@case
def initializer_of_two_values(m):
    initialize(m, w=np.ones((3, 4), np.float32))


@case
def values_in_two_fields(m):
    m.graph.initializer[0].float_data.extend([5.0] * 12)


@case
def values_in_fields_of_two_types(m):
    m.graph.initializer[0].int32_data.extend([5] * 12)


@case
def domain_by_its_long_name(m):
    for node in m.graph.node:
        node.domain = "ai.onnx"


@case
def imports_by_their_long_name(m):
    m.opset_import[0].domain = "ai.onnx"


@case
def domain_not_imported(m):
    last(m, helper.make_node("FastGelu", ["h"], ["y"], domain="com.microsoft"))


@case
def default_domain_not_imported(m):
    m.opset_import[0].domain = "com.microsoft"
    m.opset_import[0].version = 1


@case
def unknown_domain_imported(m):
    m.opset_import.append(helper.make_opsetid("com.acme", 7))


@case
def value_without_type(m):
    m.graph.value_info.append(onnx.ValueInfoProto(name="h"))


@case
def value_without_type_with_metadata(m):
    m.graph.value_info.append(onnx.ValueInfoProto(name="h"))
    m.graph.value_info[0].metadata_props.add(key="k", value="v")


@case
def value_twice(m):
    m.graph.value_info.extend([value("h", ["n", 4])] * 2)


@case
def value_of_other_shape(m):
    m.graph.value_info.append(value("h", ["n", 5]))


@case
def value_of_nothing(m):
    m.graph.value_info.append(value("nothing", [1]))


@case
def metadata_twice(m):
    m.metadata_props.add(key="a", value="b")
    m.metadata_props.add(key="a", value="c")


@case
def empty_training_info(m):
    m.training_info.add()


@case
def optional_inputs_and_outputs_empty(m):
    last(
        m,
        helper.make_node("Clip", ["h", "", ""], ["c"]),
        helper.make_node("Dropout", ["c", "", ""], ["y", ""]),
    )


@case
def nodes_without_names(m):
    for node in m.graph.node:
        node.name = ""


@case
def nodes_in_reverse(m):
    m.graph.node.reverse()


@case
def nodes_in_reverse_around_a_graph(m):
    branches(m, lambda then: None)
    m.graph.node.reverse()


@case
def unused_function(m):
    imports = [helper.make_opsetid("", 13)]
    m.functions.append(
        helper.make_function("com.acme", "F", ["a"], ["b"], [helper.make_node("Relu", ["a"], ["b"])], imports)
    )


@case
def branch_output_without_type(m):
    branches(m, lambda then: then.output[0].ClearField("type"))


@case
def branch_output_of_other_shape(m):
    branches(m, lambda then: then.output[0].CopyFrom(value("b", [9, 9])))


@case
def branch_value_without_type(m):
    branches(m, lambda then: then.value_info.append(onnx.ValueInfoProto(name="a")))


@case
def layer_norm_of_opset_13(m):
    initialize(m, s=np.arange(4, dtype=np.float32))
    last(m, helper.make_node("LayerNormalization", ["h", "s"], ["y"]))


@case
def text_that_is_not_utf8(m):
    m.doc_string = m.graph.doc_string = m.graph.node[0].doc_string = m.producer_name = "@@@@"
    m.graph.input[0].doc_string = m.graph.initializer[0].doc_string = "@@@@"
    m.metadata_props.add(key="k", value="@@@@")


@case
def names_that_are_not_utf8(m):
    m.graph.node[0].output[0] = m.graph.node[1].input[0] = m.graph.node[0].name = "@@@@"
    m.graph.initializer[0].name = m.graph.node[0].input[1] = "@@@@w"


def agree(tool, folder, name):
    model = base()
    CASES[name](model)
    data = model.SerializeToString().replace(b"@@@@", b"\xff\xfe\x80\x81")
    (folder / f"{name}.onnx").write_bytes(data)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    want = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"]).run(["y"], {"x": X})[0]
    outputs = folder / f"{name}.npz"
    done = subprocess.run(
        [tool, folder / f"{name}.onnx", "--batch", "2", "--inputs", folder / "inputs.npz", "--outputs", outputs],
        capture_output=True,
        text=True,
        errors="replace",
    )
    if done.returncode:
        return done.stderr.strip()
    with np.load(outputs) as arrays:
        got = arrays["y"]
    if got.shape != want.shape or not np.allclose(got, want, rtol=1e-5, atol=1e-6):
        return f"computes {got}, not {want}"
    warns = name == "initializer-of-two-values"
    if warns != ("warning: " in done.stderr):
        return f"warns of {done.stderr or 'nothing'}"
    return None


def main():
    tool, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    np.savez(folder / "inputs.npz", x=X)
    failures = 0
    for name in CASES:
        try:
            problem = agree(tool, folder, name)
        except Exception as error:  # What ONNX Runtime refuses is a mistake in the case.
            problem = f"{type(error).__name__}: {str(error)[:300]}"
        if problem:
            failures += 1
            print(f"FAILED {name}: {problem}")
    print(f"{len(CASES)} files, {failures} fail")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
