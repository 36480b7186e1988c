# SPDX-License-Identifier: Apache-2.0
"""figures.py [--root FOLDER] [--write]: compares quoted figures with docs/performance/figures.toml.

A page quotes a figure behind a mark, `<!-- figure GROUP.NAME -->16.86`. The lint calls check(); this program does
the same, and with --write puts the values of the file behind the marks first.
"""

import argparse
import pathlib
import re
import sys
import tomllib

FILE = "docs/performance/figures.toml"

MARK = re.compile(r"<!-- figure (?P<name>[\w-]+\.[\w-]+) -->(?P<before>\**)(?P<value>\d[\d.,]*\d|\d)")
# What looks like a mark, with anything behind it.
ANY_MARK = re.compile(r"<!--\s*figure\b.*?-->")

GROUP = {"machine", "date", "command", "page", "figures"}
FIGURE = {"value", "unit", "what"}


class Figures:
    """What the file says, and where pages quote it."""

    def __init__(self, text):
        self.text = text
        self.values = {}
        self.problems = []
        try:
            self.groups = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            self.groups = {}
            self.problems.append((FILE, 1, str(error)))
        for group, fields in self.groups.items():
            if missing := GROUP - set(fields):
                self.problem(f"[{group}]", f"[{group}] lacks {', '.join(sorted(missing))}")
            for name, figure in fields.get("figures", {}).items():
                if missing := FIGURE - set(figure):
                    self.problem(f"{name} =", f"{group}.{name} lacks {', '.join(sorted(missing))}")
                self.values[f"{group}.{name}"] = str(figure.get("value", ""))

    def problem(self, words, what):
        """Something is wrong with the line of the file that has these words."""
        line = self.text.count("\n", 0, max(self.text.find(words), 0)) + 1
        self.problems.append((FILE, line, what))

    def check_page(self, name, text, quoted):
        """Looks at the marks of a page, and adds the names that it quotes to `quoted`."""
        marks = {match.start(): match for match in MARK.finditer(text)}
        for match in ANY_MARK.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            mark = marks.get(match.start())
            if not mark:
                self.problems.append((name, line, f"no number follows {match.group()}"))
            elif mark["name"] not in self.values:
                self.problems.append((name, line, f"{FILE} has no figure {mark['name']}"))
            else:
                quoted.add((mark["name"], name))
                if mark["value"] != self.values[mark["name"]]:
                    what = f"{mark['name']} is {self.values[mark['name']]}, not {mark['value']}"
                    self.problems.append((name, line, what))

    def check_sources(self, pages, quoted):
        """Each figure is on the page that describes its measurement, and on another one."""
        for group, fields in self.groups.items():
            source = fields.get("page", "")
            for name, figure in fields.get("figures", {}).items():
                full = f"{group}.{name}"
                if pattern := figure.get("pattern"):
                    found = re.search(pattern, pages.get(source, ""))
                    if not found or found.group(1).replace(",", "") != self.values[full].replace(",", ""):
                        what = f"has {found.group(1)}" if found else f"has nothing like {pattern}"
                        self.problem(f"[{group}.figures]", f"{full} is {self.values[full]}, and {source} {what}")
                elif (full, source) not in quoted:
                    self.problem(f"[{group}.figures]", f"{source} does not quote {full}")
                if not any(figure == full and page != source for figure, page in quoted):
                    self.problem(f"[{group}.figures]", f"no page but {source} quotes {full}: take it out")


def check(pages):
    """(page, line, what is wrong) of pages by their names, the file of figures among them."""
    figures = Figures(pages.get(FILE, ""))
    quoted = set()
    for name, text in pages.items():
        if name != FILE:
            figures.check_page(name, text, quoted)
    figures.check_sources(pages, quoted)
    return figures.problems


def write(text, values):
    """The page with the values of the file behind its marks."""
    return MARK.sub(
        lambda match: match.group()[: match.start("value") - match.start()] + values.get(match["name"], match["value"]),
        text,
    )


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[2])
    parser.add_argument("--write", action="store_true", help="put the values of the file behind the marks")
    options = parser.parse_args(arguments)
    root = options.root
    paths = [*root.glob("*.md"), *root.glob("docs/**/*.md"), root / FILE]
    if options.write:
        values = Figures((root / FILE).read_text()).values
        for path in paths[:-1]:
            text = path.read_text()
            if (new := write(text, values)) != text:
                path.write_text(new)
    problems = check({str(path.relative_to(root)): path.read_text() for path in paths})
    for name, line, what in problems:
        print(f"error: {name}:{line}: {what}")
    if problems:
        print(f"hint: the figures are in {FILE}; --write puts them into the pages")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
