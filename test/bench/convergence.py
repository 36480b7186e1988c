"""Whether training in 16 bits ends where fp32 does: the two examples, several seeds, equal steps.

Every run draws its order of samples by the seed. The loss of a run is the mean of its last fifth; a figure is that of
bf16 or fp16 over that of fp32, less one. Training amplifies any difference: `start` is fp32 again, from weights rounded
once to bf16, and says how far two runs of the same precision end from each other. The mean over the seeds has its
standard error beside it. Needs numpy and the compiler; the text is the licences of a Debian machine.
"""

import glob
import json
import os
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

    def __init__(self, model, data, steps, compile_flags, flags):
        self.model, self.data, self.steps = model, data, steps
        self.compile_flags, self.flags = compile_flags, flags

    def compile(self, bin, out, precision):
        command = [os.path.join(bin, "ingotc"), self.model, "-o", out, "--precision", precision]
        subprocess.run([*command, "--loss", "cross-entropy", *self.compile_flags], check=True)

    def train(self, program, seed, *flags):
        log = program + ".jsonl"
        command = [program, "--data", self.data, "--steps", str(self.steps), "--seed", str(seed), "--log", log]
        subprocess.run([*command, *self.flags, *flags], check=True, stderr=subprocess.DEVNULL)
        with open(log) as file:
            losses = [json.loads(line)["loss"] for line in file]
        last = losses[-max(1, len(losses) // 5) :]
        return sum(last) / len(last)


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
            90, ["--batch", "32"], [],
        ),
        "bytes": Example(
            os.path.join(EXAMPLES, "bytes", "bytes.onnx"), text,
            600, ["--batch", "16", "--clip"], ["--lr", "1e-3", *schedule],
        ),
    }  # fmt: skip


def main():
    parser = bench.make_parser(__doc__)
    parser.add_argument("models", nargs="*", help="digits, bytes; both by default")
    parser.add_argument("--seeds", type=int, nargs="*", default=[1, 2, 3])
    options = parser.parse_args()
    directory = os.path.join(bench.ROOT, "build", "convergence")
    os.makedirs(directory, exist_ok=True)
    results = {}
    columns = [*PRECISIONS, "start"]
    print(f"{'model':8} {'seed':>5} " + " ".join(f"{c:>8}" for c in columns)
          + " " + " ".join(f"{c + ' %':>12}" for c in columns[1:]))  # fmt: skip
    for name, example in examples(directory).items():
        if options.models and name not in options.models:
            continue
        programs = {precision: os.path.join(directory, f"{name}-{precision}") for precision in PRECISIONS}
        for precision, program in programs.items():
            example.compile(options.bin, program, precision)
        start = programs["fp32"] + "-start"
        command = [programs["fp32"], "--data", example.data, "--steps", "0", "--save", start]
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
        rounded = start + ".safetensors"
        round_weights(os.path.join(start, "step-0", "state.safetensors"), rounded)
        percents = []
        for seed in options.seeds:
            losses = [example.train(programs[precision], seed) for precision in PRECISIONS]
            losses.append(example.train(programs["fp32"], seed, "--init", rounded))
            results[f"{name}/{seed}"] = dict(zip(columns, losses))
            percents.append([100 * (loss / losses[0] - 1) for loss in losses[1:]])
            print(f"{name:8} {seed:5} " + " ".join(f"{loss:8.4f}" for loss in losses)
                  + " " + " ".join(f"{p:+12.2f}" for p in percents[-1]), flush=True)  # fmt: skip
        if len(percents) > 1:
            figures = [
                f"{statistics.mean(p):+.2f} ± {statistics.stdev(p) / len(p) ** 0.5:.2f}" for p in zip(*percents)
            ]
            print(f"{name:8} {'mean':>5} " + " " * 9 * len(columns) + " ".join(f"{f:>12}" for f in figures), flush=True)
    bench.write_json(options.json, results)


if __name__ == "__main__":
    main()
