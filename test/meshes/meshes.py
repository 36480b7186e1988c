#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares steps of SGD with a rate of 1 on meshes of simulated ranks with those of one rank, in f64.

    meshes.py --bin DIR [--small] [--model NAME]... [--mesh DATAxTENSOR]... [--row JSON] [--jobs N]

Ranks have different data, so that the new parameters tell the gradients of all of it. Each mesh takes the next rows of
a covering array of options: every pair of choices is there for every model. `--small` takes a few meshes and rows.
"""

import argparse
import itertools
import json
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from models import MODELS, V, build

BATCH = 16
MESHES = [
    (data, tensor) for data in range(1, 9) for tensor in range(1, 9) if 1 < data * tensor <= 8 and BATCH % data == 0
]
CHOICES = {
    "rows": ("always", "never"),
    "optimizer": ("sgd", "lamb"),
    "clip": (False, True),
    "scaling": (False, True),
    "dropout": (0.0, 0.25),
    "masked": (False, True),
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


class Run:
    def __init__(self, binaries, folder, model, row):
        self.binaries, self.folder, self.model, self.row = binaries, folder, model, row

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
            size = [BATCH, *shape]
            # Two tokens are outside of the table.
            arrays[name] = random.integers(-1, classes + 1, size) if classes else random.normal(size=size)
        rows, classes = m.outputs[0][0].shape[0] // m.batch, m.outputs[0][0].shape[1]
        labels = random.integers(0, classes, (BATCH, rows))
        labels[3, : (rows + 1) // 2] = -100
        if self.row["masked"]:
            labels[: BATCH // 2] = -100
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

    def compile(self, data, tensor):
        row = self.row
        m = build(self.model, BATCH // data, row["dropout"])
        stem = self.folder / f"{data}x{tensor}"
        source, step = stem.with_suffix(".mlir"), stem.with_suffix(".step.mlir")
        source.write_text(m.text())
        options = [f"loss=cross-entropy optimizer={row['optimizer']}"]
        if row["clip"]:
            options.append("clip")
        if row["scaling"]:
            options.append("loss-scaling")
        options.append("data-parallel bucket-mb=0.01 sync-batch-norm")
        if tensor > 1:
            options.append(f"mesh=tensor={tensor} split-rows={row['rows']}")
            rules = PINS[self.model](tensor)
            if rules:
                options.append("partition=" + ",".join(rules))
        self.call("ingot-opt", source, f"--ingot-standard={' '.join(options)}", "-o", step)
        return m, step

    def run(self, data, tensor):
        """The parameters after a step, and its loss."""
        m, step = self.compile(data, tensor)
        states = self.states(m)
        hyper = re.findall(r'ingot\.kind = "hyper", ingot\.name = "([^"]*)"', step.read_text())
        stem = self.folder / f"{data}x{tensor}"
        paths = {name: stem.with_suffix(f".{name}.npz") for name in ("inputs", "states", "outputs", "state-out")}
        np.savez(paths["states"], **states)
        np.savez(paths["inputs"], **self.data(m), **{name: HYPER[name] for name in hyper if name in HYPER})
        files = [word for name, path in paths.items() for word in (f"--{name}", path)]
        ranks = ["--ranks", data * tensor] if data * tensor > 1 else []
        self.call("ingot-eval", step, "--function", "train_step", *files, *ranks)
        with np.load(paths["state-out"]) as after, np.load(paths["outputs"]) as outputs:
            return {name: after[name] for name in states}, float(outputs["loss"])


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


def check(binaries, model, mesh, row):
    """Returns a line about a mesh, and whether it is right."""
    data, tensor = mesh
    with tempfile.TemporaryDirectory() as folder:
        run = Run(binaries, Path(folder), model, row)
        what = f"{model} {data}x{tensor} " + json.dumps(row)
        # Ranks along data draw numbers of their own.
        alone = (data, 1) if row["dropout"] else (1, 1)
        try:
            want, own = run.run(*alone)
            got, loss = run.run(data, tensor)
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
            meshes, rows = [(1, 2), (2, 2)], rows[:2]
        for i in range(len(meshes) if options.row else max(len(meshes), len(rows))):
            tasks.append((model, meshes[i % len(meshes)], rows[i % len(rows)]))
    failed = 0
    with ThreadPoolExecutor(options.jobs) as pool:
        for line, isRight in pool.map(lambda task: check(options.bin.resolve(), *task), tasks):
            print(("" if isRight else "FAILED ") + line, flush=True)
            failed += not isRight
    print(f"{len(tasks)} meshes, {failed} failed")
    sys.exit(failed != 0)


if __name__ == "__main__":
    main()
