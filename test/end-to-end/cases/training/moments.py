# SPDX-License-Identifier: Apache-2.0
"""Moments of optimizers as codes of 8 bits (--optimizer-precision dyn8)."""

import json
import struct

import moment_goldens as goldens
import numpy as np
import onnx
import onnx.helper as oh
import onnx.numpy_helper
from harness import HERE, ROOT, case, check, check_relative, golden, initializers
from launch import ALONE, mpirun

RECORD = np.load(HERE / "goldens-moments.npz")
DYN8 = ["--optimizer-precision", "dyn8"]
G = golden("mlp")


def write_model(path):
    """The loss is sum(weights * input): its gradient is the input."""
    nodes, inputs, sums = [], [], []
    for name, shape in goldens.SHAPES.items():
        inputs.append(oh.make_tensor_value_info(f"g_{name}", onnx.TensorProto.FLOAT, [1, *shape]))
        nodes.append(oh.make_node("Mul", [name, f"g_{name}"], [f"{name}_product"]))
        nodes.append(oh.make_node("ReduceSum", [f"{name}_product"], [f"{name}_sum"], keepdims=0))
        sums.append(f"{name}_sum")
    nodes.append(oh.make_node("Sum", sums, ["loss"]))
    output = oh.make_tensor_value_info("loss", onnx.TensorProto.FLOAT, [])
    weights = [onnx.numpy_helper.from_array(v, k) for k, v in goldens.initial().items()]
    graph = oh.make_graph(nodes, "fixed_gradients", inputs, [output], weights)
    onnx.save(oh.make_model(graph, opset_imports=[oh.make_opsetid("", 18)], ir_version=9), path)


def read_states(folder):
    """The tensors of the last checkpoint in a folder, as arrays of one dimension."""
    types = {"U8": np.uint8, "F32": np.float32, "I64": np.int64, "F64": np.float64, "BF16": np.uint16}
    states = {}
    for path in sorted(folder.rglob("*.safetensors")):
        data = path.read_bytes()
        (size,) = struct.unpack("<Q", data[:8])
        for name, about in json.loads(data[8 : 8 + size]).items():
            if name != "__metadata__":
                first, end = about["data_offsets"]
                states[name] = np.frombuffer(data[8 + size + first : 8 + size + end], types[about["dtype"]])
    return states


def list_flags(optimizer):
    """The flags of a trainer for the hyperparameters of the goldens."""
    names = {"eps": "eps", "weight_decay": "weight-decay", "beta1": "beta1", "beta2": "beta2"}
    # The mean of squares of rmsprop, and momentum, have names of their own.
    if optimizer in ("rmsprop", "momentum"):
        names["beta1"] = {"rmsprop": "alpha", "momentum": "momentum"}[optimizer]
    return [str(x) for key, value in goldens.OPTIMIZERS[optimizer][1].items() for x in (f"--{names[key]}", value)]


def train_codes(ingot, optimizer):
    """Trains as the goldens were, and returns the states of the checkpoint."""
    model, data, saved = ingot.path("model.onnx"), ingot.path("gradients.npz"), ingot.path("saved")
    write_model(model)
    np.savez(data, **{f"g_{name}": v for name, v in goldens.gradients().items()})
    trainer = ingot.compile(model, "--loss", "output:loss", "--optimizer", optimizer, *DYN8)
    flags = list_flags(optimizer)
    ingot.train(
        trainer, "--data", data, "--no-shuffle", "--steps", str(goldens.STEPS), "--lr", str(goldens.LR),
        "--save", saved, *flags,
    )  # fmt: skip
    return read_states(saved)


@case("moments-codes")
def codes(ingot):
    """Codes are those of bitsandbytes except for ties; small parameters have moments in fp32."""
    for optimizer, (_, _, states) in goldens.OPTIMIZERS.items():
        found = train_codes(ingot, optimizer)
        for state in states:
            check(found[f"small/{state}"].dtype == np.float32, f"{optimizer}: small/{state} is encoded")
            for key in ("even", "odd"):
                got = found[f"{key}/{state}/codes"].astype(int)
                want = RECORD[f"{optimizer}/{key}/{state}"].astype(int)
                share = np.mean(got != want)
                check(share < 0.01, f"{optimizer}: {share:.2%} of {key}/{state} differ")


def write_layers(path):
    """Two layers, whose weights end within a block."""
    rng = np.random.default_rng(5)
    weights = {
        "up": rng.standard_normal((20, 251)).astype(np.float32) / 5,
        "bias": np.zeros(251, np.float32),
        "down": rng.standard_normal((251, 17)).astype(np.float32) / 16,
    }
    nodes = [
        oh.make_node("Gemm", ["x", "up", "bias"], ["sum"]),
        oh.make_node("Relu", ["sum"], ["hidden"]),
        oh.make_node("MatMul", ["hidden", "down"], ["y"]),
    ]
    graph = oh.make_graph(
        nodes,
        "layers",
        [oh.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["N", 20])],
        [oh.make_tensor_value_info("y", onnx.TensorProto.FLOAT, ["N", 17])],
        [onnx.numpy_helper.from_array(v, k) for k, v in weights.items()],
    )
    onnx.save(oh.make_model(graph, opset_imports=[oh.make_opsetid("", 18)], ir_version=9), path)


def make_layers(ingot):
    model, data = ingot.path("layers.onnx"), ingot.path("data.npz")
    write_layers(model)
    rng = np.random.default_rng(6)
    np.savez(data, x=rng.standard_normal((512, 20)).astype(np.float32), labels=rng.integers(0, 17, 512))
    return model, ["--data", data, "--no-shuffle"]


def losses(rows):
    return [row["loss"] for row in rows]


@case("moments-resume")
def resume(ingot):
    """A run goes on bit for bit, with clipping, micro-batches and groups, whose moments stay as they are while they
    are frozen; and from moments in fp32."""
    model, data = make_layers(ingot)
    common = ["--loss", "cross-entropy", "--batch", "16"]
    for flags in (
        [],
        ["--clip", "--grad-accumulation", "2"],
        ["--precision", "bf16", "--group", "late=down", "--optimizer", "lion"],
        ["-O0"],
    ):
        rest = ["--group", "late:lr=0.5,freeze-until=2"] if "--group" in flags else []
        trainer = ingot.compile(model, *common, *flags, *DYN8)
        exported, again, saved = ingot.path("a.onnx"), ingot.path("b.onnx"), ingot.path("saved")
        whole, _ = ingot.train(trainer, *data, *rest, "--steps", "8", "--export", exported)
        ingot.train(trainer, *data, *rest, "--steps", "4", "--save", saved)
        log = ingot.path("log.jsonl")
        ingot.succeed([trainer, *data, "--steps", "8", "--resume", saved, "--log", log, "--export", again])
        check([json.loads(line)["loss"] for line in log.read_text().splitlines()] == losses(whole[4:]), f"{flags}")
        a, b = initializers(exported), initializers(again)
        check(all(np.array_equal(a[k], b[k]) for k in a), f"{flags}: parameters differ after a resume")
    plain = ingot.compile(model, *common)
    trainer = ingot.compile(model, *common, *DYN8)
    saved, log = ingot.path("plain"), ingot.path("log.jsonl")
    want, _ = ingot.train(plain, *data, "--steps", "8")
    ingot.train(plain, *data, "--steps", "4", "--save", saved)
    ingot.succeed([trainer, *data, "--steps", "8", "--resume", saved, "--log", log])
    check_relative("from fp32", [json.loads(line)["loss"] for line in log.read_text().splitlines()],
                   losses(want[4:]), 1e-2)  # fmt: skip


@case("moments-memory")
def memory(ingot):
    """A moment takes a byte and a 64th of one a parameter, and no buffer has the decoded ones."""
    model, _ = make_layers(ingot)
    plans = {}
    for precision in ("fp32", "dyn8"):
        trainer = ingot.compile(model, "--loss", "cross-entropy", "--batch", "16", "--optimizer-precision", precision)
        plans[precision] = json.loads(ingot.succeed([trainer, "--inspect=json"]).out)
    encoded, small = 20 * 251 + 251 * 17, 251
    want = 2 * (encoded + 4 * sum(-(-n // 256) for n in (20 * 251, 251 * 17)) + 4 * small)
    got = plans["dyn8"]["optimizer_bytes"]
    check(want <= got <= want + 8 * 64 + 64, f"{got} B of the optimizer, not {want}")
    saved = plans["fp32"]["peak_bytes"] - plans["dyn8"]["peak_bytes"]
    least = plans["fp32"]["optimizer_bytes"] - got - 4096 - 8 * 3073
    check(saved >= least, f"{saved} B less, not {least}")


@case("moments-zero")
def zero(ingot):
    """Ranks have shards of whole blocks, whose codes are those of one rank; another number of ranks goes on."""
    model, data = make_layers(ingot)

    def run(ranks, trainer, *flags):
        log, saved = ingot.path("log.jsonl"), ingot.path("saved")
        ingot.succeed([*mpirun(ranks), trainer, *data, "--log", log, "--save", saved, *flags], env=ALONE)
        return [json.loads(line)["loss"] for line in log.read_text().splitlines()], saved

    def compile_with(batch, *flags):
        return ingot.compile(model, "--loss", "cross-entropy", "--batch", str(batch), *DYN8, *flags)

    want, _ = ingot.train(compile_with(16), *data, "--steps", "12")
    for stage in ("1", "2", "3"):
        for ranks in (2, 4):
            trainer = compile_with(16 // ranks, "--data-parallel", "--zero", stage, "--bucket-mb", "0.01")
            got, saved = run(ranks, trainer, "--steps", "12")
            check_relative(f"stage {stage}, {ranks} ranks", got, losses(want), 1e-3)
    before, saved = run(4, trainer, "--steps", "6")
    other = compile_with(8, "--data-parallel", "--zero", "2")
    after, _ = run(2, other, "--steps", "12", "--resume", saved)
    check_relative("on two ranks", [*before, *after], losses(want), 1e-3)


@case("moments-curve")
def curve(ingot):
    """A language model learns as with moments in fp32."""
    folder = ROOT / "docs/examples/bytes"
    tokens = ingot.path("tokens.bin")
    ingot.succeed(["python3", folder / "tokens.py", tokens, ROOT / "LICENSE"])
    results = {}
    for precision in ("fp32", "dyn8"):
        flags = ["--batch", "4", "--loss", "cross-entropy:2", "--optimizer-precision", precision]
        trainer = ingot.compile(folder / "bytes.onnx", *flags)
        rows, _ = ingot.train(trainer, "--data", tokens, "--lr", "3e-4", "--steps", "60")
        results[precision] = [np.mean(losses(rows)[i : i + 20]) for i in range(0, 60, 20)]
    check_relative("losses", results["dyn8"], results["fp32"], 0.01)


@case("moments-refused")
def refused(ingot):
    """What needs more than blocks is refused, with the reason."""
    for flags, words in (
        (["--optimizer", "lamb"], ["dyn8", "norms of whole updates"]),
        (["--optimizer", "adafactor"], ["dyn8", "adafactor"]),
        (["--optimizer", "muon"], ["dyn8", "products of whole matrices"]),
        (["--optimizer", "schedule-free-adamw"], ["dyn8", "schedule-free-adamw"]),
        (["--target", "cuda"], ["dyn8 is not on GPUs yet"]),
        (["--data-parallel", "--mesh", "tensor=2"], ["dyn8 is not on a mesh yet"]),
        (["--prune", "0.2"], ["moments in dyn8 are not pruned yet"]),
    ):
        common = ["--loss", "cross-entropy", "--batch", "4", "-o", ingot.path("t")]
        command = ingot.ingotc(G.model, *common, *DYN8, *flags)
        ingot.check_error(command, 2, "--optimizer-precision", *words)
    model, data = make_layers(ingot)
    common = [model, "--loss", "cross-entropy", "--batch", "16"]
    encoded, plain = ingot.compile(*common, *DYN8), ingot.compile(*common)
    saved = ingot.path("saved")
    ingot.train(encoded, *data, "--steps", "2", "--save", saved)
    ingot.check_error([plain, *data, "--steps", "4", "--resume", saved], 3, "no state 'up/exp_avg'")
