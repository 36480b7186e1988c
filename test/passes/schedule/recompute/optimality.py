# SPDX-License-Identifier: Apache-2.0
"""Recomputation against the optimum: random training graphs under budgets, and the same as integer programs.

A graph is a chain of forward values with links to earlier ones, a loss, and a chain of gradients that read them. The
program may compute any forward value again, as often as it likes, before any gradient ("Checkmate", Jain et al.,
2020); it minimizes the time of that where no more is in memory than the plan's peak. Solved by HiGHS.
"""

import argparse
import random
import re
import subprocess
import sys
import tempfile

import highspy
import numpy

MACHINE = {"vector_f32": 1e9, "memory_bandwidth": 1e18, "cache_bandwidth": 1e18, "launch_seconds": 1e-15}
ALIGNMENT = 64
# Of the solver's search tree.
MOST_NODES = 200
# The plans' time over the optimum's that is too much.
TOLERANCE = 1.05


class Graph:
    """Forward values 0..n-1, then gradients n-1..0. Sizes in elements, weights in operations an element."""

    def __init__(self, seed, n):
        draw = random.Random(seed)
        self.n = n
        self.size = [16 * draw.randint(4, 64) for _ in range(n)]
        self.gradient_size = [16 * draw.randint(1, 8) for _ in range(n)]
        self.weight = [draw.choice([1, 2, 4, 8, 16]) for _ in range(n)]
        self.reads = [
            [i - 1] + [j for j in range(max(0, i - 4), i - 1) if draw.random() < 0.25] if i else [] for i in range(n)
        ]
        self.gradient_reads = [sorted({i} | {j for j in self.reads[i] if draw.random() < 0.7}) for i in range(n)]

    def text(self):
        lines = []

        def fusion(result, size, operands, weight):
            """A kernel whose elements all read the first element of each operand."""
            types = ", ".join(f"tensor<{count}xf32>" for _, count in operands)
            names = ", ".join(name for name, _ in operands)
            lines.append(f"%{result} = ingot.fusion loop({names}) : ({types}) -> tensor<{size}xf32> {{")
            lines.append("^bb0(" + ", ".join(f"%a{k}: tensor<{c}xf32>" for k, (_, c) in enumerate(operands)) + "):")
            for k, (_, count) in enumerate(operands):
                lines.append(
                    f"%s{k} = ingot.slice %a{k} starts = [0] limits = [1] strides = [1] : "
                    f"(tensor<{count}xf32>) -> tensor<1xf32>"
                )
                lines.append(f"%r{k} = ingot.reshape %s{k} : tensor<1xf32> -> tensor<f32>")
                lines.append(f"%b{k} = ingot.broadcast %r{k} dims = [] : tensor<f32> -> tensor<{size}xf32>")
            lines.append(f"%w0 = ingot.add %b0, %b{len(operands) - 1} : tensor<{size}xf32>")
            for k in range(1, weight):
                lines.append(f"%w{k} = ingot.add %w{k - 1}, %b{k % len(operands)} : tensor<{size}xf32>")
            lines.append(f'ingot.yield %w{weight - 1} : tensor<{size}xf32>\n}} loc("{result}")')

        for i in range(self.n):
            operands = [(f"%f{j}", self.size[j]) for j in self.reads[i]] or [("%x", 16)]
            fusion(f"f{i}", self.size[i], operands, self.weight[i])
        last = self.n - 1
        lines.append(
            f"%loss = ingot.fusion reduction(%f{last}) : (tensor<{self.size[last]}xf32>) -> tensor<f32> {{\n"
            f"^bb0(%a: tensor<{self.size[last]}xf32>):\n"
            f"%0 = ingot.reduce sum %a dims = [0] : (tensor<{self.size[last]}xf32>) -> tensor<f32>\n"
            "ingot.yield %0 : tensor<f32>\n}"
        )
        lines.append("%start = ingot.reshape %loss : tensor<f32> -> tensor<1xf32>")
        previous = ("%start", 1)
        for i in reversed(range(self.n)):
            operands = [previous] + [(f"%f{j}", self.size[j]) for j in self.gradient_reads[i]]
            fusion(f"g{i}", self.gradient_size[i], operands, 1)
            previous = (f"%g{i}", self.gradient_size[i])
        machine = ", ".join(f"{name} = {value:e} : f64" for name, value in MACHINE.items())
        body = "\n".join(lines)
        return (
            f"module attributes {{ingot.machine = {{{machine}}}}} {{\n"
            'func.func @train_step(%x: tensor<16xf32> {ingot.kind = "data", ingot.name = "x"})\n'
            f'-> (tensor<f32> {{ingot.name = "loss"}}, tensor<{previous[1]}xf32> {{ingot.name = "y"}}) {{\n'
            f"{body}\nreturn %loss, {previous[0]} : tensor<f32>, tensor<{previous[1]}xf32>\n}}\n}}\n"
        )

    def seconds(self, i):
        return self.size[i] * self.weight[i] / MACHINE["vector_f32"]

    def optimum(self, peak):
        """The least seconds of recomputation with at most `peak` bytes, and whether that is proven; a bound if not."""
        program = Program()
        n = self.n
        # Sizes in units of the alignment.
        unit = [4 * size // ALIGNMENT for size in self.size]
        gradient = [-(-4 * size // ALIGNMENT) for size in self.gradient_size]
        capacity = peak // ALIGNMENT

        def constrain(row, lower=-highspy.kHighsInf, upper=highspy.kHighsInf):
            program.rows.append((row, lower, upper))

        # live[i]: the variable that says whether value i is in memory now.
        live = {}

        def step(made, needed, fixed):
            """One kernel: makes value `made` if that variable says so, which needs others."""
            now = {}
            for i in set(live) | ({made[0]} if made else set()):
                now[i] = program.add(0, 1)
                row = [(now[i], 1)] + ([(live[i], -1)] if i in live else [])
                if made and made[0] == i:
                    row.append((made[1], -1))
                    constrain([(now[i], 1), (made[1], -1)], lower=0)
                constrain(row, upper=0)
            runs = made[1] if made else None
            for i in needed:
                row = [(now[i], 1)] + ([(runs, -1)] if runs is not None else [])
                constrain(row, lower=0 if runs is not None else 1)
            constrain([(now[i], unit[i]) for i in now], upper=capacity - fixed)
            live.clear()
            live.update(now)

        # x, of one unit, is there throughout; so is the loss, from its kernel on.
        for i in range(n):
            step((i, program.add(1, 1)), self.reads[i], 1)
        step(None, [n - 1], 2)
        before = 0
        for t in reversed(range(n)):
            # What no gradient from here on needs is of no use.
            useful, work = set(), [j for s in range(t + 1) for j in self.gradient_reads[s]]
            while work:
                i = work.pop()
                if i not in useful:
                    useful.add(i)
                    work += self.reads[i]
            for i in sorted(useful):
                step((i, program.add(0, 1, self.seconds(i), integral=True)), self.reads[i], 2 + before)
            step(None, self.gradient_reads[t], 2 + before + gradient[t])
            before = gradient[t]
        return program.solve()


class Program:
    def __init__(self):
        self.lower, self.upper, self.cost, self.integral, self.rows = [], [], [], [], []

    def add(self, lower, upper, cost=0.0, integral=False):
        self.lower.append(lower)
        self.upper.append(upper)
        self.cost.append(1e6 * cost)
        self.integral.append(integral)
        return len(self.cost) - 1

    def solve(self):
        model = highspy.HighsModel()
        lp = model.lp_
        lp.num_col_, lp.num_row_ = len(self.cost), len(self.rows)
        lp.col_cost_, lp.col_lower_, lp.col_upper_ = map(numpy.array, (self.cost, self.lower, self.upper))
        lp.row_lower_ = numpy.array([lower for _, lower, _ in self.rows])
        lp.row_upper_ = numpy.array([upper for _, _, upper in self.rows])
        lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        lp.a_matrix_.start_ = numpy.cumsum([0] + [len(row) for row, _, _ in self.rows])
        lp.a_matrix_.index_ = numpy.array([column for row, _, _ in self.rows for column, _ in row])
        lp.a_matrix_.value_ = numpy.array([float(value) for row, _, _ in self.rows for _, value in row])
        kinds = highspy.HighsVarType
        lp.integrality_ = [kinds.kInteger if integral else kinds.kContinuous for integral in self.integral]
        solver = highspy.Highs()
        solver.setOptionValue("output_flag", False)
        # Not seconds: the same bounds on every machine.
        solver.setOptionValue("mip_max_nodes", MOST_NODES)
        solver.setOptionValue("mip_rel_gap", 1e-3)
        solver.passModel(model)
        solver.run()
        status = solver.getModelStatus()
        if status == highspy.HighsModelStatus.kInfeasible:
            return None, True
        return 1e-6 * solver.getInfo().mip_dual_bound, status == highspy.HighsModelStatus.kOptimal


def plan(opt, text, budget):
    """The planned peak in bytes and the seconds of recomputation; the smallest possible peak if it does not fit."""
    with tempfile.NamedTemporaryFile(suffix=".yaml") as remarks:
        result = subprocess.run(
            [
                opt,
                "-",
                f"--ingot-rematerialize=memory-budget={budget}",
                "--remarks-filter=.*",
                "--remark-format=yaml",
                f"--remarks-output-file={remarks.name}",
            ],
            input=text,
            capture_output=True,
            text=True,
        )
        smallest = re.search(r"smallest possible is (\d+) bytes", result.stderr)
        if smallest:
            return int(smallest[1]), None
        if result.returncode:
            sys.exit(result.stderr)
        found = open(remarks.name).read()
    peak = re.search(r"peak_bytes: +'?(\d+)", found)
    seconds = re.search(r"recomputed_seconds: +'?([-+.0-9e]+)", found)
    return int(peak[1]), float(seconds[1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--opt", required=True, help="ingot-opt")
    parser.add_argument("--graphs", type=int, default=12)
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    planned = best = 0
    for seed in range(options.graphs):
        graph = Graph(seed, 4 + 7 * seed % 16)
        text = graph.text()
        most, _ = plan(options.opt, text, 1 << 40)
        least, _ = plan(options.opt, text, 1)
        for share in (0.3, 0.7):
            peak, seconds = plan(options.opt, text, least + int(share * (most - least)))
            optimum, is_proven = graph.optimum(peak)
            if optimum is None:
                sys.exit(f"graph {seed}: the program is infeasible at {peak} bytes")
            planned, best = planned + seconds, best + optimum
            if options.verbose:
                print(
                    f"graph {seed}: {2 * graph.n + 1} values, {peak} of {most} bytes (least {least}): "
                    f"{1e6 * seconds:.3f} us, optimum {1e6 * optimum:.3f}{'' if is_proven else ' or more'}",
                    flush=True,
                )
    print(f"{planned / best:.4f} of the optimum's time")
    if planned > TOLERANCE * best:
        sys.exit(f"error: recomputation takes more than {TOLERANCE} of the optimum's time")


if __name__ == "__main__":
    main()
