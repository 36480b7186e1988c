# SPDX-License-Identifier: Apache-2.0
"""Trainer against PyTorch, alternating in one run: step time, memory, compile time.

Every round runs the trainer and each mode of PyTorch once, in fresh processes; a figure is the median of
all rounds' steps after the first two. The ratio is PyTorch's better mode over ours.

--arch holds both sides to the instructions of a level. --table prints the ratio of each model for each level that this
machine has, in fp32 and bf16; PyTorch runs in bf16 or fp32 there, whichever is faster. --models measures real models
at real sizes, --noise the same models beside a process that spins, and --kernels which share of this machine's peak
each kernel reaches.
"""

import argparse
import importlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
MODELS = ["mlp", "resnet18", "gpt-mini", "gpt2"]
STEPS = {"mlp": 200, "resnet18": 8, "gpt-mini": 10, "gpt2": 6}
# What is not cross-entropy over the last axis.
LOSSES = {"unet": "cross-entropy:1"}
# What holds PyTorch and the libraries in it to a level; and levels by what they are called, and their values of these.
PEER_LIMITS = ("ATEN_CPU_CAPABILITY", "ONEDNN_MAX_CPU_ISA", "MKL_ENABLE_INSTRUCTIONS")
LEVELS = {
    "x86-64-v2": ("SSE4.2", ("default", "SSE41", "SSE4_2")),
    "x86-64-v3": ("AVX2", ("avx2", "AVX2", "AVX2")),
    "x86-64-v4": ("AVX-512", ("avx512", "AVX512_CORE", "AVX512")),
    "amx": ("AMX", ()),
}
# The rows of --table.
ROWS = [("x86-64-v3", "fp32"), ("x86-64-v3", "bf16"), ("x86-64-v4", "fp32"), ("amx", "fp32"), ("amx", "bf16")]
# A slowdown of more than this against the baseline is reported.
TOLERANCE = 1.1
# Seconds after which a program is ended.
LIMIT = None


def fail(where, what, hint):
    sys.exit(f"error: {where}: {what}\nhint: {hint}")


def make_parser(text):
    """The options that all benches have."""
    parser = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default=os.path.join(ROOT, "build", "release", "bin"), help="the folder of ingotc")
    parser.add_argument("--json", help="write the figures to this file")
    return parser


def limit(level):
    """Holds all programs that are started from here on to a level."""
    for name in PEER_LIMITS:
        os.environ.pop(name, None)
    os.environ.update(zip(PEER_LIMITS, LEVELS[level][1]), INGOT_MAX_ISA=level)


def has(level):
    """Whether this machine is of the level."""
    flag = {"x86-64-v2": "sse4_2", "x86-64-v3": "avx2", "x86-64-v4": "avx512bw", "amx": "amx_bf16"}[level]
    with open("/proc/cpuinfo") as file:
        return flag in file.read().split()


def write_json(path, results):
    """Does nothing without a path."""
    if path:
        with open(path, "w") as file:
            json.dump(results, file, indent=2)
            file.write("\n")


def run(command):
    """Runs a command; its output and its peak resident memory in MiB."""
    # What goes to stderr is in a file: a full pipe would stop the program.
    with tempfile.TemporaryFile("w+") as messages:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=messages, text=True)
        timer = threading.Timer(LIMIT or threading.TIMEOUT_MAX, process.kill)
        timer.start()
        output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        timer.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        messages.seek(0)
        errors = messages.read()
    if process.returncode != 0:
        fail(command[0], f"exit {process.returncode}: {errors.strip()[-300:]}", "run it by hand: " + " ".join(command))
    return output, usage.ru_maxrss / 1024


class Bench:
    def __init__(self, options):
        self.options = options
        self.directory = os.path.join(ROOT, "build", "bench")
        os.makedirs(self.directory, exist_ok=True)

    def path(self, name):
        # The loader's search path has no names with a colon.
        return os.path.join(self.directory, name.replace(":", "-"))

    def peer(self, *arguments):
        return run([self.options.python, os.path.join(HERE, "models.py"), *arguments])

    def export(self, name):
        # Weights follow from the order in which models.py draws them: an older export is another model.
        data = self.path(name + ".npz")
        source = max(os.path.getmtime(os.path.join(HERE, file)) for file in ("models.py", "real_models.py"))
        if not os.path.exists(data) or os.path.getmtime(data) < source:
            self.peer("export", name, self.directory)
            for suffix in (".onnx", ".npz"):
                os.replace(os.path.join(self.directory, name + suffix), self.path(name + suffix))

    def compile(self, name):
        self.export(name)
        start = time.perf_counter()
        run(
            [
                os.path.join(self.options.bin, "ingotc"),
                self.path(name + ".onnx"),
                "-o",
                self.path(name),
                "--loss",
                LOSSES.get(name, "cross-entropy"),
                "--optimizer",
                "adamw",
                "--precision",
                self.options.precision,
            ]
        )
        return time.perf_counter() - start

    def train(self, name):
        log = self.path(name + ".jsonl")
        _, memory = run(
            [
                self.path(name),
                "--data",
                self.path(name + ".npz"),
                "--no-shuffle",
                "--steps",
                str(STEPS[name]),
                "--log",
                log,
            ]
        )
        with open(log) as file:
            lines = [json.loads(line) for line in file]
        return [line["step_ms"] for line in lines], [line["loss"] for line in lines], memory

    def time_peer(self, name, mode, precision):
        """Milliseconds of PyTorch's steps, their losses, and its peak resident memory in MiB."""
        output, memory = self.peer("time", name, mode, str(STEPS[name]), "--precision", precision)
        peer = json.loads(output.splitlines()[-1])
        return peer["step_ms"], peer["loss"], memory

    def model(self, name):
        result = {"compile_s": self.compile(name)}
        samples = {}
        for _ in range(self.options.rounds):
            times, losses, memory = self.train(name)
            samples.setdefault("ingot", []).extend(times[2:])
            result["ingot_mib"] = max(memory, result.get("ingot_mib", 0))
            for mode, precision in self.peers():
                times, peer_losses, memory = self.time_peer(name, mode, precision)
                mode = mode if precision == self.options.precision else f"{mode}-{precision}"
                samples.setdefault(mode, []).extend(times[2:])
                result[mode + "_mib"] = memory
                result["loss_difference"] = max(
                    abs(a - b) / max(abs(b), 1e-3) for a, b in zip(losses[:5], peer_losses[:5])
                )
        for side, values in samples.items():
            result[side + "_ms"] = statistics.median(values)
        peers = [statistics.median(values) for side, values in samples.items() if side != "ingot"]
        if peers:
            result["ratio"] = min(peers) / result["ingot_ms"]
        return result

    def peers(self):
        """The modes and precisions of PyTorch: with --table also fp32, which may be faster than 16 bits."""
        precisions = dict.fromkeys([self.options.precision, *(["fp32"] if self.options.table else [])])
        return [(mode, precision) for precision in precisions for mode in self.options.modes]


def print_table(options):
    """Prints the ratio of each model at each level."""
    results = {}
    print("| | " + " | ".join(options.models) + " |\n|---" + "|---" * len(options.models) + "|", flush=True)
    for level, precision in ROWS:
        if options.arch and level != options.arch:
            continue
        cells = []
        row = f"{LEVELS[level][0]}, {precision}"
        if has(level):
            limit(level)
            options.precision = precision
            bench = Bench(options)
            for name in options.models:
                result = results[f"{row}: {name}"] = bench.model(name)
                cells.append(f"{result['ingot_ms']:.4g} ms: {result['ratio']:.2f}")
        else:
            cells = ["not here"] * len(options.models)
        print(f"| {row} | " + " | ".join(cells) + " |", flush=True)
    write_json(options.json, results)


def main():
    parser = make_parser(__doc__)
    parser.add_argument("models", nargs="*", metavar="MODEL", help=" ".join(MODELS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--modes", nargs="*", default=["eager", "compile"], help="of PyTorch, as of models.py; none: only our side"
    )
    parser.add_argument("--precision", choices=["fp32", "bf16", "fp16"], default="fp32", help="PyTorch's by autocast")
    parser.add_argument("--python", default=sys.executable, help="a Python that has PyTorch")
    parser.add_argument("--arch", choices=list(LEVELS), help="a level that both sides are held to")
    parser.add_argument("--table", action="store_true", help="print the ratios of all levels and precisions")
    parser.add_argument("--models", action="store_true", dest="real", help="measure real models at real sizes")
    parser.add_argument("--minutes", type=float, default=1e6, help="with --models: start none after so long")
    parser.add_argument("--records", help="with --models: the file of lines that keeps the figures")
    parser.add_argument("--noise", action="store_true", help="measure steps beside a process that spins")
    parser.add_argument("--kernels", action="store_true", help="print which share of the peak each kernel reaches")
    parser.add_argument("--mib", type=int, default=1024, help="with --kernels: size of tensors in memory; 0: none")
    options = parser.parse_args()
    if options.arch and not has(options.arch):
        fail("--arch", f"this machine is none of {options.arch}", "name a level that it has")
    if options.arch and (options.real or options.noise):
        limit(options.arch)
    for flag, module in (("real", "model_table"), ("noise", "noise"), ("kernels", "kernels")):
        if getattr(options, flag):
            importlib.import_module(module).run(options)
            return
    options.models = options.models or MODELS
    for name in options.models:
        if name not in MODELS:
            fail(name, "no such model", "one of " + ", ".join(MODELS))
    if options.table and not options.modes:
        fail("--table", "no mode of PyTorch to compare with", "leave --modes out")
    if options.table:
        print_table(options)
        return
    if options.arch:
        limit(options.arch)
    baseline_path = os.path.join(HERE, "baseline.json")
    has_baseline = os.path.exists(baseline_path) and options.precision == "fp32" and not options.arch
    baseline = json.load(open(baseline_path)) if has_baseline else {}

    bench, results = Bench(options), {}
    print(
        f"{'model':10} {'ingot ms':>9} {'peer ms':>9} {'ratio':>6} {'ingot MiB':>10} {'peer MiB':>9} {'compile s':>9}"
    )
    for name in options.models:
        result = results[name] = bench.model(name)
        peer = min((result[mode + "_ms"] for mode in options.modes), default=float("nan"))
        memory = min((result[mode + "_mib"] for mode in options.modes), default=float("nan"))
        print(
            f"{name:10} {result['ingot_ms']:9.2f} {peer:9.2f} {result.get('ratio', float('nan')):6.2f} "
            f"{result['ingot_mib']:10.0f} {memory:9.0f} {result['compile_s']:9.2f}",
            flush=True,
        )
        before = baseline.get(name, {}).get("ratio")
        if before and result.get("ratio", before) * TOLERANCE < before:
            print(f"  slower than the baseline: ratio {before:.2f} before")
    write_json(options.json, results)


if __name__ == "__main__":
    # The modules of the modes import this one by name.
    sys.modules["bench"] = sys.modules["__main__"]
    main()
