# SPDX-License-Identifier: Apache-2.0
"""ingot-top: runs as a table, once, again and again, and in a terminal."""

import json
import os
import pty
import select
import signal
import subprocess
import termios
import time

from harness import DIGITS, QUIET, case, check


def line(step, **more):
    return json.dumps({"step": step, "loss": 2 / step, "step_ms": 5.0, "elapsed_s": step * 0.006, **more}) + "\n"


def write(path, steps, total, **more):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(line(i, **more) for i in range(1, steps + 1)))
    path.with_name(path.name + ".toml").write_text(f"# digits.onnx: adamw, fp32; 1 rank; {total} steps\nlr = 1\n")


@case("top-once")
def once(ingot):
    """The table of a folder of runs; without a terminal it is plain and comes once."""
    tool, folder = ingot.bin / "ingot-top", ingot.path("runs")
    write(folder / "one/log.jsonl", 300, 500, samples_per_s=6400.0, lr=0.001)
    write(folder / "two/log.jsonl", 20, 20)
    with (folder / "two/log.jsonl").open("a") as log:
        log.write('{"step": 20, "eval_loss": 0.25, "eval_accuracy": 0.9375}\n')
    (folder / "other.jsonl").write_text('{"a": 1}\nnonsense\n')
    out = ingot.succeed([tool, folder]).out
    check("\033" not in out and "\r" not in out, f"not plain: {out!r}")
    rows = [row.split() for row in out.splitlines()]
    check(len(rows) == 3 and rows[0][:4] == ["run", "state", "step", "loss"], out)
    check(rows[1][:4] == ["one/log", "runs", "300/500", "0.006667"] and rows[1][-2:] == ["1", "s"], out)
    check("6400" in rows[1] and "5.00" in rows[1], out)
    check(rows[2][:3] == ["two/log", "done", "20/20"] and "93.75" in rows[2], out)
    # A run that has not written for long.
    before = time.time() - 3600
    os.utime(folder / "one/log.jsonl", (before, before))
    check("silent 1:00 h" in ingot.succeed([tool, folder]).out, "a run that is silent")
    ingot.check_error([tool, "missing"], 3, "missing")
    ingot.check_error([tool], 2, "DIR")
    ingot.check_error([tool, folder, "--count", "0"], 2, "--count")
    empty = ingot.path("empty")
    empty.mkdir()
    check("no run" in ingot.succeed([tool, empty]).out, "an empty folder")


def updates(ingot, folder, changes):
    """The tables of ingot-top, before and after each change."""
    tool = subprocess.Popen(
        [ingot.bin / "ingot-top", folder, "--interval", "0.4", "--count", str(len(changes) + 1)],
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    tables = []
    for i in range(len(changes) + 1):
        tables.append(tool.stdout.readline() + tool.stdout.readline())
        if i < len(changes):
            changes[i]()
    check(tool.wait(timeout=60) == 0, "ended in failure")
    return [table.splitlines()[1].split() for table in tables]


@case("top-follows")
def follows(ingot):
    """A log that grows, that is put aside as FILE.1, that is cut, and that comes back after it was removed."""
    folder = ingot.path("runs")
    log = folder / "log.jsonl"
    write(log, 3, 100)

    def grow():
        with log.open("a") as file:
            file.write(line(4) + line(5)[:20])

    def rotate():
        with log.open("a") as file:
            file.write(line(5)[20:] + line(6))
        log.rename(folder / "log.jsonl.1")
        log.write_text(line(7))

    def cut():
        log.write_text("")
        with log.open("a") as file:
            file.write(line(5))

    def remove():
        log.unlink()

    def return_():
        log.write_text(line(1))

    rows = updates(ingot, folder, [grow, rotate, cut, remove, return_])
    steps = [row[2] for row in rows]
    check(steps[:4] == ["3/100", "4/100", "7/100", "5/100"] and steps[-1] == "1/100", f"steps {steps}")


@case("top-in-terminal")
def terminal(ingot):
    """In a terminal the table is drawn over itself, no line is wider, and Ctrl-C gives the terminal back."""
    folder = ingot.path("runs")
    write(folder / "log.jsonl", 50, 60, samples_per_s=1.0, lr=0.5)
    ours, theirs = pty.openpty()
    subprocess.run(["stty", "rows", "10", "cols", "48"], stdin=theirs, check=True)
    env = {**os.environ, "TERM": "xterm"}
    tool = subprocess.Popen(
        [ingot.bin / "ingot-top", folder, "--interval", "0.1"], stdout=theirs, stderr=theirs, env=env
    )
    os.close(theirs)
    text, end = b"", time.monotonic() + 60
    while text.count(b"\033[H") < 3:
        check(time.monotonic() < end, f"no updates: {text}")
        if select.select([ours], [], [], 1)[0]:
            text += os.read(ours, 4096)
    tool.send_signal(signal.SIGINT)
    check(tool.wait(timeout=60) == 0, "Ctrl-C is a failure")
    while True:
        try:
            more = os.read(ours, 4096)
        except OSError:
            break
        text += more
        if not more:
            break
    check(
        text.startswith(b"\033[?1049h") and text.endswith(b"\033[?25h\033[?1049l"),
        f"the terminal is not given back: {text}",
    )
    for row in text.split(b"\033[H")[2].split(b"\r\n"):
        plain = row.decode().replace("\033[1m", "").replace("\033[m", "").replace("\033[K", "").replace("\033[J", "")
        plain = plain.replace("\033[?25h", "").replace("\033[?1049l", "").rstrip("\r")
        check(len(plain) <= 48, f"{len(plain)} characters: {plain!r}")
    check(b"50/60" in text, f"no step: {text}")


@case("top-quits")
def quits(ingot):
    """The key q ends it at once, also Ctrl-C, and the terminal echoes keys again."""
    folder = ingot.path("runs")
    write(folder / "log.jsonl", 50, 60, samples_per_s=1.0, lr=0.5)
    for key in (b"xq", b"\x03"):
        tool, ours = pty.fork()
        if tool == 0:
            os.environ["TERM"] = "xterm"
            os.execv(ingot.bin / "ingot-top", ["ingot-top", str(folder), "--interval", "3600"])
        before, text, end = termios.tcgetattr(ours), b"", time.monotonic() + 60
        while b"\033[H" not in text:
            check(time.monotonic() < end, f"no table: {text}")
            if select.select([ours], [], [], 1)[0]:
                text += os.read(ours, 4096)
        check(not termios.tcgetattr(ours)[3] & termios.ECHO, "keys are echoed into the table")
        os.write(ours, key)
        while b"\033[?1049l" not in text:
            check(time.monotonic() < end, f"{key} does not end it")
            if select.select([ours], [], [], 1)[0]:
                text += os.read(ours, 4096)
        status = os.waitpid(tool, 0)[1]
        check(status == 0, f"{key}: status {status}")
        check(termios.tcgetattr(ours) == before, "the terminal is another")
        os.close(ours)


@case("top-of-trainer")
def trainer(ingot):
    """A trainer that runs, with a log that is put aside."""
    built = ingot.compile(DIGITS / "digits.onnx", "--loss", "cross-entropy", "--batch", "32", "--optimizer", "adamw")
    folder = ingot.path("runs")
    folder.mkdir()
    log = folder / "log.jsonl"
    command = [built, "--data", DIGITS / "train.npz", "--steps", "1000000", "--log", log, "--log-max-mb", "1"]
    run = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, **QUIET})
    try:
        last, out, end = 0, "", time.monotonic() + 120
        # A log that has just begun has no row yet that says how long data took.
        while not (folder / "log.jsonl.1").exists() or last < 2000 or "of best" not in out:
            check(time.monotonic() < end and run.poll() is None, "no second log")
            out = ingot.succeed([ingot.bin / "ingot-top", folder]).out
            rows = out.splitlines()
            if len(rows) == 2:
                step = int(rows[1].split()[2].split("/")[0])
                check(step >= last, f"back from {last} to {step}")
                last = step
            time.sleep(0.2)
        check("MiB" in out and "data" in out, out)
    finally:
        run.terminate()
        run.wait()
