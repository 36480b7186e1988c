#!/usr/bin/env python3
"""Checks trainers on this machine's GPU: check.py [--out FOLDER] [--only SECTION...]

Writes report.json and report.md to FOLDER after every section. What an earlier run finished is not done again
(--again does); what there was no time or no tool for says so. Needs a driver, CUDA 13's libraries, and for the
comparison a Python with PyTorch (INGOT_TORCH_PYTHON, or this one).
"""

import argparse
import glob
import json
import math
import os
import shutil
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
# Dense peak rates in FLOP/s by name of the GPU and precision; NVIDIA's data sheets.
PEAKS = {
    "H200": {"bf16": 989e12, "fp16": 989e12, "fp32": 67e12},
    "H100": {"bf16": 989e12, "fp16": 989e12, "fp32": 67e12},
    "A100": {"bf16": 312e12, "fp16": 312e12, "fp32": 19.5e12},
}
# Relative to the processor's trainer over the first steps.
LOSS_TOLERANCE = {"fp32": 1e-3, "bf16": 2e-2, "fp16": 2e-2}
SECTIONS = {}


def section(title, seconds):
    """Registers a section; `seconds` is what it takes at most."""

    def register(function):
        SECTIONS[function.__name__] = (title, seconds, function)
        return function

    return register


class Skip(Exception):
    pass


class Check:
    def __init__(self, options):
        self.options = options
        self.deadline = time.monotonic() + options.limit
        self.plan = json.load(open(os.path.join(HERE, "plan.json")))
        self.python = os.environ.get("INGOT_TORCH_PYTHON", sys.executable)
        self.gpu = None

    def run(self, *command, timeout=120, check=True, env=None):
        command = [str(word) for word in command]
        timeout = max(1, min(timeout, self.deadline - time.monotonic()))
        try:
            done = subprocess.run(command, text=True, capture_output=True, timeout=timeout, errors="replace",
                                  env={**os.environ, **(env or {})})
        except subprocess.TimeoutExpired:
            raise Skip(f"{os.path.basename(command[0])}: no end after {timeout:.0f} s") from None
        if check and done.returncode != 0:
            raise RuntimeError(f"{' '.join(command[:3])}: exit {done.returncode}: {done.stderr.strip()[-400:]}")
        return done

    def train(self, trainer, steps, *flags, env=None):
        """The log of a run."""
        log = os.path.join(self.options.out, "log.jsonl")
        self.run(os.path.join(HERE, trainer["name"]), "--data", os.path.join(HERE, trainer["data"]), "--no-shuffle",
                 "--steps", steps, "--log", log, *flags, env=env)
        return [json.loads(line) for line in open(log)]

    def inspect(self, trainer):
        return json.loads(self.run(os.path.join(HERE, trainer["name"]), "--inspect=json").stdout)

    def trainers(self, *models):
        return [t for t in self.plan["trainers"] if not models or t["model"] in models]

    def peer(self, model, mode, steps, precision, timeout):
        done = self.run(self.python, os.path.join(HERE, "models.py"), "time", model, mode, steps, "--device", "cuda",
                        "--precision", precision, timeout=timeout)
        return json.loads(done.stdout.splitlines()[-1])


@section("Machine", 30)
def machine(check):
    if not shutil.which("nvidia-smi"):
        raise Skip("no nvidia-smi on this machine")
    query = check.run("nvidia-smi", "--query-gpu=name,driver_version,memory.total,clocks.max.sm", "--format=csv,noheader")
    name, driver, memory, clock = query.stdout.splitlines()[0].split(", ")
    result = {"gpu": name, "driver": driver, "memory": memory, "clock": clock}
    torch = check.run(check.python, "-c", "import torch; print(torch.__version__, torch.version.cuda)", check=False)
    result["pytorch"] = torch.stdout.strip() or "none"
    return {"ok": True, "figures": result}


@section("Every op's kernels against the interpreter, twice with the same bits", 120)
def kernels(check):
    lines = []
    for library in sorted(glob.glob(os.path.join(HERE, "cases/*.so"))):
        done = check.run(os.path.join(HERE, "ingot-gpu-run"), library, check=False)
        name = os.path.basename(library)[:-3]
        found = [json.loads(line) for line in done.stdout.splitlines()]
        for line in found:
            lines.append({**line, "case": name + "/" + line["case"]})
        if done.returncode != 0 and all(line["ok"] for line in found):
            lines.append({"case": name, "ok": False, "difference": done.stderr.strip()[-300:]})
    failed = [f"{line['case']}: {line['difference']}" for line in lines if not line["ok"]]
    return {"ok": bool(lines) and not failed, "figures": {"functions": len(lines), "failed": len(failed)},
            "problems": failed}


@section("Losses of 20 steps against the processor's trainer, twice with the same bits", 120)
def losses(check):
    rows, problems = [], []
    for trainer in check.trainers():
        if "losses" not in trainer:
            continue
        try:
            first = [line["loss"] for line in check.train(trainer, check.plan["steps"])]
            second = [line["loss"] for line in check.train(trainer, check.plan["steps"])]
            plain = [line["loss"] for line in check.train(trainer, 5, env={"INGOT_CUDA_GRAPH": "0"})]
        except RuntimeError as error:
            problems.append(str(error))
            continue
        worst = max(abs(a - b) / max(abs(b), 1e-3) for a, b in zip(first, trainer["losses"]))
        rows.append({"trainer": trainer["name"], "worst": worst, "last": first[-1], "expected": trainer["losses"][-1]})
        if not worst <= LOSS_TOLERANCE[trainer["precision"]]:
            problems.append(f"{trainer['name']}: {worst:.3g} from the processor's losses")
        if first != second:
            problems.append(f"{trainer['name']}: other bits in the second run")
        if first[:5] != plain:
            problems.append(f"{trainer['name']}: other bits without the graph")
    return {"ok": bool(rows) and not problems, "rows": rows, "problems": problems}


def measure(check, trainer, modes, steps, timeout):
    """Our step beside PyTorch's, alternating: two rounds of each."""
    ours, row = [], {"trainer": trainer["name"]}
    plan = check.inspect(trainer)
    peers = {mode: [] for mode in modes}
    for _ in range(2):
        ours += [line["step_ms"] for line in check.train(trainer, steps)][5:]
        for mode in modes:
            try:
                peer = check.peer(trainer["model"], mode, steps, trainer["precision"], timeout)
                peers[mode] += peer["step_ms"][5:]
                row[mode + "_bytes"] = peer["peak_bytes"]
            except (RuntimeError, Skip) as error:
                row[mode + "_problem"] = str(error)[-200:]
    row["ingot_ms"] = statistics.median(ours)
    row["ingot_bytes"] = plan["peak_bytes"]
    for mode, times in peers.items():
        if times:
            row[mode + "_ms"] = statistics.median(times)
    best = [row[mode + "_ms"] for mode in modes if mode + "_ms" in row]
    if best:
        row["ratio"] = min(best) / row["ingot_ms"]
    flops = sum(kernel["flops"] for kernel in plan["kernels"])
    row["tflops"] = flops / row["ingot_ms"] * 1e-9
    for name, peaks in PEAKS.items():
        if name in (check.gpu or ""):
            row["mfu"] = row["tflops"] * 1e12 / peaks[trainer["precision"]]
    shape = plan["inputs"][0]["shape"]
    row["samples_per_s"] = shape[0] / row["ingot_ms"] * 1e3
    if trainer["model"].startswith("gpt"):
        row["tokens_per_s"] = math.prod(shape) / row["ingot_ms"] * 1e3
    return row


@section("gpt2 124M in bf16 at 8 x 1024, beside PyTorch", 180)
def gpt2(check):
    rows = [measure(check, t, ["eager", "compile"], 25, 120) for t in check.trainers("gpt2:8x1024")]
    return {"ok": bool(rows), "rows": rows}


@section("Step times of the other models, beside PyTorch", 240)
def steps(check):
    rows = [measure(check, t, ["eager", "compile"], 50, 90) for t in check.trainers("mlp", "gpt-mini", "resnet18", "gpt2")
            if t["precision"] != "fp16"]
    return {"ok": bool(rows), "rows": rows}


@section("Memory-bound kernels as a share of the copy bandwidth", 60)
def bandwidth(check):
    code = ("import torch; a = torch.empty(1 << 28, device='cuda'); b = torch.empty_like(a); e = torch.cuda.Event\n"
            "for _ in range(12):\n"
            " s, t = e(enable_timing=True), e(enable_timing=True); s.record(); b.copy_(a); t.record()\n"
            " torch.cuda.synchronize(); print(2 * a.nbytes / s.elapsed_time(t) * 1e-6)")
    copies = [float(line) for line in check.run(check.python, "-c", code).stdout.split()]
    copy = statistics.median(copies[2:])
    rows = []
    for trainer in check.trainers("gpt2:8x1024"):
        trace = os.path.join(check.options.out, "trace.json")
        check.train(trainer, 4, "--profile", trace)
        kernels = {}
        for event in json.load(open(trace))["traceEvents"]:
            if event["cat"] not in ("function", "matmul") and event["args"].get("bytes", 0) > 32 << 20:
                kernels.setdefault(event["name"], []).append((event["args"]["bytes"] / event["dur"] * 1e-3, event["dur"]))
        for name, runs in kernels.items():
            rows.append({"kernel": name, "gb_per_s": statistics.median(r[0] for r in runs),
                         "share": statistics.median(r[0] for r in runs) / copy,
                         "us": statistics.median(r[1] for r in runs)})
    rows.sort(key=lambda row: -row["us"])
    return {"ok": bool(rows), "figures": {"copy_gb_per_s": copy}, "rows": rows[:40]}


@section("compute-sanitizer on the kernels", 150)
def sanitizer(check):
    tool = shutil.which("compute-sanitizer") or "/usr/local/cuda/bin/compute-sanitizer"
    if not os.path.exists(tool):
        raise Skip("no compute-sanitizer on this machine")
    problems, count = [], 0
    libraries = sorted(glob.glob(os.path.join(HERE, "cases/*-O2.so")))
    for kind in ["memcheck", "racecheck"]:
        done = check.run(tool, "--tool", kind, "--error-exitcode", "7", os.path.join(HERE, "ingot-gpu-run"), *libraries,
                         timeout=75, check=False)
        count += 1
        if done.returncode == 7:
            problems.append(f"{kind}: {done.stdout.strip()[-400:]}")
    return {"ok": not problems, "figures": {"tools": count}, "problems": problems}


@section("gpt2 124M in bf16 at 16 x 1024, beside PyTorch with max-autotune", 300)
def large(check):
    rows = [measure(check, t, ["compile", "max-autotune"], 25, 140) for t in check.trainers("gpt2:16x1024")]
    return {"ok": bool(rows), "rows": rows}


def format_value(value):
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def write_report(check, results):
    with open(os.path.join(check.options.out, "report.json"), "w") as file:
        json.dump({"commit": check.plan["commit"], "arch": check.plan["arch"], "sections": results}, file, indent=1)
    text = f"# GPU check of {check.plan['commit']} ({check.plan['arch']})\n"
    for name, (title, _, _) in SECTIONS.items():
        result = results.get(name, {"skipped": "not asked for"})
        state = f"did not run: {result['skipped']}" if "skipped" in result else "ok" if result["ok"] else "FAILED"
        text += f"\n## {title}\n\n{state}\n"
        if result.get("figures"):
            text += "\n" + "\n".join(f"- {key}: {format_value(value)}" for key, value in result["figures"].items()) + "\n"
        if result.get("rows"):
            keys = list(dict.fromkeys(key for row in result["rows"] for key in row))
            text += "\n| " + " | ".join(keys) + " |\n|" + "---|" * len(keys) + "\n"
            for row in result["rows"]:
                text += "| " + " | ".join(format_value(row.get(key, "")) for key in keys) + " |\n"
        for problem in result.get("problems", []):
            text += f"\n- {problem}\n"
    with open(os.path.join(check.options.out, "report.md"), "w") as file:
        file.write(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", default=os.path.join(HERE, "out"), help="where the report goes")
    parser.add_argument("--only", nargs="*", default=list(SECTIONS), choices=list(SECTIONS), metavar="SECTION",
                        help=" ".join(SECTIONS))
    parser.add_argument("--again", action="store_true", help="also what is finished")
    parser.add_argument("--limit", type=float, default=480, help="seconds in all")
    check = Check(parser.parse_args())
    os.makedirs(check.options.out, exist_ok=True)
    report = os.path.join(check.options.out, "report.json")
    results = {}
    if os.path.exists(report):
        earlier = json.load(open(report))
        if earlier["commit"] == check.plan["commit"]:
            results = {name: r for name, r in earlier["sections"].items() if "skipped" not in r}
    for name, (title, seconds, function) in SECTIONS.items():
        if name not in check.options.only or (name in results and not check.options.again):
            continue
        start = time.monotonic()
        print(f"{name}: {title}", flush=True)
        try:
            if check.deadline - start < min(30, seconds):
                raise Skip("out of time")
            check.gpu = results.get("machine", {}).get("figures", {}).get("gpu")
            results[name] = function(check)
        except Skip as skip:
            results[name] = {"skipped": str(skip)}
        except Exception as error:
            results[name] = {"ok": False, "problems": [str(error)]}
        results[name]["seconds"] = round(time.monotonic() - start, 1)
        state = results[name].get("skipped") or ("ok" if results[name]["ok"] else "FAILED")
        print(f"  {state} ({results[name]['seconds']} s)", flush=True)
        write_report(check, results)
    print(f"report: {os.path.join(check.options.out, 'report.md')}")
    return 0 if all(r.get("ok") for r in results.values() if "skipped" not in r) else 1


if __name__ == "__main__":
    sys.exit(main())
