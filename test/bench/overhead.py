#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a run pays for being profiled, and for checkpoints.

  overhead.py profiler            steps of two small models with and without --profile, in turns
  overhead.py saves MODEL DATA    a model with a checkpoint every 50 steps, as in MODEL.onnx of models.py

Figures are medians over rounds; of saves, the mean of all steps against the median of those that no save is near.
Needs a quiet machine; saves go to the disk of --scratch.
"""

import json
import os
import pathlib
import statistics
import tempfile

import bench
import numpy as np
import onnx
import onnx.parser
from onnx import numpy_helper

EVERY = 50
MLP = """<ir_version: 9, opset_import: ["" : 20]>
mlp (float[N, INPUTS] x) => (float[N, 10] y) {
  h = MatMul(x, w1)
  r = Relu(h)
  y = MatMul(r, w2)
}"""


def write_mlp(folder, inputs, hidden):
    model, source = onnx.parser.parse_model(MLP.replace("INPUTS", str(inputs))), np.random.default_rng(3)
    for name, shape in {"w1": (inputs, hidden), "w2": (hidden, 10)}.items():
        array = (source.standard_normal(shape) * 0.05).astype(np.float32)
        model.graph.initializer.append(numpy_helper.from_array(array, name))
    onnx.save(model, folder / "model.onnx")
    np.savez(
        folder / "data.npz", x=source.standard_normal((1024, inputs)).astype(np.float32), labels=np.arange(1024) % 10
    )


def compile_model(options, model, trainer, *flags):
    command = [f"{options.bin}/ingotc", str(model), "-o", str(trainer), "--loss", "cross-entropy", *flags]
    bench.run([*command, "--optimizer", "adamw"])


def train(*command):
    """The lines of steps of the log."""
    with tempfile.NamedTemporaryFile(suffix=".jsonl") as log:
        bench.run([*map(str, command), "--log", log.name])
        return [row for row in map(json.loads, open(log.name)) if "step_ms" in row]


def bench_profiler(options, folder):
    for inputs, hidden, batch, steps in ((16, 16, 4, 60000), (256, 256, 64, 4000)):
        write_mlp(folder, inputs, hidden)
        trainer = folder / "trainer"
        compile_model(options, folder / "model.onnx", trainer, "--batch", str(batch))
        own = [trainer, "--data", folder / "data.npz", "--steps", steps, "--log-every", steps]
        times = {"plain": [], "profiled": []}
        for _ in range(options.rounds):
            for name, flags in (("plain", []), ("profiled", ["--profile", folder / "trace.json"])):
                times[name].append(train(*own, *flags)[-1]["elapsed_s"] / steps * 1e3)
        plain, profiled = (statistics.median(values) for values in times.values())
        ratios = [b / a - 1 for a, b in zip(times["plain"], times["profiled"])]
        print(f"step of {plain:.4f} ms, profiled {profiled:.4f}: {statistics.median(ratios):+.2%}"
              f" ({', '.join(f'{ratio:+.1%}' for ratio in ratios)})", flush=True)  # fmt: skip


def bench_saves(options, folder):
    """Steps with saves are those that a save begins before or goes on beside."""
    model, data = options.what[1:3]
    trainer, save = folder / "trainer", folder / "save"
    compile_model(options, model, trainer, *options.flags)
    rows = train(trainer, "--data", data, "--steps", options.steps, "--save", save, "--save-every", EVERY)
    ends = [row["elapsed_s"] * 1e3 for row in rows]
    steps = np.diff(ends)
    # Step i ends at ends[i]; a save follows that of each 50th.
    numbers = np.array([row["step"] for row in rows[1:]])
    begun = numbers > EVERY
    quiet = np.median(steps[(numbers - 1) % EVERY >= EVERY // 2])
    stalls = [
        ends[i] - ends[i - 1] - row["step_ms"] for i, row in enumerate(rows) if (row["step"] - 1) % EVERY == 0 and i
    ]
    cost = steps[begun].mean() / quiet - 1
    size = sum(path.stat().st_size for path in save.glob("step-*/*")) / len(list(save.glob("step-*")))
    near = [f"{steps[(numbers > EVERY) & ((numbers - 1) % EVERY == i)].mean():.0f}" for i in range(6)]
    print(f"{size / 2**20:.0f} MiB every {EVERY} steps of {quiet:.0f} ms: {cost:+.2%} time, stalls of"
          f" {', '.join(f'{stall:.0f}' for stall in stalls)} ms; steps after a save {', '.join(near)} ms")  # fmt: skip


def main():
    parser = bench.make_parser(__doc__)
    parser.add_argument("what", nargs="+", metavar="WHAT")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--steps", type=int, default=170, help="of saves")
    parser.add_argument("--flags", nargs="*", default=[], help="of ingotc, for saves")
    parser.add_argument("--scratch", default=os.path.join(bench.ROOT, "build"))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ingot-", dir=options.scratch) as folder:
        {"profiler": bench_profiler, "saves": bench_saves}[options.what[0]](options, pathlib.Path(folder))


if __name__ == "__main__":
    main()
