# SPDX-License-Identifier: Apache-2.0
"""The packaged compiler passes the tests of the one of the build tree: those of lit, and the end-to-end cases, run with
what tools/package packs. Other tools, such as ingot-opt, are those of the build."""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

from programs import check, run

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def lend(tree, build):
    """Puts links to what only the build has beside what is installed."""
    for folder in ("bin", "lib"):
        for path in (build / folder).iterdir():
            place = tree / folder / path.name
            if not place.exists() and not path.name.endswith(".a"):
                place.symlink_to(path)


def watch(command, **options):
    """Runs a command, and returns what it prints."""
    process = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, text=True, check=False, **options)
    print(process.stdout, end="", flush=True)
    check(process.returncode == 0, f"{command[0]}: exit {process.returncode}")
    return process.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build-dir", type=pathlib.Path, required=True)
    parser.add_argument("--cmake", default="cmake")
    parser.add_argument("--lit", type=pathlib.Path, required=True)
    parser.add_argument("--filter", default="", help="names of tests to run, a regular expression")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        tree = pathlib.Path(name, "ingot")
        run([options.cmake, "--install", options.build_dir, "--prefix", tree])
        lend(tree, options.build_dir)
        check(not (tree / "bin/ingotc").is_symlink(), "the compiler is not the installed one")
        environment = {**os.environ, "INGOT_BIN": str(tree / "bin"), "INGOT_MACHINE": "built-in"}

        suite = [sys.executable, options.lit, "-s", "--no-progress-bar", options.build_dir / "test"]
        if options.filter:
            suite.append(f"--filter={options.filter}")
        printed = watch(suite, env=environment)
        passed = re.search(r"Passed\s*:\s*(\d+)", printed)
        check(passed, "lit ran no test")

        runner = [sys.executable, ROOT / "test/end-to-end/run.py", "--bin", tree / "bin"]
        if options.filter:
            watch([*runner, "--filter", options.filter], env=environment)
            return
        cases = ROOT / "test/end-to-end/cases"
        for path in sorted(cases.rglob("*.py")):
            group = str(path.relative_to(cases).with_suffix(""))
            # As in its CMakeLists.txt.
            if not group.startswith(("timed/", "large/")) and group != "cuda/gpu_check_run":
                watch([*runner, "--group", group], env=environment)


if __name__ == "__main__":
    main()
