"""Whether training in 16 bits ends where fp32 does: the two examples, three seeds, equal steps.

Every run draws its order of samples by the seed. The loss of a run is the mean of its last fifth; a figure is that of
bf16 or fp16 over that of fp32, less one. Needs numpy and the compiler; the text is the licences of a Debian machine.
"""

import glob
import json
import os
import subprocess
import sys

import bench

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

    def train(self, program, seed):
        log = program + ".jsonl"
        command = [program, "--data", self.data, "--steps", str(self.steps), "--seed", str(seed), "--log", log]
        subprocess.run([*command, *self.flags], check=True, stderr=subprocess.DEVNULL)
        with open(log) as file:
            losses = [json.loads(line)["loss"] for line in file]
        last = losses[-max(1, len(losses) // 5) :]
        return sum(last) / len(last)


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
    print(f"{'model':8} {'seed':>4} {'fp32':>8} {'bf16':>8} {'fp16':>8} {'bf16 %':>7} {'fp16 %':>7}")
    for name, example in examples(directory).items():
        if options.models and name not in options.models:
            continue
        programs = {precision: os.path.join(directory, f"{name}-{precision}") for precision in PRECISIONS}
        for precision, program in programs.items():
            example.compile(options.bin, program, precision)
        for seed in options.seeds:
            losses = [example.train(programs[precision], seed) for precision in PRECISIONS]
            results[f"{name}/{seed}"] = dict(zip(PRECISIONS, losses))
            percent = [100 * (loss / losses[0] - 1) for loss in losses[1:]]
            print(f"{name:8} {seed:4} " + " ".join(f"{loss:8.4f}" for loss in losses)
                  + " " + " ".join(f"{p:+7.2f}" for p in percent), flush=True)
    bench.write_json(options.json, results)


if __name__ == "__main__":
    main()
