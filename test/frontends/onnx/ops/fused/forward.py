# SPDX-License-Identifier: Apache-2.0
"""Operators of ONNX Runtime's optimizers: ingot-eval against ONNX Runtime, or a
formula where it has the operator for GPUs only.

    forward.py INGOT_EVAL FOLDER
"""

import pathlib
import subprocess
import sys
import zlib

import cases
import numpy as np
import onnx
import onnx.parser
import onnxruntime


def typed(value):
    array = np.asarray(value)
    return array.astype(np.float32) if array.dtype == np.float64 else array


def build(case):
    body, shapes, constants = case
    inputs = ", ".join(f"float[{','.join(map(str, s))}] {n}" for n, s in shapes.items())
    text = f'<ir_version: 10, opset_import: ["": 23, "com.microsoft": 1]>\ng ({inputs}) => () {{\n{body}\n}}'
    model = onnx.parser.parse_model(text)
    model.graph.initializer.extend(onnx.numpy_helper.from_array(typed(v), k) for k, v in constants.items())
    for name in model.graph.node[-1].output:
        if name.startswith("y"):
            model.graph.output.append(onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None))
    return model


def expected(name, model, arrays):
    if name in cases.FORMULAS:
        return [cases.FORMULAS[name][1](*arrays.values())]
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, arrays)


def agree(tool, folder, name):
    case = cases.FORMULAS[name][0] if name in cases.FORMULAS else cases.CASES[name]
    model = build(case)
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    arrays = {k: rng.standard_normal(s).astype(np.float32) for k, s in case[1].items()}
    base = folder / name
    onnx.save(model, f"{base}.onnx")
    np.savez(f"{base}.in.npz", **arrays)
    done = subprocess.run(
        [tool, f"{base}.onnx", "--inputs", f"{base}.in.npz", "--outputs", f"{base}.out.npz"],
        capture_output=True,
        text=True,
    )
    if done.returncode:
        return done.stderr.strip()
    names = [output.name for output in model.graph.output]
    with np.load(f"{base}.out.npz") as outputs:
        for output, want in zip(names, expected(name, model, arrays), strict=False):
            got = outputs[output]
            if got.shape != want.shape:
                return f"{output}: {got.shape}, not {want.shape}"
            if not np.allclose(got, want, rtol=1e-4, atol=1e-5):
                return f"{output}: differs by {np.abs(got - want).max()}"
    return None


def main():
    tool, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    names, failures = [*cases.CASES, *cases.FORMULAS], 0
    for name in names:
        try:
            problem = agree(tool, folder, name)
        except Exception as error:  # What ONNX Runtime refuses is a mistake in the case.
            problem = f"{type(error).__name__}: {str(error)[:300]}"
        if problem:
            failures += 1
            print(f"FAILED {name}: {problem}")
    print(f"{len(names)} cases, {failures} fail")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
