# SPDX-License-Identifier: Apache-2.0
"""What the end-to-end cases share: running the compiler and its trainers.

A case is a function `case(ingot)` registered with @case("name"); it raises
Failure through check() and friends, or Skip. Trainers are compiled once per
build and set of flags (trainer_cache.py), into a scratch folder.
"""

import dataclasses
import hashlib
import json
import os
import pathlib
import shutil
import subprocess

import numpy as np
import onnx
import onnx.numpy_helper
import trainer_cache

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
GOLDENS = HERE / "goldens"
DIGITS = ROOT / "docs/examples/digits"
EXPORTED = HERE / "exported"

# Plans do not depend on what this machine measures.
QUIET = {"INGOT_MACHINE": "built-in"}

CASES = {}


class Failure(Exception):
    pass


class Skip(Exception):
    pass


def case(name):
    def register(function):
        if name in CASES:
            raise ValueError(f"two cases named {name}")
        CASES[name] = function
        return function

    return register


def check(condition, message):
    if not condition:
        raise Failure(message)


def check_close(what, got, want, tolerance):
    """|got - want| <= tolerance * max(1, |want|), everywhere."""
    got, want = np.asarray(got, np.float64), np.asarray(want, np.float64)
    check(got.shape == want.shape, f"{what}: shape {got.shape}, expected {want.shape}")
    check(np.isfinite(got).all(), f"{what}: not finite")
    error = np.abs(got - want) / np.maximum(1, np.abs(want))
    at = int(error.argmax()) if error.size else 0
    check(
        error.size == 0 or error.flat[at] <= tolerance,
        f"{what}: {got.flat[at]:.9g}, expected {want.flat[at]:.9g} at {at}"
        f" ({(error > tolerance).sum()} of {error.size} off by more than {tolerance:g})",
    )


def check_relative(what, got, want, tolerance):
    """|got - want| <= tolerance * |want| for sequences, naming the first off."""
    check(len(got) == len(want), f"{what}: {len(got)} values, expected {len(want)}")
    for i, (a, b) in enumerate(zip(got, want)):
        check(
            abs(a - b) <= tolerance * abs(b),
            f"{what} at step {i + 1}: {a:.9g}, expected {b:.9g} within {tolerance:g}",
        )


@dataclasses.dataclass
class Result:
    status: int
    out: str
    err: str

    def last(self):
        return (self.err.strip() or self.out.strip() or "no output").splitlines()[-1]


@dataclasses.dataclass
class Golden:
    folder: pathlib.Path
    batch: int
    loss: str | None
    runs: dict

    @property
    def model(self):
        return self.folder / "model.onnx"

    @property
    def data(self):
        return self.folder / "data.npz"

    def weights(self, optimizer):
        prefix = optimizer + "/"
        with np.load(self.folder / "weights.npz") as arrays:
            return {k[len(prefix) :]: arrays[k] for k in arrays if k.startswith(prefix)}

    def compile_flags(self, optimizer):
        loss = ["--loss", self.loss] if self.loss else []
        return [*loss, "--optimizer", optimizer, "--batch", str(self.batch)]


def golden(name):
    folder = GOLDENS / name
    record = json.loads((folder / "golden.json").read_text())
    return Golden(folder, record["batch"], record["loss"], record["runs"])


def initializers(path):
    model = onnx.load(path)
    return {t.name: onnx.numpy_helper.to_array(t) for t in model.graph.initializer}


def read_log(path, first=1):
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    steps = [line for line in lines if "loss" in line]
    evaluations = [line for line in lines if "eval_loss" in line]
    check([s["step"] for s in steps] == list(range(first, first + len(steps))), "log: steps out of order")
    return steps, evaluations


class Ingot:
    """The programs under test and a scratch folder."""

    def __init__(self, bin_dir, scratch):
        self.bin = pathlib.Path(bin_dir)
        self.scratch = pathlib.Path(scratch)
        self.trainers = {}
        self.cache = trainer_cache.TrainerCache(bin_dir)
        self.count = 0

    def path(self, name):
        """A fresh path for a file called `name`."""
        self.count += 1
        folder = self.scratch / f"{self.count:03d}"
        folder.mkdir(parents=True)
        return folder / name

    def run(self, command, env=None, timeout=300):
        command = [str(word) for word in command]
        try:
            done = subprocess.run(
                command,
                capture_output=True,
                text=True,
                errors="replace",
                stdin=subprocess.DEVNULL,
                timeout=timeout,
                cwd=self.scratch,
                env={**os.environ, **QUIET, "XDG_CACHE_HOME": str(self.scratch / "cache"), **(env or {})},
            )
        except subprocess.TimeoutExpired:
            raise Failure(f"{' '.join(command)}: no end after {timeout} s") from None
        return Result(done.returncode, done.stdout, done.stderr)

    def succeed(self, command, **kwargs):
        result = self.run(command, **kwargs)
        words = " ".join(str(word) for word in command)
        check(result.status == 0, f"{words}: exit {result.status}: {result.err.strip()}")
        return result

    def ingotc(self, *flags):
        return [self.bin / "ingotc", *flags]

    def compile(self, model, *flags):
        """The trainer of `model`, compiled once per build and set of flags."""
        key = (str(model), flags)
        if key not in self.trainers:
            digest = hashlib.sha256(repr(key).encode()).hexdigest()[:12]
            folder = self.scratch / "trainers" / digest
            shutil.rmtree(folder, ignore_errors=True)
            trainer, known = folder / "trainer", self.cache.key(model, flags)
            if not known or not self.cache.fetch(known, folder):
                folder.mkdir(parents=True)
                self.succeed(self.ingotc(model, "-o", trainer, *flags))
                if known:
                    self.cache.store(known, folder)
            self.trainers[key] = trainer
        return self.trainers[key]

    def train(self, trainer, *flags, log_from=1, **kwargs):
        """Runs a trainer with a log, whose first step is `log_from`; returns its
        steps and evaluations."""
        log = self.path("log.jsonl")
        self.succeed([trainer, *flags, "--log", log], **kwargs)
        return read_log(log, log_from)

    def check_error(self, command, status, *words, env=None, timeout=300):
        """Exit `status`, one error line naming `words`, one hint line."""
        result = self.run(command, env=env, timeout=timeout)
        name = pathlib.Path(str(command[0])).name
        what = f"{name} {' '.join(str(word) for word in command[1:])}"
        check(result.status == status, f"{what}: exit {result.status} ({result.last()}), expected {status}")
        lines = result.err.strip().splitlines()
        errors = [i for i, line in enumerate(lines) if line.startswith("error: ")]
        check(len(errors) == 1, f"{what}: {len(errors)} error lines: {result.err!r}")
        at = errors[0]
        check(": " in lines[at][len("error: ") :], f"{what}: no 'error: WHERE: WHAT': {lines[at]!r}")
        check(
            at == len(lines) - 2 and lines[at + 1].startswith("hint: "),
            f"{what}: not one hint line after the error: {result.err!r}",
        )
        for word in words:
            check(word in lines[at], f"{what}: {word!r} is not in {lines[at]!r}")
        return result
