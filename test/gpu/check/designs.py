# SPDX-License-Identifier: Apache-2.0
"""Sections of check.py that choose between designs: variants in turns, the kernels of recorded steps, kernels beside
copies of equal size, and the algorithms of cuBLASLt."""

import json
import os
import statistics

from runner import Skip, judge, section
from traces import describe_step, list_calls

# What a memory-bound kernel has to reach of a copy of as many bytes.
COPY_SHARE = 0.88
# How far apart the sizes of two copies are at least.
SIZES_APART = 1.05


def compare(check, name):
    """The variants of that name in the order A B C C B A, so that what drifts falls on all of them."""
    variant = next((v for v in check.plan["variants"] if v["name"] == name), None)
    trainers = variant and {t["name"]: t for t in check.named([o["trainer"] for o in variant["options"]])}
    if not trainers:
        raise Skip("the folder has no trainers for it")
    times, problems, longest = {}, [], 0
    options = [o for o in variant["options"] if o["trainer"] in trainers]
    for turn, part in enumerate([options, options[::-1]]):
        for option in part:
            # The rest of a turn says something as long as each option has one.
            if turn and check.left() < longest:
                problems.append(f"{option['name']}: no time for a second turn")
                continue
            start = check.left()
            try:
                env = dict(option["env"])
                if "XDG_CACHE_HOME" in env:
                    # Choices of its own.
                    env["XDG_CACHE_HOME"] = os.path.join(check.options.work, env["XDG_CACHE_HOME"])
                log = check.train(trainers[option["trainer"]], variant["steps"] + 5, env=env)
            except (RuntimeError, Skip) as error:
                problems.append(f"{option['name']}: {error}")
                continue
            longest = max(longest, start - check.left())
            steps = [line["step_ms"] for line in log[5:]]
            times.setdefault(option["name"], []).append(steps)
            check.kept.add_rows(
                "steps",
                [
                    {"section": name, "variant": option["name"], "turn": turn, "step": i, "ms": ms}
                    for i, ms in enumerate(steps)
                ],
            )
    rows, first = [], options[0]["name"]
    for option in (o["name"] for o in options if o["name"] in times):
        turns = times[option]
        medians = [statistics.median(steps) for steps in turns]
        row = {"variant": option, "ms": statistics.median(sum(turns, [])), "turns": len(turns)}
        row["between_turns_ms"] = max(medians) - min(medians)
        if rows and rows[0]["variant"] == first:
            row["gain_ms"] = rows[0]["ms"] - row["ms"]
            noise = max(row["between_turns_ms"], rows[0]["between_turns_ms"])
            row["verdict"] = "as fast" if abs(row["gain_ms"]) <= noise else "faster" if row["gain_ms"] > 0 else "slower"
        rows.append(row)
    return {"ok": len(rows) == len(options) and not problems, "rows": rows, "problems": problems}


def add_variants(name, title, seconds):
    @section(title, seconds, seconds / 3, name)
    def variants(check):
        return compare(check, name)


add_variants("streams", "Streams of gpt2 124M in bf16: one, two, priorities, fewer multiprocessors beside", 50)
add_variants("fp8", "8-bit matmuls of gpt2 124M: accumulation with fewer bits", 40)
add_variants("fp8-xl", "8-bit matmuls of GPT-2 with 1.5 billion parameters: accumulation with fewer bits", 50)
add_variants("candidates", "Algorithms of cuBLASLt for gpt2 124M in bf16: the fastest of 8 or of 64", 40)
add_variants("pictures", "ResNet-50 in bf16, in fp16, and in fp16 with normalization in the convolutions", 50)


@section("The kernels of recorded steps", 45, 12)
def recorded(check):
    rows, problems = [], []
    for trainer in check.named(check.plan["profiled"]):
        if rows and check.left() < 8:
            problems.append(f"{trainer['name']}: out of time")
            continue
        try:
            steps, times = check.profile(trainer, 3, trainer["name"] + "-recorded")
        except (RuntimeError, Skip) as error:
            problems.append(f"{trainer['name']}: {error}")
            continue
        check.kept.add_rows("calls", [{"trainer": trainer["name"], **row} for row in list_calls(steps)])
        rows.append({"trainer": trainer["name"], **describe_step(steps)})
        if "recorded" not in times:
            problems.append(f"{trainer['name']}: not the recorded step: {times}")
    return {"ok": bool(rows) and not problems, "rows": rows, "problems": problems}


def time_copies(check, moved):
    """The times of copies that move as many bytes, by these: a copy reads half of them and writes half."""
    sizes = []
    for size in sorted(moved):
        if not sizes or size > sizes[-1] * SIZES_APART:
            sizes.append(size)
    done = check.run(check.find("ingot-gpu-run"), "--copies", *(size // 2 for size in sizes), timeout=60)
    copies = {}
    for line in map(json.loads, done.stdout.splitlines()):
        copies[2 * line["bytes"]] = statistics.median(line["us"])
    return copies


@section("Memory-bound kernels one by one, beside copies of as many bytes", 45, 15)
def rates(check):
    calls, problems = [], []
    for trainer in check.named(check.plan["profiled"]):
        if calls and check.left() < 12:
            problems.append(f"{trainer['name']}: out of time")
            continue
        # Alone on the GPU, and timed as the copies are.
        try:
            steps, _ = check.profile(trainer, 4, trainer["name"] + "-alone", env={"INGOT_CUDA_GRAPH": "0"})
        except (RuntimeError, Skip) as error:
            problems.append(f"{trainer['name']}: {error}")
            continue
        for call in list_calls(steps):
            if call["kind"] == "loop" and call["bytes"] >= check.plan["least_bytes"] and call["us"] > 0:
                calls.append({"trainer": trainer["name"], **call})
    if not calls:
        raise Skip("no kernel moves enough bytes")
    copies = time_copies(check, {call["bytes"] for call in calls})
    rows = []
    for call in calls:
        size = min(copies, key=lambda bytes: abs(bytes - call["bytes"]))
        copy_us = copies[size] * call["bytes"] / size
        row = {key: call[key] for key in ("trainer", "kernel", "name", "part", "runs", "us", "bytes")}
        row["gb_per_s"] = call["bytes"] / call["us"] * 1e-3
        row["copy_us"] = copy_us
        row["share_of_copy"] = copy_us / call["us"]
        rows.append(row)
    check.kept.add_rows("rates", rows)
    rows.sort(key=lambda row: -row["us"] * row["runs"])
    for row in rows:
        judge(
            problems,
            f"{row['trainer']}: kernel {row['kernel']}, {row['name']}: share of a copy",
            row["share_of_copy"],
            least=COPY_SHARE,
        )
    return {"ok": not problems, "rows": rows[:60], "problems": problems}


@section("Algorithms of cuBLASLt: 64 candidates for each kind of matmul", 30, 10)
def algorithms(check):
    rows, problems = [], []
    for trainer in check.named(check.plan["swept"]):
        if rows and check.left() < 8:
            problems.append(f"{trainer['name']}: out of time")
            continue
        times = os.path.join(check.options.work, f"{trainer['name']}.times")
        choices = os.path.join(check.options.work, f"{trainer['name']}.choices")
        for path in (times, choices):
            if os.path.exists(path):
                os.remove(path)
        env = {"INGOT_TUNE_CANDIDATES": "64", "INGOT_TUNE_TIMES": times}
        try:
            check.train(trainer, 2, f"--tune={choices}", "--tune-seconds", 60, env=env)
        except (RuntimeError, Skip) as error:
            # What has been measured by then is there.
            problems.append(f"{trainer['name']}: {error}")
        if not os.path.exists(times):
            continue
        with open(times) as file:
            measured = [line.rstrip("\n").split(";") for line in file]
        check.kept.add_rows(
            "algorithms",
            [
                {"trainer": trainer["name"], "matmul": key, "candidate": number, "algorithm": name, "ms": ms}
                for key, number, name, ms in measured
            ],
        )
        kinds = {}
        for key, number, _, ms in measured:
            if key.startswith("matmul "):
                kinds.setdefault(key, {})[int(number)] = float(ms)
        for key, found in kinds.items():
            first = min((ms for number, ms in found.items() if number < 8), default=None)
            best = min(found, key=found.get)
            rows.append(
                {
                    "trainer": trainer["name"],
                    "matmul": key.split(": ", 1)[-1],
                    "candidates": len(found),
                    "library_ms": found.get(0, ""),
                    "of_8_ms": first if first is not None else "",
                    "best_ms": found[best],
                    "best": best,
                }
            )
    return {"ok": bool(rows) and not problems, "rows": rows, "problems": problems}


# What attention within a step has to reach of cuDNN's speed alone.
ATTENTION_SHARE = 0.95


def measure_attention(check, trainer, *flags):
    """Times of the calls of attention by their operations: the gradient has more to compute."""
    times = {}
    steps, _ = check.profile(trainer, 6, trainer["name"], *flags, env={"INGOT_CUDA_GRAPH": "0"})
    for step in steps:
        for event in step:
            if event["cat"] == "attention":
                times.setdefault(event["args"]["flops"], []).append(event["dur"] * 1e-3)
    if len(times) != 2:
        raise RuntimeError(f"{trainer['name']}: {len(times)} calls of attention")
    return times


@section("Attention in a step beside cuDNN's alone, causal, 16 heads of 64, bf16", 90, 20)
def attention(check):
    rows, problems = [], []
    for trainer in check.trainers():
        if not trainer["model"].startswith("attention:"):
            continue
        if rows and check.left() < 15:
            problems.append(f"{trainer['name']}: out of time")
            continue
        batch, tokens = trainer["model"].split(":")[1].split("x")

        # PyTorch's gradient is not deterministic: like is compared with like.
        try:
            times = measure_attention(check, trainer, "--nondeterministic")
            same_bits = measure_attention(check, trainer)
        except (RuntimeError, Skip) as error:
            problems.append(f"{trainer['name']}: {error}")
            continue
        row = {
            "tokens": int(tokens),
            "batch": int(batch),
            "deterministic_backward_ms": statistics.median(same_bits[max(same_bits)]),
        }
        for flops, name in zip(sorted(times), ("forward", "backward")):
            row[name + "_ms"] = statistics.median(times[flops])
            row[name + "_tflops"] = flops / max(row[name + "_ms"], 1e-6) * 1e-9
        try:
            alone = check.torch("attention", batch, tokens)
            for name in ("forward", "backward"):
                row[name + "_share"] = alone[name + "_ms"] / row[name + "_ms"]
                if row[name + "_share"] < ATTENTION_SHARE:
                    problems.append(f"{tokens} tokens {name}: {row[name + '_share']:.3f} of cuDNN's speed alone")
        except (RuntimeError, Skip) as error:
            problems.append(f"{tokens} tokens: not compared: {str(error)[-200:]}")
        rows.append(row)
    return {"ok": bool(rows) and not problems, "rows": rows, "problems": problems}
