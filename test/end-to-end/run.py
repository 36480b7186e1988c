#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles models with ingotc, trains them, and compares with PyTorch's goldens.

  run.py                      every case
  run.py --filter mlp         cases with `mlp` in their name
  run.py --group cuda         the cases below cases/cuda
  run.py --group cuda/ranks   the cases of cases/cuda/ranks.py
  run.py --list               names

Needs numpy, onnx and onnxruntime: run it with the Python that tools/setup made.
"""

import argparse
import importlib
import os
import pathlib
import signal
import sys
import tempfile
import time
import traceback

import harness

CASES = harness.HERE / "cases"
FILES = sorted(str(p.relative_to(CASES).with_suffix("")) for p in CASES.rglob("*.py"))
GROUPS = sorted({name.split("/")[0] for name in FILES}) + FILES


def main():
    # A background job of a shell ignores it, and so would the programs under test.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", default=harness.ROOT / "build/release/bin", help="folder of ingotc")
    parser.add_argument("--filter", action="append", default=[], help="part of a case's name")
    parser.add_argument("--group", choices=GROUPS)
    parser.add_argument("--keep", metavar="DIR", help="work in DIR and leave it")
    parser.add_argument("--list", action="store_true")
    args = parser.parse_args()

    files = [name for name in FILES if not args.group or (name + "/").startswith(args.group + "/")]
    modules = {importlib.import_module("cases." + name.replace("/", ".")).__name__ for name in files}
    # A file may import another one, whose cases are not its own.
    names = [
        n
        for n, run_case in harness.CASES.items()
        if run_case.__module__ in modules and all(part in n for part in args.filter)
    ]
    if args.list:
        print("\n".join(names))
        return 0
    if not names:
        print(f"error: --filter: no case matches {' '.join(args.filter)}", file=sys.stderr)
        print("hint: --list shows the names", file=sys.stderr)
        return 2

    with tempfile.TemporaryDirectory(prefix="ingot-") as scratch:
        scratch = pathlib.Path(args.keep).resolve() if args.keep else scratch
        return run(names, harness.Ingot(pathlib.Path(args.bin).resolve(), scratch))


def processor_seconds():
    """The processor time of this process and of the programs that have ended."""
    return sum(os.times()[:4])


def run(names, ingot):
    counts = {"ok": 0, "FAIL": 0, "skip": 0}
    for name in names:
        start, begin, outcome, reason = time.monotonic(), processor_seconds(), "ok", ""
        try:
            harness.CASES[name](ingot)
        except harness.Failure as failure:
            outcome, reason = "FAIL", f": {failure}"
        except harness.Skip as skip:
            outcome, reason = "skip", f": {skip}"
        except Exception:
            outcome, reason = "FAIL", f": {traceback.format_exc()}"
        counts[outcome] += 1
        spent = f"{time.monotonic() - start:.1f} s, {processor_seconds() - begin:.1f} s of processors"
        print(f"{outcome} {name}{reason} ({spent})", flush=True)
    if counts["skip"]:
        print(f"{counts['skip']} skipped")
    print(f"{counts['ok']} passed, {counts['FAIL']} failed")
    return 1 if counts["FAIL"] else 0


if __name__ == "__main__":
    sys.exit(main())
