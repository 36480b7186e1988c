# SPDX-License-Identifier: Apache-2.0
"""status_table.py OPS.json: prints docs/reference/status.md, what exists for each op.

OPS.json is what `llvm-tblgen --dump-json` writes of dialects/ingot/Ops.td. The
rest is read from the sources: the headings of docs/spec, the interpreter, the
entry points of the runtimes and the importers of ONNX operators.
"""

import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]

HEAD = """# Status

Generated from `dialects/ingot` and the sources that each column names; edit those, then build the target `ingot-docs`.

| column | meaning |
|---|---|
| spec | the section of the [specification](../spec/README.md) |
| verifier | *own*: constraints in C++; *inferred*: result types are inferred; *types*: constraints of the definition |
| fold | constants and identities are folded |
| gradient | the op has the interface `Differentiable` |
| interpreter | `dialects/reference` computes it |
| CPU, CUDA | *library*: a function of the runtime; *kernel*: generated code; *decomposed*: other ops take its place; \
*calls*: its body is executed as a step is |
| ONNX | operators whose importers make it |

A dash means that there is none, or that there is nothing to do.
"""

COLUMNS = ["op", "spec", "verifier", "fold", "gradient", "interpreter", "CPU", "CUDA", "ONNX"]
NONE = "–"


def code(*patterns):
    """The sources that match, without comments, by path."""
    paths = sorted({path for pattern in patterns for path in ROOT.glob(pattern)})
    if not paths:
        sys.exit(f"error: status_table.py: nothing matches {' '.join(patterns)}\nhint: name where the sources are now")
    return {path: re.sub(r"//[^\n]*", "", path.read_text()) for path in paths}


def mentions(texts, name):
    return any(re.search(rf"\b{name}\b", text) for text in texts)


class Definitions:
    """The ops, as TableGen has them."""

    def __init__(self, path):
        self.records = json.loads(pathlib.Path(path).read_text())
        self.names = self.records["!instanceof"]["Op"]

    def traits(self, references):
        """Names of traits and interfaces, those of trait lists too."""
        for reference in references:
            record = self.records[reference["def"]]
            if "TraitList" in record["!superclasses"]:
                yield from self.traits(record["traits"])
            else:
                yield record.get("cppInterfaceName") or record.get("trait")

    def ops(self):
        """(class, record, traits, family) of each op, in the order of its name."""
        families = {path.name: path.parent.name for path in ROOT.glob("dialects/ingot/*/*.td")}
        for name in sorted(self.names, key=lambda name: self.records[name]["opName"]):
            record = self.records[name]
            file = record["!locs"][0].split(":")[0]
            yield name, record, set(self.traits(record["traits"])), families[file]


class Specification:
    """Sections of docs/spec by the ops in their headings, and the tables that name further ones."""

    def __init__(self):
        self.links = {}
        for page in sorted((ROOT / "docs/spec").glob("*.md")):
            anchor = ""
            for line in page.read_text().splitlines():
                if line.startswith("#"):
                    text = line.lstrip("# ").lower()
                    anchor = re.sub(r"[^\w\- ]", "", text).replace(" ", "-")
                # Headings and the first cells of tables say what a section is about.
                if line.startswith("## ") or (line.startswith("| ") and page.name != "README.md"):
                    subject = line if line.startswith("#") else line.split("|")[1]
                    for name in re.findall(r"`(\w+)`", subject):
                        self.links.setdefault(name, f"[{page.stem}](../spec/{page.name}#{anchor})")

    def link(self, op):
        return self.links.get(op, NONE)


class Importers:
    """Which operators have an importer that makes an op, itself or by functions that it calls."""

    FUNCTION = re.compile(
        r"^( *)(?:\w[^;{}()=]*)\b(\w+)\([^{};]*\{(?:(\n.*?)^\1\}|([^\n]*)\}$)", re.MULTILINE | re.DOTALL
    )
    CALL = re.compile(r"(?<!::)\b(\w+)(?:<[\w:, ]*>)?\(")
    REGISTRATION = re.compile(r'registry\s*\.add\(\s*"((?:[\w.]+::)?\w+)",\s*(\w+)(?:<([\w:,<>\s]+)>)?\s*\)')

    def __init__(self):
        # What all importers share: methods of Node, and what builds ops in general.
        shared = {}
        for text in code(
            "frontends/onnx/**/Node.*", "dialects/ingot/**/Builders.*", "dialects/ingot/**/Arithmetic.h"
        ).values():
            self.read(text, shared)
        self.operators = {}
        for text in code("frontends/onnx/**/ops/**/*.cpp").values():
            functions = {}
            self.read(text, functions)
            functions = {**shared, **functions}
            registrations = self.REGISTRATION.findall(text)
            if len(registrations) != len(re.findall(r"registry\s*\.add\(", text)):
                sys.exit(
                    "error: status_table.py: an importer is registered in a way that it does not read\n"
                    'hint: write registry.add("Operator", importOperator<Arguments>);'
                )
            for operator, function, arguments in registrations:
                called, seen = [function, *re.findall(r"\w+", arguments)], set()
                bodies = [self.body(functions, name, seen) for name in called]
                self.operators[operator] = " ".join([arguments, *bodies])

    def read(self, text, functions):
        """Adds the bodies of functions; overloads are one."""
        for _, name, lines, line in self.FUNCTION.findall(text):
            functions[name] = functions.get(name, "") + lines + line

    def body(self, functions, name, seen):
        """The body of a function and of those that it calls."""
        if name not in functions or name in seen:
            return ""
        seen.add(name)
        text = functions[name]
        return text + "".join(self.body(functions, call, seen) for call in self.CALL.findall(text))

    def cell(self, op, name):
        operators = [key for key, text in self.operators.items() if re.search(rf"\b{name}\b", text)]
        # An operator of the same name goes first.
        operators.sort(key=lambda key: (key.lower() != op.replace("_", ""), key))
        more = f" and {len(operators) - 3} more" if len(operators) > 3 else ""
        return ", ".join(operators[:3]) + more or NONE


class Targets:
    """How a target runs an op."""

    def __init__(self, runtime, passes):
        self.entries = set()
        for text in code(*runtime).values():
            self.entries.update(re.findall(r"^\w+ ingot_(\w+)\(", text, re.MULTILINE))
        self.passes = code(*passes).values()

    def cell(self, op, traits, family):
        # The steps of every target have loops.
        if family == "loop":
            return "calls"
        ways = []
        # Parts of one tensor are operands to the same entry point.
        if op.removeprefix("packed_") in self.entries:
            ways.append("library")
        # The passes of a target may emit code in place of an entry point.
        elif any(f'"ingot_{op}"' in text for text in self.passes):
            ways.append("kernel")
        if traits & {"ScalarBody", "Reduction", "KernelBody"}:
            ways.append("kernel")
        if "Decomposable" in traits:
            ways.append("decomposed")
        return ", ".join(ways) or NONE


def verifier(record, traits):
    if record["hasVerifier"] or record["hasRegionVerifier"]:
        return "own"
    return "inferred" if "InferTypeOpInterface" in traits else "types"


def row(cells):
    return "| " + " | ".join(cells) + " |"


def main():
    interpreter = code("dialects/reference/**/*.cpp").values()
    specification, importers = Specification(), Importers()
    cpu = Targets(["runtime/cpu/**/*.cpp", "runtime/comm/*.cpp"], ["passes/**/cpu/**/*.cpp"])
    cuda = Targets(["runtime/cuda/*.cpp"], ["passes/**/cuda/**/*.cpp"])
    tables = {}
    for name, record, traits, family in Definitions(sys.argv[1]).ops():
        op = record["opName"]
        fold = record["hasFolder"] or record["hasCanonicalizer"] or record["hasCanonicalizeMethod"]
        tables.setdefault(family, []).append([
            f"`{op}`",
            specification.link(op),
            verifier(record, traits),
            "yes" if fold else NONE,
            "yes" if "Differentiable" in traits else NONE,
            "yes" if mentions(interpreter, name) else NONE,
            cpu.cell(op, traits, family),
            cuda.cell(op, traits, family),
            importers.cell(op, name),
        ])  # fmt: skip
    print(HEAD)
    print(f"{sum(map(len, tables.values()))} ops in {len(tables)} families.")
    for family in sorted(tables):
        print(f"\n## {family}\n")
        print("\n".join([row(COLUMNS), "|" + "---|" * len(COLUMNS), *map(row, tables[family])]))


if __name__ == "__main__":
    main()
