# SPDX-License-Identifier: Apache-2.0
"""Losses as PyTorch computes them, and metrics as scikit-learn does (loss_goldens.py)."""

import json

import numpy as np
import onnx
from harness import HERE, case, check, check_close, check_relative, golden, read_log
from launch import run_ranks
from onnx import TensorProto, helper

GOLDENS = json.loads((HERE / "goldens-losses.json").read_text())


def compile_with(ingot, g, *flags, model=None):
    return ingot.compile(model or g.model, "--optimizer", "sgd", "--batch", str(g.batch), *flags)


def flags_for(g, data=None):
    data = ["--data", data or g.data, "--eval-data", data or g.data, "--no-shuffle"]
    return [*data, "--steps", GOLDENS["steps"], "--lr", GOLDENS["lr"], "--eval-every", GOLDENS["steps"]]


def takes_logarithms(loss):
    return loss.lower().startswith(("nll", "kl"))


def with_logarithms(ingot, g):
    """The case's model with a LogSoftmax at its end, for losses that take logarithms of probabilities."""
    model, path = onnx.load(g.model), ingot.path("logarithms.onnx")
    model.graph.node.append(helper.make_node("LogSoftmax", [model.graph.output[0].name], ["logarithms"], axis=1))
    model.graph.output[0].name = "logarithms"
    onnx.save(model, path)
    return path


def spread(labels, classes=10):
    """Distributions: three quarters of the label, a quarter of the next class, and nothing of the others."""
    eye = np.eye(classes, dtype=np.float32)
    return 0.75 * eye[labels] + 0.25 * eye[(labels + 1) % classes]


@case("losses-of-torch")
def losses(ingot):
    """Every loss with its settings, and sums: losses of ten steps, and of an evaluation."""
    for run in GOLDENS["losses"]:
        g, data = golden(run["case"]), None
        model = with_logarithms(ingot, g) if takes_logarithms(run["loss"]) else g.model
        if run["loss"] == "kl-div":
            data = ingot.path("distributions.npz")
            with np.load(g.data) as arrays:
                np.savez(data, x=arrays["x"], labels=spread(arrays["labels"]))
        metrics = ["--metrics", ",".join(GOLDENS["kl-div"])] if data else []
        trainer = compile_with(ingot, g, "--loss", run["loss"], *metrics, model=model)
        rows, evaluations = ingot.train(trainer, *flags_for(g, data))
        check_relative(run["loss"], [row["loss"] for row in rows], run["losses"], 2e-5)
        check_relative(run["loss"], [evaluations[-1]["eval_loss"]], [run["eval_loss"]], 2e-5)
        for metric, value in GOLDENS["kl-div"].items() if data else ():
            check_close(f"kl-div: {metric}", evaluations[-1]["eval_" + metric], value, 2e-5)


@case("metrics-of-scikit-learn")
def metrics(ingot):
    """After ten steps, over all samples: padding and labels that are ignored do not count."""
    for name, want in GOLDENS["metrics"].items():
        g = golden(name)
        trainer = compile_with(ingot, g, "--loss", g.loss, "--metrics", ",".join(want))
        _, evaluations = ingot.train(trainer, *flags_for(g))
        last = evaluations[-1]
        for metric, value in want.items():
            check_close(f"{name}: {metric}", last["eval_" + metric], value, 2e-5)
        # A batch that is partly padding: the first samples alone.
        part, some = ingot.path("part.npz"), g.batch + 3
        with np.load(g.data) as arrays:
            np.savez(part, **{k: arrays[k][:some] for k in arrays})
        steps = ["--data", g.data, "--no-shuffle", "--steps", GOLDENS["steps"], "--lr", GOLDENS["lr"]]
        _, evaluations = ingot.train(trainer, *steps, "--eval-data", part)
        if "confusion" in want:
            with np.load(part) as arrays:
                counted = int((arrays["labels"] != -100).sum())
            check(np.sum(evaluations[-1]["eval_confusion"]) == counted, f"{name}: {evaluations[-1]}")
            check_close(
                f"{name}: accuracy", np.trace(evaluations[-1]["eval_confusion"]) / counted,
                evaluations[-1]["eval_accuracy"], 1e-6,
            )  # fmt: skip


@case("training-metrics-of-torch")
def training_metrics(ingot):
    """Each step's metrics are those of all its samples, however micro-batches and ranks share them."""
    for run in GOLDENS["training"]:
        g = golden(run["case"])
        wanted = ["--loss", run["loss"], "--metrics", ",".join("train-" + name for name in run["metrics"])]
        shares = [(1, 1, []), (1, 4, []), (2, 2, ["--data-parallel", "--zero", "2"])]
        for ranks, count, flags in shares if run["case"] == "mlp" else shares[2:]:
            trainer = ingot.compile(
                g.model, "--optimizer", "sgd", "--batch", g.batch // ranks // count, "--grad-accumulation", count,
                *wanted, *flags,
            )  # fmt: skip
            rows, evaluations = run_ranks(ingot, ranks, trainer, *flags_for(g))
            where = f"{run['case']}, {ranks} ranks, {count} micro-batches"
            check_relative(where, [row["loss"] for row in rows], run["losses"], 2e-5)
            for name, values in run["metrics"].items():
                check_close(f"{where}: {name}", [row["train_" + name] for row in rows], values, 2e-5)
            # Evaluations have what was asked of them alone.
            left = set(evaluations[-1]) - {"step", "eval_loss", "eval_accuracy"}
            check(not left, f"{where}: {left}")


@case("training-metrics-of-an-epoch")
def metrics_of_epochs(ingot):
    """The line of an epoch counts all samples with a finite loss once; a step without one has no metrics."""
    g = golden("mlp")
    data, log = ingot.path("nan.npz"), ingot.path("log.jsonl")
    with np.load(g.data) as arrays:
        x, labels = arrays["x"].copy(), arrays["labels"].copy()
    # Steps of 8, 32, 16 and 32 labels that count, and one whose loss is not a number.
    labels[:24], labels[64:80] = -100, -100
    x[130] = np.nan
    np.savez(data, x=x[:160], labels=labels[:160])
    trainer = compile_with(ingot, g, "--loss", "cross-entropy", "--metrics", "train-accuracy", "--guard")
    run = ingot.succeed(
        [trainer, "--data", data, "--no-shuffle", "--epochs", "1", "--nan", "skip", "--log", log, "--log-every", "1"]
    )
    rows = read_log(log)[0]
    got = [row["train_accuracy"] for row in rows]
    check(got[4] is None and None not in got[:4], f"{got}")
    mean = (8 * got[0] + 32 * got[1] + 16 * got[2] + 32 * got[3]) / 88
    check(
        f"step 5/5  loss {np.mean([row['loss'] for row in rows[:4]]):.4f}  train_accuracy {mean:.4f}" in run.err, mean
    )


@case("metrics-best-and-errors")
def best_metric(ingot):
    """A metric chooses the best checkpoint; one that the loss does not have is refused."""
    g = golden("mlp")
    trainer = compile_with(ingot, g, "--loss", "cross-entropy", "--metrics", "top3,perplexity")
    base = ["--data", g.data, "--eval-data", g.data, "--steps", "20", "--eval-every", "5", "--lr", "0.1"]
    for metric, choose in (("top3", max), ("perplexity", min)):
        folder = ingot.path("save")
        _, evaluations = ingot.train(trainer, *base, "--best", metric, "--save", folder)
        values = [(row[f"eval_{metric}"], row["step"]) for row in evaluations]
        wanted = choose(value for value, _ in values)
        step = next(step for value, step in values if value == wanted)
        check((folder / "best").read_text().startswith(f"step-{step}\n"), f"{metric}: {values}")
        folder = ingot.path("save")
    for flags, said in (
        (["--metrics", "r2"], "'r2' is no metric of cross-entropy"),
        (["--metrics", "top0"], "'top0'"),
        (["--metrics", "elegance"], "accuracy, topK"),
        (["--metrics", "accuracy,train-auc"], "train-accuracy, train-topK, train-f1, train-perplexity"),
    ):
        ingot.check_error(
            ingot.ingotc(g.model, "-o", ingot.path("t"), "--batch", "4", "--loss", "cross-entropy", *flags),
            2, "--metrics", said,
        )  # fmt: skip


def write_two_heads(path):
    """y = x w, z = x v; returns the weights."""
    rng = np.random.default_rng(3)
    weights = {"w": rng.normal(0, 0.5, (5, 3)), "v": rng.normal(0, 0.5, (5, 2))}
    weights = {name: value.astype(np.float32) for name, value in weights.items()}
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"]), helper.make_node("MatMul", ["x", "v"], ["z"])],
        "heads", [value("x", TensorProto.FLOAT, ["n", 5])],
        [value("y", TensorProto.FLOAT, ["n", 3]), value("z", TensorProto.FLOAT, ["n", 2])],
        [onnx.numpy_helper.from_array(v, k) for k, v in weights.items()],
    )  # fmt: skip
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)
    return weights


@case("losses-of-several-outputs")
def several_outputs(ingot):
    """A sum over two heads with labels of their own, against the gradients by hand."""
    model, data = ingot.path("heads.onnx"), ingot.path("heads.npz")
    weights = {k: v.astype(np.float64) for k, v in write_two_heads(model).items()}
    rng, batch, steps, rate = np.random.default_rng(4), 4, 6, 0.1
    x = rng.normal(size=(batch * steps, 5)).astype(np.float32)
    classes, targets = rng.integers(0, 3, batch * steps), rng.normal(size=(batch * steps, 2)).astype(np.float32)
    np.savez(data, x=x, labels_y=classes, labels_z=targets)
    trainer = ingot.compile(model, "--loss", "cross-entropy@y + 0.5*mse@z", "--optimizer", "sgd", "--batch", str(batch))
    base = ["--data", data, "--no-shuffle", "--steps", steps, "--lr", rate]
    rows, evaluations = ingot.train(trainer, *base, "--eval-data", data)

    def forward(at):
        y, z = x[at] @ weights["w"], x[at] @ weights["v"]
        p = np.exp(y - y.max(1, keepdims=True))
        p /= p.sum(1, keepdims=True)
        error = z - targets[at]
        loss = -np.log(p[np.arange(len(p)), classes[at]]).mean() + 0.5 * (error**2).mean()
        return loss, p, error

    want = []
    for step in range(steps):
        at = slice(step * batch, (step + 1) * batch)
        loss, p, error = forward(at)
        want.append(loss)
        p[np.arange(batch), classes[at]] -= 1
        weights["w"] -= rate * x[at].T @ p / batch
        weights["v"] -= rate * 0.5 * x[at].T @ error * 2 / error.size
    check_relative("losses", [row["loss"] for row in rows], want, 1e-5)
    check_relative("eval_loss", [evaluations[-1]["eval_loss"]], [forward(slice(None))[0]], 1e-5)
    check(0 <= evaluations[-1]["eval_accuracy"] <= 1, f"{evaluations}")
    shared = ["-o", ingot.path("t"), "--batch", "4", "--loss"]
    ingot.check_error(ingot.ingotc(model, *shared, "cross-entropy+mse"), 2, "--loss", "two terms take other labels")
    ingot.check_error(ingot.ingotc(model, *shared, "mse@q"), 2, "--loss", "no output 'q'")
