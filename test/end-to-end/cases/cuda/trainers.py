# SPDX-License-Identifier: Apache-2.0
"""Trainers for GPUs: what is asked of the driver, and in which order (fakes.py);
the kernels themselves are tested in the emulator."""

import ctypes
import itertools
import json
import re

import numpy as np
from fakes import GRAPH_CALLS, recorded, trainer
from harness import ROOT, case, check, golden, initializers, read_log

BYTES = ROOT / "docs/examples/bytes/bytes.onnx"


@case("cuda a step is one graph launch after the second")
def one_launch(ingot):
    names, log = recorded(ingot, "--tune=off", steps=5)
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
        check(
            order
            == [
                "cuMemcpyDtoHAsync",
                "cuEventRecord",
                "cuEventSynchronize",
                "cuStreamWaitEvent",
                "cuMemcpyHtoDAsync",
                "cuEventRecord",
                "cuStreamWaitEvent",
                "cuMemcpyDtoDAsync",
                "cuEventRecord",
            ],
            f"steady step: {order}",
        )
        copies = {
            name: [line[2] for line in step if line[0] == f"cuMemcpy{name}Async"] for name in ("DtoH", "HtoD", "DtoD")
        }
        check(set(copies["DtoH"] + copies["DtoD"]) == {runs}, f"copies beside the step: {copies}")
        check(len(copies["HtoD"]) == 1 and copies["HtoD"] != [runs], f"inputs: {copies}")
        check(len(copies["DtoD"]) < 8, f"{len(copies['DtoD'])} copies of inputs")


@case("cuda a run names its ranges for tools of NVTX")
def nvtx_ranges(ingot):
    tool = ingot.bin.parent / "lib/fakes/libingot_fake_nvtx.so"
    flags = ["--save", ingot.path("ck"), "--save-every", 2]
    _, log = recorded(ingot, *flags, env={"NVTX_INJECTION64_PATH": str(tool)})
    ranges = [line.split(maxsplit=3) for line in log.splitlines() if line.startswith("nvtxRangePush")]
    check({domain for _, domain, _, _ in ranges} == {"domain=ingot"}, "ranges are in another domain")
    names = [(depth.removeprefix("depth="), name.removeprefix("name=")) for _, _, depth, name in ranges]
    for name, depth, count in [("step", "0", 4), ("wait for data", "1", 4), ("train_step", "1", 4)]:
        check(names.count((depth, name)) == count, f"{name}: {names}")
    check(("0", "checkpoint") in names, f"no range of a checkpoint: {names}")
    # Those of the first run and of the one that is recorded; later ones are a launch.
    matmuls = [name for depth, name in names if depth == "2" and name.endswith("(matmul)")]
    check(len(matmuls) > 4, f"kernels without ranges: {names}")
    check(log.count("nvtxRangePop") == len(ranges), "ranges stay open")
    # Without a tool, nothing is said.
    _, log = recorded(ingot)
    check("nvtx" not in log, "ranges without a tool")


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
    for compiled, flags in [
        ([], ["--schedule", "cosine"]),
        (["--precision", "bf16"], []),
        (["--precision", "fp16"], []),
    ]:
        _, log = recorded(ingot, *flags, compiled=compiled, steps=steps)
        check(launches_ahead(log) == [1] * (steps - 2) + [0], f"{compiled}: {launches_ahead(log)}")
        check(
            "cuStreamSynchronize" not in log[log.index("cuGraphLaunch") : log.rindex("cuGraphLaunch")], "waits for all"
        )
    # What schedules count is known once a step has not been skipped.
    _, log = recorded(ingot, "--schedule", "cosine", compiled=["--precision", "fp16"], steps=steps)
    check(set(launches_ahead(log)) == {0}, f"{launches_ahead(log)}")


@case("cuda logs and stops are those of a processor")
def logs(ingot):
    mlp, program, env = trainer(ingot)
    log, broken = ingot.path("log.jsonl"), ingot.path("broken")
    run = [program, "--data", mlp.data, "--log", log]
    ingot.succeed(
        [
            *run,
            "--steps",
            7,
            "--eval-data",
            mlp.data,
            "--eval-every",
            3,
            "--save",
            ingot.path("saved"),
            "--save-every",
            2,
        ],
        env=env,
    )
    order = [(line["step"], "eval_loss" in line) for line in map(json.loads, log.read_text().splitlines())]
    expected = [(step, which) for step in range(1, 8) for which in (False, True) if not which or step in (3, 6, 7)]
    check(order == expected, f"{order}")
    # Steps before one that cannot be started are there.
    ingot.check_error(
        [*run, "--steps", 6], 1, "recording the step", env={**env, "INGOT_FAKE_FAIL": "cuStreamBeginCapture"}
    )
    check(len(read_log(log)[0]) == 1, "the log lacks a step")
    # A loss that is not finite is noticed with one more step under way, and before a checkpoint holds it.
    for flags, launched in [([], 4), (["--save", broken, "--save-every", 1], 3)]:
        calls = ingot.path("calls.txt")
        calls.unlink(missing_ok=True)
        ingot.check_error(
            [*run, "--steps", 9, *flags],
            1,
            "step 4",
            "the loss is not a number",
            env={**env, "INGOT_FAKE_NAN": "3", "INGOT_FAKE_LOG": str(calls)},
        )
        steps, _ = read_log(log)
        check(len(steps) == 4 and steps[3]["loss"] is None, f"{steps}")
        check(
            calls.read_text().count("cuGraphLaunch") == launched, f"{calls.read_text().count('cuGraphLaunch')} launches"
        )
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


def profiled(ingot, *flags, env=None):
    """The calls of a profiled run, how it was timed, and the slices of kernels."""
    trace = ingot.path("trace.json")
    names, _ = recorded(ingot, "--profile", trace, *flags, env=env)
    written = json.loads(trace.read_text())
    kernels = [event for event in written["traceEvents"] if "kernel" in event.get("args", {})]
    return names, written["otherData"]["times"], kernels


@case("cuda profiles see the kernels of recorded steps where CUPTI is")
def recorded_profile(ingot):
    names, times, kernels = profiled(ingot, "--profile-steps", "2:0:2")
    check(names.count("cuGraphLaunch") == 3 and "recorded steps, by libcupti.so.13" in times, f"{times}")
    check(len({event["args"]["kernel"] for event in kernels}) > 5, f"{len(kernels)} kernels")
    check(all(event["args"]["device_function"].startswith("kernel_") for event in kernels), f"{kernels[0]}")
    # Each kernel once in each of the two steps.
    counts = {}
    for event in kernels:
        counts[event["args"]["kernel"]] = counts.get(event["args"]["kernel"], 0) + 1
    check(set(counts.values()) == {2}, f"{counts}")
    check("cuptiUnsubscribe" in names, "CUPTI goes on watching")
    # And as often where they are launched one by one.
    names, _, alone = profiled(ingot, "--profile-steps", "2:0:2", env={"INGOT_CUDA_GRAPH": "0"})
    check(not GRAPH_CALLS & set(names), "a graph in spite of the variable")
    kernels = sorted(event["args"]["kernel"] for event in kernels)
    check(kernels == sorted(event["args"]["kernel"] for event in alone), f"{len(kernels)} and {len(alone)} kernels")


@case("cuda profiles and watches launch one by one elsewhere")
def plain_launches(ingot):
    for env, reason in (
        ({"INGOT_FAKE_FAIL": "cuptiSubscribe"}, "watching the run: as the test wants"),
        ({"INGOT_FAKE_FAIL": "cuptiActivityEnable"}, "watching kernels: as the test wants"),
        # One that sees nothing is given up.
        ({"INGOT_FAKE_BLIND": "1"}, "are not known here"),
    ):
        names, times, kernels = profiled(ingot, env=env)
        check(not GRAPH_CALLS & set(names), f"{env}: a profile records a graph")
        check("one by one, by events" in times and reason in times, f"{env}: {times}")
        check(len(kernels) > 10, f"{env}: {len(kernels)} kernels")
    names, _ = recorded(ingot, "--watch", "nan")
    check(not GRAPH_CALLS & set(names), "a watch records a graph")


@case("cuda state comes back for checkpoints and export")
def state_comes_back(ingot):
    mlp, program, env = trainer(ingot)
    saved, exported = ingot.path("saved"), ingot.path("trained.onnx")
    # Fakes compute nothing, so that the state stays as it was.
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
    smallest = re.search(
        r"smallest possible is (\d+)",
        ingot.run(
            ingot.ingotc(
                mlp.model,
                *mlp.compile_flags("adamw"),
                "--target",
                "cuda",
                "--memory-budget",
                1000,
                "-o",
                ingot.path("small"),
            )
        ).err,
    )
    program = ingot.compile(mlp.model, *mlp.compile_flags("adamw"), "--target", "cuda", "--memory-budget", smallest[1])
    planned = json.loads(ingot.succeed([program, "--inspect=json"]).out)["peak_bytes"]
    check(planned <= int(smallest[1]), f"{planned} bytes, with a budget of {smallest[1]}")


@case("cuda budgets hold with partial sums and payloads")
def planned_scratch(ingot):
    flags = ["--loss", "cross-entropy", "--target", "cuda", "--data-parallel", "--grad-comm", "int8"]
    placed = ingot.path("placed.mlir")
    ingot.succeed(ingot.ingotc(BYTES, *flags, "--batch", 4, "--emit", "exec", "-o", placed))
    text = placed.read_text()
    for call in ["exec.launch", "exec.call @ingot_all_reduce_start"]:
        planned = re.search(rf"{re.escape(call)}[^\n]*scratch = #exec.scratch<[1-9]", text)
        check(planned, f"no {call} of the model works in planned memory")
    program = ingot.compile(BYTES, *flags, "--batch", 4)
    peak = json.loads(ingot.succeed([program, "--inspect=json"]).out)["peak_bytes"]
    budget = peak - peak // 50
    small = ingot.compile(BYTES, *flags, "--batch", 4, "--memory-budget", budget)
    fitted = json.loads(ingot.succeed([small, "--inspect=json"]).out)["peak_bytes"]
    check(fitted <= budget, f"{fitted} bytes are planned, with a budget of {budget}")
    trainer_path = ingot.path("fitted")
    said = ingot.succeed(ingot.ingotc(BYTES, *flags, "--fit", peak, "-o", trainer_path)).out
    found = re.search(r"batch (\d+): (\d+) bytes at the peak", said)
    check(found and int(found[1]) >= 4 and int(found[2]) <= peak, f"--fit {peak} says {said!r}")


@case("cuda what is wrong with the machine")
def wrong_machine(ingot):
    mlp, program, env = trainer(ingot)
    run = [program, "--data", mlp.data, "--steps", 1, "--tune=off"]
    ingot.succeed([program, "--help"])
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        ingot.check_error(run, 1, "libcuda.so.1")
    for setting, words in [
        ({"INGOT_FAKE_FAIL": "cuInit"}, ["no GPU", "CUDA_ERROR_NO_DEVICE"]),
        ({"INGOT_FAKE_VERSION": "11080"}, ["driver", "11.8", "12"]),
        ({"INGOT_FAKE_VERSION": "12040"}, ["libcublasLt.so.12 was not found"]),
        ({"INGOT_FAKE_ARCH": "75"}, ["sm_75", "sm_90"]),
        ({"INGOT_FAKE_MEMORY": "100000"}, ["GPU memory", "free"]),
        ({"INGOT_FAKE_FAIL": "cublasLtCreate"}, ["cuBLASLt"]),
        ({"INGOT_FAKE_FAIL": "cublasLtMatmulAlgoGetHeuristic"}, ["matmul", "algorithm"]),
        ({"INGOT_FAKE_FAIL": "cuLaunchKernel"}, ["train_step"]),
        ({"INGOT_FAKE_FAIL": "cuEventSynchronize"}, ["CUDA", "running on the GPU"]),
    ]:
        ingot.check_error(run, 1, *words, env={**env, **setting})


@case("cuda other architectures take the text")
def later_architecture(ingot):
    _, log = recorded(ingot, env={"INGOT_FAKE_ARCH": "100"})
    loads = re.findall(r"cuModuleLoadDataEx (\w+)", log)
    check(loads == ["cubin", "ptx"], f"loads {loads}")


@case("cuda architectures from Ampere to Blackwell")
def architectures(ingot):
    mlp = golden("mlp")
    for arch in ("sm_80", "sm_89", "sm_90", "sm_90a", "sm_100", "sm_103", "sm_120"):
        path = ingot.path(f"{arch}.ptx")
        flags = mlp.compile_flags("adamw")
        ingot.succeed(ingot.ingotc(mlp.model, "-o", path, *flags, "--target", "cuda", "--arch", arch, "--emit", "ptx"))
        check(f".target {arch}" in path.read_text(), f"no text for {arch}")


@case("cuda exponentials and roundings by instructions of GPUs")
def functions(ingot):
    mlp = golden("mlp")

    def compile_text(*flags):
        path = ingot.path("code.ptx")
        flags = [*mlp.compile_flags("adamw"), "--precision", "bf16", "--target", "cuda", "--emit", "ptx", *flags]
        ingot.succeed(ingot.ingotc(mlp.model, "-o", path, *flags))
        return path.read_text()

    text = compile_text()
    check("ex2.approx.ftz.f32" in text and "cvt.rn.bf16" in text, "polynomials, or integers that round")
    text = compile_text("--exact-math")
    check("ex2.approx" not in text and "cvt.rn.bf16" in text, "approximations with --exact-math")


@case("cuda wrong options")
def wrong_options(ingot):
    mlp = golden("mlp")
    model = [mlp.model, "-o", ingot.path("trainer"), *mlp.compile_flags("adamw")]
    ingot.check_error(ingot.ingotc(*model, "--target", "cuda", "--arch", "sm_70"), 2, "--arch")
    ingot.check_error(ingot.ingotc(*model, "--target", "cuda", "--arch", "znver4"), 2, "--arch")
    ingot.check_error(ingot.ingotc(*model, "--emit", "ptx"), 2, "--emit")


@case("cuda a rank uses the GPU that its launcher names")
def launchers(ingot):
    for variable in ("OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "LOCAL_RANK", "SLURM_LOCALID"):
        _, log = recorded(ingot, env={variable: "1", "INGOT_FAKE_GPUS": "2"}, steps=1)
        check("cuDeviceGet 1" in log, f"{variable} is not read")
    # A launcher may leave each rank one GPU to see.
    _, log = recorded(ingot, env={"SLURM_LOCALID": "1", "CUDA_VISIBLE_DEVICES": "3"}, steps=1)
    check("cuDeviceGet 0" in log, "the only GPU is not used")
