# SPDX-License-Identifier: Apache-2.0
"""What a run says while it goes on, and where it writes."""

import json
import re

import numpy as np
from harness import case, check, golden

G = golden("multilabel")


def bad_data(ingot, samples):
    """The data of the golden, with NaN in these samples."""
    path = ingot.path("data.npz")
    with np.load(G.data) as arrays:
        content = {name: arrays[name].copy() for name in arrays}
    content["x"][samples] = np.nan
    np.savez(path, **content)
    return path


@case("all-steps-skipped")
def all_skipped(ingot):
    """NaN in the data is named at once, and a run without an update fails."""
    half = ingot.compile(G.model, *G.compile_flags("adamw"), "--precision", "fp16")
    guarded = ingot.compile(G.model, *G.compile_flags("adamw"), "--clip", "--guard")
    everywhere, out = bad_data(ingot, slice(None)), ingot.path("out.onnx")
    result = ingot.check_error([half, "--data", everywhere, "--steps", "10", "--export", out], 3, "step 1", "'x'")
    check("loss 0.0000" not in result.err and not out.exists(), result.err)
    flags = ["--data", everywhere, "--steps", "6", "--nan", "skip", "--export", out, "--save", ingot.path("save")]
    for trainer in (half, guarded):
        result = ingot.check_error([trainer, *flags], 1, "no step has changed the model")
        check("no finite loss" in result.err and "loss 0.0000" not in result.err, result.err)
        check(re.search(r"step 1: skipped.*'x'", result.err) and not out.exists(), result.err)
    # With some good steps it is a run like others, whose line is of these.
    some = bad_data(ingot, slice(0, G.batch))
    result = ingot.succeed([guarded, "--data", some, "--no-shuffle", "--steps", "4", "--nan", "skip"])
    check(re.search(r"step 1: skipped: .*'x'", result.err) and "1 of 4 steps" in result.err, result.err)
    check(re.search(r"epoch 1 .*loss \d+\.\d{4}", result.err), result.err)


@case("lines-off-a-terminal")
def lines(ingot):
    """With --log-every N a line every N steps, with the time left; else one an epoch."""
    trainer = ingot.compile(G.model, *G.compile_flags("adamw"), "--clip")
    base = [trainer, "--data", G.data, "--steps", "300"]
    # An epoch has ten steps, fewer than are asked for, or more.
    said = ingot.succeed([*base, "--log-every", "45"]).err
    check(re.findall(r"step (\d+)/300", said) == ["45", "90", "135", "180", "225", "270", "300"], said)
    check(len(re.findall(r"loss \S+  \S+ samples/s  (?:\S+ m?s  )?\d+ s left\n", said)) == 6, said)
    found = re.findall(r"step (\d+)/300", ingot.succeed([*base, "--log-every", "4"]).err)
    check(found[:5] == ["4", "8", "10", "12", "16"], f"{found}")
    log = ingot.path("log.jsonl")
    said = ingot.succeed([*base, "--log", log, "--print-every", "100"]).err
    check(re.findall(r"step (\d+)/300", said) == ["100", "200", "300"], said)
    check(len(log.read_text().splitlines()) == 300, "the log lacks steps")
    found = re.findall(r"step (\d+)/300", ingot.succeed(base).err)
    check(found == [str(n) for n in range(10, 301, 10)], f"{found}")
    # Rates and times of steps that take next to nothing have a unit that fits.
    check("0.0 s" not in said and not re.search(r"\d{7}", said), said)


@case("folders-of-outputs")
def folders(ingot):
    """Every output makes its folder, and the statistics in the log are consistent."""
    trainer = ingot.compile(G.model, *G.compile_flags("adamw"), "--clip")
    place = ingot.path("new")
    outputs = {"--log": "a/b/log.jsonl", "--export": "c/m.onnx", "--predict": "d/p.npz", "--save": "e/f",
               "--tensorboard": "g/h", "--profile": "i/t.json"}  # fmt: skip
    flags = [word for flag, name in outputs.items() for word in (flag, place / name)]
    ingot.succeed([trainer, "--data", G.data, "--eval-data", G.data, "--steps", "12", *flags])
    for name in outputs.values():
        check((place / name).exists(), f"{name} is missing")
    rows = [json.loads(line) for line in (place / "a/b/log.jsonl").read_text().splitlines()]
    for stats in (row["stats"] for row in rows if "stats" in row):
        check(stats["peak_resident_bytes"] >= stats["resident_bytes"] > 0, f"{stats}")
        check(0 <= stats["processors"] <= 1024, f"{stats}")
    # A folder that cannot be made is found before the first step.
    (place / "file").write_text("")
    ingot.check_error([trainer, "--data", G.data, "--log", place / "file/log.jsonl"], 1, "file")
