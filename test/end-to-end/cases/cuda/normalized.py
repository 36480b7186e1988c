# SPDX-License-Identifier: Apache-2.0
"""Convolutions that normalize their input and sum up their result, on a GPU in software
(docs/design/gpu/normalized-convolutions.md)."""

import re

import numpy as np
import onnx
from cases.cuda.software_gpu import TOLERANCE, compare, environment, losses, software
from fakes import trainer
from harness import DIGITS, case, check, check_relative
from onnx import helper, numpy_helper

FLAGS = ["--loss", "cross-entropy", "--batch", "16"]


def residual_net(path):
    """A residual block of three convolutions and a shortcut, each with batch normalization, for the digits. The first
    convolution has one channel, which the library does not normalize."""
    rng = np.random.default_rng(0)
    nodes, weights = [], []

    def weight(name, values):
        weights.append(numpy_helper.from_array(np.asarray(values, dtype=np.float32), name))
        return name

    def convolve(name, source, channels, result, size, relu=True):
        filters = rng.standard_normal((result, channels, size, size)) * (2 / (channels * size * size)) ** 0.5
        pads = [size // 2] * 4
        nodes.append(helper.make_node("Conv", [source, weight(f"{name}.w", filters)], [f"{name}.c"], pads=pads))
        vectors = [weight(f"{name}.{i}", np.full(result, value)) for i, value in enumerate((1, 0.1, 0, 1))]
        outputs = [f"{name}.n", f"{name}.mean", f"{name}.variance"]
        nodes.append(helper.make_node("BatchNormalization", [f"{name}.c", *vectors], outputs, training_mode=1))
        if relu:
            nodes.append(helper.make_node("Relu", [f"{name}.n"], [f"{name}.r"]))
        return f"{name}.r" if relu else f"{name}.n"

    stem = convolve("stem", "image", 1, 8, 3)
    x = convolve("first", stem, 8, 8, 1)
    x = convolve("second", x, 8, 16, 3)
    x = convolve("third", x, 16, 16, 1, relu=False)
    shortcut = convolve("shortcut", stem, 8, 16, 1, relu=False)
    nodes += [
        helper.make_node("Add", [x, shortcut], ["sum"]),
        helper.make_node("Relu", ["sum"], ["block"]),
        helper.make_node("GlobalAveragePool", ["block"], ["pooled"]),
        helper.make_node("Flatten", ["pooled"], ["flat"]),
        helper.make_node(
            "Gemm",
            ["flat", weight("fc.w", rng.standard_normal((16, 10)) * 0.3), weight("fc.b", np.zeros(10))],
            ["logits"],
        ),
    ]
    graph = helper.make_graph(
        nodes,
        "residual",
        [helper.make_tensor_value_info("image", onnx.TensorProto.FLOAT, ["batch", 1, 8, 8])],
        [helper.make_tensor_value_info("logits", onnx.TensorProto.FLOAT, ["batch", 10])],
        weights,
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def count_fused(calls):
    """The convolutions with normalizations of the recorded step, and all of them."""
    lines = calls.read_text().splitlines()
    recorded = lines[lines.index("cuStreamBeginCapture") : lines.index("cuStreamEndCapture")]
    all_of_them = [line for line in recorded if line.startswith("cudnnBackendExecute")]
    return sum(line.endswith(" fused") for line in all_of_them), len(all_of_them)


@case("cuda software gpu: convolutions that normalize train as on a CPU")
def training(ingot):
    trainer(ingot)
    model = residual_net(ingot.path("residual.onnx"))
    for arch, device in (("sm_90", "h100"), ("sm_80", "a100")):
        flags = [*FLAGS, "--precision", "fp16", "--target", "cuda", "--arch", arch]
        on_gpu = ingot.compile(model, *flags, "--conv-fusion", "auto")
        apart = ingot.compile(model, *flags)
        on_cpu = ingot.compile(model, *FLAGS, "--precision", "fp16")
        run = ["--data", DIGITS / "train.npz", "--steps", 8, "--seed", 1]
        expected = losses(ingot, [on_cpu, *run], on_gpu=False)
        check(expected[-1] < 0.97 * expected[0], f"nothing is learned: {expected}")
        calls = ingot.path("calls.txt")
        without = losses(ingot, software(apart, *run, device=device), calls=calls)
        check(count_fused(calls) == (0, 14), f"without fusion: {count_fused(calls)}")
        check_relative("without fusion", without, expected, TOLERANCE["fp16"])
        different = []
        for seed in range(3):
            calls = ingot.path("calls.txt")
            got = losses(ingot, software(on_gpu, *run, seed=seed, device=device), calls=calls)
            # All but the stem's, and the gradients by the inputs.
            check(count_fused(calls) == (8, 14), f"{arch}: {count_fused(calls)}")
            check_relative(f"{arch}, order {seed}", got, expected, TOLERANCE["fp16"])
            different += [got] if got not in different else []
        again = losses(ingot, software(apart, *run, seed=1, device=device))
        check(again == without, f"the order changes the losses without fusion: {without}, {again}")
        check(len(different) > 1, "sums of channels have one order, unlike on an H100")


@case("cuda software gpu: bf16 convolutions normalize nothing")
def bf16(ingot):
    trainer(ingot)
    model = residual_net(ingot.path("residual.onnx"))
    flags = [*FLAGS, "--conv-fusion", "auto"]
    _, on_gpu = compare(ingot, model, DIGITS / "train.npz", *flags, precision="bf16", steps=3, seeds=(0,))
    calls = ingot.path("calls.txt")
    losses(ingot, software(on_gpu, "--data", DIGITS / "train.npz", "--steps", 3), calls=calls)
    check(count_fused(calls)[0] == 0, f"{count_fused(calls)}")


@case("cuda software gpu: a GPU without convolutions that normalize is named with what to do")
def refused(ingot):
    trainer(ingot)
    model = residual_net(ingot.path("residual.onnx"))
    program = ingot.compile(model, *FLAGS, "--precision", "fp16", "--target", "cuda", "--conv-fusion", "auto")
    command = software(program, "--data", DIGITS / "train.npz", "--steps", 3, device="b200")
    result = ingot.run(command, env=environment(ingot, ingot.path("calls.txt")))
    check(result.status == 1 and "with its normalizations" in result.err, f"{result.status}: {result.err}")
    check("--conv-fusion off" in result.err, result.err)


@case("cuda the plan of a step knows what convolutions that normalize save")
def planned(ingot):
    model = residual_net(ingot.path("residual.onnx"))
    flags = [*FLAGS[:2], "--batch", "8192", "--precision", "fp16", "--target", "cuda"]
    traffic = {}
    for fusion in ("auto", "off"):
        command = ingot.ingotc(model, *flags, "--conv-fusion", fusion)
        report = ingot.path("remarks.yaml")
        ingot.succeed([*command, "--emit", "exec", "-o", ingot.path("x"), "--remarks", report])
        check(("Normalization" in report.read_text()) == (fusion == "auto"), report.read_text()[:2000])
        plan = ingot.succeed([*command, "--plan-gpu", "h100"]).out
        traffic[fusion] = float(re.search(r"([\d.]+) MB of memory traffic", plan)[1])
    check(traffic["auto"] < 0.9 * traffic["off"], f"MB of memory traffic: {traffic}")
