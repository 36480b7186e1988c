# SPDX-License-Identifier: Apache-2.0
"""Where trainers do not write, and what becomes of a run whose outputs fail."""

import json
import os
import re
import resource
import shutil
import subprocess
import time

import numpy as np
from harness import QUIET, case, check, golden

G = golden("multilabel")
FLAGS = [*G.compile_flags("adamw"), "--data-parallel"]
INPUTS = {"--config", "--data", "--eval-data", "--init", "--resume"}
OUTPUTS = {"--log", "--save", "--export", "--predict", "--profile", "--comm-record", "--tensorboard", "--cache"}
FOLDERS = {"--save", "--tensorboard", "--cache"}
# Options without which others are wrong usage.
NEEDS = {"--predict": ["--eval-data", G.data]}


def trainer_of(ingot):
    return ingot.compile(G.model, *FLAGS)


def copy_data(ingot):
    return shutil.copy2(G.data, ingot.path("data.npz"))


@case("outputs-are-known")
def known(ingot):
    """The options of this file are all that take a path."""
    text = ingot.succeed([trainer_of(ingot), "--help"]).out
    found = set(re.findall(r"(--[a-z-]+) (?:FILE|DIR|PREFIX)", text))
    check(found == INPUTS | OUTPUTS, f"not tested here: {found ^ (INPUTS | OUTPUTS)}")


def obstacles(folder, data):
    """What stands where an output should go, with a word of the message."""
    (folder / "link").symlink_to(data)
    os.link(data, folder / "hard")
    (folder / "folder").mkdir()
    os.mkfifo(folder / "fifo")
    found = {
        data: "an input, that of --data",
        folder / "link": "an input, that of --data",
        folder / "hard": "an input, that of --data",
        data.parent / ".." / data.parent.name / data.name: "an input, that of --data",
        folder / "folder": "is a directory",
        folder / "fifo": "is a FIFO",
        "": "is empty",
    }
    if os.geteuid() == 0:
        # A null device of its own, in case it is replaced.
        os.mknod(folder / "null", 0o666 | 0o020000, os.makedev(1, 3))
        (folder / "null-link").symlink_to("null")
        found |= {folder / "null": "is a device", folder / "null-link": "is a device"}
    return found


@case("outputs-refused")
def refused(ingot):
    """Before the first step, and without touching what is there."""
    trainer = trainer_of(ingot)
    for option in sorted(OUTPUTS):
        data = copy_data(ingot)
        folder = ingot.path("outputs").parent
        content, found = data.read_bytes(), obstacles(folder, data)
        found[trainer] = "an input, that of the trainer"
        base = [trainer, "--data", data, "--steps", "1", *NEEDS.get(option, [])]
        for path, words in found.items():
            given = path
            if option in FOLDERS:
                words = {"is a directory": None, "is empty": words}.get(words, "is not a directory")
            if option == "--comm-record" and path:
                # The name of rank 0's file.
                given, at = folder / "record", folder / "record.0.jsonl"
                at.unlink(missing_ok=True)
                at.symlink_to(path)
            if words is None:
                continue
            before = os.lstat(path) if path else None
            ingot.check_error([*base, option, given], 2, option, words)
            after = os.lstat(path) if path else None
            same = not path or (before.st_ino, before.st_mode, before.st_size) == (
                after.st_ino,
                after.st_mode,
                after.st_size,
            )
            check(same, f"{option} {path}: touched")
        check(data.read_bytes() == content, f"{option}: the data changed")


@case("outputs-are-not-the-configuration")
def configuration(ingot):
    """Only the file beside the log may be the one that is read: the run is repeated."""
    trainer, data, log = trainer_of(ingot), copy_data(ingot), ingot.path("log.jsonl")
    base = [trainer, "--data", data, "--steps", "1"]
    ingot.succeed([*base, "--log", log])
    beside = log.with_name(log.name + ".toml")

    def read():
        """All but the time at which the run was started."""
        return [line for line in beside.read_text().splitlines() if not line.startswith("# started")]

    text = read()
    config = ingot.path("config.toml")
    config.write_text(ingot.succeed([*base, "--print-config"]).out)
    for option in sorted(OUTPUTS - FOLDERS - {"--comm-record", "--predict"}):
        ingot.check_error([trainer, "--config", config, option, config], 2, option, "an input, that of --config")
    ingot.succeed([trainer, "--config", beside])
    check(read() == text, "the run that is repeated has another configuration")


@case("outputs-leave-weights-in-several-files")
def leave_several_files(ingot):
    """Neither the files that an index names nor the index are replaced while --init reads them."""
    trainer, data = trainer_of(ingot), copy_data(ingot)
    base = [trainer, "--data", data, "--steps", "1"]
    weights = ingot.path("model.safetensors")
    ingot.succeed([*base, "--export", weights])
    part = weights.rename(weights.with_name("part.safetensors"))
    length = int.from_bytes(part.read_bytes()[:8], "little")
    names = [name for name in json.loads(part.read_bytes()[8 : 8 + length]) if name != "__metadata__"]
    index = weights.with_name("model.safetensors.index.json")
    index.write_text(json.dumps({"weight_map": dict.fromkeys(names, part.name)}))
    before = {path: path.read_bytes() for path in (part, index)}
    for init in (weights, index):
        for export in (weights, part):
            ingot.check_error([*base, "--init", init, "--export", export], 2, "--export", "an input, that of --init")
    check({path: path.read_bytes() for path in (part, index)} == before, "an input has changed")
    other = ingot.path("other.safetensors")
    ingot.succeed([*base, "--init", index, "--export", other])
    check(other.exists() and not other.with_name(other.name + ".index.json").exists(), "no export, or an index")


@case("outputs-differ")
def differ(ingot):
    """No two options write one file, whatever they call it."""
    trainer, data = trainer_of(ingot), copy_data(ingot)
    files = sorted(OUTPUTS - FOLDERS - {"--comm-record"})
    folder = ingot.path("z").parent
    base = [trainer, "--data", data, "--eval-data", G.data, "--steps", "1"]
    for first in files:
        for second in files:
            if first < second:
                ingot.check_error([*base, first, folder / "z", second, f"{folder}/./z"], 2, "'")
    for name in ("latest", "step-3"):
        ingot.check_error([*base, "--save", folder / "s", "--log", folder / "s" / name], 2, "--log", "--save")
    check(not list(folder.iterdir()), "something was written")


def start(command, **kwargs):
    return subprocess.Popen(
        [str(word) for word in command], text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, **QUIET}, **kwargs,
    )  # fmt: skip


def check_ends(process, *words):
    """It fails at its end: one error with these words, one hint."""
    _, err = process.communicate(timeout=120)
    lines = err.strip().splitlines()
    check(process.returncode == 1, f"exit {process.returncode}: {err}")
    check(lines[-2].startswith("error: ") and lines[-1].startswith("hint: "), err)
    for word in words:
        check(word in lines[-2], f"{word!r} is not in {lines[-2]!r}")
    check(any(line.startswith("warning: ") for line in lines[:-2]), f"no warning while it ran: {err}")


@case("save-folder-vanishes")
def vanishes(ingot):
    """The run goes on without checkpoints, and exports."""
    trainer, folder, log = trainer_of(ingot), ingot.path("save"), ingot.path("log.jsonl")
    out = ingot.path("out.onnx")
    process = start(
        [
            trainer,
            "--data",
            G.data,
            "--steps",
            "1500",
            "--save",
            folder,
            "--save-every",
            "1",
            "--export",
            out,
            "--log",
            log,
        ]
    )
    end = time.monotonic() + 60
    while not (folder / "latest").exists() and time.monotonic() < end:
        time.sleep(0.01)
    # A save between the two calls makes the folder again.
    for attempt in range(1000):
        folder.rename(folder.with_name(f"gone-{attempt}"))
        try:
            folder.write_text("a file")
            break
        except IsADirectoryError:
            pass
    check_ends(process, str(folder))
    check(out.exists() and folder.read_text() == "a file", "no export")
    check(len(log.read_text().splitlines()) == 1500, "the log is not whole")


@case("log-does-not-fit")
def log_does_not_fit(ingot):
    """Neither the checkpoint nor the export goes with it, and its lines are whole."""
    trainer, folder, log = trainer_of(ingot), ingot.path("save"), ingot.path("log.jsonl")
    out = ingot.path("out.onnx")
    process = start(
        [trainer, "--data", G.data, "--steps", "1000", "--save", folder, "--export", out, "--log", log],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (40000, 40000)),
    )
    check_ends(process, "log.jsonl", "File too large")
    check(out.exists() and (folder / "step-1000").is_dir(), "no export or no checkpoint")
    text = log.read_text()
    check(text.endswith("}\n") and 100 < len(text.splitlines()) < 1000, f"log of {len(text)} bytes")


@case("unwritable-save-is-early")
def early(ingot):
    """A folder that cannot be made fails before the first step, with the system's reason."""
    trainer, data = trainer_of(ingot), copy_data(ingot)
    log = ingot.path("log.jsonl")
    base = [trainer, "--data", data, "--steps", "3", "--log", log]
    ingot.check_error([*base, "--save", data / "below"], 1, "Not a directory")
    check(not log.exists(), "it has trained")
    if os.geteuid() == 0 and shutil.which("unshare"):
        script = 'mount -t tmpfs -o ro none "$0" && exec "$@"'
        read_only = ingot.path("read-only")
        read_only.mkdir()
        command = ["unshare", "-m", "bash", "-c", script, read_only, *base]
        if ingot.run(["unshare", "-m", "true"]).status == 0:
            for option, name in (("--save", "save"), ("--export", "out.onnx")):
                ingot.check_error([*command, option, read_only / name], 1, "Read-only file system")


@case("predictions-of-a-failed-export")
def predictions(ingot):
    """What comes after an output that fails is written all the same."""
    trainer, folder = trainer_of(ingot), ingot.path("gone").parent / "gone"
    folder.mkdir()
    predicted, log = ingot.path("p.npz"), ingot.path("log.jsonl")
    process = start(
        [trainer, "--data", G.data, "--eval-data", G.data, "--steps", "1500", "--export", folder / "out.onnx",
         "--predict", predicted, "--log", log]
    )  # fmt: skip
    end = time.monotonic() + 60
    while not log.exists() and time.monotonic() < end:
        time.sleep(0.01)
    folder.rmdir()
    check_ends(process, "out.onnx", "No such file")
    with np.load(predicted) as arrays:
        check(len(arrays.files) == 1, "no predictions")
