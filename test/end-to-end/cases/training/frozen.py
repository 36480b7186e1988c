# SPDX-License-Identifier: Apache-2.0
"""Frozen weights stay in the file beside the trainer: mapped, in 16 bits where nothing else is read, and in no
checkpoint."""

import json
import re
import shutil

import numpy as np
import onnx
from harness import ROOT, case, check, initializers
from launch import ALONE, mpirun

MODEL = ROOT / "docs/examples/bytes/bytes.onnx"
# Most linear layers of a GPT over bytes; embeddings, biases and norms are trained.
FROZEN = r"blocks.*(qkv|up|down)\.weight"
FLAGS = ["--batch", "4", "--loss", "cross-entropy:2", "--freeze", FROZEN]
SIDE = [*FLAGS, "--weights", "sidecar"]
STEPS = ["--steps", "6", "--no-shuffle", "--lr", "3e-4"]


def data_of(ingot):
    tokens = ingot.path("tokens.bin")
    ingot.succeed(["python3", ROOT / "docs/examples/bytes/tokens.py", tokens, ROOT / "LICENSE"])
    return ["--data", tokens, *STEPS]


def losses(rows):
    return [row["loss"] for row in rows]


def plan(ingot, trainer):
    return json.loads(ingot.succeed([trainer, "--inspect=json"]).out)


def frozen_of(tensors):
    return {name: value for name, value in tensors.items() if re.search(FROZEN, name)}


def change(ingot, path):
    """A model with other frozen weights, and all of its weights as safetensors."""
    model = onnx.load(MODEL)
    for tensor in model.graph.initializer:
        value = onnx.numpy_helper.to_array(tensor)
        if re.search(FROZEN, tensor.name):
            tensor.CopyFrom(onnx.numpy_helper.from_array(value * np.float32(1.01), tensor.name))
    onnx.save(model, path)


@case("frozen-mapped")
def mapped(ingot):
    """The same losses from the file as from the trainer's own memory, in a
    plan with the file apart.

    What is planned, for frozen layers of 180,224 weights among 224,640:

      precision  weights     mapped
      fp32       877.5 KiB          in the trainer
      fp32       173.5 KiB  704 KiB in the file
      bf16       525.5 KiB          in the trainer, copies in 16 bits (before: 1229.5 KiB, fp32 and the copies)
      bf16       173.5 KiB  352 KiB in the file
    """
    data = data_of(ingot)
    for precision, width in (("fp32", 4), ("bf16", 2), ("fp16", 2)):
        inside = ingot.compile(MODEL, *FLAGS, "--precision", precision)
        beside = ingot.compile(MODEL, *SIDE, "--precision", precision)
        exported = ingot.path("trained.onnx")
        rows, _ = ingot.train(beside, *data, "--export", exported)
        expected, _ = ingot.train(inside, *data)
        check(losses(rows) == losses(expected), f"{precision}: {losses(rows)} for {losses(expected)}")
        own, kept = plan(ingot, inside), plan(ingot, beside)
        start, end = (frozen_of(initializers(path)) for path in (MODEL, exported))
        frozen = sum(value.size for value in start.values())
        check(own["mapped_bytes"] == 0 and kept["mapped_bytes"] == width * frozen, f"{kept['mapped_bytes']} mapped")
        saved = own["weights_bytes"] - kept["weights_bytes"]
        check(saved == width * frozen, f"{precision}: {saved} B less in the block")
        check(start.keys() == end.keys() and all((start[k] == end[k]).all() for k in start), "frozen weights changed")


@case("frozen-checkpoints")
def checkpoints(ingot):
    """Checkpoints leave frozen weights to the trainer, and know which they were."""
    data = data_of(ingot)
    for precision in ("fp32", "bf16"):
        trainer = ingot.compile(MODEL, *SIDE, "--precision", precision)
        whole, _ = ingot.train(trainer, *data)
        saved, log = ingot.path("saved"), ingot.path("log.jsonl")
        ingot.train(trainer, *data, "--steps", "3", "--save", saved)
        names = {path.name for path in (saved / "step-3").iterdir()}
        check("constants.safetensors" not in names, f"{names}")
        check((saved / "step-3/state.safetensors").stat().st_size < 1 << 20, "the base is in the checkpoint")
        ingot.succeed([trainer, *data, "--resume", saved, "--log", log])
        rest = [json.loads(line)["loss"] for line in log.read_text().splitlines()]
        check(rest == losses(whole[3:]), f"{precision}: losses differ after a resume")
        # Other trainers of the same model have the same base.
        for other in (FLAGS, [*SIDE, "--precision", "bf16"]):
            ingot.succeed([ingot.compile(MODEL, *other), *data, "--resume", saved])
        changed = ingot.path("changed.onnx")
        change(ingot, changed)
        for flags in (SIDE, FLAGS):
            ingot.check_error(
                [ingot.compile(changed, *flags, "--precision", precision), *data, "--resume", saved],
                3, "weights of its trainer", "other values",
            )  # fmt: skip
        alone = ingot.path("trainer")
        shutil.copy(trainer, alone)
        ingot.check_error([alone, *data, "--resume", saved], 3, "weights are missing")


@case("frozen-replaced")
def replaced(ingot):
    """Other weights by --init have memory of their own, and are in checkpoints and exports."""
    data = data_of(ingot)
    changed, exported = ingot.path("changed.onnx"), ingot.path("exported.onnx")
    change(ingot, changed)
    for precision in ("fp32", "bf16"):
        trainer = ingot.compile(MODEL, *SIDE, "--precision", precision)
        other = ingot.compile(changed, *SIDE, "--precision", precision)
        weights, saved, log = ingot.path("weights.safetensors"), ingot.path("saved"), ingot.path("log.jsonl")
        ingot.succeed([other, *data, "--steps", "0", "--export", weights])
        want, _ = ingot.train(other, *data)
        got, _ = ingot.train(trainer, *data, "--init", weights, "--export", exported)
        check(losses(got) == losses(want), f"{precision}: {losses(got)} for {losses(want)}")
        start, end = (frozen_of(initializers(path)) for path in (changed, exported))
        check(all((start[k] == end[k]).all() for k in start), "the export has other frozen weights")
        ingot.train(trainer, *data, "--init", weights, "--steps", "3", "--save", saved)
        ingot.succeed([trainer, *data, "--resume", saved, "--log", log])
        rest = [json.loads(line)["loss"] for line in log.read_text().splitlines()]
        check(rest == losses(want[3:]), f"{precision}: losses differ after a resume")
        # Weights that are those of the file stay there.
        ingot.succeed([trainer, *data, "--steps", "0", "--export", weights])
        ingot.train(trainer, *data, "--init", weights, "--steps", "3", "--save", ingot.path("again"))


@case("frozen-ranks")
def ranks(ingot):
    """Ranks map one file; what --init replaces, they agree on."""
    data = data_of(ingot)
    changed, weights = ingot.path("changed.onnx"), ingot.path("weights.safetensors")
    change(ingot, changed)
    half = ["--batch", "2", *SIDE[2:], "--data-parallel", "--precision", "bf16"]
    ingot.succeed([ingot.compile(changed, *SIDE), *data, "--steps", "0", "--export", weights])
    for init in ([], ["--init", weights]):
        want, _ = ingot.train(ingot.compile(MODEL, *SIDE, "--precision", "bf16"), *data, *init)
        log = ingot.path("log.jsonl")
        ingot.succeed([*mpirun(2), ingot.compile(MODEL, *half), *data, *init, "--log", log], env=ALONE)
        got = [json.loads(line)["loss"] for line in log.read_text().splitlines()]
        check(np.allclose(got, losses(want), rtol=1e-3), f"{got} for {losses(want)}")
