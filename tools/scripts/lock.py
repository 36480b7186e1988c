#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the lock files in tools/lock: what tools/setup downloads, with sha256 sums and how much it is. Run it after a
change to tools/versions.env or to a list, tools/lock/NAME.in, and commit what it writes.

    tools/scripts/lock.py [python] [alone] [cuda] [debian] [mpich]    all by default
    tools/scripts/lock.py --check                                whether the files have the versions of versions.env

python.txt is what pip installs for the build tools, alone.txt what is installed or unpacked without what it depends on,
both with the sums of all files of a release. cuda.txt has the sums of the lists of files (RECORD) of wheels of which
setup downloads parts. debian.txt and mpich.txt have the packages of Debian that setup unpacks itself, whose names
they keep.
"""

import argparse
import hashlib
import pathlib
import re
import string
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
LOCK = ROOT / "tools/lock"
PIN = re.compile(r"^([A-Za-z0-9._-]+)==([^\s\\]+)")


def read_versions():
    lines = (ROOT / "tools/versions.env").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if re.match("[A-Z_]+=", line))


def read_wanted(kind):
    """The requirements of a list, with their versions."""
    return string.Template((LOCK / f"{kind}.in").read_text()).substitute(read_versions()).split()


def read_pins(kind):
    """The requirements of a lock file."""
    found = [PIN.match(line) for line in (LOCK / f"{kind}.txt").read_text().splitlines()]
    return [f"{pin[1]}=={pin[2]}" for pin in found if pin]


def check():
    stale = []
    for kind in ("python", "alone", "cuda"):
        pins = read_pins(kind)
        stale += [f"{kind}.txt lacks {wanted}" for wanted in read_wanted(kind) if wanted not in pins]
    for line in stale:
        print(f"error: tools/lock/{line}\nhint: run tools/scripts/lock.py", file=sys.stderr)
    return 1 if stale else 0


def run(*command, **options):
    return subprocess.run([str(word) for word in command], check=True, **options)


def describe(size):
    return f"{size / 1e6:.0f} MB" if size >= 1e6 else f"{size / 1e3:.0f} kB"


def compile_sums(python, wanted, scratch):
    """The lock of pip-compile for the requirements and all that they depend on, by name."""
    (scratch / "wanted.in").write_text("\n".join(wanted) + "\n")
    options = ["--quiet", "--generate-hashes", "--allow-unsafe", "--strip-extras", "--no-header", "--no-annotate"]
    options += ["--no-emit-index-url", "--no-emit-trusted-host", "--no-emit-find-links", "--no-emit-options"]
    run(python, "-m", "piptools", "compile", *options, "--output-file", scratch / "out.txt", scratch / "wanted.in")
    entries = re.split(r"(?m)^(?=[a-z])", (scratch / "out.txt").read_text())
    return {PIN.match(entry)[1]: entry for entry in entries if PIN.match(entry)}


def write(kind, size, text):
    head = f"# Written by tools/scripts/lock.py. {size}\n"
    (LOCK / f"{kind}.txt").write_text(head + text)
    print(f"tools/lock/{kind}.txt: {size}")


def measure(python, lock, scratch):
    """What a lock file downloads and takes here."""
    run(python, "-m", "pip", "-q", "download", "--no-deps", "--require-hashes", "-r", lock, "-d", scratch / "files")
    downloaded = sum(path.stat().st_size for path in (scratch / "files").iterdir())
    return f"downloads {describe(downloaded)}"


def lock_python(python, scratch):
    (scratch / "lock.txt").write_text("".join(compile_sums(python, read_wanted("python"), scratch).values()))
    write("python", measure(python, scratch / "lock.txt", scratch), (scratch / "lock.txt").read_text())


def lock_alone(python, scratch):
    wanted = read_wanted("alone")
    entries = compile_sums(python, wanted, scratch)
    (scratch / "lock.txt").write_text("".join(entries[name.split("==")[0]] for name in wanted))
    write("alone", measure(python, scratch / "lock.txt", scratch), (scratch / "lock.txt").read_text())


def lock_cuda(python, scratch):
    script = ROOT / "tools/scripts/wheel_parts.py"
    printed = run(python, script, "--record", *read_wanted("cuda"), capture_output=True, text=True).stdout
    pins, size = printed.rstrip("\n").rsplit("\n# ", 1)
    write("cuda", f"downloads {describe(int(size))}, parts of wheels", pins + "\n")


def lock_packages(kind, scratch):
    names = [line.split()[0] for line in (LOCK / f"{kind}.txt").read_text().splitlines() if not line.startswith("#")]
    run(ROOT / "tools/scripts/download_debian.sh", scratch / "packages", *names)
    files = sorted((scratch / "packages").glob("*.deb"))
    lines = []
    for path in files:
        name, version, _ = run("dpkg-deb", "-W", "--showformat=${Package}:${Architecture} ${Version} x", path,
                               capture_output=True, text=True).stdout.split()  # fmt: skip
        lines.append(f"{name} {version} {hashlib.sha256(path.read_bytes()).hexdigest()}\n")
    write(kind, f"downloads {describe(sum(path.stat().st_size for path in files))}", "".join(lines))


def lock_debian(_, scratch):
    lock_packages("debian", scratch)


def lock_mpich(_, scratch):
    lock_packages("mpich", scratch)


KINDS = {"python": lock_python, "alone": lock_alone, "cuda": lock_cuda, "debian": lock_debian, "mpich": lock_mpich}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=", ".join(KINDS))
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    for kind in options.kinds:
        if kind not in KINDS:
            parser.error(f"{kind}: choose {', '.join(KINDS)}")
    if options.check:
        return check()
    with tempfile.TemporaryDirectory() as name:
        scratch = pathlib.Path(name)
        run(sys.executable, "-m", "venv", scratch / "venv")
        python = scratch / "venv/bin/python"
        run(python, "-m", "pip", "-q", "install", f"pip-tools=={read_versions()['PIP_TOOLS_VERSION']}")
        for kind in options.kinds or KINDS:
            (scratch / kind).mkdir()
            KINDS[kind](python, scratch / kind)
    return 0


if __name__ == "__main__":
    sys.exit(main())
