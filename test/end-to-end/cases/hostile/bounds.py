# SPDX-License-Identifier: Apache-2.0
"""Files that would take much time or memory, and numbers beyond all bounds: each is taken, or is one error, soon."""

import json
import os
import struct
import sys
import zlib

import numpy as np
from harness import DIGITS, ROOT, case, check

SECONDS = 60


def compile_digits(ingot):
    return ingot.compile(DIGITS / "digits.onnx", "--loss", "cross-entropy", "--batch", "32")


@case("bounds-brackets")
def brackets(ingot):
    """A tree of 30 million arrays in each other takes gigabytes; a bound of the depth takes none."""
    trainer, nested = compile_digits(ingot), b"[" * 30_000_000
    weights, lines = ingot.path("w.safetensors"), ingot.path("l.jsonl")
    weights.write_bytes(struct.pack("<Q", len(nested)) + nested)
    lines.write_bytes(b'{"image": ' + nested + b"\n")
    saved = ingot.path("saved")
    data = ["--data", DIGITS / "train.npz", "--steps", "1"]
    ingot.succeed([trainer, *data, "--save", saved])
    next(saved.glob("step-*/checkpoint.json")).write_bytes(nested)
    for flags, words in (
        ([*data, "--init", weights], "nested"),
        (["--data", lines, "--steps", "1"], "nested"),
        ([*data, "--resume", saved], "checkpoint.json"),
    ):
        command = ["bash", "-c", 'ulimit -v 1000000; exec "$@"', "bash", trainer, *flags]
        ingot.check_error([str(word) for word in command], 3, words, timeout=SECONDS)


@case("bounds-epochs-of-a-mixture")
def epochs(ingot):
    """A checkpoint with a right checksum and an epoch that no run reaches."""
    tokens = ingot.path("a.bin")
    header = np.zeros(256, "<i4")
    header[:3] = 20240520, 1, 8192
    tokens.write_bytes(header.tobytes() + np.random.default_rng(0).integers(0, 250, 8192).astype("<u2").tobytes())
    other = ingot.path("b.bin")
    other.write_bytes(tokens.read_bytes())
    trainer = ingot.compile(ROOT / "docs/examples/bytes/bytes.onnx", "--loss", "cross-entropy", "--batch", "8")
    saved = ingot.path("saved")
    run = [trainer, "--data", f"{tokens}:1", f"{other}:0.3"]
    ingot.succeed([*run, "--steps", "3", "--save", saved])
    path = saved / "step-3/checkpoint.json"
    for epoch in (2**58, 2**63 - 1):
        content = json.loads(path.read_text())
        content["settings"]["epoch"] = epoch
        content.pop("crc32")
        content["crc32"] = zlib.crc32(json.dumps(content, separators=(",", ":")).encode())
        path.write_text(json.dumps(content, indent=1) + "\n")
        ingot.check_error([*run, "--steps", "8", "--resume", saved], 3, "checkpoint.json", "'settings'")


@case("bounds-no-home")
def no_home(ingot):
    """Folders that cannot be reached end nothing but what needs them."""
    env = {name: value for name, value in os.environ.items() if name not in ("HOME", "INGOT_DEPS", "XDG_CACHE_HOME")}
    script = (
        f"import subprocess, sys; sys.exit(subprocess.run(['{ROOT}/tools/setup', '--print'], env={env!r}).returncode)"
    )
    result = ingot.run([sys.executable, "-c", script])
    lines = result.err.strip().splitlines()
    check(
        result.status != 0 and len(lines) == 2 and lines[0].startswith("error: ") and lines[1].startswith("hint: "),
        lines,
    )
    loop = ingot.path("loop")
    loop.symlink_to("loop")
    run = [compile_digits(ingot), "--data", DIGITS / "train.npz", "--steps", "2", "--tune", "--tune-seconds", "1"]
    result = ingot.succeed(run, env={"HOME": str(loop), "XDG_CACHE_HOME": str(loop)})
    check("internal" not in result.err and "step 2/2" in result.err, result.err)
