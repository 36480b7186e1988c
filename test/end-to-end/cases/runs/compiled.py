# SPDX-License-Identifier: Apache-2.0
"""How a trainer was compiled: it says so, its checkpoints do, and a run that goes on in another one is told."""

import json
import shlex
import shutil

from harness import DIGITS, case, check

MODEL, DATA = DIGITS / "digits.onnx", DIGITS / "train.npz"
LOSS = ["--loss", "cross-entropy"]


def inspected(ingot, trainer):
    return json.loads(ingot.succeed([trainer, "--inspect=json"]).out)["command"]


@case("compiled-command")
def command(ingot):
    """--inspect prints a command line that makes the same trainer again, whatever way options were given."""
    config = ingot.path("options.toml")
    config.write_text('optimizer = "sgd"\nmetrics = "accuracy"\n')
    flags = [*LOSS, "--batch", "16", "--config", config, "-O1", "--freeze", "a b|it's", "--allow-unmatched"]
    first = ingot.path("first")
    report = ["--report", ingot.path("page.html"), "--remarks", ingot.path("remarks.yaml")]
    ingot.succeed(ingot.ingotc(MODEL, "-o", first, *flags, *report))
    line = inspected(ingot, first)
    check(f"compiled by: {line}\n" in ingot.succeed([first, "--inspect"]).out, "not in the text")
    words = shlex.split(line)
    check(words[:2] == ["ingotc", "digits.onnx"], line)
    expected = {"--allow-unmatched", "--batch=16", "--freeze=a b|it's", "--level=1", "--loss=cross-entropy",
                "--metrics=accuracy", "--optimizer=sgd"}  # fmt: skip
    check(set(words[2:]) == expected, line)
    again = ingot.path("again")
    ingot.succeed(ingot.ingotc(MODEL, "-o", again, *words[2:]))
    check(again.read_bytes() == first.read_bytes(), "another trainer")
    # --fit has found the batch.
    fit = ingot.path("fit")
    ingot.succeed(ingot.ingotc(MODEL, "-o", fit, *LOSS, "--fit", "1MiB"))
    batch = json.loads(ingot.succeed([fit, "--inspect=json"]).out)["batch"]
    check(f"--batch={batch}" in shlex.split(inspected(ingot, fit)), inspected(ingot, fit))


@case("compiled-otherwise")
def otherwise(ingot):
    """A checkpoint keeps how its trainer was compiled; what trains otherwise is named in one line, the rest is not."""
    first = ingot.compile(MODEL, *LOSS, "--batch", "32")
    save = ingot.path("save")
    ingot.succeed([first, "--data", DATA, "--steps", "2", "--save", save])
    compiled = json.loads((save / "step-2/checkpoint.json").read_text())["settings"]["compiled"]
    check(compiled["command"] == inspected(ingot, first), f"{compiled}")

    def resume(*flags):
        folder = ingot.path("resumed")
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(save, folder)
        trainer = ingot.compile(MODEL, *flags)
        said = ingot.succeed([trainer, "--data", DATA, "--steps", "3", "--resume", folder]).err
        return [line for line in said.splitlines() if "was compiled" in line]

    same = (
        [*LOSS, "--batch", "32"],
        [*LOSS, "--batch", "16", "--grad-accumulation", "2", "-O1", "--metrics", "accuracy", "--precision", "fp32"],
        [*LOSS, "--batch", "32", "--optimizer", "adamw", "--memory-budget", "90%", "--arch", "x86-64"],
    )
    for flags in same:
        check(resume(*flags) == [], f"{flags}: {resume(*flags)}")
    # In the words of the manifest, which are the same however the loss is written.
    smoothed = "cross-entropy:1,smoothing=0.1"
    lines = resume("--loss", "cross-entropy:smoothing=0.1", "--batch", "32", "--precision", "bf16")
    check(len(lines) == 1, f"{lines}")
    own, other = lines[0].split("; ")
    check(own == f"note: this trainer was compiled with --precision=bf16 --loss={smoothed}", own)
    check(other == "that of the checkpoint's run with --loss=cross-entropy:1", other)
    lines = resume(*LOSS, "--batch", "32", "--clip", "--freeze", "fc1", "--allow-unmatched")
    check(len(lines) == 1 and "with --clip --freeze=fc1; that of the checkpoint's run without" in lines[0], f"{lines}")
