# SPDX-License-Identifier: Apache-2.0
"""Sections of check.py that measure steps beside PyTorch's. PyTorch's figures do not change: those of this GPU and this
version are kept in peers.json (docs/gpu), and measured where there are none."""

import json
import math
import os
import statistics

from runner import HERE, Skip, judge, section

# Dense peak rates in FLOP/s by name of the GPU and precision; NVIDIA's data sheets.
PEAKS = {
    "H200": {"bf16": 989e12, "fp16": 989e12, "fp32": 67e12, "fp8": 1979e12},
    "H100": {"bf16": 989e12, "fp16": 989e12, "fp32": 67e12, "fp8": 1979e12},
    "A100": {"bf16": 312e12, "fp16": 312e12, "fp32": 19.5e12},
}
# What steps have to reach: of the fastest of PyTorch's modes, of its eager mode, of the GPU's peak rate, and of
# PyTorch's peak memory at most.
BARS = {
    "gpt2:8x1024": {"ratio": 1.4, "mfu": 0.45, "memory": 0.8},
    "gpt2:16x1024": {"ratio": 1.15, "mfu": 0.49, "memory": 0.8},
    "gpt2-xl:8x1024": {"ratio": 1.25, "mfu": 0.52},
    "gpt2-xl:20x1024": {"mfu": 0.55},
    "mlp": {"eager_ratio": 5},
    "resnet50:256": {"ratio": 1.15, "memory": 0.95},
}


class Peers:
    """PyTorch's figures: rows of gpu, torch, model, precision, mode, ms and bytes."""

    def __init__(self, check):
        self.check = check
        path = os.path.join(HERE, "peers.json")
        with open(path) as file:
            self.rows = json.load(file) + check.measured_peers

    def find(self, model, precision, mode):
        """The figures of this GPU and this version; where there is no PyTorch, of the last version that was
        measured."""
        rows = [
            row
            for row in self.rows
            if (row["gpu"], row["model"], row["precision"], row["mode"]) == (self.check.gpu, model, precision, mode)
            and self.check.pytorch in (None, row["torch"])
        ]
        return rows[-1] if rows else None

    def measure(self, model, precision, mode, steps, timeout):
        if self.check.pytorch is None:
            raise Skip("no PyTorch, and none of its figures for this GPU")
        peer = self.check.torch(
            "time", model, mode, steps, "--device", "cuda", "--precision", precision, timeout=timeout
        )
        row = {
            "gpu": self.check.gpu,
            "torch": self.check.pytorch,
            "model": model,
            "precision": precision,
            "mode": mode,
            "ms": statistics.median(peer["step_ms"][5:]),
            "bytes": peer["peak_bytes"],
        }
        self.check.measured_peers.append(row)
        return row


def measure(check, trainer, modes, steps, timeout):
    """Our step beside PyTorch's."""
    row = {"trainer": trainer["name"]}
    if trainer["precision"] == "fp8":
        # PyTorch has no such mode of its own.
        modes = []
    plan, peers = check.inspect(trainer), Peers(check)
    ours = [line["step_ms"] for line in check.train(trainer, min(steps, check.plan["most_steps"]))][5:]
    check.kept.add_rows(
        "steps",
        [{"section": "steps", "variant": trainer["name"], "turn": 0, "step": i, "ms": ms} for i, ms in enumerate(ours)],
    )
    row["ingot_ms"] = statistics.median(ours)
    row["ingot_bytes"] = plan["peak_bytes"]
    found = {}
    for mode in modes:
        try:
            peer = None if check.options.peers else peers.find(trainer["model"], trainer["precision"], mode)
            found[mode] = peer or peers.measure(trainer["model"], trainer["precision"], mode, steps, timeout)
            row[mode + "_ms"], row[mode + "_bytes"] = found[mode]["ms"], found[mode]["bytes"]
            row["pytorch"] = found[mode]["torch"] + (", kept" if peer else "")
        except (RuntimeError, Skip) as error:
            row[mode + "_problem"] = str(error)[-200:]
    if found:
        row["ratio"] = min(peer["ms"] for peer in found.values()) / row["ingot_ms"]
    if "eager" in found:
        row["eager_ratio"] = found["eager"]["ms"] / row["ingot_ms"]
    if "compile" in found:
        row["memory"] = row["ingot_bytes"] / found["compile"]["bytes"]
    # Of matrices, as --plan-gpu counts: what loops compute is not what peak rates are of.
    counted = ("matmul", "convolution", "attention")
    flops = sum(kernel["flops"] for kernel in plan["kernels"] if kernel["kind"] in counted)
    row["tflops"] = flops / row["ingot_ms"] * 1e-9
    for name, peaks in PEAKS.items():
        if name in (check.gpu or ""):
            row["mfu"] = row["tflops"] * 1e12 / peaks[trainer["precision"]]
    shape = plan["inputs"][0]["shape"]
    row["samples_per_s"] = shape[0] / row["ingot_ms"] * 1e3
    if trainer["model"].startswith("gpt"):
        row["tokens_per_s"] = math.prod(shape) / row["ingot_ms"] * 1e3
    return row


def report_steps(rows, model):
    """What a section of steps returns: its rows, and the bars that they miss."""
    problems = []
    for row in rows:
        if row["trainer"].endswith("-fp8"):
            continue
        for name, bar in BARS.get(model, {}).items():
            bound = {"most": bar} if name == "memory" else {"least": bar}
            judge(problems, f"{row['trainer']}: {name}", row.get(name), **bound)
    return {"ok": bool(rows) and not problems, "rows": rows, "problems": problems}


def add_steps(name, models, title, seconds, least, steps=30, timeout=150):
    @section(title + ", beside PyTorch", seconds, least, name)
    def measured(check):
        rows, problems = [], []
        for model in models:
            for trainer in check.trainers(model):
                # In fp16 there are variants only.
                if trainer["precision"] == "fp16":
                    continue
                try:
                    row = measure(check, trainer, check.options.modes, steps, timeout)
                except (RuntimeError, Skip) as error:
                    problems.append(f"{trainer['name']}: {error}")
                    continue
                rows.append(row)
                problems += report_steps([row], model)["problems"]
        return {"ok": bool(rows) and not problems, "rows": rows, "problems": problems}


add_steps("gpt2", ["gpt2:8x1024"], "gpt2 124M at 8 x 1024", 120, 10)
add_steps("resnet50", ["resnet50:256"], "ResNet-50 at 256 x 224 x 224", 120, 12)
add_steps(
    "xl", ["gpt2-xl:8x1024", "gpt2-xl:20x1024"], "GPT-2 of 1.5 billion parameters", 200, 30, steps=12, timeout=180
)
add_steps("large", ["gpt2:16x1024"], "gpt2 124M at 16 x 1024", 100, 8)
for small in ("mlp", "gpt-mini", "resnet18"):
    add_steps("steps-" + small, [small], small, 60, 6, steps=50)
