# SPDX-License-Identifier: Apache-2.0
"""Edits the step of a rank in the ways in which gradients have been wrong elsewhere, and verifies each.

    edit_step.py STEP.mlir KIND...

STEP is what --ingot-apply-partitions leaves with keep-global. An edit of a kind is made at two places, and each result
has to be rejected with the name of an op or a result. The kinds are functions below.
"""

import re
import subprocess
import sys

NAME = r"%[\w]+(?:#\d+)?"


class Step:
    """The lines of the function of a rank."""

    def __init__(self, text):
        start = text.index("  func.func @train_step(")
        end = text.index("\n  }", start)
        self.before, self.after = text[:start], text[end:]
        self.lines = text[start:end].split("\n")
        self.new = 0

    def text(self):
        return self.before + "\n".join(self.lines) + self.after

    def find(self, pattern):
        return [i for i, line in enumerate(self.lines) if re.search(pattern, line)]

    def result(self, i):
        return re.match(rf"\s*({NAME})", self.lines[i])[1]

    def operands(self, i):
        return re.findall(NAME, self.lines[i].split(" = ", 1)[1])

    def type(self, i):
        """The type of the only result."""
        return re.findall(r"tensor<[^>]*>", self.lines[i])[-1]

    def users(self, name):
        word = re.compile(re.escape(name) + r"(?![\w#])")
        return [i for i, line in enumerate(self.lines) if " = " in line and word.search(line.split(" = ", 1)[1])]

    def replace(self, i, old, new):
        self.lines[i] = re.sub(re.escape(old) + r"(?![\w#])", new, self.lines[i])

    def replace_uses(self, old, new, first):
        for i in range(first, len(self.lines)):
            if " = " in self.lines[i]:
                head, tail = self.lines[i].split(" = ", 1)
                self.lines[i] = head + " = " + re.sub(re.escape(old) + r"(?![\w#])", new, tail)
            else:
                self.replace(i, old, new)

    def insert(self, at, text, kind):
        """Adds an op, and returns the name of its result."""
        self.new += 1
        name = f"%new{self.new}"
        self.lines.insert(at, f"    {name} = ingot.{text} : {kind}")
        return name


def sums(step, kind="sum"):
    return step.find(rf"ingot\.all_reduce {kind} .*over \[tensor\]")


def vectors(step):
    """Sums of the gradients of norms' parameters, which all ranks have."""
    return [i for i in sums(step) if step.type(i) == "tensor<8xf64>"]


def scatters(step):
    return step.find(r"ingot\.reduce_scatter sum .*over \[tensor\]")


def no_sum(step, places):
    """A parameter that all ranks have, used with rows of each: its gradient is not summed (a)."""
    for i in places(vectors(step)):
        step.replace_uses(step.result(i), step.operands(i)[0], i + 1)


def second_sum(step, places):
    """What is summed already is summed once more (b)."""
    for i in places(vectors(step)):
        again = step.insert(i + 1, f"all_reduce sum {step.result(i)} over [tensor]", step.type(i))
        step.replace_uses(step.result(i), again, i + 2)


def gathered_sum(step, places):
    """What all ranks have gathered is summed (b)."""
    for i in places(step.find(r"ingot\.all_gather .*tensor<12x8xf64>$")):
        again = step.insert(i + 1, f"all_reduce sum {step.result(i)} over [tensor]", step.type(i))
        step.replace_uses(step.result(i), again, i + 2)


def bias_on_each(step, places):
    """A bias is added by each rank, before their terms are summed (c)."""

    def has_bias(i):
        users = step.users(step.result(i))
        return (
            re.search(r"ingot\.broadcast %arg\d+ dims = \[1\] : tensor<8xf64>", step.lines[i + 1])
            and len(users) == 1
            and step.result(i + 1) in step.operands(users[0])
            and "ingot.add" in step.lines[users[0]]
        )

    for i in places(filter(has_bias, scatters(step))):
        bias = step.operands(i + 1)[0]
        term, kind = step.operands(i)[0], re.findall(r"tensor<[^>]*>", step.lines[i])[0]
        wide = step.insert(i, f"broadcast {bias} dims = [1]", f"tensor<8xf64> -> {kind}")
        both = step.insert(i + 1, f"add {term}, {wide}", kind)
        step.replace(i + 2, term, both)
        user = step.users(step.result(i + 2))[0]
        step.replace_uses(step.result(user), step.result(i + 2), user + 1)


def before_function(step, places):
    """A function of sums becomes a sum of functions (d)."""
    for i in places(sums(step)):
        first = step.insert(i, f"tanh {step.operands(i)[0]}", step.type(i))
        step.replace(i + 1, step.operands(i + 1)[0], first)


def product_of_terms(step, places):
    """Terms are multiplied by terms (e)."""
    for i in places(scatters(step)):
        term, kind = step.operands(i)[0], re.findall(r"tensor<[^>]*>", step.lines[i])[0]
        square = step.insert(i, f"mul {term}, {term}", kind)
        step.replace(i + 1, term, square)


def counted_by_each(step, places):
    """The square of a gradient that all ranks have is summed over them (f)."""
    for i in places(step.find(r"ingot\.reduce sum .*dims = \[0\].*\(tensor<8xf64>\) -> tensor<f64>")):
        again = step.insert(i + 1, f"all_reduce sum {step.result(i)} over [tensor]", "tensor<f64>")
        step.replace_uses(step.result(i), again, i + 2)


def not_counted_by_all(step, places):
    """Squares of parts are not summed over ranks (f)."""
    for i in places([i for i in sums(step) if step.type(i) == "tensor<f64>"]):
        step.replace_uses(step.result(i), step.operands(i)[0], i + 1)


def tied_once(step, places):
    """A table that is looked up and multiplied by has one of its two gradients (g)."""
    scattered = [step.result(i) for i in step.find(r"ingot\.scatter_add")]
    adds = [i for i in step.find(r"ingot\.add .*tensor<26x8xf64>$") if set(step.operands(i)) & set(scattered)]
    for i in places(adds):
        step.replace_uses(step.result(i), step.operands(i)[step.number], i + 1)


def loss_of_each(step, places):
    """The numbers of the loss are those of a rank (h)."""
    for i in places([i for i in sums(step) if step.type(i) == "tensor<12xf64>"]):
        step.replace_uses(step.result(i), step.operands(i)[0], i + 1)


def stale(step, places):
    """A value from before a block is read instead of that behind it (i)."""
    adds = [i for i in step.find(r"ingot\.add .*tensor<6x8xf64>$") if len(step.users(step.result(i))) > 1]
    for i in places(adds):
        step.replace_uses(step.result(i), step.operands(i)[0], i + 1)


def lost_gradient(step, places):
    """Of a gradient by rows, a rank takes its own part for the sum (j)."""
    for i in places(scatters(step)[-4:]):
        step.lines[i] = step.lines[i].replace("ingot.reduce_scatter sum", "ingot.part")


def other_part(step, places):
    """Rows are those of another dimension (l)."""
    for i in places(step.find(r"ingot\.part .*dim 0 over")):
        number = step.insert(i, "constant dense<0>", "tensor<2xi64>")
        if step.operands(i + 1)[0] != "%arg0":
            step.replace(i + 1, step.operands(i + 1)[0], number)
        else:
            other = step.insert(i, "neg %arg0", "tensor<2x6xi64>")
            step.replace(i + 2, "%arg0", other)


def moved_over_function(step, places):
    """An exchange is moved behind an op that is not linear."""
    for i in places(step.find(r"ingot\.tanh .*tensor<12x8xf64>$")):
        term = step.operands(i)[0]
        part = step.insert(i, f"mul {term}, {term}", step.type(i))
        step.replace(i + 1, term, part)


def maximum(step, places):
    """Terms of a sum are compared."""
    for i in places(scatters(step)):
        step.lines[i] = step.lines[i].replace("reduce_scatter sum", "reduce_scatter max")


def sum_of_maxima(step, places):
    """Maxima are added up, or not compared."""
    for i in places(sums(step, "max")):
        if step.number == 0:
            step.lines[i] = step.lines[i].replace("all_reduce max", "all_reduce sum")
        else:
            step.replace_uses(step.result(i), step.operands(i)[0], i + 1)


def scattered_before_sum(step, places):
    """A tied weight's gradient is scattered before its terms are there: the sum of rows is a rank's."""
    for i in places(step.find(r"ingot\.all_gather .*over \[tensor\]")[-2:]):
        own = step.operands(i)[0]
        kind = re.findall(r"tensor<[^>]*>", step.lines[i])
        twice = step.insert(i, f"concat {own}, {own} dim = 0", f"({kind[0]}, {kind[0]}) -> {kind[1]}")
        step.replace_uses(step.result(i + 1), twice, i + 2)


def other_scatter(step, places):
    """Rows are scattered along another dimension and taken for those of the first."""
    for i in places([i for i in scatters(step) if "tensor<12x8xf64> -> " in step.lines[i]]):
        kind = "tensor<12x4xf64>"
        name = step.insert(
            i, f"reduce_scatter sum {step.operands(i)[0]} dim 1 over [tensor]", f"tensor<12x8xf64> -> {kind}"
        )
        again = step.insert(i + 1, f"reshape {name}", f"{kind} -> tensor<6x8xf64>")
        step.replace_uses(step.result(i + 2), again, i + 3)


def main():
    path, *kinds = sys.argv[1:]
    text = open(path).read()
    names = kinds or [
        name for name, value in globals().items() if callable(value) and getattr(value, "__code__", None)
        and value.__code__.co_varnames[:2] == ("step", "places")
    ]  # fmt: skip
    rejected = 0
    for name in names:
        for number in range(2):
            step = Step(text)
            step.number = number
            found = []

            def places(all_places, number=number, found=found):
                all_places = list(all_places)
                found.extend(all_places)
                # The first, and the last one.
                return [all_places[-number]] if all_places else []

            globals()[name](step, places)
            assert len(found) >= 1, f"{name}: there is no such op"
            assert step.text() != text, f"{name} {number}: nothing is edited"
            result = subprocess.run(
                ["ingot-opt", "-", "--ingot-verify-partition", "-o", "/dev/null"],
                input=step.text(), capture_output=True, text=True,
            )  # fmt: skip
            isRejected = result.returncode != 0 and re.search(
                r"is not what a rank computes|is not what ranks have of the result", result.stderr
            )
            assert isRejected, f"{name} {number} is accepted, or no step:\n{result.stderr[:2000]}"
            rejected += 1
    print(f"{rejected} edits of {len(names)} kinds are rejected")


if __name__ == "__main__":
    main()
