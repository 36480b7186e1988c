# SPDX-License-Identifier: Apache-2.0
"""pass_stages.py FOLDER MODEL[:OPTION...]...: every pass of ingot-opt on every module that ingotc --dump-passes writes.

A pass may refuse a module that is not at its level, with an error, or accept it. It may not crash or hang. The
options of ingotc for a model follow it, separated by colons. The passes run in ingot-pass-stages.
"""

import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys


def passes():
    """The project's passes and pipelines that need no option; of the passes of MLIR, those of the pipeline."""
    text = subprocess.run(["ingot-opt", "--help"], check=True, capture_output=True, text=True).stdout
    names = sorted(set(re.findall(r"^ +--(ingot-[a-z0-9-]+)", text, re.MULTILINE)))
    assert len(names) > 40, names
    return [*names, "canonicalize", "cse"]


def stages(folder, model, flags):
    folder.mkdir(parents=True, exist_ok=True)
    trainer = folder / "trainer"
    subprocess.run(["ingotc", model, *flags, "--dump-passes", folder, "-o", trainer], check=True)
    return sorted(folder.glob("*.mlir"))


def different(files):
    """One file of each content: verifiers change nothing."""
    seen = {}
    for file in files:
        seen.setdefault(file.read_bytes(), file)
    return list(seen.values())


def main():
    root, names = pathlib.Path(sys.argv[1]), passes()
    files = []
    for number, entry in enumerate(sys.argv[2:]):
        model, *flags = entry.split(":")
        found = stages(root / str(number), model, [part for flag in flags for part in flag.split()])
        assert len(found) > 20, found
        files += different(found)

    def attempt(file):
        return subprocess.run(["ingot-pass-stages", file, "--", *names], capture_output=True, text=True)

    problems = 0
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        for done in pool.map(attempt, files):
            problems += done.returncode != 0
            if done.returncode:
                print(done.stdout, done.stderr[-1000:], flush=True)
    print(f"{len(files) - problems} of {len(files)} stages of {len(sys.argv) - 2} models fine")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
