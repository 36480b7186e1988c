# SPDX-License-Identifier: Apache-2.0
"""lint_layout.py [--root FOLDER]: checks the tree against its own rules.

CONTRIBUTING.md states the rules. A violation is one line,

  error: PATH:LINE: WHAT

and each kind of violation ends with one `hint:` line. The exit status is 1 if
there is any. Sizes that are worth a look are warnings. The files are those that git tracks and those that it would.
"""

import argparse
import pathlib
import re
import subprocess
import sys

import figures
import include_cycles
import prose

# Beyond these a reader should ask whether there is more than one responsibility; it is no violation.
MANY_LINES = 800
MANY_FILES = 20
MAX_COLUMNS = 120
MAX_DESIGN_LINES = 80

LICENSE = "SPDX-License-Identifier: Apache-2.0"

# What tools/scripts/format.sh hands to clang-format, and endings of C and C++
# that it would miss.
FORMATTED = {".c", ".cpp", ".h", ".hpp", ".inc"}
UNFORMATTED = {".cc", ".cu", ".cuh", ".cxx", ".def", ".hh", ".hxx", ".ipp", ".tcc", ".tpp"}

SOURCES = FORMATTED | UNFORMATTED | {".td", ".py", ".sh"}
TESTS = {".mlir", ".test"}
BUILD = {".cmake"}

# The top level: folders of the tree, and the files that tools look for there.
FOLDERS = {"dialects", "docs", "frontends", "passes", "runtime", "test", "tools"}
TOP_LEVEL = {
    "CHANGELOG.md",
    "CMakeLists.txt",
    "CMakePresets.json",
    "CONTRIBUTING.md",
    "Dockerfile",
    "LICENSE",
    "README.md",
    "SECURITY.md",
}

# Written by tools from sources that are checked themselves (target ingot-docs).
GENERATED = ("docs/reference/", "docs/abi.md")

GLOSSARY = "docs/glossary.md"

HINTS = {
    "file-size": f"above {MANY_LINES} lines, look for a second responsibility to take out",
    "design-size": "a page of docs/design holds one decision: split it, or move figures to docs/performance",
    "folder-size": f"above {MANY_FILES} sources, or tests, look for a part to give a folder",
    "top-level": "move it into a folder of the tree; a new convention is listed in tools/scripts/lint_layout.py",
    "name-chain": "pass FooBar, option --ingot-foo-bar, FooBar.cpp under passes,"
    " foo-bar.mlir or foo-bar-*.mlir under test/passes",
    "header-name": "name the header after what is in it, so that a search finds one",
    "line-width": f"wrap it: at most {MAX_COLUMNS} columns outside of tables, code blocks and URLs",
    "glossary": f"use the standard term; {GLOSSARY} lists them",
    "stale-reference": "name a path that exists, from the root of the tree; placeholders are in capitals",
    "stale-name": "name a function or a variable that exists, or leave it out",
    "unformatted": f"clang-format sees {' '.join(sorted(FORMATTED))}: use one of these endings",
    "figure": f"correct {figures.FILE}, then run `python tools/scripts/figures.py --write`",
    "doc-comment": "say what it is or does in words that need no name next to them: `The size in bytes.`",
    "version": "CMakeLists.txt has the version; a date is 2026-12-01, or `not released yet`",
    "include-cycle": "includes go one way between folders, and between headers with their sources:"
    " move what both need below them (tools/scripts/include_cycles.py --edges)",
    "license": f"begin the file with a comment, `{LICENSE}`",
}

WARNINGS = {"file-size", "folder-size"}


class Tree:
    """The files of a tree and what is wrong with them."""

    def __init__(self, root):
        self.root = root
        self.errors = {kind: [] for kind in HINTS}
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=root,
            capture_output=True,
            check=True,
        ).stdout.decode()
        self.files = sorted({name for name in listed.split("\0") if name and (root / name).is_file()})
        self.folders = {str(parent) for name in self.files for parent in pathlib.PurePosixPath(name).parents}
        self.texts = {}

    def text(self, name):
        if name not in self.texts:
            self.texts[name] = (self.root / name).read_text(errors="replace")
        return self.texts[name]

    def error(self, kind, name, line, what):
        self.errors[kind].append((name, line, what))

    def is_script(self, name):
        """A program without an ending, as tools/check is."""
        if "." in pathlib.PurePosixPath(name).name or not name.startswith(("tools/", ".ci/", "test/")):
            return False
        with (self.root / name).open("rb") as file:
            return file.read(2) == b"#!"

    def is_source(self, name):
        """Sources, build files and scripts: what carries a license."""
        path = pathlib.PurePosixPath(name)
        return path.suffix in SOURCES | BUILD or path.name == "CMakeLists.txt" or self.is_script(name)


def check_file_sizes(tree):
    for name in tree.files:
        if tree.is_source(name) or pathlib.PurePosixPath(name).suffix in TESTS:
            lines = tree.text(name).count("\n")
            if lines > MANY_LINES:
                tree.error("file-size", name, MANY_LINES + 1, f"{lines} lines")


def check_design_sizes(tree):
    for name in tree.files:
        lines = tree.text(name).count("\n") if name.startswith("docs/design/") and name.endswith(".md") else 0
        if lines > MAX_DESIGN_LINES:
            tree.error("design-size", name, MAX_DESIGN_LINES + 1, f"{lines} lines")


def check_folder_sizes(tree):
    counts = {}
    for name in tree.files:
        path = pathlib.PurePosixPath(name)
        if path.suffix in SOURCES | TESTS:
            counts[str(path.parent)] = counts.get(str(path.parent), 0) + 1
    for folder, count in sorted(counts.items()):
        if count > MANY_FILES:
            tree.error("folder-size", folder, 1, f"{count} sources or tests")


def check_top_level(tree):
    for name in tree.files:
        first = name.split("/")[0]
        known = FOLDERS if "/" in name else TOP_LEVEL
        if first not in known and not first.startswith("."):
            tree.error("top-level", name, 1, f"{first} does not belong to the top level")


def kebab(name):
    """FooBar -> foo-bar"""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "-", name).lower()


def check_name_chain(tree):
    paths = [pathlib.PurePosixPath(name) for name in tree.files]
    sources = {path.name for path in paths if path.parts[0] == "passes"}
    tests = {path.name for path in paths if path.parts[:2] == ("test", "passes")}
    for path in paths:
        if path.parts[0] != "passes" or path.suffix != ".td":
            continue
        text = tree.text(str(path))
        for match in re.finditer(r'^def (\w+)\s*:\s*Pass<\s*"([^"]*)"', text, re.MULTILINE):
            line = text.count("\n", 0, match.start()) + 1
            name, option = match.groups()
            words = kebab(name)
            if option != f"ingot-{words}":
                tree.error("name-chain", path, line, f"pass {name} has the option --{option}")
            if f"{name}.cpp" not in sources:
                tree.error("name-chain", path, line, f"pass {name} has no {name}.cpp")
            if not any(re.fullmatch(rf"{words}(-.*)?\.mlir", test) for test in tests):
                tree.error("name-chain", path, line, f"pass {name} has no test {words}.mlir")


# Each folder of passes declares its own in a Passes.h.
SHARED_HEADERS = {"Passes.h"}


def check_header_names(tree):
    headers = {}
    for name in tree.files:
        path = pathlib.PurePosixPath(name)
        if path.suffix == ".h" and path.name not in SHARED_HEADERS:
            headers.setdefault(path.name.lower(), []).append(name)
    for names in headers.values():
        for name in names[1:]:
            tree.error("header-name", name, 1, f"{names[0]} has the same name")


def check_line_widths(tree):
    for name in tree.files:
        if not name.endswith((".md", ".td")) or name.startswith(GENERATED):
            continue
        for number, line, is_code in prose.fenced(tree.text(name).splitlines()):
            if is_code or line.lstrip().startswith("|"):
                continue
            width = len(re.sub(r"https?://[^\s)>]+", "", figures.ANY_MARK.sub("", line)))
            if width > MAX_COLUMNS:
                tree.error("line-width", name, number, f"{width} columns")


def read_glossary(tree):
    """(pattern, standard term) of each line of the glossary's ```avoid block."""
    if GLOSSARY not in tree.files:
        tree.error("glossary", GLOSSARY, 1, "no such file")
        return []
    text = tree.text(GLOSSARY)
    block = re.search(r"^```avoid\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    if not block:
        tree.error("glossary", GLOSSARY, 1, "no ```avoid block")
        return []
    first = text.count("\n", 0, block.start(1)) + 1
    terms = []
    for number, line in enumerate(block.group(1).splitlines(), first):
        pattern, arrow, term = line.partition(" -> ")
        try:
            if not arrow or not term.strip():
                raise re.error("no ` -> TERM`")
            terms.append((re.compile(pattern.strip(), re.IGNORECASE), term.strip()))
        except re.error as error:
            tree.error("glossary", GLOSSARY, number, f"{line!r}: {error}")
    return terms


def check_glossary(tree):
    terms = read_glossary(tree)
    for name in tree.files:
        if name == GLOSSARY or name.startswith(GENERATED):
            continue
        for paragraph in prose.paragraphs(name, tree.text(name) if prose.is_read(name) else ""):
            for pattern, term in terms:
                for match in pattern.finditer(paragraph.text):
                    line = paragraph.line(match.start())
                    tree.error("glossary", name, line, f"'{match.group()}' should read: {term}")


# Words joined by slashes: a path, if it begins with a folder of the tree.
PATH = re.compile(r"(?<![\w./<$~-])(?:[\w-]+/)+(?:[\w.+-]*\w)?")
LINK = re.compile(r"\]\((?!\w+:)([^)\s]*)\)")
# Names in capitals stand for others: docs/spec/FAMILY.md.
PLACEHOLDER = re.compile(r"(?:^|[/-])(?!README|LICENSE|CHANGELOG|CONTRIBUTING)[A-Z]{2,}(?=$|[./-])")


class References:
    """What a path in prose may refer to."""

    def __init__(self, tree):
        self.files = set(tree.files)
        self.folders = tree.folders
        # A header and its source are named together, without their endings.
        self.stems = {str(pathlib.PurePosixPath(name).with_suffix("")) for name in tree.files}
        self.names = {pathlib.PurePosixPath(folder).name for folder in tree.folders}
        builds = [pathlib.PurePosixPath(name) for name in tree.files if name.endswith("CMakeLists.txt")]
        self.builds = {str(path.parent): tree.text(str(path)) for path in builds}

    def is_built(self, path):
        """Whether the build makes the file: a CMakeLists.txt above it names it."""
        path = pathlib.PurePosixPath(path)
        return path.suffix != "" and any(
            re.search(rf"(?<![\w/.-]){re.escape(str(path.relative_to(folder)))}(?![\w-])", self.builds[str(folder)])
            for folder in path.parents
            if str(folder) in self.builds
        )

    def exists(self, path):
        return path in self.files or path in self.folders or path in self.stems or self.is_built(path)

    def is_stale(self, path):
        path = path.rstrip("/")
        if PLACEHOLDER.search(path) or "/" not in path:
            return False
        first = path.split("/")[0]
        if first in FOLDERS:
            return not self.exists(path)
        # graph/Simplify.cpp: a source, from an inner folder on.
        if first not in self.names or pathlib.PurePosixPath(path).suffix not in SOURCES | TESTS:
            return False
        return not any(name.endswith("/" + path) for name in self.files)


def anchors(text):
    """The anchors that forges give to the headings of a page."""
    headings = re.findall(r"^#+ +(.*?)\s*$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def check_links(tree, name, references):
    folder = pathlib.PurePosixPath(name).parent
    for number, line, is_code in prose.fenced(tree.text(name).splitlines()):
        for target in [] if is_code else LINK.findall(re.sub(r"`[^`]*`", "", line)):
            path, _, anchor = target.partition("#")
            resolved = (tree.root / folder / path).resolve() if path else tree.root / name
            if path and not resolved.exists():
                tree.error("stale-reference", name, number, f"the link {target} leads nowhere")
            elif anchor and resolved.suffix == ".md" and anchor not in anchors(resolved.read_text()):
                tree.error("stale-reference", name, number, f"the link {target} names no heading")


def check_references(tree):
    references = References(tree)
    for name in tree.files:
        if name.endswith(".md"):
            check_links(tree, name, references)
        if not prose.is_read(name) or name.startswith(GENERATED):
            continue
        for paragraph in prose.paragraphs(name, tree.text(name), keep_code=True, messages=False):
            # check_links() looks at links.
            text = LINK.sub(lambda match: " " * len(match.group()), paragraph.text)
            for match in PATH.finditer(text):
                if references.is_stale(match.group()):
                    line = paragraph.line(match.start())
                    tree.error("stale-reference", name, line, f"{match.group()} does not exist")


def check_figures(tree):
    pages = {name: tree.text(name) for name in tree.files if name.endswith(".md") or name == figures.FILE}
    for name, line, what in figures.check(pages):
        tree.error("figure", name, line, what)


# How a doc comment, and the comment at the top of a file, may not begin: they need a name to be read.
HEADLESS = re.compile(r"(Of|Those|That|As|What|The same|Alone|Behind|Beside)\b")
TOP = re.compile(r"\A// .*\n//===-+===//\n//\n// (.*)")


def check_doc_comments(tree):
    for name in tree.files:
        if pathlib.PurePosixPath(name).suffix not in FORMATTED | {".td"}:
            continue
        top = TOP.match(tree.text(name))
        head = HEADLESS.match(top.group(1)) if top else None
        if head:
            tree.error("doc-comment", name, 4, f"the comment at the top begins with '{head.group()}'")
        before = None
        for number, line in enumerate(tree.text(name).splitlines(), 1):
            comment = re.match(r"\s*///<?\s?(.*)", line)
            head = HEADLESS.match(comment.group(1)) if comment and not before else None
            if head:
                tree.error("doc-comment", name, number, f"a doc comment begins with '{head.group()}'")
            before = comment


# A function or a variable in a page: `runStep`, `Class::runStep()`.
NAME = re.compile(r"`(?:\w+::)*([a-z]+[A-Z]\w*)(?:\(\))?`")


def check_names(tree):
    used = {}
    for name in tree.files:
        if name.endswith(".md") and not name.startswith(GENERATED):
            for number, line, is_code in prose.fenced(tree.text(name).splitlines()):
                for match in [] if is_code else NAME.finditer(line):
                    used.setdefault(match.group(1), []).append((name, number))
    known = set()
    for name in tree.files:
        if pathlib.PurePosixPath(name).suffix in SOURCES | {".js"}:
            known.update(re.findall(r"[a-z]+[A-Z]\w*", tree.text(name)) if used else [])
    for word, places in used.items():
        for name, number in places if word not in known else []:
            tree.error("stale-name", name, number, f"no source has the name {word}")


CHANGELOG = "CHANGELOG.md"


def check_version(tree):
    """The first release of the changelog is the version of the build."""
    found = re.search(r"^project\(\w+ VERSION ([\d.]+)", tree.text("CMakeLists.txt"), re.MULTILINE)
    if not found or CHANGELOG not in tree.files:
        return
    text = tree.text(CHANGELOG)
    heading = re.search(r"^## (.*)$", text, re.MULTILINE)
    line = text.count("\n", 0, heading.start()) + 1 if heading else 1
    title = heading.group(1) if heading else "nothing"
    if not re.fullmatch(re.escape(found.group(1)) + r" \((\d{4}-\d\d-\d\d|not released yet)\)", title):
        tree.error("version", CHANGELOG, line, f"'{title}' should be '{found.group(1)} (DATE)'")


def check_endings(tree):
    for name in tree.files:
        suffix = pathlib.PurePosixPath(name).suffix
        if suffix in UNFORMATTED:
            tree.error("unformatted", name, 1, f"clang-format never sees {suffix} files")


def check_licenses(tree):
    for name in tree.files:
        if not tree.is_source(name):
            continue
        lines = tree.text(name).split("\n", 2)
        line = 2 if lines[0].startswith("#!") else 1
        text = lines[line - 1] if len(lines) >= line else ""
        if not re.fullmatch(rf"(//|#) {re.escape(LICENSE)}", text):
            tree.error("license", name, line, "no line that says the license")


def check_include_cycles(tree):
    for kind, members, edges in include_cycles.list_cycles(tree.root):
        tree.error("include-cycle", edges[0][0], 1, f"a cycle of {kind}: {' '.join(members)}")


CHECKS = [
    check_file_sizes,
    check_design_sizes,
    check_folder_sizes,
    check_top_level,
    check_name_chain,
    check_header_names,
    check_line_widths,
    check_glossary,
    check_references,
    check_figures,
    check_names,
    check_version,
    check_doc_comments,
    check_endings,
    check_licenses,
    check_include_cycles,
]


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[2])
    tree = Tree(parser.parse_args(arguments).root.resolve())
    for check in CHECKS:
        check(tree)
    for kind, errors in tree.errors.items():
        for name, line, what in errors:
            print(f"{'warning' if kind in WARNINGS else 'error'}: {name}:{line}: {what}")
        if errors:
            print(f"hint: {HINTS[kind]}")
    return 1 if any(errors for kind, errors in tree.errors.items() if kind not in WARNINGS) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
