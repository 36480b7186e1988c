#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles and trains adapters on a language model of 1.3 billion random weights in 4 bits, and prints what it takes.

billion.py --bin build/release/bin --work DIR                      # 6 GB of disk, and up to 4 GB of memory
billion.py --bin build/release/bin --work DIR --layers 2 --hidden 256 --ffn 688 --vocab 1000    # a small one
"""

import argparse
import json
import os
import pathlib
import subprocess
import time

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


class Writer:
    """A model whose weights are in a file beside it."""

    def __init__(self, folder, dtype):
        self.folder, self.dtype = folder, dtype
        self.nodes, self.tensors, self.count = [], [], 0
        self.file = open(folder / "model.onnx.data", "wb")
        # All weights are cut from one pool, each from another place.
        self.pool = np.random.default_rng(0).standard_normal(1 << 24).astype(np.float32)

    def add(self, op, inputs, name=None, **attributes):
        self.count += 1
        output = f"{name or op}_{self.count}"
        self.nodes.append(helper.make_node(op, inputs, [output], name or output, **attributes))
        return output

    def weight(self, name, shape, scale):
        elements, begin = int(np.prod(shape)), self.file.tell()
        at = (len(self.tensors) * 7919 * 64) % (1 << 23)
        data_type = {"float32": TensorProto.FLOAT, "bfloat16": TensorProto.BFLOAT16}[self.dtype]
        while elements:
            piece = self.pool[at : at + min(elements, 1 << 23)] * np.float32(scale)
            if data_type == TensorProto.BFLOAT16:
                piece = (piece.view(np.uint32) >> 16).astype(np.uint16)
            self.file.write(piece.tobytes())
            elements -= len(piece)
        tensor = TensorProto(name=name, data_type=data_type, dims=shape, data_location=TensorProto.EXTERNAL)
        for key, value in (("location", "model.onnx.data"), ("offset", begin), ("length", self.file.tell() - begin)):
            tensor.external_data.add(key=key, value=str(value))
        self.file.write(b"\0" * (-self.file.tell() % 4096))
        self.tensors.append(tensor)
        if data_type == TensorProto.FLOAT:
            return name
        return self.add("Cast", [name], to=TensorProto.FLOAT)

    def constant(self, name, array):
        self.tensors.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def linear(self, x, path, inputs, outputs):
        weight = self.weight(path + ".weight", [inputs, outputs], inputs**-0.5)
        return self.add("MatMul", [x, weight], path.replace(".", "/"))


def make_model(folder, args):
    w = Writer(folder, args.dtype)
    hidden, heads, tokens = args.hidden, args.hidden // args.head, args.tokens
    eps, two = w.constant("eps", np.float32(1e-5)), w.constant("two", np.float32(2))
    last = w.constant("last", np.array([-1], np.int64))
    apart = w.constant("apart", np.array([0, tokens, heads, args.head], np.int64))
    together = w.constant("together", np.array([0, tokens, hidden], np.int64))
    scale = w.constant("scale", np.float32(args.head**-0.5))
    mask = w.constant("mask", np.tril(np.ones((1, 1, tokens, tokens), bool)))
    lowest = w.constant("lowest", np.finfo(np.float32).min)

    def norm(x, name):
        gain = w.constant(name, np.ones(hidden, np.float32))
        mean = w.add("ReduceMean", [w.add("Pow", [x, two]), last], keepdims=1)
        return w.add("Mul", [w.add("Div", [x, w.add("Sqrt", [w.add("Add", [mean, eps])])]), gain])

    def split(x, perm):
        return w.add("Transpose", [w.add("Reshape", [x, apart])], perm=perm)

    x = w.add("Gather", [w.weight("embed.weight", [args.vocab, hidden], 1), "ids"])
    x = w.add("Add", [x, w.weight("positions", [tokens, hidden], 0.1)])
    for i in range(args.layers):
        path = f"layers.{i}."
        y = norm(x, path + "norm1")
        q, k, v = (w.linear(y, f"{path}attn.{name}_proj", hidden, hidden) for name in "qkv")
        scores = w.add("Mul", [w.add("MatMul", [split(q, [0, 2, 1, 3]), split(k, [0, 2, 3, 1])]), scale])
        share = w.add("Softmax", [w.add("Where", [mask, scores, lowest])], axis=-1)
        y = w.add("Transpose", [w.add("MatMul", [share, split(v, [0, 2, 1, 3])])], perm=[0, 2, 1, 3])
        x = w.add("Add", [x, w.linear(w.add("Reshape", [y, together]), path + "attn.o_proj", hidden, hidden)])
        y = norm(x, path + "norm2")
        gate = w.linear(y, path + "mlp.gate_proj", hidden, args.ffn)
        gate = w.add("Mul", [gate, w.add("Sigmoid", [gate])])
        y = w.add("Mul", [gate, w.linear(y, path + "mlp.up_proj", hidden, args.ffn)])
        x = w.add("Add", [x, w.linear(y, path + "mlp.down_proj", args.ffn, hidden)])
    logits = w.linear(norm(x, "norm"), "lm_head", hidden, args.vocab)
    w.nodes[-1].output[0] = "logits"
    assert logits != "logits"
    graph = helper.make_graph(
        w.nodes, "g",
        [helper.make_tensor_value_info("ids", TensorProto.INT64, ["n", tokens])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["n", tokens, args.vocab])],
        w.tensors,
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    w.file.close()
    onnx.save(model, folder / "model.onnx")
    source = np.random.default_rng(1)
    ids = source.integers(0, args.vocab, (8, tokens))
    np.savez(folder / "data.npz", ids=ids, labels=source.integers(0, args.vocab, (8, tokens)))


def read_status(pid):
    fields = {}
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        name, _, value = line.partition(":")
        if value.strip().endswith("kB"):
            fields[name] = int(value.split()[0]) / 2**20
    return fields


def run(command, log):
    """Returns the seconds, and the most memory at a time, all of it and without files' pages, in GiB."""
    begin, peak, own = time.time(), 0.0, 0.0
    with open(log, "w") as output:
        process = subprocess.Popen([str(word) for word in command], stdout=output, stderr=output)
        while process.poll() is None:
            try:
                status = read_status(process.pid)
                peak, own = max(peak, status.get("VmHWM", 0)), max(own, status.get("RssAnon", 0))
            except (FileNotFoundError, ProcessLookupError):
                pass
            time.sleep(0.05)
    if process.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}: exit {process.returncode}\n{pathlib.Path(log).read_text()}")
    return time.time() - begin, peak, own


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    for name, value in (
        ("layers", 24), ("hidden", 2048), ("ffn", 5504), ("vocab", 32000), ("head", 128), ("tokens", 512), ("steps", 3)
    ):  # fmt: skip
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--dtype", choices=["float32", "bfloat16"], default="float32")
    parser.add_argument("--budget", help="also with this --memory-budget")
    parser.add_argument("--ranks", type=int, help="also with that many ranks")
    args = parser.parse_args()
    args.work.mkdir(parents=True, exist_ok=True)
    model = args.work / "model.onnx"
    if not model.exists():
        make_model(args.work, args)
    flags = [
        "--batch", 1, "--loss", "cross-entropy", "--optimizer", "adamw", "--precision", "bf16", "--weights", "sidecar",
        "--adapter", "lora:r=16,alpha=32@all-linear", "--base", "nf4:double",
    ]  # fmt: skip
    variants = {"plain": []} | ({"budget": ["--memory-budget", args.budget]} if args.budget else {})
    results = {}
    for name, more in variants.items():
        trainer = args.work / f"trainer-{name}"
        seconds, peak, own = run([args.bin / "ingotc", model, "-o", trainer, *flags, *more], args.work / "compile.log")
        print(f"{name}: ingotc {seconds:.0f} s, {peak:.2f} GiB resident, {own:.2f} of its own", flush=True)
        log = args.work / f"{name}.jsonl"
        words = ["--data", args.work / "data.npz", "--steps", args.steps, "--lr", "1e-4", "--log", log]
        seconds, peak, own = run([trainer, *words], args.work / "train.log")
        steps = [json.loads(line) for line in log.read_text().splitlines()]
        steps = [step for step in steps if "loss" in step and "step" in step]
        each = (seconds) / max(len(steps), 1)
        results[name] = each
        print(
            f"{name}: {args.steps} steps in {seconds:.0f} s, {peak:.2f} GiB resident, {own:.2f} of its own, "
            f"losses {[round(step['loss'], 3) for step in steps]}",
            flush=True,
        )
    if len(results) == 2:
        print(f"budget: {results['budget'] / results['plain']:.2f} times as long")


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
