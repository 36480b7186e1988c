# SPDX-License-Identifier: Apache-2.0
"""pass_stages.py FOLDER MODEL[:OPTION...]...: every pass of ingot-opt on every module that ingotc --dump-passes writes.

A pass may refuse a module that is not at its level, with an error, or accept it. It may not crash or hang. The
options of ingotc for a model follow it, separated by colons.
"""

import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys

SECONDS = 60
# What a process returns that has ended itself.
STATUSES = (0, 1, 2, 3)


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


def attempt(job):
    name, file = job
    command = ["ingot-opt", file, f"--{name}", "-o", "/dev/null"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, errors="replace")
    except subprocess.TimeoutExpired:
        return f"{name} on {file}: takes more than {SECONDS} s"
    if done.returncode not in STATUSES:
        return f"{name} on {file}: exit {done.returncode}"
    if done.returncode != 0 and "error:" not in done.stderr:
        return f"{name} on {file}: fails without an error"
    return None


def main():
    root = pathlib.Path(sys.argv[1])
    files = []
    for number, entry in enumerate(sys.argv[2:]):
        model, *flags = entry.split(":")
        files += different(stages(root / str(number), model, [part for flag in flags for part in flag.split()]))
    jobs = [(name, file) for name in passes() for file in files]
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        problems = [problem for problem in pool.map(attempt, jobs) if problem]
    print("\n".join(problems))
    print(f"{len(jobs) - len(problems)} of {len(jobs)} fine")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
