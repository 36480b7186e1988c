# SPDX-License-Identifier: Apache-2.0
"""folding.py ORIGINAL.mlir: writes functions that compute with random constants.

folding.py --pair ORIGINAL.mlir FOLDED.mlir: writes one module in which each
original function (`@case_N`) stands beside its folded form, for ingot-eval
--expect. Fails unless nearly all of them folded to constants.

What canonicalization computes must be what the interpreter computes, to the bit:
specials (NaN, infinities, zeros of both signs, denormals, extreme integers) are
drawn often.
"""

import random
import re
import struct
import sys

CASES = 400
FLOATS = {"f16": 16, "bf16": 16, "f32": 32, "f64": 64}
INTEGERS = {"i8": (-128, 127), "ui8": (0, 255), "i32": (-(2**31), 2**31 - 1), "i64": (-(2**63), 2**63 - 1)}
SPECIALS = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, float("inf"), float("-inf"), float("nan"), 1e-40, 6e4, 3e38, 1e300]


def float_bits(value, element):
    """The hexadecimal literal of `value`, rounded by truncation to the format."""
    if value != value:
        return {"f16": "0x7E00", "bf16": "0x7FC0", "f32": "0x7FC00000", "f64": "0x7FF8000000000000"}[element]
    if element == "f64":
        return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"
    if element == "f16":
        try:
            packed = struct.pack("<e", value)
        except OverflowError:
            packed = struct.pack("<e", float("inf") if value > 0 else float("-inf"))
        return f"0x{struct.unpack('<H', packed)[0]:04X}"
    try:
        packed = struct.pack("<f", value)
    except OverflowError:
        packed = struct.pack("<f", float("inf") if value > 0 else float("-inf"))
    bits = struct.unpack("<I", packed)[0]
    return f"0x{bits:08X}" if element == "f32" else f"0x{bits >> 16:04X}"


class Case:
    """Builds one function."""

    def __init__(self, rng, number):
        self.rng, self.number = rng, number
        self.lines, self.names = [], 0

    def value(self, element, tame):
        if element == "i1":
            return self.rng.choice(["true", "false"])
        if element in INTEGERS:
            low, high = INTEGERS[element]
            choices = [0, 1, low, high, self.rng.randint(low, high), self.rng.randint(max(low, -9), 9)]
            return str(self.rng.choice(choices))
        if not tame and self.rng.random() < 0.4:
            return float_bits(self.rng.choice(SPECIALS), element)
        return float_bits(self.rng.gauss(0, 1) * self.rng.choice([1, 10, 0.01] if tame else [1, 100, 1e-3]), element)

    def constant(self, shape, element, tame=False, values=None):
        """A constant; one in four is a splat."""

        def nest(dims):
            if not dims:
                return next(flat)
            return "[" + ", ".join(nest(dims[1:]) for _ in range(dims[0])) + "]"

        count = 1
        for size in shape:
            count *= size
        values = values or (lambda: self.value(element, tame))
        if self.rng.random() < 0.25:
            text = values()
        else:
            flat = iter([values() for _ in range(count)])
            text = nest(shape)
        name = self.new()
        self.lines.append(f"{name} = ingot.constant dense<{text}> : {self.type(shape, element)}")
        return name

    def new(self):
        self.names += 1
        return f"%v{self.names}"

    @staticmethod
    def type(shape, element):
        return "tensor<" + "".join(f"{size}x" for size in shape) + element + ">"

    def shape(self, least=0):
        return [self.rng.randint(1, 4) for _ in range(self.rng.randint(least, 3))]

    def number_element(self):
        return self.rng.choice([*FLOATS, *INTEGERS])

    def any_element(self):
        return self.rng.choice([*FLOATS, *INTEGERS, "i1"])

    def emit(self, text):
        name = self.new()
        self.lines.append(f"{name} = {text}")
        return name

    # One method per op; each returns the result's name and type, and whether
    # the sum's order lets the last bits differ.

    def binary(self):
        op = self.rng.choice(["add", "sub", "mul", "div", "max", "min"])
        element, shape = self.number_element(), self.shape()
        a, b = self.constant(shape, element), self.constant(shape, element)
        t = self.type(shape, element)
        return self.emit(f"ingot.{op} {a}, {b} : {t}"), t, False

    def neg(self):
        element, shape = self.number_element(), self.shape()
        t = self.type(shape, element)
        return self.emit(f"ingot.neg {self.constant(shape, element)} : {t}"), t, False

    def logical(self):
        shape = self.shape()
        t = self.type(shape, "i1")
        a, b = self.constant(shape, "i1"), self.constant(shape, "i1")
        op = self.rng.choice(["and", "or", "xor", "not"])
        return self.emit(f"ingot.{op} {a if op == 'not' else a + ', ' + b} : {t}"), t, False

    def compare(self):
        element, shape = self.any_element(), self.shape()
        a, b = self.constant(shape, element), self.constant(shape, element)
        t, r = self.type(shape, element), self.type(shape, "i1")
        predicate = self.rng.choice("eq ne lt le gt ge".split())
        return self.emit(f"ingot.compare {predicate} {a}, {b} : ({t}, {t}) -> {r}"), r, False

    def select(self):
        element, shape = self.any_element(), self.shape()
        c = self.constant(shape, "i1")
        a, b = self.constant(shape, element), self.constant(shape, element)
        t = self.type(shape, element)
        return self.emit(f"ingot.select {c}, {a}, {b} : {self.type(shape, 'i1')}, {t}"), t, False

    def cast(self):
        source, target, shape = self.any_element(), self.any_element(), self.shape()
        a = self.constant(shape, source)
        s, t = self.type(shape, source), self.type(shape, target)
        return self.emit(f"ingot.cast {a} : {s} -> {t}"), t, False

    def broadcast(self):
        element, to = self.any_element(), self.shape()
        dims = sorted(self.rng.sample(range(len(to)), self.rng.randint(0, len(to))))
        shape = [self.rng.choice([1, to[dim]]) for dim in dims]
        s, t = self.type(shape, element), self.type(to, element)
        return self.emit(f"ingot.broadcast {self.constant(shape, element)} dims = {dims} : {s} -> {t}"), t, False

    def reshape(self):
        element, shape = self.any_element(), self.shape()
        to = list(shape)
        self.rng.shuffle(to)
        to.insert(self.rng.randint(0, len(to)), 1)
        s, t = self.type(shape, element), self.type(to, element)
        return self.emit(f"ingot.reshape {self.constant(shape, element)} : {s} -> {t}"), t, False

    def transpose(self):
        element, shape = self.any_element(), self.shape()
        permutation = list(range(len(shape)))
        self.rng.shuffle(permutation)
        s, t = self.type(shape, element), self.type([shape[i] for i in permutation], element)
        return self.emit(f"ingot.transpose {self.constant(shape, element)} {permutation} : ({s}) -> {t}"), t, False

    def slice(self):
        element, shape = self.any_element(), self.shape()
        starts = [self.rng.randint(0, size - 1) for size in shape]
        limits = [self.rng.randint(start + 1, size) for start, size in zip(starts, shape)]
        strides = [self.rng.randint(1, 3) for _ in shape]
        to = [-(-(limit - start) // stride) for start, limit, stride in zip(starts, limits, strides)]
        s, t = self.type(shape, element), self.type(to, element)
        a = self.constant(shape, element)
        return (
            self.emit(f"ingot.slice {a} starts = {starts} limits = {limits} strides = {strides} : ({s}) -> {t}"),
            t,
            False,
        )

    def pad(self):
        element, shape = self.number_element(), self.shape()
        low, high, interior = ([self.rng.randint(0, 2) for _ in shape] for _ in range(3))
        to = [n + a + b + i * (n - 1) for n, a, b, i in zip(shape, low, high, interior)]
        s, t = self.type(shape, element), self.type(to, element)
        a, value = self.constant(shape, element), self.rng.choice(["0.0", "1.0", "7.0"])
        return (
            self.emit(f"ingot.pad {a} low = {low} high = {high} interior = {interior} value = {value} : ({s}) -> {t}"),
            t,
            False,
        )

    def concat(self):
        element, shape = self.any_element(), self.shape(1)
        dim = self.rng.randrange(len(shape))
        operands, types, total = [], [], 0
        for _ in range(self.rng.randint(1, 3)):
            size = self.rng.randint(1, 3)
            part = shape[:dim] + [size] + shape[dim + 1 :]
            operands.append(self.constant(part, element))
            types.append(self.type(part, element))
            total += size
        t = self.type(shape[:dim] + [total] + shape[dim + 1 :], element)
        return self.emit(f"ingot.concat {', '.join(operands)} dim = {dim} : ({', '.join(types)}) -> {t}"), t, False

    def reverse(self):
        element, shape = self.any_element(), self.shape()
        dims = sorted(self.rng.sample(range(len(shape)), self.rng.randint(0, len(shape))))
        t = self.type(shape, element)
        return self.emit(f"ingot.reverse {self.constant(shape, element)} dims = {dims} : {t}"), t, False

    def gather(self):
        element, shape, chosen = self.any_element(), self.shape(1), self.shape()
        dim, index = self.rng.randrange(len(shape)), self.rng.choice(["i32", "i64"])
        a = self.constant(shape, element)
        i = self.constant(chosen, index, values=lambda: str(self.rng.randint(-2, 5)))
        t = self.type(shape[:dim] + chosen + shape[dim + 1 :], element)
        s, it = self.type(shape, element), self.type(chosen, index)
        return self.emit(f"ingot.gather {a}[{i}] dim = {dim} : ({s}, {it}) -> {t}"), t, False

    def reduce(self):
        element, shape = self.number_element(), self.shape()
        kind = self.rng.choice(["sum", "prod", "max", "min"])
        dims = sorted(self.rng.sample(range(len(shape)), self.rng.randint(0, len(shape))))
        loose = kind in ("sum", "prod") and element in FLOATS
        a = self.constant(shape, element, tame=loose)
        s = self.type(shape, element)
        t = self.type([size for i, size in enumerate(shape) if i not in dims], element)
        return self.emit(f"ingot.reduce {kind} {a} dims = {dims} : ({s}) -> {t}"), t, loose

    OPS = [binary, binary, binary, neg, logical, compare, select, cast, cast, broadcast, reshape,
           transpose, slice, pad, concat, reverse, gather, reduce, reduce]  # fmt: skip

    def text(self):
        result, type_, loose = self.rng.choice(self.OPS)(self)
        attributes = " attributes {loose}" if loose else ""
        body = "\n".join("  " + line for line in self.lines)
        return f"func.func @case_{self.number}() -> {type_}{attributes} {{\n{body}\n  return {result} : {type_}\n}}\n"


def functions(path):
    """Name, result type, whether it is loose, and text, of each function."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    pattern = r"func\.func @(case_\d+)\(\) -> (tensor<[^>]*>)( attributes \{loose\})? \{.*?return.*?\n *\}\n"
    return [(match[1], match[2], bool(match[3]), match[0]) for match in re.finditer(pattern, text, re.DOTALL)]


def pair(original, folded):
    before, after = functions(original), functions(folded)
    assert [f[:3] for f in before] == [f[:3] for f in after] and len(before) == CASES
    computing = [text for *_, text in after if re.search(r"ingot\.(?!constant)", text)]
    assert not computing, "did not fold:\n" + "\n".join(computing)
    for (name, type_, loose, text), (*_, folded_text) in zip(before, after):
        tolerance = " attributes {ingot.tolerance = 1.0e-2}" if loose and "16" in type_ else ""
        tolerance = " attributes {ingot.tolerance = 1.0e-5}" if loose and not tolerance else tolerance
        print(text, folded_text.replace("@case_", "@folded_"))
        print(f"func.func @test_{name}() -> ({type_}, {type_}){tolerance} {{")
        print(f"  %0 = func.call @folded_{name[5:]}() : () -> {type_}")
        print(f"  %1 = func.call @{name}() : () -> {type_}")
        print(f"  return %0, %1 : {type_}, {type_}\n}}")


if __name__ == "__main__":
    if sys.argv[1] == "--pair":
        pair(*sys.argv[2:4])
    else:
        rng = random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else 3)
        with open(sys.argv[1], "w", encoding="utf-8") as out:
            out.writelines(Case(rng, number).text() for number in range(CASES))
