# SPDX-License-Identifier: Apache-2.0
"""Ranks under Open MPI 5, whose library has the interface of version 4, with which trainers are compiled."""

import re

from harness import case, check, golden, read_log
from launch import ALONE, compile_for, losses, open_mpi_5


@case("ranks-open-mpi-5")
def equal_to_open_mpi_4(ingot):
    """The same bits as with the machine's own Open MPI, sharded and compressed or not."""
    g = golden("mlp")
    for size, flags in ((2, []), (3, ["--zero", "2"]), (2, ["--grad-comm", "int8,start:0"])):
        trainer = compile_for(ingot, g, "adamw", 2, *flags)
        run = [trainer, "--data", g.data, "--eval-data", g.data, "--steps", 12, "--seed", 3]
        launcher, variables = open_mpi_5(size)
        log = ingot.path("log.jsonl")
        said = ingot.succeed([*launcher, *run, "--log", log], env={**ALONE, **variables}).err
        word = rf"note: {size} ranks over MPI \(Open MPI v5[0-9.]+.*\), as OMPI_COMM_WORLD_RANK and "
        check(re.search(word, said), said)
        check([step["loss"] for step in read_log(log)[0]] == losses(ingot, size, *run), f"{size} ranks, {flags}")
