#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks trainers on this machine's GPU: check.py [--out FOLDER] [--only SECTION...]

Writes report.json and report.md, and traces, to FOLDER after every section. A run ends after some minutes (--limit);
the next one goes on: what is finished is not done again (--again does), and what there was no time or no tool for says
so. Needs a driver, CUDA 13's libraries, and for the comparison a Python with PyTorch (INGOT_TORCH_PYTHON, or this one).
"""

import argparse
import bisect
import glob
import json
import math
import os
import shutil
import sqlite3
import statistics
import subprocess
import sys
import time

from drawing import draw_data
from report import write_report
from timeline import merge, read_timeline, total

HERE = os.path.dirname(os.path.abspath(__file__))
# Dense peak rates in FLOP/s by name of the GPU and precision; NVIDIA's data sheets.
PEAKS = {
    "H200": {"bf16": 989e12, "fp16": 989e12, "fp32": 67e12, "fp8": 1979e12},
    "H100": {"bf16": 989e12, "fp16": 989e12, "fp32": 67e12, "fp8": 1979e12},
    "A100": {"bf16": 312e12, "fp16": 312e12, "fp32": 19.5e12},
}
# Relative to the processor's losses, or this many times what these differ from each other with other orders of sums.
LOSS_TOLERANCE = {"fp32": 1e-3, "bf16": 2e-2, "fp16": 2e-2, "fp8": 2e-2}
LOSS_NOISE = 4
# What attention within a step has to reach of cuDNN's speed alone.
ATTENTION_SHARE = 0.95
# What a memory-bound kernel has to reach of the bandwidth of a copy.
COPY_SHARE = 0.85
# What steps have to reach: of the fastest of PyTorch's modes, of its eager mode, of the GPU's peak rate, and of
# PyTorch's peak memory at most.
BARS = {
    "gpt2:8x1024": {"ratio": 1.15, "mfu": 0.5, "memory": 0.8},
    "gpt2:16x1024": {"ratio": 1.15, "mfu": 0.5, "memory": 0.8},
    "gpt2-xl:8x1024": {"mfu": 0.55},
    "mlp": {"eager_ratio": 5},
    "resnet50:256": {"ratio": 1.1, "memory": 0.8},
}
SECTIONS = {}
ARCHIVE = "programs.tar.xz"


def section(title, seconds, name=None):
    """Registers a section, by the name of its function if it has no other; `seconds` is what it takes at most."""

    def register(function):
        SECTIONS[name or function.__name__] = (title, seconds, function)
        return function

    return register


class Skip(Exception):
    pass


def add_library_folders(python):
    """Lets trainers find CUDA's libraries where they are packages of that Python, as they are beside PyTorch."""
    code = "import glob, nvidia; [print(f) for p in nvidia.__path__ for f in glob.glob(p + '/**/lib', recursive=True)]"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True)
    folders = done.stdout.split("\n") + [os.environ.get("LD_LIBRARY_PATH", "")]
    os.environ["LD_LIBRARY_PATH"] = ":".join(folder for folder in folders if folder)


def judge(problems, what, value, least=None, most=None):
    """Adds a problem if a figure misses its bar, or is not known."""
    if value is not None and (least is None or value >= least) and (most is None or value <= most):
        return
    bar = f"at least {least}" if least is not None else f"at most {most}"
    problems.append(f"{what} is {'not known' if value is None else f'{value:.3g}'}, asked {bar}")


class Check:
    def __init__(self, options):
        self.options = options
        self.deadline = time.monotonic() + options.limit
        self.plan = json.load(open(os.path.join(HERE, "plan.json")))
        self.python = os.environ.get("INGOT_TORCH_PYTHON", sys.executable)
        self.gpu = None
        self.section_deadline = self.deadline
        add_library_folders(self.python)

    def find(self, name):
        """The path of a program."""
        folder, archive = os.path.join(self.options.out, "of-" + self.plan["commit"]), os.path.join(HERE, ARCHIVE)
        if not os.path.exists(archive):
            return os.path.join(HERE, name)
        if not os.path.isdir(folder):
            shutil.unpack_archive(archive, folder + ".part")
            os.rename(folder + ".part", folder)
        return os.path.join(folder, name)

    def find_cases(self, ending):
        """The libraries of kernel tests whose names end so."""
        return sorted(glob.glob(os.path.join(self.find("cases"), "*" + ending)))

    def run(self, *command, timeout=120, check=True, env=None):
        command = [str(word) for word in command]
        timeout = max(1, min(timeout, self.section_deadline - time.monotonic()))
        try:
            done = subprocess.run(
                command,
                text=True,
                capture_output=True,
                timeout=timeout,
                errors="replace",
                env={**os.environ, **(env or {})},
            )
        except subprocess.TimeoutExpired:
            raise Skip(f"{os.path.basename(command[0])}: no end after {timeout:.0f} s") from None
        if check and done.returncode != 0:
            raise RuntimeError(f"{' '.join(command[:3])}: exit {done.returncode}: {done.stderr.strip()[-400:]}")
        return done

    def read_lines(self, *command):
        """The whole lines that a command writes, whatever becomes of it, and what that is: "" for results, "timeout",
        or how it ended."""
        path = os.path.join(self.options.out, "lines.txt")
        with open(path, "w") as file:
            process = subprocess.Popen([str(word) for word in command], stdout=file, stderr=subprocess.PIPE, text=True)
            try:
                _, said = process.communicate(timeout=max(1, self.section_deadline - time.monotonic()))
                # 1 says that a result differs.
                problem = "" if process.returncode in (0, 1) else f"exit {process.returncode}: {said.strip()[-300:]}"
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()
                problem = "timeout"
        with open(path, errors="replace") as file:
            return [line for line in file if line.endswith("\n")], problem

    def train(self, trainer, steps, *flags, env=None):
        """The log of a run."""
        data = os.path.join(HERE, trainer["data"])
        if "draw" in trainer and not os.path.exists(data):
            draw_data(data, trainer["draw"]["x"], trainer["draw"]["classes"])
        log = os.path.join(self.options.out, "log.jsonl")
        self.run(
            self.find(trainer["name"]),
            "--data",
            data,
            "--no-shuffle",
            "--steps",
            steps,
            "--log",
            log,
            *flags,
            timeout=240,
            env=env,
        )
        return [json.loads(line) for line in open(log)]

    def profile(self, trainer, steps, name, *flags):
        """The kernels and calls of a run, by step."""
        trace = os.path.join(self.options.out, name)
        self.train(trainer, steps, "--profile", trace, *flags)
        events = [e for e in json.load(open(trace))["traceEvents"] if e.get("args", {}).get("function") == "train_step"]
        ends = sorted(e["ts"] + e["dur"] for e in events if e["cat"] == "function")
        calls = [[] for _ in ends]
        for event in events:
            if event["cat"] != "function":
                calls[min(bisect.bisect_left(ends, event["ts"]), len(ends) - 1)].append(event)
        return calls

    def inspect(self, trainer):
        return json.loads(self.run(self.find(trainer["name"]), "--inspect=json").stdout)

    def trainers(self, *models):
        return [t for t in self.plan["trainers"] if not models or t["model"] in models]

    def torch(self, *arguments, timeout=120):
        """What models.py prints at last."""
        done = self.run(self.python, os.path.join(HERE, "models.py"), *arguments, timeout=timeout)
        return json.loads(done.stdout.splitlines()[-1])


@section("Machine", 30)
def machine(check):
    if not shutil.which("nvidia-smi"):
        raise Skip("no nvidia-smi on this machine")
    query = check.run(
        "nvidia-smi", "--query-gpu=name,driver_version,memory.total,clocks.max.sm", "--format=csv,noheader"
    )
    name, driver, memory, clock = query.stdout.splitlines()[0].split(", ")
    result = {"gpu": name, "driver": driver, "memory": memory, "clock": clock}
    torch = check.run(check.python, "-c", "import torch; print(torch.__version__, torch.version.cuda)", check=False)
    result["pytorch"] = torch.stdout.strip() or "none"
    return {"ok": True, "figures": result}


@section("Every op's kernels against the interpreter, twice with the same bits", 120)
def kernels(check):
    rest = {os.path.basename(path)[:-3]: path for path in check.find_cases(".so")}
    total, lines, problems = len(rest), [], []
    # One process for all libraries, as starting CUDA takes a second. A crash costs one library.
    while rest:
        output, problem = check.read_lines(check.find("ingot-gpu-run"), *rest.values())
        done = []
        for line in map(json.loads, output):
            name = os.path.basename(line["library"])[:-3]
            done.append(name)
            lines.append({**line, "case": f"{name}/{line['case']}"})
        if not problem:
            break
        if problem == "timeout":
            problems.append(f"out of time in {done[-1] if done else 'the first library'}")
            break
        # The last one that has a line may have crashed after it.
        crashed = next((name for name in rest if name not in done), done[-1] if done else next(iter(rest)))
        problems.append(f"{crashed}: {problem}")
        for name in [*done, crashed]:
            rest.pop(name, None)
    failed = [f"{line['case']}: {line['difference']}" for line in lines if not line["ok"]]
    notes = sorted({note for line in lines for note in line.get("notes", [])})
    return {
        "ok": bool(lines) and not failed and not problems,
        "figures": {
            "libraries": f"{len({line['library'] for line in lines})} of {total}",
            "functions": len(lines),
            "failed": len(failed),
            "notes": "; ".join(notes) or "none",
        },
        "problems": problems + failed,
    }


@section("Losses of 20 steps against the processor's trainer, twice with the same bits", 180)
def losses(check):
    rows, problems = [], []
    for trainer in check.plan["compared"]:
        name, expected, flags = trainer["name"], trainer["losses"], trainer["flags"]
        try:
            first = [line["loss"] for line in check.train(trainer, len(expected), *flags)]
            second = [line["loss"] for line in check.train(trainer, len(expected), *flags)]
            plain = [line["loss"] for line in check.train(trainer, 5, *flags, env={"INGOT_CUDA_GRAPH": "0"})]
        except RuntimeError as error:
            problems.append(str(error))
            continue
        off = [abs(a - b) / max(abs(b), 1e-3) for a, b in zip(first, expected)]
        allowed = [max(LOSS_TOLERANCE[trainer["precision"]], LOSS_NOISE * noise) for noise in trainer["noise"]]
        row = {"trainer": name, "step_2": off[1], "step_5": off[4], "worst": max(off), "noise": max(trainer["noise"])}
        rows.append({**row, "last": first[-1], "expected": expected[-1]})
        # Not a number is not within a bound.
        for step, (a, b) in enumerate(zip(off, allowed)):
            if not a <= b:
                problems.append(f"{name}: {a:.3g} from the processor's loss at step {step + 1}, allowed {b:.3g}")
                break
        if first != second:
            problems.append(f"{name}: other bits in the second run")
        if second[:5] != plain:
            problems.append(f"{name}: other bits without the graph")
    return {"ok": bool(rows) and not problems, "rows": rows, "problems": problems}


def measure(check, trainer, modes, steps, timeout, rounds=2):
    """Our step beside PyTorch's, alternating."""
    ours, row = [], {"trainer": trainer["name"]}
    if trainer["precision"] == "fp8":
        # PyTorch has no such mode of its own.
        modes = []
    if check.options.quick:
        modes, rounds = [mode for mode in modes if mode != "max-autotune"], 1
    plan = check.inspect(trainer)
    peers = {mode: [] for mode in modes}
    for _ in range(rounds):
        # One round says something, half of a second nothing.
        if ours and time.monotonic() > check.section_deadline - 60:
            break
        ours += [line["step_ms"] for line in check.train(trainer, steps)][5:]
        for mode in modes:
            try:
                peer = check.torch(
                    "time",
                    trainer["model"],
                    mode,
                    steps,
                    "--device",
                    "cuda",
                    "--precision",
                    trainer["precision"],
                    timeout=timeout,
                )
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
    if "eager_ms" in row:
        row["eager_ratio"] = row["eager_ms"] / row["ingot_ms"]
    if "compile_bytes" in row:
        row["memory"] = row["ingot_bytes"] / row["compile_bytes"]
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


@section("Memory-bound kernels as a share of the copy bandwidth", 60)
def bandwidth(check):
    code = (
        "import torch; a = torch.empty(1 << 28, device='cuda'); b = torch.empty_like(a); e = torch.cuda.Event\n"
        "for _ in range(12):\n"
        " s, t = e(enable_timing=True), e(enable_timing=True); s.record(); b.copy_(a); t.record()\n"
        " torch.cuda.synchronize(); print(2 * a.nbytes / s.elapsed_time(t) * 1e-6)"
    )
    copies = check.run(check.python, "-c", code, check=False).stdout.split()
    copy = statistics.median(float(line) for line in copies[2:]) if copies else None
    rows = []
    for trainer in check.trainers("gpt2:8x1024")[:1]:
        kernels = {}
        for step in check.profile(trainer, 4, "bandwidth.json"):
            for event in step:
                if event["cat"] == "loop" and event["args"]["bytes"] > 32 << 20 and event["dur"] > 0:
                    kernels.setdefault(event["name"], []).append(
                        (event["args"]["bytes"] / event["dur"] * 1e-3, event["dur"])
                    )
        for name, runs in kernels.items():
            rate = statistics.median(r[0] for r in runs)
            rows.append(
                {
                    "kernel": name,
                    "gb_per_s": rate,
                    "share": rate / copy if copy else None,
                    "us": statistics.median(r[1] for r in runs),
                }
            )
    rows.sort(key=lambda row: -row["us"])
    problems = []
    for row in rows[:40]:
        judge(problems, f"{row['kernel']}: share of a copy", row["share"], least=COPY_SHARE)
    figures = {"copy_gb_per_s": copy or "none: no PyTorch"}
    return {"ok": bool(rows) and not problems, "figures": figures, "rows": rows[:40], "problems": problems}


def measure_attention(check, trainer, *flags):
    """Times of the calls of attention by their operations: the gradient has more to compute."""
    times = {}
    for step in check.profile(trainer, 8, trainer["name"] + ".json", *flags)[2:]:
        for event in step:
            if event["cat"] == "attention":
                times.setdefault(event["args"]["flops"], []).append(event["dur"] * 1e-3)
    if len(times) != 2:
        raise RuntimeError(f"{trainer['name']}: {len(times)} calls of attention")
    return times


@section("Attention in a step beside cuDNN's alone, causal, 16 heads of 64, bf16", 150)
def attention(check):
    rows, problems = [], []
    for trainer in check.trainers():
        if not trainer["model"].startswith("attention:"):
            continue
        batch, tokens = trainer["model"].split(":")[1].split("x")

        # PyTorch's gradient is not deterministic: like is compared with like.
        times = measure_attention(check, trainer, "--nondeterministic")
        same_bits = measure_attention(check, trainer)
        row = {
            "tokens": int(tokens),
            "batch": int(batch),
            "deterministic_backward_ms": statistics.median(same_bits[max(same_bits)]),
        }
        for flops, name in zip(sorted(times), ("forward", "backward")):
            row[name + "_ms"] = statistics.median(times[flops])
            row[name + "_tflops"] = flops / max(row[name + "_ms"], 1e-6) * 1e-9
        try:
            alone = check.torch("attention", batch, tokens)
            for name in ("forward", "backward"):
                row[name + "_share"] = alone[name + "_ms"] / row[name + "_ms"]
                if row[name + "_share"] < ATTENTION_SHARE:
                    problems.append(f"{tokens} tokens {name}: {row[name + '_share']:.3f} of cuDNN's speed alone")
        except (RuntimeError, Skip) as error:
            problems.append(f"{tokens} tokens: not compared: {str(error)[-200:]}")
        rows.append(row)
    return {"ok": bool(rows) and not problems, "rows": rows, "problems": problems}


@section("Where the time of a step goes: gpt2 124M in bf16 at 8 x 1024", 90)
def timeline(check):
    figures, problems = {}, []
    for trainer in check.trainers("gpt2:8x1024")[:1]:
        step_ms = statistics.median(line["step_ms"] for line in check.train(trainer, 30)[5:])
        calls = check.profile(trainer, 5, "timeline.json")[-1]
        ran = merge((e["ts"], e["ts"] + e["dur"]) for e in calls)
        gaps = [b - a for (_, a), (b, _) in zip(ran, ran[1:])]
        figures = {
            "step_ms": step_ms,
            "calls": len(calls),
            "calls_ms": total(ran) * 1e-3,
            # Above 1, calls one by one take longer than they do in one launch.
            "calls_share_of_step": total(ran) * 1e-3 / step_ms if step_ms else 0,
            "one_by_one_gaps_ms": sum(gaps) * 1e-3,
            "one_by_one_longest_gap_us": max(gaps, default=0),
        }
        nsys = shutil.which("nsys") or "/usr/local/cuda/bin/nsys"
        if not os.path.exists(nsys):
            figures["overlap"] = "not seen: no nsys on this machine"
            continue
        report = os.path.join(check.options.out, "timeline")
        try:
            check.run(
                nsys,
                "profile",
                "-t",
                "cuda",
                "--cuda-graph-trace=node",
                "--force-overwrite=true",
                "-o",
                report,
                check.find(trainer["name"]),
                "--data",
                os.path.join(HERE, trainer["data"]),
                "--steps",
                "16",
            )
            check.run(
                nsys,
                "export",
                "--type",
                "sqlite",
                "--force-overwrite=true",
                "-o",
                report + ".sqlite",
                report + ".nsys-rep",
            )
            seen, ahead = read_timeline(report + ".sqlite")
        except (RuntimeError, Skip, sqlite3.Error) as error:
            problems.append(f"nsys: {error}")
            continue
        figures.update(seen)
        if ahead < seen["steps_seen"] - 1:
            problems.append("the host waits for a step before it launches the next")
    return {"ok": bool(figures) and not problems, "figures": figures, "problems": problems}


@section("compute-sanitizer on the kernels", 180)
def sanitizer(check):
    tool = shutil.which("compute-sanitizer") or "/usr/local/cuda/bin/compute-sanitizer"
    if not os.path.exists(tool):
        raise Skip("no compute-sanitizer on this machine")
    libraries = check.find_cases("-O2.so")
    figures, problems, some = {}, [], 8
    for kind in ["memcheck", "racecheck"]:
        covered, end = 0, time.monotonic() + 85
        while covered < len(libraries) and time.monotonic() < end:
            part = libraries[covered : covered + some]
            try:
                done = check.run(
                    tool,
                    "--tool",
                    kind,
                    "--error-exitcode",
                    "7",
                    check.find("ingot-gpu-run"),
                    *part,
                    timeout=end - time.monotonic(),
                    check=False,
                )
            except Skip:
                break
            if done.returncode == 7:
                names = ", ".join(os.path.basename(path) for path in part)
                problems.append(f"{kind}: {names}: {done.stdout.strip()[-400:]}")
            covered += len(part)
        figures[kind] = f"{covered} of {len(libraries)} libraries"
        if covered == 0:
            problems.append(f"{kind}: no end within its time")
    return {"ok": not problems, "figures": figures, "problems": problems}


def add_steps(model):
    @section(f"{model}, beside PyTorch", 400, "steps-" + model)
    def steps(check):
        rows = [
            measure(check, t, ["eager", "compile", "max-autotune"], 50, 90)
            for t in check.trainers(model)
            if t["precision"] != "fp16"
        ]
        return report_steps(rows, model)


for small in ("mlp", "gpt-mini", "resnet18", "gpt2"):
    add_steps(small)


def add_large(name, model, title, modes):
    @section(title + ", beside PyTorch", 330, name)
    def large(check):
        return report_steps([measure(check, t, modes, 25, 150) for t in check.trainers(model)], model)


add_large("gpt2", "gpt2:8x1024", "gpt2 124M in bf16 at 8 x 1024", ["eager", "compile", "max-autotune"])
add_large("large", "gpt2:16x1024", "gpt2 124M in bf16 at 16 x 1024", ["compile", "max-autotune"])
add_large("resnet50", "resnet50:256", "ResNet-50 in bf16 at 256 x 224 x 224", ["eager", "compile", "max-autotune"])


@section("GPT-2 of 1.5 billion parameters in bf16: beside PyTorch, and at the batch that fits 80 GB", 450)
def xl(check):
    parts = [
        report_steps([measure(check, t, modes, 15, 180, rounds=1) for t in check.trainers(model)], model)
        for model, modes in [("gpt2-xl:20x1024", []), ("gpt2-xl:8x1024", ["eager", "compile"])]
    ]
    rows, problems = (sum((part[key] for part in parts), []) for key in ("rows", "problems"))
    return {"ok": bool(rows) and not problems, "rows": rows, "problems": problems}


# What says most comes first: a run may end after any of them.
FIRST = ["machine", "gpt2", "kernels", "losses", "resnet50"]
ORDER = FIRST + [name for name in SECTIONS if name not in FIRST]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", default=os.path.join(HERE, "out"), help="where the report goes")
    parser.add_argument(
        "--only", nargs="*", default=list(SECTIONS), choices=list(SECTIONS), metavar="SECTION", help=" ".join(SECTIONS)
    )
    parser.add_argument("--again", action="store_true", help="also what is finished")
    parser.add_argument("--quick", action="store_true", help="beside PyTorch one round, without max-autotune")
    parser.add_argument("--limit", type=float, default=480, help="seconds in all")
    check = Check(parser.parse_args())
    os.makedirs(check.options.out, exist_ok=True)
    report = os.path.join(check.options.out, "report.json")
    results = {}
    if os.path.exists(report):
        earlier = json.load(open(report))
        if earlier["commit"] == check.plan["commit"]:
            results = earlier["sections"]
    ran = 0
    for name in ORDER:
        title, seconds, function = SECTIONS[name]
        least = seconds / 2 if check.options.quick else seconds
        is_done = name in results and "skipped" not in results[name]
        if name not in check.options.only or (is_done and not check.options.again):
            continue
        start = time.monotonic()
        print(f"{name}: {title}", flush=True)
        try:
            # Half a section says little; the next run has time for it.
            if check.deadline - start < least and ran:
                raise Skip("out of time: run check.py again")
            ran += 1
            check.section_deadline = min(check.deadline, start + seconds)
            check.gpu = results.get("machine", {}).get("figures", {}).get("gpu")
            results[name] = function(check)
        except Skip as skip:
            results[name] = {"skipped": str(skip)}
        except Exception as error:
            results[name] = {"ok": False, "problems": [str(error)]}
        results[name]["seconds"] = round(time.monotonic() - start, 1)
        state = results[name].get("skipped") or ("ok" if results[name]["ok"] else "FAILED")
        print(f"  {state} ({results[name]['seconds']} s)", flush=True)
        write_report(check.options.out, check.plan, {name: SECTIONS[name][0] for name in ORDER}, results)
    print(f"report: {os.path.join(check.options.out, 'report.md')}")
    return 0 if all(r.get("ok") for r in results.values() if "skipped" not in r) else 1


if __name__ == "__main__":
    sys.exit(main())
