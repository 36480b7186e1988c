#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Shows that the tests find what they are there to find: applies one patch at a time, each of
which brings a mistake back, builds, and runs the cases that have to fail then.

  run.py [NAME...]     some patches of this folder, or all

The working tree has to be without changes, and is so afterwards.
"""

import argparse
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]


def run(*command, check=True, env=None):
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=check, env=env)


def read_head(patch):
    """The lines before the difference: What, Build, Found by and, where the tests read variables, With."""
    head = patch.read_text().split("\n\n", 1)[0]
    return dict(line.split(": ", 1) for line in head.splitlines())


def is_found(patch, build):
    """Returns the line of a case, or a file that lit runs, that fails with the patch; None if all pass."""
    head = read_head(patch)
    targets = head["Build"].split()
    run("git", "apply", str(patch))
    try:
        run("ninja", "-C", build, *targets)
        tests = head["Found by"]
        if tests.startswith("lit "):
            command = ["lit", "-v", f"{build}/test", "--filter", tests.removeprefix("lit ")]
        else:
            command = [sys.executable, "test/end-to-end/run.py", "--bin", f"{build}/bin", "--filter", tests]
        variables = dict(pair.split("=", 1) for pair in head.get("With", "").split())
        result = run(*command, check=False, env=os.environ | variables)
        failed = [line for line in result.stdout.splitlines() if line.startswith(("FAIL ", "FAIL: "))]
        return failed[0] if failed else None
    finally:
        run("git", "apply", "-R", str(patch))
        run("ninja", "-C", build, *targets)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--build", default="build/release")
    options = parser.parse_args()
    patches = {path.stem: path for path in sorted(HERE.glob("*.patch"))}
    if unknown := set(options.names) - set(patches):
        print(f"error: {unknown.pop()}: no such patch\nhint: one of {', '.join(patches)}", file=sys.stderr)
        return 2
    if run("git", "status", "--porcelain", "--untracked-files=no").stdout:
        print("error: the working tree has changes\nhint: commit or stash them first", file=sys.stderr)
        return 2
    missed = 0
    for name in options.names or patches:
        found = is_found(patches[name], options.build)
        missed += not found
        print(f"{'found' if found else 'MISSED'} {name}: {(found or '')[:160]}", flush=True)
    print(f"{len(options.names or patches) - missed} passed, {missed} failed")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
