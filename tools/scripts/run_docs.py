# SPDX-License-Identifier: Apache-2.0
"""Runs the ```sh blocks of documents as written.

The blocks of one document run in order, each in a shell of its own at the
repository root. The first document runs alone, as it may build what the others
use; these run side by side, so that what one writes, no other may write.
Blocks for reading are marked ```text, ```console and the like. A line `tools/check` is left out: it is what runs this.
"""

import argparse
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
TIMEOUT = 900


def blocks(path):
    """(line number, text) of each ```sh block."""
    text = path.read_text()
    for match in re.finditer(r"^```sh\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        yield text.count("\n", 0, match.start()) + 1, match.group(1)


def run(name, text):
    lines = [line for line in text.splitlines() if line.strip() != "tools/check"]
    start = time.monotonic()
    try:
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", "\n".join(lines)],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=TIMEOUT,
        )
        reason = f"exit {done.returncode}\n{done.stdout}" if done.returncode else ""
    except subprocess.TimeoutExpired:
        reason = f"no end after {TIMEOUT} s"
    seconds = f"({time.monotonic() - start:.1f} s)"
    print(f"FAIL {name} {seconds}: {reason}" if reason else f"ok {name} {seconds}", flush=True)
    return not reason


def run_document(path):
    return [run(f"{path.relative_to(ROOT)}:{line}", text) for line, text in blocks(path)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("documents", nargs="+", type=pathlib.Path, metavar="FILE.md")
    paths = [path.resolve() for path in parser.parse_args().documents]
    outcomes = run_document(paths[0])
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        outcomes += [outcome for document in pool.map(run_document, paths[1:]) for outcome in document]
    print(f"{outcomes.count(True)} passed, {outcomes.count(False)} failed")
    return 0 if all(outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
