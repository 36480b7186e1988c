#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains for many short steps, and checks that nothing grows with them.

Steps, saves, evaluations and a log that is rotated, as in days of training:
resident memory must stay within a MiB and open files the same once the first
tenth of the run is over, and the log within its limit. With --pictures, an
archive of pictures that threads decode, cut and keep in a cache.

  long.py --steps 100000 [--pictures]

Needs the Python that tools/setup made.
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "end-to-end"))

import harness  # noqa: E402
from cases.runs.checkpoints import write_dropout_model  # noqa: E402
from cases.runs.sources import RECIPE, picture_trainer, write_pictures  # noqa: E402

MOST_GROWTH = 1 << 20
LOG_MB = 1


def read_memory(process):
    """Resident bytes that are the process's own, without mapped files."""
    for line in pathlib.Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) << 10
    return 0


def count_files(process):
    """Open files, less those that a save or a read has for a moment."""
    return len(os.listdir(f"/proc/{process}/fd"))


def count_steps(log):
    """The step of the last whole line."""
    lines = log.read_bytes()[-4096:].splitlines() if log.exists() else []
    for line in reversed(lines):
        if line.startswith(b'{"step": ') and line.endswith(b"}"):
            return int(line.split()[1].rstrip(b","))
    return 0


def watch(process, log, steps):
    """Samples (step, memory, files) while the process runs, and the largest log."""
    samples, largest = [], 0
    while process.poll() is None:
        try:
            samples.append((count_steps(log), read_memory(process.pid), count_files(process.pid)))
            largest = max(largest, log.stat().st_size)
        except (OSError, ValueError):
            pass
        time.sleep(0.02)
    settled = [sample for sample in samples if sample[0] > steps / 10]
    return settled, largest


def prepare_numbers(ingot):
    """A trainer, its data and how it reads these."""
    model = ingot.path("model.onnx")
    write_dropout_model(model)
    flags = ["--loss", "bce-with-logits", "--optimizer", "adamw", "--batch", "4", "--clip", "--metrics", "auc,f1"]
    return ingot.compile(model, *flags), harness.golden("multilabel").data, []


def prepare_pictures(ingot):
    _, archive = write_pictures(ingot)
    cache = ingot.path("cache")
    how = ["--input", RECIPE, "--workers", "2", "--cache", cache]
    return picture_trainer(ingot, "--batch", "8"), archive, how


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", default=harness.ROOT / "build/release/bin", help="folder of ingotc")
    parser.add_argument("--steps", type=int, default=100000)
    parser.add_argument("--pictures", action="store_true", help="train on pictures, with two workers")
    parser.add_argument("--scratch", metavar="DIR", help="folder on a fast disk")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ingot-", dir=args.scratch) as scratch:
        ingot = harness.Ingot(pathlib.Path(args.bin).resolve(), scratch)
        trainer, data, how = prepare_pictures(ingot) if args.pictures else prepare_numbers(ingot)
        log, folder = ingot.path("log.jsonl"), ingot.path("save")
        every = max(args.steps // 200, 1)
        command = [trainer, "--data", data, "--eval-data", data, *how, "--steps", args.steps, "--lr", "1e-4",
                   "--ema", "0.99", "--eval-every", every, "--save", folder, "--save-every", every,
                   "--best", "eval_loss", "--log", log, "--log-max-mb", LOG_MB]  # fmt: skip
        begin = time.monotonic()
        # A pipe that nobody reads would stop the run.
        messages = ingot.path("messages")
        with messages.open("w") as stream:
            process = subprocess.Popen(
                [str(word) for word in command], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                stderr=stream, env={**os.environ, **harness.QUIET},
            )  # fmt: skip
            settled, largest = watch(process, log, args.steps)
        said = messages.read_text()[-2000:]
        seconds = time.monotonic() - begin
        problems = []
        if process.returncode != 0:
            problems.append(f"exit {process.returncode}: {said}")
        if len(settled) < 10:
            problems.append(f"only {len(settled)} samples of a run of {seconds:.0f} s")
        else:
            tenth = max(len(settled) // 10, 1)
            first, last = settled[:tenth], settled[-tenth:]
            # Copies and batches come and go: what remains is the least.
            growth = min(s[1] for s in last) - min(s[1] for s in first)
            files = min(s[2] for s in last) - min(s[2] for s in first)
            print(f"memory {first[0][1] / 2**20:.1f} MiB, growth {growth / 2**10:.0f} KiB; {files} more files")
            if growth > MOST_GROWTH:
                problems.append(f"memory grew by {growth} bytes")
            if files > 0:
                problems.append(f"{files} more files are open")
        sizes = {p.name: p.stat().st_size for p in log.parent.glob(log.name + "*")}
        limit = (LOG_MB << 20) + (64 << 10)
        if largest > limit or sizes.get(log.name + ".1", 0) > limit:
            problems.append(f"the log has {sizes}, at most {largest} bytes")
        if args.steps >= 20000 and log.name + ".1" not in sizes:
            problems.append(f"the log was not rotated: {sizes}")
        if len(list(folder.glob("step-*"))) > 3:
            problems.append(f"checkpoints are left: {sorted(p.name for p in folder.iterdir())}")
    for problem in problems:
        print(f"FAIL {problem}")
    print(f"{args.steps} steps in {seconds:.0f} s: {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
