# SPDX-License-Identifier: Apache-2.0
"""Predicted timelines of steps on GPUs (docs/design/gpu/model.md)."""

import json
import re

from harness import ROOT, case, check, golden

MACHINES = ROOT / "passes/targets/cuda/machines"


def plan(ingot, name, machine, *flags):
    """The nodes (start, time, kind, limit) in microseconds, and the step in milliseconds."""
    model = golden(name)
    command = ingot.ingotc(model.model, *model.compile_flags("adamw"), "--target", "cuda", "--plan-gpu", machine)
    text = ingot.succeed([*command, *flags]).out
    nodes = re.findall(r"^ *([\d.]+) +([\d.]+) [ +] (\w+) +(launch|compute|memory|cache|latency) ", text, re.M)
    step = float(re.search(r"step on \S+: ([\d.]+) ms", text)[1])
    return [(float(start), float(time), kind, limit) for start, time, kind, limit in nodes], step, text


@case("cuda plans for GPUs are timelines of every node")
def timelines(ingot):
    nodes, step, text = plan(ingot, "cnn", "h100", "--precision", "bf16")
    kinds = {kind for _, _, kind, _ in nodes}
    check({"loop", "convolution", "matmul"} <= kinds, f"kinds {kinds}")
    check(all(abs(a + t - b) < 0.2 for (a, t, *_), (b, *_) in zip(nodes, nodes[1:])), "nodes leave gaps")
    check(abs(sum(time for _, time, *_ in nodes) * 1e-3 - step) < 0.01 * step + 0.01, f"{step} ms")
    check("samples/s" in text and "(MFU)" in text and "bytes planned" in text, text[-300:])
    # As many nodes as the plan of the trainer has calls, and those that finish sums.
    model = golden("cnn")
    command = ingot.ingotc(model.model, *model.compile_flags("adamw"), "--target", "cuda", "--precision", "bf16")
    steps = ingot.path("steps.mlir")
    ingot.succeed([*command, "--emit", "exec", "-o", steps])
    calls = steps.read_text().split("exec.step @train_step")[1].split("exec.step @")[0]
    count = len(re.findall(r"exec\.(?:launch|call|matmul_epilogue) ", calls))
    check(count <= len(nodes) <= 2 * count, f"{len(nodes)} nodes of {count} calls")
    # Slower memory takes longer, and a file says the same as a name.
    slow, same = ingot.path("slow.json"), ingot.path("same.json")
    figures = json.loads((MACHINES / "h100.json").read_text())
    same.write_text(json.dumps(figures))
    slow.write_text(json.dumps({**figures, "launch_seconds": 1e-3}))
    check(plan(ingot, "cnn", same, "--precision", "bf16")[1] == step, "another step by the same file")
    check(plan(ingot, "cnn", slow, "--precision", "bf16")[1] > 0.9 * len(nodes), "launches take no time")


@case("cuda plans for GPUs are those of sums in any order where asked")
def nondeterministic(ingot):
    example = ROOT / "docs/examples/bytes/bytes.onnx"
    command = ingot.ingotc(example, "--loss", "cross-entropy", "--batch", "64", "--precision", "bf16")
    seconds = {}
    for flags in [], ["--nondeterministic"]:
        text = ingot.succeed([*command, "--target", "cuda", "--plan-gpu", "h100", *flags]).out
        times = re.findall(r"([\d.]+) [ +] attention ", text)
        seconds[len(flags)] = sum(map(float, times))
    check(seconds[1] < seconds[0], f"{seconds} us of attention")
    ingot.check_error([*command, "--nondeterministic", "-o", ingot.path("t")], 2, "--nondeterministic")


@case("cuda plans for GPUs refuse what they cannot predict")
def refusals(ingot):
    mlp = golden("mlp")
    command = ingot.ingotc(mlp.model, *mlp.compile_flags("sgd"))
    ingot.check_error([*command, "--plan-gpu", "h100"], 2, "--plan-gpu")
    ingot.check_error([*command, "--target", "cuda", "--plan-gpu", "no-such-gpu"], 3, "no-such-gpu", "cannot read")
    ingot.check_error([*command, "--target", "cuda", "--plan-gpu", "h100", "-o", ingot.path("t")], 2, "--plan-gpu")


@case("cuda GPUs' figures have sources")
def sources(ingot):
    for path in sorted(MACHINES.glob("*.json")):
        figures = json.loads(path.read_text())
        missing = {name for name in figures if name != "sources"} - set(figures["sources"])
        # Of f16 and convolutions in other types, the field of bf16 or the matmul says it.
        missing -= {"matmul_f16", "attention_f16", "convolution_f16", "convolution_f32", "convolution_f64"}
        missing -= {"multiplies_bf16", "multiplies_f16"}
        check(not missing, f"{path.name}: no source of {sorted(missing)}")
