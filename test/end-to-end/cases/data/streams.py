# SPDX-License-Identifier: Apache-2.0
"""Samples that are taken as a program writes them."""

import json
import os
import signal
import subprocess
import tarfile
import threading
import time

import numpy as np
from cases.data.checked import save, token_trainer
from cases.data.reading import linear_trainer, write_tokens
from cases.runs.sources import losses
from harness import case, check


def make_lines(count):
    source = np.random.default_rng(7)
    return [
        json.dumps({"x": source.standard_normal(3).round(4).tolist(), "labels": i % 4}) + "\n" for i in range(count)
    ]


class Run:
    """A trainer that reads what is written to it."""

    def __init__(self, ingot, trainer, *flags, data="-"):
        self.log = ingot.path("log.jsonl")
        self.log.unlink(missing_ok=True)
        command = [trainer, "--data", data, "--log", self.log, *map(str, flags)]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.STDOUT)

    def write(self, content):
        self.process.stdin.write(content.encode() if isinstance(content, str) else content)
        self.process.stdin.flush()

    def rows(self):
        text = self.log.read_text() if self.log.exists() else ""
        return [json.loads(line) for line in text.splitlines() if line.endswith("}")]

    def wait_for(self, steps):
        deadline = time.monotonic() + 60
        while len([row for row in self.rows() if "loss" in row]) < steps:
            check(self.process.poll() is None and time.monotonic() < deadline, f"no step {steps}")
            time.sleep(0.01)

    def finish(self, status=0):
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass
        self.process.stdin = None
        out = self.process.communicate(timeout=60)[0].decode()
        check(self.process.returncode == status, f"exit {self.process.returncode}: {out}")
        return out

    def losses(self):
        return [row["loss"] for row in self.rows() if "loss" in row]


def feed(ingot, trainer, content, *flags, data="-", status=0):
    run = Run(ingot, trainer, *flags, data=data)
    try:
        run.write(content)
    except BrokenPipeError:
        pass
    return run, run.finish(status)


@case("a stream trains before it ends")
def live(ingot):
    trainer, lines = linear_trainer(ingot), make_lines(15)
    path = ingot.path("a.jsonl")
    path.write_text("".join(lines))
    want = losses(ingot, trainer, "--data", path, "--no-shuffle")
    model = ingot.path("out.onnx")
    run = Run(ingot, trainer, "--workers", "1", "--export", model)
    for step in range(3):
        # Each step comes without more samples than its own.
        run.write("".join(lines[2 * step : 2 * step + 2]))
        run.wait_for(step + 1)
    run.write("".join(lines[6:]))
    out = run.finish()
    check(run.losses() == want, f"{run.losses()} instead of {want}")
    check("the samples end after step 7; 1 more sample does not fill a step" in out, out)
    check("taken as they come" in out and "epoch 1  step 7/7" in out, out)
    check(model.exists(), "no model")
    # Between steps, through a FIFO, and with several batches in a step.
    fifo = ingot.path("fifo")
    os.mkfifo(fifo)
    writer = threading.Thread(target=lambda: fifo.write_text("".join(lines)))
    writer.start()
    got = losses(ingot, trainer, "--data", fifo, "--workers", "0", "--no-shuffle")
    writer.join()
    check(got == want, f"a FIFO: {got} instead of {want}")
    # A generator without an end.
    endless = subprocess.Popen(["yes", lines[0].strip()], stdout=subprocess.PIPE)
    result = subprocess.run([trainer, "--data", "-", "--steps", "20"], stdin=endless.stdout, timeout=60)
    endless.stdout.close()
    endless.wait()
    check(result.returncode == 0, "a generator without an end")


@case("streams of other kinds train as files do")
def kinds(ingot):
    trainer = linear_trainer(ingot)
    rows = [json.loads(line) for line in make_lines(12)]
    table = "a,b,c,labels\n" + "".join(",".join(map(str, [*row["x"], row["labels"]])) + "\n" for row in rows)
    path = ingot.path("t.csv")
    path.write_text(table)
    want = losses(ingot, trainer, "--data", path, "--no-shuffle")
    check(feed(ingot, trainer, table)[0].losses() == want, "a table")
    # Content tells a table that is read to its end.
    whole, _ = feed(ingot, trainer, table, "--epochs", "2", "--no-shuffle")
    check(whole.losses() == losses(ingot, trainer, "--data", path, "--no-shuffle", "--epochs", "2"), "a whole table")
    with path.open() as content:
        check(subprocess.run([trainer, "--data", "-"], stdin=content, timeout=60).returncode == 0, "a file of a table")
    # Programs on Windows begin text with a mark.
    lines, listed = ingot.path("marked.jsonl"), ingot.path("list.txt")
    lines.write_text("\ufeff" + "".join(make_lines(12)))
    listed.write_text(f"\ufeff{lines}\n")
    check(len(losses(ingot, trainer, "--data", f"@{listed}")) == 6, "lines and a list that begin with a mark")
    archive = ingot.path("t.tar")
    folder = ingot.path("members")
    folder.mkdir()
    with tarfile.open(archive, "w") as tar:
        for i, row in enumerate(rows):
            np.save(folder / f"{i:03}.x.npy", np.array(row["x"], np.float32))
            (folder / f"{i:03}.cls").write_text(str(row["labels"]))
            for name in (f"{i:03}.x.npy", f"{i:03}.cls"):
                tar.add(folder / name, name)
    got = feed(ingot, trainer, archive.read_bytes())[0].losses()
    check(np.allclose(got, want, rtol=1e-6), f"an archive: {got} instead of {want}")
    tokens = write_tokens(ingot, 400)
    want = losses(ingot, token_trainer(ingot), "--data", f"{tokens}:u16", "--no-shuffle")
    got = feed(ingot, token_trainer(ingot), tokens.read_bytes(), data="-:u16")[0].losses()
    check(got == want, f"tokens: {got} instead of {want}")
    arrays = save(ingot, x=np.array([row["x"] for row in rows], np.float32), labels=np.arange(12) % 4)
    _, out = feed(ingot, trainer, arrays.read_bytes())
    check("is read to its end first, into a file in $TMPDIR: files of this kind" in out, out)
    _, out = feed(ingot, trainer, "".join(make_lines(8)), "--epochs", "2")
    check("is read to its end first, into a file in $TMPDIR: --epochs" in out, out)


@case("a stream is resumed, evaluated and interrupted")
def interrupted(ingot):
    trainer, lines = linear_trainer(ingot), make_lines(16)
    whole = "".join(lines)
    for window in ([], ["--shuffle-window", "5"]):
        want = feed(ingot, trainer, whole, *window)[0].losses()
        saved = ingot.path(f"ck{len(window)}")
        feed(ingot, trainer, whole, *window, "--steps", "3", "--save", saved)
        run, out = feed(ingot, trainer, whole, "--resume", saved, "--steps", "8")
        check(run.losses() == want[3:], f"{run.losses()} instead of {want[3:]}")
        check("leaves out the first 6 samples" in out, out)
    data, saved = ingot.path("a.jsonl"), ingot.path("ck-signal")
    data.write_text(whole)
    run = Run(ingot, trainer, "--eval-data", data, "--eval-every", "2", "--save", saved)
    run.write("".join(lines[:8]))
    run.wait_for(4)
    time.sleep(0.2)
    run.process.send_signal(signal.SIGINT)
    run.process.wait(timeout=60)
    out = run.finish(128 + signal.SIGINT)
    check("SIGINT: stopping after step 4" in out, out)
    check([row["step"] for row in run.rows() if "eval_loss" in row] == [2, 4], "evaluations")
    # The run goes on with the next stream, and to its end.
    run, out = feed(ingot, trainer, whole, "--resume", saved)
    check(len(run.losses()) == 4 and "the samples end after step 8" in out, out)


@case("what a stream cannot do is said")
def refused(ingot):
    trainer, lines = linear_trainer(ingot), make_lines(8)
    whole = "".join(lines)

    def fails(content, status, words, *flags):
        _, out = feed(ingot, trainer, content, *flags, status=status)
        check("hint: " in out and words in out, out)

    fails(whole, 2, "error: --schedule: follows the length", "--schedule", "cosine")
    fails(whole, 2, "error: --warmup: follows the length", "--warmup", "5%")
    feed(ingot, trainer, whole, "--schedule", "cosine", "--warmup", "50%", "--steps", "4")
    fails(lines[0], 3, "1 samples, fewer than a batch of 2")
    fails("", 3, "error: -:")
    fails(whole + '{"x": [1, 2], "labels": 0}\n' * 2, 3, "-: sample 8: x")
    # A writer that dies leaves a line that is no sample.
    fails(whole + lines[0] + lines[1][:9], 3, "-: sample 9")
    fails(whole, 2, "error: --tune: takes samples several times", f"--tune={ingot.path('tuned')}")
    path = ingot.path("a.jsonl")
    path.write_text(whole)
    ingot.check_error([trainer, "--data", path, "--shuffle-window", "4"], 2, "--shuffle-window")
    # Nobody writes to it.
    fifo = ingot.path("fifo")
    os.mkfifo(fifo)
    for flags in ([], ["--epochs", "2"]):
        ingot.check_error([trainer, "--data", fifo, *flags], 3, "nobody writes to the pipe")
    with path.open() as content:
        again = subprocess.run([trainer, "--data", "-", "--epochs", "2"], stdin=content, timeout=60)
    check(again.returncode == 0, "standard input that is a file")
    # Those of a stream begin where they come.
    tokens = write_tokens(ingot, 400).read_bytes()
    offsets = ["--token-offsets", "random"]
    _, out = feed(ingot, token_trainer(ingot), tokens, *offsets, data="-:u16", status=2)
    check("error: --token-offsets: is for samples that are parts of files" in out, out)
    # What never ends, or never begins, and a stream of no known kind.

    def refuses(content, words):
        process = subprocess.run([trainer, "--data", "-"], stdin=content, capture_output=True, text=True, timeout=60)
        check(process.returncode == 3 and words in process.stderr, process.stderr)

    for name, mode in (("/dev/zero", "r"), ("/dev/null", "a")):
        with open(name, mode) as device:
            refuses(device, "input is a device")
    ends = os.pipe()
    refuses(ends[1], "input is open for writing only")
    for end in ends:
        os.close(end)
    endless = subprocess.Popen(["cat", "/dev/zero"], stdout=subprocess.PIPE)
    refuses(endless.stdout, "no kind of file")
    endless.stdout.close()
    endless.wait()
