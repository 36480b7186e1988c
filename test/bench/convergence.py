# SPDX-License-Identifier: Apache-2.0
"""Whether training in 8 or 16 bits, or with compressed gradients, ends where a wider precision does.

Trains the two examples with several seeds and equal numbers of steps. Every run draws its order of samples by the
seed. The loss of a run is the mean of its last fifth; a figure is that of another way over that of the first, less
one. --precisions gives other ways than fp32, bf16 and fp16, as bf16 fp8:delayed. With --grad-comm, ways are values of
that option, the first being whole gradients, and --ranks share the batch.
Training amplifies any difference: `start` is fp32 again, from weights rounded once to bf16, and says how far two runs
of the same precision end from each other. The mean over the seeds has its standard error beside it. Needs numpy and
the compiler; the text is the licences of a Debian machine.
"""

import glob
import json
import os
import re
import statistics
import struct
import subprocess
import sys

import bench
import numpy

EXAMPLES = os.path.join(bench.ROOT, "docs", "examples")
PRECISIONS = ["fp32", "bf16", "fp16"]


class Example:
    """A model, its data, and how it is trained."""

    def __init__(self, model, data, steps, batch, compile_flags, flags):
        self.model, self.data, self.steps, self.batch = model, data, steps, batch
        self.compile_flags, self.flags = compile_flags, flags
        self.launch = []

    def compile(self, bin, out, *flags):
        command = [os.path.join(bin, "ingotc"), self.model, "-o", out, "--batch", str(self.batch), *flags]
        subprocess.run([*command, "--loss", "cross-entropy", *self.compile_flags], check=True)

    def share(self, ranks):
        """Trains on ranks of one thread, which share the batch."""
        if self.batch % ranks != 0:
            bench.fail("--ranks", f"{ranks} ranks do not share a batch of {self.batch}", "give a divisor")
        self.batch //= ranks
        self.launch = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-x", "OMP_NUM_THREADS=1", "-n", str(ranks)]

    def train(self, program, seed, *flags):
        log = program + ".jsonl"
        command = [program, "--data", self.data, "--steps", str(self.steps), "--seed", str(seed), "--log", log]
        subprocess.run([*self.launch, *command, *self.flags, *flags], check=True, stderr=subprocess.DEVNULL)
        with open(log) as file:
            losses = [json.loads(line)["loss"] for line in file]
        last = losses[-max(1, len(losses) // 5) :]
        return sum(last) / len(last)


def precision_flags(way):
    precision, _, scaling = way.partition(":")
    return ["--precision", precision, *(["--fp8-scaling", scaling] if scaling else [])]


def round_to_bf16(values):
    """Float32 values at the nearest numbers of bf16."""
    bits = values.view(numpy.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000).view(numpy.float32)


def round_weights(source, target):
    """Writes a safetensors file whose float32 tensors are rounded to bf16."""
    with open(source, "rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        header, data = file.read(size), bytearray(file.read())
    for name, tensor in json.loads(header).items():
        if name != "__metadata__" and tensor["dtype"] == "F32":
            begin, end = tensor["data_offsets"]
            data[begin:end] = round_to_bf16(numpy.frombuffer(data[begin:end], numpy.float32)).tobytes()
    with open(target, "wb") as file:
        file.write(struct.pack("<Q", size) + header + data)


def examples(directory):
    text = os.path.join(directory, "text.bin")
    files = sorted(name for name in glob.glob("/usr/share/common-licenses/*") if not os.path.islink(name))
    tokens = os.path.join(EXAMPLES, "bytes", "tokens.py")
    subprocess.run([sys.executable, tokens, text, *files], check=True, stdout=subprocess.DEVNULL)
    schedule = ["--schedule", "cosine", "--warmup", "50"]
    return {
        "digits": Example(
            os.path.join(EXAMPLES, "digits", "digits.onnx"), os.path.join(EXAMPLES, "digits", "train.npz"),
            90, 32, [], [],
        ),
        "bytes": Example(
            os.path.join(EXAMPLES, "bytes", "bytes.onnx"), text,
            600, 16, ["--clip"], ["--lr", "1e-3", *schedule],
        ),
    }  # fmt: skip


def main():
    parser = bench.make_parser(__doc__)
    parser.add_argument("models", nargs="*", help="digits, bytes; both by default")
    parser.add_argument("--seeds", type=int, nargs="*", default=[1, 2, 3])
    parser.add_argument("--steps", type=int, help="instead of those of the example")
    parser.add_argument("--precisions", nargs="*", default=PRECISIONS, help="with scaling, as fp8:delayed, for fp8")
    parser.add_argument("--grad-comm", nargs="*", help="compare these, as powersgd:4, with whole gradients, in fp32")
    parser.add_argument("--ranks", type=int, default=2, help="of --grad-comm")
    parser.add_argument("--flags", nargs="*", default=[], help="further ones of trainers, each with = for its value")
    options = parser.parse_args()
    ways = {way: precision_flags(way) for way in options.precisions}
    if options.grad_comm:
        ways = {"whole": ["--data-parallel"]}
        ways.update({way: ["--data-parallel", "--grad-comm", way] for way in options.grad_comm})
    directory = os.path.join(bench.ROOT, "build", "convergence")
    os.makedirs(directory, exist_ok=True)
    results = {}
    has_start = options.precisions[0] == "fp32" and not options.grad_comm
    columns = [*ways, "start"] if has_start else [*ways]
    # Of a loss, and of what is less or more of it.
    width = max(8, *map(len, columns))
    wide = max(12, width + 2)
    print(f"{'model':8} {'seed':>5} " + " ".join(f"{c:>{width}}" for c in columns)
          + " " + " ".join(f"{c + ' %':>{wide}}" for c in columns[1:]), flush=True)  # fmt: skip
    for name, example in examples(directory).items():
        if options.models and name not in options.models:
            continue
        example.steps = options.steps or example.steps
        if options.grad_comm:
            example.share(options.ranks)
        names = {way: re.sub(r"[^\w.]", "-", way) for way in ways}
        programs = {way: os.path.join(directory, f"{name}-{names[way]}") for way in ways}
        for way, program in programs.items():
            example.compile(options.bin, program, *ways[way])
        if has_start:
            start = programs["fp32"] + "-start"
            command = [programs["fp32"], "--data", example.data, "--steps", "0", "--save", start]
            subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
            rounded = start + ".safetensors"
            round_weights(os.path.join(start, "step-0", "state.safetensors"), rounded)
        percents = []
        for seed in options.seeds:
            losses = [example.train(program, seed, *options.flags) for program in programs.values()]
            if has_start:
                losses.append(example.train(programs["fp32"], seed, *options.flags, "--init", rounded))
            results[f"{name}/{seed}"] = dict(zip(columns, losses))
            percents.append([100 * (loss / losses[0] - 1) for loss in losses[1:]])
            print(f"{name:8} {seed:5} " + " ".join(f"{loss:{width}.4f}" for loss in losses)
                  + " " + " ".join(f"{p:+{wide}.2f}" for p in percents[-1]), flush=True)  # fmt: skip
        if len(percents) > 1:
            figures = [f"{statistics.mean(p):+.2f} ± {statistics.stdev(p) / len(p) ** 0.5:.2f}" for p in zip(*percents)]
            print(
                f"{name:8} {'mean':>5} " + " " * (width + 1) * len(columns) + " ".join(f"{f:>{wide}}" for f in figures),
                flush=True,
            )
    bench.write_json(options.json, results)


if __name__ == "__main__":
    main()
