# SPDX-License-Identifier: Apache-2.0
"""Groups of parameters: rates, decays and freezing as in PyTorch (group_goldens.py)."""

import json

import numpy as np
from harness import HERE, case, check, check_close, check_relative, golden, initializers

GOLDENS = json.loads((HERE / "goldens-groups.json").read_text())
G = golden(GOLDENS["case"])


def compile_with(ingot, optimizer, *flags):
    return ingot.compile(G.model, *G.compile_flags(optimizer), "--clip", *flags)


BASE = ["--data", G.data, "--no-shuffle", "--lr", GOLDENS["lr"], "--weight-decay", GOLDENS["decay"],
        "--clip-norm", GOLDENS["clip"]]  # fmt: skip


@case("groups-of-torch")
def groups(ingot):
    """Losses, norms of gradients without those that are frozen, and weights; resumed runs keep the settings."""
    for run in GOLDENS["runs"]:
        trainer, out = compile_with(ingot, run["optimizer"], *run["compile"]), ingot.path("out.onnx")
        flags = [*BASE, *run["run"]]
        rows, _ = ingot.train(trainer, *flags, "--steps", GOLDENS["steps"], "--export", out)
        check_relative("losses", [row["loss"] for row in rows], run["losses"], 2e-5)
        check_relative("norms", [row["grad_norm"] for row in rows], run["norms"], 1e-4)
        trained = initializers(out)
        for name, want in run["weights"].items():
            values = trained[name].astype(np.float64)
            check_close(name, [values.sum(), np.linalg.norm(values)], want, 1e-4)
        folder, resumed, log = ingot.path("save"), ingot.path("resumed.onnx"), ingot.path("log.jsonl")
        ingot.succeed([trainer, *flags, "--steps", "5", "--save", folder])
        ingot.succeed(
            [trainer, "--data", G.data, "--resume", folder, "--steps", GOLDENS["steps"], "--export", resumed,
             "--log", log]
        )  # fmt: skip
        check(resumed.read_bytes() == out.read_bytes(), "a resumed run has other groups")
        text = log.with_name("log.jsonl.toml").read_text()
        check("body:" in text and "freeze-until" in text, f"groups are not in {text!r}")


@case("groups-and-errors")
def errors(ingot):
    """Without settings, groups change no bits; what is not there is refused."""
    plain, grouped = compile_with(ingot, "adamw"), compile_with(ingot, "adamw", "--group", "head=net.4")
    runs = [ingot.train(t, *BASE, "--steps", "5")[0] for t in (plain, grouped)]
    check([r["loss"] for r in runs[0]] == [r["loss"] for r in runs[1]], "a group without settings changes losses")
    ingot.check_error([grouped, *BASE, "--group", "tail:lr=2"], 2, "--group", "there is no group 'tail'")
    ingot.check_error([grouped, *BASE, "--group", "head:speed=2"], 2, "--group", "speed=2")
    ingot.check_error([grouped, *BASE, "--group", "head:lr=-1"], 2, "--group", "'-1'")
    ingot.check_error([plain, *BASE, "--group", "head:lr=2"], 2, "--group", "no group 'head'")
    base = [G.model, "-o", ingot.path("t"), *G.compile_flags("adamw")]
    ingot.check_error(ingot.ingotc(*base, "--group", "head=elephant"), 2, "--group", "no parameter")
    ingot.check_error(ingot.ingotc(*base, "--group", "head"), 2, "--group", "NAME=REGEX")
