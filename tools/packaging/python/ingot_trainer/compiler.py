# SPDX-License-Identifier: Apache-2.0
"""Compiles models by ingotc, and keeps what it wrote in the user's cache."""

import contextlib
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import time
import uuid
from collections.abc import Mapping

from ingot_trainer.errors import CompileError

# The stem of libraries, of which the function is named that returns the model.
STEM = "model"
LIBRARY = f"lib{STEM}.so"
NOTES = "notes.txt"
# What was used longest ago goes beyond it.
MOST_BYTES = 8 << 30
# No compilation takes longer.
LEFT_SECONDS = 86400


def find_compiler(path=None):
    """The path of ingotc: as given, in INGOTC, in this package, or in PATH."""
    packaged = pathlib.Path(__file__).resolve().parent / "bin/ingotc"
    path = os.fspath(path or os.environ.get("INGOTC") or (packaged if packaged.is_file() else "ingotc"))
    found = shutil.which(path)
    if found is None:
        raise CompileError(f"{path}: is no program (install the wheel, or say where the compiler is: INGOTC, PATH)")
    return pathlib.Path(found).absolute()


def make_flags(options):
    """Options of ingotc as it takes them: grad_accumulation=4, dim={"seq": [128, 256]}, clip=True."""
    flags = []
    for name, value in options.items():
        flag = "--" + name.replace("_", "-") if len(name) > 1 else f"-{name}"
        if value is None or value is False:
            continue
        if value is True:
            flags.append(flag)
        elif isinstance(value, Mapping):
            for key, entry in value.items():
                listed = entry if isinstance(entry, (list, tuple)) else [entry]
                flags += [flag, f"{key}={','.join(map(str, listed))}"]
        elif isinstance(value, (list, tuple)):
            for entry in value:
                flags += [flag, str(entry)]
        else:
            flags += [flag, os.fspath(value) if isinstance(value, os.PathLike) else str(value)]
    return flags


def run(compiler, model, flags, output):
    """Writes `output`; returns what ingotc had to say. Raises CompileError."""
    command = [os.fspath(compiler), os.fspath(model), "-o", os.fspath(output), *flags]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True)
    except OSError as error:
        raise CompileError(f"{compiler}: cannot be started: {error.strerror}") from None
    notes = (done.stdout + done.stderr).decode(errors="replace")
    if done.returncode:
        raise CompileError(notes.strip() or f"{compiler}: ended with status {done.returncode}")
    return notes


def external_files(model, content):
    """Files that tensors of an ONNX model lie in: entries `location` of a protobuf message."""
    for match in re.finditer(rb"\n\x08location\x12", content):
        size, at, shift = 0, match.end(), 0
        while at < len(content):
            byte = content[at]
            size |= (byte & 127) << shift
            at, shift = at + 1, shift + 7
            if byte < 128:
                break
        path = model.parent / os.fsdecode(content[at : at + size])
        # Bytes of a tensor may look like an entry.
        if size < 4096 and b"\0" not in content[at : at + size] and path.is_file():
            yield path


def hash_model(model):
    """A hash of all bytes of a model."""
    try:
        content = model.read_bytes()
    except OSError as error:
        raise CompileError(f"{model}: cannot be read: {error.strerror}") from None
    total = hashlib.sha256(content)
    for path in sorted(set(external_files(model, content))):
        total.update(_hash_file(path).encode())
    return total.hexdigest()


def _hash_file(path):
    total = hashlib.sha256()
    with open(path, "rb") as file:
        while chunk := file.read(1 << 22):
            total.update(chunk)
    return total.hexdigest()


def _describe_compiler(compiler):
    """What `ingotc --version` says, and the files that libraries are linked from."""
    done = subprocess.run([os.fspath(compiler), "--version"], stdout=subprocess.PIPE)
    parts = [done.stdout.decode(errors="replace")]
    program = compiler.resolve()
    for path in [program, *sorted((program.parent.parent / "lib/ingot").rglob("*"))]:
        if path.is_file():
            status = path.stat()
            parts.append(f"{path} {status.st_size} {status.st_mtime_ns}")
    return parts


def _describe_processor():
    """What `--arch native` goes by, in a cache that machines may share."""
    try:
        lines = pathlib.Path("/proc/cpuinfo").read_text().split("\n\n")[0].splitlines()
    except OSError:
        return []
    return [line for line in lines if line.startswith(("model name", "flags", "Features", "CPU part"))]


def make_key(compiler, model_hash, flags):
    """A hash of all that a library depends on."""
    parts = [model_hash, *flags, *_describe_compiler(compiler), *_describe_processor()]
    parts += [f"{name}={value}" for name, value in sorted(os.environ.items()) if name.startswith("INGOT_")]
    # Options that name files.
    parts += [_hash_file(flag) for flag in flags if os.path.isfile(flag)]
    return hashlib.sha256("\0".join(parts).encode(errors="surrogateescape")).hexdigest()


def default_cache():
    """The folder of the user's cache."""
    root = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return pathlib.Path(root) / "ingot/libraries"


def compile_library(compiler, model, flags, cache):
    """Returns a library and the notes of its compilation: from the cache, or compiled into it."""
    if any(os.path.isdir(flag) for flag in flags):
        # What is in a folder may change unseen.
        folder = cache / f"uncached-{uuid.uuid4().hex}"
    else:
        folder = cache / make_key(compiler, hash_model(model), flags)
    if (folder / LIBRARY).is_file():
        os.utime(folder)
        return folder / LIBRARY, (folder / NOTES).read_text()
    with new_entry(cache) as made:
        notes = run(compiler, model, [*flags, "--emit", "lib"], made / LIBRARY)
        (made / NOTES).write_text(notes)
        keep_entry(made, folder, LIBRARY)
    _make_room(cache, (folder, model.parent))
    return folder / LIBRARY, notes


@contextlib.contextmanager
def new_entry(cache):
    """A folder to make an entry in, which goes unless it is kept."""
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".", dir=cache) as scratch:
        made = pathlib.Path(scratch) / "made"
        made.mkdir()
        yield made


def keep_entry(made, folder, name):
    """Makes an entry of the cache of a folder, unless another process was faster."""
    try:
        made.replace(folder)
    except OSError:
        if not (folder / name).is_file():
            raise
        os.utime(folder)


def _make_room(cache, kept):
    """Removes what was used longest ago, and what ended processes left."""
    entries = []
    for folder in cache.iterdir():
        try:
            used = folder.stat().st_mtime
            if folder in kept or (folder.name.startswith(".") and time.time() - used < LEFT_SECONDS):
                continue
            if folder.name.startswith("."):
                shutil.rmtree(folder, ignore_errors=True)
                continue
            entries.append((used, sum(path.stat().st_size for path in folder.iterdir()), folder))
        except OSError:
            # Another process removes it.
            continue
    total = sum(size for _, size, _ in entries)
    for _, size, folder in sorted(entries, key=lambda entry: entry[0]):
        if total <= MOST_BYTES:
            break
        shutil.rmtree(folder, ignore_errors=True)
        total -= size
