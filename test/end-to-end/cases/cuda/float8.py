# SPDX-License-Identifier: Apache-2.0
"""Training in 8-bit floats on a GPU in software: tensors and scales in memory, multiplied as cuBLASLt documents it,
against the CPU's trainer, which rounds to the same numbers."""

import sys

from cases.cuda.software_gpu import environment, losses, software
from fakes import trainer
from harness import ROOT, case, check, check_relative

BYTES = ROOT / "docs/examples/bytes"
# What a last bit of bf16 makes of the losses of a few steps.
TOLERANCE = 1e-3
# cudaDataType of f8E4M3FN and f8E5M2.
E4M3, E5M2 = 28, 29


def prepare(ingot):
    data = ingot.path("train.bin")
    ingot.succeed([sys.executable, BYTES / "tokens.py", data, ROOT / "LICENSE"])
    return data, ["--loss", "cross-entropy:2", "--batch", "2", "--precision", "fp8"]


def count_products(calls):
    """The matmuls that were called, by the types of the library's A and B."""
    counts = {}
    for line in calls.read_text().splitlines():
        if line.startswith("cublasLtMatmul ") and "operands=" in line:
            types = tuple(int(part) for part in line.rsplit("operands=", 1)[1].split(","))
            counts[types] = counts.get(types, 0) + 1
    return counts


def compare(ingot, scaling, arch, device, gradients):
    trainer(ingot)
    data, flags = prepare(ingot)
    flags = [*flags, "--fp8-scaling", scaling]
    run = ["--data", data, "--steps", 4, "--seed", 1]
    expected = losses(ingot, [ingot.compile(BYTES / "bytes.onnx", *flags), *run], on_gpu=False)
    on_gpu = ingot.compile(BYTES / "bytes.onnx", *flags, "--target", "cuda", "--arch", arch)
    first = None
    for seed in (0, 1):
        calls = ingot.path("calls.txt")
        got = losses(ingot, software(on_gpu, *run, seed=seed, device=device), calls=calls)
        check_relative(f"{scaling}, order {seed}", got, expected, TOLERANCE)
        check(first in (None, got), f"the order of what nothing orders changes the losses: {first}, {got}")
        first = got
    counts = count_products(calls)
    check(counts.get((E4M3, E4M3), 0) > 0, f"no forward matmul in 8 bits: {counts}")
    backward = counts.get((E4M3, E5M2), 0) + counts.get((E5M2, E4M3), 0)
    check((backward > 0) == gradients, f"gradients: {counts}")


@case("cuda fp8: scales of this step give the CPU's losses")
def current(ingot):
    compare(ingot, "current", "sm_90", "h100", gradients=True)


@case("cuda fp8: scales of whole matrices need no attribute that older versions of cuBLASLt lack")
def older(ingot):
    trainer(ingot)
    data, flags = prepare(ingot)
    on_gpu = ingot.compile(BYTES / "bytes.onnx", *flags, "--fp8-scaling", "current", "--target", "cuda")
    env = environment(ingot, ingot.path("calls.txt")) | {"INGOT_FAKE_BLASLT_VERSION": "120304"}
    ingot.succeed(software(on_gpu, "--data", data, "--steps", 1), env=env)


@case("cuda fp8: scales of 128 elements give the CPU's losses")
def block(ingot):
    compare(ingot, "block", "sm_90", "h100", gradients=False)


@case("cuda fp8: MXFP8 on a B200 gives the CPU's losses")
def mx(ingot):
    compare(ingot, "mx", "sm_100", "b200", gradients=False)


@case("cuda fp8: a B200 multiplies matrices as they are stored")
def blackwell(ingot):
    compare(ingot, "current", "sm_100", "b200", gradients=True)


@case("cuda fp8: delayed scales pass from a GPU to a CPU and back")
def delayed(ingot):
    compare(ingot, "delayed", "sm_90", "h100", gradients=True)
    data, flags = prepare(ingot)
    flags = [*flags, "--fp8-scaling", "delayed"]
    on_cpu = ingot.compile(BYTES / "bytes.onnx", *flags)
    on_gpu = ingot.compile(BYTES / "bytes.onnx", *flags, "--target", "cuda")
    run = ["--data", data, "--seed", 1]
    expected = losses(ingot, [on_cpu, *run, "--steps", 6], on_gpu=False)
    saved, again = ingot.path("saved"), ingot.path("again")
    got = losses(ingot, software(on_gpu, *run, "--steps", 2, "--save", saved))
    got += losses(ingot, [on_cpu, *run, "--steps", 4, "--resume", saved, "--save", again], on_gpu=False)
    got += losses(ingot, software(on_gpu, *run, "--steps", 6, "--resume", again))
    check_relative("resumed", got, expected, TOLERANCE)
