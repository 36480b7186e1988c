# SPDX-License-Identifier: Apache-2.0
"""A whole run of tools/gpu-check on a GPU in software, with small models, from the build to the report. It takes
minutes: ctest --preset software-gpu."""

import csv
import json
import os
import subprocess
import sys

from fakes import trainer
from harness import ROOT, Skip, case, check

TOOLS = {
    # One line for what it is, and some for its clocks.
    "nvidia-smi": """#!/bin/sh
case "$*" in
  *-lms*) while :; do echo "2026/11/28, 1980, 2619, 560, 50, 99"; sleep 0.5; done ;;
  *) echo "NVIDIA H100 80GB HBM3, 580.159.04, 81559 MiB, 1980 MHz" ;;
esac
""",
    # Watches nothing.
    "compute-sanitizer": """#!/bin/sh
[ "$1 $3 $4" = "--tool --error-exitcode 7" ] || exit 9
shift 4
exec "$@"
""",
}
# Whose results are right or wrong wherever they are computed; the others are of speed.
RIGHT = ["machine", "recorded", "algorithms", "exchanges", "losses", "sanitizer", "kernels"]
COMPARED = ["streams", "fp8", "fp8-xl", "candidates", "pictures"]
MEASURED = ["rates", "gpt2", "resnet50", "xl", "large", "steps-mlp", "attention"]


@case("cuda gpu-check runs from its build to its report")
def whole_run(ingot):
    if os.environ.get("INGOT_SOFTWARE_GPU") != "all":
        raise Skip("takes minutes: INGOT_SOFTWARE_GPU=all")
    trainer(ingot)
    folder, out, work, tools = (ingot.path(name) for name in ("folder", "out", "work", "tools"))
    tools.mkdir()
    for name, text in TOOLS.items():
        (tools / name).write_text(text)
        (tools / name).chmod(0o755)
    build = [sys.executable, ROOT / "test/gpu/build.py", folder, "--small", "--build", ingot.bin.parent]
    said = ingot.succeed(build, timeout=1800).out
    check("of 64 MiB" in said, f"{said[-300:]}")
    command = [ROOT / "tools/software-gpu", sys.executable, folder / "check.py", "--out", out, "--work", work]
    env = {
        **os.environ,
        "INGOT_FAKES": str(ingot.bin.parent / "lib/fakes"),
        "PATH": f"{tools}:{os.environ['PATH']}",
        "OMP_NUM_THREADS": "1",
    }
    subprocess.run(
        [str(word) for word in [*command, "--limit", "6000"]], env=env, capture_output=True, text=True, timeout=6000
    )
    report = json.loads((out / "report.json").read_text())["sections"]
    for name in RIGHT + COMPARED:
        check(report[name].get("ok"), f"{name}: {json.dumps(report[name])[:1500]}")
    for name in MEASURED:
        check(report[name].get("rows"), f"{name}: {json.dumps(report[name])[:1500]}")
    figures = report["exchanges"]["figures"]
    check(figures["one rank"] == "the same losses", f"{figures}")
    check("within" in figures["two ranks"] and "within" in figures["a mesh of two"], f"{figures}")
    # The small models stand for the largest of the three alone.
    check("2 trainers" in report["sanitizer"]["figures"]["initcheck"], f"{report['sanitizer']}")
    # Eight files at most, none of which is large.
    files = sorted(path.name for path in out.iterdir())
    expected = ["algorithms.csv", "calls.csv", "rates.csv", "report.json", "report.md", "steps.csv", "traces.tar.gz"]
    check(files == sorted([*expected, "tuned.txt"]), f"{files}")
    check(max(path.stat().st_size for path in out.iterdir()) < 16 << 20, "a file is too large to be taken along")
    with open(out / "rates.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    check({row["trainer"] for row in rows} >= {"gpt2-8x1024-bf16", "resnet50-256-bf16"}, f"{rows[:2]}")
    check(all(float(row["share_of_copy"]) > 0 for row in rows), f"{rows[:2]}")
    listed = ingot.succeed(["tar", "-tzf", out / "traces.tar.gz"]).out
    check("gpt2-8x1024-bf16-recorded.json" in listed and "clocks-" in listed, f"{listed}")
