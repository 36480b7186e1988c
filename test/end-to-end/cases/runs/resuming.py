# SPDX-License-Identifier: Apache-2.0
"""What a resumed run inherits, and what it says about differences."""

import json
import os
import shutil
import signal
import subprocess
import time
import zlib

from harness import QUIET, case, check, golden, read_log

G = golden("multilabel")
RUN = ["--lr", "0.05", "--weight-decay", "0.02", "--schedule", "cosine", "--warmup", "4", "--steps", "40"]


def trainer_of(ingot):
    return ingot.compile(G.model, *G.compile_flags("adamw"), "--clip")


def without_times(rows):
    times = ("step_ms", "samples_per_s", "elapsed_s", "stats")
    return [{k: v for k, v in row.items() if k not in times} for row in rows]


def start(command):
    return subprocess.Popen(
        [str(word) for word in command], text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, **QUIET},
    )  # fmt: skip


@case("resume-inherits")
def inherits(ingot):
    """Stopped by a signal and resumed without a word on the run: the same lines."""
    trainer, folder, log = trainer_of(ingot), ingot.path("save"), ingot.path("log.jsonl")
    flags = [*RUN[:-1], "4000", "--clip-norm", "0.5"]
    whole, _ = ingot.train(trainer, "--data", G.data, *flags)
    process = start([trainer, "--data", G.data, *flags, "--save", folder, "--log", log])
    while not log.exists() or log.stat().st_size < 3000:
        time.sleep(0.005)
    process.send_signal(signal.SIGUSR1)
    _, err = process.communicate(timeout=60)
    check(process.returncode == 128 + signal.SIGUSR1, f"exit {process.returncode}: {err}")
    stopped = len(log.read_text().splitlines())
    check(stopped < 4000, "it was not stopped in time")
    result = ingot.succeed([trainer, "--data", G.data, "--resume", folder, "--log", log])
    check("resumes" not in result.err, f"a note on nothing: {result.err}")
    check(without_times(read_log(log)[0]) == without_times(whole), "lines differ from the straight run's")


@case("resume-with-other-settings")
def other_settings(ingot):
    """What the command line says wins, and one note says so."""
    trainer, folder = trainer_of(ingot), ingot.path("save")
    ingot.succeed([trainer, "--data", G.data, *RUN, "--save", folder])
    log = ingot.path("log.jsonl")
    flags = ["--resume", folder, "--steps", "50", "--lr", "0.25", "--schedule", "constant", "--weight-decay", "0.02"]
    result = ingot.succeed([trainer, "--data", G.data, *flags, "--log", log])
    notes = [line for line in result.err.splitlines() if "resumes the checkpoint's run" in line]
    check(len(notes) == 1, result.err)
    for part in ("--lr 0.25 (it had 0.05)", "--schedule constant (it had cosine)"):
        check(part in notes[0], f"{part!r} is not in {notes[0]!r}")
    check("--weight-decay" not in notes[0], f"the same value is a difference: {notes[0]}")
    check([row["lr"] for row in read_log(log, 41)[0]] == [0.25] * 10, "the rate is another")
    # A longer run of the same schedule.
    result = ingot.succeed([trainer, "--data", G.data, "--resume", folder, "--steps", "60"])
    check("the cosine schedule ends at step 60 instead of 40" in result.err, result.err)


@case("resume-says-what-is-wrong")
def says(ingot):
    trainer, folder = trainer_of(ingot), ingot.path("save")
    base = [trainer, "--data", G.data]
    ingot.succeed([*base, *RUN, "--save", folder])
    for flags in (["--steps", "10"], []):
        result = ingot.succeed([*base, "--resume", folder, *flags])
        check("nothing left to train" in result.err, f"no word: {result.err}")
    (folder / "latest").rename(folder / "was")
    ingot.check_error([*base, "--resume", folder], 3, "step-40", "'latest'")
    (folder / "was").rename(folder / "latest")
    for name in ("latest", "step-40/checkpoint.json", "step-40/state.safetensors"):
        copied = ingot.path("copied")
        shutil.copytree(folder, copied)
        (copied / name).unlink()
        os.mkfifo(copied / name)
        ingot.check_error([*base, "--resume", copied, "--steps", "50"], 3, "not a regular file")
    fifo = ingot.path("fifo.npz")
    os.mkfifo(fifo)
    ingot.check_error([trainer, "--data", fifo], 3, "not a regular file")
    ingot.check_error([*base, "--init", fifo], 3, "not a regular file")


@case("resume-earlier-format")
def earlier_format(ingot):
    """Checkpoints without the settings of their run resume with those of the command line."""
    trainer, folder = trainer_of(ingot), ingot.path("save")
    ingot.succeed([trainer, "--data", G.data, *RUN, "--save", folder])
    info = folder / "step-40/checkpoint.json"
    content = json.loads(info.read_text())
    del content["settings"], content["crc32"]
    content["format"] = 1
    compact = json.dumps(content, separators=(",", ":"))
    content["crc32"] = zlib.crc32(compact.encode())
    info.write_text(json.dumps(content, indent=1) + "\n")
    rows, _ = ingot.train(trainer, "--data", G.data, "--resume", folder, "--steps", "42", "--lr", "0.125", log_from=41)
    check([row["lr"] for row in rows] == [0.125] * 2, f"rates {rows}")


@case("one-trainer-per-folder")
def one_trainer(ingot):
    """The second one is refused until the first has ended, however it ends."""
    trainer, folder = trainer_of(ingot), ingot.path("save")
    command = [trainer, "--data", G.data, "--save", folder, "--save-every", "1"]
    first = start([*command, "--steps", "100000000"])
    end = time.monotonic() + 60
    while not (folder / "latest").exists() and time.monotonic() < end:
        time.sleep(0.01)
    ingot.check_error([*command, "--steps", "3"], 1, str(folder), f"process {first.pid}")
    first.kill()
    first.communicate()
    for left in ("latest.tmp-1", "step-3.tmp-1"):
        (folder / left).mkdir()
    ingot.succeed([*command, "--overwrite", "--steps", "3"])
    left = {p.name for p in folder.iterdir() if not p.name.startswith("step-") or ".tmp" in p.name}
    check(left == {"latest"}, f"left behind: {left}")
