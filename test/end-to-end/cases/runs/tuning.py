# SPDX-License-Identifier: Apache-2.0
"""--tune of trainers on CPUs, and of ingotc."""

import json

from harness import DIGITS, case, check, read_log

DATA = DIGITS / "train.npz"
BASE = ["--loss", "cross-entropy", "--optimizer", "adamw"]


def read_losses(path):
    return [row["loss"] for row in read_log(path)[0]]


@case("tune-writes-nothing")
def writes_nothing(ingot):
    """Steps that are only measured leave outputs, checkpoints and the log alone, and end by themselves."""
    trainer = ingot.compile(DIGITS / "digits.onnx", *BASE, "--batch", "32")
    log, save = ingot.path("log.jsonl"), ingot.path("save")
    log.write_text("kept")
    outputs = ["--log", log, "--save", save, "--save-every", "1", "--export", ingot.path("out.onnx")]
    said = ingot.succeed([trainer, "--data", DATA, "--tune=measure:0.3", *outputs]).out
    times = json.loads(said)
    check(times["steps"] >= 1 and times["step_ms"] > 0 and times["data_ms"] <= times["step_ms"], said)
    check(log.read_text() == "kept" and not save.exists(), "outputs were written")
    again = json.loads(ingot.succeed([trainer, "--data", DATA, "--tune=measure:0.3"]).out)
    check(times["losses"] == again["losses"], f"{times} and then {again}")
    for value in ("measure:", "measure:0", "measure:x", "measure:-1"):
        ingot.check_error([trainer, "--data", DATA, f"--tune={value}"], 2, "--tune", "no time to measure")
    ingot.check_error([trainer, "--tune"], 2, "--data")
    ingot.check_error([trainer, "--data", DATA, "--tune", "--diagnose"], 2, "--tune", "--diagnose")
    ingot.check_error([trainer, "--data", DATA, "--tune", "--tune-seconds", "0"], 2, "--tune-seconds")
    for value in ("1", "x", "5000"):
        ingot.check_error([trainer, "--data", DATA, "--prefetch", value], 2, "--prefetch", "from 2 to 1024")
    # The run itself says what is wrong with it.
    ingot.check_error([trainer, "--data", ingot.path("none.npz"), "--tune"], 3, "none.npz")


@case("prefetched-batches")
def prefetched(ingot):
    """Another number of batches ahead changes no loss."""
    trainer = ingot.compile(DIGITS / "digits.onnx", *BASE, "--batch", "32")
    command, found = [trainer, "--data", DATA, "--steps", "60"], []
    for flags in ([], ["--workers", "2", "--prefetch", "2"], ["--workers", "1", "--prefetch", "100"]):
        log = ingot.path("log.jsonl")
        ingot.succeed([*command, *flags, "--log", log], env={"OMP_NUM_THREADS": "1"})
        found.append(read_losses(log))
    check(found[0] == found[1] == found[2], "losses differ")


@case("tune-wrong-usage")
def wrong_usage(ingot):
    tune = [ingot.bin / "ingotc", DIGITS / "digits.onnx", *BASE, "--tune"]
    ingot.check_error([*tune[:-1], "--tune=speed"], 2, "--tune", "'speed' is not known")
    ingot.check_error([*tune[:-1], "--global-batch", "8"], 2, "--global-batch")
    ingot.check_error([*tune, "--batch", "4", "--global-batch", "8"], 2, "--batch")
    ingot.check_error([*tune, "--emit", "exec", "-o", "x"], 2, "--tune")
    ingot.check_error([*tune, "--fit", "1KiB"], 2, "--fit", "one sample takes")
    data = ["--tune-data", ingot.path("none.npz"), "--tune-seconds", "5"]
    ingot.check_error([*tune, "--batch", "8", *data], 1, "--tune", "no trainer could be measured")
