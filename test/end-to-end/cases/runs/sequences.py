# SPDX-License-Identifier: Apache-2.0
"""Sequences of any length: packed rows and buckets give the losses of each alone."""

import json

import numpy as np
import onnx
import onnx.parser
from harness import case, check, check_close
from launch import run_ranks
from onnx import numpy_helper

TOKENS, WIDTH, LENGTH = 48, 16, 64
# One layer of causal attention, of which the mask is an input.
MODEL = """<ir_version: 8, opset_import: ["": 18]>
g (int64[n,t] ids, int64[n,t] positions, float[n,t,t] mask) => (float[n,t,48] logits) {
  e = Gather(tokens, ids)
  p = Gather(places, positions)
  x = Add(e, p)
  q = MatMul(x, wq)
  k = MatMul(x, wk)
  kt = Transpose<perm=[0, 2, 1]>(k)
  scores = MatMul(q, kt)
  masked = Add(scores, mask)
  weights = Softmax<axis=-1>(masked)
  mixed = MatMul(weights, x)
  y = Add(x, mixed)
  logits = MatMul(y, wo)
}"""
SHAPES = {"tokens": (TOKENS, WIDTH), "places": (LENGTH, WIDTH), "wq": (WIDTH, WIDTH), "wk": (WIDTH, WIDTH)}
SHAPES["wo"] = (WIDTH, TOKENS)
FOLLOWERS = ["labels=next-of:ids", "positions=positions-of:ids", "mask=block-diagonal:ids,causal"]


def weights():
    source = np.random.default_rng(3)
    return {name: (source.standard_normal(shape) * 0.4).astype(np.float32) for name, shape in SHAPES.items()}


def trainer(ingot, dims, *flags):
    key = "sequences" + dims + "".join(flags)
    if key not in ingot.trainers:
        model = onnx.parser.parse_model(MODEL)
        model.graph.initializer.extend(numpy_helper.from_array(v, k) for k, v in weights().items())
        path = ingot.path("model.onnx")
        onnx.save(model, path)
        ingot.trainers[key] = ingot.compile(
            path, "--loss", "cross-entropy", "--optimizer", "sgd", "--dim", f"t={dims}", *flags
        )
    return ingot.trainers[key]


def draw(count=150):
    source = np.random.default_rng(5)
    lengths = np.clip(np.exp(source.normal(2.5, 0.8, count)).astype(int), 2, LENGTH)
    return [source.integers(0, TOKENS, length).tolist() for length in lengths]


def write(ingot, documents):
    path = ingot.path("documents.jsonl")
    path.write_text("".join(json.dumps({"ids": d}) + "\n" for d in documents))
    return path


def inputs(leader, *more):
    return [word for recipe in (f"ids={leader}", *FOLLOWERS, *more) for word in ("--input", recipe)]


def reference(documents):
    """The mean loss of all tokens, each document by itself, in double precision."""
    w = {k: v.astype(np.float64) for k, v in weights().items()}
    total = count = 0
    for document in documents:
        ids = np.array(document)
        x = w["tokens"][ids] + w["places"][: len(ids)]
        scores = (x @ w["wq"]) @ (x @ w["wk"]).T
        scores[np.triu_indices(len(ids), 1)] = -np.inf
        scores = np.exp(scores - scores.max(axis=1, keepdims=True))
        y = x + scores / scores.sum(axis=1, keepdims=True) @ x
        logits = y @ w["wo"]
        logits -= logits.max(axis=1, keepdims=True)
        log = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
        total -= log[np.arange(len(ids) - 1), ids[1:]].sum()
        count += len(ids) - 1
    return total / count


@case("sequences-same-losses")
def same_losses(ingot):
    """A token's loss does not depend on what else is in its row."""
    documents = draw()
    data = ["--eval-data", write(ingot, documents), "--steps", "0"]
    want = reference(documents)
    for dims, leader in ((f"{LENGTH}", "pack"), (f"{LENGTH}", "bucket"), (f"8,16,32,{LENGTH}", "bucket")):
        built = trainer(ingot, dims, "--batch", "4")
        loss = ingot.train(built, *data, *inputs(leader))[1][-1]["eval_loss"]
        check_close(f"{leader} over {dims}", loss, want, 1e-5)
    # Names say the same as the recipes.
    built = trainer(ingot, f"{LENGTH}", "--batch", "4")
    check_close("--pack", ingot.train(built, *data, "--pack")[1][-1]["eval_loss"], want, 1e-5)


@case("sequences-packed-training")
def packed_training(ingot):
    """The same rows for any workers and ranks, and after a resume; padding is in the log."""
    documents = draw()
    data = ["--data", write(ingot, documents), *inputs("pack"), "--seed", "4"]
    one = trainer(ingot, f"{LENGTH}", "--batch", "4", "--data-parallel")
    two = trainer(ingot, f"{LENGTH}", "--batch", "2", "--data-parallel")
    steps, _ = ingot.train(one, *data, "--steps", "12")
    losses = [row["loss"] for row in steps]
    paddings = [row["padding"] for row in steps]
    check(max(paddings) < 0.5 and np.mean(paddings) < 0.1, f"padding {paddings}")
    for workers in ("0", "1", "4"):
        got = [row["loss"] for row in ingot.train(one, *data, "--steps", "12", "--workers", workers)[0]]
        check(got == losses, f"{workers} workers: {got} instead of {losses}")
    # Ranks average the means of their halves, which have nearly as many tokens.
    got = [row["loss"] for row in run_ranks(ingot, 2, two, *data, "--steps", "12")[0]]
    check(np.allclose(got, losses, rtol=0.05), f"{got} instead of {losses}")
    save = ingot.path("save")
    ingot.succeed([one, *data, "--steps", "5", "--save", save])
    rest = ingot.train(one, *data, "--steps", "12", "--resume", save, log_from=6)[0]
    check([row["loss"] for row in rest] == losses[5:], "resumed losses differ")
    padded = ingot.train(one, *data[:2], *inputs("bucket"), "--seed", "4", "--steps", "12")[0]
    check(np.mean([row["padding"] for row in padded]) > 0.5, "padding of rows with one sequence")


@case("sequences-buckets")
def buckets(ingot):
    """Steps of several lengths, each with the sequences that fit."""
    documents = draw()
    data = ["--data", write(ingot, documents), *inputs("bucket"), "--seed", "4"]
    built = trainer(ingot, f"8,16,32,{LENGTH}", "--batch", "4")
    steps, _ = ingot.train(built, *data, "--epochs", "2")
    sizes = np.histogram([len(d) for d in documents], [0, 8.5, 16.5, 32.5, LENGTH + 1])[0]
    check(len(steps) == 2 * sum(size // 4 for size in sizes), f"{len(steps)} steps of {sizes}")
    check(np.mean([row["padding"] for row in steps]) < 0.45, "padding")


@case("sequences-token-budgets")
def token_budgets(ingot):
    """Short sequences come in larger batches: of each length the largest that keeps to --batch-tokens."""
    documents = draw(300)
    eval_data = ["--eval-data", write(ingot, documents), "--steps", "0", *inputs("bucket")]
    built = trainer(ingot, f"8,32,{LENGTH}", "--dim", "n=2,8,16,1,4", "--data-parallel")
    budget = ["--batch-tokens", "128"]
    loss = ingot.train(built, *eval_data, *budget)[1][-1]["eval_loss"]
    check_close("evaluation", loss, reference(documents), 1e-5)

    data = ["--data", write(ingot, documents), *inputs("bucket"), "--seed", "4"]
    steps, _ = ingot.train(built, *data, *budget, "--epochs", "1")
    rows = [round(row["samples_per_s"] * row["step_ms"] * 1e-3) for row in steps]
    tokens = [round(row["tokens_per_s"] * row["step_ms"] * 1e-3) for row in steps]
    lengths = {16: 8, 4: 32, 2: LENGTH}
    check(set(rows) == set(lengths), f"rows {rows}")
    for n, count, row in zip(rows, tokens, steps, strict=True):
        check(abs(count / (n * lengths[n]) - (1 - row["padding"])) < 0.01, f"{count} tokens in {n} rows: {row}")
    sizes = np.histogram([len(d) for d in documents], [0, 8.5, 32.5, LENGTH + 1])[0]
    check(len(steps) == sum(size // n for size, n in zip(sizes, lengths, strict=True)), f"{len(steps)} steps")
    # Without a budget, the batch that was named first.
    steps, _ = ingot.train(built, *data, "--epochs", "1")
    check({round(row["samples_per_s"] * row["step_ms"] * 1e-3) for row in steps} == {2}, "not the first batch")

    # Ranks share the budget, so that steps have the same rows on any number of them.
    losses = [row["loss"] for row in ingot.train(built, *data, *budget, "--steps", "12")[0]]
    got = [row["loss"] for row in run_ranks(ingot, 2, built, *data, *budget, "--steps", "12")[0]]
    check(np.allclose(got, losses, rtol=0.05), f"{got} instead of {losses}")
    save = ingot.path("save")
    ingot.succeed([built, *data, *budget, "--steps", "5", "--save", save])
    rest, _ = ingot.train(built, *data, "--steps", "12", "--resume", save, log_from=6)
    check([row["loss"] for row in rest] == losses[5:], "resumed losses differ, or the budget is not inherited")

    run = [built, *data, "--epochs", "1", "--batch-tokens"]
    ingot.check_error([*run, "63"], 2, "--batch-tokens", f"rows of {LENGTH} tokens has {LENGTH} at least")
    ingot.check_error([*run, "0"], 2, "--batch-tokens")


@case("sequences-that-do-not-fit")
def misfits(ingot):
    built = trainer(ingot, f"{LENGTH}", "--batch", "4")
    data = ["--data", write(ingot, [[1] * (LENGTH + 1)] * 8), "--epochs", "1"]
    ingot.check_error([built, *data, *inputs("bucket")], 3, f"{LENGTH + 1} tokens, and the longest rows")
    ingot.succeed([built, *data, *inputs("bucket,truncate")])
    ingot.check_error([built, *data, "--input", "ids=pack"], 2, "nothing says what this input gets")
    ingot.check_error([built, *data, "--input", "labels=next-of:ids"], 2, "pack or bucket")
    predict = ["--steps", "0", "--eval-data", data[1], "--predict", ingot.path("p.npz")]
    ingot.check_error([built, *predict, *inputs("pack")], 2, "--predict", "several sequences")
