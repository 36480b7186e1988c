# SPDX-License-Identifier: Apache-2.0
"""The stubs of the C library: what they promise, the C library of this machine has at the same version."""

import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/scripts"))

import make_stubs  # noqa: E402

TABLES = sorted((ROOT / "runtime/link").glob("glibc-*.txt"))


def list_exports(path):
    """All (name, version) that a library defines, at default and older versions."""
    listing = subprocess.run(
        ["readelf", "--dyn-syms", "--wide", str(path)], capture_output=True, text=True, check=True
    ).stdout
    return {(found[1], found[2]) for found in re.finditer(r"(?m)^(?!.* UND ).* (\S+?)@@?(GLIBC_[0-9.]+)\b", listing)}


def find_libraries(processor):
    """The folder of a C library for the processor; None if this machine has none."""
    for pattern in (f"/lib/{processor}-linux-gnu", f"/usr/{processor}-linux-gnu/lib"):
        folder = pathlib.Path(pattern)
        if (folder / "libc.so.6").exists():
            return folder
    return None


class Stubs(unittest.TestCase):
    def test_versions(self):
        for table in TABLES:
            for library, versions in make_stubs.read_table(table).items():
                numbers = [make_stubs.parse_version(version) for version in versions]
                self.assertTrue(all(number and number[:2] <= make_stubs.NEWEST for number in numbers), library)
                self.assertEqual(numbers, sorted(numbers), library)

    def test_newer_libraries_have_all_of_it(self):
        for table in TABLES:
            folder = find_libraries(table.stem.partition("-")[2])
            if not folder:
                continue
            exports = set()
            for pattern in make_stubs.LIBRARIES:
                for path in folder.glob(pattern):
                    exports |= list_exports(path)
            promised = {
                (name, version)
                for versions in make_stubs.read_table(table).values()
                for version, symbols in versions.items()
                for name, _ in symbols
            }
            self.assertEqual(promised - exports, set(), table.name)

    def test_stub_has_what_its_table_says(self):
        table = {"libone.so.1": {"GLIBC_2.2.5": [("first", False), ("data", True)], "GLIBC_2.17": [("second", False)]}}
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            path = folder / "glibc-test.txt"
            lines = ("# A table.", "library libone.so.1", "GLIBC_2.2.5 first", "  *data", "GLIBC_2.17 second", "")
            path.write_text("\n".join(lines))
            self.assertEqual(make_stubs.read_table(path), table)
            make_stubs.main([
                "--table", str(path), "--emulation", "elf_x86_64", "--target", "x86_64-linux-gnu",
                "--output", str(folder), "--clang", CLANG, "--linker", LINKER,
            ])  # fmt: skip
            stub = folder / "libone.so.1"
            self.assertEqual(
                list_exports(stub),
                {("first", "GLIBC_2.2.5"), ("data", "GLIBC_2.2.5"), ("second", "GLIBC_2.17")},
            )
            found = make_stubs.read_symbols(stub)
            self.assertEqual(
                found, {"GLIBC_2.2.5": [("data", True), ("first", False)], "GLIBC_2.17": [("second", False)]}
            )


if __name__ == "__main__":
    CLANG, LINKER = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1])
