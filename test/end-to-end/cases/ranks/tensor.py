# SPDX-License-Identifier: Apache-2.0
"""Ranks that have parts of each layer (--mesh tensor=N)."""

import json
import os
import re

import numpy as np
from harness import HERE, Skip, case, check, check_close, golden, initializers, read_log
from launch import ALONE, compile_for, losses, mpirun, run_ranks

STEPS = 20
# The models of these tests are too small to be worth it.
SPLIT = {
    "mlp": ["--partition", "net.0.weight=0:tensor", "--partition", "net.4.weight=0:tensor"],
    "cnn": ["--partition", "conv=0:tensor"],
}


def compile_mesh(ingot, g, optimizer, batches, tensor, *flags, split=()):
    """A trainer of which each of `batches` groups of ranks has a part of the batch."""
    return compile_for(ingot, g, optimizer, batches, "--mesh", f"tensor={tensor}", *split, *flags)


@case("tensor-losses")
def equal(ingot):
    """Meshes, ZeRO stages, micro-batches and optimizers make no difference, and two runs have the same bits."""
    g = golden("mlp")
    flags = ["--data", g.data, "--steps", STEPS, "--seed", "5", "--eval-data", g.data]
    for optimizer, ways in {
        "adamw": ((1, 2, 1, []), (2, 2, 1, ["--zero", "2"]), (1, 5, 1, []), (2, 2, 2, ["--zero", "1"])),
        "sgd": ((2, 2, 2, []), (2, 2, 1, ["--zero", "3"])),
    }.items():
        want = run_ranks(ingot, 1, compile_for(ingot, g, optimizer, 1), *flags)
        for data, tensor, accumulation, options in ways:
            trainer = compile_mesh(
                ingot, g, optimizer, data * accumulation, tensor, *options,
                "--bucket-mb", "0.01", "--grad-accumulation", str(accumulation), split=SPLIT["mlp"],
            )  # fmt: skip
            got = run_ranks(ingot, data * tensor, trainer, *flags)
            what = f"{optimizer}, data {data}, tensor {tensor}, {accumulation} micro-batches, {options}"
            check_close(what, [s["loss"] for s in got[0]], [s["loss"] for s in want[0]], 1e-5)
            for key in ("eval_loss", "eval_accuracy"):
                check_close(f"{what}: {key}", got[1][-1][key], want[1][-1][key], 1e-5)
        again = run_ranks(ingot, data * tensor, trainer, *flags)
        check([s["loss"] for s in again[0]] == [s["loss"] for s in got[0]], f"{what}: other bits")


@case("tensor-models")
def models(ingot):
    """Convolutions, gradients that are clipped, and 16 bits."""
    for name, optimizer, options, tolerance in (
        ("cnn", "momentum", [], 1e-5),
        ("mlp", "adamw", ["--clip", "--guard"], 1e-5),
        ("mlp", "adamw", ["--precision", "bf16"], 1e-2),
        ("mlp", "adamw", ["--precision", "fp16", "--clip"], 1e-2),
    ):
        g = golden(name)
        flags = ["--data", g.data, "--steps", STEPS, "--no-shuffle"]
        want = losses(ingot, 1, compile_for(ingot, g, optimizer, 1, *options), *flags)
        trainer = compile_mesh(ingot, g, optimizer, 1, 2, *options, split=SPLIT[name])
        check_close(f"{name} {options}", losses(ingot, 2, trainer, *flags), want, tolerance)


@case("tensor-language")
def language(ingot):
    """Heads, packed or not, hidden units and the vocabulary of language models, and four ranks in all ways."""
    tokens = ingot.path("tokens.bin")
    np.random.default_rng(0).integers(0, 64, 200 * 8 + 1).astype(np.uint16).tofile(tokens)
    flags = ["--data", f"{tokens}:u16", "--steps", STEPS, "--seed", 3]
    packed = ("c_attn.weight=1:tensor", "c_fc.weight=1:tensor")
    blocks = ("qkv.weight=0:tensor", "up.weight=0:tensor", "head.weight=0:tensor")
    for name, loss, options, ways in (
        ("gpt-training", "output_1", [], ((2, 2, blocks), (1, 4, ("up.weight=0:tensor",)))),
        (
            "gpt2-labels", "loss", ["--dim", "seq=8"],
            ((1, 2, packed), (2, 2, ("lm_head=0:tensor",)), (1, 4, ("lm_head=1:tensor",))),
        ),
    ):  # fmt: skip
        model = HERE / "language" / f"{name}.onnx"
        common = ["--loss", f"output:{loss}", *options]
        want = losses(ingot, 1, ingot.compile(model, *common, "--batch", "4"), *flags)
        for data, tensor, rules in ways:
            pins = [word for rule in rules for word in ("--partition", rule)]
            # Four ranks with rows of what is between the layers, too.
            rows = ["--split-rows", "always" if data > 1 else "auto"]
            trainer = ingot.compile(
                model, *common, "--batch", str(4 // data), "--mesh", f"tensor={tensor}", *pins, *rows
            )
            got = losses(ingot, data * tensor, trainer, *flags)
            check_close(f"{name}, data {data}, tensor {tensor}, {rules}", got, want, 1e-5)


@case("tensor-processes")
def processes(ingot):
    """A language model on all meshes of four processes, with each stage of ZeRO: ctest --preset thorough."""
    if "INGOT_THOROUGH" not in os.environ:
        raise Skip("takes minutes; INGOT_THOROUGH=1 runs it")
    tokens = ingot.path("tokens.bin")
    np.random.default_rng(0).integers(0, 64, 200 * 8 + 1).astype(np.uint16).tofile(tokens)
    flags = ["--data", f"{tokens}:u16", "--steps", STEPS, "--seed", 3]
    model = HERE / "language" / "gpt-training.onnx"
    common = ["--loss", "output:output_1", "--data-parallel", "--bucket-mb", "0.02"]
    blocks = ("qkv.weight=0:tensor", "up.weight=0:tensor", "head.weight=0:tensor")
    pins = [word for rule in blocks for word in ("--partition", rule)]
    want = losses(ingot, 1, ingot.compile(model, *common, "--batch", "4"), *flags)
    ways = [(4, [], zero) for zero in "0123"]
    ways += [(4, ["--mesh", "inner=2"], zero) for zero in "123"]
    ways += [(2, ["--mesh", "tensor=2", *pins], zero) for zero in "0123"]
    ways += [(1, ["--mesh", "tensor=4", "--partition", "up.weight=0:tensor"], "0")]
    for batches, mesh, zero in ways:
        trainer = ingot.compile(model, *common, "--batch", str(4 // batches), *mesh, "--zero", zero)
        got = losses(ingot, 4, trainer, *flags)
        check_close(f"{mesh}, --zero {zero}", got, want, 1e-5)
        check(losses(ingot, 4, trainer, *flags) == got, f"{mesh}, --zero {zero}: other bits in the second run")


@case("tensor-rows-bytes")
def rows_bytes(ingot):
    """Sums that are split into rows send half of what all ranks' sums would, as the compiler says."""
    tokens = ingot.path("tokens.bin")
    np.random.default_rng(0).integers(0, 64, 200 * 8 + 1).astype(np.uint16).tofile(tokens)
    remarks, trace = ingot.path("remarks.yaml"), ingot.path("trace.json")
    blocks = ("qkv.weight=0:tensor", "up.weight=0:tensor", "head.weight=0:tensor")
    trainer = ingot.compile(
        HERE / "language" / "gpt-training.onnx", "--loss", "output:output_1", "--batch", "2", "--mesh", "tensor=2",
        "--split-rows", "always", "--remarks", remarks, *(word for rule in blocks for word in ("--partition", rule)),
    )  # fmt: skip
    planned = {}
    for remark in re.split("^--- !", remarks.read_text(), flags=re.MULTILINE):
        if re.search(r"^Pass: +apply-partitions\nName: +Exchange$", remark, re.MULTILINE):
            kind, count = re.search(r"exchange: +(\w+)", remark)[1], re.search(r"bytes: +'?(\d+)", remark)[1]
            planned.setdefault(kind, set()).add(int(count))
    ingot.succeed([*mpirun(2), trainer, "--data", f"{tokens}:u16", "--steps", 2, "--profile", trace], env=ALONE)
    given = {}
    for event in json.loads(trace.read_text())["traceEvents"]:
        if event.get("cat") == "communication" and event["args"].get("step") == 2:
            given.setdefault(event["name"].replace("-", "_"), []).append(event["args"]["bytes"])
    # What a rank hands over: the parts of both ranks, of which it sends one, and its own part.
    for kind, share in {"reduce_scatter": 1 / 2, "all_gather": 1}.items():
        sent = {count * share for count in given[kind]}
        check(sent <= planned[kind], f"{kind}: {sent} bytes sent, {planned[kind]} planned")
    check(max(given["all_reduce"]) < max(given["reduce_scatter"]), f"sums on each rank: {given}")


@case("tensor-checkpoints")
def checkpoints(ingot):
    """A run goes on with another mesh, and exports the average that one rank would."""
    g = golden("mlp")
    flags = ["--data", g.data, "--seed", "5", "--ema", "0.5"]
    trainers = {
        (1, 1): compile_for(ingot, g, "adamw", 1),
        (1, 2): compile_mesh(ingot, g, "adamw", 1, 2, split=SPLIT["mlp"]),
        (1, 5): compile_mesh(ingot, g, "adamw", 1, 5, split=SPLIT["mlp"]),
        (2, 2): compile_mesh(ingot, g, "adamw", 2, 2, "--zero", "2", split=SPLIT["mlp"]),
        (2, 1): compile_for(ingot, g, "adamw", 2, "--zero", "3", "--bucket-mb", "0.01"),
    }
    whole = ingot.path("whole.onnx")
    ingot.succeed([trainers[1, 1], *flags, "--steps", "10", "--export", whole])
    averages = initializers(whole)
    for saving in ((2, 2), (1, 2), (2, 1)):
        folder = ingot.path(f"run-{saving}")
        exported = {}
        mine = ingot.path("saved.onnx")
        launcher = mpirun(saving[0] * saving[1])
        ingot.succeed(
            [*launcher, trainers[saving], *flags, "--steps", "5", "--save", folder, "--export", mine], env=ALONE
        )
        weights = initializers(mine)
        for reading, trainer in trainers.items():
            ranks = reading[0] * reading[1]
            path = ingot.path("read.onnx")
            resume = [*(mpirun(ranks) if ranks > 1 else []), trainer, *flags, "--resume", folder]
            # No step is left, so that what is exported is what was read.
            ingot.succeed([*resume, "--steps", "5", "--export", path], env=ALONE)
            read = initializers(path)
            for name, value in weights.items():
                check(np.array_equal(read[name], value), f"{saving} read by {reading}: {name}")
            log = ingot.path("log.jsonl")
            ingot.succeed([*resume, "--steps", "10", "--log", log, "--export", path], env=ALONE)
            for name, value in initializers(path).items():
                check_close(f"{saving} resumed by {reading}: {name}", value, averages[name], 1e-4)
            exported[reading] = [s["loss"] for s in read_log(log, first=6)[0]]
        for reading, got in exported.items():
            check_close(f"{saving} resumed by {reading}", got, exported[1, 1], 1e-5)


@case("tensor-results")
def results(ingot):
    """What ranks write together is what one rank writes, from weights that they draw, or are given."""
    g = golden("mlp")
    for options, given in ((["--weights", "none"], []), ([], ["--init", g.folder / "weights.npz"])):
        if given:
            first = ingot.path("first.safetensors")
            ingot.succeed([compile_for(ingot, g, "adamw", 1), "--data", g.data, "--steps", 1, "--export", first])
            given = ["--init", first]
        files = {}
        for tensor in (1, 2):
            trainer = (
                compile_for(ingot, g, "adamw", 1, *options)
                if tensor == 1
                else compile_mesh(ingot, g, "adamw", 1, 2, *options, split=SPLIT["mlp"])
            )
            model, predictions = ingot.path(f"{tensor}.onnx"), ingot.path(f"{tensor}.npz")
            ingot.succeed(
                [
                    *(mpirun(2) if tensor > 1 else []), trainer, "--data", g.data, "--eval-data", g.data, *given,
                    "--steps", "5", "--seed", "3", "--export", model, "--predict", predictions,
                ],
                env=ALONE,
            )  # fmt: skip
            files[tensor] = initializers(model), dict(np.load(predictions))
        for name, value in files[1][0].items():
            check_close(f"{name} {options}", files[2][0][name], value, 1e-4)
        for name, value in files[1][1].items():
            check_close(f"{name} {options}", files[2][1][name], value, 1e-4)


@case("tensor-adapters")
def adapters(ingot):
    """Adapters of layers that are split are trained, with dropout, merged and written as those of whole ones."""
    folder = HERE / "goldens-adapters" / "llama"
    common = ["--batch", "4", "--loss", "cross-entropy", "--adapter", "lora:r=4,alpha=8,dropout=0.3@all-linear"]
    split = [w for name in ("q_proj", "gate_proj") for w in ("--partition", f"{name}.weight=0:tensor")]
    flags = ["--data", folder / "data.npz", "--steps", 10, "--lr", "1e-2", "--seed", 3]
    got, models, sizes = {}, {}, {}
    for ranks, mesh in ((1, []), (2, ["--mesh", "tensor=2", *split])):
        trainer = ingot.compile(folder / "model.onnx", *common, *mesh)
        model, files = ingot.path(f"{ranks}.onnx"), ingot.path(f"adapter-{ranks}")
        got[ranks] = losses(ingot, ranks, trainer, *flags, "--export", model, "--export-adapter", files)
        models[ranks] = initializers(model)
        sizes[ranks] = {path.name: path.stat().st_size for path in files.iterdir()}
    check(sizes[1] == sizes[2], f"files of the adapter: {sizes}")
    check_close("losses", got[2], got[1], 1e-5)
    for name, value in models[1].items():
        check_close(name, models[2][name], value, 1e-4)


@case("tensor-memory")
def memory(ingot):
    """Ranks have parts of weights and moments, and the plan says so."""
    g = golden("mlp")
    plans = {}
    for tensor in (1, 2):
        flags = ["--mesh", f"tensor={tensor}", *(SPLIT["mlp"] if tensor > 1 else [])]
        trainer = compile_for(ingot, g, "adamw", 1, *flags)
        plans[tensor] = json.loads(ingot.succeed([trainer, "--inspect=json"]).out)
        check(plans[tensor]["ranks"] == tensor, f"{plans[tensor]['ranks']} ranks")
    split = 4 * (40 * 784 + 40 + 40 * 40 + 10 * 40 + 10)
    saved = plans[1]["weights_bytes"] - plans[2]["weights_bytes"]
    check(abs(saved - split / 2) < 512, f"weights: {saved} bytes less, of {split}")
    saved = plans[1]["optimizer_bytes"] - plans[2]["optimizer_bytes"]
    check(abs(saved - split) < 1024, f"moments: {saved} bytes less, of {2 * split}")


@case("tensor-errors")
def errors(ingot):
    g = golden("mlp")
    trainer = compile_mesh(ingot, g, "adamw", 1, 2, split=SPLIT["mlp"])
    ingot.check_error([trainer, "--data", g.data, "--steps", 1], 3, "cannot be divided into groups of 2")
    ingot.check_error([trainer, "--inspect", "--ranks", 3], 3, "cannot be divided into groups of 2")
    command = ingot.ingotc(g.model, "--loss", g.loss, "--batch", 16, "-o", ingot.path("never"))
    for flags, message in {
        ("--mesh", "tensor"): "'tensor' is no axis with its ranks",
        ("--mesh", "rows=2"): "'rows=2' is no axis with its ranks",
        ("--mesh", "tensor=0"): "'tensor=0' is no axis with its ranks",
        ("--mesh", "tensor=2", "--mesh", "tensor=4"): "'tensor' is given twice",
        ("--partition", "net=0:tensor"): "requires --mesh",
        ("--mesh", "tensor=2", "--partition", "net=tensor"): "is not REGEX=DIM:AXIS",
        ("--mesh", "tensor=2", "--partition", "other=0:tensor"): "no state has such a name",
        ("--mesh", "tensor=2", "--partition", "net.0.bias=1:tensor"): "'net.0.bias' has 1 dimensions",
        ("--mesh", "tensor=2", "--grad-comm", "int8"): "compression",
    }.items():
        ingot.check_error([*command, *flags], 2, message)
    said = ingot.succeed([*command, "--mesh", "tensor=2", "--partition", ".=whole"]).err
    check("no tensor is split" in said, said)
