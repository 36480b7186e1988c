# SPDX-License-Identifier: Apache-2.0
"""Operators that interpolate or have windows, on random attributes, against ONNX Runtime and PyTorch.

    agreement.py INGOT_OPT INGOT_EVAL FOLDER [--only REGEX] [--count N] [--seed N] [--compiled LEVEL]
    agreement.py INGOT_OPT INGOT_EVAL FOLDER --write FILE.npz
    agreement.py INGOT_OPT INGOT_EVAL FOLDER --read FILE.npz [--compiled LEVEL]

Each operator gets a number of graphs. Results are compared with ONNX Runtime's and with PyTorch's, and gradients with
PyTorch's in double precision, each where it has the operator with these attributes. A line says the worst error of any
element, relative to the larger of 1 and the number. Needs both packages: INGOT_MODELS_PYTHON names a Python that has
them. --write keeps a few graphs of each operator with what these say; --read needs neither.
"""

import argparse
import json
import os
import pathlib
import re
import sys
import types
import zlib

HERE = pathlib.Path(__file__).resolve().parent
if "--read" not in sys.argv and os.environ.get("INGOT_MODELS_PYTHON", sys.executable) != sys.executable:
    os.execv(os.environ["INGOT_MODELS_PYTHON"], [os.environ["INGOT_MODELS_PYTHON"], *sys.argv])
sys.path.insert(0, str(HERE.parent / "gradients"))
# ruff: noqa: E402

import drawing
import gradients
import numpy as np
import onnx
import onnx.compose
from onnx import numpy_helper

# Constants that have the type of the first input.
OF_INPUTS_TYPE = {"r", "v"}
GRADIENT_TOLERANCE = 1e-9
# What --write keeps of each operator, if it is small.
ARCHIVE_SEEDS, ARCHIVE_ELEMENTS = range(1000, 1006), 400


class Refused(Exception):
    """The program says why it does not take the model."""


def constants_of(case, element):
    """Constants, as real models have them: initializers of floats would be parameters."""
    for name, value in case.constants.items():
        value = np.asarray(value)
        if name in OF_INPUTS_TYPE:
            value = value.astype(element)
        yield onnx.helper.make_node("Constant", [], [name], value=numpy_helper.from_array(value, name))


def with_constants(model, case, element):
    nodes = [*constants_of(case, element), *model.graph.node]
    model.graph.ClearField("node")
    model.graph.node.extend(nodes)
    return model


def single(case):
    """The graph in single precision, with an output of each result."""
    given = ", ".join(f"float[{','.join(map(str, value.shape))}] {name}" for name, value in case.inputs.items())
    head = f'<ir_version: {8 if case.opset < 19 else 10}, opset_import: ["": {case.opset}]>\ng ({given})'
    model = onnx.parser.parse_model(f"{head} => (float[] y) {{\n{case.body}\n}}")
    model.graph.output[0].type.tensor_type.ClearField("shape")
    return with_constants(model, case, np.float32)


def differentiable(case):
    """The graph in double precision, whose parameters are the inputs, with a loss."""
    parameters = {name: value.astype(np.float64) for name, value in case.inputs.items()}
    shapes = {name: value.shape for name, value in parameters.items()}
    model = gradients.build("g", (case.opset, case.body, shapes, {}), parameters, as_inputs=False)
    return with_constants(model, case, np.float64)


def merged(models):
    """One graph of several that have an operator set in common; the names of each begin with its number."""
    whole = onnx.ModelProto()
    whole.CopyFrom(models[0])
    for field in ("node", "input", "output", "initializer"):
        whole.graph.ClearField(field)
    for i, model in enumerate(models):
        part = onnx.compose.add_prefix(model, f"c{i}_").graph
        for field in ("node", "input", "output", "initializer"):
            getattr(whole.graph, field).extend(getattr(part, field))
    return whole


def run(command):
    try:
        gradients.run(command)
    except RuntimeError as problem:
        raise Refused(str(problem)) from None


def ingots(tool, base, model, inputs, level):
    onnx.save(model, f"{base}.onnx")
    np.savez(f"{base}.in.npz", **inputs)
    command = [tool, *([f"--compiled={level}"] if level is not None else []), f"{base}.onnx"]
    run([*command, "--inputs", f"{base}.in.npz", "--outputs", f"{base}.out.npz"])
    with np.load(f"{base}.out.npz") as outputs:
        return dict(outputs)


def runtimes(case):
    """ONNX Runtime's result, or None if it has no kernel for it."""
    import onnxruntime

    onnxruntime.set_default_logger_severity(4)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    try:
        session = onnxruntime.InferenceSession(
            single(case).SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
        return session.run(None, case.inputs)[0]
    except Exception:
        return None


def torchs(case):
    """PyTorch's result in single precision, and its gradients in double of the loss that gradients.build() makes."""
    import torch

    if case.torch is None:
        return None, None
    with torch.no_grad():
        result = case.torch({name: torch.tensor(value) for name, value in case.inputs.items()}).numpy()
    exact = {n: torch.tensor(v.astype(np.float64), requires_grad=True) for n, v in case.inputs.items()}
    flat = case.torch(exact).reshape(-1)
    (flat * torch.arange(1, flat.numel() + 1).double().sin()).sum().backward()
    return result, {n: np.zeros(t.shape) if t.grad is None else t.grad.numpy() for n, t in exact.items()}


def off(got, want):
    """The worst error; elements that are not finite must be equal."""
    if got.shape != want.shape:
        return float("inf")
    if got.size == 0:
        return 0.0
    difference = np.where(got == want, 0.0, np.abs(got.astype(np.float64) - want)) / np.maximum(1, np.abs(want))
    difference = np.where(np.isnan(got) & np.isnan(want), 0.0, difference)
    return float(np.nan_to_num(difference, nan=np.inf).max())


def draw(name, seed):
    return drawing.OPERATORS[name](np.random.default_rng([zlib.crc32(name.encode()), seed]))


def texts(case):
    shapes = ", ".join(f"{n}{list(v.shape)}" for n, v in case.inputs.items())
    values = ", ".join(f"{n}={np.asarray(v).tolist()}" for n, v in case.constants.items())
    return f"{case.body}, opset {case.opset}; {shapes}; {values}".replace("\n", ";")


def compare(args, name, seed):
    """Problems of one graph, its errors by what it is compared with."""
    case = draw(name, seed)
    base = args.folder / f"{name}-{seed}"
    problems, errors = [], {}
    reference, (other, other_gradients) = runtimes(case), torchs(case)
    if reference is None and other is None:
        return [], {}
    level = args.compiled
    result = ingots(args.tool, base, single(case), case.inputs, level)["y"]
    for source, want in (("onnxruntime", reference), ("torch", other)):
        # Where the two part, PyTorch counts, with which models are made.
        apart = want is not None and other is not None and off(want, other) > case.tolerance
        if want is not None and not (apart and source == "onnxruntime"):
            errors[source] = off(result, want)
            if errors[source] > case.tolerance:
                problems.append(f"{source}: off by {errors[source]:.1e}")
    if other_gradients is not None and case.opset >= 13 and level is None:
        found = gradients.gradients_of(args.opt, args.tool, base, differentiable(case), case.inputs, {})
        for key, want in other_gradients.items():
            error = off(found.get(key, np.zeros(want.shape)), want)
            errors["gradient"] = max(error, errors.get("gradient", 0.0))
            if error > GRADIENT_TOLERANCE:
                problems.append(f"gradient of {key}: off by {error:.1e}")
    return [f"seed {seed}: {', '.join(problems)}: {texts(case)}"] if problems else [], errors


def sweep(args):
    failures = graphs = 0
    for name in [name for name in drawing.OPERATORS if re.search(args.only, name)]:
        worst, counts, problems = {}, {}, []
        for seed in range(args.seed, args.seed + args.count):
            graphs += 1
            try:
                found, errors = compare(args, name, seed)
            except Exception as problem:
                found, errors = [f"seed {seed}: {type(problem).__name__}: {problem}: {texts(draw(name, seed))}"], {}
            problems += found
            for source, error in errors.items():
                worst[source] = max(error, worst.get(source, 0.0))
                counts[source] = counts.get(source, 0) + 1
        failures += len(problems)
        line = ", ".join(f"{source} {counts[source]} {error:.1e}" for source, error in worst.items())
        print(f"{name}: {line}", *problems, sep="\n  FAILED ", flush=True)
    print(f"{graphs} graphs of {len(drawing.OPERATORS)} operators, {failures} fail")
    return 1 if failures else 0


def write(path):
    """Keeps a few graphs of each operator, with what ONNX Runtime or PyTorch say of them."""
    cases, arrays = [], {}
    for name in drawing.OPERATORS:
        for seed in ARCHIVE_SEEDS:
            case = draw(name, seed)
            reference, (other, other_gradients) = runtimes(case), torchs(case)
            want = reference if other is None else other
            if want is None or sum(v.size for v in [want, *case.inputs.values()]) > ARCHIVE_ELEMENTS:
                continue
            known = {"name": name, "opset": case.opset, "body": case.body, "tolerance": case.tolerance}
            cases.append({**known, "inputs": list(case.inputs), "constants": list(case.constants)})
            part = {"want": want, **{f"input-{n}": v for n, v in case.inputs.items()}}
            part |= {f"constant-{n}": v for n, v in case.constants.items()}
            if case.opset >= 13:
                part |= {f"gradient-{n}": v for n, v in (other_gradients or {}).items()}
            arrays |= {f"{len(cases) - 1}/{key}": value for key, value in part.items()}
    np.savez_compressed(path, cases=np.array(json.dumps(cases)), **arrays)
    print(f"{len(cases)} graphs")


def read(args):
    """Compares with what write() kept: one model for the graphs of an operator set."""
    with np.load(args.read) as archive:
        arrays = dict(archive)
    sets, count, problems = {}, 0, []
    for i, known in enumerate(json.loads(str(arrays["cases"]))):
        part = {key.partition("/")[2]: value for key, value in arrays.items() if key.startswith(f"{i}/")}
        case = types.SimpleNamespace(**known, part=part)
        case.inputs = {name: part[f"input-{name}"] for name in known["inputs"]}
        case.constants = {name: part[f"constant-{name}"] for name in known["constants"]}
        sets.setdefault(case.opset, []).append(case)
    for opset, cases in sets.items():
        base, inputs = args.folder / f"opset-{opset}", {}
        for i, case in enumerate(cases):
            inputs |= {f"c{i}_{name}": value for name, value in case.inputs.items()}
        results = ingots(args.tool, base, merged([single(case) for case in cases]), inputs, args.compiled)
        for i, case in enumerate(cases):
            count += 1
            error = off(results[f"c{i}_y"], case.part["want"])
            if error > case.tolerance:
                problems.append(f"{case.name}: off by {error:.1e}: {texts(case)}")
        cases = [case for case in cases if any(key.startswith("gradient-") for key in case.part)]
        if not cases or args.compiled is not None:
            continue
        whole = merged([differentiable(case) for case in cases])
        whole.graph.ClearField("output")
        whole.graph.node.append(onnx.helper.make_node("Sum", [f"c{i}_loss" for i in range(len(cases))], ["loss"]))
        whole.graph.output.append(onnx.helper.make_tensor_value_info("loss", onnx.TensorProto.FLOAT, []))
        wanted = {f"c{i}_{n}": case.part[f"gradient-{n}"] for i, case in enumerate(cases) for n in case.inputs}
        found = gradients.gradients_of(args.opt, args.tool, base, whole, wanted, {})
        for name, want in wanted.items():
            count += 1
            error = off(found.get(name, np.zeros(want.shape)), want)
            if error > GRADIENT_TOLERANCE:
                case = cases[int(name[1:].partition("_")[0])]
                problems.append(f"{case.name}: gradient of {name} off by {error:.1e}: {texts(case)}")
    print(*(f"FAILED {problem}" for problem in problems), f"{count} results, {len(problems)} fail", sep="\n")
    return 1 if problems else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("opt")
    parser.add_argument("tool")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--count", type=int, default=20, help="graphs of each operator")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--compiled", metavar="LEVEL", help="compiled code of this level, results only")
    parser.add_argument("--write", type=pathlib.Path, metavar="FILE")
    parser.add_argument("--read", type=pathlib.Path, metavar="FILE")
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    if args.write:
        return write(args.write)
    return read(args) if args.read else sweep(args)


if __name__ == "__main__":
    sys.exit(main())
