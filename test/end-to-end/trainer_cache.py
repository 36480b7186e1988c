# SPDX-License-Identifier: Apache-2.0
"""Trainers that were compiled before, kept beside the compiler for all files of cases, soaks and later runs.

The name of an entry is a digest of all that a trainer depends on: the compiler with what it links from, the processor,
the model, and the flags with the files that they name. Processes may share the folder: an entry appears whole or not
at all. The entries that were used longest ago go when the folder is full.
"""

import hashlib
import os
import pathlib
import platform
import shutil
import subprocess
import tempfile

MOST_BYTES = 3 << 30


def file_digest(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def digest_of(value):
    return hashlib.sha256(repr(value).encode()).hexdigest()


def size_of(folder):
    return sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file())


def processor():
    """What --arch native depends on."""
    try:
        lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    kinds = ("model name", "flags", "Features", "CPU part")
    return platform.machine(), os.cpu_count(), sorted({line for line in lines if line.startswith(kinds)})


class TrainerCache:
    def __init__(self, bin_dir, most_bytes=MOST_BYTES):
        self.bin = pathlib.Path(bin_dir)
        self.folder = self.bin.parent / "trainers"
        self.most_bytes = most_bytes
        self.compiler = None

    def compiler_digest(self):
        """The digest of what compiles and links, by content; a file of the folder keeps it as long as sizes and times
        stay."""
        program = self.bin / "ingotc"
        linked = sorted(path for path in (self.bin.parent / "lib/ingot").rglob("*") if path.is_file())
        loaded = subprocess.run(["ldd", program], capture_output=True, text=True).stdout.split()
        paths = [program, *linked, *sorted(word for word in loaded if word.startswith("/"))]
        states = [(str(path), os.stat(path).st_size, os.stat(path).st_mtime_ns) for path in paths]
        kept = self.folder / f"compiler-{digest_of(states)[:16]}"
        if not kept.exists():
            self.replace(kept, digest_of([file_digest(path) for path in paths]))
        return kept.read_text()

    def replace(self, path, text):
        """Writes a file that others may read at any time."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=self.folder, prefix=".", delete=False) as file:
            file.write(text)
        os.rename(file.name, path)

    def key(self, model, flags):
        """The name of the trainer's entry, or None where not all that it depends on is known: tensors that are in
        files of their own, and folders."""
        model = pathlib.Path(model)
        if not model.is_file() or b"location" in (content := model.read_bytes()):
            return None
        parts = [model.name, hashlib.sha256(content).hexdigest()]
        for flag in map(str, flags):
            parts.append(flag)
            # A flag names a file by itself or after an equals sign.
            for word in (flag, flag.partition("=")[2]):
                if word and os.path.isdir(word):
                    return None
                if word and os.path.isfile(word):
                    parts.append(file_digest(word))
        if self.compiler is None:
            self.compiler = self.compiler_digest()
        settings = sorted(item for item in os.environ.items() if item[0].startswith(("INGOT_", "OMP_")))
        return digest_of([self.compiler, processor(), settings, parts])[:32]

    def fetch(self, key, folder):
        """Copies an entry to `folder`; whether there was one."""
        entry = self.folder / key
        try:
            os.utime(entry)
            shutil.copytree(entry, folder, symlinks=True)
        except (OSError, shutil.Error):
            # None, or one that another process removes meanwhile.
            shutil.rmtree(folder, ignore_errors=True)
            return False
        return True

    def store(self, key, folder):
        """Adds what was compiled into `folder`."""
        self.folder.mkdir(parents=True, exist_ok=True)
        entry = pathlib.Path(tempfile.mkdtemp(prefix=".", dir=self.folder))
        try:
            shutil.copytree(folder, entry, symlinks=True, dirs_exist_ok=True)
            os.rename(entry, self.folder / key)
        except (OSError, shutil.Error):
            # No space, or another process was first.
            shutil.rmtree(entry, ignore_errors=True)
        self.evict()

    def evict(self):
        entries = []
        for path in self.folder.iterdir():
            try:
                if path.is_dir() and not path.name.startswith("."):
                    entries.append((path.stat().st_mtime, size_of(path), path))
            except OSError:
                continue
        total = sum(size for _, size, _ in entries)
        for _, size, path in sorted(entries):
            if total <= self.most_bytes:
                break
            shutil.rmtree(path, ignore_errors=True)
            total -= size
