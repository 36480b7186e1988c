# SPDX-License-Identifier: Apache-2.0
"""wheel_parts.py FOLDER LOCK: what builds and tests need of CUDA's wheels, into FOLDER, as a toolkit has it: headers,
the assembler and the library of functions for kernels.
wheel_parts.py --record NAME==VERSION...: prints the lines of LOCK for wheels, then `# BYTES` of their parts.

Of a large wheel only the parts that hold these files are downloaded, which the format of its archive allows: CUDA's
libraries have more than a gigabyte, their headers five megabytes. Where the index sends no parts of files, wheels are
downloaded whole. A line of LOCK is `NAME==VERSION --hash=sha256:SUM` with the sum of the wheel's list of files, RECORD,
which has the sums of its files.
"""

import base64
import csv
import hashlib
import pathlib
import re
import subprocess
import sys
import tempfile
import zipfile

PART = re.compile(r"nvidia/[^/]+/(include/.+|bin/ptxas|nvvm/libdevice/.+)")
RECORD = re.compile(r"[^/]+\.dist-info/RECORD")
PIN = re.compile(r"(\S+==\S+) --hash=sha256:([0-9a-f]{64})")
# Below this, one download is faster than many of a part.
WHOLE_BYTES = 16 << 20


def read_record(archive):
    (name,) = [name for name in archive.namelist() if RECORD.fullmatch(name)]
    return archive.read(name)


def extract(archive, expected, folder):
    record = read_record(archive)
    found = hashlib.sha256(record).hexdigest()
    if found != expected:
        sys.exit(f"its list of files has the sha256 sum {found} instead of {expected}")
    sums = {row[0]: row[1] for row in csv.reader(record.decode().splitlines())}
    count = 0
    for member in archive.infolist():
        match = PART.fullmatch(member.filename)
        if match and not member.is_dir():
            content = archive.read(member)
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            if sums.get(member.filename) != f"sha256={digest}":
                sys.exit(f"{member.filename} is not what its list of files says")
            path = folder / match[1]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            path.chmod(0o755 if match[1].startswith("bin/") else 0o644)
            count += 1
    if not count:
        sys.exit("it has no header and no tool")


def open_remote(package):
    """The archive of a wheel on the index, read in parts. pip has no interface for that but its own modules."""
    from pip._internal.commands import create_command
    from pip._internal.network.lazy_wheel import LazyZipOverHTTP

    name, version = package.split("==")
    command = create_command("download")
    options, _ = command.parse_args(["--no-deps", package])
    session = command._build_session(options)
    finder = command._build_package_finder(options, session)
    found = [candidate for candidate in finder.find_all_candidates(name) if str(candidate.version) == version]
    best = finder.make_candidate_evaluator(name).get_applicable_candidates(found)[-1]
    wheel = LazyZipOverHTTP(best.link.url_without_fragment, session)
    if wheel._length <= WHOLE_BYTES:
        wheel._download(0, wheel._length - 1)
    return zipfile.ZipFile(wheel)


def visit(package, use):
    """Calls `use` with the archive of the wheel."""
    try:
        use(open_remote(package))
    except Exception as error:  # Another pip, or an index without parts: the slow way remains.
        print(f"{package}: whole, since {type(error).__name__}", file=sys.stderr, flush=True)
        with tempfile.TemporaryDirectory() as scratch:
            pip = [sys.executable, "-m", "pip", "-q", "--disable-pip-version-check", "download"]
            subprocess.run([*pip, "--no-deps", "-d", scratch, package], check=True)
            (wheel,) = pathlib.Path(scratch).glob("*.whl")
            with zipfile.ZipFile(wheel) as archive:
                use(archive)


def print_pins(packages):
    sizes = []
    for package in packages:

        def use(archive, package=package):
            print(f"{package} --hash=sha256:{hashlib.sha256(read_record(archive)).hexdigest()}", flush=True)
            sizes.append(sum(member.compress_size for member in archive.infolist() if PART.fullmatch(member.filename)))

        visit(package, use)
    print(f"# {sum(sizes)}")


def main():
    if sys.argv[1] == "--record":
        print_pins(sys.argv[2:])
        return
    folder, lock = map(pathlib.Path, sys.argv[1:])
    for package, expected in PIN.findall(lock.read_text()):
        try:
            visit(package, lambda archive, expected=expected: extract(archive, expected, folder))
        except SystemExit as error:
            sys.exit(f"{package}: {error}")


if __name__ == "__main__":
    main()
