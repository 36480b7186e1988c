# SPDX-License-Identifier: Apache-2.0
"""What ranks exchange in a step: exchanges.py INGOTC [BEFORE.json] writes goldens-exchanges.json, or compares with it.

Of each model of the goldens and each way to exchange gradients: the number of exchanges of a step, their bytes, and the
exchanges' time, the time that the step waits for them, and the memory of a rank, of four simulated ranks.
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
TABLE = HERE / "goldens-exchanges.json"
CLUSTER = {"ranks": [4], "between": {"latency_us": 20, "bandwidth_gbps": 10}}
WAYS = {
    "data-parallel": [],
    "clip": ["--clip"],
    "accumulation": ["--grad-accumulation", "2"],
    "int8": ["--grad-comm", "int8"],
    "zero-1": ["--zero", "1"],
    "zero-2": ["--zero", "2"],
    "zero-2-clip": ["--zero", "2", "--clip"],
    "zero-2-bf16": ["--zero", "2", "--precision", "bf16"],
}
FIGURES = ("exchanges", "bytes", "exchange_ms", "exposed_ms", "memory_bytes")


def flags_of(model, way):
    record = json.loads((HERE / "goldens" / model / "golden.json").read_text())
    loss = ["--loss", record["loss"]] if record["loss"] else []
    return [HERE / "goldens" / model / "model.onnx", *loss, "--optimizer", "adamw", "--batch", record["batch"] // 4,
            "--data-parallel", "--bucket-mb", "0.01", "--arch", "x86-64-v3", *WAYS[way]]  # fmt: skip


def count(text):
    """The exchanges that a placed step starts, and their bytes."""
    step = text[text.index("@train_step") :]
    starts = re.findall(r"@ingot_\w+_start\(\w+ = %\d+\) <elements = (\d+).*?: memref<\d+x(\w+)", step)
    return len(starts), sum(int(n) * {"f32": 4, "f64": 8, "bf16": 2, "f16": 2}[kind] for n, kind in starts)


def measure(run, ingotc, folder, model, way):
    """The figures of one model; `run` runs a command and returns its output."""
    folder = pathlib.Path(folder)
    (folder / "cluster.json").write_text(json.dumps(CLUSTER))
    flags = flags_of(model, way)
    plan = json.loads(run([ingotc, *flags, "--plan", folder / "cluster.json"]))[0]
    run([ingotc, *flags, "--emit", "exec", "-o", folder / "step.mlir"])
    times = [round(plan[name], 6) for name in ("exchange_ms", "exposed_ms")]
    return [*count((folder / "step.mlir").read_text()), *times, plan["memory_bytes"]]


def main():
    def run(command):
        return subprocess.run([str(word) for word in command], capture_output=True, text=True, check=True).stdout

    models = sorted(path.name for path in (HERE / "goldens").iterdir())
    table = {}
    with tempfile.TemporaryDirectory() as folder:
        for model in models:
            for way in WAYS:
                table[f"{model} {way}"] = measure(run, sys.argv[1], folder, model, way)
    if len(sys.argv) < 3:
        rows = ",\n".join(f" {json.dumps(name)}: {json.dumps(row)}" for name, row in table.items())
        TABLE.write_text(f"{{\n{rows}\n}}\n")
        return
    before = json.loads(pathlib.Path(sys.argv[2]).read_text())
    print("| step | " + " | ".join(f"{name}, before | after" for name in FIGURES) + " |")
    print("|---|" + "---|" * (2 * len(FIGURES)))
    for name, row in table.items():
        cells = [str(value) for pair in zip(before[name], row, strict=True) for value in pair]
        print(f"| {name} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
