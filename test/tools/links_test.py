"""Every relative link and every path in backquotes of the documents leads somewhere."""

import pathlib
import re
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
LINK = re.compile(r"\]\((?!https?://|#)([^)#\s]+)")
# A path of this tree: starts with one of its folders and has no place to fill in.
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
PATH = re.compile(r"`((?:dialects|docs|frontends|passes|runtime|test|tools)/[\w./-]+)`")


def documents():
    names = subprocess.run(
        ["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()
    return [ROOT / name for name in names if (ROOT / name).exists()]


class Links(unittest.TestCase):
    def test_links(self):
        for path in documents():
            for target in LINK.findall(FENCED.sub("", path.read_text())):
                with self.subTest(f"{path.relative_to(ROOT)}: {target}"):
                    self.assertTrue((path.parent / target).exists())

    def test_paths(self):
        for path in documents():
            for target in PATH.findall(path.read_text()):
                # Names in capitals stand for others: docs/spec/FAMILY.md.
                if re.search(r"[A-Z]{2}", target) and "README" not in target:
                    continue
                # A .h and .cpp of one name are named without their endings.
                with self.subTest(f"{path.relative_to(ROOT)}: {target}"):
                    self.assertTrue((ROOT / target).exists() or any(ROOT.glob(target + ".*")))


if __name__ == "__main__":
    unittest.main()
