#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kills trainers by random signals at random times, and resumes them.

Each run has to end as one that nobody killed: the same losses of all steps and
the same exported weights, bit for bit, and no step that was logged before an
orderly end is computed again.

  soak.py --kills 200            on one rank
  soak.py --kills 200 --ranks 2  on two, of which one is killed, or the launcher told to end
  soak.py --kills 500 --only-kill  by SIGKILL alone

Needs the Python that tools/setup made. The seed sets the signals and the times.
"""

import argparse
import collections
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "end-to-end"))

import harness  # noqa: E402
from cases.runs.checkpoints import write_dropout_model  # noqa: E402
from launch import ALONE, mpirun  # noqa: E402

ORDERLY = [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM]
# What mpirun passes on to ranks; it ends them in its own way on others.
PASSED_ON = [signal.SIGUSR1, signal.SIGUSR2]
# A run takes about a second.
STEPS = {1: 2000, 2: 300}
LINE_BYTES = 150


def find_ranks(launcher):
    """The trainers that a launcher has started."""
    found, parents = [], [launcher]
    while parents:
        at = parents.pop()
        try:
            children = pathlib.Path(f"/proc/{at}/task/{at}/children").read_text().split()
        except OSError:
            continue
        for child in map(int, children):
            parents.append(child)
            try:
                environment = pathlib.Path(f"/proc/{child}/environ").read_bytes()
            except OSError:
                continue
            if b"OMPI_COMM_WORLD_RANK=" in environment:
                found.append(child)
    return found


def read_losses(log):
    """By step, each of which has one line; the last line may be cut."""
    losses = {}
    for line in log.read_text().splitlines() if log.exists() else []:
        try:
            row = json.loads(line)
        except json.JSONDecodeError:
            continue
        harness.check(row["step"] not in losses, f"step {row['step']} is in the log twice")
        losses[row["step"]] = row["loss"]
    return losses


class Soak:
    def __init__(self, ingot, ranks, seed, only_kill=False):
        self.ingot, self.ranks, self.random = ingot, ranks, random.Random(seed)
        self.orderly = [] if only_kill else ORDERLY if ranks == 1 else [signal.SIGTERM, *PASSED_ON]
        self.data = harness.golden("multilabel").data
        self.counts = collections.Counter()
        model = ingot.path("model.onnx")
        write_dropout_model(model)
        common = ["--loss", "bce-with-logits", "--optimizer", "adamw", "--batch", "4", "--clip"]
        stages = [[]] if ranks == 1 else [["--data-parallel"], ["--data-parallel", "--zero", "2"]]
        self.trainers = [ingot.compile(model, *common, *stage) for stage in stages]
        self.straight = [self.run_straight(trainer) for trainer in self.trainers]

    def command(self, trainer, *flags):
        launcher = mpirun(self.ranks) if self.ranks > 1 else []
        return [str(word) for word in [*launcher, trainer, "--data", self.data, *flags]]

    def start(self, command):
        return subprocess.Popen(
            command, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env={**os.environ, **(ALONE if self.ranks > 1 else harness.QUIET)},
        )  # fmt: skip

    def settings(self):
        return ["--steps", STEPS[self.ranks], "--schedule", "cosine", "--warmup", "10", "--lr", "0.01", "--seed", "3"]

    def run_straight(self, trainer):
        log, out = self.ingot.path("log.jsonl"), self.ingot.path("out.onnx")
        process = self.start(self.command(trainer, *self.settings(), "--log", log, "--export", out))
        said = process.communicate()[0]
        harness.check(process.returncode == 0, said)
        return read_losses(log), out.read_bytes()

    def wait(self, process, log):
        """Until a random step, and a little longer; now and then the run has not begun, or ends first."""
        if self.random.random() < 0.1:
            time.sleep(self.random.uniform(0, 0.2))
            return
        size = self.random.uniform(0, STEPS[self.ranks] * LINE_BYTES)
        while process.poll() is None and (not log.exists() or log.stat().st_size <= size):
            time.sleep(0.0002)
        time.sleep(self.random.choice([0, 0, 0.001, 0.01]))

    def hit(self, process):
        """Sends a random signal; its number, and whether the run has to end in order."""
        if self.ranks == 1:
            number = self.random.choice([signal.SIGKILL, *self.orderly])
            process.send_signal(number)
            return number, number != signal.SIGKILL
        number = self.random.choice([signal.SIGKILL, *self.orderly])
        ranks = find_ranks(process.pid)
        if number in PASSED_ON and self.random.random() < 0.5 or not ranks:
            process.send_signal(number)
        else:
            os.kill(self.random.choice(ranks), number)
        return number, number in PASSED_ON

    def await_end(self, process):
        """What a run said that was hit. Open MPI's mpirun may wait for itself for ever once a rank has died: without
        ranks that run, it is ended."""
        try:
            return process.communicate(timeout=30)[0]
        except subprocess.TimeoutExpired:
            if self.ranks == 1 or find_ranks(process.pid):
                return process.communicate(timeout=90)[0]
            self.counts["mpirun hung"] += 1
            process.kill()
            return process.communicate()[0]

    def kill_once(self, index):
        which = index % len(self.trainers)
        trainer, (losses, exported) = self.trainers[which], self.straight[which]
        folder, log, out = (self.ingot.path(name) for name in ("save", "log.jsonl", "out.onnx"))
        flags = ["--log", log, "--export", out, "--save", folder, "--save-every", self.random.choice([1, 3, 10, 100])]
        process = self.start(self.command(trainer, *self.settings(), *flags))
        self.wait(process, log)
        has_begun = log.exists() and log.stat().st_size > 0
        if process.poll() is None:
            number, is_orderly = self.hit(process)
        else:
            number, is_orderly = 0, False
        said = self.await_end(process)
        what = f"kill {index} ({signal.Signals(number).name if number else 'none'})"
        reached, complete = read_losses(log), process.returncode == 0
        if complete:
            self.counts["complete"] += 1
        elif is_orderly and has_begun:
            harness.check(process.returncode == 128 + number, f"{what}: exit {process.returncode}: {said}")
            saved = int((folder / "latest").read_text().split()[0].removeprefix("step-"))
            harness.check(saved == max(reached), f"{what}: log to {max(reached)}, checkpoint of {saved}")
            harness.check(out.exists(), f"{what}: no export")
        self.counts[signal.Signals(number).name if number else "none"] += 1
        if (folder / "latest").exists():
            # Nothing but the folder: the checkpoint has the rest.
            again = self.start(self.command(trainer, "--resume", folder, *flags))
        else:
            self.counts["before the first checkpoint"] += 1
            again = self.start(self.command(trainer, *self.settings(), *flags, "--overwrite"))
        said = again.communicate(timeout=120)[0]
        harness.check(again.returncode == 0, f"{what}: does not go on: exit {again.returncode}: {said}")
        for step, loss in reached.items():
            harness.check(losses[step] == loss, f"{what}: step {step} had another loss before the kill")
        harness.check(read_losses(log) == losses, f"{what}: other losses than without a kill")
        harness.check(out.read_bytes() == exported, f"{what}: other weights than without a kill")
        left = [p.name for p in folder.iterdir() if ".tmp" in p.name or p.name.startswith(".")]
        harness.check(not left, f"{what}: left {left}")
        for path in (folder.parent, log.parent, out.parent):
            shutil.rmtree(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", default=harness.ROOT / "build/release/bin", help="folder of ingotc")
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--ranks", type=int, default=1, choices=[1, 2])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only-kill", action="store_true", help="send no signal but SIGKILL")
    parser.add_argument("--scratch", metavar="DIR", help="folder on a fast disk; processes die here, not machines")
    args = parser.parse_args()
    failures, begin = [], time.monotonic()
    with tempfile.TemporaryDirectory(prefix="ingot-", dir=args.scratch) as scratch:
        try:
            soak = Soak(harness.Ingot(pathlib.Path(args.bin).resolve(), scratch), args.ranks, args.seed, args.only_kill)
        except harness.Skip as skip:
            print(f"skip: {skip}")
            return 0
        for index in range(args.kills):
            try:
                soak.kill_once(index)
            except (harness.Failure, subprocess.TimeoutExpired) as failure:
                failures.append(str(failure))
                print(f"FAIL {failure}", flush=True)
    counts = ", ".join(f"{name} {count}" for name, count in sorted(soak.counts.items()))
    print(f"{args.kills} kills on {args.ranks} ranks, seed {args.seed}: {len(failures)} lost")
    print(f"{counts}; {time.monotonic() - begin:.0f} s")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
