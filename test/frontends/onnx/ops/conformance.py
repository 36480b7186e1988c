# SPDX-License-Identifier: Apache-2.0
"""Runs ONNX's own operator tests through ingot-eval.

    conformance.py INGOT_EVAL FOLDER [--only REGEX] [--shard I/N] [--list]

Every test of the onnx package whose operators are imported is run: a model of
one operator, with inputs and the outputs expected of it. Inputs that must be
known at compile time become initializers, as real models have them. A test that
needs something the frontend says it does not support is skipped, and the
message must say so in one line; anything else that is not a match fails.
"""

import argparse
import concurrent.futures
import os
import re
import subprocess
import sys
import warnings

import numpy as np
import onnx
from onnx import numpy_helper

# Inputs that importers need as constants, by operator: None for all but the
# first.
CONSTANT = {
    "Reshape": (1,),
    "Expand": (1,),
    "Slice": (1, 2, 3, 4),
    "Pad": (1, 2, 3),
    "Tile": (1,),
    "Squeeze": (1,),
    "Unsqueeze": (1,),
    "Split": (1,),
    "ConstantOfShape": (0,),
    "Range": (0, 1, 2),
    "OneHot": (1,),
    "CumSum": (1,),
    "Trilu": (1,),
    "Dropout": (1, 2),
    "SplitToSequence": (1,),
    "SequenceAt": (1,),
    "Resize": (1, 2, 3),
    "Upsample": (1,),
    "CenterCropPad": (1,),
    "AffineGrid": (1,),
}

# Outputs that are random; old dropout nodes are imported in their training form.
KNOWN = {
    "test_dropout_default_old": "random",
    "test_dropout_random_old": "random",
    "test_training_dropout": "random",
    "test_training_dropout_default": "random",
    "test_training_dropout_default_mask": "random",
    "test_training_dropout_mask": "random",
}


def constant_inputs(model):
    """Names of graph inputs that must become initializers."""
    names = set()
    for node in model.graph.node:
        positions = CONSTANT.get(node.op_type)
        if node.op_type.startswith("Reduce"):
            positions = (1,)
        for i in positions or ():
            if i < len(node.input):
                names.add(node.input[i])
    return names


def prepare(case):
    """The model with its constants inside, and arrays for the other inputs; or
    a reason to skip."""
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    inputs, outputs = case.data_sets[0]
    named = constant_inputs(model)
    arrays, kept = {}, []
    for info, value in zip(model.graph.input, inputs):
        if not isinstance(value, np.ndarray) and not np.isscalar(value):
            return None, None, None, "input is not a tensor"
        value = np.asarray(value)
        if info.name in named:
            model.graph.initializer.append(numpy_helper.from_array(value, info.name))
            continue
        kept.append(info)
        arrays[info.name] = value
        # Sizes as in the data: these models leave some open.
        dims = info.type.tensor_type.shape
        dims.Clear()
        for size in value.shape:
            dims.dim.add().dim_value = size
    del model.graph.input[:]
    model.graph.input.extend(kept)
    wanted = {}
    for info, value in zip(model.graph.output, outputs):
        if not isinstance(value, np.ndarray) and not np.isscalar(value):
            return None, None, None, "output is not a tensor"
        wanted[info.name] = np.asarray(value)
    return model, arrays, wanted, None


def as_plain(array):
    """npz knows no bfloat16: it is compared as float32."""
    array = np.asarray(array)
    return array.astype(np.float32) if array.dtype.name == "bfloat16" else array


def tolerance(case, want):
    return max(case.rtol, 4e-3 if want.dtype.itemsize == 2 else 1e-3)


UNSUPPORTED = set()


def run(case, tool, folder):
    """None if it agrees, ('skip', why) or ('fail', why)."""
    operators = {node.op_type for node in case.model.graph.node}
    if operators & UNSUPPORTED:
        return "skip", f"unsupported operator: {', '.join(operators & UNSUPPORTED)}"
    if case.name in KNOWN:
        return "skip", KNOWN[case.name]
    model, arrays, wanted, reason = prepare(case)
    if reason:
        return "skip", reason
    for array in [*arrays.values(), *wanted.values()]:
        if array.dtype.kind not in "fiub":
            return "skip", f"element type {array.dtype}"
    base = os.path.join(folder, case.name)
    onnx.save(model, base + ".onnx")
    np.savez(base + ".in.npz", **{k.replace("/", "_"): v for k, v in arrays.items()})
    command = [tool, base + ".onnx", "--outputs", base + ".out.npz"]
    if arrays:
        command += ["--inputs", base + ".in.npz"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
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
        if "unsupported operator" in lines[0] and len(operators) == 1:
            UNSUPPORTED.update(operators)
        return "skip", lines[0]
    with np.load(base + ".out.npz") as outputs:
        for name, want in wanted.items():
            if name not in outputs:
                return "fail", f"no output {name}"
            got, want = as_plain(outputs[name]), as_plain(want)
            if got.shape != want.shape or got.dtype != want.dtype:
                return "fail", f"{name}: {got.dtype}{got.shape}, not {want.dtype}{want.shape}"
            if not np.allclose(got, want, rtol=tolerance(case, want), atol=max(case.atol, 1e-6), equal_nan=True):
                return "fail", f"{name}: got {got.ravel()[:8]}, want {want.ravel()[:8]}"
    for suffix in (".onnx", ".in.npz", ".out.npz"):
        os.remove(base + suffix)
    return None


def guarded(case, tool, folder):
    try:
        return run(case, tool, folder)
    except Exception as error:  # An unreadable answer is a failure of the test.
        return "fail", f"{type(error).__name__}: {error}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tool")
    parser.add_argument("folder")
    parser.add_argument("--only", default="")
    parser.add_argument("--shard", default="0/1")
    parser.add_argument("--list", action="store_true", help="also name what is skipped, and why")
    args = parser.parse_args()
    os.makedirs(args.folder, exist_ok=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import onnx.backend.test.case.node as node_cases

        cases = node_cases.collect_testcases(None)
    index, count = map(int, args.shard.split("/"))
    cases = [c for c in cases if re.search(args.only, c.name)][index::count]
    passed, skipped, failed = 0, [], []
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        results = pool.map(lambda case: guarded(case, args.tool, args.folder), cases)
        for case, result in zip(cases, results):
            if result is None:
                passed += 1
            elif result[0] == "skip":
                skipped.append((case.name, result[1]))
            else:
                failed.append((case.name, result[1]))
    if args.list:
        for name, why in skipped:
            print(f"skipped {name}: {why}")
    for name, why in failed:
        print(f"FAILED {name}: {why}")
    print(f"{passed} agree, {len(skipped)} skipped, {len(failed)} fail")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
