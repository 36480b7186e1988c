# SPDX-License-Identifier: Apache-2.0
"""A model that learns from another one: losses and gradients as PyTorch has them (distill_goldens.py), what the teacher
costs, and teachers that do not fit."""

import json

import numpy as np
import onnx
from harness import HERE, ROOT, case, check, check_close, check_relative, golden, initializers
from launch import ALONE, mpirun
from onnx import TensorProto, helper, numpy_helper

GOLDENS = json.loads((HERE / "goldens-distill.json").read_text())
BYTES = ROOT / "docs/examples/bytes/bytes.onnx"


def arrays_of(name):
    """The weights of the teachers, which goldens and tests make alike."""
    rng = np.random.default_rng(48)

    def draw(*shape):
        # Multiples of 1/256 of few bits are exact in every precision.
        return (np.round(rng.standard_normal(shape) * 256 * 0.7 / np.sqrt(np.prod(shape[1:]))) / 256).astype("f")

    if name == "mlp":
        width = 40
        weights = {"first.weight": draw(width, 784), "first.bias": draw(width), "last.weight": draw(10, width)}
    else:
        width = 8
        weights = {"first.weight": draw(width, 2, 1, 1), "first.bias": draw(width), "last.weight": draw(5, width, 1, 1)}
    norm = {"scale": draw(width), "shift": draw(width), "mean": draw(width), "var": np.abs(draw(width)) + 0.5}
    return weights, norm


def write_teacher(path, name, classes=None, samples="x", shape=None, extra=None):
    """A layer, a normalization and a dropout as in training, and a layer: of images those are convolutions."""
    weights, norm = arrays_of(name)
    if classes:
        weights["last.weight"] = np.resize(weights["last.weight"], (classes, *weights["last.weight"].shape[1:]))
    is_mlp = name == "mlp"
    shape = shape or (["batch", 784] if is_mlp else ["batch", 2, 6, 6])
    layer = {"op_type": "Gemm", "transB": 1} if is_mlp else {"op_type": "Conv"}
    nodes = [
        helper.make_node(inputs=[samples, "first.weight", "first.bias"], outputs=["first"], name="first", **layer),
        helper.make_node(
            "BatchNormalization", ["first", *norm], ["normal", "new_mean", "new_var"], name="norm", training_mode=1
        ),
        helper.make_node("Relu", ["normal"], ["taught"], name="relu"),
        helper.make_node("Dropout", ["taught", "ratio", "training"], ["dropped"], name="dropout"),
        helper.make_node(inputs=["dropped", "last.weight"], outputs=["logits"], name="last", **layer),
    ]
    constants = {"ratio": np.float32(0.5), "training": np.bool_(True)}
    tensors = [numpy_helper.from_array(v, k) for k, v in {**weights, **norm, **constants}.items()]
    inputs = [helper.make_tensor_value_info(samples, TensorProto.FLOAT, shape)]
    if extra:
        inputs.append(helper.make_tensor_value_info(extra, TensorProto.FLOAT, shape))
        nodes[-1].output[0] = "before"
        nodes.append(helper.make_node("ReduceMean", [extra], ["average"], keepdims=1))
        nodes.append(helper.make_node("Add", ["before", "average"], ["logits"]))
    outputs = [helper.make_tensor_value_info("logits", TensorProto.FLOAT, None)]
    graph = helper.make_graph(nodes, "teacher", inputs, outputs, tensors)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)
    return path


def compile_student(ingot, name, distill, *flags, teacher=None):
    g = golden(name)
    teacher = teacher or write_teacher(ingot.path("teacher.onnx"), name)
    words = ["--teacher", teacher, "--distill", distill, "--loss", g.loss, "--batch", str(g.batch)]
    return g, ingot.compile(g.model, *words, "--optimizer", "sgd", *flags)


def run_flags(g, steps):
    return ["--data", g.data, "--no-shuffle", "--steps", steps]


@case("distill-of-torch")
def losses(ingot):
    """Losses of ten steps with their parts, the loss of an evaluation, and gradients of the first step."""
    for run in GOLDENS["runs"]:
        g, trainer = compile_student(ingot, run["case"], run["distill"])
        rows, evaluations = ingot.train(
            trainer, *run_flags(g, 10), "--lr", GOLDENS["lr"], "--eval-data", g.data, "--eval-every", 10
        )
        for key in run["rows"]:
            check_relative(f"{run['distill']}: {key}", [row[key] for row in rows], run["rows"][key], 2e-5)
        check_relative(run["distill"], [evaluations[-1]["eval_loss"]], [run["eval_loss"]], 2e-5)
        out = ingot.path("out.onnx")
        ingot.succeed([trainer, *run_flags(g, 1), "--lr", "1", "--export", out])
        start, end = initializers(g.model), initializers(out)
        check(start.keys() == end.keys(), "the export has other weights than the student")
        for weight, gradient in run["gradients"].items():
            check_close(f"{run['distill']}: {weight}", start[weight] - end[weight], np.array(gradient, "f"), 1e-6)


@case("distill-accumulates")
def accumulate(ingot):
    """Micro-batches and ranks have the losses of the whole batch, where labels are ignored too."""
    for name, divisions in (("mlp", (4, 2)), ("segmentation", (2,))):
        g, whole = compile_student(ingot, name, "temperature=3,alpha=0.7", "--data-parallel")
        want, _ = ingot.train(whole, *run_flags(g, 6), "--lr", "0.05")
        teacher = write_teacher(ingot.path("teacher.onnx"), name)
        for parts in divisions:
            words = ["--teacher", teacher, "--distill", "temperature=3,alpha=0.7", "--loss", g.loss]
            trainer = ingot.compile(
                g.model, *words, "--optimizer", "sgd", "--batch", str(g.batch // parts), "--grad-accumulation",
                str(parts),
            )  # fmt: skip
            rows, _ = ingot.train(trainer, *run_flags(g, 6), "--lr", "0.05")
            # Batch normalizations of the student are of micro-batches.
            for key in ("loss", "train_hard_loss", "train_distill_loss") if name == "mlp" else ():
                check_relative(f"{parts} parts: {key}", [r[key] for r in rows], [r[key] for r in want], 2e-5)
            check(all(np.isfinite(row["train_distill_loss"]) for row in rows), f"{name}: not finite")
        log = ingot.path("log.jsonl")
        half = ingot.compile(
            g.model, "--teacher", teacher, "--distill", "temperature=3,alpha=0.7", "--loss", g.loss, "--optimizer",
            "sgd", "--batch", str(g.batch // 2), "--data-parallel",
        )  # fmt: skip
        ingot.succeed([*mpirun(2), half, *run_flags(g, 6), "--lr", "0.05", "--log", log], env=ALONE)
        rows = [json.loads(line) for line in log.read_text().splitlines() if "loss" in line]
        for key in ("loss", "train_distill_loss") if name == "mlp" else ():
            check_relative(f"2 ranks: {key}", [r[key] for r in rows], [r[key] for r in want], 2e-5)


@case("distill-files")
def files(ingot):
    """A resumed run goes on bit for bit; checkpoints and exports have nothing of the teacher."""
    g, trainer = compile_student(ingot, "mlp", "temperature=4,alpha=0.5", "--weights", "sidecar")
    words = ["--data", g.data, "--lr", "0.05"]
    whole, again, saved = ingot.path("whole.onnx"), ingot.path("again.onnx"), ingot.path("saved")
    ingot.succeed([trainer, *words, "--steps", 8, "--export", whole])
    ingot.succeed([trainer, *words, "--steps", 3, "--save", saved])
    ingot.succeed([trainer, *words, "--steps", 8, "--resume", saved, "--export", again])
    check(whole.read_bytes() == again.read_bytes(), "a resumed run differs")
    # Weights in the trainer itself are no state of the run either.
    _, inside = compile_student(ingot, "mlp", "temperature=4,alpha=0.5")
    other = ingot.path("other")
    ingot.succeed([inside, *words, "--steps", 3, "--save", other])
    ingot.succeed([inside, *words, "--steps", 8, "--resume", other, "--export", again])
    check(whole.read_bytes() == again.read_bytes(), "a resumed run with its own weights differs")
    for folder in (saved, other):
        for path in folder.rglob("*.safetensors"):
            check(b"@teacher/" not in path.read_bytes(), f"{path.name} has the teacher")
    weights = ingot.path("weights.safetensors")
    ingot.succeed([trainer, *words, "--steps", 1, "--export", weights])
    check(b"@teacher/" not in weights.read_bytes(), "exported weights have the teacher")
    ingot.succeed([trainer, *words, "--steps", 1, "--init", weights])


def plan_of(ingot, trainer):
    return json.loads(ingot.succeed([trainer, "--inspect=json"]).out)


@case("distill-memory")
def memory(ingot):
    """Over plain training: the weights of the teacher in its precision, what its last layer reads, and a chunk of its
    logits, of which there are 16."""
    batch, tokens, width, words = 512, 128, 64, 256
    flags = ["--batch", str(batch), "--loss", "cross-entropy:2", "--weights", "sidecar"]
    bytes_ = sum(v.nbytes for v in initializers(BYTES).values() if v.dtype == np.float32)
    flags += ["--precision", "bf16"]
    plain = plan_of(ingot, ingot.compile(BYTES, *flags))
    taught = plan_of(ingot, ingot.compile(BYTES, *flags, "--teacher", BYTES))
    # Embeddings and norms stay in 32 bits.
    check(abs(taught["teacher_bytes"] - bytes_ / 2) < 0.2 * bytes_, f"the teacher takes {taught['teacher_bytes']} B")
    more = taught["peak_bytes"] + taught["mapped_bytes"] - plain["peak_bytes"] - plain["mapped_bytes"]
    hidden, chunk = batch * tokens * width * 4, batch * tokens * words * 4 / 16
    check(more < taught["teacher_bytes"] + hidden + chunk, f"{more} B more than plain training")


@case("distill-precisions")
def precisions(ingot):
    """A teacher in 16 bits, or with encoded weights, teaches nearly the same; so does a student in 16 bits."""
    g, exact = compile_student(ingot, "mlp", "temperature=4,alpha=0.5")
    want, _ = ingot.train(exact, *run_flags(g, 10), "--lr", "0.05")
    for distill, flags in (
        ("temperature=4,alpha=0.5,precision=bf16", []),
        ("temperature=4,alpha=0.5,precision=fp16", []),
        ("temperature=4,alpha=0.5,precision=int8", []),
        ("temperature=4,alpha=0.5,precision=nf4", []),
        ("temperature=4,alpha=0.5", ["--precision", "bf16"]),
        ("temperature=4,alpha=0.5", ["--precision", "fp16"]),
        ("temperature=4,alpha=0.5", ["--adapter", "lora:r=2@net.0,net.2"]),
    ):
        _, trainer = compile_student(ingot, "mlp", distill, *flags)
        rows, _ = ingot.train(trainer, *run_flags(g, 10), "--lr", "0.05")
        near = 0.3 if "nf4" in distill else 0.05
        check_close(f"{distill} {flags}", [rows[0]["loss"]], [want[0]["loss"]], near)
        check(rows[-1]["loss"] < rows[0]["loss"] + 0.05, f"{distill}: the loss goes from {rows[0]} to {rows[-1]}")


@case("distill-refused")
def refused(ingot):
    """Teachers that do not fit, and settings that mean nothing, are one line each."""
    g, good = golden("mlp"), write_teacher(ingot.path("teacher.onnx"), "mlp")

    def refuse(status, *words, teacher=good, distill="temperature=4", loss=g.loss, more=()):
        ingot.check_error(ingotc(ingot, g, teacher, loss, "--distill", distill, *more), status, *words)

    def teacher(**changes):
        return write_teacher(ingot.path("teacher.onnx"), "mlp", **changes)

    refuse(2, "--teacher", "'other' is none of the student's", teacher=teacher(samples="other"))
    refuse(2, "--teacher", "'more' is none of the student's", teacher=teacher(extra="more"))
    refuse(2, "--teacher", "'x' is tensor<32x783xf32>", teacher=write_narrow(ingot))
    refuse(2, "--teacher", "'logits' is tensor<32x12xf32>", "tensor<32x10xf32>", teacher=teacher(classes=12))
    refuse(2, "--distill", "no classes", loss="mse")
    refuse(3, "no tensor of floats 'nothing'", distill="pairs=nothing:taught")
    refuse(3, "no tensor of floats 'nothing'", distill="pairs=relu:nothing")
    refuse(2, "--distill", "the pair 'relu:logits'", distill="pairs=relu:logits")
    refuse(2, "--distill", "'relu' is no pair", distill="pairs=relu")
    refuse(2, "--distill", "'1.5' is no alpha", distill="alpha=1.5")
    refuse(2, "--distill", "'0' is no temperature", distill="temperature=0")
    refuse(2, "--distill", "unknown setting 'heat'", distill="heat=3")
    refuse(2, "--distill", "alpha of 0 without pairs", distill="alpha=0")
    refuse(2, "--distill", "'int3' is no precision", distill="precision=int3")
    refuse(2, "--distill", "parts of layers", more=["--mesh", "tensor=2"])
    ingot.check_error(
        ingot.ingotc(g.model, "-o", ingot.path("t"), "--loss", g.loss, "--distill", "alpha=0.1"), 2, "--distill",
        "requires --teacher",
    )  # fmt: skip
    refuse(3, "missing.onnx", teacher=ingot.path("missing.onnx"))


def ingotc(ingot, g, teacher, loss, *flags):
    return ingot.ingotc(
        g.model, "-o", ingot.path("trainer"), "--loss", loss, "--batch", str(g.batch), "--teacher", teacher, *flags
    )


def write_narrow(ingot):
    """A teacher of fewer columns."""
    path = write_teacher(ingot.path("teacher.onnx"), "mlp", shape=["batch", 783])
    model = onnx.load(path)
    for tensor in model.graph.initializer:
        if tensor.name == "first.weight":
            tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor)[:, :783], tensor.name))
    onnx.save(model, path)
    return path
