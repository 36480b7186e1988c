# SPDX-License-Identifier: Apache-2.0
"""Makes subjects that show a problem smaller, and says where programs end."""

import re
import shutil
import subprocess
import time

import sandbox
from subjects import Problem


def signature(problem):
    """What problems with the same cause have in common, as far as the outcome tells."""
    program, what, *_, label = problem
    what = re.sub(r"'[^']*'|\"[^\"]*\"|[\w./-]*/[\w./-]*", "'...'", what)
    what = re.sub(r"-?\d+", "N", what)
    if re.match(r"ended by|takes more|waits|does not end", what):
        what += f" [{label}]"
    return f"{program} {what[:200]}"


def problem_of(subject, box):
    sandbox.clear(box.folder)
    try:
        subject.check(box)
    except Problem as problem:
        return problem
    return None


def kind(problem):
    what = re.sub(r"'[^']*'|\"[^\"]*\"", "", problem.what)
    return problem.program(), re.sub(r"\W*\d+", "N", what)[:40]


def reduce(subject, problem, box, seconds):
    """Takes the first smaller subject with the same kind of problem, again and again,
    for `seconds` seconds."""
    again, end = True, time.monotonic() + seconds
    while again and time.monotonic() < end:
        again = False
        for candidate in subject.smaller():
            if time.monotonic() > end:
                break
            try:
                found = problem_of(candidate, box)
            except Exception:
                continue
            if found and kind(found) == kind(problem):
                subject, problem, again = candidate, found, True
                break
    problem_of(subject, box)
    return subject, problem


def location(problem, box):
    """The innermost functions at a crash or hang, if there is a debugger."""
    if not shutil.which("gdb") or not re.match(r"ended by|takes more", problem.what):
        return ""
    command = ["gdb", "-q", "-batch", "-ex", "run", "-ex", "bt 60", "-ex", "kill", "--args", *problem.command]
    try:
        run = subprocess.run(
            command,
            cwd=box.folder,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=120,
            env=sandbox.environment(box.folder),
            stdin=subprocess.DEVNULL,
            preexec_fn=sandbox.limits(0, sandbox.cpu_seconds()),
        )
    except subprocess.TimeoutExpired:
        return ""
    frames = re.findall(r"^#\d+ +(?:0x\w+ in )?(.*?) \(", run.stdout, re.MULTILINE)
    own = [frame for frame in frames if "ingot" in frame and "operator()" not in frame]
    return f"at: {' <- '.join(own[:4] or frames[:4])[:400]}\n\n" if frames else ""
