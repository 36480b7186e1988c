# SPDX-License-Identifier: Apache-2.0
"""Published steps of other systems against what ingotc --auto says of the same layout.

plans.py INGOTC [--source NAME] prints a table of rates and memory, then the errors. The plan is that of Ingot's
step; peers' rows test it where their kernels are comparable: dense models, compiled or fused, in 16 or 8 bits, and
divided along data and tensor only. Of each source at most three figures of its machine are fitted, to rows that do not
count then. Pairs of rows are compared within one source and release.

The exit status is 0 if the rows that count are met: a mean error of 12 %, none above 30 %, 95 % of pairs that are more
than 10 % apart in the right order, and memory within 10 % where it is published.
"""

import argparse
import dataclasses
import itertools
import json
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "end-to-end"))
from shapes import SIZES, write_language_model  # noqa: E402

GIB = 2**30
MACHINES = pathlib.Path(__file__).resolve().parents[2] / "passes/targets/cuda/machines"
ROW = re.compile(
    r"^ *1  data=(\d+) tensor=(\d+) zero=(\d) batch=(\d+)x(\d+).*? +([\d.]+) +([\d.]+|-) +(-?[\d.]+|-)"
    r" +([\d.]+) +([\d.]+) +([\d.]+)$",
    re.M,
)


@dataclasses.dataclass
class Row:
    name: str
    release: str
    size: dict
    ranks: int
    tensor: int
    zero: int
    # The samples of a micro-batch; None where the source does not say, which leaves them to the planner.
    batch: int | None
    precision: str
    rate: float  # tokens a second and rank
    memory: float = 0  # GiB
    positions: int = 8192
    micro: int = 1
    # How much of the activations is kept, in percent; None where it is fitted, or all are.
    kept: int | None = None
    is_fitted: bool = False


@dataclasses.dataclass
class Source:
    name: str
    machine: str
    # Of the machine: bytes a second of a rank's link inside and between nodes, in 1e9 bits a second.
    inside: float
    between: float
    # Shares of figures of the machine's file: those that are fitted, at most three with what is kept of activations,
    # and those of its data sheet.
    fitted: dict
    given: dict
    rows: list = dataclasses.field(default_factory=list)


def gpt(layers, hidden, heads, tokens=131072):
    return {"layers": layers, "hidden": hidden, "heads": heads, "key_heads": heads, "inner": 4 * hidden,
            "tokens": tokens, "gated": False}  # fmt: skip


def tokens_of(teraflops, size, positions):
    """Tokens a second of a rank, from the operations that Megatron's table counts: six for each weight that is
    multiplied, with the head, and attention whole."""
    hidden, layers = size["hidden"], size["layers"]
    weights = layers * (4 * hidden**2 + 2 * hidden * size["inner"]) + size["tokens"] * hidden
    return teraflops * 1e12 / (6 * weights + 12 * layers * positions * hidden)


# Full activation checkpointing keeps the inputs of layers. What is kept with selective checkpointing is fitted to the
# memory of a source's fitted rows.
NONE = 1

SOURCES = [
    Source("torchtitan H100 500 W", "h100", 2800, 360,
           {"sustained_share": 0.72, "matmul_f8": 0.95, "kept": 62}, {"memory_bandwidth": 0.72},
           [
               Row("8B 8 bf16", "2024-12", SIZES["8b"], 8, 1, 3, 2, "bf16", 6667, 77.0, is_fitted=True),
               Row("8B 8 fp8", "2024-12", SIZES["8b"], 8, 1, 3, 2, "fp8", 8532, 76.8, is_fitted=True),
               Row("8B 128 bf16", "2024-12", SIZES["8b"], 128, 1, 3, 2, "bf16", 6514, 62.0),
               Row("8B 128 fp8", "2024-12", SIZES["8b"], 128, 1, 3, 2, "fp8", 8380, 61.8),
               Row("8B 8 fp8 32K", "2024-12", SIZES["8b"], 8, 1, 3, 1, "fp8", 3890, 83.9, positions=32768, kept=NONE),
               Row("70B 256 t8 fp8", "2024-12", SIZES["70b"], 256, 8, 3, 16, "fp8", 829, 71.9, kept=NONE),
               Row("8B 64 t8 bf16", "2025-06", SIZES["8b"], 64, 8, 3, 12, "bf16", 4378),
               Row("8B 64 t8 fp8", "2025-06", SIZES["8b"], 64, 8, 3, 12, "fp8", 5078),
               Row("70B 256 t8 bf16", "2025-06", SIZES["70b"], 256, 8, 3, 16, "bf16", 597, kept=NONE),
               Row("70B 256 t8 fp8", "2025-06", SIZES["70b"], 256, 8, 3, 16, "fp8", 810, kept=NONE),
           ]),
    Source("torchtitan H200", "h200", 2800, 360, {"sustained_share": 0.89, "kept": 41}, {},
           [
               Row("8B 32 fp8", "2025-06", SIZES["8b"], 32, 1, 3, 2, "fp8", 10938, 47.96, is_fitted=True),
               Row("8B 64 fp8", "2025-06", SIZES["8b"], 64, 1, 3, 2, "fp8", 10753, 46.97),
           ]),
    Source("Megatron-Bridge", "h100", 2800, 360, {}, {},
           [Row("8B 8 fp8", "26.02", SIZES["8b"], 8, 1, 3, 2, "fp8", 14451, kept=90)]),
    Source("Megatron-LM README", "h100", 2800, 360, {"sustained_share": 0.77}, {},
           [
               Row(f"{name} {ranks} t{tensor}", "d98e8a6", size, ranks, tensor, 1, None, "bf16",
                   tokens_of(flops, size, 4096), positions=4096, micro=4, is_fitted=name == "1.7B")
               for name, size, ranks, tensor, flops in (
                   ("1.7B", gpt(24, 2304, 24), 48, 1, 408.8),
                   ("7.1B", gpt(30, 4096, 32), 96, 2, 465.9),
                   ("16B", gpt(32, 6144, 48), 192, 4, 489.1),
                   ("32B", gpt(48, 7168, 56), 384, 8, 459.6),
               )
           ]),
]  # fmt: skip


def write_machine(source, folder):
    """The machine's file with the source's figures."""
    figures = json.loads((MACHINES / f"{source.machine}.json").read_text())
    for name, share in {**source.fitted, **source.given}.items():
        if name in figures:
            figures[name] *= share
    figures["link_bandwidth"] = source.inside * 1e9 / 8
    path = folder / f"{source.machine}.json"
    path.write_text(json.dumps(figures))
    return path


def plan(ingotc, source, row, folder):
    """What Ingot says: tokens a second of a rank, GiB, and how long the answer took."""
    model = write_language_model(folder / "model.onnx", **row.size, positions=row.positions)
    cluster = folder / "cluster.json"
    cluster.write_text(json.dumps({
        "ranks": [row.ranks], "memory_gb": 1000 if row.batch else 80, "levels": [
            {"ranks": 8, "latency_us": 5, "bandwidth_gbps": source.inside},
            {"latency_us": 15, "bandwidth_gbps": source.between}]}))  # fmt: skip
    samples = row.ranks // row.tensor * (row.batch or 1) * row.micro
    batch = ["--batch", row.batch] if row.batch else []
    kept = ["--memory-budget", f"at-least:{row.kept or source.fitted.get('kept', 100)}%"] if row.batch else []
    mesh = ["--mesh", f"tensor={row.tensor}"] if row.tensor > 1 else ["--data-parallel"]
    begin = time.monotonic()
    command = [
        ingotc, model, "--weights", "none", "--loss", "cross-entropy", "--target", "cuda", "--precision", row.precision,
        "--machine", write_machine(source, folder), "--plan", cluster, "--auto", "--global-batch", samples,
        *batch, "--zero", row.zero, *mesh, *kept,
    ]  # fmt: skip
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    found = ROW.search(done.stdout)
    if not found:
        return None, (done.stderr or done.stdout).strip().splitlines()[-2:]
    step = float(found[7] if found[7] != "-" else found[6]) / 1e3
    rate = samples * row.positions / row.ranks / step
    return (rate, float(found[9]) * 1e9 / GIB, float(found[6]) / 1e3 / step - 1, time.monotonic() - begin), None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("ingotc", type=pathlib.Path)
    parser.add_argument("--source", help="the only one")
    options = parser.parse_args()
    counted, pairs, memories = [], [], []
    print(f"{'source':22} {'row':18} {'published':>9} {'planned':>9} {'error %':>8} {'GiB':>6} {'planned':>8} "
          f"{'gap %':>6} {'s':>5}")  # fmt: skip
    for source in SOURCES:
        if options.source and options.source != source.name:
            continue
        rows = []
        for row in source.rows:
            with tempfile.TemporaryDirectory() as folder:
                got, problem = plan(options.ingotc, source, row, pathlib.Path(folder))
            if problem:
                print(f"{source.name:22} {row.name:18} cannot be planned: {' '.join(problem)}")
                continue
            rate, memory, gap, seconds = got
            error = rate / row.rate - 1
            mark = " fitted" if row.is_fitted else ""
            print(f"{source.name:22} {row.name:18} {row.rate:9.0f} {rate:9.0f} {error:8.1%} {row.memory or '-':>6} "
                  f"{memory:8.1f} {gap:6.1%} {seconds:5.1f}{mark}", flush=True)  # fmt: skip
            rows.append((row, rate))
            if not row.is_fitted:
                counted.append(abs(error))
                if row.memory:
                    memories.append(abs(memory / row.memory - 1))
        for (a, ours_a), (b, ours_b) in itertools.combinations(rows, 2):
            if a.release == b.release and max(a.rate, b.rate) > 1.1 * min(a.rate, b.rate):
                pairs.append((a.rate < b.rate) == (ours_a < ours_b))
    if not counted:
        sys.exit("no row could be planned")
    mean, worst = statistics.mean(counted), max(counted)
    order = sum(pairs) / len(pairs) if pairs else 1.0
    memory = max(memories, default=0.0)
    print(f"{len(counted)} rows: mean error {mean:.1%} (12 %), worst {worst:.1%} (30 %); {sum(pairs)} of {len(pairs)} "
          f"pairs in order (95 %); memory within {memory:.1%} (10 %)")  # fmt: skip
    sys.exit(0 if mean <= 0.12 and worst <= 0.3 and order >= 0.95 and memory <= 0.1 else 1)


if __name__ == "__main__":
    main()
