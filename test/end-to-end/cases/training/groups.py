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


@case("norms-and-biases-without-decay")
def norms_and_biases(ingot):
    """Left out by the run or when compiling, with the same bits; a resumed run inherits it; other names are refused."""
    flags = ["--weight-decay", "0.5", "--steps", "8"]
    for optimizer, more in (("adamw", []), ("momentum", ["--group", "head=net.4"])):
        trainer, compiled = (
            compile_with(ingot, optimizer, *more, *words) for words in ([], ["--no-decay", "norms-and-biases"])
        )
        outs = {}
        for name, command in (
            ("none", [trainer]), ("run", [trainer, "--no-decay", "norms-and-biases"]), ("compiled", [compiled]),
            ("both", [compiled, "--no-decay", "norms-and-biases"]),
        ):  # fmt: skip
            outs[name] = ingot.path("out.onnx")
            ingot.succeed([*command, *BASE, *flags, "--export", outs[name]])
        weights = {name: initializers(out) for name, out in outs.items()}
        for name, want in weights["compiled"].items():
            check(np.array_equal(weights["run"][name], want), f"{optimizer}: {name}")
            if name.endswith("bias"):
                check(not np.array_equal(weights["none"][name], want), f"{optimizer}: {name} does not decay")
        check(outs["both"].read_bytes() == outs["compiled"].read_bytes(), "compiled and run")
    folder, resumed = ingot.path("save"), ingot.path("resumed.onnx")
    log = ["--log", folder / "log.jsonl"]
    base = [trainer, *BASE, "--weight-decay", "0.5", "--no-decay", "norms-and-biases"]
    ingot.succeed([*base, "--steps", "3", "--save", folder])
    ingot.succeed([trainer, *BASE[:2], "--resume", folder, "--steps", "8", "--export", resumed, *log])
    check(resumed.read_bytes() == outs["run"].read_bytes(), "a resumed run decays")
    check('no-decay = "norms-and-biases"' in (folder / "log.jsonl.toml").read_text(), "not in the configuration")
    ingot.check_error([trainer, *BASE, "--no-decay", "net"], 2, "--no-decay", "'net' is not norms-and-biases")
