# SPDX-License-Identifier: Apache-2.0
"""published.py [--check]: compares the model of GPUs with published measurements.

Writes the table of docs/gpu/model.md between its marks, from published.json and steps.py; with --check it only
compares. Exit status 1 if the error of a source is above the bound that published.json states for it, or if the page
is not what would be written.
"""

import argparse
import json
import math
import pathlib
import subprocess
import sys
import textwrap

import steps

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
PAGE = ROOT / "docs/gpu/model.md"
BEGIN, END = "<!-- published.py: begin -->\n", "<!-- published.py: end -->\n"


def predict(program, machine, nodes, sustained):
    """Seconds of each node, in a short run or a long one."""
    figures = json.loads((ROOT / f"passes/targets/cuda/machines/{machine}.json").read_text())
    text = json.dumps({"machine": figures, "nodes": nodes, "sustained": sustained})
    return json.loads(subprocess.run([program], input=text, capture_output=True, text=True, check=True).stdout)


def evaluate(program, source):
    """Of each row what it is, its measured and its predicted milliseconds, and the relative error."""
    rows = []
    for row in source["rows"]:
        nodes = steps.STEPS[row["step"]](**row["sizes"]) if "step" in row else [row["node"]]
        seconds = math.fsum(predict(program, row.get("machine", source["machine"]), nodes, "step" in row))
        measured = row["ms"] if "ms" in row else row["flops"] / row["tflops"] * 1e-9
        rows.append((row["what"], measured, seconds * 1e3, seconds * 1e3 / measured - 1))
    return rows


def describe(source, rows):
    mean = math.fsum(abs(error) for *_, error in rows) / len(rows)
    worst = max((abs(error) for *_, error in rows))
    note = textwrap.fill(source["note"], 118)
    text = f"\n### {source['title']}\n\n{note}\n\n<{source['address']}>\n\n"
    text += f"Mean error {100 * mean:.0f} %, at most {100 * worst:.0f} %; bound {100 * source['bound']:.0f} %"
    text += " for the mean.\n\n| | measured ms | predicted ms | error |\n|---|---|---|---|\n"
    for what, measured, predicted, error in rows:
        text += f"| {what} | {measured:.4g} | {predicted:.4g} | {100 * error:+.0f} % |\n"
    return mean, worst, text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing")
    parser.add_argument("--program", default=str(ROOT / "build/release/bin/ingot-gpu-predict"))
    options = parser.parse_args()
    failed, summary, parts = [], "", ""
    for source in json.loads((HERE / "published.json").read_text()):
        mean, worst, text = describe(source, evaluate(options.program, source))
        parts += text
        summary += f"| {source['title']} | {len(source['rows'])} | {100 * mean:.0f} % | {100 * worst:.0f} % |\n"
        if mean > source["bound"]:
            failed.append(f"{source['title']}: mean error {mean:.3f} above {source['bound']}")
    table = f"| source | rows | mean error | worst |\n|---|---|---|---|\n{summary}{parts}\n"
    before, rest = PAGE.read_text().split(BEGIN)
    page = before + BEGIN + table + END + rest.split(END)[1]
    if options.check:
        if page != PAGE.read_text():
            failed.append("docs/gpu/model.md is out of date: run test/gpu/model/published.py")
    else:
        PAGE.write_text(page)
    for problem in failed:
        print(f"error: published: {problem}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
