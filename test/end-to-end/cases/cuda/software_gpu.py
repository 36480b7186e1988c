# SPDX-License-Identifier: Apache-2.0
"""Trainers on a GPU in software (tools/software-gpu), which runs their PTX and computes what
the libraries do: they train as on a CPU, whatever the order of what nothing orders."""

import json
import shutil

import numpy
import onnx
from fakes import trainer
from harness import DIGITS, ROOT, Skip, case, check, check_relative, golden

# Losses may differ from the CPU's by this share, by precision.
TOLERANCE = {"fp32": 1e-5, "bf16": 1e-2, "fp16": 3e-3, "fp8": 1e-3}


def software(program, *flags, seed=0, gpus=1, device="h100"):
    return [ROOT / "tools/software-gpu", "--device", device, "--seed", seed, "--gpus", gpus, program, *flags]


def environment(ingot, log):
    return {"INGOT_FAKES": str(ingot.bin.parent / "lib/fakes"), "INGOT_FAKE_LOG": str(log)}


def losses(ingot, command, *, on_gpu=True, calls=None, settings=None):
    """The losses of a run in which no rule is broken; `calls` is written with what it called."""
    log, calls = ingot.path("log.jsonl"), calls or ingot.path("calls.txt")
    ingot.succeed([*command, "--log", log], env={**environment(ingot, calls), **(settings or {})})
    if on_gpu:
        lines = calls.read_text().splitlines()
        check(any(line.startswith("cuLaunchKernel") for line in lines), "no kernel was launched")
        broken = [line for line in lines if line.startswith(("violation", "fault"))]
        check(not broken, f"{broken[:3]}")
    return [json.loads(line)["loss"] for line in log.read_text().splitlines() if '"loss"' in line]


def compare(ingot, model, data, *flags, precision="fp32", steps=5, seeds=(0, 1)):
    """On both targets; on the GPU with the same bits for each order and without the graph."""
    on_cpu = ingot.compile(model, *flags, "--precision", precision)
    on_gpu = ingot.compile(model, *flags, "--precision", precision, "--target", "cuda")
    run = ["--data", data, "--steps", steps, "--seed", 1]
    expected = losses(ingot, [on_cpu, *run], on_gpu=False)
    check(len(expected) == steps, f"{len(expected)} losses")
    first = None
    for seed in seeds:
        got = losses(ingot, software(on_gpu, *run, seed=seed))
        check_relative(f"{precision}, order {seed}", got, expected, TOLERANCE[precision])
        check(first in (None, got), f"the order of what nothing orders changes the losses: {first}, {got}")
        first = got
    return on_cpu, on_gpu


@case("cuda software gpu: a network trains as on a CPU")
def mlp(ingot):
    trainer(ingot)
    net = golden("mlp")
    for precision in ("fp32", "bf16", "fp16"):
        compare(
            ingot, net.model, net.data, *net.compile_flags("adamw"), precision=precision, steps=6, seeds=(0, 1, 2, 3)
        )


@case("cuda software gpu: convolutions train as on a CPU")
def digits(ingot):
    trainer(ingot)
    for precision in ("fp32", "bf16", "fp16"):
        compare(
            ingot,
            DIGITS / "digits.onnx",
            DIGITS / "train.npz",
            "--loss",
            "cross-entropy",
            "--batch",
            "32",
            precision=precision,
        )


@case("cuda software gpu: batch statistics of one pass leave a network the losses of PyTorch")
def statistics(ingot):
    """The bounds are those of CPUs, which read the elements twice."""
    trainer(ingot)
    net = golden("cnn")
    for optimizer, want in net.runs.items():
        program = ingot.compile(net.model, *net.compile_flags(optimizer), "--target", "cuda")
        run = ["--data", net.data, "--no-shuffle", *want["flags"], "--steps", 50]
        got = losses(ingot, software(program, *run))
        check_relative(optimizer, got[:10], want["losses"][:10], 1e-4)
        check_relative(optimizer, got, want["losses"], 1e-3)


@case("cuda software gpu: the last iterations of padded classes have masks, and losses are those of a CPU")
def padded(ingot):
    """The machine makes it worth while to pad 20,001 classes for a matmul as small as this one."""
    trainer(ingot)
    draw, classes = numpy.random.default_rng(0), 20001
    model, data, machine = ingot.path("wide.onnx"), ingot.path("wide.npz"), ingot.path("machine.json")
    weights = {"w": draw.normal(scale=0.1, size=(32, classes)), "b": numpy.zeros(classes)}
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("Gemm", ["x", *weights], ["y"], name="head")],
        "wide",
        [onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["batch", 32])],
        [onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, ["batch", classes])],
        [onnx.numpy_helper.from_array(values.astype("f"), name) for name, values in weights.items()],
    )
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 21)], ir_version=10), model)
    numpy.savez(data, x=draw.normal(size=(64, 32)).astype("f"), labels=draw.integers(0, classes, 64))
    settings = json.loads((ROOT / "passes/targets/cuda/machines/h100.json").read_text())
    settings |= {"launch_seconds": 1e-9, "memory_bandwidth": 1e17, "matmul_bf16": 1e12}
    machine.write_text(json.dumps({name: value for name, value in settings.items() if name != "sources"}))
    flags = ["--loss", "cross-entropy", "--batch", "16", "--precision", "bf16"]
    on_cpu = ingot.compile(model, *flags)
    remarks = ingot.path("remarks.yaml")
    on_gpu = ingot.compile(model, *flags, "--target", "cuda", "--machine", machine, "--remarks", remarks)
    check("split-masked-loops" in remarks.read_text(), "no loop was split")
    run = ["--data", data, "--steps", 3, "--seed", 1]
    expected = losses(ingot, [on_cpu, *run], on_gpu=False)
    check_relative("losses", losses(ingot, software(on_gpu, *run)), expected, TOLERANCE["bf16"])


@case("cuda software gpu: a checkpoint passes from a GPU to a CPU and back")
def resume(ingot):
    trainer(ingot)
    net = golden("mlp")
    on_cpu = ingot.compile(net.model, *net.compile_flags("adamw"))
    on_gpu = ingot.compile(net.model, *net.compile_flags("adamw"), "--target", "cuda")
    data = ["--data", net.data, "--seed", 1]
    expected = losses(ingot, [on_cpu, *data, "--steps", 9], on_gpu=False)
    saved, again = ingot.path("saved"), ingot.path("again")
    got = losses(ingot, software(on_gpu, *data, "--steps", 3, "--save", saved))
    got += losses(ingot, [on_cpu, *data, "--steps", 6, "--resume", saved, "--save", again], on_gpu=False)
    got += losses(ingot, software(on_gpu, *data, "--steps", 9, "--resume", again))
    check_relative("resumed", got, expected, TOLERANCE["fp32"])


@case("cuda software gpu: the kernels of ops give what the interpreter gives")
def kernels(ingot):
    _, _, env = trainer(ingot)
    folder = ingot.path("log.txt").parent
    files = [
        ROOT / "test/interpret" / f"{name}.mlir"
        for name in [
            "attention/attention-low",
            "attention/packed-attention-low",
            "collective/all-reduce-wait",
            "contraction/library-epilogue",
            "contraction/library-epilogue-gradients",
            "convolution/conv-filter-grad",
            "elementwise/functions/sin",
            "elementwise/functions/sqrt",
            "normalization/softmax",
            "shape/gather",
        ]
    ]
    ingot.succeed([ingot.bin / "ingot-gpu-cases", *files, "-o", folder])
    functions = 0
    for path in sorted(folder.glob("*.o")):
        library = path.with_suffix(".so")
        ingot.succeed(["ld.lld-22", "-shared", "-o", library, path])
        log = path.with_suffix(".calls")
        result = ingot.run(software(ingot.bin / "ingot-gpu-run", library), env=environment(ingot, log))
        lines = [json.loads(line) for line in result.out.splitlines()]
        wrong = [line for line in lines if not line["ok"]]
        check(result.status == 0 and not wrong, f"{library.name}: {wrong[:2]} {result.err}")
        check("violation" not in log.read_text(), f"{library.name}: a call is wrong")
        functions += len(lines)
    check(functions > 60, f"{functions} functions")


@case("cuda software gpu: what runs concurrently with other operations of a step changes no loss")
def sides(ingot):
    trainer(ingot)
    # Launches that take no time are reason enough for each region that is possible.
    machine = ingot.path("machine.json")
    machine.write_text(json.dumps({"launch_seconds": 1e-12}))
    net = golden("mlp")
    for model, data, flags in (
        (net.model, net.data, net.compile_flags("adamw")),
        (DIGITS / "digits.onnx", DIGITS / "train.npz", ["--loss", "cross-entropy", "--batch", "16"]),
    ):
        for precision in ("fp32", "bf16"):
            together = [*flags, "--target", "cuda", "--precision", precision]
            on_gpu = ingot.compile(model, *together, "--machine", machine)
            placed = ingot.path("placed.mlir")
            ingot.succeed(ingot.ingotc(model, *together, "--machine", machine, "--emit", "exec", "-o", placed))
            regions = placed.read_text().count("@ingot_side_start")
            check(regions > 1, f"{regions} regions")
            run = ["--data", data, "--steps", 4, "--seed", 1]
            # Without the graph, regions run in their place.
            expected = losses(ingot, software(on_gpu, *run), settings={"INGOT_CUDA_GRAPH": "0"})
            for seed in range(6):
                got = losses(ingot, software(on_gpu, *run, seed=seed))
                check(got == expected, f"order {seed}: {got}, in one stream {expected}")


@case("cuda software gpu: what runs concurrently with steps, and other ways to launch them, changes no loss")
def options(ingot):
    trainer(ingot)
    net = golden("mlp")
    flags = [*net.compile_flags("adamw"), "--grad-accumulation", "2"]
    _, on_gpu = compare(ingot, net.model, net.data, *flags, steps=4, seeds=(1,))
    run = ["--data", net.data, "--seed", 1, "--steps", 4]
    expected = losses(ingot, software(on_gpu, *run))
    for extra in (
        ["--eval-data", net.data, "--eval-every", 2],
        ["--profile", ingot.path("profile.json")],
        ["--watch", "stats"],
        [f"--tune={ingot.path('tuned.txt')}"],
    ):
        check(losses(ingot, software(on_gpu, *run, *extra, seed=1)) == expected, f"{extra[0]} changes losses")


@case("cuda software gpu: ranks on GPUs train as ranks on CPUs")
def ranks(ingot):
    trainer(ingot)
    net = golden("mlp")
    for zero, precision in (("0", "bf16"), ("1", "fp32"), ("2", "fp32")):
        flags = ["--data-parallel", "--bucket-mb", "0.01", "--precision", precision]
        flags += ["--zero", zero] if zero != "0" else []
        compare_ranks(ingot, 2, net, net.compile_flags("adamw"), flags, TOLERANCE[precision])


@case("cuda software gpu: meshes of GPUs train as meshes of CPUs")
def meshes(ingot):
    trainer(ingot)
    net = golden("mlp")
    parts = ["--partition", "net.0.weight=0:tensor"]
    for count, precision, flags in (
        (2, "fp32", ["--mesh", "tensor=2", *parts, "--partition", "net.4.weight=0:tensor", "--clip"]),
        (4, "bf16", ["--mesh", "tensor=2", *parts, "--zero", "2"]),
    ):
        flags = ["--bucket-mb", "0.01", "--precision", precision, *flags]
        compare_ranks(ingot, count, net, net.compile_flags("adamw"), flags, TOLERANCE[precision])


def compare_ranks(ingot, count, net, common, flags, tolerance):
    """The losses of ranks on GPUs and on CPUs."""
    if not shutil.which("mpirun"):
        raise Skip("mpirun is not there")
    logs = [ingot.path("log.jsonl") for _ in range(2)]
    run = f"--data {net.data} --steps 5 --seed 1 --log"
    calls = ingot.path("calls")
    on_cpu = ingot.compile(net.model, *common, *flags)
    on_gpu = ingot.compile(net.model, *common, *flags, "--target", "cuda")
    scripts = [
        f"exec {on_cpu} {run} {logs[0]}",
        f"INGOT_FAKE_LOG={calls}.$OMPI_COMM_WORLD_RANK exec {ROOT}/tools/software-gpu --gpus {count} "
        f"--seed $OMPI_COMM_WORLD_RANK {on_gpu} {run} {logs[1]}",
    ]
    fakes = {"INGOT_FAKES": str(ingot.bin.parent / "lib/fakes"), "OMP_NUM_THREADS": "1"}
    for script in scripts:
        command = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", count, "bash", "-c", script]
        ingot.succeed(command, env=fakes)
    expected, got = ([json.loads(line)["loss"] for line in log.read_text().splitlines()] for log in logs)
    what = f"{count} ranks, {flags}"
    check_relative(what, got, expected, tolerance)
    for rank in range(count):
        text = calls.with_name(f"calls.{rank}").read_text()
        check("violation" not in text and "fault" not in text, f"{what}: rank {rank}: a call is wrong")


@case("cuda software gpu: registered memory changes no loss")
def registered(ingot):
    if not shutil.which("mpirun"):
        raise Skip("mpirun is not there")
    trainer(ingot)
    net = golden("mlp")
    ways = (
        ("ncclCommWindowRegister", {}),
        ("ncclCommRegister", {"INGOT_FAKE_NO_WINDOWS": "1"}),
        ("ncclMemAlloc", {"INGOT_FAKE_NO_WINDOWS": "1", "INGOT_FAKE_FAIL": "ncclCommRegister"}),
        ("ncclCommRegister", {"INGOT_FAKE_FAIL": "ncclMemAlloc"}),
    )
    for ranks, zero in ((1, "0"), (2, "0"), (2, "2")):
        flags = [*net.compile_flags("adamw"), "--data-parallel", "--bucket-mb", "0.01", "--target", "cuda"]
        on_gpu = ingot.compile(net.model, *flags, *(["--zero", zero] if zero != "0" else []))
        first = None
        for seed, (function, settings) in enumerate(ways):
            log, calls = ingot.path("log.jsonl"), ingot.path("calls")
            script = (
                f"INGOT_FAKE_LOG={calls}.$OMPI_COMM_WORLD_RANK exec {ROOT}/tools/software-gpu --gpus {ranks} "
                f"--seed $(({seed} + OMPI_COMM_WORLD_RANK)) {on_gpu} --data {net.data} --steps 5 --seed 1 --log {log}"
            )
            command = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", ranks, "bash", "-c", script]
            fakes = {"INGOT_FAKES": str(ingot.bin.parent / "lib/fakes"), "OMP_NUM_THREADS": "1"}
            ingot.succeed(command, env={**fakes, **settings})
            got = [json.loads(line)["loss"] for line in log.read_text().splitlines()]
            check(first in (None, got), f"{ranks} ranks, zero {zero}, {settings}: {got}, {first} before")
            first = got
            for rank in range(ranks):
                lines = calls.with_name(f"calls.{rank}").read_text().splitlines()
                check(not [line for line in lines if line.startswith(("violation", "fault"))], f"rank {rank} is wrong")
                called = [line.split()[0] for line in lines]
                check((function in called) == (ranks > 1), f"{ranks} ranks, {settings}: {function}")
