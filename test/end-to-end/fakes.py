# SPDX-License-Identifier: Apache-2.0
"""Trainers for GPUs where there is none: fakes for CUDA's libraries say what is
asked of them and in which order (test/fakes/cuda/Fakes.h)."""

import shutil

from harness import Skip, check, golden

GRAPH_CALLS = {"cuStreamBeginCapture", "cuStreamEndCapture", "cuGraphInstantiate", "cuGraphLaunch"}


def trainer(ingot, *flags, optimizer="adamw"):
    """The mlp for sm_90, and where the fakes are."""
    fakes = ingot.bin.parent / "lib/fakes"
    if not fakes.exists():
        raise Skip("built without CUDA's headers")
    mlp = golden("mlp")
    return (
        mlp,
        ingot.compile(mlp.model, *mlp.compile_flags(optimizer), "--target", "cuda", *flags),
        {"LD_LIBRARY_PATH": str(fakes)},
    )


def recorded(ingot, *flags, env=None, steps=4, compiled=()):
    """The calls that a run makes: [name, rest of the line]."""
    mlp, program, fakes = trainer(ingot, *compiled)
    log = ingot.path("calls.txt")
    env = {**fakes, "INGOT_FAKE_LOG": str(log), **(env or {})}
    ingot.succeed([program, "--data", mlp.data, "--steps", steps, *flags], env=env)
    calls = [(line.split() + [""])[:2] for line in log.read_text().splitlines()]
    broken = [line for line in log.read_text().splitlines() if line.startswith("violation")]
    check(not broken, f"calls: {broken[:3]}")
    return [name for name, _ in calls], log.read_text()


def run_ranks(ingot, gpus, *flags, ranks=2, steps=3, trainer_flags="", optimizer="adamw", bucket="0.01", model=None):
    """Ranks on fakes; the command, its environment and a log for each. They train the mlp, or a model with its data
    and flags."""
    if not shutil.which("mpirun"):
        raise Skip("mpirun is not there")
    flags = ["--data-parallel", "--bucket-mb", bucket, *flags]
    mlp, program, env = trainer(ingot, *flags, optimizer=optimizer)
    data = mlp.data
    if model:
        path, data, *options = model
        program = ingot.compile(path, *options, *flags, "--target", "cuda")
    logs = ingot.path("calls")
    script = f"INGOT_FAKE_LOG={logs}.$OMPI_COMM_WORLD_RANK exec {program} --data {data} --steps {steps} {trainer_flags}"
    command = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", str(ranks), "bash", "-c", script]
    return command, {**env, "INGOT_FAKE_GPUS": str(gpus), "OMP_NUM_THREADS": "1"}, logs


def read_calls(logs, rank):
    """A rank's calls, a line each, of which none is wrong."""
    lines = logs.with_name(f"{logs.name}.{rank}").read_text().splitlines()
    broken = [lines[max(0, i - 3) : i + 1] for i, line in enumerate(lines) if line.startswith("violation")]
    check(not broken, f"rank {rank}: {broken[:3]}")
    check("objects=0 blocks=0" in lines[-1], f"rank {rank} leaves: {lines[-1]}")
    return lines


def recorded_step(lines):
    names = [line.split()[0] for line in lines]
    return lines[names.index("cuStreamBeginCapture") + 1 : names.index("cuStreamEndCapture")]
