# SPDX-License-Identifier: Apache-2.0
"""Trainers on several ranks of this machine."""

import shutil

from harness import Skip, read_log

ALONE = {"OMP_NUM_THREADS": "1"}


def mpirun(ranks):
    if not shutil.which("mpirun"):
        raise Skip("mpirun is not there")
    return ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", str(ranks)]


def compile_for(ingot, g, optimizer, ranks, *flags):
    loss = ["--loss", g.loss] if g.loss else []
    return ingot.compile(
        g.model, *loss, "--optimizer", optimizer, "--batch", str(g.batch // ranks), "--data-parallel", *flags
    )


def run_ranks(ingot, ranks, trainer, *flags):
    """The log's steps and evaluations."""
    log = ingot.path("log.jsonl")
    launcher = mpirun(ranks) if ranks > 1 else []
    ingot.succeed([*launcher, trainer, *flags, "--log", log], env=ALONE)
    return read_log(log)


def losses(ingot, ranks, trainer, *flags):
    return [step["loss"] for step in run_ranks(ingot, ranks, trainer, *flags)[0]]
