# SPDX-License-Identifier: Apache-2.0
"""Ranks over TCP, as torchrun, Kubernetes' operators and scripts start them: they do what mpirun's do, and end by
themselves when one of them is lost."""

import os
import pathlib
import random
import re
import shutil
import signal
import socket
import subprocess
import time

from harness import Failure, Skip, case, check, golden, read_log
from launch import ALONE, compile_for, losses, mpirun

# Where a Python with PyTorch may be, beside the PATH.
MODELS_PYTHON = pathlib.Path("/opt/models-python/bin")
LOST = 4


def find_port():
    """A port, for MASTER_PORT, whose next one is free."""
    with socket.socket() as probe:
        probe.bind(("", 0))
        return probe.getsockname()[1] - 1


def variables(rank, size, port, **others):
    return {"RANK": str(rank), "WORLD_SIZE": str(size), "MASTER_ADDR": "localhost", "MASTER_PORT": str(port), **others}


class Ranks:
    """Ranks as processes of their own."""

    def __init__(self, ingot, size, command, *, prefix=lambda rank: [], port=None, absent=()):
        port = port or find_port()
        self.errors = [ingot.path(f"errors-{rank}.txt") for rank in range(size)]
        self.processes = {}
        for rank in range(size):
            if rank in absent:
                continue
            words = [str(word) for word in [*prefix(rank), *command(rank)]]
            with open(self.errors[rank], "w", encoding="utf-8") as errors:
                self.processes[rank] = subprocess.Popen(
                    words,
                    stdin=subprocess.DEVNULL,
                    stdout=errors,
                    stderr=errors,
                    env={**os.environ, **ALONE, **variables(rank, size, port)},
                )

    def said(self, rank):
        return self.errors[rank].read_text(encoding="utf-8", errors="replace")

    def all_said(self):
        return "; ".join(f"rank {rank}: {self.said(rank)}" for rank in self.processes)

    def wait_for(self, path, seconds=60):
        until = time.monotonic() + seconds
        while not path.exists() or path.read_bytes().count(b"\n") < 5:
            check(time.monotonic() < until, f"does not start: {self.all_said()}")
            time.sleep(0.05)

    def end(self, seconds, but=()):
        """The statuses of the ranks, which have to end by themselves in that time."""
        statuses, until = {}, time.monotonic() + seconds
        try:
            for rank, process in self.processes.items():
                if rank not in but:
                    statuses[rank] = process.wait(max(0.1, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            raise Failure(f"rank {rank} goes on after {seconds} s: {self.all_said()}") from None
        finally:
            for process in self.processes.values():
                if process.poll() is None:
                    process.kill()
                    process.wait()
        return statuses


def train(ingot, trainer, size, *flags):
    """The losses of `size` ranks over TCP."""
    log = ingot.path("log.jsonl")
    ranks = Ranks(ingot, size, lambda rank: [trainer, *flags, "--log", log])
    statuses = ranks.end(120)
    check(set(statuses.values()) == {0}, f"{statuses}: {ranks.all_said()}")
    said = ranks.said(0)
    check(f"note: {size} ranks over TCP, as RANK and WORLD_SIZE say" in said, f"no word of TCP: {said!r}")
    check("note: " not in ranks.said(1), f"rank 1 says it, too: {ranks.said(1)!r}")
    return [step["loss"] for step in read_log(log)[0]]


@case("ranks-tcp")
def equal_to_mpi(ingot):
    """The same bits as over MPI, sharded and compressed or not."""
    g = golden("mlp")
    for size, flags in (
        (2, []), (3, ["--zero", "2"]), (2, ["--grad-comm", "bf16"]), (2, ["--grad-comm", "int8,start:0"]),
    ):  # fmt: skip
        trainer = compile_for(ingot, g, "adamw", 2, *flags)
        run = ["--data", g.data, "--eval-data", g.data, "--steps", 12, "--seed", 3]
        check(train(ingot, trainer, size, *run) == losses(ingot, size, trainer, *run), f"{size} ranks, {flags}")


@case("ranks-tcp-one-file")
def one_file(ingot):
    """Ranks over TCP need the trainer and nothing beside it; they save and go on."""
    g = golden("mlp")
    alone = ingot.path("alone")
    shutil.copy(compile_for(ingot, g, "adamw", 2), alone)
    save = ingot.path("save")
    train(ingot, alone, 2, "--data", g.data, "--steps", 4, "--save", save)
    ranks = Ranks(ingot, 2, lambda rank: [alone, "--data", g.data, "--steps", 6, "--resume", save, "--save", save])
    statuses = ranks.end(60)
    check(set(statuses.values()) == {0} and (save / "step-6").is_dir(), f"{statuses}: {ranks.all_said()}")


def find_torchrun():
    for found in (shutil.which("torchrun"), MODELS_PYTHON / "torchrun"):
        if found and pathlib.Path(found).is_file():
            return found
    raise Skip("torchrun is not there")


@case("ranks-torchrun")
def by_torchrun(ingot):
    """torchrun starts trainers as they are; a rank that dies ends all."""
    torchrun = find_torchrun()
    g = golden("mlp")
    trainer = compile_for(ingot, g, "adamw", 2)
    flags = ["--data", g.data, "--steps", 12, "--seed", 3]
    # Without the dashes it takes --log for one of its own options.
    start = [torchrun, "--no-python", "--nproc-per-node", "2", "--master-port", find_port(), "--"]
    log = ingot.path("log.jsonl")
    ingot.succeed([*start, trainer, *flags, "--log", log], env=ALONE, timeout=120)
    got = [step["loss"] for step in read_log(log)[0]]
    check(got == losses(ingot, 2, trainer, *flags), "other losses than mpirun's")
    # Rank 1 dies.
    dies = ingot.path("dies.sh")
    dies.write_text('if [ $RANK = 1 ]; then (sleep 1; kill -KILL $$) & fi; exec "$@"')
    flags = ["--data", g.data, "--epochs", 1000000]
    result = ingot.run([*start, "bash", dies, trainer, *flags], env=ALONE, timeout=120)
    check(result.status != 0, "exit 0 of a run that lost a rank")


@case("ranks-transport")
def transport(ingot):
    """--transport tcp under mpirun: the launcher numbers the ranks, which meet over TCP."""
    g = golden("mlp")
    trainer = compile_for(ingot, g, "adamw", 2)
    flags = ["--data", g.data, "--steps", 6]
    want, log = losses(ingot, 2, trainer, *flags), ingot.path("log.jsonl")
    env = {**ALONE, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(find_port())}
    said = ingot.succeed([*mpirun(2), trainer, *flags, "--transport", "tcp", "--log", log], env=env).err
    check("over TCP, as OMPI_COMM_WORLD_RANK and OMPI_COMM_WORLD_SIZE say" in said, said)
    check([step["loss"] for step in read_log(log)[0]] == want, "other losses than over MPI")
    said = ingot.succeed([*mpirun(2), trainer, *flags], env=ALONE).err
    check(re.search(r"note: 2 ranks over MPI \(Open MPI.*\), as OMPI_COMM_WORLD_RANK", said), said)
    # MPI that finds no launcher would start each rank alone.
    env = {**ALONE, **variables(0, 2, find_port())}
    ingot.check_error([trainer, *flags, "--transport", "mpi"], 1, "has connected 1 of 2 ranks", env=env)
    ingot.check_error([trainer, *flags, "--transport", "ucx"], 2, "--transport")


@case("ranks-tcp-variables")
def bad_variables(ingot):
    g = golden("mlp")
    command = [compile_for(ingot, g, "adamw", 2), "--data", g.data, "--steps", "1"]
    good = variables(0, 2, 29500)
    for name in ("RANK", "MASTER_ADDR", "MASTER_PORT"):
        ingot.check_error(command, 2, name, "is not set", env={k: v for k, v in good.items() if k != name})
    for name, value in (("RANK", "2"), ("WORLD_SIZE", "x"), ("MASTER_PORT", "65535")):
        ingot.check_error(command, 2, name, f"'{value}'", env={**good, name: value})


@case("ranks-tcp-absent")
def absent(ingot):
    """Ranks that do not come are named, in the time that a start takes at least; strangers change nothing."""
    g = golden("mlp")
    trainer = compile_for(ingot, g, "adamw", 2)
    command = [trainer, "--data", g.data, "--steps", "1", "--comm-timeout", "1"]
    port = find_port()
    others = [
        Ranks(ingot, 2, lambda rank: command, absent=[0]),
        Ranks(ingot, 3, lambda rank: command, absent=[1]),
    ]
    runs = [*others, Ranks(ingot, 2, lambda rank: command, absent=[1], port=port)]
    deadline, strangers = time.monotonic() + 10, []
    while len(strangers) < 20 and time.monotonic() < deadline:
        try:
            strangers.append(socket.create_connection(("127.0.0.1", port + 1)))
            strangers[-1].sendall(b"GET / HTTP/1.1\r\n\r\n" if len(strangers) % 2 else b"\0" * 5)
        except OSError:
            time.sleep(0.1)
    check(len(strangers) == 20, f"rank 0 does not listen: {runs[2].all_said()}")
    for run, missing in zip(runs, (0, 1, 1), strict=True):
        statuses = run.end(40)
        check(set(statuses.values()) == {LOST}, f"{statuses}: {run.all_said()}")
        for rank in statuses:
            said = run.said(rank)
            check(re.search(rf"error: rank {rank}: has waited 20 s for rank {missing}\b.* to start", said), said)
            check("hint: " in said, said)


def lose(ingot, number, trainer, size, victim, limit):
    """Sends a signal to one rank in the middle of a run; what the others say."""
    g, log = golden("mlp"), ingot.path("log.jsonl")
    log.unlink(missing_ok=True)
    flags = ["--data", g.data, "--epochs", 1000000, "--comm-timeout", limit, "--log", log]
    ranks = Ranks(ingot, size, lambda rank: [trainer, *flags])
    ranks.wait_for(log)
    os.kill(ranks.processes[victim].pid, number)
    statuses = ranks.end(limit + 20, but=[victim])
    for rank, status in statuses.items():
        said = ranks.said(rank)
        check(status == LOST, f"exit {status} of rank {rank}: {said}")
        error = re.search(r"error: (.*)", said)
        check(error and re.match(rf"rank {rank}, step \d+: ", error[1]), f"rank {rank}: {said!r}")
        check(f"rank {victim} is lost" in error[1] or f"rank {victim} does not answer" in error[1], said)
    return statuses


@case("ranks-tcp-killed")
def killed(ingot):
    """The others name the rank that was killed, at once."""
    trainer = compile_for(ingot, golden("mlp"), "adamw", 2)
    for size, victim in ((2, 1), (2, 0), (4, 2)):
        lose(ingot, signal.SIGKILL, trainer, size, victim, limit=600 if victim else 20)


@case("ranks-tcp-stopped")
def stopped(ingot):
    """The others name the rank that does nothing, after the limit."""
    trainer = compile_for(ingot, golden("mlp"), "adamw", 2)
    for size, victim in ((2, 1), (4, 2), (3, 0)):
        lose(ingot, signal.SIGSTOP, trainer, size, victim, limit=2)


@case("ranks-tcp-many")
def many(ingot):
    """As many ranks killed and stopped as asked for."""
    count = int(os.environ.get("INGOT_FAULTS", "0"))
    if count == 0:
        raise Skip("INGOT_FAULTS says how many")
    choose = random.Random(int(os.environ.get("INGOT_FAULTS_SEED", "1")))
    trainer = compile_for(ingot, golden("mlp"), "adamw", 2)
    problems = []
    for i in range(count):
        size = choose.randint(2, 5)
        victim, number = choose.randrange(size), choose.choice([signal.SIGKILL, signal.SIGSTOP])
        try:
            lose(ingot, number, trainer, size, victim, limit=2)
        except Failure as problem:
            problems.append(f"{i} ({number.name} to rank {victim} of {size}): {problem}")
    check(not problems, f"{len(problems)} of {count}: " + "; ".join(problems))


@case("ranks-tcp-cut-off")
def cut_off(ingot):
    """The network goes away, and takes packets with it: nothing tells the ranks."""
    if os.geteuid() != 0 or not shutil.which("unshare") or not shutil.which("ip"):
        raise Skip("no network namespaces")
    g, log = golden("mlp"), ingot.path("log.jsonl")
    trainer = compile_for(ingot, g, "adamw", 2)
    words = [trainer, "--data", g.data, "--epochs", 1000000, "--comm-timeout", 2, "--log", log]
    script = (
        'ip link set lo up; RANK=1 "$@" 2>"$0" & RANK=0 "$@" 2>"$0.0"; echo "rank 0: $?"; wait $!; echo "rank 1: $?"'
    )
    errors, out = ingot.path("errors.txt"), ingot.path("out.txt")
    errors.touch()
    env = {**os.environ, **ALONE, **variables(0, 2, 29500)}
    with open(out, "w", encoding="utf-8") as file:
        run = subprocess.Popen(
            [str(word) for word in ["unshare", "-n", "bash", "-c", script, errors, *words]], stdout=file, env=env
        )
    try:
        until = time.monotonic() + 60
        while not log.exists() or log.read_bytes().count(b"\n") < 5:
            check(time.monotonic() < until, f"does not start: {errors.read_text()}")
            time.sleep(0.05)
        subprocess.run(["nsenter", "-t", str(run.pid), "-n", "ip", "link", "set", "lo", "down"], check=True)
        run.wait(30)
    except subprocess.TimeoutExpired:
        raise Failure("goes on without a network") from None
    finally:
        if run.poll() is None:
            run.kill()
    said = out.read_text()
    check(said == f"rank 0: {LOST}\nrank 1: {LOST}\n", said)
    check("has not ended for 2 s" in errors.read_text() or "is lost" in errors.read_text(), errors.read_text())
