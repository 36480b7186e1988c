# SPDX-License-Identifier: Apache-2.0
"""Ranks under MPICH's launcher: the same trainer, with another library of MPI."""

import os
import pathlib
import re
import signal
import subprocess
import time

from harness import Failure, case, check, golden
from launch import ALONE, check_bits, compile_for, mpich


@case("ranks-mpich")
def equal_to_open_mpi(ingot):
    check_bits(ingot, mpich, r"MPICH Version [0-9.]+\), as PMI_RANK and PMI_SIZE say")


@case("ranks-mpich-chosen")
def chosen(ingot):
    """INGOT_MPI names the library; one that does not know the launcher is told from one that does."""
    g = golden("mlp")
    run = [compile_for(ingot, g, "adamw", 2), "--data", g.data, "--steps", 2]
    launcher, variables = mpich(2)
    env = {**ALONE, **variables}
    said = ingot.succeed([*launcher, *run], env={**env, "INGOT_MPI": "libmpich.so.12"}).err
    check("over MPI (MPICH" in said, said)
    # Open MPI's library finds no launcher.
    result = ingot.run([*launcher, *run], env={**env, "INGOT_MPI": "libmpi.so.40"})
    check(result.status != 0 and "has connected 1 of 2 ranks: MPI (Open MPI" in result.err, result.err)
    check("INGOT_MPI=LIBRARY" in result.err, result.err)
    alone = {**ALONE, "PMI_RANK": "0", "PMI_SIZE": "2"}
    ingot.check_error(run, 1, "INGOT_MPI", "nowhere.so", env={**alone, "INGOT_MPI": "/nowhere.so"})
    ingot.check_error(run, 1, "INGOT_MPI", "is no library of MPI", env={**alone, "INGOT_MPI": "libz.so.1"})


def find_rank(log, rank):
    """The process of a rank that writes or would write a log."""
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
            variables = (folder / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if os.fsencode(log) in words and f"PMI_RANK={rank}".encode() in variables:
            return int(folder.name)
    raise Failure(f"rank {rank} has no process")


@case("ranks-mpich-lost")
def lost(ingot):
    """A rank that is stopped is noticed by the other, within the limit."""
    g, log = golden("mlp"), ingot.path("log.jsonl")
    launcher, variables = mpich(2)
    command = [*launcher, compile_for(ingot, g, "adamw", 2), "--data", g.data, "--epochs", 1000000]
    command += ["--comm-timeout", 2, "--log", log]
    errors = ingot.path("errors.txt")
    with open(errors, "w", encoding="utf-8") as file:
        run = subprocess.Popen(
            [str(word) for word in command], stdout=file, stderr=file, env={**os.environ, **ALONE, **variables}
        )
    try:
        until = time.monotonic() + 60
        while not log.exists() or log.read_bytes().count(b"\n") < 5:
            check(time.monotonic() < until, f"does not start: {errors.read_text()}")
            time.sleep(0.05)
        os.kill(find_rank(log, 1), signal.SIGSTOP)
        status = run.wait(30)
    except subprocess.TimeoutExpired:
        raise Failure(f"goes on: {errors.read_text()}") from None
    finally:
        if run.poll() is None:
            run.kill()
    said = errors.read_text()
    check(status != 0 and re.search(r"error: rank 0, step \d+: .* has not ended for 2 s", said), f"{status}: {said}")
