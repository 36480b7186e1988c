# SPDX-License-Identifier: Apache-2.0
"""The table of operators in docs/onnx-tests.md: what exists for each, from the sources and from ONNX's tests.

The ops that an importer makes, and what exists for them, are those of docs/reference/status.md, so that an operator is
computed somewhere if all of its ops are.
"""

import json
import pathlib
import re
import sys

import onnx.defs

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[3]
# What agreed as compiled code when all tests were last run so, by operator.
COMPILED = HERE / "compiled.json"
NONE = "–"

sys.path[:0] = [str(HERE / "gradients"), str(ROOT / "tools/scripts")]
import gradients  # noqa: E402
import status_table  # noqa: E402


def key_of(node):
    """The operator of a node, as importers are registered."""
    return node.op_type if node.domain in ("", "ai.onnx") else f"{node.domain}::{node.op_type}"


def count(cases, agreeing):
    """Operator -> [tests whose graph has it that agree, all of them]."""
    counts = {}
    for case in cases:
        for operator in {key_of(node) for node in case.model.graph.node}:
            number = counts.setdefault(operator, [0, 0])
            number[0] += case.name in agreeing
            number[1] += 1
    return counts


def record(path, level, counts):
    """Adds what agrees in one shard to what does in the others."""
    known = json.loads(path.read_text()) if path.exists() else {"level": level, "agree": {}}
    for operator, (agree, _) in counts.items():
        known["agree"][operator] = known["agree"].get(operator, 0) + agree
    known["agree"] = dict(sorted(known["agree"].items()))
    path.write_text(json.dumps(known, indent=1) + "\n")


def status_of_ops():
    """Class of an op -> {column: cell} of docs/reference/status.md."""
    found, columns = {}, []
    for line in (ROOT / "docs/reference/status.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| op |"):
            columns = cells
        elif line.startswith("| `") and columns and len(cells) == len(columns):
            name = "".join(word.capitalize() for word in cells[0].strip("`").split("_")) + "Op"
            found[name] = dict(zip(columns, cells))
    return found


def checked_gradients():
    """Operators whose gradient gradients.py compares with differences."""
    text = "\n".join(case[1] for case in gradients.CASES.values())
    return set(re.findall(r"= *((?:[\w.]+::)?\w+) *[<(]", text)) | {"CumSum", "ReduceSum", "Reshape", "Sum"}


def has_derivative(operator):
    """Whether an operand and a result may be floating-point numbers, as far as ONNX says."""
    domain, _, name = operator.rpartition("::")
    try:
        schema = onnx.defs.get_schema(name, domain=domain)
    except onnx.defs.SchemaError:
        return True
    allowed = {c.type_param_str: c.allowed_type_strs for c in schema.type_constraints}
    return all(
        any("float" in kind for value in values for kind in allowed.get(value.type_str, [value.type_str]))
        for values in (schema.inputs, schema.outputs)
    )


def gradient_of(operator, ops, checked):
    if operator in checked:
        return "checked"
    # A function has no ops of its own.
    passes = not ops or any(op["gradient"] == "yes" for op in ops)
    return "yes" if passes and has_derivative(operator) else NONE


def everywhere(ops, column):
    return NONE if any(op[column] == NONE for op in ops) else "yes"


def lines(cases, agreeing):
    """The section of the page."""
    status, importers, checked = status_of_ops(), status_table.Importers().operators, checked_gradients()
    compiled, counts = json.loads(COMPILED.read_text()), count(cases, agreeing)
    level, record_path = compiled["level"], COMPILED.relative_to(ROOT)
    found = [
        "",
        "## By operator",
        "",
        "An operator with an importer is made of the ops of the [status](reference/status.md). Others in this table",
        "are functions of ONNX that consist of such operators.",
        "",
        "- **gradient**: *checked*: compared with central differences in double precision",
        "  (`test/frontends/onnx/ops/gradients`); *yes*: from the gradients of its ops, which are checked",
        "  (`test/gradients`); a dash: none passes through it.",
        "- **interpreter, CPU, CUDA**: all of its ops are computed there.",
        "- **tests, agree, compiled**: ONNX's tests whose graph has the operator, how many agree in the interpreter,",
        f"  and how many as compiled code of level {level} for the CPU",
        f"  (`conformance.py --compiled {level} --record {record_path}`).",
        "",
        "| operator | gradient | interpreter | CPU | CUDA | tests | agree | compiled |",
        "|---|---|---|---|---|---:|---:|---:|",
    ]
    functions = {name for name, (agree, _) in counts.items() if agree and name not in importers}
    for operator in sorted({*importers, *functions} - {"Constant"}):
        text = importers.get(operator, "")
        ops = [row for name, row in status.items() if re.search(rf"\b{name}\b", text)]
        agree, total = counts.get(operator, (0, 0))
        cells = [operator, gradient_of(operator, ops, checked)]
        cells += [everywhere(ops, column) for column in ("interpreter", "CPU", "CUDA")]
        cells += [total, agree, compiled["agree"].get(operator, 0)] if total else [NONE] * 3
        found.append("| " + " | ".join(map(str, cells)) + " |")
    return found
