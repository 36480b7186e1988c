# SPDX-License-Identifier: Apache-2.0
"""Gradients at singular points against PyTorch's in double precision, which are kept in a file.

    singular.py --write FILE.npz                  makes the file; needs PyTorch (INGOT_MODELS_PYTHON names a Python)
    singular.py INGOT_OPT INGOT_EVAL FOLDER --read FILE.npz

The operators and points are those of points.py, groups.py and layers.py, which has the operators without such points,
too: each operator that is imported is one or the other. What is not followed is in EXCEPTIONS, with the reason;
docs/onnx.md lists it, which is compared. All operators are one graph, whose loss is the weighted sum of gradients.py.
"""

import argparse
import os
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
if "--write" in sys.argv and os.environ.get("INGOT_MODELS_PYTHON", sys.executable) != sys.executable:
    os.execv(os.environ["INGOT_MODELS_PYTHON"], [os.environ["INGOT_MODELS_PYTHON"], *sys.argv])
sys.path[:0] = [str(HERE.parent / "gradients"), str(HERE.parent / "agreement"), str(HERE.parent)]
# ruff: noqa: E402

import agreement
import gradients
import groups
import layers
import numpy as np
import onnx
import points
from onnx import numpy_helper

CASES = {**points.UNARY, **points.BINARY, **groups.REDUCTIONS, **groups.GROUPS, **layers.LAYERS}
TOLERANCE = 1e-9
# What differs, with the reason: rows of a table in docs/onnx.md.
EXCEPTIONS = {
    "Det": "of a singular matrix the adjugate, which PyTorch rounds to 0",
    "LpNormalization-1": "divides by 1 at zero, as ONNX Runtime does; PyTorch's `normalize` by 1e-12",
    "LpNormalization-2": "divides by 1 at zero, as ONNX Runtime does; PyTorch's `normalize` by 1e-12",
    "TopK": "the first of equal elements is chosen, as ONNX has it; PyTorch may choose another one",
}


def graph(case):
    """The graph in double precision, with a loss."""
    shapes = {name: value.shape for name, value in case.parameters.items()}
    model = gradients.build("g", (case.opset, case.body, shapes, {}), case.parameters, as_inputs=False)
    constants = [
        onnx.helper.make_node("Constant", [], [name], value=numpy_helper.from_array(value, name))
        for name, value in case.constants.items()
    ]
    nodes = [*constants, *model.graph.node]
    model.graph.ClearField("node")
    model.graph.node.extend(nodes)
    return model


def torchs(case):
    """PyTorch's gradients of the loss that gradients.build() makes."""
    import torch

    tensors = {name: torch.tensor(value, requires_grad=True) for name, value in case.parameters.items()}
    results = case.torch(tensors)
    total = 0.0
    for result in results if isinstance(results, list) else [results]:
        flat = result.reshape(-1)
        total = total + (flat * torch.arange(1, flat.numel() + 1).double().sin()).sum()
    total.backward()
    return {name: np.zeros(t.shape) if t.grad is None else t.grad.numpy() for name, t in tensors.items()}


def write(path):
    known = {}
    for name, case in CASES.items():
        known |= {f"{name}/{parameter}": value for parameter, value in torchs(case).items()}
    np.savez_compressed(path, **known)
    print(f"{len(known)} gradients of {len(CASES)} cases")


def differences(got, want):
    """The positions that are not equal: numbers within the tolerance, infinities and what is no number exactly."""
    with np.errstate(invalid="ignore"):
        close = np.abs(got - want) <= TOLERANCE * np.maximum(1, np.abs(want))
    return [tuple(at) for at in np.argwhere(~(close | (got == want) | (np.isnan(got) & np.isnan(want))))]


def gradients_of(args, opset, cases):
    """The gradients of cases of one operator set, by case and parameter."""
    whole = agreement.merged([graph(case) for case in cases.values()])
    whole.graph.ClearField("output")
    losses = [f"c{i}_loss" for i in range(len(cases))]
    whole.graph.node.append(onnx.helper.make_node("Sum", losses, ["loss"]))
    whole.graph.output.append(onnx.helper.make_tensor_value_info("loss", onnx.TensorProto.FLOAT, []))
    names = [f"c{i}_{parameter}" for i, case in enumerate(cases.values()) for parameter in case.parameters]
    found = gradients.gradients_of(args.opt, args.tool, args.folder / f"opset-{opset}", whole, names, {})
    return {
        f"{name}/{parameter}": found.get(f"c{i}_{parameter}", np.zeros(value.shape))
        for i, (name, case) in enumerate(cases.items())
        for parameter, value in case.parameters.items()
    }


def described(problems):
    """Adds exceptions that the table in the documentation does not have."""
    page = (HERE.parents[4] / "docs/onnx.md").read_text()
    for name, reason in EXCEPTIONS.items():
        if f"| {name.partition('-')[0]} | {reason} |" not in page:
            problems.append(f"docs/onnx.md has no row for {name}: {reason}")


def covered(problems):
    """Adds operators that have neither a case nor a reason. Those of ONNX Runtime are made of others."""
    import operator_table
    import status_table

    imported = {name for name in status_table.Importers().operators if "::" not in name}
    tried = set(re.findall(r"= *(\w+) *[<(]", "\n".join(case.body for case in CASES.values())))
    for name in sorted(imported - tried - layers.WITHOUT):
        if operator_table.has_derivative(name):
            problems.append(f"{name} has no case at a singular point, and no reason for it")
    problems += [f"{name} is said to have no singular point" for name in sorted(layers.WITHOUT & tried)]
    problems += [f"{name} is not imported" for name in sorted(layers.WITHOUT - imported)]


def read(args):
    with np.load(args.read) as archive:
        known = dict(archive)
    args.folder.mkdir(parents=True, exist_ok=True)
    sets, problems, count, excepted = {}, [], 0, set()
    for name, case in CASES.items():
        sets.setdefault(case.opset, {})[name] = case
    for opset, cases in sets.items():
        for key, got in gradients_of(args, opset, cases).items():
            name, parameter = key.split("/")
            want, values = known[key], cases[name].parameters
            count += want.size
            if got.shape != want.shape:
                problems.append(f"{name}: the gradient of {parameter} has the shape {got.shape}")
                continue
            for at in differences(got, want):
                point = ", ".join(f"{p}={v[at]}" for p, v in values.items() if v.shape == want.shape)
                if name in EXCEPTIONS:
                    excepted.add(name)
                else:
                    problems.append(f"{name}: gradient of {parameter} at {point} is {got[at]}, not {want[at]}")
    problems += [f"{name} is an exception without a difference" for name in EXCEPTIONS if name not in excepted]
    described(problems)
    covered(problems)
    print(*(f"FAILED {problem}" for problem in problems), f"{count} gradients, {len(problems)} differ", sep="\n")
    return 1 if problems else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("opt", nargs="?")
    parser.add_argument("tool", nargs="?")
    parser.add_argument("folder", type=pathlib.Path, nargs="?")
    parser.add_argument("--write", type=pathlib.Path, metavar="FILE")
    parser.add_argument("--read", type=pathlib.Path, metavar="FILE")
    args = parser.parse_args()
    return write(args.write) if args.write else read(args)


if __name__ == "__main__":
    sys.exit(main())
