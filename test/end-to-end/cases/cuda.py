"""Trainers for GPUs. Where there is no GPU, stand-ins for CUDA's libraries say
what is asked of them and in which order (test/runtime/cuda/StandIns.h); the
kernels themselves are tested in the emulator."""

import ctypes
import importlib.util
import itertools
import json
import re
import shutil
import sqlite3
import sys

import numpy as np
import onnx
import onnx.helper as oh
import onnx.numpy_helper
from harness import MODELS, ROOT, Skip, case, check, golden, initializers, read_log

GOLDENS = ["mlp", "cnn", "segmentation", "multilabel"]
GRAPH_CALLS_OF_RECORDING = ("cuStreamBeginCapture", "cuStreamEndCapture")
GRAPH_CALLS = {"cuStreamBeginCapture", "cuStreamEndCapture", "cuGraphInstantiate", "cuGraphLaunch"}


def trainer(ingot, *flags):
    """The mlp for sm_90, and where the stand-ins are."""
    stand_ins = ingot.bin.parent / "lib/stand-ins"
    if not stand_ins.exists():
        raise Skip("built without CUDA's headers")
    mlp = golden("mlp")
    return mlp, ingot.compile(mlp.model, *mlp.compile_flags("adamw"), "--target", "cuda", *flags), {
        "LD_LIBRARY_PATH": str(stand_ins)
    }


def recorded(ingot, *flags, env=None, steps=4, compiled=()):
    """The calls that a run makes: [name, rest of the line]."""
    mlp, program, stand_ins = trainer(ingot, *compiled)
    log = ingot.path("calls.txt")
    env = {**stand_ins, "INGOT_STAND_IN_LOG": str(log), **(env or {})}
    ingot.succeed([program, "--data", mlp.data, "--steps", steps, *flags], env=env)
    calls = [(line.split() + [""])[:2] for line in log.read_text().splitlines()]
    broken = [line for line in log.read_text().splitlines() if line.startswith("violation")]
    check(not broken, f"calls: {broken[:3]}")
    return [name for name, _ in calls], log.read_text()


@case("cuda a step is one graph launch after the second")
def one_launch(ingot):
    names, log = recorded(ingot, steps=5)
    check(names.count("cuGraphLaunch") == 4, f"{names.count('cuGraphLaunch')} graph launches in 5 steps")
    check(names.count("cuStreamBeginCapture") == 1, "recorded more than once")
    # The recording holds what the first step launched, and no wait.
    begin, end = names.index("cuStreamBeginCapture"), names.index("cuStreamEndCapture")
    first = [n for n in names[:begin] if n in ("cuLaunchKernel", "cublasLtMatmul")]
    check(names[begin + 1 : end] == first and len(first) > 10, f"the recording differs: {names[begin + 1 : end]}")
    # Of a steady step: inputs to a staging block on a stream of their own, from there to the arena, one launch,
    # scalars out.
    lines = [line.split() for line in log.splitlines()]
    launches = [i for i, line in enumerate(lines) if line[0] == "cuGraphLaunch"]
    runs = lines[launches[0]][1]
    for before, at in zip(launches[1:], launches[2:]):
        step = lines[before + 1 : at]
        order = [name for name, _ in itertools.groupby(line[0] for line in step)]
        check(order == ["cuMemcpyDtoHAsync", "cuEventRecord", "cuEventSynchronize", "cuStreamWaitEvent", "cuMemcpyHtoDAsync",
                        "cuEventRecord", "cuStreamWaitEvent", "cuMemcpyDtoDAsync", "cuEventRecord"], f"steady step: {order}")
        copies = {name: [line[2] for line in step if line[0] == f"cuMemcpy{name}Async"] for name in ("DtoH", "HtoD", "DtoD")}
        check(set(copies["DtoH"] + copies["DtoD"]) == {runs}, f"copies beside the step: {copies}")
        check(len(copies["HtoD"]) == 1 and copies["HtoD"] != [runs], f"inputs: {copies}")
        check(len(copies["DtoD"]) < 8, f"{len(copies['DtoD'])} copies of inputs")


def launches_ahead(log):
    """Of each wait of the host for what came after a graph launch, how many launches were made since then."""
    launches, recorded_at, ahead = 0, {}, []
    for line in log.splitlines():
        name, argument = (line.split() + [""])[:2]
        launches += name == "cuGraphLaunch"
        if name == "cuEventRecord":
            recorded_at[argument] = launches
        if name == "cuEventSynchronize" and recorded_at[argument]:
            ahead.append(launches - recorded_at[argument])
    return ahead


@case("cuda the next step is launched before the last one's results are waited for")
def no_waits(ingot):
    # The end of an epoch of 10 is among them.
    steps = 14
    for compiled, flags in [([], ["--schedule", "cosine"]), (["--precision", "bf16"], []), (["--precision", "fp16"], [])]:
        _, log = recorded(ingot, *flags, compiled=compiled, steps=steps)
        check(launches_ahead(log) == [1] * (steps - 2) + [0], f"{compiled}: {launches_ahead(log)}")
        check("cuStreamSynchronize" not in log[log.index("cuGraphLaunch") : log.rindex("cuGraphLaunch")], "waits for all")
    # What schedules count is known once a step has not been skipped.
    _, log = recorded(ingot, "--schedule", "cosine", compiled=["--precision", "fp16"], steps=steps)
    check(set(launches_ahead(log)) == {0}, f"{launches_ahead(log)}")


@case("cuda logs and stops are those of a processor")
def logs(ingot):
    mlp, program, env = trainer(ingot)
    log, broken = ingot.path("log.jsonl"), ingot.path("broken")
    run = [program, "--data", mlp.data, "--log", log]
    ingot.succeed([*run, "--steps", 7, "--eval-data", mlp.data, "--eval-every", 3, "--save", ingot.path("saved"), "--save-every", 2], env=env)
    order = [(line["step"], "eval_loss" in line) for line in map(json.loads, log.read_text().splitlines())]
    expected = [(step, which) for step in range(1, 8) for which in (False, True) if not which or step in (3, 6, 7)]
    check(order == expected, f"{order}")
    # Steps before one that cannot be started are there.
    ingot.check_error([*run, "--steps", 6], 1, "recording the step", env={**env, "INGOT_STAND_IN_FAIL": "cuStreamBeginCapture"})
    check(len(read_log(log)[0]) == 1, "the log lacks a step")
    # A loss that is not finite is noticed with one more step under way, and before a checkpoint holds it.
    for flags, launched in [([], 4), (["--save", broken, "--save-every", 1], 3)]:
        calls = ingot.path("calls.txt")
        calls.unlink(missing_ok=True)
        ingot.check_error([*run, "--steps", 9, *flags], 1, "step 4", "the loss is not a number",
                          env={**env, "INGOT_STAND_IN_NAN": "3", "INGOT_STAND_IN_LOG": str(calls)})
        steps, _ = read_log(log)
        check(len(steps) == 4 and steps[3]["loss"] is None, f"{steps}")
        check(calls.read_text().count("cuGraphLaunch") == launched, f"{calls.read_text().count('cuGraphLaunch')} launches")
    saved = json.loads(next(broken.rglob("checkpoint.json")).read_text())
    check(saved["step"] == 3, f"saved: {saved}")


@case("cuda micro-batches come through the staging blocks")
def micro_batches(ingot):
    names, _ = recorded(ingot, compiled=["--grad-accumulation", "3"], steps=5)
    # The state, and a batch each.
    check(names.count("cuMemcpyHtoDAsync") == 1 + 3 * 5, f"{names.count('cuMemcpyHtoDAsync')} copies to the GPU")
    check(names.count("cuMemcpyDtoHAsync") == 5, "results of micro-batches are copied")


@case("cuda everything is given back")
def given_back(ingot):
    for env in [{}, {"INGOT_CUDA_GRAPH": "0"}]:
        names, log = recorded(ingot, env=env)
        check(names[-1] == "cuDevicePrimaryCtxRelease", f"ends with {names[-3:]}")
        check("cuDevicePrimaryCtxRelease objects=0 blocks=0" in log, f"left: {log.splitlines()[-1]}")
        check("cublasLtDestroy objects=0" in log, "cuBLASLt objects are left")
    check(not GRAPH_CALLS & set(names), "INGOT_CUDA_GRAPH=0 records a graph")


@case("cuda profiles and watches launch one by one")
def plain_launches(ingot):
    trace = ingot.path("trace.json")
    names, _ = recorded(ingot, "--profile", trace)
    check(not GRAPH_CALLS & set(names), "a profile records a graph")
    check('"ph"' in trace.read_text(), "empty trace")
    names, _ = recorded(ingot, "--watch", "nan")
    check(not GRAPH_CALLS & set(names), "a watch records a graph")


@case("cuda state comes back for checkpoints and export")
def state_comes_back(ingot):
    mlp, program, env = trainer(ingot)
    saved, exported = ingot.path("saved"), ingot.path("trained.onnx")
    # Stand-ins compute nothing, so that the state stays as it was.
    ingot.succeed([program, "--data", mlp.data, "--steps", 2, "--save", saved, "--export", exported], env=env)
    before, after = initializers(mlp.model), initializers(exported)
    for name, value in before.items():
        check(np.array_equal(after[name], value), f"{name} is not what was put on the GPU")
    ingot.succeed([program, "--data", mlp.data, "--steps", 3, "--resume", saved], env=env)


@case("cuda memory is the plan")
def planned_memory(ingot):
    mlp, program, env = trainer(ingot)
    planned = json.loads(ingot.succeed([program, "--inspect=json"]).out)["peak_bytes"]
    _, log = recorded(ingot)
    blocks = [int(n) for n in re.findall(r"cuMemAlloc bytes=(\d+)", log)]
    check(len(blocks) == 3, f"{len(blocks)} blocks on the GPU")
    check(sum(blocks) == planned, f"{sum(blocks)} bytes on the GPU, planned {planned}")
    # Budgets are of all of it.
    smallest = re.search(r"smallest possible is (\d+)", ingot.run(
        ingot.ingotc(mlp.model, *mlp.compile_flags("adamw"), "--target", "cuda", "--memory-budget", 1000,
                     "-o", ingot.path("small"))).err)
    program = ingot.compile(mlp.model, *mlp.compile_flags("adamw"), "--target", "cuda", "--memory-budget", smallest[1])
    planned = json.loads(ingot.succeed([program, "--inspect=json"]).out)["peak_bytes"]
    check(planned <= int(smallest[1]), f"{planned} bytes, with a budget of {smallest[1]}")


@case("cuda what is wrong with the machine")
def wrong_machine(ingot):
    mlp, program, env = trainer(ingot)
    run = [program, "--data", mlp.data, "--steps", 1]
    ingot.succeed([program, "--help"])
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        ingot.check_error(run, 1, "libcuda.so.1")
    for setting, words in [
        ({"INGOT_STAND_IN_FAIL": "cuInit"}, ["no GPU", "CUDA_ERROR_NO_DEVICE"]),
        ({"INGOT_STAND_IN_VERSION": "12040"}, ["driver", "12.4", "13"]),
        ({"INGOT_STAND_IN_ARCH": "75"}, ["sm_75", "sm_90"]),
        ({"INGOT_STAND_IN_MEMORY": "100000"}, ["GPU memory", "free"]),
        ({"INGOT_STAND_IN_FAIL": "cublasLtCreate"}, ["cuBLASLt"]),
        ({"INGOT_STAND_IN_FAIL": "cublasLtMatmulAlgoGetHeuristic"}, ["matmul", "algorithm"]),
        ({"INGOT_STAND_IN_FAIL": "cuLaunchKernel"}, ["train_step"]),
        ({"INGOT_STAND_IN_FAIL": "cuEventSynchronize"}, ["CUDA", "running on the GPU"]),
    ]:
        ingot.check_error(run, 1, *words, env={**env, **setting})


@case("cuda other architectures take the text")
def later_architecture(ingot):
    _, log = recorded(ingot, env={"INGOT_STAND_IN_ARCH": "100"})
    loads = re.findall(r"cuModuleLoadDataEx (\w+)", log)
    check(loads == ["cubin", "ptx"], f"loads {loads}")


def run_ranks(ingot, gpus, *flags, ranks=2, trainer_flags=""):
    """Ranks on stand-ins; the command, its environment and a log for each."""
    if not shutil.which("mpirun"):
        raise Skip("mpirun is not there")
    mlp, program, env = trainer(ingot, "--data-parallel", "--bucket-mb", "0.01", *flags)
    logs = ingot.path("calls")
    script = f"INGOT_STAND_IN_LOG={logs}.$OMPI_COMM_WORLD_RANK exec {program} --data {mlp.data} --steps 3 {trainer_flags}"
    command = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", str(ranks), "bash", "-c", script]
    return command, {**env, "INGOT_STAND_IN_GPUS": str(gpus), "OMP_NUM_THREADS": "1"}, logs


def read_calls(logs, rank):
    """A rank's calls, a line each, of which none is wrong."""
    lines = logs.with_name(f"{logs.name}.{rank}").read_text().splitlines()
    check(not [line for line in lines if line.startswith("violation")], f"rank {rank}: {lines}")
    check("objects=0 blocks=0" in lines[-1], f"rank {rank} leaves: {lines[-1]}")
    return lines


def recorded_step(lines):
    names = [line.split()[0] for line in lines]
    return lines[names.index("cuStreamBeginCapture") + 1 : names.index("cuStreamEndCapture")]


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
        ({"INGOT_STAND_IN_GPUS": "1"}, "has no GPU"),
        ({"INGOT_STAND_IN_FAIL": "ncclCommInitRank"}, "NCCL"),
        ({"INGOT_STAND_IN_FAIL": "ncclAllReduce"}, "NCCL"),
    ]:
        # The launcher has its own words around ours.
        result = ingot.run(command, env={**env, **setting})
        errors = [line for line in result.err.splitlines() if line.startswith("error: ")]
        check(result.status == 1 and any(words in line for line in errors), f"{setting}: {result.err[-500:]}")


@case("cuda ranks update their shards")
def shards(ingot):
    saved = ingot.path("saved")
    for zero, ranks in (("1", 2), ("2", 3)):
        command, env, logs = run_ranks(ingot, ranks, "--zero", zero, ranks=ranks, trainer_flags=f"--save {saved}")
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
            starts = [i for i in range(1, len(step)) if step[i].startswith("nccl") and not step[i - 1].startswith("nccl")]
            for i in starts:
                ready = step[i - 1].split()[1]
                check(step[i - 2 : i] == [f"cuEventRecord {ready}", f"cuStreamWaitEvent {ready}"], f"{step[i - 2 : i]}")
                end = next(j for j in range(i, len(step)) if step[j].startswith("cuEventRecord"))
                joins = [j for j in range(end, len(step)) if step[j] == f"cuStreamWaitEvent {step[end].split()[1]}"]
                check(len(joins) == 1, f"an exchange is waited for {len(joins)} times")
            scattered = {"ncclReduceScatter", "ncclReduce"} & set(names)
            gathered = {"ncclAllGather", "ncclBroadcast"} & set(names)
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


@case("cuda wrong options")
def wrong_options(ingot):
    mlp = golden("mlp")
    model = [mlp.model, "-o", ingot.path("trainer"), *mlp.compile_flags("adamw")]
    ingot.check_error(ingot.ingotc(*model, "--target", "cuda", "--arch", "sm_70"), 2, "--arch")
    ingot.check_error(ingot.ingotc(*model, "--target", "cuda", "--arch", "znver4"), 2, "--arch")
    ingot.check_error(ingot.ingotc(*model, "--emit", "ptx"), 2, "--emit")


@case("cuda kernels assemble without spills")
def kernels_assemble(ingot):
    if not shutil.which("ptxas") and not shutil.which("/usr/local/cuda/bin/ptxas"):
        raise Skip("no ptxas")
    models = [(golden(name).model, golden(name).compile_flags("adamw")) for name in GOLDENS]
    mlp = golden("mlp")
    models += [(mlp.model, [*mlp.compile_flags("sgd"), "--data-parallel", "--grad-comm", f"{code},start:0"])
               for code in ("int8", "topk:0.05")]
    models += [(path, ["--loss", "cross-entropy"]) for path in sorted(MODELS.glob("torch/gpt_default_export.onnx"))]
    for model, flags in models:
        for arch, precision in [("sm_80", "fp32"), ("sm_90", "fp32"), ("sm_90", "bf16"), ("sm_80", "fp16")]:
            remarks = ingot.path("remarks.yaml")
            ptx = remarks.with_name("kernels.ptx")
            ingot.succeed(ingot.ingotc(model, *flags, "--target", "cuda", "--arch", arch, "--emit", "ptx",
                                       "--precision", precision, "--remarks", remarks, "-o", ptx))
            kernels = ptx.read_text().count(".entry ")
            text = remarks.read_text()
            registers = [int(n) for n in re.findall(r"takes (\d+) registers", text)]
            what = f"{model.parent.name} {arch} {precision}"
            check(kernels > 0 and len(registers) == kernels, f"{what}: {len(registers)} of {kernels} assembled")
            # 256 threads a block, 65,536 registers in all.
            check(max(registers) <= 255, f"{what}: {max(registers)} registers")
            check("spills" not in text, f"{what}: a kernel spills")


@case("cuda convolutions take an exact engine that fits")
def convolutions(ingot):
    _, _, env = trainer(ingot)
    cnn = golden("cnn")
    program = ingot.compile(cnn.model, *cnn.compile_flags("sgd"), "--target", "cuda")
    log = ingot.path("calls.txt")
    env = {**env, "INGOT_STAND_IN_LOG": str(log)}
    ingot.succeed([program, "--data", cnn.data, "--steps", 3], env=env)
    calls = log.read_text()
    check("violation" not in calls, "a call is wrong: " + calls[calls.find("violation") :][:200])
    engines = set(re.findall(r"cudnnBackendExecute engine=(\d)", calls))
    check(engines == {"2"}, f"engines {engines}")
    check("cudnnDestroy objects=0" in calls, "cuDNN objects are left")
    ingot.check_error([program, "--data", cnn.data, "--steps", 1], 1, "convolution", "cuDNN",
                      env={**env, "INGOT_STAND_IN_FAIL": "cudnnCreate"})


@case("cuda convolutions have channels last in half precision")
def convolution_layouts(ingot):
    _, _, env = trainer(ingot)
    cnn = golden("cnn")
    for precision, order in [("fp32", "first"), ("bf16", "last"), ("fp16", "last")]:
        program = ingot.compile(cnn.model, *cnn.compile_flags("sgd"), "--target", "cuda", "--precision", precision)
        log = ingot.path("calls.txt")
        ingot.succeed([program, "--data", cnn.data, "--steps", 1], env={**env, "INGOT_STAND_IN_LOG": str(log)})
        calls = log.read_text()
        check("violation" not in calls, "a call is wrong: " + calls[calls.find("violation") :][:200])
        lines = re.findall(r"convolution channels (.*)", calls)
        # Data, filter and result of each convolution and each gradient.
        check(len(lines) >= 5 and set(lines) == {f"data={order} filter={order} result={order}"}, f"{precision}: {lines}")


@case("cuda attention reads and writes parts of one tensor in half precision")
def packed_attention(ingot):
    trainer(ingot)
    model, loss = ROOT / "docs/examples/bytes/bytes.onnx", ["--loss", "cross-entropy", "--batch", "8"]
    for precision in ["fp32", "bf16", "fp16"]:
        steps = ingot.path("steps.mlir")
        ingot.succeed(ingot.ingotc(model, *loss, "--target", "cuda", "--precision", precision, "--emit", "exec", "-o", steps))
        calls, places = 0, {}
        for line in steps.read_text().splitlines():
            part = re.search(r"(%\w+) = exec\.buffer +arena (\d+) : memref<8x128x4x16x\w+, strided<\[24576, 192, 16, 1\]>>", line)
            if part:
                places[part[1]] = int(part[2])
            call = re.search(r"exec\.attention(_grad)? (.*?) scratch ", line)
            if not call:
                continue
            calls += 1
            read, written = (re.findall(r"%\w+", side) for side in call[2].split("->"))
            # Four heads of 16 columns, 128 bytes, from one part to the next.
            for parts in [read[:3], *([written] if call[1] else [])]:
                first, second, third = (places.get(part, 0) for part in parts)
                check(third - second == second - first == 128, f"{precision}: {line}")
        # In f32 it is products and a softmax.
        check((calls > 0) == (precision != "fp32"), f"{precision}: {calls} calls")


@case("cuda tests of kernels for a machine with a GPU")
def kernel_cases(ingot):
    _, _, env = trainer(ingot)
    folder = ingot.path("add-O2.so").parent
    ingot.succeed([ingot.bin / "ingot-gpu-cases", ROOT / "test/interpret/add.mlir", "-o", folder])
    for level in ["O0", "O2"]:
        name = folder / f"add-{level}"
        ingot.succeed(["ld.lld-22", "-shared", "-o", f"{name}.so", f"{name}.o"])
        log = folder / f"calls-{level}.txt"
        # Stand-ins compute nothing: the runner has to notice.
        result = ingot.run([ingot.bin / "ingot-gpu-run", f"{name}.so"], env={**env, "INGOT_STAND_IN_LOG": str(log)})
        lines = [json.loads(line) for line in result.out.splitlines()]
        check(result.status == 1 and len(lines) > 3, f"exit {result.status}, {len(lines)} functions")
        check(any("expected" in line["difference"] for line in lines), "no difference found")
        check("violation" not in log.read_text(), "a call is wrong")


def checker():
    """test/gpu/check.py as a module."""
    spec = importlib.util.spec_from_file_location("check", ROOT / "test/gpu/check.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@case("cuda a recorded timeline says what overlaps")
def timeline(ingot):
    def record(steps):
        """Launches at 10, 110, ... with two kernels and a copy of inputs each, as nsys writes them."""
        path = ingot.path("timeline.sqlite")
        base = sqlite3.connect(path)
        base.execute("CREATE TABLE StringIds (id, value)")
        base.execute("CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start, end, nameId, correlationId)")
        base.execute("CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end, correlationId)")
        base.execute("CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start, end, copyKind)")
        base.executemany("INSERT INTO StringIds VALUES (?, ?)", [(1, "cuGraphLaunch"), (2, "cuEventSynchronize")])
        for step, launch in enumerate(steps):
            begin = 100 * step + 50
            base.execute("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, 1, ?)", (launch, launch + 5, step))
            base.execute("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, 2, ?)", (launch + 6, launch + 9, 50 + step))
            base.executemany("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, ?)",
                             [(begin, begin + 40, step), (begin + 50, begin + 90, step)])
            # Half of it beside a kernel; the next step's copy within the GPU fills the gap between steps.
            base.execute("INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (?, ?, 1)", (begin + 30, begin + 50))
            base.execute("INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (?, ?, 8)", (begin + 90, begin + 100))
        base.commit()
        return path

    read = checker().read_timeline
    figures, ahead = read(record([10, 60, 160, 260, 360, 460]))
    check(figures["steps_seen"] == 4, f"{figures}")
    check(abs(figures["busy_share_seen"] - (4 * 80 + 3 * 10) / 390) < 1e-9, f"{figures}")
    check(abs(figures["longest_gap_us"] - 0.01) < 1e-9, f"{figures}")
    check(figures["input_copies"] == 4 and figures["input_copies_beside_kernels"] == 0.5, f"{figures}")
    check(ahead == 3 and figures["launched_before_the_last_ended"] == "3 of 3", f"{figures}")
    # One launch waits for the step before.
    figures, ahead = read(record([10, 60, 160, 260, 445, 460]))
    check(ahead == 2, f"{figures}")


@case("cuda gpu-check reports what it finds and goes on where it ended")
def gpu_check(ingot):
    mlp, program, env = trainer(ingot)
    folder = ingot.path("plan.json").parent
    for path in (ROOT / "test/gpu/check.py", program, mlp.data):
        shutil.copy(path, folder)
    shutil.copytree(f"{program}.libs", folder / f"{program.name}.libs")
    entry = {"name": program.name, "model": "gpt2:8x1024", "precision": "fp32", "data": mlp.data.name, "losses": [1.0] * 4}
    (folder / "plan.json").write_text(json.dumps({"commit": "x", "arch": "sm_90", "steps": 4, "trainers": [entry]}))
    command = [sys.executable, folder / "check.py", "--only", "losses", "timeline", "--out", folder / "out"]
    first = ingot.run(command, env=env)
    # Stand-ins compute nothing, which is not the processor's loss.
    report = json.loads((folder / "out/report.json").read_text())["sections"]
    check(first.status == 1 and not report["losses"]["ok"], f"{report}")
    check(any("from the processor's losses" in problem for problem in report["losses"]["problems"]), f"{report['losses']}")
    check(report["timeline"]["figures"]["calls"] > 10, f"{report['timeline']}")
    check("FAILED" in (folder / "out/report.md").read_text(), "the report says nothing of a failure")
    second = ingot.run([*command[:-3], "bandwidth", *command[-2:]], env=env)
    check("losses:" not in second.out and "bandwidth:" in second.out, f"{second.out}")


@case("cuda tests of library calls for a machine with a GPU")
def library_cases(ingot):
    _, _, env = trainer(ingot)
    folder = ingot.path("log.txt").parent
    files = [ROOT / f"test/interpret/{name}.mlir" for name in ["channels-last", "packed-attention-low"]]
    ingot.succeed([ingot.bin / "ingot-gpu-cases", *files, "-o", folder])
    # Attention in half precision is a call that takes parts of one tensor.
    attention = (folder / "packed-attention-low-O2.o").read_bytes()
    check(b"ingot_attention_grad" in attention, "attention is taken apart")
    name, log = folder / "channels-last-O2", folder / "log.txt"
    ingot.succeed(["ld.lld-22", "-shared", "-o", f"{name}.so", f"{name}.o"])
    ingot.run([ingot.bin / "ingot-gpu-run", f"{name}.so"], env={**env, "INGOT_STAND_IN_LOG": str(log)})
    lines = re.findall(r"convolution channels (.*)", log.read_text())
    orders = {f"data={order} filter={order} result={order}": 0 for order in ["first", "last"]}
    for line in lines:
        orders[line] += 1
    # Three functions, each with both orders of a convolution and its gradients.
    check(set(orders.values()) == {9}, f"{orders}")
    check("violation" not in log.read_text(), "a call is wrong")


def write_network(ingot):
    """Layers with GELU by tanh and ReLU; the model and data for it."""
    rng = np.random.default_rng(0)
    sizes = [24, 32, 16, 8]
    tensors, nodes = [], []
    for i, (inputs, outputs) in enumerate(zip(sizes, sizes[1:])):
        for name, value in [(f"w{i}", rng.normal(0, 0.3, (inputs, outputs))), (f"b{i}", rng.normal(0, 0.3, outputs))]:
            tensors.append(onnx.numpy_helper.from_array(value.astype(np.float32), name))
        last = i + 2 == len(sizes)
        nodes.append(oh.make_node("MatMul", [f"y{i}" if i else "x", f"w{i}"], [f"p{i}"]))
        nodes.append(oh.make_node("Add", [f"p{i}", f"b{i}"], ["y" if last else f"z{i}"]))
    nodes.insert(2, oh.make_node("Gelu", ["z0"], ["y1"], approximate="tanh"))
    nodes.insert(5, oh.make_node("Relu", ["z1"], ["y2"]))
    value = oh.make_tensor_value_info
    graph = oh.make_graph(nodes, "network", [value("x", 1, ["n", 24])], [value("y", 1, ["n", 8])], tensors)
    model, data = ingot.path("network.onnx"), ingot.path("data.npz")
    onnx.save(oh.make_model(graph, opset_imports=[oh.make_opsetid("", 20)], ir_version=10), model)
    np.savez(data, x=rng.normal(size=(64, 24)).astype(np.float32), labels=rng.integers(0, 8, 64))
    return model, data


@case("cuda products have the library's epilogues")
def library_epilogues(ingot):
    _, _, stand_ins = trainer(ingot)
    model, data = write_network(ingot)
    flags = ["--loss", "cross-entropy", "--batch", "16", "--precision", "bf16", "--target", "cuda"]
    program = ingot.compile(model, *flags)

    def run(**settings):
        log = ingot.path("calls.txt")
        env = {**stand_ins, "INGOT_STAND_IN_LOG": str(log), **settings}
        result = ingot.succeed([program, "--data", data, "--steps", "4"], env=env)
        lines = log.read_text().splitlines()
        broken = [line for line in lines if line.startswith("violation")]
        check(not broken, f"calls: {broken[:3]}")
        begin, end = (next(i for i, line in enumerate(lines) if line.startswith(name)) for name in GRAPH_CALLS_OF_RECORDING)
        launches = [line for line in lines[:begin] if line.startswith(("cuLaunchKernel", "cublasLtMatmul "))]
        check(launches == lines[begin + 1 : end], "the recording differs from the first step")
        return launches, result.err

    # GELU with bias and what it is computed from, ReLU with bias, GELU's derivative.
    wanted = [4 | 32 | 128, 4 | 2, 64 | 128]
    with_epilogues, said = run()
    found = [int(n) for n in re.findall(r"epilogue=(\d+)", "\n".join(with_epilogues)) if n != "1"]
    check(found == wanted, f"epilogues {found}, want {wanted}")
    check("cuBLASLt has no" not in said, said)
    # A library without them: the product, then a kernel, and a line that says so.
    without, said = run(INGOT_STAND_IN_NO_EPILOGUES="1")
    check(len(without) == len(with_epilogues) + 3, f"{len(without)} launches, with epilogues {len(with_epilogues)}")
    at = 0
    for line in with_epilogues:
        name = line.split()[0]
        check(without[at].split()[0] == name, f"{without[at]} in place of {line}")
        at += 1
        if name == "cublasLtMatmul":
            check("epilogue=1 " in without[at - 1], f"{without[at - 1]}")
        if "epilogue=" in line and "epilogue=1 " not in line:
            check(without[at].startswith("cuLaunchKernel"), f"{without[at]} after a product without its epilogue")
            at += 1
    for words in ("bias and gelu:", "bias and relu:", "gelu's gradient:"):
        check(said.count(words) == 1, f"not said once: {words} in {said}")
    # One that finds out when it runs.
    late, said = run(INGOT_STAND_IN_NO_EPILOGUES="2")
    check(late == without, f"{late} in place of {without}")
    check(said.count("cuBLASLt has no") == 3, said)


@case("cuda algorithms of products are tried and kept")
def tuning(ingot):
    mlp, program, stand_ins = trainer(ingot)

    def run(*flags, **settings):
        log = ingot.path("calls.txt")
        env = {**stand_ins, "INGOT_STAND_IN_LOG": str(log), **settings}
        result = ingot.succeed([program, "--data", mlp.data, "--steps", "3", *flags], env=env)
        lines = log.read_text().splitlines()
        check(not [line for line in lines if line.startswith("violation")], "violations")
        check("cublasLtDestroy objects=0" in lines and lines[-1].endswith("objects=0 blocks=0"), f"left: {lines[-1]}")
        recorded = lines[lines.index("cuStreamBeginCapture") :]
        check("cuEventElapsedTime" not in recorded, "products are timed in the recording")
        chosen = {re.search(r"algorithm=(\d)", line)[1] for line in recorded if line.startswith("cublasLtMatmul ")}
        return chosen, lines.count("cuEventElapsedTime"), result.err

    chosen, timings, _ = run()
    check(chosen == {"1"} and timings == 0, f"without being asked: algorithms {chosen}, {timings} timings")
    # Five times of each algorithm: the second is the fastest.
    kept = ingot.path("kept") / "choices.txt"
    chosen, timings, _ = run(f"--tune={kept}", INGOT_STAND_IN_TIMES="555552222244444")
    check(chosen == {"2"} and timings > 0 and timings % 15 == 0, f"algorithms {chosen}, {timings} timings")
    chosen, timings, _ = run(f"--tune={kept}")
    check(chosen == {"2"} and timings == 0, f"with the file: algorithms {chosen}, {timings} timings")
    # Of a run, the fastest time counts.
    chosen, _, _ = run(f"--tune={ingot.path('other.txt')}", INGOT_STAND_IN_TIMES="555553333395919")
    check(chosen == {"3"}, f"algorithms {chosen}")
    # Other machines' choices, and what is none, are no choices.
    text = kept.read_text()
    for broken in [text.replace("stand-in", "another"), text.replace("000000000000002", "00000000000000z"), "", "junk\n" + text]:
        kept.write_text(broken)
        chosen, timings, _ = run(f"--tune={kept}")
        check(chosen == {"1"} and timings > 0, f"algorithms {chosen}, {timings} timings from {broken[:80]!r}")
    # One that the library does not know is not run.
    kept.write_text(text.replace("0000000000000002", "0000000000000009"))
    chosen, timings, _ = run(f"--tune={kept}")
    check(chosen == {"1"} and timings > 0, f"an unknown algorithm: {chosen}, {timings} timings")
    home = ingot.path("home")
    chosen, _, said = run("--tune", XDG_CACHE_HOME=str(home))
    check((home / "ingot/tuned.txt").exists(), f"no file in the cache: {said}")
    blocked = ingot.path("file")
    blocked.write_text("")
    _, _, said = run(f"--tune={blocked / 'choices.txt'}")
    check(said.count("is not kept") == 1, said)


@case("cuda launches are tried and kept")
def launches(ingot):
    mlp, program, stand_ins = trainer(ingot)
    kept = ingot.path("choices.txt")
    # Two and more blocks for one multiprocessor.
    env = {**stand_ins, "INGOT_STAND_IN_MULTIPROCESSORS": "1"}

    def run(steps):
        """Blocks of the launches of each kernel, and of those in the recording; how often is timed."""
        log = ingot.path("calls.txt")
        ingot.succeed([program, "--data", mlp.data, "--steps", steps, f"--tune={kept}"],
                      env={**env, "INGOT_STAND_IN_LOG": str(log)})
        lines = log.read_text().splitlines()
        check(not [line for line in lines if line.startswith("violation")], "violations")
        check(lines[-1].endswith("objects=0 blocks=0"), f"left: {lines[-1]}")
        at, end = lines.index("cuStreamBeginCapture"), lines.index("cuStreamEndCapture")
        grids = {}
        for line in lines[:at]:
            if found := re.match(r"cuLaunchKernel (\S+) grid=(\d+)", line):
                grids.setdefault(found[1], []).append(int(found[2]))
        recorded = {}
        for line in lines[at:end]:
            if found := re.match(r"cuLaunchKernel (\S+) grid=(\d+)", line):
                recorded.setdefault(found[1], []).append(int(found[2]))
        return grids, recorded, lines.count("cuEventElapsedTime")

    grids, recorded, timings = run(24)
    tried = {name: used for name, used in grids.items() if len(set(used)) > 1}
    check(tried and timings > 0, f"nothing is tried: {grids}")
    for name, used in tried.items():
        full, launches = max(used), len(recorded[name])
        expected = [full] + [blocks for blocks in (32, 16, 8, 4, 2) if blocks < full]
        # Each three times, one a step; then what was chosen, until all are.
        for turns in (used[i::launches] for i in range(launches)):
            check(turns[: 3 * len(expected)] == 3 * expected, f"{name}: {turns}")
            check(set(turns[3 * len(expected) :]) <= {full}, f"{name}: {turns}")
        check(set(recorded[name]) == {full}, f"{name}: {recorded[name]}")
    # Sums take the blocks that their order is of.
    check(len(tried) < len(grids), "every kernel runs in any number of blocks")
    # What the file says is launched from the first step on.
    lines = [line.rsplit("\t", 1)[0] + "\t2" if "\tblocks of " in line else line for line in kept.read_text().splitlines()]
    kept.write_text("\n".join(lines) + "\n")
    grids, recorded, timings = run(3)
    check(timings == 0, f"{timings} timings with the file")
    check(all(set(grids[name]) == {2} == set(recorded[name]) for name in tried), f"{grids}")
    cpu = ingot.compile(mlp.model, *mlp.compile_flags("adamw"))
    ingot.check_error([cpu, "--data", mlp.data, "--steps", 1, "--tune"], 2, "--tune")
