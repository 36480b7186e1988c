# SPDX-License-Identifier: Apache-2.0
"""Convolutions against those of PyTorch, which calls the oneDNN in it: a table of GFLOP/s.

fp32, channels last, one thread, processor time, the best of the rounds, which alternate; --arch holds both to a level.
"""

import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))

import bench  # noqa: E402

DIRECTIONS = ("forward", "input gradient", "filter gradient")


def run_own(folder):
    output, _ = bench.run([os.path.join(folder, "ingot-bench-convolutions"), "4"])
    return [line.split() for line in output.splitlines() if line.split()[0].isdigit()]


def run_peer(python, shapes):
    script = os.path.join(HERE, "convolution_peer.py")
    text = "".join(" ".join(shape) + "\n" for shape in shapes)
    done = subprocess.run([python, script, "1"], input=text, capture_output=True, text=True)
    if done.returncode != 0:
        bench.fail(python, done.stderr.strip()[-300:], "name a Python that has PyTorch")
    *rows, version = done.stdout.splitlines()
    return [row.split() for row in rows], version


def main():
    parser = bench.make_parser(__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--python", default=sys.executable, help="a Python that has PyTorch")
    parser.add_argument("--arch", choices=list(bench.LEVELS), help="the level that all are held to")
    options = parser.parse_args()
    if options.arch and not bench.has(options.arch):
        bench.fail("--arch", f"this machine is none of {options.arch}", "name a level that it has")
    if options.arch:
        bench.limit(options.arch)
    os.environ["OMP_NUM_THREADS"] = "1"
    best, version = {}, ""
    for _ in range(options.rounds):
        own = run_own(options.bin)
        peer, version = run_peer(options.python, [row[:7] for row in own])
        for mine, theirs in zip(own, peer):
            for place, direction in enumerate(DIRECTIONS):
                rates = [float(mine[7 + 3 * place]), float(theirs[7 + place])]
                key = tuple(mine[:7]), direction
                best[key] = [max(pair) for pair in zip(rates, best.get(key, rates))]
    print(f"Ingot / PyTorch's {version}\n")
    print("| convolution | " + " | ".join(DIRECTIONS) + " |\n|---" + "|---" * len(DIRECTIONS) + "|")
    for shape in dict.fromkeys(shape for shape, _ in best):
        count, size, inputs, outputs, kernel, stride, groups = shape
        name = f"{kernel} x {kernel}, {count} x {size} x {size}, {inputs} to {outputs}"
        name += (f", stride {stride}" if stride != "1" else "") + (f", {groups} groups" if groups != "1" else "")
        cells = [" / ".join(f"{rate:.0f}" for rate in best[shape, direction]) for direction in DIRECTIONS]
        print(f"| {name} | " + " | ".join(cells) + " |")
    bench.write_json(options.json, [[*shape, direction, *rates] for (shape, direction), rates in best.items()])


if __name__ == "__main__":
    main()
