#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a run pays for being profiled, and for checkpoints.

  overhead.py profiler            steps of two small models with and without --profile, in turns
  overhead.py saves MODEL DATA    a model with a checkpoint every 50 steps, as in MODEL.onnx of models.py

Figures are medians over rounds; of saves, what the steps after one take more than the median of those that no save is
near, in the mean of all saves. Steps beside which other processes took more than 3% of the machine are left out, and
counted. Needs a quiet machine all the same; saves go to the disk of --scratch.
"""

import json
import os
import pathlib
import statistics
import subprocess
import tempfile
import time

import bench
import numpy as np
import onnx
import onnx.parser
from onnx import numpy_helper

EVERY = 50
# The part of the machine that other processes may take beside a step.
MOST_OTHERS = 0.03
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


def read_processors(process):
    """Seconds of all processors since the machine started, and what of it other processes than this one took."""
    tick = os.sysconf("SC_CLK_TCK")
    times = [int(word) / tick for word in open("/proc/stat").readline().split()[1:9]]
    own = [int(word) / tick for word in open(f"/proc/{process}/stat").read().rpartition(")")[2].split()[11:13]]
    # The fourth and fifth are idle.
    return sum(times), sum(times) - sum(times[3:5]) - sum(own)


def train_watched(command):
    """The lines of steps, each with the part of the machine that others took beside it."""
    with tempfile.NamedTemporaryFile(suffix=".jsonl") as log:
        samples = []
        with subprocess.Popen([*map(str, command), "--log", log.name], stderr=subprocess.DEVNULL) as process:
            while process.poll() is None:
                # A process that has ended is still there until it is waited for.
                samples.append((time.time(), *read_processors(process.pid)))
                time.sleep(0.1)
        if process.returncode != 0:
            raise SystemExit(f"{command} ended with {process.returncode}")
        ended = os.stat(log.name).st_mtime
        rows = [row for row in map(json.loads, open(log.name)) if "step_ms" in row]
    times, everything, others = np.array(samples).T
    for row in rows:
        # The log's last line was written when the last step had ended.
        end = ended - rows[-1]["elapsed_s"] + row["elapsed_s"]
        around = np.array([end - row["step_ms"] / 1e3, end])
        passed, taken = (np.diff(np.interp(around, times, values))[0] for values in (everything, others))
        row["others"] = taken / max(passed, 1e-9)
    return rows


def bench_saves(options, folder):
    model, data = options.what[1:3]
    trainer, save = folder / "trainer", folder / "save"
    compile_model(options, model, trainer, *options.flags)
    rows = train_watched([trainer, "--data", data, "--steps", options.steps, "--save", save, "--save-every", EVERY])
    ends = np.array([row["elapsed_s"] * 1e3 for row in rows])
    # From the end of a step to that of the next; a save begins between them after each 50th.
    steps, rows = np.diff(ends), rows[1:]
    after = np.array([(row["step"] - 1) % EVERY if row["step"] > EVERY else -1 for row in rows])
    is_quiet = np.array([row["others"] <= MOST_OTHERS for row in rows])
    far = np.median(steps[is_quiet & (after >= EVERY // 2)])
    means = [steps[is_quiet & (after == i)].mean() for i in range(EVERY // 2) if (is_quiet & (after == i)).any()]
    cost = sum(mean - far for mean in means) / (EVERY * far)
    whole = steps[after >= 0].mean() / far - 1
    stalls = [step - row["step_ms"] for step, row, i in zip(steps, rows, after) if i == 0]
    size = sum(path.stat().st_size for path in save.glob("step-*/*")) / len(list(save.glob("step-*")))
    near = [f"{mean:.0f}" for mean in means[:6]]
    print(f"{size / 2**20:.0f} MiB every {EVERY} steps of {far:.0f} ms: {cost:+.2%} time, stalls of"
          f" {', '.join(f'{stall:.0f}' for stall in stalls)} ms; steps after a save {', '.join(near)} ms;"
          f" {(~is_quiet).sum()} of {len(steps)} steps left out, {whole:+.2%} with them")  # fmt: skip


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
