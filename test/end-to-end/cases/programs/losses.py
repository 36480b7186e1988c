# SPDX-License-Identifier: Apache-2.0
"""What a loss is computed from: the axis of classes, labels, and inputs that trainers can feed."""

import numpy as np
import onnx
from harness import case, check, golden
from onnx import TensorProto, helper

SEGMENTATION = golden("segmentation")


def save(ingot, nodes, inputs, outputs, initializers):
    path = ingot.path("m.onnx")
    graph = helper.make_graph(nodes, "g", inputs, outputs, initializers)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)
    return path


def floats(name, shape):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


def tokens(name, shape):
    return helper.make_tensor_value_info(name, TensorProto.INT64, shape)


def weight(name, *shape):
    values = np.random.default_rng(0).standard_normal(shape, dtype=np.float32)
    return helper.make_tensor(name, TensorProto.FLOAT, shape, values.ravel())


def language_model(ingot, length, vocabulary):
    nodes = [helper.make_node("Gather", ["e", "t"], ["h"]), helper.make_node("MatMul", ["h", "w"], ["y"])]
    return save(
        ingot, nodes, [tokens("t", ["n", length])], [floats("y", ["n", length, vocabulary])],
        [weight("e", vocabulary, 3), weight("w", 3, vocabulary)],
    )  # fmt: skip


@case("loss-axis-of-images")
def axis_of_images(ingot):
    """[N, 3, H, W] to [N, C, H, W]: axis 1, as in PyTorch, and said so."""
    g = SEGMENTATION
    flags = ["--optimizer", "adamw", "--batch", str(g.batch)]
    trainer = ingot.path("trainer")
    said = ingot.succeed(ingot.ingotc(g.model, "-o", trainer, "--loss", "cross-entropy", *flags)).err
    check("note: --loss: cross-entropy over axis 1 of " in said, f"said {said!r}")
    named = ingot.compile(g.model, "--loss", "cross-entropy:1", *flags)
    runs = [ingot.train(t, "--data", g.data, "--no-shuffle", "--steps", "4")[0] for t in (trainer, named)]
    check([s["loss"] for s in runs[0]] == [s["loss"] for s in runs[1]], "losses differ")
    # Labels that belong to another axis say which.
    other = ingot.compile(g.model, "--loss", "cross-entropy:3", *flags)
    error = ingot.check_error([other, "--data", g.data, "--steps", "1"], 3, "labels", "the model's input").err
    check("compile with --loss cross-entropy:1, instead of cross-entropy:3" in error.splitlines()[-1], error)


@case("loss-axis-of-tokens")
def axis_of_tokens(ingot):
    """[N, T] to [N, T, V]: the last axis; where T = V, the user is asked."""
    trainer = ingot.path("trainer")
    flags = ["--loss", "cross-entropy", "--batch", "4"]
    said = ingot.succeed(ingot.ingotc(language_model(ingot, 5, 7), "-o", trainer, *flags)).err
    check("cross-entropy over axis 2 of 'y'" in said, f"said {said!r}")
    square = language_model(ingot, 6, 6)
    error = ingot.check_error(ingot.ingotc(square, "-o", ingot.path("t"), *flags), 2, "--loss", "axes 1 and 2").err
    check("cross-entropy:1" in error and "cross-entropy:2" in error, error)
    for axis in ("1", "2"):
        said = ingot.succeed(ingot.ingotc(square, "-o", ingot.path("t"), "--loss", f"cross-entropy:{axis}", *flags[2:]))
        check(said.err == "", f"said {said.err!r}")


def linear(ingot, shape, outputs=("y",), features=4):
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"]), helper.make_node("ReduceMean", ["y"], ["m"], keepdims=0)]
    values = {"y": floats("y", None), "m": floats("m", [])}
    return save(ingot, nodes, [floats("x", shape)], [values[o] for o in outputs], [weight("w", 4, features)])


@case("loss-without-classes")
def without_classes(ingot):
    trainer = ingot.path("trainer")
    flags = ["-o", trainer, "--batch", "4", "--loss"]
    model = linear(ingot, ["n", 4])
    ingot.check_error(ingot.ingotc(model, *flags, "cross-entropy:0"), 2, "--loss", "axis 0", "counts the samples")
    model = linear(ingot, ["n", 4], features=1)
    error = ingot.check_error(ingot.ingotc(model, *flags, "cross-entropy"), 2, "--loss", "one class").err
    check("bce-with-logits" in error.splitlines()[-1], error)


@case("loss-missing")
def missing(ingot):
    """Outputs that could be the loss are named."""
    model = linear(ingot, ["n", 4], outputs=("y", "m"))
    error = ingot.check_error(ingot.ingotc(model, "-o", ingot.path("t"), "--batch", "4"), 2, "--loss", "'y', 'm'").err
    check("--loss output:m" in error.splitlines()[-1], error)
    ingot.compile(model, "--batch", "4", "--loss", "output:m")


@case("inputs-that-cannot-be-fed")
def inputs_that_cannot_be_fed(ingot):
    """Refused by the compiler: no trainer of such a model could start."""
    flags = ["-o", ingot.path("trainer"), "--loss", "output:m"]
    scalar = save(
        ingot,
        [helper.make_node("Mul", ["x", "w"], ["y"]), helper.make_node("ReduceSum", ["y"], ["m"], keepdims=0)],
        [floats("x", [])], [floats("m", [])], [weight("w", 4)],
    )  # fmt: skip
    ingot.check_error(ingot.ingotc(scalar, *flags), 3, "m.onnx", "'x' is a scalar")
    nothing = save(
        ingot, [helper.make_node("ReduceSum", ["w"], ["m"], keepdims=0)], [], [floats("m", [])], [weight("w", 4)]
    )
    ingot.check_error(ingot.ingotc(nothing, *flags), 3, "m.onnx", "no input")
    nodes = [
        helper.make_node("MatMul", ["x", "v"], ["y"]),
        helper.make_node("Mul", ["y", "w"], ["z"]),
        helper.make_node("ReduceSum", ["z"], ["m"], keepdims=0),
    ]
    empty = helper.make_tensor("v", TensorProto.FLOAT, [0, 4], [])
    featureless = save(ingot, nodes, [floats("x", ["n", 0])], [floats("m", [])], [empty, weight("w", 4)])
    ingot.check_error(ingot.ingotc(featureless, *flags, "--batch", "4"), 3, "m.onnx", "'x' has no elements")
    # The mean over all samples is one number, which has no labels per sample.
    model = linear(ingot, ["n", 4], outputs=("m",))
    ingot.check_error(ingot.ingotc(model, *flags[:2], "--batch", "4", "--loss", "mse"), 2, "--loss", "labels", "scalar")
