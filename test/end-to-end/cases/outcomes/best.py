# SPDX-License-Identifier: Apache-2.0
"""The best weights of a run, through resuming, early stopping and evaluating."""

import json
import re
import shutil
import zlib

import numpy as np
from harness import case, check, golden, initializers

G = golden("multilabel")
DATA = ["--data", G.data, "--eval-data", G.data]
# A rate so high that the evaluation gets worse, and better again now and then.
RUN = [*DATA, "--eval-every", "5", "--lr", "2", "--steps", "400", "--best", "eval_loss", "--early-stop", "5"]


def trainer_of(ingot):
    return ingot.compile(G.model, *G.compile_flags("adamw"), "--clip")


def arrays(path):
    with np.load(path) as content:
        return {name: content[name] for name in content}


def same(one, other):
    return one.keys() == other.keys() and all(np.array_equal(one[name], other[name]) for name in one)


def evaluations(log):
    return [row for row in map(json.loads, log.read_text().splitlines()) if "eval_loss" in row]


def name_checkpoint(path, step):
    name = f"step-{step}"
    path.write_text(f"{name}\ncrc32 {zlib.crc32(name.encode())}\n")


@case("best-weights-leave")
def leave(ingot):
    """Export and predictions are of the best evaluation, with and without checkpoints; the last by option."""
    trainer = trainer_of(ingot)
    for flags in ([], ["--ema", "0.5"]):
        out, predicted, log, folder = (ingot.path(name) for name in ("b.onnx", "p.npz", "log.jsonl", "save"))
        results = ["--export", out, "--predict", predicted]
        said = ingot.succeed([trainer, *RUN, *flags, *results, "--log", log, "--save", folder]).err
        found = evaluations(log)
        loss, step = min((row["eval_loss"], row["step"]) for row in found)
        check(step != found[-1]["step"], f"the best is the last: {found}")
        check(f"results are of step {step}, whose eval_loss was best" in said, said)
        # The same without a checkpoint, and from the best checkpoint.
        for how in ([*RUN, *flags], ["--evaluate", "--eval-data", G.data, "--resume", folder / "best"]):
            again, other = ingot.path("b.onnx"), ingot.path("p.npz")
            ingot.succeed([trainer, *how, "--export", again, "--predict", other])
            check(again.read_bytes() == out.read_bytes(), f"{how}: other weights")
            check(same(arrays(other), arrays(predicted)), f"{how}: other predictions")
        last = ingot.path("last.onnx")
        said = ingot.succeed([trainer, *RUN, *flags, "--export", last, "--export-weights", "last"]).err
        check(not same(initializers(last), initializers(out)), "the last weights are the best ones")
        check(f"the last: eval_loss was best at step {step}" in said, said)
    # Early stopping alone looks for the best loss, and so does the option.
    for flags in (["--early-stop", "3"], ["--export-weights", "best"]):
        out = ingot.path("o.onnx")
        said = ingot.succeed([trainer, *RUN[:-4], *flags, "--export", out]).err
        check(re.search(r"results are of step \d+, whose eval_loss was best", said), said)
    ingot.check_error([trainer, "--data", G.data, "--export-weights", "best"], 2, "--export-weights", "--eval-data")


@case("best-is-inherited")
def inherited(ingot):
    """Killed and resumed without a word on the best: the export, the best checkpoint and the log of the whole run."""
    trainer = trainer_of(ingot)
    whole, log, out = ingot.path("whole"), ingot.path("whole.jsonl"), ingot.path("whole.onnx")
    run = [*RUN, "--save-every", "4", "--keep", "100"]
    ingot.succeed([trainer, *run, "--save", whole, "--log", log, "--export", out])
    found = [(row["eval_loss"], row["step"]) for row in evaluations(log)]
    best, end = min(found)[1], found[-1][1]
    check(end < 400, "it did not stop early")
    # Before the first evaluation, before the best, after it, and when all is done.
    for stop in (4, best - best % 4 - 4, best + 4 - best % 4, end):
        part, lines, resumed = ingot.path("part"), ingot.path("part.jsonl"), ingot.path("part.onnx")
        part.mkdir()
        for name in whole.glob("step-*"):
            if int(name.name.split("-")[1]) <= stop:
                shutil.copytree(name, part / name.name)
        name_checkpoint(part / "latest", stop)
        if before := [row for row in found if row[1] <= stop]:
            name_checkpoint(part / "best", min(before)[1])
        lines.write_text(log.read_text())
        said = ingot.succeed(
            [trainer, *DATA, "--resume", part, "--save", part, "--log", lines, "--export", resumed]
        ).err
        check("resumes with --best eval_loss" in said and "--save-every 4" in said, said)
        check(resumed.read_bytes() == out.read_bytes(), f"stopped at {stop}: another export")
        check((part / "best").read_text() == (whole / "best").read_text(), f"stopped at {stop}: another best")
        names = [{p.name for p in folder.glob("step-*")} for folder in (part, whole)]
        check(names[0] == names[1], f"stopped at {stop}: kept {names}")
        got = [(row["eval_loss"], row["step"]) for row in evaluations(lines)]
        check(got[: len(found)] == found and len(set(got)) == len(found), f"stopped at {stop}: {got} of {found}")
    # The best one of the run before has gone.
    lost = ingot.path("lost")
    shutil.copytree(whole, lost)
    name_checkpoint(lost / "best", 4)
    last = ingot.path("last.onnx")
    ingot.check_error([trainer, *DATA, "--resume", lost, "--export", last], 1, "best", f"best at step {best}")
    check(not last.exists(), "other weights were exported")


@case("resume-says-what-is-left-out")
def left_out(ingot):
    trainer, folder = trainer_of(ingot), ingot.path("save")
    ingot.succeed([trainer, *RUN, "--save-every", "4", "--save", folder])
    flags = ["--resume", folder, "--steps", "500"]
    said = ingot.succeed([trainer, "--data", G.data, *flags]).err
    check("without --eval-data this one does not evaluate" in said and "--best eval_loss" in said, said)
    check("without --save this one saves nothing" in said and "--save-every 4" in said, said)
    said = ingot.succeed([trainer, *DATA, *flags, "--eval-every", "7", "--early-stop", "50"]).err
    for part in ("--eval-every 7 (it had --eval-every 5)", "--early-stop 50 (it had --early-stop 5)"):
        check(part in said, f"{part!r}: {said}")


@case("evaluate")
def evaluate(ingot):
    """Of a checkpoint, of other weights, and of the model's: one line, no false note, nothing lost."""
    trainer, folder, log = trainer_of(ingot), ingot.path("save"), ingot.path("log.jsonl")
    ingot.succeed(
        [trainer, *RUN, "--schedule", "cosine", "--ema", "0.9", "--save", folder, "--log", log, "--save-every", "3"]
    )
    lines, stored = log.read_text(), log.with_name("log.jsonl.toml").read_text()
    want = {row["step"]: row["eval_loss"] for row in evaluations(log)}
    step = int((folder / "best").read_text().split()[0].split("-")[1])
    base = [trainer, "--eval-data", G.data]
    for flags in (["--evaluate"], ["--steps", "0"]):
        result = ingot.succeed([*base, *flags, "--resume", folder / "best"])
        check(len(result.err.splitlines()) == 2 and f"evaluates step {step}" in result.err, result.err)
        check(f"step {step}  eval_loss {want[step]:.4f}" in result.err, result.err)
        # The log of the run keeps its lines.
        more = ingot.path("log.jsonl")
        more.write_text(lines)
        more.with_name("log.jsonl.toml").write_text(stored)
        ingot.succeed([*base, *flags, "--resume", folder / "best", "--log", more])
        check(more.read_text().startswith(lines), "lines of the log are lost")
        check(json.loads(more.read_text().splitlines()[-1])["eval_loss"] == want[step], "another loss in the log")
        check(more.with_name("log.jsonl.toml").read_text() == stored, "the options of the run are lost")
    # The file of the run's options goes on being one, and no checkpoint is touched.
    before = {p: p.stat().st_mtime_ns for p in folder.rglob("*")}
    result = ingot.succeed([trainer, "--config", log.with_name("log.jsonl.toml"), "--evaluate", "--resume", folder])
    check("note" not in result.err and before == {p: p.stat().st_mtime_ns for p in folder.rglob("*")}, result.err)
    result = ingot.succeed([*base, "--evaluate"])
    check("evaluates the first weights" in result.err and len(result.err.splitlines()) == 2, result.err)
    _, rows = ingot.train(trainer, "--eval-data", G.data, "--evaluate")
    check([row["step"] for row in rows] == [0], f"{rows}")
    # What only steps have an effect on is named, and nothing else.
    unused = ingot.path("unused")
    flags = ["--evaluate", "--epochs=3", "--save", unused, "--lr", "0.1", "--data", G.data]
    said = ingot.succeed([*base, *flags]).err
    check("these options have no effect: --epochs, --save\n" in said and not unused.exists(), said)
    said = ingot.succeed([*base, "--evaluate", "--steps", "0"]).err
    check("no effect" not in said, said)
    ingot.check_error([trainer, "--evaluate", "--data", G.data], 2, "--evaluate", "--eval-data")


@case("min-delta")
def min_delta(ingot):
    """Small gains do not keep a run going, but the best of them is the best."""
    trainer, log, folder = trainer_of(ingot), ingot.path("log.jsonl"), ingot.path("save")
    flags = [*DATA, "--lr", "1e-3", "--eval-every", "2", "--steps", "80"]
    flags += ["--early-stop", "4", "--min-delta", "0.05", "--save", folder]
    result = ingot.succeed([trainer, *flags, "--log", log])
    found = [(row["step"], row["eval_loss"]) for row in evaluations(log)]
    reference, since = float("inf"), 0
    for number, (step, loss) in enumerate(found):
        reference, since = (loss, 0) if loss < reference - 0.05 else (reference, since + 1)
        check((since == 4) == (number == len(found) - 1), f"ended at {found[-1]}, not {step}: {found}")
    check(found[-1][0] < 80 and "by more than 0.05" in result.err, result.err)
    best = min(found, key=lambda row: row[1])[0]
    check((folder / "best").read_text().startswith(f"step-{best}\n"), "another best")
    ingot.check_error([trainer, *DATA, "--min-delta", "0.1"], 2, "--min-delta", "--early-stop")
