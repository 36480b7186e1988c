# SPDX-License-Identifier: Apache-2.0
"""The layout lint passes a small tree that keeps the rules, and finds each way to break one."""

import contextlib
import io
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tools/scripts"))

import lint_layout  # noqa: E402

LICENSE = "SPDX-License-Identifier: Apache-2.0\n"

PASSES = f"""// {LICENSE}
def FoldScales : Pass<"ingot-fold-scales"> {{
  let description = [{{
    Multiplies neighbouring scales, see graph/FoldScales.cpp.
  }}];
}}
"""

GLOSSARY = r"""# Glossary

This page may say zork.

```avoid
\bzorks?\b -> fork
\bmove it along\b -> forward
```
"""

# A tree without a violation.
GOOD = {
    "CMakeLists.txt": f"# {LICENSE}",
    "docs/CMakeLists.txt": f"# {LICENSE}tablegen(passes/graph)\n",
    ".ci/run": f"#!/bin/sh\n# {LICENSE}",
    "README.md": "# Tree\n\nSee [passes](docs/graph.md#the-passes), `passes/graph` and `passes/STAGE/PASS.cpp`.\n",
    "docs/glossary.md": GLOSSARY,
    "docs/graph.md": "# Graph\n\n## The passes\n\nhttps://example.org/" + "x" * 120 + "\n",
    "docs/reference/passes.md": "A generated zork. " + "x" * 120 + "\n",
    "passes/graph/Passes.td": PASSES,
    "passes/graph/FoldScales.cpp": f'// {LICENSE}\n// Folds.\nauto message = "cannot fold";\n',
    "passes/graph/FoldScales.h": f"// {LICENSE}",
    "test/passes/graph/fold-scales.mlir": "// RUN: true\n",
    "tools/run": f"#!/bin/sh\n# {LICENSE}",
    "tools/run.py": f'#!/usr/bin/env python3\n# {LICENSE}"""Runs."""\n',
}


def lint(files):
    """(exit status, output lines) of the lint on a tree of these files."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            path = pathlib.Path(folder) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
        with contextlib.redirect_stdout(io.StringIO()) as output:
            status = lint_layout.main(["--root", folder])
        return status, output.getvalue().splitlines()


class Layout(unittest.TestCase):
    def test_good_tree(self):
        self.assertEqual(lint(GOOD), (0, []))

    def finds(self, what, files, without=()):
        """The tree with `files`, and `without` others, breaks one rule: `what`."""
        tree = {name: text for name, text in {**GOOD, **files}.items() if name not in without}
        status, lines = lint(tree)
        self.assertEqual(status, 1)
        self.assertEqual(lines[:-1], [f"error: {what}"])
        self.assertRegex(lines[-1], r"^hint: \w")

    def warns(self, what, files):
        """The tree with `files` breaks no rule, and gets one warning: `what`."""
        status, lines = lint({**GOOD, **files})
        self.assertEqual(status, 0)
        self.assertEqual(lines[:-1], [f"warning: {what}"])
        self.assertRegex(lines[-1], r"^hint: \w")

    def clean(self, files):
        self.assertEqual(lint({**GOOD, **files}), (0, []))

    def test_header_names(self):
        copy = "runtime/FoldScales.h"
        self.finds(f"{copy}:1: passes/graph/FoldScales.h has the same name", {copy: f"// {LICENSE}"})
        self.clean({"passes/graph/Passes.h": f"// {LICENSE}", "passes/fusion/Passes.h": f"// {LICENSE}"})

    def test_include_cycles(self):
        def including(name):
            return f'// {LICENSE}#include "{name}"\n'

        below = {"runtime/core/A.h": f"// {LICENSE}", "runtime/data/B.h": including("runtime/core/A.h")}
        self.clean(below)
        self.finds(
            "runtime/core/C.h:1: a cycle of folders: runtime/core runtime/data",
            {**below, "runtime/core/C.h": including("runtime/data/B.h")},
        )
        self.finds(
            "runtime/core/D.cpp:1: a cycle of units: runtime/core/D runtime/core/E",
            {
                "runtime/core/D.h": f"// {LICENSE}",
                "runtime/core/D.cpp": including("runtime/core/E.h"),
                "runtime/core/E.h": including("runtime/core/D.h"),
            },
        )

    def test_long_files(self):
        for name, comment in {
            "passes/a.cpp": "//",
            "tools/a.py": "#",
            "tools/a": "#!",
            "docs/CMakeLists.txt": "#",
        }.items():
            head = f"#!/bin/sh\n# {LICENSE}" if comment == "#!" else f"{comment} {LICENSE}"
            full = head + "\n" * (800 - head.count("\n"))
            self.clean({name: full})
            self.warns(f"{name}:801: 801 lines", {name: full + "\n"})
        self.warns("test/passes/a.mlir:801: 802 lines", {"test/passes/a.mlir": "\n" * 802})
        self.clean({"docs/long.md": "\n" * 900})

    def test_long_design_pages(self):
        self.clean({"docs/design/a/b.md": "\n" * 80, "docs/guide.md": "\n" * 81})
        self.finds("docs/design/a/b.md:81: 81 lines", {"docs/design/a/b.md": "\n" * 81})

    def test_full_folders(self):
        sources = {f"runtime/core/S{n}.{end}": f"// {LICENSE}" for n in range(10) for end in ("h", "cpp")}
        self.clean(sources)
        self.warns("runtime/core:1: 21 sources or tests", {**sources, "runtime/core/More.cpp": f"// {LICENSE}"})
        tests = {f"test/interpret/t{n}.mlir": "" for n in range(21)}
        self.warns("test/interpret:1: 21 sources or tests", tests)
        self.clean({f"docs/design/d{n}.md": "" for n in range(20)})

    def test_top_level(self):
        self.finds("lib/a.txt:1: lib does not belong to the top level", {"lib/a.txt": ""})
        self.finds("NOTES.md:1: NOTES.md does not belong to the top level", {"NOTES.md": ""})

    def test_name_chain(self):
        at = "passes/graph/Passes.td:3: pass FoldScales"
        renamed = PASSES.replace("ingot-fold-scales", "ingot-scales")
        self.finds(f"{at} has the option --ingot-scales", {"passes/graph/Passes.td": renamed})
        moved = {"passes/graph/Scales.cpp": f"// {LICENSE}"}
        described = {"passes/graph/Passes.td": PASSES.replace(", see graph/FoldScales.cpp", "")}
        self.finds(f"{at} has no FoldScales.cpp", {**moved, **described}, without=["passes/graph/FoldScales.cpp"])
        test = ["test/passes/graph/fold-scales.mlir"]
        self.finds(f"{at} has no test fold-scales.mlir", {}, without=test)
        self.finds(f"{at} has no test fold-scales.mlir", {"test/passes/graph/fold-scalesome.mlir": ""}, without=test)
        self.assertEqual(lint({name: text for name, text in GOOD.items() if name != test[0]} | {
            "test/passes/graph/fold-scales-invalid.mlir": "",
        }), (0, []))  # fmt: skip

    def test_wide_lines(self):
        wide = "word " * 24 + "x"
        self.finds("docs/a.md:2: 121 columns", {"docs/a.md": f"\n{wide}\n"})
        self.clean({"docs/a.md": f"{wide[1:]}\n```text\n{wide}\n```\n\n| {wide} |\n"})
        described = PASSES.replace("    Multiplies", f"    ```mlir\n    {wide}\n    ```\n    Multiplies")
        self.clean({"passes/graph/Passes.td": described})
        wider = PASSES.replace("\n\n", f"\n// {wide}\n", 1)
        self.finds("passes/graph/Passes.td:2: 124 columns", {"passes/graph/Passes.td": wider})

    def test_words(self):
        self.finds("docs/a.md:1: 'Zorks' should read: fork", {"docs/a.md": "Zorks\n"})
        self.finds("docs/a.md:2: 'move it along' should read: forward", {"docs/a.md": "Do\nmove it\nalong.\n"})
        self.clean({"docs/a.md": "`zork`\n\n```text\nzork\n```\n- move it\n- along\n"})
        for name, text, line in [
            ("passes/a.h", "/// To move\n/// it along.\nint a;\n", 2),
            ("passes/a.cpp", "/* One\n zork. */\n", 3),
            ("passes/a.cpp", "char a = '\"'; // A zork.\n", 2),
            ("passes/a.cpp", 'f("move it "\n  "along");\n', 2),
            ("passes/a.cpp", "f(1'000, \"a zork\", 1'000);\n", 2),
            ("passes/a.cpp", 'auto x = R"(a\nzork)";\n', 3),
            ("passes/a.td", "let description = [{\n  To move\n  it along.\n}];\n", 3),
            ("passes/a.td", 'let summary = "is a zork";\n', 2),
        ]:
            with self.subTest(text):
                status, lines = lint({**GOOD, name: f"// {LICENSE}{text}"})
                self.assertEqual((status, [error.split(": ")[1] for error in lines[:-1]]), (1, [f"{name}:{line}"]))
        for text, line in [
            ('"""Doc.\n\nA zork.\n"""\n', 4),
            ('x = """A\nzork."""\n', 3),
            ("x = 1  # zork\n", 2),
            ("f('a ' 'zork')\n", 2),
        ]:
            with self.subTest(text):
                status, lines = lint({**GOOD, "tools/a.py": f"# {LICENSE}{text}"})
                self.assertEqual((status, [error.split(": ")[1] for error in lines[:-1]]), (1, [f"tools/a.py:{line}"]))
        self.clean({"passes/a.cpp": f"// {LICENSE}int zork = 1'0; // Not `zork`.\nint move, it; // move\nint along;\n"})

    def test_glossary(self):
        self.finds("docs/glossary.md:1: no such file", {}, without=["docs/glossary.md"])
        self.finds("docs/glossary.md:1: no ```avoid block", {"docs/glossary.md": "# Glossary\n"})
        for pattern in ("(zork -> fork", "zork"):
            text = GLOSSARY.replace("```avoid\n", f"```avoid\n{pattern}\n")
            status, lines = lint({**GOOD, "docs/glossary.md": text})
            self.assertEqual((status, len(lines)), (1, 2))
            self.assertTrue(lines[0].startswith(f"error: docs/glossary.md:6: '{pattern}': "), lines)

    def test_stale_references(self):
        for text, what in {
            "[x](gone.md)": "the link gone.md leads nowhere",
            "[x](graph.md#gone)": "the link graph.md#gone names no heading",
            "`passes/gone`": "passes/gone does not exist",
            "`docs/tablegen`": "docs/tablegen does not exist",
            "as passes/graph/Gone.cpp does": "passes/graph/Gone.cpp does not exist",
            "in graph/Gone.h:12": "graph/Gone.h does not exist",
            "`docs/gone/README.md`": "docs/gone/README.md does not exist",
            "`passes/List.txt`": "passes/List.txt does not exist",
        }.items():
            with self.subTest(text):
                self.finds(f"docs/a.md:1: {what}", {"docs/a.md": text + "\n"})
        for name, comment in {"passes/a.h": "///", "passes/a.td": "//", "tools/a.py": "#"}.items():
            text = f"{comment[:2]} {LICENSE}{comment} See runtime/gone, which loads.\n"
            self.finds(f"{name}:2: runtime/gone does not exist", {name: text})
        self.clean({
            "docs/a.md": "[a](../README.md) [b](https://example.org/gone) `passes/graph/FoldScales` "
            "`docs/spec/FAMILY.md`\npasses/graph/ graph/FoldScales.h and/or mlir/IR/Gone.h\n"
            "```text\npasses/gone\n```\n",
            "passes/a.cpp": f'// {LICENSE}auto a = "passes/gone";\n',
            "tools/a.py": f'# {LICENSE}A = """passes/gone"""\n',
            "passes/b.cpp": f"// {LICENSE}// See passes/graph/Made.h.inc.\n",
            "passes/graph/CMakeLists.txt": f"# {LICENSE}tablegen(Made.h.inc)\n",
        })  # fmt: skip

    def test_figures(self):
        figures = {
            "docs/performance/figures.toml": "[gpu]\nmachine = 'M'\ndate = 2026-11-27\ncommand = 'C'\n"
            "page = 'docs/gpu.md'\n[gpu.figures]\nstep = { value = '1,016.8', unit = 'ms', what = 'step' }\n",
            "docs/gpu.md": "| <!-- figure gpu.step -->**1,016.8** |\n",
            "docs/a.md": "It takes <!-- figure gpu.step -->1,016.8.\n",
        }
        self.clean(figures)
        for text, what in {
            "1,016.9": "gpu.step is 1,016.8, not 1,016.9",
            "1,016.85": "gpu.step is 1,016.8, not 1,016.85",
            "about 1": "no number follows <!-- figure gpu.step -->",
        }.items():
            changed = {"docs/b.md": f"\n<!-- figure gpu.step -->{text} ms\n"}
            self.finds(f"docs/b.md:2: {what}", {**figures, **changed})
        self.finds(
            "docs/b.md:1: docs/performance/figures.toml has no figure gpu.gone",
            {**figures, "docs/b.md": "<!-- figure gpu.gone -->1\n"},
        )
        file = "docs/performance/figures.toml:6:"
        self.finds(f"{file} docs/gpu.md does not quote gpu.step", {**figures, "docs/gpu.md": "1,016.8\n"})
        self.finds(f"{file} no page but docs/gpu.md quotes gpu.step: take it out", {**figures, "docs/a.md": "1\n"})
        read = figures["docs/performance/figures.toml"].replace("'step' }", "'step', pattern = 'takes ([0-9.]+) ms' }")
        generated = {**figures, "docs/performance/figures.toml": read, "docs/gpu.md": "It takes 1016.8 ms\n"}
        self.clean(generated)
        self.finds(
            f"{file} gpu.step is 1,016.8, and docs/gpu.md has 1017",
            {**generated, "docs/gpu.md": "It takes 1017 ms\n"},
        )
        lacking = figures["docs/performance/figures.toml"].replace("unit = 'ms', ", "").replace("command = 'C'\n", "")
        status, lines = lint({**GOOD, **figures, "docs/performance/figures.toml": lacking})
        self.assertEqual((status, [line.split(": ", 1)[1] for line in lines[:-1]]), (1, [
            "docs/performance/figures.toml:1: [gpu] lacks command",
            "docs/performance/figures.toml:6: gpu.step lacks unit",
        ]))  # fmt: skip
        broken = {**figures, "docs/performance/figures.toml": "[gpu\n"}
        self.assertEqual(lint({**GOOD, **broken})[0], 1)
        wide = "word " * 22 + "<!-- figure gpu.step -->1,016.8"
        self.clean({**figures, "docs/b.md": f"{wide}\n"})

    def test_doc_comments(self):
        for head in ("Of one call.", "What a step costs.", "Those of a rank.", "As above.", "The same for rows."):
            words = re.match("The same|\\w+", head).group()
            what = f"passes/a.h:2: a doc comment begins with '{words}'"
            self.finds(what, {"passes/a.h": f"// {LICENSE}/// {head}\nint a;\n"})
        self.finds(
            "passes/a.td:3: a doc comment begins with 'What'",
            {"passes/a.td": f"// {LICENSE}\n/// What a loop has.\ndef A;\n"},
        )
        rule = "//===---===//\n"
        self.finds(
            "passes/a.h:4: the comment at the top begins with 'What'",
            {"passes/a.h": f"// {LICENSE}{rule}//\n// What a step costs.\n//\n{rule}"},
        )
        self.clean({"passes/a.h": f"// {LICENSE}{rule}//\n// The cost of a step.\n//\n{rule}"})
        self.clean({
            "passes/a.h": f"// {LICENSE}/// The bytes\n/// of one call.\n/// What follows is read.\nint a;\n"
            "// What is left.\n/// Often, Asymmetric or Whatever.\nint b;\n",
        })  # fmt: skip

    def test_version(self):
        build = {"CMakeLists.txt": f"# {LICENSE}project(tree VERSION 1.2.0 LANGUAGES C)\n"}
        for title in ("1.2.0 (not released yet)", "1.2.0 (2026-12-01)"):
            self.clean({**build, "CHANGELOG.md": f"# Changes\n\n## {title}\n\n## 1.1.0 (2026-11-01)\n"})
        for title in ("Unreleased", "1.2.1 (not released yet)", "1.2.0", "11.2.0 (2026-12-01)"):
            what = f"CHANGELOG.md:3: '{title}' should be '1.2.0 (DATE)'"
            self.finds(what, {**build, "CHANGELOG.md": f"# Changes\n\n## {title}\n"})
        self.finds("CHANGELOG.md:1: 'nothing' should be '1.2.0 (DATE)'", {**build, "CHANGELOG.md": "# Changes\n"})

    def test_stale_names(self):
        source = {"passes/a.cpp": f"// {LICENSE}void runStep();\n"}
        self.clean(
            {**source, "docs/a.md": "`runStep`, `A::runStep()`, `RunOther`, `run_other`\n```text\n`runOther`\n```\n"}
        )
        for text in ("`runOther`", "`Class::runOther()`"):
            what = "docs/a.md:2: no source has the name runOther"
            self.finds(what, {**source, "docs/a.md": f"\nSee {text}.\n"})

    def test_unformatted_files(self):
        for end in ("hh", "cc", "cu"):
            name = f"passes/a.{end}"
            self.finds(f"{name}:1: clang-format never sees .{end} files", {name: f"// {LICENSE}"})
        self.clean({"passes/a.inc": f"// {LICENSE}"})

    def test_licenses(self):
        for name in ("passes/a.cpp", "passes/a.inc", "passes/a.td", "tools/a.py", "tools/a.sh", "tools/a.cmake"):
            self.finds(f"{name}:1: no line that says the license", {name: "int x;\n"})
        self.finds("docs/CMakeLists.txt:1: no line that says the license", {"docs/CMakeLists.txt": ""})
        self.finds("tools/a:2: no line that says the license", {"tools/a": "#!/bin/sh\n"})
        self.finds("passes/a.h:1: no line that says the license", {"passes/a.h": f"\n// {LICENSE}"})
        self.finds("passes/a.h:1: no line that says the license", {"passes/a.h": f"// {LICENSE[:-4]}\n"})


if __name__ == "__main__":
    unittest.main()
