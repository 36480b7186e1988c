# SPDX-License-Identifier: Apache-2.0
"""Calls of the driver and of CUDA's libraries that fail, each one in a run of its own: the run ends in one error line
with a hint, and leaves no file half written."""

import collections

from cases.cuda.libraries import attention_trainer
from cases.cuda.software_gpu import environment, software
from fakes import run_ranks, trainer
from harness import case, check, golden


def check_failure(result, what, saved, ranks=1):
    """Every rank may say what it saw."""
    lines = result.err.splitlines()
    errors = [i for i, line in enumerate(lines) if line.startswith("error: ")]
    check(result.status == 1 and 1 <= len(errors) <= ranks, f"{what}: exit {result.status}: {result.err!r}")
    hints = [i for i, line in enumerate(lines) if line.startswith("hint: ")]
    check(len(hints) == len(errors), f"{what}: {result.err!r}")
    left = [str(path) for path in saved.parent.rglob("*.tmp-*")]
    check(not left, f"{what}: {left} is left")


def fail_each(ingot, command, env, names, saved, ranks=1):
    """Lets each function fail at its first call, its fourth and so on, until a run makes fewer. Returns how often."""
    failed = 0
    for name in names:
        number, failures = 1, 0
        while number < 1 << 16:
            result = ingot.run(command, env={**env, "INGOT_FAKE_FAIL": f"{name}:{number}"})
            if result.status == 0:
                break
            check_failure(result, f"{name}:{number}", saved, ranks)
            number, failures = 4 * number, failures + 1
        check(failures > 0, f"{name} does not fail")
        failed += failures
    return failed


@case("cuda software gpu: any call that fails ends a run in one line")
def failures(ingot):
    _, program, _ = trainer(ingot)
    net, calls, saved = golden("mlp"), ingot.path("calls.txt"), ingot.path("saved")
    run = software(program, "--data", net.data, "--steps", 9, "--tune=off", "--save", saved, "--overwrite", seed=1)
    env = environment(ingot, calls)
    ingot.succeed(run, env=env)
    counts = collections.Counter(line.split()[0] for line in calls.read_text().splitlines())
    # What is asked before the GPU is known, and what cleans up, cannot fail here.
    able = [
        "cuInit",
        "cuDevicePrimaryCtxRetain",
        "cuMemAlloc",
        "cuMemHostAlloc",
        "cuMemsetD8Async",
        "cuMemcpyHtoDAsync",
        "cuMemcpyDtoHAsync",
        "cuMemcpyDtoDAsync",
        "cuStreamCreateWithPriority",
        "cuStreamSynchronize",
        "cuStreamBeginCapture",
        "cuStreamEndCapture",
        "cuGraphInstantiateWithFlags",
        "cuGraphLaunch",
        "cuEventSynchronize",
        "cuLaunchKernel",
        "cublasLtCreate",
        "cublasLtMatmul",
    ]
    tried = 0
    for name in able:
        count = counts[name]
        check(count > 0, f"{name} is never called")
        for number in sorted({1 + at * (count - 1) // 23 for at in range(24)}):
            # Of the last waits, those at the end of the process have nobody to tell.
            if name == "cuStreamSynchronize" and number > count - 2:
                continue
            result = ingot.run(run, env={"INGOT_FAKES": env["INGOT_FAKES"], "INGOT_FAKE_FAIL": f"{name}:{number}"})
            check_failure(result, f"{name}:{number}", saved)
            tried += 1
    check(tried >= 100, f"{tried} failures")


@case("cuda any call of attention that fails ends a run in one line")
def attention_failures(ingot):
    run, env = attention_trainer(ingot)
    saved = ingot.path("saved")
    libraries = [
        "cudnnCreate",
        "cudnnSetStream",
        "cudnnFinalizePlan",
        "cudnnBackendExecute",
        "cudaDeviceGetAttribute",
        "cudaStreamGetCaptureInfo",
        "cudaUserObjectCreate",
        "cudaGraphRetainUserObject",
        "cublasLtMatmulAlgoGetHeuristic",
        "cublasLtMatmulDescCreate",
        "cublasLtMatmulDescSetAttribute",
        "cublasLtMatmulPreferenceCreate",
        "cublasLtMatmulPreferenceSetAttribute",
        "cublasLtMatrixLayoutCreate",
        "cublasLtMatrixLayoutSetAttribute",
    ]
    failed = fail_each(ingot, [*run, "--save", saved, "--overwrite"], env, libraries, saved)
    check(failed >= 30, f"{failed} failures")


@case("cuda any call of the driver that fails ends a run in one line")
def driver_failures(ingot):
    net, program, env = trainer(ingot)
    saved = ingot.path("saved")
    run = [program, "--data", net.data, "--steps", 4, "--tune=off", "--save", saved, "--overwrite"]
    driver = [
        "cuDriverGetVersion",
        "cuDeviceGetCount",
        "cuDeviceGet",
        "cuDeviceGetName",
        "cuDeviceGetAttribute",
        "cuCtxSetCurrent",
        "cuMemGetInfo",
        "cuModuleGetFunction",
        "cuEventCreate",
        "cuEventRecord",
        "cuEventQuery",
        "cuStreamWaitEvent",
    ]
    failed = fail_each(ingot, run, env, driver, saved)
    timed = [*run, "--profile", ingot.path("profile.json")]
    failed += fail_each(ingot, timed, env, ["cuptiActivityFlushAll"], saved)
    failed += fail_each(ingot, timed, {**env, "INGOT_FAKE_BLIND": "1"}, ["cuEventElapsedTime"], saved)
    check(failed >= 20, f"{failed} failures")


@case("cuda what lacks memory outside of the plan says so")
def late_memory(ingot):
    mlp, program, env = trainer(ingot)
    run = [program, "--data", mlp.data, "--steps", "3"]
    for name in ("cuGraphInstantiateWithFlags", "cuLaunchKernel", "cublasLtMatmul"):
        result = ingot.run(run, env={**env, "INGOT_FAKE_FAIL": name, "INGOT_FAKE_LACK": "1"})
        check(result.status == 1, f"{name}: exit {result.status}")
        check("leave some memory of the GPU to CUDA's libraries" in result.err, f"{name}: {result.err}")
    result = ingot.run(run, env={**env, "INGOT_FAKE_FAIL": "cuGraphInstantiateWithFlags"})
    check("check the GPU with nvidia-smi" in result.err, result.err)


@case("cuda any exchange that fails ends all ranks")
def exchange_failures(ingot):
    saved = ingot.path("saved")
    failed = 0
    for zero, names in (
        ("0", ["ncclGetUniqueId", "ncclCommInitRank", "ncclAllReduce"]),
        ("2", ["ncclGroupStart", "ncclGroupEnd", "ncclReduceScatter", "ncclAllGather"]),
    ):
        flags = ["--zero", zero] if zero != "0" else []
        command, env, _ = run_ranks(
            ingot, 2, *flags, steps=4, trainer_flags=f"--save {saved} --overwrite", bucket="0.001"
        )
        failed += fail_each(ingot, command, env, names, saved, ranks=2)
    check(failed >= 12, f"{failed} failures")
