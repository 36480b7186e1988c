#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares steps of SGD with a rate of 1 on meshes of simulated ranks with those of one rank, in f64.

    meshes.py --bin DIR [--small] [--model NAME]... [--mesh DATAxINNERxTENSOR]... [--row JSON] [--low] [--jobs N]

Ranks have different data, so that the new parameters tell the gradients of all of it. Each mesh takes the next rows of
a covering array of options: every pair of choices is there for every model. `--small` takes a few meshes and rows.
With `--low`, products are computed in bf16, and the gradients of a mesh may be twice as far from those in f64 as
those of one rank.
"""

import argparse
import itertools
import json
import math
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from models import MODELS, V, build

MESHES = [mesh for mesh in itertools.product(range(1, 9), repeat=3) if 1 < math.prod(mesh) <= 8]
CHOICES = {
    "rows": ("always", "never"),
    "optimizer": ("sgd", "lamb"),
    "clip": (False, True),
    "scaling": (False, True),
    "dropout": (0.0, 0.25),
    "masked": (False, True),
    "zero": (0, 1, 2, 3),
    "micro": (1, 2),
    "pieces": (False, True),
}
TOLERANCE = 1e-11


def covering_rows(seed):
    """Rows with every pair of values of two choices, found greedily."""
    random = np.random.default_rng(seed)
    names = list(CHOICES)
    left = {((a, x), (b, y)) for a, b in itertools.combinations(names, 2) for x in CHOICES[a] for y in CHOICES[b]}
    rows = []
    while left:
        best, most = None, -1
        for _ in range(50):
            row = {name: values[random.integers(len(values))] for name, values in CHOICES.items()}
            count = sum(row[a] == x and row[b] == y for (a, x), (b, y) in left)
            if count > most:
                best, most = row, count
        rows.append(best)
        left = {((a, x), (b, y)) for (a, x), (b, y) in left if not (best[a] == x and best[b] == y)}
    return rows


def batch_of(mesh, micro):
    """A number of samples that ranks and micro-batches divide, about 16."""
    least = mesh[0] * mesh[1] * micro
    return least * max(1, round(16 / least))


class Run:
    """Steps with the options of a row, on `batch` samples, whose products may be computed in bf16."""

    def __init__(self, binaries, folder, model, row, batch, precision="f64"):
        self.binaries, self.folder, self.model, self.row = binaries, folder, model, row
        self.batch, self.precision = batch, precision

    def call(self, tool, *arguments):
        command = [str(self.binaries / tool), *map(str, arguments)]
        result = subprocess.run(command, capture_output=True, text=True)
        if result.returncode != 0:
            raise RuntimeError(" ".join(command) + "\n" + result.stderr[-2000:])
        return result.stdout

    def data(self, m):
        """Inputs and labels of the whole batch."""
        random = np.random.default_rng(1)
        arrays = {}
        for name, (shape, classes) in m.data.items():
            size = [self.batch, *shape]
            # Two tokens are outside of the table.
            arrays[name] = random.integers(-1, classes + 1, size) if classes else random.normal(size=size)
        rows, classes = m.outputs[0][0].shape[0] // m.batch, m.outputs[0][0].shape[1]
        labels = random.integers(0, classes, (self.batch, rows))
        labels[self.batch // 5, : (rows + 1) // 2] = -100
        if self.row["masked"]:
            labels[: self.batch // 2] = -100
        arrays["labels"] = labels.reshape(-1)
        return arrays

    def states(self, m):
        random = np.random.default_rng(2)
        arrays = {}
        for name, (shape, role) in m.states.items():
            if role == "parameter":
                arrays[name] = random.normal(size=shape) * 0.5
            elif role == "running":
                arrays[name] = random.uniform(0.5, 1.5, shape)
        return arrays

    def compile(self, mesh, micro):
        row = self.row
        data, inner, tensor = mesh
        m = build(self.model, self.batch // (data * inner * micro), row["dropout"])
        stem = self.folder / (f"{data}x{inner}x{tensor}x{micro}." + self.precision)
        source, step = stem.with_suffix(".mlir"), stem.with_suffix(".step.mlir")
        text = m.text()
        options = [f"loss=cross-entropy optimizer={row['optimizer']}"]
        if self.precision != "f64":
            text = re.sub("([x<])f64>", r"\1f32>", text)
            options.append(f"precision={self.precision}")
        source.write_text(text)
        if row["clip"]:
            options.append("clip")
        if row["scaling"]:
            options.append("loss-scaling")
        if micro > 1:
            options.append(f"grad-accumulation={micro}")
        if row["pieces"] and tensor > 1:
            machine = self.folder / "machine.json"
            machine.write_text(json.dumps(SLOW))
            options.append(f"machine={machine}")
        options.append("data-parallel bucket-mb=0.01 sync-batch-norm")
        if zero := row["zero"] or int(inner > 1):
            options.append(f"zero={zero}")
        axes = [f"{name}={size}" for name, size in (("inner", inner), ("tensor", tensor)) if size > 1]
        if axes:
            options.append("mesh=" + ",".join(axes))
        if tensor > 1:
            options.append(f"split-rows={row['rows']}")
            rules = PINS[self.model](tensor)
            if rules:
                options.append("partition=" + ",".join(rules))
        self.call("ingot-opt", source, f"--ingot-standard={' '.join(options)}", "-o", step)
        return m, step

    def run(self, mesh, micro=1):
        """The parameters before and after a step, and its loss."""
        m, step = self.compile(mesh, micro)
        states, data = self.states(m), self.data(m)
        hyper = re.findall(r'ingot\.kind = "hyper", ingot\.name = "([^"]*)"', step.read_text())
        hyper = {name: HYPER[name] for name in hyper if name in HYPER}
        paths = {name: step.with_suffix(f".{name}.npz") for name in ("inputs", "states", "outputs", "state-out")}
        files = [word for name, path in paths.items() for word in (f"--{name}", path)]
        ranks = ["--ranks", math.prod(mesh)] if math.prod(mesh) > 1 else []
        np.savez(paths["states"], **states)
        for i in range(micro):
            np.savez(paths["inputs"], **{name: np.split(all, micro)[i] for name, all in data.items()}, **hyper)
            function = "train_step" if i + 1 == micro else "accumulate_step"
            self.call("ingot-eval", step, "--function", function, *files, *ranks)
            paths["state-out"].replace(paths["states"])
        with np.load(paths["states"]) as after, np.load(paths["outputs"]) as outputs:
            return states, {name: after[name] for name in states}, float(outputs["loss"])


# A machine on which exchanges in pieces take less time, however small they are.
SLOW = {"matmul_f64": 1e6, "matmul_f32": 1e6, "launch_seconds": 1e-9, "link_seconds": 1e-9, "link_bandwidth": 1e6,
        "memory_bandwidth": 1e12, "cache_bandwidth": 1e12}  # fmt: skip

# Rates of 1, and a norm below that of the gradients.
HYPER = {"lr": 1.0, "clip_norm": 0.1, "weight_decay": 0.01}


def split_if(*rules):
    """Rules of dimensions that `tensor` divides, or that are padded."""
    return lambda tensor: [rule for size, rule in rules if size % tensor == 0 or size == V]


PINS = {
    "gpt": split_if((V, "wte$=0:tensor"), (12, "b._q$=1:tensor"), (48, "b._up$=1:tensor")),
    "llama": split_if((V, "head$=1:tensor"), (6, "b._q$=1:tensor"), (48, "b._up$=1:tensor")),
    "seq2seq": split_if((V, "src$=0:tensor"), (12, "d._q$=1:tensor"), (12, "e0_q$=1:tensor"), (48, "d._up$=1:tensor")),
    "joined": split_if((12, "t0_q$=1:tensor"), (48, "t0_up$=1:tensor"), (48, "f_up$=1:tensor")),
    "cnn": split_if((12, "c1$=0:tensor")),
}


def difference(got, want):
    """The largest difference of a tensor, as a share of its largest element."""
    worst = ("", 0.0)
    for name, value in want.items():
        scale = max(1.0, float(np.abs(value).max(initial=0)))
        error = float(np.abs(got[name] - value).max(initial=0)) / scale
        if not error <= worst[1]:
            worst = (name, error)
    return worst


def distance(got, want):
    """The distance of all tensors, as a share of their length."""
    return math.sqrt(
        sum(np.square(got[name] - value).sum() for name, value in want.items())
        / sum(np.square(value).sum() for value in want.values())
    )


def check(binaries, model, mesh, row, isLow):
    """Returns a line about a mesh, and whether it is right."""
    data, inner, tensor = mesh
    micro = row["micro"]
    batch = batch_of(mesh, micro)
    # Ranks along data, and micro-batches, draw numbers of their own, and have means and variances of their own.
    isSplit = row["dropout"] > 0
    alone = (data * inner if isSplit else 1, 1, 1), micro if isSplit or model == "cnn" else 1
    what = f"{model} {data}x{inner}x{tensor} " + json.dumps(row)
    with tempfile.TemporaryDirectory() as folder:
        run = Run(binaries, Path(folder), model, row, batch)
        try:
            before, want, own = Run(binaries, Path(folder), model, row | {"zero": 0}, batch).run(*alone)
            if isLow:
                low = Run(binaries, Path(folder), model, row, batch, "bf16")
                steps = {name: value - before[name] for name, value in want.items()}
                errors = [
                    distance({name: after[name] - before[name] for name in steps}, steps)
                    for _, after, _ in (low.run(*alone), low.run(mesh, micro))
                ]
                return f"{what}: {errors[1]:.1e} of {errors[0]:.1e}", errors[1] <= 2 * errors[0]
            _, got, loss = run.run(mesh, micro)
        except RuntimeError as error:
            return f"{what}: {error}", False
        name, error = difference(got, want)
        lossError = abs(loss - own) / max(1.0, abs(own))
        # The loss is f32.
        isRight = error <= TOLERANCE and lossError <= 1e-6
        return f"{what}: {name} {error:.1e}, loss {lossError:.1e}", isRight


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=Path, required=True)
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--model", action="append")
    parser.add_argument("--mesh", action="append")
    parser.add_argument("--low", action="store_true")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--row", type=json.loads, help="choices instead of those of the array, as JSON")
    options = parser.parse_args()
    models = options.model or list(MODELS)
    meshes = [tuple(map(int, m.split("x"))) for m in options.mesh or []] or MESHES
    tasks = []
    for number, model in enumerate(models):
        rows = (
            [{name: values[0] for name, values in CHOICES.items()} | options.row]
            if options.row
            else covering_rows(number)
        )
        if options.small:
            meshes, rows = [(1, 1, 2), (2, 1, 2), (1, 2, 2)], rows[:3]
        for i in range(len(meshes) if options.row else max(len(meshes), len(rows))):
            tasks.append((model, meshes[i % len(meshes)], rows[i % len(rows)]))
    failed = 0
    with ThreadPoolExecutor(options.jobs) as pool:
        for line, isRight in pool.map(lambda task: check(options.bin.resolve(), *task, options.low), tasks):
            print(("" if isRight else "FAILED ") + line, flush=True)
            failed += not isRight
    print(f"{len(tasks)} meshes, {failed} failed")
    sys.exit(failed != 0)


if __name__ == "__main__":
    main()
