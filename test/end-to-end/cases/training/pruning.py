# SPDX-License-Identifier: Apache-2.0
"""Pruned weights: exact shares after each step, patterns along the reduced dimension, and what files hold."""

import json

import numpy as np
import onnx
from harness import ROOT, case, check, check_close, golden, initializers
from launch import ALONE, compile_for, losses
from onnx import TensorProto, helper, numpy_helper

G = golden("mlp")
WEIGHTS = ["net.0.weight", "net.2.weight", "net.4.weight"]
FLAGS = ["--data", G.data, "--lr", "0.01", "--seed", "3"]
TYPES = {"F32": np.float32, "F64": np.float64, "U8": np.uint8, "I64": np.int64, "BF16": np.uint16}


def read_state(folder):
    """All states of a checkpoint; bf16 as bits."""
    bytes_ = (folder / "state.safetensors").read_bytes()
    size = int.from_bytes(bytes_[:8], "little")
    header = json.loads(bytes_[8 : 8 + size])
    header.pop("__metadata__", None)
    data = bytes_[8 + size :]
    return {
        name: np.frombuffer(data[slice(*of["data_offsets"])], TYPES[of["dtype"]]).reshape(of["shape"])
        for name, of in header.items()
    }


def unpack(bits, shape):
    return np.unpackbits(bits.ravel(), bitorder="little")[: np.prod(shape)].reshape(shape).astype(bool)


def check_state(what, state, counts):
    """Exactly that many elements of each weight are zero: those whose bits are set, with all moments."""
    for name, count in counts.items():
        weight = state[name]
        pruned = unpack(state[name + "/pruned"], weight.shape)
        check(pruned.sum() == count, f"{what}: {name} has {pruned.sum()} bits, expected {count}")
        check(((weight == 0) == pruned).all(), f"{what}: {name} has {(weight == 0).sum()} zeros, not those of bits")
        for key, moment in state.items():
            if key.startswith(name + "/") and moment.shape == weight.shape and moment.dtype != np.uint8:
                check(not moment[pruned].any(), f"{what}: {key} is not zero where the weight is pruned")


def smallest(weight, count):
    """The first of the smallest, as torch.nn.utils.prune.l1_unstructured takes them."""
    chosen = np.zeros(weight.size, bool)
    chosen[np.argsort(np.abs(weight).ravel(), kind="stable")[:count]] = True
    return chosen.reshape(weight.shape)


def cubic(share, step, begin, end, every):
    if step >= end:
        return share
    taken = max(step - begin, 0) // every * every
    return share * (1 - (1 - taken / (end - begin)) ** 3)


@case("pruning-shares")
def shares(ingot):
    """The share of zeros is exact after every step of each optimizer, and so is what is chosen."""
    base = initializers(G.model)
    for optimizer, words in (
        ("adamw", []),
        ("momentum", ["--clip"]),
        ("muon", []),
        ("lion", ["--optimizer-precision", "bf16"]),
        ("schedule-free-adamw", []),
        ("adamw", ["--precision", "bf16", "--grad-accumulation", "2", "--guard"]),
        ("adamw", ["--precision", "fp16"]),
        ("adafactor", ["-O0"]),
    ):
        what = " ".join([optimizer, *words])
        trainer = ingot.compile(G.model, *G.compile_flags(optimizer), *words, "--prune", "0.3")
        saved, exported = ingot.path("saved"), ingot.path("out.onnx")
        counts = {name: round(0.3 * base[name].size) for name in WEIGHTS}
        share = sum(counts.values()) / sum(base[name].size for name in WEIGHTS)
        rows, _ = ingot.train(
            trainer, *FLAGS, "--steps", 4, "--save", saved, "--save-every", 1, "--keep", 9, "--export", exported
        )
        check([row["pruned"] for row in rows] == [share] * 4, f"{what}: the log has {[r['pruned'] for r in rows]}")
        for step in range(1, 5):
            check_state(f"{what}: step {step}", read_state(saved / f"step-{step}"), counts)
        got = initializers(exported)
        for name in WEIGHTS:
            check((got[name] == 0).sum() == counts[name], f"{what}: {name} has {(got[name] == 0).sum()} zeros")
            check((got[name] == 0)[smallest(base[name], counts[name])].all(), f"{what}: {name} has others at zero")
        check((got["net.0.bias"] != 0).any(), f"{what}: a bias is pruned")
    text = ingot.succeed([trainer, *FLAGS, "--steps", 0, "--export", exported]).err
    check(f"pruned: {sum(counts.values())} of 33360 elements of 3 weights (30.00 %)" in text, f"it ends with {text}")


@case("pruning-schedule")
def schedule(ingot):
    """A cubic schedule reaches its share; a run that is cut and resumed has the same bits."""
    base = initializers(G.model)
    rule = (0.7, 2, 9, 3)
    for words in ([], ["--precision", "bf16"]):
        trainer = ingot.compile(
            G.model, *G.compile_flags("adamw"), *words, "--prune", "0.7,schedule=2:9:3@net.0",
            "--prune", "0.25,schedule=5@^net.2",
        )  # fmt: skip
        whole, first, rest = (ingot.path(name) for name in ("whole", "first", "rest"))
        keep = ["--save-every", 1, "--keep", 20]
        rows, _ = ingot.train(trainer, *FLAGS, "--steps", 11, "--save", whole, *keep)
        total = base["net.0.weight"].size + base["net.2.weight"].size
        for step, row in enumerate(rows, 1):
            counts = {
                "net.0.weight": round(cubic(rule[0], step, *rule[1:]) * base["net.0.weight"].size),
                "net.2.weight": round((0.25 if step >= 5 else 0) * base["net.2.weight"].size),
            }
            state = read_state(whole / f"step-{step}")
            check_state(f"step {step}", state, counts)
            check("net.4.weight/pruned" not in state, "a weight that no rule names has bits")
            check(row["pruned"] == sum(counts.values()) / total, f"step {step}: the log has {row['pruned']}")
        ingot.train(trainer, *FLAGS, "--steps", 5, "--save", first, *keep)
        log = ingot.path("resumed.jsonl")
        ingot.succeed([trainer, *FLAGS[:-2], "--steps", 11, "--resume", first, "--save", rest, *keep, "--log", log])
        for step in range(6, 12):
            want, got = read_state(whole / f"step-{step}"), read_state(rest / f"step-{step}")
            for name in want:
                check(np.array_equal(want[name], got[name]), f"step {step}: {name} differs after a resume")


def both_ways(path, draw):
    """Two linear layers, whose weights are stored as [out, in] and as [in, out], after a convolution."""
    shapes = {"filter": (8, 4, 3, 3), "rows": (16, 72), "columns": (16, 12)}
    tensors = [numpy_helper.from_array(draw(shape).astype(np.float32) / 8, name) for name, shape in shapes.items()]
    graph = helper.make_graph(
        [
            helper.make_node("Conv", ["x", "filter"], ["c"]),
            helper.make_node("Flatten", ["c"], ["f"]),
            helper.make_node("Gemm", ["f", "rows"], ["r"], transB=1),
            helper.make_node("Tanh", ["r"], ["t"]),
            helper.make_node("MatMul", ["t", "columns"], ["y"]),
        ],
        "both",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 4, 5, 5])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 12])],
        tensors,
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return {name: numpy_helper.to_array(tensor) for name, tensor in zip(shapes, tensors)}


def as_groups(name, weight, size):
    """Groups of inputs as the last dimension."""
    dim = 0 if name == "columns" else 1
    weight = np.moveaxis(weight, dim, -1)
    return weight.reshape(-1, weight.shape[-1] // size, size)


@case("pruning-patterns")
def patterns(ingot):
    """2:4 is along the reduced dimension in both layouts and of filters, and blocks are of outputs by inputs."""
    rng = np.random.default_rng(0)
    model, data = ingot.path("both.onnx"), ingot.path("data.npz")
    base = both_ways(model, rng.standard_normal)
    np.savez(
        data, x=rng.standard_normal((64, 4, 5, 5)).astype(np.float32), labels=rng.integers(0, 12, 64).astype(np.int64)
    )
    words, run = ["--loss", "cross-entropy", "--batch", 16], ["--data", data, "--lr", 0.01, "--no-shuffle"]
    for kept, size, layers in ((2, 4, base), (1, 2, base), (3, 8, ["rows", "columns"])):
        names = "|".join(layers)
        trainer = ingot.compile(model, *words, "--prune", f"{kept}:{size}@^({names})$")
        for steps in (0, 1, 5):
            exported = ingot.path("out.onnx")
            ingot.succeed([trainer, *run, "--steps", steps, "--export", exported])
            got = initializers(exported)
            for name in layers:
                groups = as_groups(name, got[name], size)
                check(((groups != 0).sum(-1) == kept).all(), f"{kept}:{size}: {name} after step {steps}")
                if steps == 0:
                    order = np.argsort(np.abs(as_groups(name, base[name], size)), -1)[..., : size - kept]
                    zeros = np.take_along_axis(groups, order, -1) == 0
                    check(zeros.all(), f"{kept}:{size}: {name} has others at zero")
    trainer = ingot.compile(model, *words, "--prune", "block:4x2,share=0.3")
    exported = ingot.path("out.onnx")
    ingot.succeed([trainer, *run, "--steps", 3, "--export", exported])
    for name, weight in initializers(exported).items():
        matrix = weight.T if name == "columns" else weight.reshape(*weight.shape[:2], -1)
        matrix = matrix.reshape(matrix.shape[0] // 4, 4, matrix.shape[1] // 2, 2, -1)
        zeros = (matrix == 0).sum((1, 3))
        check(set(np.unique(zeros)) == {0, 8}, f"blocks of {name} have {np.unique(zeros)} zeros")
        check((zeros == 8).sum() == round(0.3 * zeros.size), f"{name} has {(zeros == 8).sum()} of {zeros.size} blocks")
    # Of equal weights the first are pruned.
    both_ways(model, lambda shape: 1 - 2 * rng.integers(0, 2, shape))
    trainer = ingot.compile(model, *words, "--prune", "0.3")
    ingot.succeed([trainer, *run, "--steps", 0, "--export", exported])
    for name, weight in initializers(exported).items():
        count = round(0.3 * weight.size)
        check(not weight.ravel()[:count].any() and weight.ravel()[count:].all(), f"{name} lost others than the first")


@case("pruning-memory")
def memory(ingot):
    """A bit for each element, to the byte, and the step is the same step where nothing is pruned yet."""
    words = G.compile_flags("adamw")
    plain, pruned = ingot.compile(G.model, *words), ingot.compile(G.model, *words, "--prune", "0.5,schedule=3")
    before, after = (json.loads(ingot.succeed([t, "--inspect=json"]).out) for t in (plain, pruned))
    sizes = [initializers(G.model)[name].size for name in WEIGHTS]
    bits = sum((size // 8 + 63) // 64 * 64 for size in sizes)
    added = after["optimizer_bytes"] - before["optimizer_bytes"]
    check(added == bits, f"{added} B more for the bits of {sizes}, expected {bits}")
    check(after["peak_bytes"] - before["peak_bytes"] == bits, "the peak has more than the bits")
    want, _ = ingot.train(plain, *FLAGS, "--steps", 4)
    got, _ = ingot.train(pruned, *FLAGS, "--steps", 4)
    same = [a["loss"] == b["loss"] for a, b in zip(want, got)]
    check(same == [True, True, True, False], f"losses are those of no pruning in {same}")


@case("pruning-ranks")
def ranks(ingot):
    """Ranks prune alike, with gradients, moments and updates in shards; averages of weights are pruned, too."""
    rule = ["--prune", "0.5,schedule=1:5:2"]
    names = ["--steps", 6, "--no-shuffle"]
    base = initializers(G.model)
    counts = {name: round(0.5 * base[name].size) for name in WEIGHTS}
    exported, average = ingot.path("two.onnx"), ingot.path("average.onnx")
    one = compile_for(ingot, G, "adamw", 1, *rule)
    want = losses(ingot, 1, one, *FLAGS, *names)
    ingot.succeed([one, *FLAGS, *names, "--ema", 0.5, "--export", average], env=ALONE)
    for name, count in counts.items():
        check((initializers(average)[name] == 0).sum() == count, f"--ema: {name} is not pruned")
    for words in ([], ["--zero", 1], ["--zero", 2, "--clip"], ["--zero", 2, "--precision", "bf16"]):
        trainer = compile_for(ingot, G, "adamw", 2, *rule, *words)
        rows = losses(ingot, 2, trainer, *FLAGS, *names, "--check-ranks", 1, "--export", exported)
        # Of weights that are as large as others, rounding says which is pruned.
        if "--precision" not in words and "--clip" not in words:
            check_close(f"{words}: losses", rows, want, 1e-3)
        got = initializers(exported)
        for name, count in counts.items():
            check((got[name] == 0).sum() == count, f"{words}: {name} has {(got[name] == 0).sum()} zeros of {count}")


@case("pruning-usage")
def usage(ingot):
    """Wrong rules, and what does not go along, are one line."""
    out = ingot.path("trainer")
    for rules, words in (
        (["2"], ["'2' says not how much"]),
        (["0.5,schedule=a"], ["'a' is no schedule"]),
        (["0.5@net.9"], ["'net.9' matches no parameter"]),
        (["block:3x4@net.2"], ["'net.2.weight': 40 outputs are no multiple of 3"]),
        (["0.5@["], ["--prune"]),
    ):
        flags = [word for rule in rules for word in ("--prune", rule)]
        ingot.check_error(ingot.ingotc(G.model, "-o", out, *G.compile_flags("adamw"), *flags), 2, *words)
    for others, word in (
        (["--target", "cuda"], "not on GPUs yet"),
        (["--data-parallel", "--mesh", "tensor=2"], "not on a mesh yet"),
        (["--data-parallel", "--zero", "3"], "needs whole weights"),
        (["--adapter", "lora:r=2@all-linear"], "needs weights that are trained"),
    ):
        command = ingot.ingotc(G.model, "-o", out, *G.compile_flags("adamw"), "--prune", "0.5", *others)
        ingot.check_error(command, 2, "--prune", word)


@case("pruning-language")
def language(ingot):
    """A GPT with tied embeddings: its layers are pruned, its table is not, and it trains."""
    model, tokens = ROOT / "docs/examples/bytes/bytes.onnx", ingot.path("tokens.bin")
    ingot.succeed(["python3", ROOT / "docs/examples/bytes/tokens.py", tokens, ROOT / "LICENSE"])
    flags = ["--batch", 4, "--loss", "cross-entropy:2", "--precision", "bf16", "--prune", "2:4"]
    trainer, exported = ingot.compile(model, *flags), ingot.path("out.onnx")
    rows, _ = ingot.train(
        trainer, "--data", tokens, "--steps", 12, "--no-shuffle", "--lr", "1e-3", "--export", exported
    )
    check(rows[-1]["loss"] < rows[0]["loss"] - 0.5, f"the loss goes from {rows[0]['loss']} to {rows[-1]['loss']}")
    for name, value in initializers(exported).items():
        if value.ndim == 2 and "blocks" in name:
            groups = value.reshape(-1, 4)
            check(((groups != 0).sum(-1) == 2).all(), f"{name} is not 2:4 along its inputs")
        elif value.dtype == np.float32:
            check((value == 0).mean() < 0.5 or value.ndim < 2, f"{name} is pruned")
