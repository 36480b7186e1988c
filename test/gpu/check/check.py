#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks trainers on this machine's GPU: check.py [--out FOLDER] [--only SECTION...]

Its first half chooses between designs, the second confirms. What it finds is in FOLDER at once, in eight files at most:
the report (report.md, report.json), the times of steps, calls, kernels beside copies and algorithms (*.csv), what
trainers chose (tuned.txt), and traces and clocks (traces.tar.gz). It ends after --limit seconds; the next run goes on:
what is finished is not done again (--again does), and what there was no time or no tool for says so. Needs a driver,
CUDA 13's libraries, and for comparisons that docs/gpu/peers.json does not have a Python with PyTorch
(INGOT_TORCH_PYTHON, or this one).
"""

import argparse
import json
import os
import shutil
import sys
import time

# Each of them registers sections.
import correctness  # noqa: F401
import designs  # noqa: F401
import peers  # noqa: F401
from report import write_report
from runner import HERE, SECTIONS, Check, Skip, section

# Prints where each library is and which version it has: it is what trainers load.
VERSIONS = """
import ctypes
asked = {"libcublasLt.so.13": "cublasLtGetVersion", "libcudnn.so.9": "cudnnGetVersion",
         "libnccl.so.2": "ncclGetVersion", "libcupti.so.13": "cuptiGetVersion"}
for name, function in asked.items():
    try:
        library = ctypes.CDLL(name)
    except OSError:
        try:
            library = ctypes.CDLL("/usr/local/cuda/lib64/" + name)
        except OSError:
            print(name, 0, "not found")
            continue
    number = ctypes.c_int(0)
    if function in ("ncclGetVersion", "cuptiGetVersion"):
        getattr(library, function)(ctypes.byref(number))
    else:
        ask = getattr(library, function)
        ask.restype = ctypes.c_size_t
        number.value = ask()
    path = next((line.split()[-1] for line in open("/proc/self/maps") if line.rstrip().endswith("/" + name)), name)
    print(name, number.value, path)
"""


@section("Machine", 20, 1)
def machine(check):
    if not shutil.which("nvidia-smi"):
        raise Skip("no nvidia-smi on this machine")
    query = check.run(
        "nvidia-smi", "--query-gpu=name,driver_version,memory.total,clocks.max.sm", "--format=csv,noheader"
    )
    name, driver, memory, clock = query.stdout.splitlines()[0].split(", ")
    result = {"gpu": name, "driver": driver, "memory": memory, "clock": clock}
    torch = check.run(check.python, "-c", "import torch; print(torch.__version__)", check=False)
    result["pytorch"] = torch.stdout.strip() or "none"
    for line in check.run(sys.executable, "-c", VERSIONS, check=False).stdout.splitlines():
        library, version, path = line.split(" ", 2)
        result[library] = f"{version}, {path}"
    for tool in ("compute-sanitizer", "ncu", "nvidia-cuda-mps-control", "mpirun"):
        result[tool] = shutil.which(tool) or "not found"
    return {"ok": True, "figures": result}


# What chooses between designs comes first, what only confirms last: a run may end after any of them.
CHOOSE = ["machine", "streams", "recorded", "rates", "algorithms", "fp8", "pictures", "candidates", "fp8-xl"]
CONFIRM = ["exchanges", "gpt2", "losses", "sanitizer", "kernels", "resnet50", "large", "xl", "attention"]
ORDER = CHOOSE + CONFIRM + [name for name in SECTIONS if name not in CHOOSE + CONFIRM]


def read_machine(check, results):
    """What other sections need of the machine."""
    figures = results.get("machine", {}).get("figures", {})
    check.gpu = figures.get("gpu")
    check.pytorch = figures.get("pytorch")
    if check.pytorch == "none":
        check.pytorch = None
    check.nccl = int(figures.get("libnccl.so.2", "0").split(",")[0])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", default=os.path.join(HERE, "out"), help="where results go")
    parser.add_argument("--work", default=os.path.join(HERE, "work"), help="for programs and other large files")
    parser.add_argument(
        "--only", nargs="*", default=list(SECTIONS), choices=list(SECTIONS), metavar="SECTION", help=" ".join(ORDER)
    )
    parser.add_argument("--again", action="store_true", help="also what is finished")
    parser.add_argument("--peers", action="store_true", help="measure PyTorch where its figures are kept, too")
    parser.add_argument(
        "--modes", nargs="*", default=["compile", "eager"], choices=["eager", "compile", "max-autotune"]
    )
    parser.add_argument("--limit", type=float, default=540, help="seconds in all")
    check = Check(parser.parse_args())
    report = os.path.join(check.options.out, "report.json")
    results, check.measured_peers = {}, []
    if os.path.exists(report):
        with open(report) as file:
            earlier = json.load(file)
        if earlier["commit"] == check.plan["commit"]:
            results, check.measured_peers = earlier["sections"], earlier.get("peers", [])
    check.kept.start_clocks()
    try:
        run_sections(check, results)
    finally:
        check.kept.stop()
    print(f"report: {os.path.join(check.options.out, 'report.md')}")
    return 0 if all(r.get("ok") for r in results.values() if "skipped" not in r) else 1


def run_sections(check, results):
    ran = 0
    for name in ORDER:
        title, seconds, least, function = SECTIONS[name]
        seconds *= check.plan["slower"]
        is_done = name in results and "skipped" not in results[name]
        if name not in check.options.only or (is_done and not check.options.again):
            continue
        start = time.monotonic()
        print(f"{name}: {title}", flush=True)
        try:
            # A shorter one may still fit.
            if check.deadline - start < least and ran:
                raise Skip(f"{check.deadline - start:.0f} s are left, it takes {least:.0f}: run check.py again")
            ran += 1
            check.section_deadline = min(check.deadline, start + seconds)
            read_machine(check, results)
            results[name] = function(check)
        except Skip as skip:
            results[name] = {"skipped": str(skip)}
        except Exception as error:
            results[name] = {"ok": False, "problems": [f"{type(error).__name__}: {error}"]}
        results[name]["seconds"] = round(time.monotonic() - start, 1)
        state = results[name].get("skipped") or ("ok" if results[name]["ok"] else "FAILED")
        print(f"  {state} ({results[name]['seconds']} s)", flush=True)
        check.kept.end_section(name)
        write_report(check, {name: SECTIONS[name][0] for name in ORDER}, results)


if __name__ == "__main__":
    sys.exit(main())
