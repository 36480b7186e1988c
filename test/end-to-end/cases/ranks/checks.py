# SPDX-License-Identifier: Apache-2.0
"""What ranks have in common is compared (--check-ranks)."""

import os
import pathlib
import re
import signal
import subprocess
import time

import numpy as np
from harness import case, check, golden, initializers
from launch import ALONE, compile_for, losses, mpirun

SPLIT = ("--partition", "net.0.weight=0:tensor", "--partition", "net.4.weight=0:tensor")


@case("check-ranks-equal")
def equal(ingot):
    """Nothing is found where nothing is wrong: of whole states, shards, parts, halves and 16-bit copies."""
    g = golden("mlp")
    flags = ["--data", g.data, "--steps", 4, "--seed", 2]
    for ranks, options in (
        (2, ["--clip"]),
        (4, ["--zero", "2", "--mesh", "inner=2", "--precision", "bf16"]),
        (4, ["--zero", "3", "--mesh", "tensor=2", *SPLIT, "--optimizer-precision", "bf16"]),
    ):
        trainer = compile_for(ingot, g, "adamw", 4, *options)
        plain = losses(ingot, ranks, trainer, *flags)
        check(losses(ingot, ranks, trainer, *flags, "--check-ranks", 1) == plain, f"{options}: other losses")


@case("check-ranks-different")
def different(ingot):
    """A weight that changes in the memory of one rank is found, and named."""
    g = golden("mlp")
    trainer = compile_for(ingot, g, "sgd", 2)
    exported = ingot.path("first.onnx")
    ingot.succeed([trainer, "--data", g.data, "--steps", 1, "--lr", 0, "--export", exported])
    weights = initializers(exported)["net.2.weight"].astype(np.float32).tobytes()
    log = ingot.path("log.jsonl")
    # Without a rate the weights stay what they are.
    command = [
        *mpirun(2), trainer, "--data", g.data, "--steps", 1000000, "--lr", 0, "--log", log, "--check-ranks", 10,
    ]  # fmt: skip
    run = subprocess.Popen(
        [str(word) for word in command], env={**os.environ, **ALONE}, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL,
        text=True,
    )  # fmt: skip
    try:
        until = time.monotonic() + 60
        while time.monotonic() < until and run.poll() is None and not (log.exists() and log.stat().st_size):
            time.sleep(0.05)
        children = pathlib.Path(f"/proc/{run.pid}/task/{run.pid}/children").read_text().split()
        check(len(children) == 2, f"{len(children)} ranks")
        check(overwrite(int(children[1]), weights), "the weights are not in the rank's memory")
        said = run.communicate(timeout=60)[1]
    finally:
        run.kill()
    check(
        re.search(r"error: --check-ranks, step [0-9]+0: rank 1 has another 'net.2.weight' than rank 0, which ", said),
        said[-800:],
    )


def overwrite(process, values):
    """Changes one bit of each copy of some bytes in the memory of a process."""
    found = 0
    os.kill(process, signal.SIGSTOP)
    try:
        maps = pathlib.Path(f"/proc/{process}/maps").read_text().splitlines()
        with open(f"/proc/{process}/mem", "r+b", buffering=0) as memory:
            for line in maps:
                span, rights = line.split()[:2]
                if not rights.startswith("rw"):
                    continue
                begin, end = (int(word, 16) for word in span.split("-"))
                try:
                    memory.seek(begin)
                    content = memory.read(end - begin)
                except OSError:
                    continue
                at = content.find(values)
                while at >= 0:
                    memory.seek(begin + at)
                    memory.write(bytes([values[0] ^ 1]))
                    found += 1
                    at = content.find(values, at + 1)
    finally:
        os.kill(process, signal.SIGCONT)
    return found
