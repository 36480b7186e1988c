# SPDX-License-Identifier: Apache-2.0
"""Weights in 4 and 8 bits below adapters: what they stand for, what files hold, and what goes along."""

import json

import numpy as np
import onnx
import onnxruntime
from cases.training.adapters import FOLDER, GOLDENS, read_tensors, write_tensors
from harness import case, check, check_close, initializers
from onnx import TensorProto, helper

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
        check(header[name]["dtype"] == "U8", "codes are no bytes")
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


def write_halves(path, kind):
    """A perceptron whose weights and products have 16 bits."""
    rng = np.random.default_rng(1)
    weights = []
    for name, shape in (("up.weight", (64, 128)), ("down.weight", (128, 64)), ("head.weight", (64, 8))):
        numbers = (rng.normal(size=shape) * 0.2).astype(np.float32)
        bits = numbers.astype(np.float16) if kind == TensorProto.FLOAT16 else (numbers.view(np.uint32) >> 16)
        raw = bits.tobytes() if kind == TensorProto.FLOAT16 else bits.astype(np.uint16).tobytes()
        weights.append(TensorProto(name=name, dims=shape, data_type=kind, raw_data=raw))
    nodes = [
        helper.make_node("Cast", ["x"], ["x/16"], to=kind),
        helper.make_node("MatMul", ["x/16", "up.weight"], ["up"]),
        helper.make_node("Relu", ["up"], ["relu"]),
        helper.make_node("MatMul", ["relu", "down.weight"], ["down"]),
        helper.make_node("MatMul", ["down", "head.weight"], ["head"]),
        helper.make_node("Cast", ["head"], ["logits"], to=TensorProto.FLOAT),
    ]
    values = [helper.make_tensor_value_info(*value) for value in (("x", 1, ["n", 64]), ("logits", 1, ["n", 8]))]
    graph = helper.make_graph(nodes, "perceptron", values[:1], values[1:], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)


@case("bases-of-16-bits")
def halves(ingot):
    """Weights of 16 bits are encoded as those of 32: losses are near those without, and each is stored in codes."""
    data = ingot.path("data.npz")
    rng = np.random.default_rng(2)
    np.savez(data, x=rng.normal(size=(32, 64)).astype(np.float32), labels=rng.integers(0, 8, 32))
    for kind in (TensorProto.FLOAT16, TensorProto.BFLOAT16):
        model = ingot.path("model.onnx")
        write_halves(model, kind)
        found = []
        for words in ([], ["--base", "nf4", "--weights", "sidecar"]):
            trainer = ingot.compile(model, "--loss", "cross-entropy", "--batch", "8", *ADAPTER, *words)
            steps, _ = ingot.train(trainer, "--data", data, "--steps", 40, "--lr", "0.01", "--seed", "1")
            found.append([step["loss"] for step in steps])
        header = read_header(trainer.with_name(trainer.name + ".safetensors"))
        for name in ("up.weight", "down.weight"):
            check(header[name]["dtype"] == "U8", f"{name} has no codes")
        exact, got = found
        check(abs(got[0] - exact[0]) < 0.3 and got[0] != exact[0], f"the loss begins at {got[0]}, not near {exact[0]}")
        check(got[-1] < 0.1 * got[0], f"the loss goes from {got[0]} to {got[-1]}")


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
    ingot.check_error(ingot.ingotc(*base, "--export-base", "codes"), 2, "--export-base", "no weight is encoded")


def write_model(path, is_folded):
    """Writes the model in operator set 21; folded, with its weights as [inputs, outputs], as exporters have them."""
    model = onnx.load(MODEL)
    model.opset_import[0].version = 21
    graph = model.graph
    del graph.value_info[:]
    tensors = {tensor.name: tensor for tensor in graph.initializer}
    for node in list(graph.node) if is_folded else []:
        if node.op_type != "Transpose" or node.input[0] not in tensors:
            continue
        tensor = tensors[node.input[0]]
        if "proj" not in tensor.name:
            continue
        tensor.CopyFrom(onnx.numpy_helper.from_array(onnx.numpy_helper.to_array(tensor).T.copy(), tensor.name))
        for user in graph.node:
            for i, name in enumerate(user.input):
                if name == node.output[0]:
                    user.input[i] = tensor.name
        graph.node.remove(node)
    onnx.save(model, path)


@case("bases-exported")
def exported(ingot):
    """ONNX Runtime computes what the trainer does, of each form of an exported base; merging is measured."""
    ids, labels = (np.load(DATA)[name][: GOLDENS["batch"]] for name in ("ids", "labels"))

    def infer(path):
        options = onnxruntime.SessionOptions()
        options.add_session_config_entry("session.qdq_matmulnbits_accuracy_level", "1")
        return onnxruntime.InferenceSession(path, options).run(None, {"ids": ids})[0]

    def measure(path):
        """The mean of the cross-entropy of the first batch."""
        logits = infer(path).astype(np.float64)
        logits -= np.log(np.exp(logits).sum(-1, keepdims=True))
        return -np.take_along_axis(logits, labels[..., None].astype(int), -1).mean()

    frozen = ["--freeze", "proj"]
    written = [ingot.path("model.onnx"), ingot.path("folded.onnx")]
    for path, is_folded in zip(written, (False, True)):
        write_model(path, is_folded)
    for number, (base, form, operator) in enumerate((
        ("nf4:block=32,double", "codes", "MatMulBnb4"),
        ("fp4", "codes", "MatMulBnb4"),
        ("int4:block=16", "codes", "MatMulNBits"),
        ("int8:block=16", "codes", "MatMulNBits"),
        ("int4:block=16", "qdq", "DequantizeLinear"),
        ("int8:block=16", "qdq", "DequantizeLinear"),
        ("nf4", "fp16", "Cast"),
        ("nf4", "bf16", "Cast"),
    )):  # fmt: skip
        what, tolerance = f"{base} as {form}", {"fp16": 5e-3, "bf16": 5e-2}.get(form, 1e-4)
        # Without an adapter, three of them: the codes that the trainer has.
        for i, words in enumerate((frozen, ADAPTER) if number in (0, 2, 4) else (ADAPTER,)):
            out, predicted = ingot.path("out.onnx"), ingot.path("predicted.npz")
            flags = ["--base", base, "--export-base", form]
            trainer = ingot.compile(
                written[(number + i) % 2], "--loss", "cross-entropy", "--batch", GOLDENS["batch"], *flags, *words,
            )  # fmt: skip
            # Before it trains, an adapter changes nothing.
            steps = 5 if words == frozen else 0
            ingot.succeed(
                [trainer, *FLAGS, "--steps", steps, "--export", out, "--eval-data", DATA, "--predict", predicted]
            )
            model = onnx.load(out)
            count = sum(node.op_type == operator for node in model.graph.node)
            check(count >= 10, f"{what}: {count} {operator}")
            (name,) = np.load(predicted).files
            check_close(f"{what}: logits", infer(out), np.load(predicted)[name][: len(ids)], tolerance)
        if form in ("fp16", "bf16"):
            continue
        result = ingot.succeed([trainer, *FLAGS, "--steps", 20, "--export", out, "--eval-data", DATA])
        printed = result.out + result.err
        check(printed.count("on average") == 10, f"{what}: {printed}")
        said = float(printed.split("the loss of a batch goes from")[1].split(" to ")[1].split()[0])
        check(abs(said - measure(out)) < 1e-3, f"{what}: the loss is {measure(out)}, {said} was printed")
