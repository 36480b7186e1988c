# SPDX-License-Identifier: Apache-2.0
"""Runs of two ranks that go back to a checkpoint after steps that are not finite."""

import json
import re

import numpy as np
from harness import case, check, golden
from launch import ALONE, compile_for, mpirun

RANKS, STEPS, RATE = 2, 200, 8


@case("ranks-roll-back")
def roll_back(ingot):
    """All ranks go back together, to one checkpoint, with one rate; sharded states too."""
    g = golden("regression")
    for flags in ([], ["--zero", "1"]):
        trainer = compile_for(ingot, g, "momentum", RANKS, *flags)
        folder, log = ingot.path("save"), ingot.path("log.jsonl")
        command = [*mpirun(RANKS), trainer, "--data", g.data, "--steps", STEPS, "--lr", RATE]
        ended = ingot.run([*command, "--save", ingot.path("without")], env=ALONE)
        check(ended.status == 1, f"{flags}: the rate is not too high: exit {ended.status}")
        save = ["--nan", "rollback", "--save", folder, "--save-every", "5", "--keep", "4", "--log", log]
        result = ingot.succeed([*command, *save], env=ALONE)
        scales = [float(n) for n in re.findall(r"with (\S+) of the learning rate", result.err)]
        check(scales and scales == [0.5 ** (i + 1) for i in range(len(scales))], f"{flags}: {result.err}")
        rows = [json.loads(line) for line in log.read_text().splitlines()]
        check([row["step"] for row in rows] == list(range(1, STEPS + 1)), f"{flags}: a step is missing, or twice there")
        check(rows[-1]["lr"] == RATE * scales[-1] and np.isfinite(rows[-1]["loss"]), f"{flags}: {rows[-1]}")
