# SPDX-License-Identifier: Apache-2.0
"""Generated matmuls for sm_90a on a GPU in software: products and epilogues of random shapes in all layouts give
what the interpreter gives, and trainers train with them. INGOT_OWN_MATMULS sets how many shapes are drawn."""

import json
import os
import random
import struct
import sys

from cases.cuda.software_gpu import TOLERANCE, environment, losses, software
from fakes import trainer
from harness import ROOT, case, check, check_relative

OWN = ("--matmul-kernels", "own", "--arch", "sm_90a")

# Elementwise work on the product %p of type T, with rows of N columns; R is a tensor of the same shape, V a row.
EPILOGUES = {
    "none": "",
    "bias": """
  %v32 = ingot.cast %v : tensor<{n}x{t}> -> tensor<{n}xf32>
  %row = ingot.broadcast %v32 dims = [{last}] : tensor<{n}xf32> -> {wide}
  %y32 = ingot.add %p32, %row : {wide}
""",
    "residual": """
  %half = ingot.constant dense<0.5> : {wide}
  %scaled = ingot.mul %p32, %half : {wide}
  %r32 = ingot.cast %r : {type} -> {wide}
  %y32 = ingot.add %scaled, %r32 : {wide}
""",
    "erf": """
  %v32 = ingot.cast %v : tensor<{n}x{t}> -> tensor<{n}xf32>
  %row = ingot.broadcast %v32 dims = [{last}] : tensor<{n}xf32> -> {wide}
  %x = ingot.add %p32, %row : {wide}
  %s = ingot.constant dense<0.70703125> : {wide}
  %one = ingot.constant dense<1.0> : {wide}
  %xs = ingot.mul %x, %s : {wide}
  %e = ingot.erf %xs : {wide}
  %e1 = ingot.add %e, %one : {wide}
  %y32 = ingot.mul %x, %e1 : {wide}
""",
    "gate": """
  %r32 = ingot.cast %r : {type} -> {wide}
  %g = ingot.logistic %p32 : {wide}
  %y32 = ingot.mul %g, %r32 : {wide}
""",
}


def make_function(rng, number):
    """A function with constants, whose sums are exact in fp32 in any order."""
    name = rng.choice(sorted(EPILOGUES))
    t = rng.choice(["bf16", "f16"])
    transposed = [rng.random() < 0.5, rng.random() < 0.5]
    # With more than six parts of 64, stages are loaded again.
    deep = number % 3 == 0
    m, n = (rng.randrange(1, 20 if deep else 40) * 8 + rng.choice([0, 0, 3]) for _ in range(2))
    k = rng.randrange(50, 90) * 8 if deep else rng.randrange(1, 26) * 8
    # Rows of the operands are multiples of 16 bytes: others are the library's.
    if transposed[0]:
        m = (m + 7) // 8 * 8
    if not transposed[1]:
        n = (n + 7) // 8 * 8
    batch = rng.choice([(), (), (3,)])

    def tensor(shape, element=t):
        return f"tensor<{'x'.join(map(str, [*shape, element]))}>"

    def constant(value, shape):
        count = 1
        for size in shape:
            count *= size
        # Eighths from -1 to 1: as f32 their upper half is bf16, and as f16 they are 11 bits.
        words = bytearray()
        for _ in range(count):
            number = rng.randrange(-8, 9) / 8
            words += struct.pack("<e", number) if t == "f16" else struct.pack("<f", number)[2:]
        return f'  %{value} = ingot.constant dense<"0x{words.hex().upper()}"> : {tensor(shape)}\n'

    lhs = [*batch, k, m] if transposed[0] else [*batch, m, k]
    rhs = [*batch, n, k] if transposed[1] else [*batch, k, n]
    result = [*batch, m, n]
    words = [" transposed" if each else "" for each in transposed]
    body = constant("a", lhs) + constant("b", rhs)
    epilogue = EPILOGUES[name]
    if "%v " in epilogue or "%v:" in epilogue:
        body += constant("v", [n])
    if "%r " in epilogue:
        body += constant("r", result)
    wide = tensor(result, "f32")
    body += f"  %p = ingot.matmul %a{words[0]}, %b{words[1]} : ({tensor(lhs)}, {tensor(rhs)}) -> {tensor(result)}\n"
    value = "%p"
    if epilogue:
        body += f"  %p32 = ingot.cast %p : {tensor(result)} -> {wide}\n"
        body += epilogue.format(n=n, t=t, last=len(result) - 1, wide=wide, type=tensor(result))
        body += f"  %y = ingot.cast %y32 : {wide} -> {tensor(result)}\n"
        value = "%y"
    head = f"func.func @test_{number}_{name}() -> {tensor(result)}"
    return f"{head} {{\n{body}  return {value} : {tensor(result)}\n}}\n"


def run_cases(ingot, folder):
    """Runs what ingot-gpu-cases has made; returns how many functions there are."""
    functions = 0
    for path in sorted(folder.glob("*.o")):
        library, log = path.with_suffix(".so"), path.with_suffix(".calls")
        ingot.succeed(["ld.lld-22", "-shared", "-o", library, path])
        result = ingot.run(
            software(ingot.bin / "ingot-gpu-run", library, seed=1), env=environment(ingot, log), timeout=3600
        )
        lines = [json.loads(line) for line in result.out.splitlines()]
        wrong = [line for line in lines if not line["ok"]]
        check(result.status == 0 and not wrong, f"{library.name}: {wrong[:2]} {result.err[-500:]}")
        calls = log.read_text().splitlines()
        broken = [line for line in calls if line.startswith(("violation", "fault"))]
        check(not broken, f"{library.name}: {broken[:2]}")
        functions += len(lines)
    return functions


@case("cuda software gpu: generated matmuls give what the interpreter gives")
def shapes(ingot):
    trainer(ingot)
    count = int(os.environ.get("INGOT_OWN_MATMULS", "12"))
    folder = ingot.path("cases")
    folder.mkdir()
    rng = random.Random(7)
    module = folder / "matmuls.mlir"
    module.write_text("".join(make_function(rng, number) for number in range(count)))
    ingot.succeed([ingot.bin / "ingot-gpu-cases", module, *OWN, "-o", folder], timeout=3600)
    # Without fusion there are no generated matmuls.
    (folder / "matmuls-O0.o").unlink()
    functions = run_cases(ingot, folder)
    check(functions == count, f"{functions} functions")
    calls = (folder / "matmuls-O2.calls").read_text()
    check("cuTensorMapEncodeTiled" in calls, "no generated matmul ran")
    check("cublasLtMatmul " not in calls, "the library multiplied")


@case("cuda software gpu: random graphs with generated matmuls give what the interpreter gives")
def graphs(ingot):
    trainer(ingot)
    count = int(os.environ.get("INGOT_RANDOM_GRAPHS", "6"))
    folder = ingot.path("graphs")
    folder.mkdir()
    flags = ["--random", count, "--precision", "bf16", "-o", folder]
    ingot.succeed([ingot.bin / "ingot-gpu-cases", *flags, *OWN], timeout=3600)
    check(run_cases(ingot, folder) == count, "not all graphs ran")


@case("cuda software gpu: a language model trains with generated matmuls")
def language_model(ingot):
    trainer(ingot)
    data, model = ingot.path("train.bin"), ROOT / "docs/examples/bytes/bytes.onnx"
    ingot.succeed([sys.executable, model.parent / "tokens.py", data, ROOT / "LICENSE"])
    flags = ["--loss", "cross-entropy", "--batch", "2", "--precision", "bf16"]
    # Few multiprocessors, so that blocks compute several tiles, and launches that cost nothing, so that matmuls are in
    # regions of the second stream beside updates that read their results.
    machine = ingot.path("machine.json")
    machine.write_text('{"multiprocessors": 2, "launch_seconds": 1e-9}')
    run = ["--data", data, "--steps", 2, "--seed", 1]
    expected = losses(ingot, [ingot.compile(model, *flags), *run], on_gpu=False)
    on_gpu = ingot.compile(model, *flags, "--target", "cuda", *OWN, "--machine", machine)
    first = None
    for seed in (0, 1):
        got = losses(ingot, software(on_gpu, *run, seed=seed))
        check_relative(f"order {seed}", got, expected, TOLERANCE["bf16"])
        check(first in (None, got), f"the order of what nothing orders changes the losses: {first}, {got}")
        first = got
    calls = ingot.path("maps.txt")
    ingot.succeed(software(on_gpu, "--data", data, "--steps", 2), env=environment(ingot, calls))
    check("cuTensorMapEncodeTiled" in calls.read_text(), "no generated matmul ran")
    # Regions run in a stream of lower priority than the others.
    made = [line.split()[1] for line in calls.read_text().splitlines() if line.startswith("cuStreamCreate")]
    check(made == ["-5", "-5", "0"], f"priorities of streams: {made}")
    # Code for sm_90a runs nowhere else.
    command = [ROOT / "tools/software-gpu", "--device", "b200", on_gpu, *run]
    result = ingot.run(command, env=environment(ingot, ingot.path("other.txt")))
    check(result.status == 1 and "the trainer was compiled for sm_90a" in result.err, result.err)
