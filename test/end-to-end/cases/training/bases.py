# SPDX-License-Identifier: Apache-2.0
"""Weights in 4 and 8 bits below adapters: what they stand for, what files hold, and what goes along."""

import json

import numpy as np
import onnxruntime
from cases.training.adapters import FOLDER, GOLDENS, read_tensors, write_tensors
from harness import case, check, check_close, initializers

MODEL, DATA = FOLDER / "llama" / "model.onnx", FOLDER / "llama" / "data.npz"
ADAPTER = ["--adapter", "lora:r=4,alpha=8@all-linear"]
FLAGS = ["--data", DATA, "--lr", "0.01", "--seed", "3"]


def compile_base(ingot, *words):
    return ingot.compile(MODEL, "--loss", "cross-entropy", "--batch", GOLDENS["batch"], *ADAPTER, *words)


def read_header(path):
    bytes_ = path.read_bytes()
    size = int.from_bytes(bytes_[:8], "little")
    return json.loads(bytes_[8 : 8 + size])


@case("bases-train")
def train(ingot):
    """Each encoding trains from weights near those of the model, which stay; exports have what codes stand for."""
    base = initializers(MODEL)
    exact = compile_base(ingot)
    steps, _ = ingot.train(exact, *FLAGS, "--steps", 20)
    for kind, error in (("nf4", 0.2), ("nf4:block=32,double", 0.2), ("fp4", 0.3), ("int4", 0.2), ("int8", 0.01)):
        trainer = compile_base(ingot, "--base", kind)
        start, end, merged, predicted = (
            ingot.path(name) for name in ("start.safetensors", "end.safetensors", "merged.onnx", "predicted.npz")
        )
        ingot.succeed([trainer, *FLAGS, "--steps", 0, "--export", start])
        got, _ = ingot.train(
            trainer, *FLAGS, "--steps", 20, "--export", end, "--eval-data", DATA, "--predict", predicted
        )
        check(abs(got[0]["loss"] - steps[0]["loss"]) < error, f"{kind}: the loss begins at {got[0]['loss']}")
        check(got[-1]["loss"] < got[0]["loss"], f"{kind}: the loss goes from {got[0]['loss']} to {got[-1]['loss']}")
        before, after, encoded = read_tensors(start), read_tensors(end), 0
        check(not any(name.endswith(("/codes", "absmax")) for name in after), f"{kind}: parts are exported")
        for name, value in base.items():
            if name not in before or value.dtype != np.float32:
                continue
            check(np.array_equal(before[name], after[name]), f"{kind}: {name} changes")
            if not np.array_equal(before[name], value):
                encoded += 1
                check_close(f"{kind}: {name}", before[name], value, error * np.abs(value).max())
        # Keys and values have fewer than 1,024.
        check(encoded == 10, f"{kind}: {encoded} weights are encoded")
        # The merged model computes what the trainer does.
        ingot.succeed([trainer, *FLAGS, "--steps", 20, "--export", merged])
        ids = np.load(DATA)["ids"][: GOLDENS["batch"]]
        want = onnxruntime.InferenceSession(merged).run(None, {"ids": ids})[0]
        (name,) = np.load(predicted).files
        check_close(f"{kind}: outputs", np.load(predicted)[name][: len(want)], want, 1e-4)


@case("bases-at-rest")
def at_rest(ingot):
    """The file beside the trainer has codes alone; what is planned has no whole weight."""
    words = ["--weights", "sidecar", "--base", "nf4:double"]
    trainer = compile_base(ingot, *words)
    header = read_header(trainer.with_name(trainer.name + ".safetensors"))
    for name in ("model.layers.0.mlp.up_proj.weight",):
        check(name not in header, f"{name} is in the file")
        check(header[f"{name}/codes"]["dtype"] == "U8", "codes are no bytes")
        check(header[f"{name}.absmax"]["dtype"] == "U8", "scales are no codes")
    folder, out, again = ingot.path("save"), ingot.path("out.onnx"), ingot.path("again.onnx")
    ingot.succeed([trainer, *FLAGS, "--steps", 10, "--export", out])
    ingot.succeed([trainer, *FLAGS, "--steps", 4, "--save", folder])
    ingot.succeed([trainer, *FLAGS, "--resume", folder, "--steps", 10, "--export", again])
    check(out.read_bytes() == again.read_bytes(), "a resumed run differs")
    # Numbers are encoded again, to the same codes.
    start, init = ingot.path("start.safetensors"), ingot.path("init.safetensors")
    write_tensors(init, {name: value for name, value in initializers(MODEL).items() if value.dtype == np.float32})
    ingot.succeed([trainer, *FLAGS, "--steps", 0, "--export", start])
    ingot.succeed([trainer, *FLAGS, "--steps", 0, "--init", init, "--export", again.with_suffix(".safetensors")])
    first, second = read_tensors(start), read_tensors(again.with_suffix(".safetensors"))
    for name, value in first.items():
        check(np.array_equal(value, second[name]), f"{name} differs with --init")


@case("bases-with-others")
def others(ingot):
    """Accumulation, clipping, 16 bits, budgets and ranks go along; others are refused in one line."""
    for words in (
        ["--clip"],
        ["--grad-accumulation", "2"],
        ["--precision", "bf16"],
        ["--memory-budget", "80%"],
        ["-O0"],
    ):
        trainer = compile_base(ingot, "--base", "nf4", *words)
        steps, _ = ingot.train(trainer, *FLAGS, "--steps", 40)
        first, last = (np.mean([step["loss"] for step in part]) for part in (steps[:5], steps[-5:]))
        check(last < first, f"{words}: the loss goes from {first} to {last}")
    base = [MODEL, "-o", ingot.path("t"), "--loss", "cross-entropy", "--batch", "4"]
    for words, said in (
        (["--base", "nf4"], "finds no weight that can be encoded"),
        ([*ADAPTER, "--base", "nf5"], "unknown encoding 'nf5'"),
        ([*ADAPTER, "--base", "nf4", "--data-parallel", "--mesh", "tensor=2"], "is not on a mesh yet"),
        ([*ADAPTER, "--base", "nf4", "--target", "cuda"], "is not on GPUs yet"),
    ):
        ingot.check_error(ingot.ingotc(*base, *words), 2, "--base", said)
