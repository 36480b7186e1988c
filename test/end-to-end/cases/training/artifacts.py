# SPDX-License-Identifier: Apache-2.0
"""Artifacts of ONNX Runtime training (ort_artifacts.py), against its losses."""

import numpy as np
import onnx
import onnxruntime
from harness import HERE, case, check, check_close, check_relative, initializers
from launch import losses

FOLDER = HERE / "ort"

# Flags that a set is compiled with.
FLAGS = {
    "perceptron": ["--batch", "4"],
    "convolutional": ["--batch", "4", "--grad-accumulation", "2"],
    "transformer": [],
    "selections": [],
    "binary": ["--batch", "4"],
    "absolute": ["--batch", "4"],
    "half": [],
    "recurrent": [],
    "gated": [],
    "pools": [],
}

# Half precision is compared with the same model in single precision.
TOLERANCE = {"half": 3e-3}


def files(name):
    folder = FOLDER / name
    return [
        folder / "training_model.onnx",
        "--checkpoint",
        folder / "checkpoint",
        "--optimizer-model",
        folder / "optimizer_model.onnx",
    ]


def train(ingot, name, *flags):
    """Trains as the golden was; returns the losses and what the trainer exported."""
    golden = np.load(FOLDER / name / "golden.npz")
    model, *rest = files(name)
    trainer = ingot.compile(model, *rest, *FLAGS[name], *flags)
    exported = ingot.path("exported.onnx")
    steps, _ = ingot.train(
        trainer,
        "--data",
        FOLDER / name / "golden.npz",
        "--no-shuffle",
        "--steps",
        len(golden["loss"]),
        "--lr",
        golden["lr"],
        "--export",
        exported,
    )
    return golden, [s["loss"] for s in steps], exported


def agrees(name):
    def run(ingot):
        golden, got, exported = train(ingot, name)
        tolerance = TOLERANCE.get(name, 1e-6)
        check_relative("loss", got, golden["loss"], tolerance)
        weights = initializers(exported)
        for key in golden.files:
            if key.startswith("final/"):
                check_close(key, weights[key[6:]], golden[key], max(1e-4, tolerance))

    return run


for name in FLAGS:
    case(f"ort-artifacts-{name}")(agrees(name))


def passes(name, flags, tolerance, *remarks):
    """An imported step goes through the passes that `remarks` are of, and trains to about the same losses."""

    def run(ingot):
        report = ingot.path("remarks.yaml")
        golden, got, _ = train(ingot, name, *flags, "--remarks", report)
        check_relative("loss", got, golden["loss"], tolerance)
        text = report.read_text()
        for kind, remark, least in remarks:
            pass_name, title = remark.split("/")
            count = text.count(f"--- !{kind}\nPass:            {pass_name}\nName:            {title}\n")
            check(count >= least, f"{count} remarks {kind} {remark}, expected {least}")

    return run


case("ort-artifacts-fused")(
    passes("transformer", [], 1e-6, ("Passed", "import-onnx/TrainingGraph", 1), ("Passed", "form-fusions/Fusion", 10))
)
case("ort-artifacts-bf16")(
    passes(
        "transformer",
        ["--precision", "bf16"],
        2e-2,
        ("Passed", "assign-precision/Precision", 10),
        ("Passed", "keep-low-copies/ComputeCopy", 1),
    )
)
case("ort-artifacts-fp16")(passes("transformer", ["--precision", "fp16"], 5e-3))
case("ort-artifacts-budget")(
    passes("transformer", ["--memory-budget", "85%"], 1e-6, ("Passed", "rematerialize/Recomputation", 2))
)
case("ort-artifacts-buckets")(
    passes("transformer", ["--data-parallel", "--bucket-mb", "0.001"], 1e-6, ("Passed", "form-buckets/Bucket", 4))
)


def on_ranks(name):
    """Two ranks with half of each batch take the steps of one; each has a shard of the optimizer's state."""

    def run(ingot):
        golden = np.load(FOLDER / name / "golden.npz")
        trainer = ingot.compile(*files(name), "--batch", "2", "--data-parallel", "--zero", "2")
        flags = ["--data", FOLDER / name / "golden.npz", "--no-shuffle", "--lr", golden["lr"]]
        got = losses(ingot, 2, trainer, *flags, "--steps", len(golden["loss"]))
        check_relative("loss", got, golden["loss"], 1e-5)

    return run


for name in ("perceptron", "binary"):
    case(f"ort-artifacts-ranks-{name}")(on_ranks(name))


@case("ort-artifacts-export-predicts")
def export_predicts(ingot):
    """The exported model is the forward model, and predicts elsewhere what the trainer predicts."""
    data = np.load(FOLDER / "convolutional" / "golden.npz")
    samples, predicted, exported = (ingot.path(n) for n in ("samples.npz", "predicted.npz", "exported.onnx"))
    np.savez(samples, x=data["x"][:10], labels=data["labels"][:10])
    trainer = ingot.compile(*files("convolutional"), *FLAGS["convolutional"])
    flags = ["--data", FOLDER / "convolutional" / "golden.npz", "--steps", "5", "--eval-data", samples]
    _, evaluations = ingot.train(trainer, *flags, "--predict", predicted, "--export", exported)
    # The last of three batches has two samples: the rest is masked.
    check(evaluations[-1]["eval_accuracy"] * 10 % 1 < 1e-4, f"accuracy {evaluations[-1]}")
    model = onnx.load(exported)
    check([i.name for i in model.graph.input] == ["x"], "inputs of the exported model")
    session = onnxruntime.InferenceSession(exported)
    want = session.run(["logits"], {"x": data["x"][:10]})[0]
    check_close("logits", np.load(predicted)["logits"], want, 1e-5)


@case("ort-artifacts-resumed-optimizer")
def resumed_optimizer(ingot):
    """Another optimizer cannot use the checkpoint's moments, and says so once."""
    flags = [*files("binary"), "--batch", "4", "--optimizer", "sgd", "-o", ingot.path("trainer")]
    warnings = [w for w in ingot.succeed(ingot.ingotc(*flags)).err.splitlines() if w.startswith("warning: ")]
    check(len(warnings) == 1 and "12 moments" in warnings[0], f"warnings {warnings}")


@case("ort-artifacts-refused")
def refused(ingot):
    """What does not fit together is one error with a hint."""
    model, *_ = files("perceptron")
    folder = FOLDER / "perceptron"
    checkpoint, optimizer = folder / "checkpoint", folder / "optimizer_model.onnx"

    def error(status, word, *flags, model=model):
        flags = [model, "--batch", "4", "-o", ingot.path("trainer"), *flags]
        ingot.check_error(ingot.ingotc(*flags), status, word)

    error(3, "a checkpoint")
    error(3, "cannot be opened", "--checkpoint", ingot.path("none"))
    error(3, "is a folder", "--checkpoint", folder)
    error(3, "not a checkpoint", "--checkpoint", optimizer)
    error(2, "--optimizer-model", "--optimizer-model", optimizer)
    error(3, "cannot be opened", "--checkpoint", checkpoint, "--optimizer-model", ingot.path("none"))
    error(3, "operator Gemm", "--checkpoint", checkpoint, "--optimizer-model", folder / "eval_model.onnx")
    error(3, "fc1.bias", "--checkpoint", FOLDER / "transformer" / "checkpoint")
    error(3, "computes no gradients", "--checkpoint", checkpoint, model=folder / "eval_model.onnx")
    error(2, "its own loss", "--checkpoint", checkpoint, "--loss", "mse")
    error(2, "nothing to train", "--checkpoint", checkpoint, "--freeze", ".")
    # No schema tells how many inputs these operators have.
    graph = onnx.load(model)
    node = next(n for n in graph.graph.node if n.op_type == "ReluGrad")
    del node.input[1]
    broken = ingot.path("training_model.onnx")
    onnx.save(graph, broken)
    error(3, f"{node.name}: ReluGrad: input 1 is missing", "--checkpoint", checkpoint, model=broken)
    # What is read is not replaced.
    copy = ingot.path("checkpoint")
    copy.write_bytes(checkpoint.read_bytes())
    ingot.check_error(ingot.ingotc(model, "--checkpoint", copy, "--batch", "4", "-o", copy), 2, "--checkpoint")
    check(copy.read_bytes() == checkpoint.read_bytes(), "the checkpoint was replaced")
    damaged = ingot.path("checkpoint")
    content = checkpoint.read_bytes()
    for size in (0, 6, 60, len(content) // 2, len(content) - 20):
        damaged.write_bytes(content[:size])
        error(3, "truncated", "--checkpoint", damaged)
