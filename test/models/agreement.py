# SPDX-License-Identifier: Apache-2.0
"""Compiles a prepared model, trains it, and compares with PyTorch. Needs numpy, and no PyTorch.

prepare.py says what a prepared folder holds. A model agrees in fp32 if

  - the losses of five steps are within 1e-3 of PyTorch's,
  - and no parameter's gradient of the first step is off by more than 1e-2 and ten times what PyTorch's is.

Where PyTorch in fp32, in one of its two orders of channels, and in double part by more than 1e-4, the losses tell
nothing (one sign that flips at a kink of ReLU moves a gradient by 1e-3); then the gradients of the smooth variant are
compared with those in double, and their median error is at most one and a half times PyTorch's own. That is the larger
one of its two orders of channels: its convolutions round differently with channels last, which Ingot uses, and by
twice as much in ResNet.
"""

import json
import os
import pathlib
import resource
import shutil
import statistics
import struct
import subprocess
import time

import numpy as np

PARTED, LOSSES, LOW_PRECISION = 1e-4, 1e-3, 3e-2
GRADIENT, GRADIENT_TIMES, SMOOTH_TIMES = 1e-2, 10, 1.5
TIME_LIMIT = 400


class Fault(Exception):
    """What the model failed at, and why, on one line."""

    def __init__(self, stage, what):
        super().__init__(what)
        self.stage = stage


def run(stage, command, folder):
    """Seconds on the clock, and of the processors."""
    start, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    try:
        done = subprocess.run(
            [str(word) for word in command],
            capture_output=True,
            text=True,
            errors="replace",
            stdin=subprocess.DEVNULL,
            timeout=TIME_LIMIT,
            cwd=folder,
            # PyTorch's threads that wait do not spin: other work may share the cores.
            env={**os.environ, "OMP_WAIT_POLICY": "passive"},
        )
    except subprocess.TimeoutExpired:
        raise Fault(stage, f"no end after {TIME_LIMIT} s") from None
    if done.returncode != 0:
        lines = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
        raise Fault(stage, (lines or [f"exit {done.returncode}: {done.stderr[-200:]!r}"])[0])
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.monotonic() - start, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def read_safetensors(path):
    with open(path, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        start = file.tell()
        found = {}
        for name, entry in header.items():
            if name != "__metadata__" and entry["dtype"] == "F32":
                begin, end = entry["data_offsets"]
                file.seek(start + begin)
                found[name] = np.frombuffer(file.read(end - begin), np.float32).reshape(entry["shape"])
    return found


class Trainer:
    def __init__(self, ingotc, model, folder, precision="fp32", flags=()):
        self.reference = json.loads((model / "reference.json").read_text())
        self.model, self.folder = model, folder
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        reference = self.reference
        command = [ingotc, model / "model.onnx", "-o", folder / "trainer", "--loss", reference["loss"]]
        command += ["--optimizer", "adamw", "--precision", precision, *flags]
        if reference["symbolic_batch"]:
            command += ["--batch", reference["batch"]]
        for option in ("freeze", "trainable"):
            if reference.get(option):
                command += [f"--{option}", reference[option]]
        self.seconds, self.processor_seconds = run("compile", command, folder)

    def train(self, steps, *flags):
        log = self.folder / "log.jsonl"
        log.unlink(missing_ok=True)
        command = [self.folder / "trainer", "--data", self.data(), "--no-shuffle", "--steps", steps]
        run("train", [*command, "--lr", self.reference["lr"], "--log", log, *flags], self.folder)
        lines = [json.loads(line) for line in log.read_text().splitlines()]
        return [line["loss"] for line in lines if "loss" in line]

    def data(self):
        return self.model / "data.npz"

    def gradients(self):
        """Of the first step: Adam's first moment, when it remembers nothing."""
        saved = self.folder / "saved"
        shutil.rmtree(saved, ignore_errors=True)
        self.train(1, "--beta1", 0, "--save", saved)
        state = read_safetensors(saved / "step-1/state.safetensors")
        ending = "/exp_avg"
        return {name[: -len(ending)]: value for name, value in state.items() if name.endswith(ending)}


def largest(got, want):
    """Of the relative differences; infinite where there is no number."""
    if len(got) != len(want):
        return float("inf")
    differences = [abs(a - b) / max(abs(b), 1e-30) for a, b in zip(got, want)]
    return max(d if d == d else float("inf") for d in differences)


def gradient_errors(trainer):
    """By parameter, as prepare.errors() takes them. What has none in one of the two must be zero in the other."""
    got = trainer.gradients()
    with np.load(trainer.model / "gradients.npz") as arrays:
        want = {name: arrays[name].astype(np.float64) for name in arrays}
    whole = sum(float((w**2).sum()) for w in want.values()) ** 0.5
    found = {}
    for name, others in trainer.reference["other_names"].items():
        for other in others:
            if other in got:
                got[name] = got.pop(other)
    for name, w in want.items():
        g = got.get(name)
        if g is None:
            found[name] = 0.0 if not w.any() else float("inf")
        elif g.shape != w.shape:
            found[name] = float("inf")
        else:
            found[name] = float(np.linalg.norm(g - w) / max(np.linalg.norm(w), 1e-3 * whole, 1e-30))
    for name, g in got.items():
        if name not in want and g.any():
            found[name] = float("inf")
    return found


def worst(found, own):
    """The parameter whose gradient is furthest beyond what is allowed, if any is."""
    beyond = {n: e for n, e in found.items() if not e <= max(GRADIENT, GRADIENT_TIMES * own.get(n, 0.0))}
    return max(beyond.items(), key=lambda item: item[1]) if beyond else None


def compare(ingotc, model, scratch):
    """The record of one model in fp32. Raises Fault where it does not get that far."""
    trainer = Trainer(ingotc, model, scratch)
    reference, record = trainer.reference, {"compile_s": round(trainer.seconds, 1)}
    record["compile_cpu_s"] = round(trainer.processor_seconds, 1)
    losses = trainer.train(len(reference["losses"]))
    record["losses"], record["torch_losses"] = losses, reference["losses"]
    record["off"] = largest(losses, reference["losses"])
    last = reference.get("channels_last_losses", reference["losses"])
    record["torch_off"] = max(largest(own, reference["double_losses"]) for own in (reference["losses"], last))
    found, own = gradient_errors(trainer), reference["gradient_errors"]
    record["gradient"] = statistics.median(found.values()) if found else 0.0
    record["torch_gradient"] = statistics.median(own.values()) if own else 0.0
    if record["torch_off"] <= PARTED:
        bad = worst(found, own)
        if record["off"] > LOSSES:
            record["reason"] = f"losses off by {record['off']:.2g}"
        elif bad:
            record["reason"] = f"gradient of {bad[0]} off by {bad[1]:.2g}"
    else:
        smooth = Trainer(ingotc, model / "smooth", scratch / "smooth")
        found = gradient_errors(smooth)
        own, last = smooth.reference["gradient_errors"], smooth.reference["channels_last_errors"]
        record["smooth"], record["torch_smooth"] = statistics.median(found.values()), statistics.median(own.values())
        record["torch_channels_last"] = statistics.median(last.values())
        # What is exact in PyTorch may be off by one rounding.
        if record["smooth"] > SMOOTH_TIMES * max(record["torch_smooth"], record["torch_channels_last"], 1e-7):
            record["reason"] = f"gradients of the smooth variant off by {record['smooth']:.2g}"
        elif worst(found, own):
            name, error = worst(found, own)
            record["reason"] = f"gradient of {name} of the smooth variant off by {error:.2g}"
    record["agrees"] = "reason" not in record
    return record


def compare_bf16(ingotc, model, scratch):
    """The largest difference of the losses in bf16 from PyTorch's in fp32, and that of PyTorch's own in bf16."""
    trainer = Trainer(ingotc, model, pathlib.Path(scratch) / "bf16", "bf16")
    want, own = trainer.reference["losses"], trainer.reference.get("bf16_losses")
    return {"bf16": largest(trainer.train(len(want)), want), "torch_bf16": largest(own, want) if own else None}
