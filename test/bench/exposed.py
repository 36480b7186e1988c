# SPDX-License-Identifier: Apache-2.0
"""Two ranks of one thread over a slow link: how long steps wait for exchanges, measured and predicted.

Steps of `--mesh tensor=2` with exchanges as a whole and in pieces, and of `--zero 3`. The link is that of link.py.
What a step computes is measured without a limit on the link, and is what `ingotc --plan` is given beside the link.
Pieces are kept from the compiler by a latency in its machine's figures with which they would take longer. Needs what
link.py needs.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys

import bench
import link


class Exposed(link.Link):
    def measure_machine(self):
        """The machine's figures; none where other processes disturb, so that built-in ones are taken."""
        path = self.path("exposed-machine.json")
        program = os.path.join(self.options.bin, "ingot-measure")
        if subprocess.run([program, "-o", path], capture_output=True).returncode != 0:
            return {}
        with open(path) as file:
            return json.load(file)

    def machine(self, name, figures, seconds):
        """A file of the figures with those of the link, whose queue both ranks share."""
        path = self.path(f"exposed-{name}.json")
        bandwidth = link.gigabits(self.options.rate) * 1e9 / 8 / 2
        bench.write_json(path, {**figures, "link_seconds": seconds, "link_bandwidth": bandwidth})
        return path

    def build(self):
        self.export(self.options.model)
        self.export(self.options.part)
        seconds = self.options.latency_us / 1e6
        figures = self.measure_machine()
        near = ["--machine", self.machine("near", figures, seconds)]
        far = ["--machine", self.machine("far", figures, 1e3 * seconds)]
        # Where the latency decides, ranks would divide nothing.
        parts = ["--mesh", "tensor=2", "--split-rows", "never", "--bucket-mb", "25"]
        for rule in ("up.weight$=0", "down.weight$=1", "qkv.weight$=0", "out.weight$=1"):
            parts += ["--partition", rule + ":tensor"]
        self.kinds = {
            "tensor, whole": [*parts, *far],
            "tensor, pieces": [*parts, *near],
            "zero 3": ["--data-parallel", "--zero", "3", "--bucket-mb", "2", *near],
        }
        self.trainers = {}
        for number, (kind, flags) in enumerate(self.kinds.items()):
            self.trainers[kind] = self.path(f"exposed-{number}")
            bench.run([*self.ingotc(*flags), "-o", self.trainers[kind]])

    def ingotc(self, *flags):
        model = self.path(self.options.part + ".onnx")
        return [os.path.join(self.options.bin, "ingotc"), model, "--loss", "cross-entropy", *flags, *self.options.flags]

    def steps(self, kind):
        """The median time of a step, the share of steps that waits, and the bytes that rank 0 sends in a step."""
        self.trainer = self.trainers[kind]
        log = self.path("exposed.jsonl")
        self.launch((link.MPI + link.TCP + self.train(log), {}))
        with open(log) as file:
            lines = [json.loads(line) for line in file]
        run, seconds = lines[-1]["stats"], lines[-1]["elapsed_s"]
        step = statistics.median(line["step_ms"] for line in lines[self.options.skip :])
        return step, run["exposed_share"], run["sent_bytes_per_s"] * seconds / len(lines)

    def measure(self):
        """Medians of the rounds for each kind."""
        samples = {kind: [] for kind in self.kinds}
        for _ in range(self.options.rounds):
            for kind in self.kinds:
                samples[kind].append(self.steps(kind))
        return {kind: [statistics.median(values) for values in zip(*runs)] for kind, runs in samples.items()}

    def predict(self, kind, compute):
        """A step of so much computing, and what of it waits, by ingotc --plan."""
        path = self.path("exposed-cluster.json")
        between = {"latency_us": self.options.latency_us, "bandwidth_gbps": link.gigabits(self.options.rate) / 2}
        with open(path, "w") as file:
            json.dump({"ranks": [2], "between": between, "step_ms": compute}, file)
        output, _ = bench.run(self.ingotc(*self.kinds[kind], "--plan", path))
        plan = json.loads(output)[0]
        return plan["step_ms"], plan["exposed_ms"]


def main():
    parser = bench.make_parser(__doc__)
    parser.add_argument("model", nargs="?", default="gpt-mini", help="of models.py, with the batch of both ranks")
    parser.add_argument("--part", default="gpt-mini:4x256", help="the same with the batch of one")
    parser.add_argument("--rate", default="2gbit", help="of the link, as tc has it")
    parser.add_argument("--latency-us", type=float, default=100, help="of a message")
    parser.add_argument("--flags", action="append", default=[], help="a further one of ingotc, with = for its value")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--skip", type=int, default=2, help="first steps that do not count")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.python = os.environ.get("INGOT_TORCH_PYTHON", sys.executable)
    if not options.inside:
        os.execvp("unshare", ["unshare", "-n", sys.executable, os.path.abspath(__file__), "--inside", *sys.argv[1:]])
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    exposed = Exposed(options)
    exposed.build()
    free = exposed.measure()
    shape = ["rate", options.rate, "burst", "1mb", "latency", "50ms"]
    subprocess.run(["tc", "qdisc", "add", "dev", "lo", "root", "tbf", *shape], check=True)
    result = {}
    for kind, (step, share, sent) in exposed.measure().items():
        compute = free[kind][0] * (1 - free[kind][1])
        predicted, waits = exposed.predict(kind, compute)
        result[kind] = {
            "compute_ms": compute, "step_ms": step, "exposed_ms": step - compute, "exposed_share": share,
            "sent_bytes": sent, "predicted_step_ms": predicted, "predicted_exposed_ms": waits,
        }  # fmt: skip
        print(
            f"{kind:15} computes {compute:7.1f} ms, sends {sent / 1e6:6.2f} MB, takes {step:7.1f} ms, exposed"
            f" {step - compute:7.1f}; predicted {predicted:7.1f} and {waits:7.1f}: {step / predicted:.3f}"
        )
    bench.write_json(options.json, result)


if __name__ == "__main__":
    main()
