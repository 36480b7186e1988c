# SPDX-License-Identifier: Apache-2.0
"""Memory budgets, and steps of several micro-batches."""

import json
import re

import numpy as np
from cases.training.transformer import EXAMPLE, FLAGS, trainer_and_data
from harness import case, check, check_close, check_relative, golden, initializers

MODEL = EXAMPLE / "bytes.onnx"


def inspect(ingot, trainer):
    return json.loads(ingot.succeed([trainer, "--inspect=json"]).out)


def losses(ingot, trainer, data, *flags):
    run = ["--data", data, "--no-shuffle", "--steps", "3", "--lr", "1e-3", *flags]
    steps, _ = ingot.train(trainer, *run)
    return [step["loss"] for step in steps]


@case("budget-sweep")
def budget_sweep(ingot):
    """Less memory, the same bits, and the peak that was asked for."""
    free, data = trainer_and_data(ingot)
    plan = inspect(ingot, free)
    expected = losses(ingot, free, data)
    fixed = plan["peak_bytes"] - plan["activation_bytes"]
    peaks = [plan["peak_bytes"]]
    for percent in (80, 60, 40):
        trainer = ingot.compile(MODEL, *FLAGS, "--memory-budget", f"{percent}%")
        peaks.append(inspect(ingot, trainer)["peak_bytes"])
        allowed = fixed + plan["activation_bytes"] * percent / 100
        check(peaks[-1] <= allowed, f"{percent} %: peak {peaks[-1]}, allowed {allowed}")
        got = losses(ingot, trainer, data)
        check(got == expected, f"{percent} %: losses {got}, without a budget {expected}")
    check(peaks == sorted(peaks, reverse=True), f"a smaller budget peaks higher: {peaks}")


def planned_peak(ingot, model, flags, budget):
    """The planned peak with the budget, in bytes, or the smallest possible one."""
    output = ingot.path("step.mlir")
    command = ingot.ingotc(model, "-o", output, *flags, "--emit", "exec", "--weights", "none")
    result = ingot.run([*command, "--memory-budget", str(budget)])
    if result.status != 0:
        found = re.search(r"smallest possible is (\d+) bytes", result.err)
        check(found, result.err)
        return None, int(found[1])
    step = re.search(r"@train_step.*", output.read_text())[0]
    return int(re.search(r"peak = (\d+)", step)[1]), None


@case("budget-monotone")
def budget_monotone(ingot):
    """Twenty budgets down to the smallest possible: the peak never rises, and never exceeds the budget."""
    convolutions = golden("cnn")
    for model, flags in (
        (MODEL, FLAGS),
        (convolutions.model, convolutions.compile_flags("momentum")),
    ):
        free, _ = planned_peak(ingot, model, flags, 1 << 40)
        _, smallest = planned_peak(ingot, model, flags, 1)
        peaks = [free]
        for i in range(1, 20):
            budget = free - (free - smallest) * i // 19
            peak, _ = planned_peak(ingot, model, flags, budget)
            check(peak and peak <= budget, f"{model.name}: budget {budget}, peak {peak}")
            peaks.append(peak)
        check(peaks == sorted(peaks, reverse=True), f"{model.name}: a smaller budget peaks higher: {peaks}")


@case("budget-ranks")
def budget_ranks(ingot):
    """Ranks and micro-batches, alone and together, leave the budget as much to recompute, with the same bits."""
    _, data = trainer_and_data(ingot)
    for extra in (["--data-parallel"], ["--data-parallel", "--grad-accumulation", "2"]):
        flags = [*FLAGS, *extra]
        free = ingot.compile(MODEL, *flags)
        plan = inspect(ingot, free)
        budget = plan["peak_bytes"] - plan["activation_bytes"] * 0.4
        trainer = ingot.compile(MODEL, *flags, "--memory-budget", "60%")
        peak = inspect(ingot, trainer)["peak_bytes"]
        check(peak <= budget, f"{extra}: peak {peak}, allowed {budget}")
        check(losses(ingot, trainer, data) == losses(ingot, free, data), f"{extra}: other losses")


@case("check-memory")
def check_memory(ingot):
    """No kernel writes, and none reads, where nothing lives."""
    free, data = trainer_and_data(ingot)
    expected = losses(ingot, free, data)
    for flags in ((), ("--memory-budget", "40%")):
        trainer = ingot.compile(MODEL, *FLAGS, *flags)
        check(losses(ingot, trainer, data, "--check-memory") == expected, f"{flags}: other losses")


@case("budget-impossible")
def budget_impossible(ingot):
    """The error names a budget that is possible."""
    output = ingot.path("trainer")
    command = ingot.ingotc(MODEL, "-o", output, *FLAGS)
    result = ingot.run([*command, "--memory-budget", "1MiB"])
    check(result.status == 2, f"exit {result.status}: {result.err}")
    found = re.search(r"smallest possible is (\d+) bytes", result.err)
    check(found, result.err)
    check(not output.exists(), "a trainer was written")
    ingot.succeed([*command, "--memory-budget", found[1]])
    check(inspect(ingot, output)["peak_bytes"] <= int(found[1]), "the peak is above the budget")
    below = str(int(found[1]) - 1)
    ingot.check_error([*command, "--memory-budget", below], 2, "--memory-budget", found[1])
    # A limit that may be exceeded is met as far as that is possible.
    for wanted in ("at-least:1MiB", "at-least:0%"):
        ingot.succeed([*command, "--memory-budget", wanted])
        check(inspect(ingot, output)["peak_bytes"] <= int(found[1]), f"{wanted}: not the smallest possible")


@case("budget-options")
def budget_options(ingot):
    output = ingot.path("trainer")
    command = ingot.ingotc(MODEL, "-o", output, *FLAGS)
    for value in ("", "x", "-1", "10 parsecs", "120%", "1e30GiB", "nan"):
        ingot.check_error([*command, f"--memory-budget={value}"], 2, "--memory-budget")
    for value in ("save", "keep=a", "save=", "save=(", "save=a"):
        flags = ["--remat", value] + (["--remat", "save=b"] if value == "save=a" else [])
        ingot.check_error([*command, *flags], 2, "--remat")


@case("remat-by-name")
def remat_by_name(ingot):
    """What is recomputed by name changes the plan, not the losses."""
    free, data = trainer_and_data(ingot)
    trainer = ingot.compile(MODEL, *FLAGS, "--remat", "recompute=.")
    check(len(inspect(ingot, trainer)["kernels"]) > len(inspect(ingot, free)["kernels"]), "nothing runs twice")
    check(losses(ingot, trainer, data) == losses(ingot, free, data), "other losses")
    ingot.check_error(
        ingot.ingotc(MODEL, "-o", ingot.path("t"), *FLAGS, "--remat", "save=.", "--memory-budget", "40%"),
        2,
        "--memory-budget",
    )


MLP = golden("mlp")


def uneven_data(ingot):
    """Most samples of some micro-batches have no label."""
    with np.load(MLP.data) as arrays:
        data = dict(arrays)
    labels = data["labels"].copy()
    labels[np.arange(len(labels)) % 32 < 8] = -100
    labels[np.arange(len(labels)) % 32 == 11] = -100
    path = ingot.path("data.npz")
    np.savez(path, **{**data, "labels": labels})
    return path


@case("grad-accumulation")
def grad_accumulation(ingot):
    """Four micro-batches train like one batch of all their samples."""
    data = uneven_data(ingot)
    for flags in (["--optimizer", "momentum"], ["--optimizer", "adamw", "--clip"]):
        common = ["--loss", "cross-entropy", *flags]
        whole = ingot.compile(MLP.model, *common, "--batch", "32")
        parts = ingot.compile(MLP.model, *common, "--batch", "8", "--grad-accumulation", "4")
        logs, weights = [], []
        for trainer in (whole, parts):
            exported = ingot.path("exported.onnx")
            run = ["--data", data, "--no-shuffle", "--steps", "10", "--export", exported]
            steps, _ = ingot.train(trainer, *run)
            logs.append(steps)
            weights.append(initializers(exported))
        for key in ("loss", "grad_norm"):
            if key in logs[0][0]:
                check_relative(key, [s[key] for s in logs[1]], [s[key] for s in logs[0]], 2e-5)
        for name, value in weights[0].items():
            check_close(name, weights[1][name], value, 1e-5)
        check(inspect(ingot, parts)["grad_accumulation"] == 4, "--inspect does not say 4")


@case("grad-accumulation-resume")
def grad_accumulation_resume(ingot):
    """Nothing of a step is left over for the next: a resumed run has the same bits. In fp16
    an overflow in any micro-batch skips the step."""
    data = uneven_data(ingot)
    flags = ["--loss", "cross-entropy", "--batch", "8", "--grad-accumulation", "2", "--precision", "fp16"]
    trainer = ingot.compile(MLP.model, *flags)
    run = ["--data", data, "--no-shuffle"]
    steps, _ = ingot.train(trainer, *run, "--steps", "6")
    saved = ingot.path("saved")
    ingot.train(trainer, *run, "--steps", "3", "--save", saved)
    rest, _ = ingot.train(trainer, *run, "--steps", "6", "--resume", saved, log_from=4)
    check([s["loss"] for s in rest] == [s["loss"] for s in steps[3:]], "other losses after resuming")
    # A run all of whose steps overflow has trained nothing.
    log = ingot.path("overflowing.jsonl")
    ingot.check_error(
        [trainer, *run, "--steps", "2", "--loss-scale", "1e30", "--log", log], 1, "no step has changed the model"
    )
    overflowing = [json.loads(line) for line in log.read_text().splitlines()]
    check(overflowing[0]["skipped"], "a step whose gradients overflow is not skipped")
    ingot.check_error(
        ingot.ingotc(MLP.model, "-o", saved, *flags, "--grad-accumulation", "0"), 2, "--grad-accumulation"
    )


@case("fit")
def fit(ingot):
    """The largest batch: one more sample is too much."""
    flags = ["--loss", "cross-entropy"]
    command = ingot.ingotc(MLP.model, *flags, "--fit")
    found = re.match(r"batch (\d+): (\d+) bytes", ingot.succeed([*command, "8MiB"]).out)
    check(found, "no batch in the output")
    batch, peak = int(found[1]), int(found[2])
    sizes = []
    for size in (batch, batch + 1):
        trainer = ingot.compile(MLP.model, *flags, "--batch", str(size))
        sizes.append(inspect(ingot, trainer)["peak_bytes"])
    check(sizes[0] == peak <= 8 << 20 < sizes[1], f"peaks {sizes} of {batch} samples and one more")
    trainer = ingot.path("trainer")
    ingot.succeed([*command, "8MiB", "-o", trainer])
    check(inspect(ingot, trainer)["batch"] == batch, "a trainer of another batch")
    ingot.check_error([*command, "1KiB"], 2, "--fit", "one sample takes")
    ingot.check_error([*command, "50%"], 2, "--fit")
    ingot.check_error([*command, "1MiB", "--batch", "4"], 2, "--fit")


@case("machine-file")
def machine_file(ingot):
    path = ingot.path("machine.json")
    command = ingot.ingotc(MLP.model, "-o", ingot.path("t"), *MLP.compile_flags("sgd"), "--machine", path)
    ingot.check_error(command, 3, "machine.json", "cannot read")
    for text in ("", "[]", '{"speed": 1}', '{"threads": "two"}', '{"threads": 0}', '{"matmul_f32": -1}'):
        path.write_text(text)
        ingot.check_error(command, 3, "machine.json")
    path.write_text('{"threads": 2, "memory_bandwidth": 1e9}')
    ingot.succeed(command)
