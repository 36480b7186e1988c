# SPDX-License-Identifier: Apache-2.0
"""Signals and pipes: a run ends in order, or goes on."""

import os
import resource
import signal
import subprocess
import time

import numpy as np
from harness import QUIET, case, check, golden, read_log
from launch import ALONE, mpirun

G = golden("multilabel")
WATCHED = ["INT", "TERM", "HUP", "USR1", "USR2", "ALRM", "XCPU"]


def trainer_of(ingot):
    return ingot.compile(G.model, *G.compile_flags("adamw"), "--data-parallel")


class Run:
    """A run without an end, with every kind of output."""

    def __init__(self, ingot, *flags, prefix=(), **kwargs):
        self.folder = ingot.path("save")
        self.log, self.out, self.predicted = (self.folder.parent / name for name in ("l.jsonl", "o.onnx", "p.npz"))
        self.command = [
            *prefix, trainer_of(ingot), "--data", G.data, "--eval-data", G.data, "--steps", "1000000000",
            "--eval-every", "1000", "--save", self.folder, "--log", self.log, "--export", self.out,
            "--predict", self.predicted, *flags,
        ]  # fmt: skip
        self.process = subprocess.Popen(
            [str(word) for word in self.command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=kwargs.pop("stderr", subprocess.PIPE), text=True,
            env={**os.environ, **(ALONE if prefix else QUIET)}, **kwargs,
        )  # fmt: skip
        end = time.monotonic() + 60
        while (not self.log.exists() or not self.log.stat().st_size) and time.monotonic() < end:
            time.sleep(0.005)

    def send(self, name):
        self.process.send_signal(getattr(signal, "SIG" + name))

    def check_ends(self, name):
        _, err = self.process.communicate(timeout=60)
        status = 128 + getattr(signal, "SIG" + name)
        check(self.process.returncode == status, f"{name}: exit {self.process.returncode}, not {status}: {err}")
        step = int((self.folder / "latest").read_text().split()[0].removeprefix("step-"))
        rows, _ = read_log(self.log)
        check(rows[-1]["step"] == step, f"{name}: the log ends at {rows[-1]['step']}, the checkpoint at {step}")
        check(self.out.exists() and not list(self.folder.glob("*.tmp*")), f"{name}: no export, or parts of files")
        with np.load(self.predicted) as arrays:
            check(len(arrays.files) == 1, f"{name}: no predictions")
        return step, err


@case("signals-end-in-order")
def in_order(ingot):
    for name in WATCHED:
        run = Run(ingot)
        run.send(name)
        step, err = run.check_ends(name)
        check(f"SIG{name}: stopping after step {step}" in err, f"not said: {err!r}")


@case("signals-repeated")
def repeated(ingot):
    """Terminals and schedulers send some twice; SIGTERM twice does not wait."""
    run = Run(ingot)
    for name in ("HUP", "HUP", "USR1", "TERM"):
        run.send(name)
    _, err = run.process.communicate(timeout=60)
    # The kernel may deliver them in any order.
    check(run.process.returncode in (129, 138, 143), f"exit {run.process.returncode}: {err}")
    check((run.folder / "latest").exists() and run.out.exists(), "no checkpoint, or no export")


@case("signals-ignored")
def ignored(ingot):
    """As under nohup."""
    run = Run(ingot, prefix=["bash", "-c", 'trap "" HUP; exec "$@"', "bash"])
    run.send("HUP")
    time.sleep(0.2)
    check(run.process.poll() is None, "SIGHUP ended a run under nohup")
    run.send("USR2")
    run.check_ends("USR2")


@case("signals-ranks")
def ranks(ingot):
    """mpirun passes these on; each rank ends with the same status."""
    for name in ("USR1", "USR2"):
        run = Run(ingot, prefix=mpirun(2))
        run.send(name)
        step, err = run.check_ends(name)
        check(f"stopping after step {step}" in err, f"not said: {err!r}")


@case("signals-one-rank")
def one_rank(ingot):
    """The other ranks end with the one that got it."""
    script = 'if [ $OMPI_COMM_WORLD_RANK = 1 ]; then (sleep 2; kill -HUP $$) & fi; exec "$@"'
    run = Run(ingot, prefix=[*mpirun(2), "bash", "-c", script, "bash"])
    run.check_ends("HUP")


@case("readers-that-go-away")
def readers(ingot):
    """Nobody reads the progress any more: the run goes on to its end."""
    out, trainer = ingot.path("out.onnx"), trainer_of(ingot)
    flags = ["--data", G.data, "--epochs", "200", "--export", out, "--profile", ingot.path("trace.json")]
    reader, writer = os.pipe()
    os.close(reader)
    for launcher in ([], mpirun(2)):
        out.unlink(missing_ok=True)
        command = [str(word) for word in [*launcher, trainer, *flags]]
        streams = {} if launcher else {"stdout": writer, "stderr": writer}
        if launcher:
            # The launcher reads what ranks say; one of them has nobody.
            script = 'exec "$@" 2>&1 | head -c 1 >/dev/null; exit ${PIPESTATUS[0]}'
            command = [*command[: len(launcher)], "bash", "-c", script, "bash", *command[len(launcher) :]]
        done = subprocess.run(command, env={**os.environ, **ALONE}, timeout=120, check=False, **streams)
        check(done.returncode == 0 and out.exists(), f"exit {done.returncode}, export: {out.exists()}")
    os.close(writer)


@case("file-size-limit")
def size_limit(ingot):
    """An error of the file that grew too large, not the end of the process."""
    trainer, out = trainer_of(ingot), ingot.path("out.onnx")
    done = subprocess.run(
        [str(word) for word in [trainer, "--data", G.data, "--steps", "3", "--export", out]],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000)),
        capture_output=True, text=True, check=False, env={**os.environ, **QUIET},
    )  # fmt: skip
    check(done.returncode == 1, f"exit {done.returncode}: {done.stderr}")
    check("out.onnx: cannot write: File too large" in done.stderr and "ulimit -f" in done.stderr, done.stderr)
