# SPDX-License-Identifier: Apache-2.0
"""A GPT over bytes: against PyTorch, stopped and resumed, on hostile tokens."""

import json
import struct
import sys

from harness import ROOT, case, check, check_relative, initializers

EXAMPLE = ROOT / "docs/examples/bytes"
sys.path.insert(0, str(EXAMPLE))
from tokens import write_tokens  # noqa: E402

GOLDEN = json.loads((EXAMPLE / "losses.json").read_text())
FLAGS = ["--loss", "cross-entropy", "--optimizer", "adamw", "--batch", str(GOLDEN["batch"])]


def trainer_and_data(ingot):
    data = ingot.path("license.bin")
    write_tokens(data, (ROOT / "LICENSE").read_bytes())
    return ingot.compile(EXAMPLE / "bytes.onnx", *FLAGS), data


@case("bytes-pytorch")
def against_pytorch(ingot):
    trainer, data = trainer_and_data(ingot)
    steps, _ = ingot.train(trainer, "--data", data, "--no-shuffle", "--steps", "50", "--lr", str(GOLDEN["lr"]))
    losses = [step["loss"] for step in steps]
    check_relative("loss", losses[:10], GOLDEN["losses"][:10], 1e-4)
    check_relative("loss", losses, GOLDEN["losses"], 1e-3)


@case("bytes-tied")
def tied(ingot):
    """Embedding and output layer stay one parameter, trained from both ends."""
    trainer, data = trainer_and_data(ingot)
    exported = ingot.path("exported.onnx")
    ingot.train(trainer, "--data", data, "--steps", "1", "--lr", "1e-3", "--export", exported)
    before, after = initializers(EXAMPLE / "bytes.onnx"), initializers(exported)
    check(after.keys() == before.keys(), "other initializers than before")
    moved = (after["token.weight"] != before["token.weight"]).any(axis=1)
    # Bytes that the text lacks move through the output layer alone.
    check(moved.all(), f"{(~moved).sum()} rows of the embedding did not move")


@case("bytes-hostile")
def hostile(ingot):
    trainer, data = trainer_and_data(ingot)
    whole = data.read_bytes()
    path = ingot.path("damaged.bin")
    command = [trainer, "--data", path, "--steps", "1"]
    for content, words in (
        (b"", "not a file of tokens"),
        (whole[:1000], "header is truncated"),
        (whole[:-1], "the header says"),
        (whole + b"\0\0", "the header says"),
        (whole[:4] + struct.pack("<i", 7) + whole[8:], "version 7"),
        (whole[:8] + struct.pack("<i", -5) + whole[12:], "the header says -5"),
        (whole[:-2] + struct.pack("<H", 256), "is 256, outside 0 to 255"),
    ):
        path.write_bytes(content)
        ingot.check_error(command, 3, "damaged.bin", words)
