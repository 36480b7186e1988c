# SPDX-License-Identifier: Apache-2.0
"""Language models as PyTorch and Hugging Face have them (language/export.py), on files of tokens: which token is
compared with which."""

import json

import numpy as np
import onnx
from harness import HERE, case, check, check_relative
from onnx.reference import ReferenceEvaluator

MODELS = HERE / "language"
VOCABULARY, TOKENS, BATCH = 64, 8, 2


def make_tokens(ingot):
    tokens = np.random.default_rng(0).integers(0, VOCABULARY, 6 * TOKENS + 1)
    path = ingot.path("tokens.bin")
    tokens.astype(np.uint16).tofile(path)
    return tokens, f"{path}:u16"


def windows(tokens, shift):
    return np.stack([tokens[i * TOKENS + shift :][:TOKENS] for i in range(BATCH)])


def first_loss(ingot, name, loss, flags, data):
    trainer = ingot.path("trainer")
    result = ingot.succeed(
        ingot.ingotc(MODELS / f"{name}.onnx", "-o", trainer, "--loss", f"output:{loss}", "--batch", str(BATCH), *flags)
    )
    steps, _ = ingot.train(trainer, "--data", data, "--no-shuffle", "--steps", "2")
    ran = ingot.succeed([trainer, "--data", data, "--no-shuffle", "--steps", "1"])
    return steps[0]["loss"], result.err, ran.err


def reference_loss(name, loss, feeds):
    return float(ReferenceEvaluator(onnx.load(MODELS / f"{name}.onnx")).run([loss], feeds)[0])


@case("language-model-with-targets")
def with_targets(ingot):
    tokens, data = make_tokens(ingot)
    got, said, _ = first_loss(ingot, "gpt-training", "output_1", [], data)
    check("warning" not in said, said)
    feeds = {"idx": windows(tokens, 0), "targets": windows(tokens, 1)}
    check_relative("loss", [got], [reference_loss("gpt-training", "output_1", feeds)], 1e-5)


@case("language-model-that-shifts-labels")
def that_shifts(ingot):
    tokens, data = make_tokens(ingot)
    got, said, ran = first_loss(ingot, "gpt2-labels", "loss", ["--dim", f"seq={TOKENS}"], data)
    check("the model shifts 'labels' itself" in said, said)
    check("'labels' are the tokens themselves" in ran, ran)
    feeds = {"input_ids": windows(tokens, 0), "labels": windows(tokens, 0)}
    check_relative("loss", [got], [reference_loss("gpt2-labels", "loss", feeds)], 1e-5)


@case("language-model-that-shifts-packed-labels")
def that_shifts_packed(ingot):
    """The first token of each sequence is no label: nothing of its sequence comes before it."""
    short = [5, 6, 7]
    longer = np.random.default_rng(2).integers(0, 30, (BATCH, TOKENS - len(short)))
    lines = ingot.path("documents.jsonl")
    documents = [row.tolist() for row in longer] + [short] * BATCH
    lines.write_text("".join(json.dumps({"input_ids": document}) + "\n" for document in documents))
    rows = np.concatenate([longer, np.tile(short, (BATCH, 1))], axis=1)
    labels = rows.copy()
    labels[:, [0, longer.shape[1]]] = -100
    trainer = ingot.path("trainer")
    flags = ["--loss", "output:loss", "--batch", str(BATCH), "--dim", f"seq={TOKENS}"]
    ingot.succeed(ingot.ingotc(MODELS / "gpt2-labels.onnx", "-o", trainer, *flags))
    steps, _ = ingot.train(trainer, "--data", lines, "--pack", "--no-shuffle", "--steps", "1")
    want = reference_loss("gpt2-labels", "loss", {"input_ids": rows, "labels": labels})
    check_relative("loss", [steps[0]["loss"]], [want], 1e-5)
    twice = ["--data", lines, "--input", "input_ids=pack", "--input", "labels=next-of:input_ids", "--steps", "1"]
    ingot.check_error([trainer, *twice], 2, "--input labels", "shifts these labels itself")


@case("language-model-of-one-position")
def of_one_position(ingot):
    model = MODELS / "gpt-writing.onnx"
    flags = ["-o", ingot.path("trainer"), "--loss", "cross-entropy", "--batch", str(BATCH)]
    said = ingot.succeed(ingot.ingotc(model, *flags)).err
    check("warning: " in said and "is of one position of each sequence" in said, said)
