# SPDX-License-Identifier: Apache-2.0
"""Runs that cannot go on: full disks, folders that cannot be written, NaN, signals."""

import os
import resource
import signal
import subprocess
import time

from harness import QUIET, case, check, golden

G = golden("multilabel")
DATA = ["--data", G.data, "--no-shuffle"]


def trainer_of(ingot):
    return ingot.compile(G.model, *G.compile_flags("adamw"))


def check_fails(result, status, *words):
    check(result.returncode == status, f"exit {result.returncode}, expected {status}: {result.stderr}")
    lines = result.stderr.strip().splitlines()
    check(len(lines) >= 2 and lines[-2].startswith("error: ") and lines[-1].startswith("hint: "), result.stderr)
    for word in words:
        check(word in lines[-2], f"{word!r} is not in {lines[-2]!r}")


@case("no-space")
def no_space(ingot):
    """A file that does not fit is named, and no part of it stays."""
    trainer = trainer_of(ingot)
    folder = ingot.path("checkpoints").parent

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
        # As on a full disk: an error from write, not a signal.
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

    for option, name in (("--save", "checkpoints"), ("--export", "out.onnx"), ("--log", "log.jsonl")):
        command = [trainer, *DATA, "--steps", "50", option, folder / name]
        result = subprocess.run(
            [str(word) for word in command],
            capture_output=True, text=True, preexec_fn=limit, restore_signals=False,
            env={**os.environ, **QUIET},
        )  # fmt: skip
        check_fails(result, 1, name)
        left = [
            path for path in folder.rglob("*") if path.is_file() and path.name not in ("log.jsonl", "log.jsonl.toml")
        ]
        check(not left, f"{option} left {left}")


@case("unwritable")
def unwritable(ingot):
    trainer = trainer_of(ingot)
    for option, path in (("--save", "/proc/none/c"), ("--export", "/proc/none/m.onnx"), ("--log", "/proc/none/l")):
        ingot.check_error([trainer, *DATA, "--steps", "1", option, path], 1, "/proc/none")


@case("loss-not-finite")
def loss_not_finite(ingot):
    """Said at the step where it happens, which the log has too."""
    trainer = trainer_of(ingot)
    result = ingot.check_error([trainer, *DATA, "--steps", "50", "--lr", "1e30"], 1, "step ", "the loss is")
    check("--lr" in result.err.splitlines()[-1], result.err)


@case("terminated")
def terminated(ingot):
    """SIGTERM ends after the step with a checkpoint that resumes."""
    trainer, folder, log = trainer_of(ingot), ingot.path("checkpoints"), ingot.path("log.jsonl")
    command = [trainer, *DATA, "--steps", "100000000", "--save", folder, "--log", log]
    process = subprocess.Popen(
        [str(word) for word in command],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **QUIET},
    )  # fmt: skip
    end = time.monotonic() + 60
    while not log.exists() and process.poll() is None and time.monotonic() < end:
        time.sleep(0.01)
    time.sleep(0.2)
    process.terminate()
    out, err = process.communicate(timeout=60)
    check(process.returncode == 128 + signal.SIGTERM, f"exit {process.returncode}: {err}")
    step = int((folder / "latest").read_text().split()[0].removeprefix("step-"))
    check(f"stopping after step {step}" in out + err, f"not said: {(out + err)[-300:]}")
    ingot.succeed([trainer, *DATA, "--resume", folder, "--steps", str(step + 1)])
