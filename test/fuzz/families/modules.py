# SPDX-License-Identifier: Apache-2.0
"""Functions of the dialect's tests with numbers replaced by hostile ones. Most are
invalid; whatever they are, tools must say so and go on."""

import functools
import re

from subjects import Module

from families import pool

FUNCTIONS = 40
NUMBERS = [0, 1, 2, 3, 7, 1000, -1, -7, 2**31 - 1, 2**31, 2**32, 2**53, 2**62, 2**63 - 1, -(2**63)]
PASSES = "builtin.module(func.func(canonicalize,ingot-simplify,ingot-decompose,cse,canonicalize))"


@functools.cache
def functions():
    """The valid functions of the tests of the dialect and of the semantics."""
    found = []
    for folder in ("dialects/ingot", "interpret"):
        for path in sorted((pool.ROOT / "test" / folder).rglob("*.mlir")):
            if path.stem.endswith("-invalid"):
                continue
            text = path.read_text(encoding="utf-8")
            for match in re.finditer(r"^func\.func .*?^}\n", text, re.DOTALL | re.MULTILINE):
                lines = [line for line in match[0].splitlines() if not line.strip().startswith("//")]
                if "ingot.state" not in match[0] and "dense_resource" not in match[0] and "dense<[" not in match[0]:
                    found.append("\n".join(lines))
    return found


SIZE = r"(?<=[<x])\d+(?=x)"
ATTRIBUTE = r"(?<=[\[:=, ])-?\d+(?=[\],> ])(?!x)"


def mutate(rng, text):
    """Replaces one to three numbers: an entry of an attribute, or a size wherever it stands, so that types agree."""
    for _ in range(rng.randint(1, 3)):
        pattern, numbers = (SIZE, [n for n in NUMBERS if n >= 0]) if rng.random() < 0.4 else (ATTRIBUTE, NUMBERS)
        places = list(re.finditer(pattern, text))
        if not places:
            continue
        place, number = rng.choice(places), str(rng.choice(numbers))
        if pattern == SIZE:
            text = re.sub(rf"(?<=[<x]){place[0]}(?=x)", number, text)
        else:
            text = text[: place.start()] + number + text[place.end() :]
    return text


def make(rng, _box, _seed):
    mutants = [mutate(rng, rng.choice(functions())) for _ in range(FUNCTIONS)]
    if rng.random() < 0.25:
        return Module("interpreted", mutants[:1], [], program="ingot-eval")
    return Module("hostile numbers", mutants, [f"--pass-pipeline={PASSES}"])
