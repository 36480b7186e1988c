# SPDX-License-Identifier: Apache-2.0
"""Groups of ranks that have the shards of --zero (--mesh inner=N)."""

import json

import numpy as np
from harness import case, check, check_close, golden, initializers, read_log
from launch import ALONE, compile_for, losses, mpirun

STEPS = 10
SPLIT = ("--partition", "net.0.weight=0:tensor", "--partition", "net.4.weight=0:tensor")


def compile_inner(ingot, g, optimizer, batches, *flags, mesh="inner=2"):
    axes = [word for axis in mesh.split(",") for word in ("--mesh", axis)]
    return compile_for(ingot, g, optimizer, batches, *axes, "--bucket-mb", "0.01", *flags)


@case("hybrid-losses")
def equal(ingot):
    """Groups with shards train as one rank, and two runs have the same bits."""
    g = golden("mlp")
    flags = ["--data", g.data, "--steps", STEPS, "--seed", "5"]
    want = {name: losses(ingot, 1, compile_for(ingot, g, name, 1, "--clip"), *flags) for name in ("adamw", "lamb")}
    for ranks, batches, optimizer, mesh, options in (
        (4, 4, "adamw", "inner=2", ["--zero", "1"]),
        (4, 4, "adamw", "inner=2", ["--zero", "3"]),
        (4, 4, "lamb", "inner=2", ["--zero", "2"]),
        (2, 4, "adamw", "inner=2", ["--zero", "2", "--grad-accumulation", "2"]),
        (4, 2, "adamw", "inner=2,tensor=2", ["--zero", "2", *SPLIT]),
    ):
        trainer = compile_inner(ingot, g, optimizer, batches, "--clip", *options, mesh=mesh)
        got = losses(ingot, ranks, trainer, *flags)
        check_close(f"{ranks} ranks, {optimizer}, {mesh}, {options}", got, want[optimizer], 1e-5)
    check(losses(ingot, ranks, trainer, *flags) == got, "other bits in the second run")


@case("hybrid-checkpoints")
def checkpoints(ingot):
    """A run goes on with shards of other groups, and without any."""
    g = golden("mlp")
    flags = ["--data", g.data, "--seed", "5"]
    trainers = {
        "one rank": (1, compile_for(ingot, g, "adamw", 1)),
        "four shards": (4, compile_for(ingot, g, "adamw", 4, "--zero", "3")),
        "groups": (4, compile_inner(ingot, g, "adamw", 4, "--zero", "2")),
    }
    for saving in ("groups", "four shards"):
        ranks, trainer = trainers[saving]
        folder, mine = ingot.path("run"), ingot.path("saved.onnx")
        ingot.succeed([*mpirun(ranks), trainer, *flags, "--steps", 5, "--save", folder, "--export", mine], env=ALONE)
        weights, after = initializers(mine), {}
        for reading, (ranks, trainer) in trainers.items():
            path, log = ingot.path("read.onnx"), ingot.path("log.jsonl")
            resume = [*(mpirun(ranks) if ranks > 1 else []), trainer, *flags, "--resume", folder]
            ingot.succeed([*resume, "--steps", 5, "--export", path], env=ALONE)
            read = initializers(path)
            for name, value in weights.items():
                check(np.array_equal(read[name], value), f"{saving} read by {reading}: {name}")
            ingot.succeed([*resume, "--steps", 10, "--log", log], env=ALONE)
            after[reading] = [s["loss"] for s in read_log(log, first=6)[0]]
        for reading, got in after.items():
            check_close(f"{saving} resumed by {reading}", got, after["one rank"], 1e-5)


@case("hybrid-bytes")
def sent(ingot):
    """Ranks of a group exchange buckets, those with the same shard exchange that, and ranks need what the plan says."""
    g = golden("mlp")
    trainer = compile_inner(ingot, g, "adamw", 4, "--zero", "2")
    plain = compile_for(ingot, g, "adamw", 4, "--zero", "2")
    trace = ingot.path("trace.json")
    ingot.succeed([*mpirun(4), trainer, "--data", g.data, "--steps", 3, "--profile", trace], env=ALONE)
    events = [e for e in json.loads(trace.read_text())["traceEvents"] if e.get("args", {}).get("step") == 2]

    def count(begin, end):
        """The exchanges with such a name, and their bytes."""
        found = [e["args"]["bytes"] for e in events if e["name"].startswith(begin) and e["name"].endswith(end)]
        return len(found), sum(found)

    (scatters, whole), (sums, shards) = count("reduce-scatter", "over inner"), count("sum of shards", "over data")
    check(scatters == sums > 0, f"{scatters} reduce-scatters, {sums} sums of shards")
    # Shards are whole units of 32 elements.
    check(whole <= 2 * shards <= whole + 2 * 128 * sums, f"{shards} bytes of shards, {whole} of buckets")
    plans = [json.loads(ingot.succeed([t, "--inspect=json", "--ranks", 4]).out) for t in (trainer, plain)]
    moments = [plan["optimizer_bytes"] for plan in plans]
    check(abs(moments[0] - 2 * moments[1]) < 4096, f"moments in 2 and in 4 shards: {moments}")


@case("hybrid-errors")
def errors(ingot):
    g = golden("mlp")
    command = ingot.ingotc(g.model, "--loss", g.loss, "--batch", 16, "-o", ingot.path("never"))
    ingot.check_error([*command, "--mesh", "inner=2"], 2, "without --zero, ranks along inner have no shards")
    inner = ["--mesh", "inner=2", "--zero", "1"]
    ingot.check_error([*command, *inner, *SPLIT], 2, "--partition: requires --mesh tensor=N")
    ingot.check_error([*command, *inner, "--split-rows", "always"], 2, "--split-rows: requires --mesh tensor=N")
    trainer = compile_inner(ingot, g, "adamw", 2, "--zero", "1")
    ingot.check_error([trainer, "--data", g.data, "--steps", 1], 3, "cannot be divided into groups of 2")
