# SPDX-License-Identifier: Apache-2.0
"""wheel_headers.py FOLDER NAME==VERSION...: the headers of wheels of the package index, into FOLDER.

Of a large wheel only the parts that hold headers are downloaded, which the format of its archive allows: CUDA's
libraries have more than a gigabyte, their headers five megabytes. Where the index sends no parts of files, wheels are
downloaded whole.
"""

import pathlib
import re
import subprocess
import sys
import tempfile
import zipfile

HEADER = re.compile(r"nvidia/[^/]+/include/(.+)")
# Below this, one download is faster than many of a part.
WHOLE_BYTES = 16 << 20


def extract(archive, folder):
    count = 0
    for member in archive.infolist():
        match = HEADER.fullmatch(member.filename)
        if match and not member.is_dir():
            path = folder / match[1]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(archive.read(member))
            count += 1
    return count


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


def main():
    folder = pathlib.Path(sys.argv[1])
    for package in sys.argv[2:]:
        try:
            count = extract(open_remote(package), folder)
        except Exception as error:  # Another pip, or an index without parts: the slow way remains.
            print(f"{package}: whole, since {type(error).__name__}", flush=True)
            with tempfile.TemporaryDirectory() as scratch:
                pip = [sys.executable, "-m", "pip", "-q", "--disable-pip-version-check", "download"]
                subprocess.run([*pip, "--no-deps", "-d", scratch, package], check=True)
                (wheel,) = pathlib.Path(scratch).glob("*.whl")
                with zipfile.ZipFile(wheel) as archive:
                    count = extract(archive, folder)
        if not count:
            sys.exit(f"{package} has no headers")


if __name__ == "__main__":
    main()
