# SPDX-License-Identifier: Apache-2.0
"""Runs ONNX's own tests of operators and networks through ingot-eval.

    conformance.py INGOT_EVAL FOLDER [--only REGEX] [--shard I/N] [--list] [--light] [--compiled LEVEL] [--page FILE]
        [--record FILE]

Every test of the onnx package whose operators are imported is run: a model of
one operator, with inputs and the outputs expected of it. Inputs that must be
known at compile time become constants, as real models have them; sequences are
built from tensors, and unpacked to tensors. A test that needs something the
frontend says it does not support is skipped, and the message must say so in one
line; anything else that is not a match fails.
"""

import argparse
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import types
import warnings

import numpy as np
import onnx
import operator_table
from onnx import numpy_helper

# Inputs that importers need as constants, by operator.
CONSTANT = {
    "AffineGrid": (1,),
    "BlackmanWindow": (0,),
    "CenterCropPad": (1,),
    "Col2Im": (1, 2),
    "Compress": (1,),
    "ConstantOfShape": (0,),
    "CumProd": (1,),
    "CumSum": (1,),
    "DFT": (1, 2),
    "Dropout": (1, 2),
    "Expand": (1,),
    "HammingWindow": (0,),
    "HannWindow": (0,),
    "Loop": (0, 1),
    "MaxUnpool": (2,),
    "MelWeightMatrix": (0, 1, 2, 3, 4),
    "NonZero": (0,),
    "OneHot": (1,),
    "Pad": (1, 2, 3),
    "Range": (0, 1, 2),
    "Reshape": (1,),
    "Resize": (1, 2, 3),
    "STFT": (1, 3),
    "SequenceAt": (1,),
    "SequenceErase": (1,),
    "SequenceInsert": (2,),
    "Slice": (1, 2, 3, 4),
    "Split": (1,),
    "SplitToSequence": (1,),
    "Squeeze": (1,),
    "Tile": (1,),
    "TopK": (1,),
    "Trilu": (1,),
    "Unique": (0,),
    "Unsqueeze": (1,),
    "Upsample": (1,),
}

# The reference implementation aligns corners with scale times length, a fraction, where ONNX's text, PyTorch and ONNX
# Runtime have the length of the resized tensor.
FRACTION = "expects a fraction for the length of the resized tensor (onnx/onnx#2462)"

# Outputs that are random, and old dropout nodes, which are imported in their training form; and what is not followed.
KNOWN = {
    "test_bernoulli": "random",
    "test_bernoulli_double": "random",
    "test_bernoulli_double_expanded": "random",
    "test_bernoulli_expanded": "random",
    "test_bernoulli_seed": "random",
    "test_bernoulli_seed_expanded": "random",
    "test_dropout_default_old": "random",
    "test_dropout_random_old": "random",
    "test_resize_downsample_scales_cubic_align_corners": FRACTION,
    "test_resize_downsample_scales_linear_align_corners": FRACTION,
    "test_training_dropout": "random",
    "test_training_dropout_default": "random",
    "test_training_dropout_default_mask": "random",
    "test_training_dropout_mask": "random",
}

# Element types of which ingot-eval takes one a byte, and which integer it is.
NARROW = {
    "float8_e4m3fn": np.uint8,
    "float8_e4m3fnuz": np.uint8,
    "float8_e5m2": np.uint8,
    "float8_e5m2fnuz": np.uint8,
    "float8_e8m0fnu": np.uint8,
    "float4_e2m1fn": np.uint8,
    "int4": np.int8,
    "uint4": np.uint8,
    "int2": np.int8,
    "uint2": np.uint8,
}


class Unsuitable(Exception):
    """A test that cannot be run, with the reason."""


def constant_inputs(model):
    """Names of graph inputs that must become constants."""
    names = set()
    for node in model.graph.node:
        positions = CONSTANT.get(node.op_type)
        if node.op_type.startswith("Reduce"):
            positions = (1,)
        for i in positions or ():
            if i < len(node.input):
                names.add(node.input[i])
    return names


def to_array(value):
    if isinstance(value, onnx.TensorProto):
        value = numpy_helper.to_array(value)
    value = np.asarray(value)
    if value.dtype.kind not in "fiubV" and value.dtype.name not in NARROW and value.dtype.name != "bfloat16":
        raise Unsuitable(f"element type {value.dtype}")
    return value


class Model:
    """A test's model with tensors only as inputs and outputs, all of sizes as
    in the data: these models leave some open."""

    def __init__(self, case, all_integers):
        self.model = onnx.ModelProto()
        self.model.CopyFrom(case.model)
        self.before, self.inputs, self.outputs = [], [], []
        self.arrays, self.wanted = {}, {}
        named = constant_inputs(self.model)
        graph = self.model.graph
        self.taken = {name for node in graph.node for name in [*node.input, *node.output]}
        inputs, outputs = case.data_sets[0]
        for info, value in zip(list(graph.input), inputs):
            self.add_input(info.name, value, info.name in named, all_integers, info.type)
        nodes = list(graph.node)
        after = []
        for info, value in zip(list(graph.output), outputs):
            after += self.add_output(info, value)
        for field, items in (
            ("node", [*self.before, *nodes, *after]),
            ("input", self.inputs),
            ("output", self.outputs),
        ):
            graph.ClearField(field)
            getattr(graph, field).extend(items)

    def fresh(self, name):
        while name in self.taken:
            name += "_"
        self.taken.add(name)
        return name

    def add_input(self, name, value, constant, all_integers, declared=None):
        if value is None or isinstance(value, list):
            self.add_structure(name, value, constant, all_integers, declared)
            return
        array = to_array(value)
        if declared is not None and declared.HasField("optional_type"):
            inner = self.fresh(name + "_value")
            self.before.append(onnx.helper.make_node("Optional", [inner], [name]))
            self.add_input(inner, value, constant, all_integers)
            return
        if constant or (all_integers and (array.dtype.kind in "iub" or array.ndim == 0)):
            # An initializer of floats would be a parameter.
            tensor = numpy_helper.from_array(array, name)
            self.before.append(onnx.helper.make_node("Constant", [], [name], value=tensor))
            return
        kind = onnx.helper.np_dtype_to_tensor_dtype(array.dtype)
        if array.dtype.name == "bfloat16":
            # npz knows no bfloat16.
            inner = self.fresh(name + "_float")
            self.before.append(onnx.helper.make_node("Cast", [inner], [name], to=kind))
            name, kind, array = inner, onnx.TensorProto.FLOAT, array.astype(np.float32)
        self.inputs.append(onnx.helper.make_tensor_value_info(name, kind, array.shape))
        self.arrays[name] = as_bytes(array)

    def add_structure(self, name, value, constant, all_integers, declared):
        """Sequences and absent values are built from tensors."""
        if value is None:
            kind = declared.optional_type.elem_type if declared else None
            node = onnx.helper.make_node("Optional", [], [name])
            attribute = node.attribute.add(name="type", type=onnx.AttributeProto.TYPE_PROTO)
            attribute.tp.CopyFrom(kind)
            self.before.append(node)
            return
        names = []
        for i, part in enumerate(value):
            names.append(self.fresh(f"{name}_{i}"))
            self.add_input(names[-1], part, constant, all_integers)
        inside = declared.optional_type.elem_type if declared.HasField("optional_type") else declared
        if names:
            self.before.append(onnx.helper.make_node("SequenceConstruct", names, [name]))
        else:
            kind = inside.sequence_type.elem_type.tensor_type.elem_type
            self.before.append(onnx.helper.make_node("SequenceEmpty", [], [name], dtype=kind))

    def add_output(self, info, value):
        if isinstance(value, list):
            nodes = []
            kind = info.type
            if kind.HasField("optional_type"):
                kind = kind.optional_type.elem_type
                raise Unsuitable("output is optional")
            count = self.fresh(info.name + "_length")
            nodes.append(onnx.helper.make_node("SequenceLength", [info.name], [count]))
            self.want(count, np.asarray(len(value), np.int64))
            for i, part in enumerate(value):
                position, element = self.fresh(f"{info.name}_at_{i}"), self.fresh(f"{info.name}_{i}")
                self.model.graph.initializer.append(numpy_helper.from_array(np.asarray(i, np.int64), position))
                nodes.append(onnx.helper.make_node("SequenceAt", [info.name, position], [element]))
                self.want(element, to_array(part))
            return nodes
        if value is None:
            raise Unsuitable("output is absent")
        if info.type.HasField("optional_type"):
            element = self.fresh(info.name + "_value")
            self.want(element, to_array(value))
            return [onnx.helper.make_node("OptionalGetElement", [info.name], [element])]
        self.want(info.name, to_array(value))
        return []

    def want(self, name, array):
        kind = onnx.helper.np_dtype_to_tensor_dtype(array.dtype)
        self.outputs.append(onnx.helper.make_tensor_value_info(name, kind, array.shape))
        self.wanted[name] = array


def as_bytes(array):
    """Elements of narrow types as ingot-eval takes them."""
    target = NARROW.get(array.dtype.name)
    if target is None:
        return array
    return array.astype(target) if "int" in array.dtype.name else array.view(np.uint8)


def as_numbers(array, like):
    """An output, or what is expected, as elements that numpy can compare."""
    if like.dtype.name in NARROW:
        if "int" in like.dtype.name:
            return array.astype(np.int32)
        return (array.view(like.dtype) if array.dtype == np.uint8 else array).astype(np.float32)
    return array.astype(np.float32) if like.dtype.name == "bfloat16" else array


def tolerance(case, want):
    # Two units in the last place of 16-bit types: the tests round after each op.
    if want.dtype.name == "bfloat16":
        return max(case.rtol, 1.6e-2)
    return max(case.rtol, 4e-3 if want.dtype.itemsize == 2 else 1e-3)


def evaluate(case, command, base, all_integers):
    """What the tool says, its status, and the model."""
    model = Model(case, all_integers)
    onnx.save(model.model, base + ".onnx")
    np.savez(base + ".in.npz", **model.arrays)
    command = [*command, base + ".onnx", "--outputs", base + ".out.npz"]
    if model.arrays:
        command += ["--inputs", base + ".in.npz"]
    return model, subprocess.run(command, capture_output=True, text=True, timeout=300)


def run(case, command, folder):
    """None if it agrees, ('skip', why) or ('fail', why)."""
    if case.name in KNOWN:
        return "skip", KNOWN[case.name]
    base = os.path.join(folder, case.name)
    model, done = evaluate(case, command, base, all_integers=False)
    if done.returncode and "is not known at compile time" in done.stderr:
        # Sizes that the operators of a function need.
        model, done = evaluate(case, command, base, all_integers=True)
    if done.returncode:
        lines = done.stderr.strip().split("\n")
        supported = not any(
            text in done.stderr
            for text in (
                "unsupported operator",
                "is not supported",
                "is not known at compile time",
                "the oldest supported one",
            )
        )
        if supported or len(lines) != 2 or not lines[1].startswith("hint: "):
            return "fail", done.stderr.strip()[-400:]
        return "skip", lines[0]
    with np.load(base + ".out.npz") as outputs:
        for name, want in model.wanted.items():
            if name not in outputs:
                return "fail", f"no output {name}"
            rtol = tolerance(case, want)
            got, want = as_numbers(outputs[name], want), as_numbers(want, want)
            if got.shape != want.shape or got.dtype != want.dtype:
                return "fail", f"{name}: {got.dtype}{got.shape}, not {want.dtype}{want.shape}"
            if not np.allclose(got, want, rtol=rtol, atol=max(case.atol, 1e-6), equal_nan=True):
                return "fail", f"{name}: got {got.ravel()[:8]}, want {want.ravel()[:8]}"
    for suffix in (".onnx", ".in.npz", ".out.npz"):
        if os.path.exists(base + suffix):
            os.remove(base + suffix)
    return None


def guarded(case, command, folder):
    try:
        return run(case, command, folder)
    except Unsuitable as why:
        return "skip", str(why)
    except Exception as error:  # An unreadable answer is a failure of the test.
        return "fail", f"{type(error).__name__}: {error}"


def reason_of(message):
    """What a message says of the operator, without the place and the node."""
    text = re.sub(r"^error: .*?: (?=unsupported operator|[A-Z]\w+: )", "", message)
    text = re.sub(r"^error: \S+: ", "", text)
    operator = re.match(r"unsupported operators?: ([\w.:]+)", text)
    return f"operator {operator[1].split('::')[-1]} is not imported" if operator else text


def write_page(path, cases, agreeing, skipped):
    """Lists the tests that are skipped, by reason, and counts them by operator."""
    passed = len(agreeing)
    reasons = {}
    for name, why in skipped:
        reasons.setdefault(reason_of(why), []).append(name.removeprefix("test_"))
    lines = [
        "# ONNX's operator tests",
        "",
        f"Of the {passed + len(skipped)} tests of operators in onnx {onnx.__version__},"
        f" {passed} agree in the interpreter. Generated by",
        "`test/frontends/onnx/ops/conformance.py INGOT_EVAL FOLDER --page docs/onnx-tests.md`; the others, by reason:",
        "",
        "| reason | tests | |",
        "|---|---|---|",
    ]
    for reason, names in sorted(reasons.items(), key=lambda item: (-len(item[1]), item[0])):
        lines.append(f"| {reason} | {len(names)} | {' '.join(sorted(names))} |")
    lines += operator_table.lines(cases, agreeing)
    with open(path, "w") as page:
        page.write("\n".join(lines) + "\n")


def light_cases():
    """The convolutional networks that the package has without weights, with the
    outputs that are stored for an input of rising numbers."""
    folder = pathlib.Path(onnx.__file__).parent / "backend/test/data/light"
    for path in sorted(folder.glob("*.onnx")):
        model = onnx.load(path)
        weights = {tensor.name for tensor in model.graph.initializer}
        images = [value for value in model.graph.input if value.name not in weights]
        shape = [d.dim_value for d in images[0].type.tensor_type.shape.dim]
        size = np.prod(shape)
        rising = (np.arange(size).reshape(shape) / size).astype(np.float32)
        stored = [path.with_name(f"{path.stem}_output_{i}.pb") for i in range(len(model.graph.output))]
        # From this version on, initializers need not be inputs as well.
        model.ir_version = 4
        del model.graph.input[:]
        model.graph.input.extend(images)
        yield types.SimpleNamespace(
            name="test_" + path.stem,
            model=model,
            data_sets=[([rising], [*map(onnx.load_tensor, stored)])],
            rtol=1e-3,
            atol=1e-7,
        )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tool")
    parser.add_argument("folder")
    parser.add_argument("--only", default="")
    parser.add_argument("--shard", default="0/1")
    parser.add_argument("--list", action="store_true", help="also name what is skipped, and why")
    parser.add_argument("--page", help="write the list of what is skipped")
    parser.add_argument("--light", action="store_true", help="run the package's networks instead of its operators")
    parser.add_argument("--compiled", metavar="LEVEL", help="run compiled code of this optimization level")
    parser.add_argument("--record", type=pathlib.Path, help="add to what agrees as compiled code in this file")
    args = parser.parse_args()
    os.makedirs(args.folder, exist_ok=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import onnx.backend.test.case.node as node_cases

        cases = list(light_cases()) if args.light else node_cases.collect_testcases(None)
    index, count = map(int, args.shard.split("/"))
    cases = [c for c in cases if re.search(args.only, c.name)][index::count]
    command = [args.tool] + ([f"--compiled={args.compiled}"] if args.compiled else [])
    agreeing, skipped, failed = set(), [], []
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        results = pool.map(lambda case: guarded(case, command, args.folder), cases)
        for case, result in zip(cases, results):
            if result is None:
                agreeing.add(case.name)
            elif result[0] == "skip":
                skipped.append((case.name, result[1]))
            else:
                failed.append((case.name, result[1]))
    if args.list:
        for name, why in skipped:
            print(f"skipped {name}: {why}")
    if args.page:
        write_page(args.page, cases, agreeing, skipped)
    if args.record:
        operator_table.record(args.record, args.compiled, operator_table.count(cases, agreeing))
    for name, why in failed:
        print(f"FAILED {name}: {why}")
    print(f"{len(agreeing)} agree, {len(skipped)} skipped, {len(failed)} fail")
    return 1 if failed or not agreeing else 0


if __name__ == "__main__":
    sys.exit(main())
