# SPDX-License-Identifier: Apache-2.0
"""Files of others stay as they are: under names that a trainer makes up, and in folders that it shares."""

import json
import os
import subprocess

from harness import DIGITS, QUIET, case, check, golden

G = golden("multilabel")
PRECIOUS = "precious\n"


def trainer_of(ingot):
    return ingot.compile(G.model, *G.compile_flags("adamw"))


def precious(path):
    path.write_text(PRECIOUS)
    return path


def names(folder):
    return {path.name for path in folder.iterdir()}


@case("keep-the-folder-beside-save")
def beside_save(ingot):
    """--diagnose saves into a folder of its own, and removes no other; nor does it touch that of --save."""
    trainer, folder = trainer_of(ingot), ingot.path("run").parent
    notes = folder / "run.diagnose" / "notes.txt"
    notes.parent.mkdir()
    precious(notes)
    for save in (folder / "run", f"{folder}/run/", folder / "none/run"):
        ingot.succeed([trainer, "--data", G.data, "--save", save, "--save-every", "5", "--diagnose"])
        check(notes.read_text() == PRECIOUS, "the folder beside is gone")
    check(names(folder) == {"run.diagnose", "none"} and not names(folder / "none"), f"left {names(folder)}")


@case("keep-what-links-lead-to")
def links(ingot):
    """Names that nobody gave replace a link; a name that was given follows it."""
    trainer, folder = trainer_of(ingot), ingot.path("z").parent
    kept = precious(folder / "kept")
    save, log, board = folder / "save", folder / "log.jsonl", folder / "board"
    save.mkdir()
    run = [trainer, "--data", G.data, "--eval-data", G.data, "--eval-every", "2", "--steps", "4"]
    for name in ("latest", "best", ".lock", ".probe", "step-9.tmp-1"):
        (save / name).symlink_to(kept)
    for name in ("log.jsonl.toml", "log.jsonl.1"):
        (folder / name).symlink_to(kept)
    (folder / "given").symlink_to("target.jsonl")
    ingot.succeed([*run, "--save", save, "--best", "eval_loss", "--log", log, "--log-max-mb", "1",
                   "--tensorboard", board])  # fmt: skip
    ingot.succeed([*run, "--resume", save, "--steps", "6", "--log", log, "--log-max-mb", "1"])
    check(kept.read_text() == PRECIOUS, f"written through a link: {kept.read_text()!r}")
    for name in ("latest", "best"):
        check(not (save / name).is_symlink(), f"{name} is still a link")
    ingot.succeed([*run, "--log", folder / "given"])
    check((folder / "given").is_symlink() and (folder / "target.jsonl").exists(), "the link was replaced")
    archive = folder / "data.tar"
    data = [ingot.bin / "ingot-data", "convert", DIGITS / "eval.npz", "-o", archive]
    ingot.succeed(data)
    (folder / "data.tar.index").symlink_to(kept)
    ingot.succeed([ingot.bin / "ingot-data", "index", archive])
    check(kept.read_text() == PRECIOUS, "the index was written through a link")


@case("keep-files-of-those-names")
def files(ingot):
    """A file that no trainer wrote is not replaced, in nobody's way or named in one error."""
    trainer, folder = trainer_of(ingot), ingot.path("z").parent
    run = [trainer, "--data", G.data, "--steps", "2"]
    for name, flags in {
        "log.jsonl.toml": ["--log", folder / "log.jsonl"],
        "log.jsonl.1": ["--log", folder / "log.jsonl", "--log-max-mb", "1"],
        "tuned": [f"--tune={folder / 'tuned'}"],
    }.items():
        kept = precious(folder / name)
        ingot.check_error([*run, *flags], 2, name, "something else")
        check(kept.read_text() == PRECIOUS, f"{name} was replaced")
        kept.unlink()
    written = folder / "run.toml"
    text = "# why this rate: ...\nlr = 0.002\n"
    written.write_text(text)
    ingot.check_error([*run, "--config", written, "--log", folder / "run"], 2, "run.toml")
    check(written.read_text() == text, "the configuration was replaced")
    save = folder / "save"
    (save / "step-7").mkdir(parents=True)
    for name in (".lock", "latest.tmp-notes", "step-7/notes"):
        precious(save / name)
    ingot.succeed([*run, "--save", save, "--save-every", "1", "--keep", "1"])
    for name in (".lock", "latest.tmp-notes", "step-7/notes"):
        check((save / name).read_text() == PRECIOUS, f"{name} was replaced")


@case("keep-checkpoints-of-another-run")
def another_run(ingot):
    """A run that does not resume leaves the checkpoints of an earlier one, unless it is told to remove them."""
    trainer, save = trainer_of(ingot), ingot.path("save")
    run = [trainer, "--data", G.data, "--save", save]
    ingot.succeed([*run, "--steps", "4", "--save-every", "1", "--keep", "3"])
    before = names(save)
    for more in ([], ["--init", save / "step-4/state.safetensors"]):
        result = ingot.check_error([*run, "--steps", "2", *more], 2, "--save", "step-4")
        check("--resume" in result.err and "--overwrite" in result.err, result.err)
        check(names(save) == before, f"changed to {names(save)}")
    for other in (save, save / "step-3", f"{save}/step-3/", save / "latest"):
        ingot.succeed([*run, "--steps", "4", "--keep", "3", "--resume", other])
    ingot.check_error([*run, "--steps", "9", "--resume", save, "--overwrite"], 2, "--overwrite")
    # What fails before its first step removes nothing.
    ingot.check_error([*run[:2], ingot.path("none.npz"), "--save", save, "--overwrite"], 3, "none.npz")
    check("step-4" in names(save), f"left {names(save)}")
    ingot.succeed([*run, "--steps", "2", "--overwrite"])
    check(names(save) == {"latest", "step-2"}, f"left {names(save)}")


@case("keep-lines-whole")
def one_log(ingot):
    """The second trainer on a log is refused until the first has ended, however it ends."""
    trainer, log = trainer_of(ingot), ingot.path("log.jsonl")
    run = [str(word) for word in (trainer, "--data", G.data, "--steps", "1000000000", "--log", log)]
    first = subprocess.Popen(run, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, **QUIET})
    try:
        while not log.exists() or log.stat().st_size < 1000:
            check(first.poll() is None, "the first run ended")
        ingot.check_error([*run[:4], "3", "--log", log], 1, "log.jsonl", "another process")
        check(log.stat().st_size >= 1000, "the log was cut")
    finally:
        first.kill()
        first.wait()
    ingot.succeed([*run[:4], "3", "--log", log])
    check([json.loads(line)["step"] for line in log.read_text().splitlines()] == [1, 2, 3], log.read_text())


@case("keep-weights-beside-a-trainer")
def weights(ingot):
    """Weights of somebody else are not those of a trainer of that name; its own are written again."""
    folder = ingot.path("z").parent
    kept = precious(folder / "model.safetensors")
    command = ingot.ingotc(G.model, *G.compile_flags("adamw"), "-O0", "-o", folder / "model")
    ingot.check_error([*command, "--weights", "sidecar"], 2, "model.safetensors", "something else")
    check(kept.read_text() == PRECIOUS and names(folder) == {kept.name}, f"left {names(folder)}")
    ingot.succeed([*command, "--weights", "embed"])
    check(kept.read_text() == PRECIOUS, "the weights were replaced")
    kept.unlink()
    for _ in range(2):
        ingot.succeed([*command, "--weights", "sidecar"])
