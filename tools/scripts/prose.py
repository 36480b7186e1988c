# SPDX-License-Identifier: Apache-2.0
"""The prose of a source tree: pages, descriptions, comments and messages, by paragraph."""

import bisect
import pathlib
import re

STRING = r"""(?P<quote>["'])(?P<message>(?:\\.|(?!(?P=quote))[^\\\n])*)(?P=quote)"""

# What holds prose, by language. `page` is Markdown, `block` a comment of many
# lines, `comment` one of a single line, `raw` and `message` are strings.
C_LIKE = re.compile(
    r"description\s*=\s*\[\{(?P<page>.*?)\}\]"
    r"|//+[/!<]*(?P<comment>[^\n]*)"
    r"|/\*(?P<block>.*?)\*/"
    r'|R"(?P<delimiter>[^(\s"]*)\((?P<raw>.*?)\)(?P=delimiter)"'
    r"|(?<=\d)'(?=\d)|" + STRING,
    re.DOTALL,
)
PYTHON = re.compile(
    r"^[ \t]*r?(?P<quotes>\"{3}|'{3})(?P<page>.*?)(?P=quotes)"
    r"|(?P<delimiter>\"{3}|'{3})(?P<raw>.*?)(?P=delimiter)"
    r"|#+(?P<comment>[^\n]*)"
    r"|" + STRING,
    re.DOTALL | re.MULTILINE,
)
LANGUAGES = {".cpp": C_LIKE, ".h": C_LIKE, ".inc": C_LIKE, ".c": C_LIKE, ".td": C_LIKE, ".py": PYTHON}


def is_read(name):
    """Whether paragraphs() knows the kind of file."""
    return name.endswith(".md") or pathlib.PurePosixPath(name).suffix in LANGUAGES


class Paragraph:
    """Lines that are read as one, and where each of them stands."""

    def __init__(self):
        self.text = ""
        self.starts = []
        self.lines = []

    def add(self, line, text):
        self.text += " " if self.text else ""
        self.starts.append(len(self.text))
        self.lines.append(line)
        self.text += text

    def line(self, offset):
        return self.lines[bisect.bisect_right(self.starts, offset) - 1]

    def drop_code(self):
        """What is between backquotes becomes backquotes, as many."""
        self.text = re.sub(r"`[^`]*`", lambda match: "`" * len(match.group()), self.text)


def fenced(lines, first=1):
    """(number, line, whether it belongs to a code block) of each line."""
    fence = ""
    for number, line in enumerate(lines, first):
        marks = re.match(r"\s*(`{3,}|~{3,})", line)
        if marks and not fence:
            fence = marks.group(1)
        elif fence and line.strip() == fence:
            fence = ""
        elif not fence:
            yield number, line, False
            continue
        yield number, line, True


def page(lines, first=1):
    """Paragraphs of Markdown, outside of its code blocks."""
    paragraph = Paragraph()
    for number, line, is_code in fenced(lines, first):
        text = line.strip()
        # Headings, items and rows of tables do not continue what stands before them.
        if is_code or not text or re.match(r"#|\||[-*] |\d+\. ", text):
            yield paragraph
            paragraph = Paragraph()
        if text and not is_code:
            paragraph.add(number, text)
    yield paragraph


def tokens(text, language, messages):
    """Paragraphs of the comments, descriptions and (if asked for) messages of a source."""
    paragraph, last = Paragraph(), None
    for match in language.finditer(text):
        kind = match.lastgroup
        if kind is None or (kind in ("raw", "message") and not messages):
            continue
        words = match[kind]
        line = text.count("\n", 0, match.start(kind)) + 1
        if kind in ("page", "block", "raw"):
            yield from page(words.splitlines(), line)
            continue
        # Comments of adjacent lines, and adjacent strings, are one text.
        between = text[last.end() : match.start()] if last else ""
        joined = last and last.lastgroup == kind and not between.strip() and between.count("\n") <= 1
        if not joined or not words.strip():
            yield paragraph
            paragraph = Paragraph()
        last = match
        if words.strip():
            paragraph.add(line, words.strip())
    yield paragraph


def paragraphs(name, text, keep_code=False, messages=True):
    """The paragraphs of a file, without what is code in them unless `keep_code`."""
    language = LANGUAGES.get(pathlib.PurePosixPath(name).suffix)
    found = tokens(text, language, messages) if language else page(text.splitlines())
    for paragraph in found:
        if not keep_code:
            paragraph.drop_code()
        yield paragraph
