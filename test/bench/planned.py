# SPDX-License-Identifier: Apache-2.0
"""Steps of two ranks over MPI, along data and along tensor, against what ingotc --plan says of them.

    planned.py --bin DIR [--rounds N] [--check]

What exchanges cost the cores that compute is fitted first: the time that a small model's step takes in addition with
two sizes of buckets gives the time of an exchange and the rate of bytes (docs/cluster.md). The calls of a larger model
take its step on one rank, while another one trains too. Nothing of its steps on two ranks is fitted. Ranks have one
thread each. --check fails if a prediction is off by more than 10 %. Needs mpirun, and a quiet machine.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "end-to-end"))
from shapes import language_model  # noqa: E402

SMALL = {"layers": 4, "hidden": 256, "heads": 4, "key_heads": 4, "inner": 1024, "tokens": 2048, "positions": 128}
LARGE = {"layers": 6, "hidden": 512, "heads": 8, "key_heads": 8, "inner": 2048, "tokens": 8192, "positions": 256}
BATCH = 4
MPI = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "2"]


class Bench:
    def __init__(self, options, folder):
        self.options, self.folder = options, Path(folder)

    def write(self, name, sizes):
        """A model with random weights, and its data."""
        random = np.random.default_rng(0)
        model = language_model(**sizes)
        for tensor in model.graph.initializer:
            values = random.standard_normal(tuple(tensor.dims), dtype=np.float32) * 0.02
            tensor.CopyFrom(numpy_helper.from_array(values, tensor.name))
        onnx.save(model, self.folder / f"{name}.onnx")
        shape = (8 * BATCH, sizes["positions"])
        np.savez(self.folder / f"{name}.npz", input_ids=random.integers(0, sizes["tokens"], shape),
                 labels=random.integers(0, sizes["tokens"], shape))  # fmt: skip

    def compile(self, name, *flags):
        return [str(self.options.bin / "ingotc"), str(self.folder / f"{name}.onnx"), "--loss", "cross-entropy",
                "--batch", str(BATCH), *flags]  # fmt: skip

    def plan(self, name, ranks, host, *flags):
        cluster = self.folder / "cluster.json"
        # Messages go through the memory of the machine: what they take, the cores take.
        cluster.write_text(json.dumps({"ranks": [ranks], "host": host, "levels": [
            {"latency_us": 0.001, "bandwidth_gbps": 1e6}]}))  # fmt: skip
        done = subprocess.run(self.compile(name, *flags, "--plan", str(cluster)), stdout=subprocess.PIPE, check=True)
        return json.loads(done.stdout)[0]

    def build(self, name, *flags):
        trainer = self.folder / f"trainer-{len(list(self.folder.iterdir()))}"
        subprocess.run([*self.compile(name, *flags), "-o", str(trainer)], check=True)
        return trainer

    def train(self, trainer, name, log):
        return [str(trainer), "--data", str(self.folder / f"{name}.npz"), "--no-shuffle",
                "--steps", str(self.options.steps), "--log", str(log)]  # fmt: skip

    def measure(self, trainer, name, is_alone):
        """The steps of two ranks, or of one beside another that trains by itself."""
        logs = [self.folder / f"log-{i}.jsonl" for i in range(2)]
        if is_alone:
            commands = [["env", "OMPI_COMM_WORLD_SIZE=1", *self.train(trainer, name, log)] for log in logs]
        else:
            commands, logs = [[*MPI, *self.train(trainer, name, logs[0])]], logs[:1]
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        running = [subprocess.Popen(c, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                   for c in commands]  # fmt: skip
        codes = [process.wait() for process in running]
        if any(codes):
            sys.exit(f"{commands[0]} failed")
        skip = self.options.steps // 4
        return statistics.median(json.loads(line)["step_ms"] for log in logs for line in log.open().readlines()[skip:])


def solve_host(bench):
    """The microseconds of an exchange and the Gbit/s of bytes, of two sizes of buckets."""
    one = bench.build("small", "--data-parallel")
    sizes = (0.25, 64)
    trainers = [bench.build("small", "--data-parallel", f"--bucket-mb={mb}") for mb in sizes]
    alone, together = [], [[], []]
    for _ in range(bench.options.rounds):
        alone.append(bench.measure(one, "small", True))
        for times, trainer in zip(together, trainers):
            times.append(bench.measure(trainer, "small", False))
    rows = []
    for mb in sizes:
        flags = ("--data-parallel", f"--bucket-mb={mb}")
        base = bench.plan("small", 2, {"exchange_us": 1e-3, "bandwidth_gbps": 1e6}, *flags)["host_ms"]
        counts = bench.plan("small", 2, {"exchange_us": 1000, "bandwidth_gbps": 1e6}, *flags)["host_ms"] - base
        gigabits = (bench.plan("small", 2, {"exchange_us": 1e-3, "bandwidth_gbps": 1}, *flags)["host_ms"] - base) / 1e3
        rows.append([counts, gigabits])
    added = [max(0.0, statistics.median(times) - statistics.median(alone)) for times in together]
    matrix = np.array(rows)
    exchange_ms, ms_per_gigabit = np.linalg.lstsq(matrix, np.array(added), rcond=None)[0]
    exchange_ms, ms_per_gigabit = max(exchange_ms, 1e-6), max(ms_per_gigabit, 1e-3)
    return {"exchange_us": exchange_ms * 1e3, "bandwidth_gbps": 1e3 / ms_per_gigabit}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=24)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    options.bin = options.bin.resolve()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(options, folder)
        bench.write("small", SMALL)
        bench.write("large", LARGE)
        host = solve_host(bench)
        print(
            f"an exchange takes {host['exchange_us']:.0f} us of a core, and bytes {host['bandwidth_gbps']:.1f} Gbit/s"
        )
        one = bench.build("large", "--data-parallel")
        meshes = {"data": ["--data-parallel"], "tensor": ["--mesh", "tensor=2"]}
        trainers = {axis: bench.build("large", *flags) for axis, flags in meshes.items()}
        alone, measured = [], {axis: [] for axis in meshes}
        for _ in range(options.rounds):
            alone.append(bench.measure(one, "large", True))
            for axis, trainer in trainers.items():
                measured[axis].append(bench.measure(trainer, "large", False))
        bound = bench.plan("large", 1, host, "--data-parallel")["compute_ms"]
        scale = statistics.median(alone) / bound
        print(f"one rank beside another: {statistics.median(alone):.1f} ms")
        worst = 0.0
        for axis, flags in meshes.items():
            plan = bench.plan("large", 2, host, *flags)
            predicted = scale * plan["compute_ms"] + plan["host_ms"] + plan["exposed_ms"]
            time = statistics.median(measured[axis])
            worst = max(worst, abs(predicted / time - 1))
            rounds = f"{min(measured[axis]):.1f} to {max(measured[axis]):.1f}"
            print(f"two ranks along {axis}: predicted {predicted:.1f} ms, measured {time:.1f} ms (rounds: {rounds}), "
                  f"{predicted / time - 1:+.1%}")  # fmt: skip
    sys.exit(1 if options.check and worst > 0.1 else 0)


if __name__ == "__main__":
    main()
