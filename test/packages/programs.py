# SPDX-License-Identifier: Apache-2.0
"""What tests of installed programs have in common."""

import hashlib
import re
import subprocess

# Digits of the examples to 98 %: fifteen epochs take seconds.
FLAGS = ["--loss", "cross-entropy", "--optimizer", "adamw", "--batch", "32"]
EPOCHS = ["--epochs", "15", "--seed", "1"]
LEAST_ACCURACY = 0.98

# What every system with glibc has.
LIBRARIES = {"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1", "ld-linux-x86-64.so.2"}
NEWEST = (2, 28)


def check(condition, what):
    if not condition:
        raise SystemExit(f"error: {what}")


def run(command, **options):
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True, **options)
    check(result.returncode == 0, f"{' '.join(map(str, command))}: exit {result.returncode}: {result.stderr[-2000:]}")
    return result.stdout


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def check_needs(program):
    """Checks that a program needs nothing that a system with glibc 2.28 lacks."""
    needed = set(re.findall(r"\(NEEDED\).*\[(.+)\]", run(["readelf", "-d", program])))
    check(needed <= LIBRARIES, f"{program} needs {needed - LIBRARIES}")
    versions = {tuple(map(int, pair)) for pair in re.findall(r"GLIBC_(\d+)\.(\d+)", run(["readelf", "-V", program]))}
    check(versions and max(versions) <= NEWEST, f"{program} needs glibc {max(versions, default=None)}")


def accuracy_of(printed):
    """The last accuracy that a trainer prints."""
    found = re.findall(r"eval_accuracy ([0-9.]+)", printed)
    check(found, f"no accuracy in {printed[-500:]!r}")
    return float(found[-1])
