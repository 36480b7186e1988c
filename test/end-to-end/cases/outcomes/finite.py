# SPDX-License-Identifier: Apache-2.0
"""Weights that are not finite leave a trainer by no door."""

import numpy as np
import onnx
from harness import case, check, golden, initializers
from onnx import TensorProto, helper, numpy_helper


def model(ingot, nodes, weights):
    """A model of x [n, 1] that computes its loss."""
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 1])],
        [helper.make_tensor_value_info("loss", TensorProto.FLOAT, [])],
        [numpy_helper.from_array(np.asarray(value, np.float32), name) for name, value in weights.items()],
    )
    path = ingot.path("m.onnx")
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), path)
    return path


def root(ingot):
    """The loss is finite at w = 0, and its gradient 0 times infinity."""
    nodes = [
        helper.make_node("Sqrt", ["w"], ["q"]),
        helper.make_node("Mul", ["q", "z"], ["p"]),
        helper.make_node("ReduceSum", ["p"], ["s"], keepdims=0),
        helper.make_node("ReduceMean", ["x"], ["m"], keepdims=0),
        helper.make_node("Mul", ["s", "m"], ["loss"]),
    ]
    path = model(ingot, nodes, {"w": [0, 4], "z": [0, 1]})
    return ingot.compile(path, "--loss", "output:loss", "--batch", "2", "--freeze", "^z$", "--optimizer", "sgd")


def shifted(ingot, values):
    """A weight is added to x, and an infinity of the model has no part in the loss."""
    nodes = [
        helper.make_node("Add", ["x", "w"], ["y"]),
        helper.make_node("Max", ["y", "floor"], ["z"]),
        helper.make_node("ReduceMean", ["z"], ["loss"], keepdims=0),
    ]
    path = model(ingot, nodes, {"w": values, "floor": [-np.inf]})
    return ingot.compile(path, "--loss", "output:loss", "--batch", "2", "--freeze", "^floor$", "--optimizer", "sgd")


def data(ingot):
    path = ingot.path("data.npz")
    np.savez(path, x=np.ones((4, 1), np.float32))
    return path


@case("weights-not-finite")
def last_step(ingot):
    """After the last step: an error that names them, and no file has them."""
    trainer, samples = root(ingot), data(ingot)
    out, folder, predicted = ingot.path("out.onnx"), ingot.path("save"), ingot.path("p.npz")
    out.write_text("an earlier one")
    base = [trainer, "--data", samples, "--steps", "1"]
    outputs = ["--export", out, "--save", folder, "--predict", predicted]
    result = ingot.check_error(
        [*base, "--eval-data", samples, *outputs, "--best", "eval_loss"], 1, "step 1", "w (1 of 2 values)"
    )
    check("step 1  eval_loss nan" in result.err, result.err)
    check(out.read_text() == "an earlier one" and not predicted.exists(), "an output was written")
    check(not list(folder.glob("step-*")) and not (folder / "best").exists(), f"saved {list(folder.iterdir())}")
    # In the middle of a run, what writes a checkpoint looks at it while training goes on.
    every = ingot.path("every")
    result = ingot.run([trainer, "--data", samples, "--steps", "2", "--save", every, "--save-every", "1"])
    check(
        result.status == 1 and "--save: step 1: the weights are not finite: w (1 of 2 values)" in result.err, result.err
    )
    check(not list(every.glob("step-*")), f"saved {list(every.iterdir())}")
    # Another rate does not help this gradient, and going back says so in the end.
    ingot.check_error([*base, "--nan", "rollback", "--save", ingot.path("back")], 1, "step 1", "w (1 of 2 values)")


@case("weights-not-finite-from-files")
def from_files(ingot):
    """Weights that come from a file leave no better than they came."""
    trainer, samples = shifted(ingot, [0.5]), data(ingot)
    good, bad = ingot.path("good.onnx"), ingot.path("bad.safetensors")
    # The model's own infinity is no reason.
    ingot.succeed([trainer, "--data", samples, "--steps", "2", "--export", good])
    weights = initializers(good)
    check(np.isneginf(weights["floor"]).all() and np.isfinite(weights["w"]).all(), f"{weights}")
    for value, number in (("nan", np.nan), ("inf", np.inf)):
        header = b'{"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}'
        bad.write_bytes(len(header).to_bytes(8, "little") + header + np.float32(number).tobytes())
        for out, flag in ((ingot.path("out.onnx"), "--export"), (ingot.path("out.safetensors"), "--export"),
                          (ingot.path("p.npz"), "--predict")):  # fmt: skip
            flags = ["--eval-data", samples] if flag == "--predict" else []
            result = ingot.check_error(
                [trainer, "--init", bad, "--steps", "0", *flags, flag, out], 1, str(out), "w (1 of 1 values)"
            )
            check(not out.exists(), f"{value}: {out} was written: {result.err}")


@case("evaluations-not-finite")
def evaluated(ingot):
    """A loss that is no number is explained once: by a sample, by labels that do not count, or by its size."""
    trainer, samples, evaluation = shifted(ingot, [0.5]), data(ingot), ingot.path("eval.npz")
    x = np.ones((7, 1), np.float32)
    x[5] = np.nan
    np.savez(evaluation, x=x)
    words = "warning: --eval-data: the loss is not finite: sample 5 has NaN in 'x'"
    for flags in (["--evaluate"], ["--data", samples, "--steps", "4", "--eval-every", "1"]):
        said = ingot.succeed([trainer, "--eval-data", evaluation, *flags]).err
        check(said.count(words) == 1 and said.count("eval_loss nan") in (1, 4), said)
    x[:] = 3e38
    np.savez(evaluation, x=x)
    said = ingot.succeed([trainer, "--eval-data", evaluation, "--evaluate"]).err
    check("warning: evaluation: the loss is not finite, though the samples are\n" in said, said)
    g = golden("mlp")
    with np.load(g.data) as source:
        arrays = {name: source[name] for name in source}
    arrays["labels"] = np.full_like(arrays["labels"], -100)
    np.savez(evaluation, **arrays)
    trainer = ingot.compile(g.model, *g.compile_flags("adamw"))
    said = ingot.succeed([trainer, "--eval-data", evaluation, "--evaluate"]).err
    check("each label is one that the loss ignores" in said, said)
