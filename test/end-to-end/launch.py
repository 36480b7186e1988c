# SPDX-License-Identifier: Apache-2.0
"""Trainers on several ranks of this machine, and on worse machines than this one."""

import contextlib
import os
import pathlib
import re
import shutil
import subprocess

from harness import ROOT, Skip, check, golden, read_log

ALONE = {"OMP_NUM_THREADS": "1"}


def mpirun(ranks):
    if not shutil.which("mpirun"):
        raise Skip("mpirun is not there")
    return ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", str(ranks)]


def find_unpacked(pattern, launcher, libraries):
    """A launcher that tools/setup has unpacked, and the variables with which its library is found."""
    setup = [ROOT / "tools/setup", "--print"]
    deps = subprocess.run(setup, capture_output=True, text=True, check=True).stdout.strip()
    for root in sorted(pathlib.Path(deps).glob(pattern)):
        if (root / launcher).is_file():
            paths = [str(root / libraries), os.environ.get("LD_LIBRARY_PATH", "")]
            return root / launcher, {"LD_LIBRARY_PATH": ":".join(filter(None, paths))}
    raise Skip(f"{pattern} is not there (tools/setup)")


def mpich(ranks):
    launcher, variables = find_unpacked("mpich-*/usr", "bin/mpiexec.hydra", "lib/x86_64-linux-gnu")
    return [launcher, "-n", str(ranks)], variables


def open_mpi_5(ranks):
    """A newer one than the machine's own (mpirun)."""
    launcher, variables = find_unpacked("openmpi-*", "bin/mpirun", "lib")
    return [launcher, "--allow-run-as-root", "--oversubscribe", "-n", str(ranks)], variables


def compile_for(ingot, g, optimizer, ranks, *flags):
    loss = ["--loss", g.loss] if g.loss else []
    return ingot.compile(
        g.model, *loss, "--optimizer", optimizer, "--batch", str(g.batch // ranks), "--data-parallel", *flags
    )


def run_ranks(ingot, ranks, trainer, *flags):
    """The log's steps and evaluations."""
    log = ingot.path("log.jsonl")
    launcher = mpirun(ranks) if ranks > 1 else []
    ingot.succeed([*launcher, trainer, *flags, "--log", log], env=ALONE)
    return read_log(log)


def losses(ingot, ranks, trainer, *flags):
    return [step["loss"] for step in run_ranks(ingot, ranks, trainer, *flags)[0]]


def check_bits(ingot, launch, name):
    """Ranks of another MPI, whose `launch` gives the launcher and its variables, compute the same bits as those of this
    machine's, sharded and compressed or not; a note has its name."""
    g = golden("mlp")
    for size, flags in ((2, []), (3, ["--zero", "2"]), (2, ["--grad-comm", "int8,start:0"])):
        trainer = compile_for(ingot, g, "adamw", 2, *flags)
        run = [trainer, "--data", g.data, "--eval-data", g.data, "--steps", 12, "--seed", 3]
        launcher, variables = launch(size)
        log = ingot.path("log.jsonl")
        said = ingot.succeed([*launcher, *run, "--log", log], env={**ALONE, **variables}).err
        check(re.search(rf"note: {size} ranks over MPI \({name}", said), said)
        check([step["loss"] for step in read_log(log)[0]] == losses(ingot, size, *run), f"{size} ranks, {flags}")


@contextlib.contextmanager
def slow_disk(path, **rates):
    """What starts a process that reads from the disk of `path` or writes to it with that many bytes per second, in a
    control group."""
    device = os.stat(path).st_dev
    numbers = f"{os.major(device)}:{os.minor(device)}"
    second, first = pathlib.Path("/sys/fs/cgroup"), pathlib.Path("/sys/fs/cgroup/blkio")
    group = (first if first.is_dir() else second) / f"ingot-test-{os.getpid()}"
    try:
        group.mkdir()
        for what, rate in rates.items():
            if first.is_dir():
                (group / f"blkio.throttle.{what}_bps_device").write_text(f"{numbers} {rate}")
            else:
                (group / "io.max").write_text(f"{numbers} {what[0]}bps={rate}")
    except OSError as error:
        if group.is_dir():
            group.rmdir()
        raise Skip(f"may not make a slow disk: {error}") from None
    try:
        yield ["sh", "-c", f'echo $$ >{group}/cgroup.procs && exec "$@"', "sh"]
    finally:
        group.rmdir()
