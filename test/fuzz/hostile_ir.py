# SPDX-License-Identifier: Apache-2.0
"""hostile_ir.py ROOT OUT.mlir [SEED]: functions of the dialect's tests with numbers
replaced by hostile ones, separated for --split-input-file.

Most are invalid. Whatever they are, tools must say so and go on.
"""

import pathlib
import random
import re
import sys

MUTANTS = 1500
NUMBERS = [0, 1, 2, 3, 7, 1000, -1, -7, 2**31 - 1, 2**31, 2**32, 2**53, 2**62, 2**63 - 1, -(2**63)]


def functions(root):
    """The valid functions of the tests of the dialect and of the semantics."""
    for folder in ("dialects/ingot", "interpret"):
        for path in sorted((pathlib.Path(root) / folder).rglob("*.mlir")):
            if path.stem.endswith("-invalid"):
                continue
            for match in re.finditer(r"^func\.func .*?^}\n", path.read_text(), re.DOTALL | re.MULTILINE):
                lines = [line for line in match[0].splitlines() if not line.strip().startswith("//")]
                if "ingot.state" not in match[0] and "dense_resource" not in match[0] and "dense<[" not in match[0]:
                    yield "\n".join(lines)


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


if __name__ == "__main__":
    rng = random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else 5)
    pool = list(functions(sys.argv[1]))
    with open(sys.argv[2], "w", encoding="utf-8") as out:
        out.write("\n// -----\n".join(mutate(rng, rng.choice(pool)) + "\n" for _ in range(MUTANTS)))
