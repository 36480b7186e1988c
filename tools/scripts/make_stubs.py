# SPDX-License-Identifier: Apache-2.0
"""make_stubs.py: libraries to link against that have the symbols of glibc 2.28 and nothing behind them.

A program that is linked against the glibc of the machine it is built on asks for that version or newer. Linked
against these stubs it asks for 2.28 at most. The table of symbols (runtime/link/glibc-ARCH.txt) has for each library
the versions of its symbols, as they were before glibc 2.34 made one library of several; functions are a list, data
have a `*` before their names.

  make_stubs.py --table TABLE --emulation NAME --target TRIPLE --output DIR    writes DIR/LIBRARY for each library
  make_stubs.py --read DIR > TABLE    makes the table from the libraries of a glibc of 2.28 to 2.33
"""

import argparse
import pathlib
import re
import subprocess
import sys
import tempfile
import textwrap

NEWEST = (2, 28)
LIBRARIES = ("libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1", "ld-linux-*.so.*")


def parse_version(name):
    """GLIBC_2.17 as (2, 17); None for the versions of glibc's own use."""
    found = re.fullmatch(r"GLIBC_(\d+)\.(\d+)(?:\.(\d+))?", name)
    return tuple(int(part) for part in found.groups() if part) if found else None


def read_symbols(path):
    """{version: [(name, is data)]} of a library: each symbol at its newest version of at most NEWEST.

    Those that programs can no longer be linked against, without a version by default, are left out.
    """
    listing = subprocess.run(
        ["readelf", "--dyn-syms", "--wide", str(path)], capture_output=True, text=True, check=True
    ).stdout
    newest, linkable = {}, set()
    for line in listing.splitlines():
        parts = line.split()
        if len(parts) < 8 or parts[6] == "UND" or parts[3] not in ("FUNC", "IFUNC", "OBJECT", "TLS"):
            continue
        name, separator, version = parts[7].partition("@")
        if version.startswith("@"):
            linkable.add(name)
        number = parse_version(version.lstrip("@"))
        if not separator or number is None or number[:2] > NEWEST or parts[3] == "TLS":
            continue
        if name not in newest or number > newest[name][0]:
            newest[name] = (number, version.lstrip("@"), parts[3] == "OBJECT")
    versions = {}
    for name, (number, version, is_data) in newest.items():
        if name not in linkable:
            continue
        versions.setdefault((number, version), []).append((name, is_data))
    return {version: sorted(names) for (_, version), names in sorted(versions.items())}


def write_table(folder):
    print("# The symbols of glibc 2.28 by library and version; written by tools/scripts/make_stubs.py --read.")
    seen = set()
    for pattern in LIBRARIES:
        (path,) = folder.glob(pattern)
        print(f"library {path.name}")
        for version, symbols in read_symbols(path).items():
            # Some are in libpthread and in libc: as a rule the latter's will do, and needs no further library.
            names = [("*" if is_data else "") + name for name, is_data in symbols if name not in seen]
            seen.update(name for name, _ in symbols)
            if names:
                print(textwrap.fill(" ".join([version, *names]), 120, subsequent_indent="  ", break_on_hyphens=False))


def read_table(path):
    """{library: {version: [(name, is data)]}}"""
    libraries, versions, names = {}, {}, []
    for line in path.read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        words = line.split()
        if words[0] == "library":
            versions = libraries.setdefault(words[1], {})
            continue
        if not line.startswith(" "):
            names = versions.setdefault(words.pop(0), [])
        names += [(word.lstrip("*"), word.startswith("*")) for word in words]
    return libraries


def make_stub(library, versions, options, scratch):
    assembly = [".text"]
    script = []
    before = ""
    for version, symbols in versions.items():
        for name, is_data in symbols:
            kind = "object" if is_data else "function"
            assembly += [f'.globl "{name}"', f'.type "{name}", %{kind}', f'.size "{name}", 8', f'"{name}": .quad 0']
        script.append(f"{version} {{ global: {' '.join(name + ';' for name, _ in symbols)} }}{before};")
        before = " " + version
    source, object_file, map_file = (scratch / name for name in ("stub.s", "stub.o", "stub.map"))
    source.write_text("\n".join(assembly) + "\n")
    map_file.write_text("\n".join(script) + "\n")
    subprocess.run([options.clang, f"--target={options.target}", "-c", source, "-o", object_file], check=True)
    subprocess.run(
        [options.linker, "-m", options.emulation, "-shared", "--soname", library, "--version-script", map_file]
        + ["-z", "noexecstack", "--build-id=none", "-o", options.output / library, object_file],
        check=True,
    )


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--read", type=pathlib.Path, metavar="DIR")
    parser.add_argument("--table", type=pathlib.Path)
    parser.add_argument("--emulation")
    parser.add_argument("--target")
    parser.add_argument("--output", type=pathlib.Path)
    parser.add_argument("--clang", default="clang")
    parser.add_argument("--linker", default="ld.lld")
    options = parser.parse_args(arguments)
    if options.read:
        write_table(options.read)
        return 0
    options.output.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        for library, versions in read_table(options.table).items():
            make_stub(library, versions, options, pathlib.Path(scratch))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
