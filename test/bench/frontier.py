# SPDX-License-Identifier: Apache-2.0
"""Step time against memory: a model's trainers under falling budgets, alternating in one run.

A machine's speed may change within a run: before and after each trainer the one without a budget runs, and a figure
is the median of ratios to the mean of the two; so for PyTorch. Checks that the planned peak never rises when the
budget falls and that the losses stay the same bits. With --peer, PyTorch's eager mode and its checkpoint of each block
run in the same rounds; their memory is what autograd saves, ours is the arena's activations at the peak. With --json,
a run adds its rounds to those that the file holds of the same trainers: slow models can be timed in parts. Needs
numpy; PyTorch for --peer and to export; matplotlib for --plot. INGOT_TORCH_PYTHON names the Python with PyTorch, as
for tools/bench.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import time

import bench

MIB = 2**20


class Frontier(bench.Bench):
    def command(self, *flags):
        return [
            os.path.join(self.options.bin, "ingotc"),
            self.path(self.options.model + ".onnx"),
            "--loss",
            "cross-entropy",
            "--weights",
            "none",
            *flags,
        ]

    def smallest(self, output):
        result = subprocess.run(self.command("-o", output, "--memory-budget", "1"), capture_output=True, text=True)
        found = re.search(r"smallest possible is (\d+) bytes", result.stderr)
        return found[1] if found else bench.fail("frontier", result.stderr.strip(), "run ingotc by hand")

    def build(self, budget):
        output = self.path(f"{self.options.model}-budget-{len(self.points)}")
        if budget == "smallest":
            budget = self.smallest(output)
        flags = ["--memory-budget", budget] if budget else []
        start = time.perf_counter()
        bench.run(self.command("-o", output, *flags))
        seconds = time.perf_counter() - start
        plan = json.loads(bench.run([output, "--inspect=json"])[0])
        self.points.append(
            {
                "trainer": output,
                "peak_bytes": plan["peak_bytes"],
                "compile_s": seconds,
                "activation_bytes": plan["activation_bytes"],
                "step_ms": [],
                "ratio": [],
                "loss": [],
            }
        )

    def train_point(self, point):
        log = point["trainer"] + ".jsonl"
        bench.run(
            [
                point["trainer"],
                "--data",
                self.path(self.options.model + ".npz"),
                "--no-shuffle",
                "--steps",
                str(self.options.steps),
                "--log",
                log,
            ]
        )
        with open(log) as file:
            lines = [json.loads(line) for line in file]
        times = [line["step_ms"] for line in lines[1:]]
        point["step_ms"] += times
        losses = [line["loss"] for line in lines]
        if losses != self.points[0]["loss"] and self.points[0]["loss"]:
            bench.fail("frontier", f"other losses under a budget: {losses}", "report it")
        point["loss"] = losses
        return statistics.median(times)

    def peer_point(self, peers, mode):
        output, _ = bench.run(
            [
                self.options.python,
                os.path.abspath(__file__),
                "--peer-mode",
                mode,
                "--steps",
                str(self.options.steps),
                self.options.model,
            ]
        )
        timed = json.loads(output.splitlines()[-1])
        peer = peers.setdefault(mode, {"saved_bytes": timed["saved_bytes"], "step_ms": [], "ratio": []})
        peer["step_ms"] += timed["step_ms"]
        return statistics.median(timed["step_ms"])

    def build_all(self):
        self.export(self.options.model)
        for budget in ["", *self.options.budgets]:
            self.build(budget)
        peaks = [point["peak_bytes"] for point in self.points]
        if peaks != sorted(peaks, reverse=True):
            bench.fail("frontier", f"a smaller budget peaks higher: {peaks}", "report it")

    def measure(self):
        """The samples of all rounds, of earlier runs too."""
        record = self.options.json and os.path.exists(self.options.json) and json.load(open(self.options.json))
        key = {"model": self.options.model, "budgets": self.options.budgets}
        if record and any(record[name] != value for name, value in key.items()):
            bench.fail(self.options.json, "is of another model or of other budgets", "remove it, or name another file")
        result = record or {**key, "ingot": [], "peer": {}}
        self.points, peers = result["ingot"], result["peer"]
        if not record:
            self.build_all()
        for _ in range(self.options.rounds):
            before = self.train_point(self.points[0])
            for point in self.points[1:]:
                ms, after = self.train_point(point), self.train_point(self.points[0])
                point["ratio"].append(2 * ms / (before + after))
                before = after
            if self.options.peer:
                before, ms, after = (self.peer_point(peers, mode) for mode in ("eager", "checkpoint", "eager"))
                peers["checkpoint"]["ratio"].append(2 * ms / (before + after))
            bench.write_json(self.options.json, result)
        bench.write_json(self.options.json, result)
        return result


def summarize(result):
    """With medians in the place of samples."""

    def middle(point):
        return {
            **point,
            **{
                key: statistics.median(point[key] or [empty])
                for key, empty in (("step_ms", float("nan")), ("ratio", 1.0))
            },
        }

    return {
        **result,
        "ingot": [middle(point) for point in result["ingot"]],
        "peer": {mode: middle(point) for mode, point in result["peer"].items()},
    }


def time_peer(name, mode, steps):
    """One line of JSON: step times, and the bytes that autograd saves in a step."""
    import models
    import torch
    from torch.nn import functional
    from torch.utils.checkpoint import checkpoint

    torch.set_num_threads(len(os.sched_getaffinity(0)))
    model, x, labels = models.make(name)
    if mode == "checkpoint":
        for block in model.blocks:
            forward = block.forward
            block.forward = lambda x, forward=forward: checkpoint(forward, x, use_reentrant=False)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
    parameters = {p.untyped_storage().data_ptr() for p in model.parameters()}
    saved = {}

    def keep(tensor):
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in parameters:
            saved[storage.data_ptr()] = storage.nbytes()
        return tensor

    times = []
    for step in range(steps + 1):
        start = time.perf_counter()
        optimizer.zero_grad(set_to_none=True)
        # One step more, first, to count what is saved when the forward pass ends.
        hooks = torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor)
        with hooks if step == 0 else torch.enable_grad():
            y = model(x)
            loss = functional.cross_entropy(y.reshape(-1, y.shape[-1]), labels.reshape(-1))
        loss.backward()
        optimizer.step()
        times.append(1e3 * (time.perf_counter() - start))
    print(json.dumps({"step_ms": times[2:], "saved_bytes": sum(saved.values())}))


def plot(result, path):
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6, 4))
    series = {"Ingot (activations at the peak)": [(p["activation_bytes"], p["ratio"]) for p in result["ingot"]]}
    if result["peer"]:
        series["PyTorch, checkpoint per block (saved by autograd)"] = [
            (p["saved_bytes"], p["ratio"]) for p in result["peer"].values()
        ]
    for (label, points), marker in zip(series.items(), "os"):
        axes.plot([b / MIB for b, _ in points], [ratio for _, ratio in points], marker=marker, label=label)
    axes.set_xlabel("MiB")
    axes.set_ylabel("step time, of the one without a budget")
    axes.set_title(result["model"])
    axes.grid(alpha=0.3)
    axes.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=120)


def main():
    parser = bench.make_parser(__doc__)
    parser.add_argument("model", help="of models.py")
    parser.add_argument(
        "--budgets",
        nargs="*",
        default=["75%", "50%", "25%", "smallest"],
        help="of --memory-budget, falling; or smallest",
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--peer", action="store_true", help="time PyTorch as well")
    parser.add_argument("--plot", help="draw the frontier to this PNG file")
    parser.add_argument("--peer-mode", choices=["eager", "checkpoint"], help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.python = os.environ.get("INGOT_TORCH_PYTHON", sys.executable)
    if options.peer_mode:
        time_peer(options.model, options.peer_mode, options.steps)
        return
    result = summarize(Frontier(options).measure())
    print(f"{'':12} {'peak MiB':>9} {'activations':>12} {'step ms':>9} {'ratio':>6} {'compile s':>9}")
    for point in result["ingot"]:
        print(
            f"{'ingot':12} {point['peak_bytes'] / MIB:9.1f} {point['activation_bytes'] / MIB:12.1f} "
            f"{point['step_ms']:9.1f} {point['ratio']:6.3f} {point['compile_s']:9.2f}"
        )
    for mode, point in result["peer"].items():
        print(f"{mode:12} {'':9} {point['saved_bytes'] / MIB:12.1f} {point['step_ms']:9.1f} {point['ratio']:6.3f}")
    if options.plot:
        plot(result, options.plot)


if __name__ == "__main__":
    main()
