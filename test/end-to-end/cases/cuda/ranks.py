# SPDX-License-Identifier: Apache-2.0
"""Ranks on GPUs: exchanges, on fakes (fakes.py)."""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

import numpy as np
from fakes import read_calls, recorded_step, run_ranks, trainer
from harness import DIGITS, case, check, golden


@case("cuda ranks add up on a stream of their own")
def ranks(ingot):
    command, env, logs = run_ranks(ingot, 2)
    ingot.succeed(command, env=env)
    for rank in range(2):
        lines = read_calls(logs, rank)
        names = [line.split()[0] for line in lines]
        check(f"cuDeviceGet {rank}" in lines, f"rank {rank} has another's GPU")
        check(f"ncclCommInitRank rank={rank} of=2" in lines, f"rank {rank}: {lines[:20]}")
        check(names[-1] == "cuDevicePrimaryCtxRelease", f"ends with {lines[-1]}")
        check(names.count("ncclCommDestroy") == 1, "NCCL is not ended")
        # Each bucket follows what fills it, and is waited for once: recorded with the step.
        step = recorded_step(lines)
        starts = [i for i, line in enumerate(step) if line.startswith("ncclAllReduce")]
        check(len(starts) > 1, f"{len(starts)} buckets")
        joined = []
        for i in starts:
            ready, done = step[i - 2].split(), step[i + 1].split()
            check(ready[0] == "cuEventRecord" and step[i - 1] == f"cuStreamWaitEvent {ready[1]}", f"{step[i - 2 : i]}")
            check(done[0] == "cuEventRecord", f"after an all-reduce: {done}")
            joins = [j for j, line in enumerate(step) if line == f"cuStreamWaitEvent {done[1]}"]
            check(len(joins) == 1 and joins[0] > i, f"bucket waited for {len(joins)} times")
            joined += joins
        between = [line for line in step[starts[0] : min(joined)] if line.startswith(("cuLaunch", "cublas"))]
        check(between, "nothing is computed while the first bucket is under way")


@case("cuda ranks go wrong")
def ranks_fail(ingot):
    command, env, _ = run_ranks(ingot, 2)
    for setting, words in [
        ({"INGOT_FAKE_GPUS": "1"}, "has no GPU"),
        ({"INGOT_FAKE_FAIL": "ncclCommInitRank"}, "NCCL"),
        ({"INGOT_FAKE_FAIL": "ncclAllReduce"}, "NCCL"),
    ]:
        # The launcher has its own words around ours.
        result = ingot.run(command, env={**env, **setting})
        errors = [line for line in result.err.splitlines() if line.startswith("error: ")]
        check(result.status == 1 and any(words in line for line in errors), f"{setting}: {result.err[-500:]}")
        # One GPU that a rank has for itself is not told from one that all share.
        own = "leaves each rank a GPU of its own, set CUDA_VISIBLE_DEVICES=0" in result.err
        check(own == (words == "has no GPU"), f"{setting}: {result.err[-500:]}")


@case("cuda ranks abort recorded exchanges")
def aborts(ingot):
    command, env, logs = run_ranks(ingot, 2, steps=30)
    result = ingot.run(command, env={**env, "INGOT_FAKE_FAIL": "ncclCommGetAsyncError:4"})
    check(result.status == 4 and "error: rank" in result.err, f"{result.status}: {result.err[-500:]}")
    for rank in range(2):
        names = [line.split()[0] for line in read_calls(logs, rank)]
        if "ncclCommAbort" in names:
            check("cuGraphLaunch" in names, "no step was recorded before")
            return
    raise AssertionError("no rank aborts")


@case("cuda ranks say where they were when another one is killed")
def killed(ingot):
    command, env, logs = run_ranks(ingot, 2, steps=100000)
    # On a GPU that computes, an exchange waits for the other rank.
    env |= {"INGOT_FAKE_COMPUTE": "1", "INGOT_FAKE_MEMORY": str(1 << 30)}
    env.pop("INGOT_FAKE_LOG", None)
    run = subprocess.Popen(
        [str(word) for word in command], env={**os.environ, **env}, stderr=subprocess.PIPE, text=True
    )
    try:
        # Both have recorded a step.
        until = time.monotonic() + 60
        while time.monotonic() < until and run.poll() is None and not all(is_recorded(logs, r) for r in range(2)):
            time.sleep(0.1)
        children = [int(word) for word in pathlib.Path(f"/proc/{run.pid}/task/{run.pid}/children").read_text().split()]
        check(len(children) == 2, f"{len(children)} ranks")
        os.kill(children[1], signal.SIGKILL)
        _, said = run.communicate(timeout=60)
    finally:
        run.kill()
    check(re.search(r"warning: rank 0, step [0-9]+: the exchanges of a step were in flight", said), said[-1500:])


def is_recorded(logs, rank):
    path = logs.with_name(f"{logs.name}.{rank}")
    return path.exists() and "cuGraphLaunch" in path.read_text()


@case("cuda ranks with different choices of --tune record the step together")
def different_choices(ingot):
    kept = ingot.path("choices")
    tune = f"--tune={kept}.$OMPI_COMM_WORLD_RANK"
    for chosen in (2, 1):
        # With one multiprocessor there are numbers of blocks to choose from; in the second run rank 1 has to try again.
        model = (DIGITS / "digits.onnx", DIGITS / "train.npz", "--loss", "cross-entropy", "--batch", "8")
        command, env, logs = run_ranks(ingot, 2, steps=24, trainer_flags=tune, model=model)
        ingot.succeed(command, env={**env, "INGOT_FAKE_MULTIPROCESSORS": "1"})
        lines = [read_calls(logs, rank) for rank in range(2)]
        timed = [sum(line.startswith("cuEventElapsedTime") for line in each) for each in lines]
        check((timed[0] == 0) == (chosen == 1) and timed[1] > 0, f"timings: {timed}")
        before = [
            sum(line.startswith("ncclAllReduce") for line in each[: each.index("cuStreamBeginCapture")])
            for each in lines
        ]
        # Several steps, in which launches are tried.
        check(before[0] == before[1] > 8, f"exchanges before the recording: {before}")
        kept.with_name(f"{kept.name}.1").unlink()


GATHERS = {"ncclAllGather", "ncclBroadcast"}


@case("cuda ranks gather parameters alike")
def gathers(ingot):
    mlp = golden("mlp")
    few = ingot.path("few.npz")
    with np.load(mlp.data) as data:
        np.savez(few, **{name: values[:5] for name, values in data.items()})
    # Samples for one rank's batch; micro-batches, which leave nothing to be gathered; and checkpoints of rank 0 alone.
    for flags, optimizer, trainer_flags in (
        ((), "adamw", f"--eval-data {few} --eval-every 2"),
        (("--grad-accumulation", "2"), "adamw", ""),
        ((), "sgd", f"--save {ingot.path('saved')} --save-every 2"),
    ):
        command, env, logs = run_ranks(
            ingot, 2, "--zero", "1", *flags, steps=6, bucket="0.001", trainer_flags=trainer_flags, optimizer=optimizer
        )
        ingot.succeed(command, env=env)
        # Except how a rank starts and waits, and addresses.
        exchange = re.compile(r"nccl(?!Comm|GetUniqueId)")
        calls = [
            [line.split(" stream=")[0] for line in read_calls(logs, rank) if exchange.match(line)] for rank in range(2)
        ]
        check(calls[0] == calls[1], "ranks exchange different things")
        check(any(line.startswith(tuple(GATHERS)) for line in calls[0]), f"nothing is gathered: {calls[0][:5]}")


@case("cuda ranks update their shards")
def shards(ingot):
    saved = ingot.path("saved")
    for zero, ranks in (("1", 2), ("2", 3)):
        command, env, logs = run_ranks(
            ingot, ranks, "--zero", zero, ranks=ranks, bucket="0.001", trainer_flags=f"--save {saved} --overwrite"
        )
        ingot.succeed(command, env=env)
        received = [0] * ranks
        for rank in range(ranks):
            lines = read_calls(logs, rank)
            step = recorded_step(lines)
            names = [line.split()[0] for line in step]
            # Counts and losses are summed up whole, gradients are not.
            whole = [int(n) for n in re.findall(r"ncclAllReduce elements=(\d+)", "\n".join(step))]
            check(sum(whole) < 64, f"{whole} elements are exchanged whole")
            # All that is started is waited for within the recording.
            starts = [
                i for i in range(1, len(step)) if step[i].startswith("nccl") and not step[i - 1].startswith("nccl")
            ]
            for i in starts:
                ready = step[i - 1].split()[1]
                check(step[i - 2 : i] == [f"cuEventRecord {ready}", f"cuStreamWaitEvent {ready}"], f"{step[i - 2 : i]}")
                end = next(j for j in range(i, len(step)) if step[j].startswith("cuEventRecord"))
                joins = [j for j in range(end, len(step)) if step[j] == f"cuStreamWaitEvent {step[end].split()[1]}"]
                check(len(joins) == 1, f"an exchange is waited for {len(joins)} times")
            # New parameters are gathered during the next step, which starts the gathers and waits for each one late.
            kernels = [i for i, name in enumerate(names) if name in ("cuLaunchKernel", "cublasLtMatmul")]
            begins = [i for i in starts if i < kernels[0]]
            joins = []
            for i in starts:
                end = next(j for j in range(i, len(step)) if step[j].startswith("cuEventRecord"))
                gathers = bool(GATHERS & set(names[i:end]))
                check(gathers == (i in begins), f"{step[i:end]} after {sum(k < i for k in kernels)} kernels")
                if gathers:
                    joins.append(step.index(f"cuStreamWaitEvent {step[end].split()[1]}", end))
            check(len(begins) > 1 and max(joins) > kernels[1], f"gathers at {begins}, waited for at {joins}")
            # The second step, the recording, and at the end what the last one has left.
            count = sum(name in GATHERS for name in names)
            every = [line.split()[0] for line in lines]
            check(sum(name in GATHERS for name in every) == 3 * count, "gathers are lost or repeated")
            last = len(every) - every[::-1].index("cuGraphLaunch")
            check(sum(name in GATHERS for name in every[last:]) == count, "the last parameters are not gathered")
            scattered = {"ncclReduceScatter", "ncclReduce"} & set(names)
            gathered = GATHERS & set(names)
            check(scattered and gathered, f"rank {rank} exchanges no shards: {sorted(set(names))}")
            # Groups hold one operation for each rank that has elements.
            depth, most = 0, 0
            for name in names:
                depth = depth + 1 if name in ("ncclReduce", "ncclBroadcast") else 0
                most = max(most, depth)
            check(most <= ranks, f"{most} operations in one group")
            # Moments: the block after state, arena and staging is what the rank has of them.
            blocks = [int(n) for n in re.findall(r"cuMemAlloc bytes=(\d+)", "\n".join(lines))]
            received[rank] = blocks[3]
        total = sum(received)
        check(max(received) < 0.75 * total, f"shards of {received} bytes")
        # Where a run with other ranks goes on.
        again, env, _ = run_ranks(ingot, 2, "--zero", zero, trainer_flags=f"--resume {saved}")
        ingot.succeed(again, env=env)


@case("cuda ranks send messages")
def messages(ingot):
    for code, kernels in (("int8", ["encode"]), ("topk:0.05", ["count", "encode"])):
        command, env, logs = run_ranks(ingot, 2, "--grad-comm", f"{code},start:0")
        ingot.succeed(command, env=env)
        _, program, _ = trainer(ingot, "--data-parallel", "--bucket-mb", "0.01", "--grad-comm", f"{code},start:0")
        planned = json.loads(ingot.succeed([program, "--inspect=json", "--ranks", 2]).out)
        for rank in range(2):
            lines = read_calls(logs, rank)
            step = recorded_step(lines)
            gathers = [i for i, line in enumerate(step) if line.startswith("ncclAllGather")]
            check(gathers, f"{code}: no message is sent")
            for i in gathers:
                # Made on the step's stream, then sent; added up once it has been waited for.
                made = [line.split()[1].split("_")[-1] for line in step[i - 2 - len(kernels) : i - 2]]
                check(made == kernels, f"{code}: before a message: {step[i - 4 : i]}")
                joined = step.index(f"cuStreamWaitEvent {step[i + 1].split()[1]}", i)
                check("_decode grid" in step[joined + 1], f"{code}: after the wait: {step[joined + 1]}")
            blocks = [int(n) for n in re.findall(r"cuMemAlloc bytes=(\d+)", "\n".join(lines))]
            check(sum(blocks) == planned["peak_bytes"], f"{code}: {blocks} bytes, planned {planned['peak_bytes']}")


def on_rank(command, rank, variable, value):
    """The command with a variable that only one rank has."""
    *words, script = command
    return [*words, f'[ "$OMPI_COMM_WORLD_RANK" != {rank} ] || export {variable}={value}; {script}']


@case("cuda ranks register the memory that they exchange")
def registers(ingot):
    command, env, logs = run_ranks(ingot, 2, "--zero", "1")

    def run(command, **settings):
        """The calls for memory of both ranks, and what is said."""
        result = ingot.succeed(command, env={**env, **settings})
        calls = []
        for rank in range(2):
            lines = [line for line in read_calls(logs, rank) if line.startswith("ncclMem") or "egister" in line]
            # Blocks are registered before the first exchange, and until the communicator ends.
            names = [line.split()[0] for line in read_calls(logs, rank)]
            first = next(i for i, name in enumerate(names) if name in {"ncclAllReduce", "ncclGroupStart"} | GATHERS)
            registers = [i for i, name in enumerate(names) if name.endswith("Register")]
            check(not registers or max(registers) < first, f"registers at {registers}, exchanges at {first}")
            calls.append(lines)
            logs.with_name(f"{logs.name}.{rank}").unlink()
        notes = [line for line in result.err.splitlines() if "NCCL" in line]
        return calls, notes

    def count(lines, name):
        return sum(line.split()[0] == name for line in lines)

    # State and arena are windows, of the same sizes on all ranks.
    calls, notes = run(command)
    check(not notes, f"{notes}")
    for lines in calls:
        check(count(lines, "ncclMemAlloc") == count(lines, "ncclMemFree") == 2, f"{lines}")
        check(count(lines, "ncclCommWindowRegister") == count(lines, "ncclCommWindowDeregister") == 2, f"{lines}")
        check(count(lines, "ncclCommRegister") == 0, f"{lines}")
    sizes = [[line for line in lines if line.startswith("ncclCommWindowRegister")] for lines in calls]
    check(sizes[0] == sizes[1], f"{sizes}")
    # No windows between these GPUs, or an error of one rank: buffers are registered, on all ranks.
    for one in (False, True):
        chosen = on_rank(command, 1, "INGOT_FAKE_FAIL", "ncclCommWindowRegister") if one else command
        calls, notes = run(chosen, **({} if one else {"INGOT_FAKE_NO_WINDOWS": "1"}))
        check(len(notes) == 1 and "no symmetric memory" in notes[0], f"{notes}")
        for lines in calls:
            check(count(lines, "ncclCommRegister") == count(lines, "ncclCommDeregister") == 2, f"{lines}")
            done = 2 if one and lines is calls[0] else 0
            check(count(lines, "ncclCommWindowDeregister") == done, f"{lines}")
    # Memory of the driver is registered as buffers.
    calls, notes = run(command, INGOT_FAKE_FAIL="ncclMemAlloc")
    check(len(notes) == 1 and "no symmetric memory" in notes[0], f"{notes}")
    check(all(count(lines, "ncclCommWindowRegister") == 0 for lines in calls), f"{calls}")
    check(all(count(lines, "ncclCommRegister") == 2 for lines in calls), f"{calls}")
    # Nothing is registered: exchanges copy.
    calls, notes = run(on_rank(command, 0, "INGOT_FAKE_FAIL", "ncclCommRegister"), INGOT_FAKE_NO_WINDOWS="1")
    check(len(notes) == 1 and "registers no memory" in notes[0], f"{notes}")
    check(count(calls[1], "ncclCommDeregister") == 2, f"{calls[1]}")


@case("cuda ranks take what an earlier NCCL has")
def earlier(ingot):
    command, env, logs = run_ranks(ingot, 2)
    fakes = ingot.path("fakes")
    shutil.copytree(env["LD_LIBRARY_PATH"], fakes)
    library = fakes / "libnccl.so.2"
    code = library.read_bytes()
    for names, words in (
        (["ncclCommWindowRegister"], "no symmetric memory"),
        (["ncclCommWindowRegister", "ncclCommRegister"], "registers no memory"),
        (["ncclCommWindowRegister", "ncclCommRegister", "ncclMemAlloc"], "registers no memory"),
    ):
        # Symbols of other names are not found.
        for name in names:
            code = code.replace(b"\0" + name.encode() + b"\0", b"\0" + name.encode()[:-1] + b"_\0")
        library.write_bytes(code)
        result = ingot.succeed(command, env={**env, "LD_LIBRARY_PATH": str(fakes)})
        notes = [line for line in result.err.splitlines() if "NCCL" in line]
        check(len(notes) == 1 and words in notes[0], f"{names}: {notes}")
        for rank in range(2):
            lines = read_calls(logs, rank)
            called = {line.split()[0] for line in lines}
            check(not called & set(names), f"{called & set(names)} of a library without them")
            logs.with_name(f"{logs.name}.{rank}").unlink()


@case("cuda one rank registers nothing")
def alone(ingot):
    command, env, logs = run_ranks(ingot, 1, ranks=1)
    ingot.succeed(command, env=env)
    check(not [line for line in read_calls(logs, 0) if line.startswith("nccl")], "one rank calls NCCL")
