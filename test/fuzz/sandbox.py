# SPDX-License-Identifier: Apache-2.0
"""Runs programs under limits and judges how they end.

A program may succeed or refuse its input: status 1, 2 or 3 with one `error:` line
and one `hint:` line. A signal, an abort, a hang, unlimited memory, raw control
characters or anything else is a problem.
"""

import dataclasses
import functools
import json
import math
import os
import re
import resource
import shutil
import signal
import stat
import subprocess
import time

# On a processor that takes REFERENCE_SECONDS for the work of `slowness`.
CPU_SECONDS = 10
REFERENCE_SECONDS = 0.05
# Seconds in which all threads sleep and none gets anything done: the program
# waits for something that does not come.
IDLE_SECONDS = 5
# A limit for the case that neither of the above applies; slow machines share it.
WALL_SECONDS = 120
MEMORY_BYTES = 4 << 30
FILE_BYTES = 1 << 30
KEPT_OUTPUT = 32 << 20
LONGEST_LINE = 8000

# What programs print if they end in an orderly way by accident only.
ACCIDENTS = re.compile(
    r"LLVM ERROR|Assertion|Traceback|terminate called|Stack dump|Sanitizer|runtime error:|report this"
    r"|error: memory: out of memory|error: internal|Bus error|compile the model again|this is a defect"
)
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\x80-\x9f]")


class Unavailable(Exception):
    """This user or machine cannot do what a case needs."""


@dataclasses.dataclass
class Outcome:
    """How a program ended; `stopped` says why the sandbox ended it."""

    command: list
    status: int
    out: str
    err: str
    stopped: str = ""
    seconds: float = 0


@functools.lru_cache(maxsize=1)
def slowness(_period):
    """How many times slower than the reference this processor is, measured once a
    period: machines that share their cores with others lose half of their speed from
    one minute to the next. The work, like a compiler's, allocates and takes branches."""
    start = time.thread_time()
    values = [{"name": f"v{i}", "shape": [i, i % 7], "uses": [str(j) for j in range(i % 9)]} for i in range(4000)]
    text = json.dumps(values)
    json.loads(text)
    json.loads(text)
    return min(max((time.thread_time() - start) / REFERENCE_SECONDS, 1), 4)


def cpu_seconds():
    """The CPU time that a program may take, at the speed of the last seconds."""
    return math.ceil(CPU_SECONDS * slowness(time.monotonic() // 10))


def limits(memory, seconds):
    def apply():
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
        resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_BYTES, FILE_BYTES))
        # The sanitizers reserve terabytes of addresses.
        if memory and "ASAN_OPTIONS" not in os.environ:
            resource.setrlimit(resource.RLIMIT_AS, (memory, memory))

    return apply


def processes(root):
    """The process `root` and those that it started."""
    found, queue = [], [root]
    while queue:
        pid = queue.pop()
        found.append(pid)
        try:
            for thread in os.listdir(f"/proc/{pid}/task"):
                with open(f"/proc/{pid}/task/{thread}/children", encoding="ascii") as file:
                    queue += map(int, file.read().split())
        except OSError:
            pass
    return found


def activity(root):
    """Ticks of CPU time that the processes took, and whether all their threads sleep."""
    ticks, asleep = 0, True
    for pid in processes(root):
        try:
            for thread in os.listdir(f"/proc/{pid}/task"):
                with open(f"/proc/{pid}/task/{thread}/stat", encoding="utf-8", errors="replace") as file:
                    fields = file.read().rpartition(")")[2].split()
                asleep &= fields[0] == "S"
                ticks += int(fields[11]) + int(fields[12])
        except OSError:
            asleep = False
    return ticks, asleep


def environment(folder):
    """What programs inherit: caches and settings of the user stay untouched."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("INGOT_", "OMP_", "OMPI_", "SLURM_", "XDG_"))}
    own = {
        "OMP_NUM_THREADS": "2",
        "HOME": str(folder),
        "XDG_CACHE_HOME": f"{folder}/cache",
        "NO_COLOR": "1",
        "INGOT_MACHINE": "built-in",
    }
    return {**kept, **own}


def execute(command, folder, env=None, memory=MEMORY_BYTES):
    """Runs `command` in `folder` under the limits, without input."""
    command = [os.fsencode(word) if isinstance(word, (str, os.PathLike)) else word for word in command]
    allowed = cpu_seconds()
    start, stopped = time.monotonic(), ""
    with open(folder / ".stdout", "w+b") as out, open(folder / ".stderr", "w+b") as err:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            cwd=folder,
            env={**environment(folder), **(env or {})},
            preexec_fn=limits(memory, allowed),
            start_new_session=True,
        )
        pause, last, since = 0.02, (-1, False), start
        while True:
            try:
                process.wait(pause)
                break
            except subprocess.TimeoutExpired:
                pause = min(pause * 2, 0.5)
            now, seen = time.monotonic(), activity(process.pid)
            if seen != last or not seen[1]:
                last, since = seen, now
            if now - since > IDLE_SECONDS:
                stopped = "waits for ever"
            elif now - start > WALL_SECONDS:
                stopped = f"does not end in {WALL_SECONDS} s"
            if stopped:
                break
        # Also what a program that crashed left running.
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read(KEPT_OUTPUT).decode("utf-8", "replace"))
    # A driver of other programs ends with 128 and the signal that ended one of them.
    limit = (-signal.SIGXCPU, -signal.SIGKILL, 128 + signal.SIGXCPU)
    if process.returncode in limit and not stopped:
        stopped = f"takes more than {allowed} s of CPU time"
    return Outcome(command, process.returncode, *texts, stopped, time.monotonic() - start)


def judge(outcome, diagnostics=False):
    """The problem with an outcome; empty if there is none. `diagnostics`: of a
    tool whose errors are MLIR's, without hints."""
    if outcome.stopped:
        return outcome.stopped
    if outcome.status < 0:
        return f"ended by {signal.Signals(-outcome.status).name}"
    accident = ACCIDENTS.search(outcome.err)
    if accident:
        lines = outcome.err.splitlines()
        errors = [line for line in lines if line.startswith("error: ")]
        return f"says: {(errors or [line for line in lines if accident[0] in line])[0][:300]}"
    if outcome.status not in (0, 1, 2, 3):
        return f"ended with status {outcome.status}"
    if diagnostics:
        if outcome.status and "error: " not in outcome.err:
            return f"status {outcome.status} without an error"
        return ""
    for text, name in ((outcome.err, "stderr"), (outcome.out, "stdout")):
        control = CONTROL.search(text)
        if control:
            return f"writes the control character {control[0]!r} to {name}"
    lines = outcome.err.splitlines()
    if max(map(len, lines), default=0) > LONGEST_LINE:
        return f"writes a line of more than {LONGEST_LINE} characters"
    errors = [i for i, line in enumerate(lines) if line.startswith("error: ")]
    if outcome.status == 0:
        return f"succeeds with an error: {lines[errors[0]][:300]}" if errors else ""
    if len(errors) != 1:
        return f"status {outcome.status} with {len(errors)} error lines: {outcome.err[:300]!r}"
    if not re.match(r"error: .+?: .", lines[errors[0]]):
        return f"an error that is not `error: WHERE: WHAT`: {lines[errors[0]][:300]!r}"
    if errors[0] + 2 != len(lines) or not lines[-1].startswith("hint: "):
        return f"not one hint line after the error: {outcome.err[:300]!r}"
    return ""


def special(path, kind):
    """Makes a file of an unusual kind. Devices are nodes of their own, so that a
    program that replaces one does no harm to the machine."""
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "link-loop":
        path.symlink_to(path.name)
    elif kind == "dangling-link":
        path.symlink_to("nothing/there")
    elif kind == "empty":
        path.write_bytes(b"")
    elif kind == "sparse":
        with open(path, "wb") as file:
            os.truncate(file.fileno(), 1 << 40)
    elif kind in ("null", "zero", "full", "random"):
        minor = {"null": 3, "zero": 5, "full": 7, "random": 9}[kind]
        try:
            os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, minor))
        except OSError as error:
            raise Unavailable(f"device nodes: {error}") from None
    elif kind == "read-only":
        path.write_bytes(b"read only")
        path.chmod(0o400)


SPECIAL = ["fifo", "folder", "link-loop", "dangling-link", "empty", "sparse", "null", "zero", "full", "random"]


def clear(folder):
    """An empty folder of this name."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder
