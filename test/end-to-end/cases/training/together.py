# SPDX-License-Identifier: Apache-2.0
"""Pairs of what models are fine-tuned with: they train, or one line refuses them (docs/guide/combining.md)."""

import itertools
import math
import os

from harness import ROOT, Skip, case, check, golden, read_log
from launch import ALONE, mpirun

G = golden("mlp")
OPTIONS = {
    "--adapter": ["--adapter", "lora:r=4,alpha=8@all-linear"],
    "--base": ["--base", "nf4"],
    "--qat": ["--qat", "int8"],
    "--prune": ["--prune", "0.5"],
    "--distill": ["--teacher", G.model, "--distill", "temperature=2"],
    "--optimizer-precision dyn8": ["--optimizer-precision", "dyn8"],
    "--zero 1": ["--data-parallel", "--zero", "1"],
    "--zero 2": ["--data-parallel", "--zero", "2"],
    "--grad-accumulation": ["--grad-accumulation", "2"],
    "--memory-budget": ["--memory-budget", "at-least:60%"],
    "--precision bf16": ["--precision", "bf16"],
}


def list_refused():
    """The pairs that the guide says are refused."""
    page = (ROOT / "docs/guide/combining.md").read_text()
    rows = [[cell.strip().strip("`") for cell in line.split("|")[1:3]] for line in page.splitlines() if "|" in line]
    return {frozenset(row) for row in rows if row[0] in OPTIONS}


def get_flags(pair):
    flags = [word for name in pair for word in OPTIONS[name]]
    if "--base" in pair and "--adapter" not in pair:
        flags += ["--freeze", "net.0"]
    return flags


@case("together-refused")
def refused(ingot):
    pairs = list_refused()
    check(len(pairs) == 7, f"{pairs}")
    for pair in pairs:
        command = ingot.ingotc(G.model, "-o", ingot.path("trainer"), *G.compile_flags("adamw"), *get_flags(pair))
        ingot.check_error(command, 2)


@case("together-trains")
def trains(ingot):
    """All other pairs: ctest --preset thorough."""
    if "INGOT_THOROUGH" not in os.environ:
        raise Skip("takes minutes; INGOT_THOROUGH=1 runs it")
    pairs = [set(pair) for pair in itertools.combinations(OPTIONS, 2)]
    for pair in pairs:
        if pair == {"--zero 1", "--zero 2"} or pair in list_refused():
            continue
        names = [name for name in OPTIONS if name in pair]
        trainer = ingot.compile(G.model, *G.compile_flags("adamw"), *get_flags(names))
        log = ingot.path("log.jsonl")
        launcher = mpirun(2) if any("zero" in name for name in names) else []
        ingot.succeed([*launcher, trainer, "--data", G.data, "--steps", 6, "--log", log], env=ALONE)
        losses = [step["loss"] for step in read_log(log)[0]]
        check(all(math.isfinite(loss) for loss in losses), f"{names}: {losses}")
