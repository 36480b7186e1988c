# SPDX-License-Identifier: Apache-2.0
"""ingotc --auto: layouts of many ranks are compared, and the best one is compiled."""

import json
import re
import shlex

from harness import case, check, golden
from launch import losses
from shapes import SIZES, write_language_model

SMALL = {"layers": 12, "hidden": 256, "heads": 4, "key_heads": 2, "inner": 640, "tokens": 1024, "positions": 128}
ROW = re.compile(
    r"^ *(\d+)  data=(\d+) tensor=(\d+) zero=(\d) batch=(\d+)x(\d+).* +([\d.]+) +([\d.]+) +(-?[\d.]+)"
    r" +([\d.]+) +([\d.]+) +([\d.]+)$",
    re.M,
)


def cluster(ingot, name="cluster.json", **fields):
    described = {
        "ranks": [8], "memory_gb": 1, "levels": [
            {"ranks": 4, "latency_us": 2, "bandwidth_gbps": 800},
            {"latency_us": 20, "bandwidth_gbps": 50, "per": "node"}],
    }  # fmt: skip
    described.update(fields)
    path = ingot.path(name)
    path.write_text(json.dumps({key: value for key, value in described.items() if value is not None}))
    return path


def plan(ingot, model, described, *flags, samples=64):
    done = ingot.succeed([*ingot.ingotc(model, "--weights", "none", "--loss", "cross-entropy", "--machine", "built-in",
                                    "--plan", described, "--auto", "--global-batch", samples, *flags)]).out  # fmt: skip
    rows = [[float(text) for text in row] for row in ROW.findall(done)]
    return done, rows


@case("plan-layouts")
def layouts(ingot):
    """Estimates are what compiled steps replay, memory decides what fits, and the reasons say what others take."""
    model = write_language_model(ingot.path("model.onnx"), **SMALL)
    # What is given stays, and what is left is quick to compare.
    given = ["--zero", "2", "--memory-budget", "at-least:100%", "--mesh", "tensor=2"]
    said, rows = plan(ingot, model, cluster(ingot), *given)
    check(len(rows) > 1, f"{len(rows)} rows in {said}")
    check([row[7] for row in rows] == sorted(row[7] for row in rows), f"not in order: {said}")
    for row in rows:
        check(abs(row[8]) <= 5, f"an estimate differs by more than 5 %: {said}")
        check(row[9] <= 1, f"more memory than there is: {said}")
        check(row[1:4] == [4, 2, 2] and row[1] * row[4] * row[5] == 64, f"other ranks or samples: {said}")
    check("why the others are slower" in said, said)


@case("plan-trainer")
def trainer(ingot):
    """The command line that --auto prints compiles the trainer that -o writes, and ranks run it."""
    g = golden("mlp")
    described = cluster(ingot, ranks=[2], levels=[{"latency_us": 20, "bandwidth_gbps": 10}])
    flags = ["--loss", "cross-entropy", "--plan", described, "--auto", "--global-batch", "8"]
    flags += ["--machine", "built-in"]
    out = ingot.path("planned")
    said = ingot.succeed(ingot.ingotc(g.model, *flags, "-o", out)).out
    line = shlex.split(said.strip().splitlines()[-1])
    check("--auto" not in line and "--plan" not in line, said)
    again = ingot.path("again")
    ingot.succeed([*line, "-o", again])
    steps = ["--data", g.data, "--steps", "3", "--no-shuffle"]
    check(losses(ingot, 2, out, *steps) == losses(ingot, 2, again, *steps), "the line compiles another trainer")


@case("plan-large")
def large(ingot):
    """A model that fits no machine here is planned from two of its blocks, in seconds."""
    model = write_language_model(ingot.path("7b.onnx"), **SIZES["7b"], positions=2048)
    described = cluster(ingot, memory_gb=80, levels=[{"ranks": 8, "latency_us": 5, "bandwidth_gbps": 2400},
                                                     {"latency_us": 20, "bandwidth_gbps": 400}])  # fmt: skip
    said, rows = plan(ingot, model, described, "--precision", "bf16", "--zero", "3", "--memory-budget", "at-least:30%")
    check(rows and all(row[9] <= 80 for row in rows), said)


@case("plan-errors")
def errors(ingot):
    """What is wrong with a cluster's file, or with options, is one line and a hint."""
    g = golden("mlp")

    def refuse(status, words, described, *flags):
        command = ingot.ingotc(g.model, "--loss", "cross-entropy", "--machine", "built-in", "--plan", described, *flags)
        ingot.check_error(command, status, *words)

    auto = ["--auto", "--global-batch", "64"]
    link = {"latency_us": 1, "bandwidth_gbps": 1}
    node = {**link, "ranks": 4}
    for words, fields in (
        (["'ranks' must be one number"], {"ranks": [4, 8]}),
        (["'memory_gb' must say"], {"memory_gb": None}),
        (["'memory_gb' must be a positive number"], {"memory_gb": 0}),
        (["'step_ms' is of one layout"], {"step_ms": 3}),
        (["'levels' must be a list of links"], {"levels": []}),
        (["'levels' must be a list of links"], {"levels": 3}),
        (["'levels[0]' must be an object"], {"levels": [3]}),
        (["'levels[0].ranks' must be a multiple of the 1"], {"levels": [link, link]}),
        (["'levels[1].ranks' must be a multiple of the 4"], {"levels": [node, {**link, "ranks": 6}, link]}),
        (["'levels[1].ranks' is not for the last level"], {"levels": [node, node]}),
        (["'levels[0].per' must be"], {"levels": [{**link, "per": "rack"}]}),
        (["unknown field 'levels[0].speed'"], {"levels": [{**link, "speed": 3}]}),
        (["'levels' and 'between' exclude each other"], {"between": link}),
        (["'between' must be an object"], {"levels": None}),
    ):
        refuse(3, words, cluster(ingot, **fields), *auto)
    refuse(2, ["requires --global-batch"], cluster(ingot), "--auto")
    refuse(2, ["--grad-accumulation", "is what --auto finds"], cluster(ingot), *auto, "--grad-accumulation", "2")
    refuse(2, ["requires --tune or --auto"], cluster(ingot), "--data-parallel", "--global-batch", "8")
    refuse(2, ["requires --data-parallel"], cluster(ingot))
    refuse(2, ["63 samples cannot be divided"], cluster(ingot), "--auto", "--global-batch", "63")
    refuse(2, ["no layout of 8 ranks fits"], cluster(ingot, memory_gb=1e-6), *auto)
    refuse(3, ["no multiple"], cluster(ingot, ranks=[3]), "--mesh", "tensor=2", "--batch", "8")
