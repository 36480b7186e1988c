# SPDX-License-Identifier: Apache-2.0
"""Faults in the middle of a run of several ranks: it ends in time, and the last checkpoint goes on.

INGOT_FAULTS=N injects N of them, instead of one of each kind, at moments that INGOT_FAULTS_SEED sets; of the kinds that
INGOT_FAULTS_KINDS names, and on ranks as INGOT_FAULTS_STAGE says (see `inject`).
"""

import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import time

from harness import Failure, Skip, case, check, golden
from launch import ALONE, compile_for, mpirun

RANKS, MESH_RANKS = 2, 4


def count_ranks(stage):
    return MESH_RANKS if stage == "mesh" else RANKS


# Ranks wait for each other so long; what the launcher and a busy machine add.
TIMEOUT, GRACE = 2, 20


def newest(save):
    """The step of the checkpoint that a resumed run would take; 0 without one."""
    try:
        name = (save / "latest").read_text().split("\n")[0]
        return json.loads((save / name / "checkpoint.json").read_text())["step"]
    except FileNotFoundError:
        return 0


def find_rank(launcher, number):
    """The process of a rank that the process `launcher` has started, at any depth."""
    parents = {}
    found = None
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            status = (entry / "status").read_text()
            parents[int(entry.name)] = int(status.split("PPid:\t")[1].split("\n")[0])
            if f"OMPI_COMM_WORLD_RANK={number}\0" in (entry / "environ").read_text():
                candidate = int(entry.name)
                if b"--comm-timeout" in (entry / "cmdline").read_bytes().split(b"\0")[1:]:
                    found = [*(found or []), candidate]
        except (OSError, IndexError):
            continue
    for candidate in found or []:
        at = candidate
        while at in parents and at != launcher:
            at = parents[at]
        if at == launcher:
            return candidate
    return None


class Run:
    """A run that saves after every step, and its log of what ranks said."""

    def __init__(
        self, ingot, trainer, *, ranks=RANKS, prefix=(), rank_prefix=(), steps=None, resume=None, trainer2=None
    ):
        g = golden("mlp")
        self.save = ingot.path("save")
        own = ["--data", g.data, "--save", self.save, "--save-every", "1", "--comm-timeout", TIMEOUT]
        own += ["--steps", steps] if steps else ["--epochs", 1000000]
        own += ["--resume", resume] if resume else []
        command = [*prefix, *mpirun(ranks), *rank_prefix, trainer, *own]
        if trainer2:
            command = [*prefix, *mpirun(1), trainer, *own, ":", "-n", 1, trainer2, *own]
        self.errors = ingot.path("errors.txt")
        with open(self.errors, "w", encoding="utf-8") as errors:
            self.process = subprocess.Popen(
                [str(part) for part in command], stdout=errors, stderr=errors, env={**os.environ, **ALONE}
            )

    def wait_for_checkpoint(self):
        until = time.monotonic() + GRACE
        while newest(self.save) == 0:
            check(time.monotonic() < until and self.process.poll() is None, f"does not start: {self.said()}")
            time.sleep(0.02)

    def said(self):
        return self.errors.read_text(encoding="utf-8", errors="replace")

    def end(self):
        """Waits for the end; the status."""
        try:
            return self.process.wait(timeout=TIMEOUT + GRACE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise Failure(f"hangs: {self.said()}") from None


def signal_rank(number):
    def inject(ingot, choose, trainer, stage):
        run = Run(ingot, trainer, ranks=count_ranks(stage))
        run.wait_for_checkpoint()
        time.sleep(choose.uniform(0, 0.5))
        victim = find_rank(run.process.pid, choose.randrange(count_ranks(stage)))
        check(victim, "the rank is not there")
        os.kill(victim, number)
        return run

    return inject


def mismatched(ingot, choose, trainer, stage):
    """Another file on one rank: nothing is trained, hence nothing saved."""
    other = compile_for(ingot, golden("mlp"), "sgd", RANKS)
    run = Run(ingot, trainer, trainer2=other)
    check(run.end() != 0 and "another trainer" in run.said(), f"two trainers: {run.said()}")
    return run


def too_many_ranks(ingot, choose, trainer, stage):
    """More ranks than the data has batches for."""
    g = golden("mlp")
    # Sixty-four processes take a while to start on few cores.
    own = ["--data", g.data, "--steps", 1, "--comm-timeout", 60]
    big = compile_for(ingot, g, "adamw", 1)
    result = ingot.run([*mpirun(64), big, *own], env=ALONE, timeout=TIMEOUT + 60)
    check(result.status != 0 and "fewer than a batch" in result.err, f"too many ranks: {result.err!r}")


def full_disk(ingot, choose, trainer, stage):
    """One rank may write so much and no more: its files end early."""
    # Without shards only rank 0 writes any.
    victim = choose.randrange(count_ranks(stage)) if stage != "0" else 0
    limit = choose.randrange(1, 8)
    # Without the signal, writes fail as on a full disk.
    script = f'[ $OMPI_COMM_WORLD_RANK = {victim} ] && {{ trap "" XFSZ; ulimit -f {limit}; }}; exec "$@"'
    # It goes on without its checkpoints, and says so at its end.
    run = Run(ingot, trainer, ranks=count_ranks(stage), rank_prefix=["bash", "-c", script, "bash"], steps=20)
    run.end()
    check("cannot write" in run.said() or "File too large" in run.said(), f"a full disk: {run.said()}")
    return run


def dropped_link(ingot, choose, trainer, stage):
    """The network between the ranks goes away, and takes packets with it."""
    if os.geteuid() != 0 or not shutil.which("unshare") or not shutil.which("ip"):
        raise Skip("no network namespaces")
    start = 'ip link set lo up && exec "$@"'
    prefix = ["unshare", "-n", "bash", "-c", start, "bash"]
    run = Run(
        ingot, trainer, ranks=count_ranks(stage), prefix=prefix,
        rank_prefix=["--mca", "btl", "tcp,self", "--mca", "btl_tcp_if_include", "lo", "--mca", "pml", "ob1"],
    )  # fmt: skip
    run.wait_for_checkpoint()
    time.sleep(choose.uniform(0, 0.5))
    subprocess.run(["nsenter", "-t", str(run.process.pid), "-n", "ip", "link", "set", "lo", "down"], check=True)
    return run


FAULTS = {
    "killed": signal_rank(signal.SIGKILL),
    "stopped": signal_rank(signal.SIGSTOP),
    "mismatched": mismatched,
    "ranks": too_many_ranks,
    "disk": full_disk,
    "link": dropped_link,
}


def inject(ingot, name, choose, stage=None):
    """Stages are those of ZeRO, or `mesh`: four ranks of which two have parts of layers and shards; two or three go on,
    each on its own samples."""
    stage = stage or choose.choice(["0", "1", "2", "mesh"])
    g = golden("mlp")
    if stage == "mesh":
        split = ["--partition", "net.0.weight=0:tensor"]
        trainer = compile_for(ingot, g, "adamw", RANKS, "--mesh", "tensor=2", "--zero", "2", *split)
        other = compile_for(ingot, g, "adamw", RANKS)
    else:
        trainer = other = compile_for(ingot, g, "adamw", RANKS, "--zero", stage)
    run = FAULTS[name](ingot, choose, trainer, stage)
    if run is None:
        return
    finished = newest(run.save)
    check(run.end() != 0, f"exit 0 of a run with a fault: {run.said()}")
    step = newest(run.save)
    check(step >= finished, f"checkpoint {finished} is gone, there is {step}")
    if step == 0:
        return
    ranks = choose.choice([2, 3]) if stage == "mesh" else RANKS
    resumed = Run(ingot, other, ranks=ranks, resume=run.save, steps=step + 2)
    check(resumed.end() == 0, f"stage {stage}: does not go on from {step}: {resumed.said()}")


def faults(name, stage=None):
    def run(ingot):
        inject(ingot, name, random.Random(1), stage)

    return run


for kind in FAULTS:
    case(f"faults-{kind}")(faults(kind))
case("faults-mesh-killed")(faults("killed", "mesh"))
case("faults-mesh-disk")(faults("disk", "mesh"))


@case("faults-many")
def many(ingot):
    """As many as asked for, of all kinds in turn."""
    count = int(os.environ.get("INGOT_FAULTS", "0"))
    if count == 0:
        raise Skip("INGOT_FAULTS says how many")
    choose = random.Random(int(os.environ.get("INGOT_FAULTS_SEED", "1")))
    kinds = os.environ.get("INGOT_FAULTS_KINDS", ",".join(FAULTS)).split(",")
    problems = []
    for i in range(count):
        name = kinds[i % len(kinds)]
        try:
            inject(ingot, name, choose, os.environ.get("INGOT_FAULTS_STAGE"))
        except (Failure, Skip) as problem:
            problems.append(f"{i} ({name}): {problem}")
    check(not problems, f"{len(problems)} of {count}: " + "; ".join(problems))
