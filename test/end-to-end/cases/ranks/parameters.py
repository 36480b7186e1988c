# SPDX-License-Identifier: Apache-2.0
"""Ranks that share the memory of the parameters (--zero 3)."""

import json
import re

import numpy as np
import onnx
from harness import case, check, check_close, golden, initializers, read_log
from launch import ALONE, compile_for, losses, mpirun, run_ranks
from onnx import TensorProto, helper
from shapes import write_language_model

STEPS = 20


@case("parameters-losses")
def equal(ingot):
    """Ranks, buckets, micro-batches and optimizers make no difference."""
    g = golden("mlp")
    flags = ["--data", g.data, "--steps", STEPS, "--seed", "5", "--eval-data", g.data]
    for optimizer, ways in {
        "adamw": ((2, 2, "0.001"), (4, 1, "0.01")),
        "lamb": ((2, 1, "25"),),
    }.items():
        want = run_ranks(ingot, 1, compile_for(ingot, g, optimizer, 1), *flags)
        for ranks, accumulation, size in ways:
            trainer = compile_for(
                ingot, g, optimizer, ranks * accumulation,
                "--zero", "3", "--bucket-mb", size, "--grad-accumulation", str(accumulation),
            )  # fmt: skip
            got = run_ranks(ingot, ranks, trainer, *flags)
            what = f"{optimizer}, {ranks} ranks, {accumulation} micro-batches, {size} MiB"
            check_close(what, [s["loss"] for s in got[0]], [s["loss"] for s in want[0]], 1e-5)
            for key in ("eval_loss", "eval_accuracy"):
                check_close(f"{what}: {key}", got[1][-1][key], want[1][-1][key], 1e-5)


@case("parameters-models")
def models(ingot):
    """Normalization over ranks, gradients that are clipped, and 16 bits."""
    for name, optimizer, options, tolerance in (
        ("cnn", "momentum", ["--sync-batch-norm"], 1e-5),
        ("mlp", "adamw", ["--precision", "bf16"], 1e-2),
        ("mlp", "adamw", ["--precision", "fp16", "--clip"], 1e-2),
    ):
        g = golden(name)
        flags = ["--data", g.data, "--steps", STEPS, "--no-shuffle"]
        want = losses(ingot, 1, compile_for(ingot, g, optimizer, 1, *options), *flags)
        trainer = compile_for(ingot, g, optimizer, 2, *options, "--zero", "3", "--bucket-mb", "0.01")
        check_close(f"{name} {options}", losses(ingot, 2, trainer, *flags), want, tolerance)


def make_tower(path, layers, width):
    """A tower of equal layers without biases."""
    rng = np.random.default_rng(1)
    weights = [
        onnx.numpy_helper.from_array((rng.standard_normal((width, width)) * 0.1).astype(np.float32), f"w{i}")
        for i in range(layers)
    ]
    nodes, value = [], "x"
    for i in range(layers):
        nodes.append(helper.make_node("MatMul", [value, f"w{i}"], [f"p{i}"], f"matmul{i}"))
        value = f"p{i}"
        if i + 1 < layers:
            nodes.append(helper.make_node("Tanh", [value], [f"t{i}"], f"tanh{i}"))
            value = f"t{i}"
    graph = helper.make_graph(
        nodes, "tower",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", width])],
        [helper.make_tensor_value_info(value, TensorProto.FLOAT, ["n", width])],
        weights,
    )  # fmt: skip
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)


@case("parameters-memory")
def memory(ingot):
    """Of a tower of equal layers, two layers are whole at a time, and what is planned is what is reported."""
    layers, width, batch = 8, 96, 4
    model = ingot.path("tower.onnx")
    make_tower(model, layers, width)
    flags = [
        model,
        "--loss",
        "mse",
        "--optimizer",
        "adamw",
        "--batch",
        batch,
        "--data-parallel",
        "--bucket-mb",
        "0.001",
    ]
    text = ingot.path("step.mlir")

    def compile_step(*options):
        ingot.succeed(ingot.ingotc(*flags, "--zero", "3", *options, "--emit", "exec", "-o", text))
        whole = text.read_text()
        own = whole[whole.index("@train_step") :].split("exec.step")[0]
        return own, own.count("call @ingot_all_gather_start")

    layer = 4 * width * width
    # With room for all, each is gathered once; with more room, none more often.
    counts = [compile_step("--memory-budget", size)[1] for size in ("2MiB", "1500KiB", "1450KiB")]
    check(counts[0] == layers and counts == sorted(counts), f"{counts} gathers")
    step, gathers = compile_step()
    # The last two layers are still there when the backward pass begins; that of the first needs no weights.
    check(gathers == layers + layers - 3, f"{gathers} gathers")
    trainers = {stage: ingot.compile(*flags, "--zero", stage) for stage in ("2", "3")}
    for ranks in (1, 2, 4):
        plans = {
            stage: json.loads(ingot.succeed([trainer, "--inspect=json", "--ranks", ranks]).out)
            for stage, trainer in trainers.items()
        }
        shards, whole = plans["3"], plans["2"]
        slack = layers * 3 * 128
        check(abs(shards["weights_bytes"] - layers * layer / ranks) < slack, f"{shards['weights_bytes']} of weights")
        check(whole["weights_bytes"] >= layers * layer, "stage 2 has shards of weights")
        check(sum(v for k, v in shards.items() if k.endswith("_bytes") and k != "peak_bytes") == shards["peak_bytes"],
              "the parts are not the whole")  # fmt: skip
    # Beside shards, two buckets of each are whole at the peak, and one of the loss and its weight.
    intervals = re.findall(r'interval<kind = "(\w+)", offset = \d+, bytes = (\d+), first = (\d+), last = (\d+)>', step)
    buckets = [tuple(map(int, numbers)) for kind, *numbers in intervals if kind in ("communication", "gradient")]
    most = max(sum(size for size, first, last in buckets if first <= call <= last) for _, call, _ in buckets)
    check(most == 4 * layer + 128, f"{most} bytes of buckets at a time")
    # What a cluster is planned for is what a trainer reports.
    cluster = ingot.path("cluster.json")
    cluster.write_text(json.dumps({"ranks": [1, 2, 4], "between": {"latency_us": 5, "bandwidth_gbps": 8}}))
    for stage, trainer in trainers.items():
        for planned in json.loads(ingot.succeed(ingot.ingotc(*flags, "--zero", stage, "--plan", cluster)).out):
            said = json.loads(ingot.succeed([trainer, "--inspect=json", "--ranks", planned["ranks"]]).out)
            check(planned["memory_bytes"] == said["peak_bytes"], f"{planned['memory_bytes']} of {said['peak_bytes']}")


@case("parameters-budget")
def budget(ingot):
    """With more memory a step of a two-layer language model takes less time, down to that of stage 2."""
    sizes = {"layers": 2, "hidden": 128, "heads": 4, "key_heads": 4, "inner": 352, "tokens": 256, "positions": 64}
    model = write_language_model(ingot.path("decoder.onnx"), **sizes)
    cluster = ingot.path("cluster.json")
    cluster.write_text(json.dumps({"ranks": [2], "between": {"latency_us": 5, "bandwidth_gbps": 1}}))
    flags = ["--weights", "none", "--loss", "cross-entropy", "--batch", 2, "--machine", "built-in", "--data-parallel",
             "--bucket-mb", "0.1", "--plan", cluster]  # fmt: skip

    def plan(*options):
        return json.loads(ingot.succeed(ingot.ingotc(model, *flags, *options)).out)[0]

    # From room for two buckets on, where nothing is computed again, to room for all.
    budgets = [[], *(["--memory-budget", f"{kib}KiB"] for kib in (10800, 10950, 11100, 11250, 11700, 11850, 12150))]
    plans = [plan("--zero", "3", *options) for options in budgets]
    times = [one["step_ms"] for one in plans]
    check(len({one["compute_ms"] for one in plans}) == 1, f"{plans}: something is computed again")
    check(times == sorted(times, reverse=True) and times[0] > 1.4 * times[-1], f"{times} ms")
    check_close("with room for all", times[-1], plan("--zero", "2")["step_ms"], 0.01)


@case("parameters-recomputed")
def recomputed(ingot):
    """Layers with more weights than activations are computed again from what is gathered again: under a budget,
    activations need a third of what they do without, and losses are the same."""
    sizes = {"layers": 8, "hidden": 256, "heads": 8, "key_heads": 8, "inner": 704, "tokens": 512, "positions": 64}
    model = write_language_model(ingot.path("decoder.onnx"), **sizes)
    rng = np.random.default_rng(1)
    data = ingot.path("tokens.npz")
    np.savez(data, input_ids=rng.integers(0, 512, (8, 64)), labels=rng.integers(0, 512, (8, 64)))
    flags = ["--weights", "none", "--data-parallel", "--loss", "cross-entropy", "--batch", "1", "--zero", "3"]
    results = []
    for budget in ([], ["--memory-budget", "at-least:1MiB"]):
        trainer = ingot.compile(model, *flags, "--bucket-mb", "0.1", *budget)
        plan = json.loads(ingot.succeed([trainer, "--inspect=json", "--ranks", "8"]).out)
        results.append(
            (plan["activation_bytes"], losses(ingot, 2, trainer, "--data", data, "--steps", "3", "--seed", "1"))
        )
    (usual, want), (least, got) = results
    check(3 * least < usual, f"{least} of {usual} bytes of activations")
    check_close("losses", got, want, 1e-6)


@case("parameters-exchanges")
def exchanges(ingot):
    """The transport counts what the formula says: of each micro-batch, gradients once, and parameters twice, except
    those that are still there when the backward pass begins, and of the first layer, whose input needs no gradient.
    With groups of ranks, those with the same shard sum it as well."""
    layers, width, batch, steps = 6, 64, 4, 3
    model, data, path = (ingot.path(name) for name in ("tower.onnx", "data.npz", "trace.json"))
    make_tower(model, layers, width)
    rng = np.random.default_rng(2)
    samples = rng.standard_normal((2, 8 * batch * steps, width)).astype(np.float32)
    np.savez(data, x=samples[0], labels=samples[1])
    flags = ["--loss", "mse", "--batch", batch, "--data-parallel", "--bucket-mb", "0.001", "--zero", "3"]
    whole = width * width
    for ranks, micro, precision, size, options in (
        (2, 1, "fp32", 4, []),
        (2, 1, "bf16", 2, []),
        (2, 2, "fp32", 4, ["--grad-accumulation", 2]),
        (4, 1, "fp32", 4, ["--mesh", "inner=2"]),
    ):
        trainer = ingot.compile(model, *flags, "--precision", precision, *options)
        ingot.succeed([*mpirun(ranks), trainer, "--data", data, "--steps", steps, "--profile", path], env=ALONE)
        events = json.loads(path.read_text())["traceEvents"]
        expected = {
            "reduce-scatter of bucket": micro * layers * 4 * whole,
            "all-gather of bucket": micro * (2 * layers - 3) * size * whole,
        }
        if "--mesh" in options:
            expected["sum of shards"] = layers * 4 * whole // 2
        for kind, want in expected.items():
            found = [e["args"] for e in events if e["name"].startswith(kind)]
            got = sum(e["bytes"] for e in found) / len({e["step"] for e in found})
            check(got == want, f"{options}, {precision}: {kind}: {got} bytes a step instead of {want}")


@case("parameters-checkpoints")
def checkpoints(ingot):
    """Any number of ranks goes on, with shards or without; exports and predictions are those of one rank."""
    g = golden("mlp")
    flags = ["--data", g.data, "--no-shuffle"]
    trainers = {
        (ranks, stage): compile_for(ingot, g, "adamw", ranks, "--zero", stage, "--bucket-mb", "0.01")
        for ranks, stage in ((1, "0"), (2, "2"), (2, "3"), (4, "3"))
    }
    whole = losses(ingot, 1, trainers[1, "0"], *flags, "--steps", 14)
    saves = {}
    for start in trainers:
        saves[start] = ingot.path("save")
        losses(ingot, start[0], trainers[start], *flags, "--steps", 10, "--save", saves[start], "--save-every", 5)
    for start, save in saves.items():
        for (ranks, stage), trainer in trainers.items():
            # The others are of zero.py.
            if "3" not in (start[1], stage) or (ranks, stage) == start:
                continue
            log = ingot.path("log.jsonl")
            launcher = mpirun(ranks) if ranks > 1 else []
            ingot.succeed([*launcher, trainer, *flags, "--steps", 14, "--resume", save, "--log", log], env=ALONE)
            resumed = [step["loss"] for step in read_log(log, first=11)[0]]
            check_close(f"{start} goes on as {ranks}, stage {stage}", resumed, whole[10:], 1e-5)
    results = {}
    for ranks, stage in ((1, "0"), (4, "3")):
        model, weights, answers = ingot.path("trained.onnx"), ingot.path("w.safetensors"), ingot.path("answers.npz")
        trainer = trainers[ranks, stage]
        # One batch more than ranks can share, and evaluations of which the best is taken.
        data = ["--eval-data", g.data, "--eval-every", 2, "--best", "eval_loss", "--predict", answers]
        run_ranks(ingot, ranks, trainer, *flags, "--steps", 5, *data, "--export", model)
        run_ranks(ingot, ranks, trainer, *flags, "--steps", 5, "--export", weights)
        with np.load(answers) as arrays:
            results[ranks] = {**initializers(model), **{f"answer {name}": arrays[name] for name in arrays}}
        check(weights.stat().st_size > 0, "no weights")
        start = losses(ingot, ranks, trainer, *flags, "--steps", 2, "--init", weights)
        results[ranks]["start"] = np.array(start)
    for name, value in results[1].items():
        check_close(name, results[4][name], value, 1e-4)


@case("parameters-limits")
def limits(ingot):
    """What looks at weights works with a part of them."""
    g = golden("mlp")
    trainer = compile_for(ingot, g, "adamw", 2, "--zero", "3", "--bucket-mb", "0.01")
    own = [*mpirun(2), trainer, "--data", g.data, "--steps", 4]
    for option in (["--watch", "nan"], ["--check-memory"], ["--ema", "0.9"]):
        ingot.succeed([*own, *option], env=ALONE)
