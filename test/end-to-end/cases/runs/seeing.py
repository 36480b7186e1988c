# SPDX-License-Identifier: Apache-2.0
"""What a run shows of itself: profiles and TensorBoard's files."""

import json
import math
import shutil

import numpy as np
from harness import DIGITS, Skip, case, check, check_close, golden, initializers

G = golden("mlp")


def digits(ingot, *flags):
    return ingot.compile(DIGITS / "digits.onnx", "--loss", "cross-entropy", "--batch", "32", *flags)


def read_trace(path):
    """The events of a trace, which have what Chrome's format asks for."""
    trace = json.loads(path.read_text())
    events = trace["traceEvents"]
    kinds = {"X", "M", "C", "s", "t", "f"}
    for event in events:
        check(event["ph"] in kinds and isinstance(event["name"], str) and event["pid"] == 0, f"not an event: {event}")
        check(event["ph"] == "M" or event["ts"] >= 0, f"before the start: {event}")
        check(event["ph"] != "X" or event["dur"] >= 0, f"ends before it begins: {event}")
        check(event["ph"] == "C" or isinstance(event["tid"], int), f"without a track: {event}")
        if event["ph"] == "C":
            check(all(isinstance(value, (int, float)) for value in event["args"].values()), f"not a number: {event}")
    named = {event["tid"] for event in events if event["name"] == "thread_name"}
    used = {event["tid"] for event in events if event["ph"] in "Xstf"}
    check(used <= named, f"tracks without names: {used - named}")
    check_nesting(events)
    return events


def nanoseconds(event):
    """When a slice begins and ends, as readers count it."""
    begin = round(event["ts"] * 1000)
    return begin, begin + round(event["dur"] * 1000)


def check_nesting(events):
    """Slices of a track lie within each other or apart: Perfetto drops those that overlap in part."""
    tracks = {}
    for event in events:
        if event["ph"] == "X":
            tracks.setdefault(event["tid"], []).append(event)
    for slices in tracks.values():
        slices.sort(key=lambda event: (nanoseconds(event)[0], -nanoseconds(event)[1]))
        around = []
        for event in slices:
            begin, end = nanoseconds(event)
            while around and nanoseconds(around[-1])[1] <= begin:
                around.pop()
            check(not around or end <= nanoseconds(around[-1])[1], f"{event} overlaps {around[-1:]}")
            around.append(event)


def check_flows(events):
    """Each flow starts and ends once, in slices of its tracks."""
    slices = [event for event in events if event["ph"] == "X"]
    flows = {}
    for event in events:
        if event["ph"] in "stf":
            flows.setdefault(event["id"], []).append(event)
            at = round(event["ts"] * 1000)
            places = (nanoseconds(s) for s in slices if s["tid"] == event["tid"])
            check(any(begin <= at <= end for begin, end in places), f"in no slice: {event}")
    for steps in flows.values():
        steps.sort(key=lambda event: "stf".index(event["ph"]))
        phases = "".join(event["ph"] for event in steps)
        check(phases in ("sf", "stf"), f"a flow of {phases}")
        times = [event["ts"] for event in steps]
        check(times == sorted(times), f"a flow back in time: {steps}")
    return flows


@case("profile-in-perfetto")
def perfetto(ingot):
    """Perfetto's own reader finds all slices and flows of a trace, the counters in their tracks, and no error."""
    reader = shutil.which("trace_processor_shell")
    if not reader:
        raise Skip("no trace_processor_shell of Perfetto in PATH")
    trainer, path, query = digits(ingot), ingot.path("trace.json"), ingot.path("query.sql")
    ingot.succeed([trainer, "--data", DIGITS / "train.npz", "--steps", "20", "--profile", path])
    events = read_trace(path)
    query.write_text(
        "select (select count(*) from slice), (select count(*) from flow), (select count(*) from counter),"
        " (select count(*) from stats where severity in ('error', 'data_loss') and value > 0);"
    )
    line = ingot.succeed([reader, "-q", query, path]).out.strip().splitlines()[-1]
    values = sum(len(event["args"]) for event in events if event["ph"] == "C")
    expected = [sum(event["ph"] == kind for event in events) for kind in "Xf"] + [values, 0]
    check(line == ",".join(map(str, expected)), f"{line} instead of {expected}")


@case("what-reports-nothing-is-said")
def nothing(ingot):
    trainer, path = digits(ingot, "--optimizer", "adamw", "--clip"), ingot.path("trace.json")
    flags = ["--data", DIGITS / "train.npz", "--steps", "3"]
    result = ingot.succeed([trainer, *flags, "--profile", path, "--profile-steps", "2:1:6"])
    check("note: no step is profiled: --profile-steps begins after 3 steps" in result.err, result.err)
    # Ranks are what starts them; the option does not.
    ingot.check_error([trainer, *flags, "--ranks", "2"], 2, "--ranks", "is for --inspect")
    ingot.succeed([trainer, "--inspect", "--ranks", "2"])


@case("profile-of-a-window")
def window(ingot):
    """Steps after the wait and the warm-up; the parts of the step add up to it."""
    trainer, path = digits(ingot, "--optimizer", "adamw", "--clip"), ingot.path("trace.json")
    flags = ["--data", DIGITS / "train.npz", "--steps", "30", "--profile", path, "--profile-steps", "4:2:6"]
    result = ingot.succeed([trainer, *flags])
    events = read_trace(path)
    steps = [event for event in events if event.get("cat") == "step"]
    check([step["args"]["step"] for step in steps] == list(range(7, 13)), f"steps {steps}")
    functions = [event for event in events if event.get("cat") == "function"]
    check(len(functions) == 6, f"{len(functions)} runs of the step in 6 steps")
    check(len(check_flows(events)) == 6, "not every step takes a batch")
    kernels = [event for event in events if event["ph"] == "X" and event["tid"] == 0 and event not in functions]
    parts = {event["args"]["part"] for event in kernels}
    check(parts == {"forward", "backward", "optimizer"}, f"parts {parts}")
    order = [event["args"]["part"] for event in kernels]
    check(order.index("backward") < order.index("optimizer"), "updates before gradients")
    use = [event["args"]["MiB"] for event in events if event["name"] == "arena in use"]
    peak = json.loads(ingot.succeed([trainer, "--inspect=json"]).out)
    arena = peak["activation_bytes"] + peak["gradient_bytes"] + peak["workspace_bytes"] + peak["communication_bytes"]
    check(0 < max(use) <= arena / 2**20 * 1.01, f"{max(use)} MiB of an arena of {arena} bytes")
    # The table: all parts together are the step.
    lines = result.out.splitlines()
    head = next(i for i, line in enumerate(lines) if line.startswith("part "))
    check(lines[head - 1].startswith("6 steps, "), lines[head - 1])
    each = float(lines[head - 1].split()[2])
    rows = lines[head + 1 : lines.index("", head)]
    names = [row[:18].strip() for row in rows]
    check(names[:3] == ["forward", "backward", "optimizer"], f"parts {names}")
    total = sum(float(row[18:].split()[0]) for row in rows)
    check_close("the sum of the parts", total / each, 1, 0.02)
    table = "\n".join(lines[lines.index("", head) :])
    for word in ("P50 us", "P99 us", "of best", "train_step.", "forward", "optimizer"):
        check(word in table, f"no {word!r} in {table}")


@case("profile-counts-all-steps")
def whole(ingot):
    """Without a window every step is profiled, and evaluation between them is no part of a step."""
    trainer, path = digits(ingot, "--optimizer", "sgd"), ingot.path("trace.json")
    data = ["--data", DIGITS / "train.npz", "--eval-data", DIGITS / "eval.npz", "--eval-every", "3"]
    ingot.succeed([trainer, *data, "--steps", "7", "--profile", path])
    events = read_trace(path)
    check([e["args"]["step"] for e in events if e.get("cat") == "step"] == list(range(1, 8)), "not all steps")
    check(any(e["name"] == "eval_step" for e in events), "evaluations between steps are not in the trace")


def read_board(folder):
    """What TensorBoard's own reader finds."""
    try:
        from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    except ImportError:
        raise Skip("no tensorboard: tools/setup installs it") from None
    board = EventAccumulator(str(folder), size_guidance={"scalars": 0, "histograms": 0})
    board.Reload()
    return board


@case("tensorboard-scalars")
def scalars(ingot):
    """TensorBoard reads what the log says; a resumed run replaces the steps it takes again."""
    trainer, board, save = digits(ingot, "--optimizer", "adamw", "--clip"), ingot.path("board"), ingot.path("save")
    data = ["--data", DIGITS / "train.npz", "--eval-data", DIGITS / "eval.npz", "--eval-every", "5"]
    flags = [*data, "--tensorboard", board]
    ingot.succeed([trainer, *flags, "--steps", "12", "--save", save, "--save-every", "8", "--keep", "9"])
    rows, evaluations = ingot.train(trainer, *flags, "--steps", "14", "--resume", save / "step-8", log_from=9)
    read = read_board(board)
    tags = set(read.Tags()["scalars"])
    check({"train/loss", "train/lr", "train/grad_norm", "speed/step_ms", "eval/loss"} <= tags, f"tags {tags}")
    loss = {event.step: event.value for event in read.Scalars("train/loss")}
    check(sorted(loss) == list(range(1, 15)), f"steps {sorted(loss)}")
    check(len(read.Scalars("train/loss")) == 14, "steps are there twice")
    check_close("losses", [loss[row["step"]] for row in rows], [row["loss"] for row in rows], 1e-6)
    check_close("evaluation", read.Scalars("eval/loss")[-1].value, evaluations[-1]["eval_loss"], 1e-6)
    check(abs(read.Scalars("train/loss")[-1].wall_time - read.FirstEventTimestamp()) < 600, "another time")


@case("tensorboard-histograms")
def histograms(ingot):
    """Weights, gradients and updates are those of the exported models; what does not learn is named."""
    # The norm of all gradients needs them in memory; nothing is clipped.
    trainer, board = digits(ingot, "--optimizer", "sgd", "--clip"), ingot.path("board")
    flags = ["--data", DIGITS / "train.npz", "--no-shuffle", "--lr", "0.5", "--clip-norm", "1e9"]
    models = [ingot.path(f"{steps}.onnx") for steps in (3, 4)]
    for steps, path in zip((3, 4), models):
        ingot.succeed([trainer, *flags, "--steps", steps, "--export", path])
    out = ingot.path("same.onnx")
    ingot.succeed([trainer, *flags, "--steps", "4", "--tensorboard", board, "--histogram-every", "2", "--export", out])
    check(out.read_bytes() == models[1].read_bytes(), "histograms change the training")
    read = read_board(board)
    before, after = (initializers(path) for path in models)
    parameters = json.loads(ingot.succeed([trainer, "--inspect=json"]).out)["parameters"]
    learned = [p["name"] for p in parameters if not np.array_equal(before[p["name"]], after[p["name"]])]
    check(len(learned) >= 4, f"learned {learned}")
    for name in learned:
        update = after[name].astype(np.float64) - before[name]
        for kind, values in (
            ("weights", after[name]),
            ("updates", update),
            # Plain SGD: the update is the gradient times the rate.
            ("gradients", -update / 0.5),
        ):
            # A kernel may compute a gradient and the update in one, as those of vectors.
            if kind == "gradients" and f"{kind}/{name}" not in read.Tags()["histograms"]:
                check(values.ndim == 1, f"no gradient of {name}")
                continue
            events = read.Histograms(f"{kind}/{name}")
            check([event.step for event in events] == [2, 4], f"{kind}/{name}: {[event.step for event in events]}")
            got = events[-1].histogram_value
            check(got.num == values.size, f"{kind}/{name}: {got.num} of {values.size} elements")
            scale = np.abs(values).max()
            slack = 1e-6 * np.abs(after[name]).max() / scale + 1e-4
            check_close(f"{kind}/{name}: range", [got.min / scale, got.max / scale],
                        [values.min() / scale, values.max() / scale], slack)  # fmt: skip
            norm = math.sqrt(got.sum_squares)
            check_close(f"{kind}/{name}: norm", norm / np.linalg.norm(values), 1, 10 * slack)
            check(sum(got.bucket) == values.size, f"{kind}/{name}: {sum(got.bucket)} in the buckets")
            # The difference of two weights is as exact as they are: not close to zero.
            for limit, count in zip(got.bucket_limit, np.cumsum(got.bucket)):
                if abs(limit) > 10 * slack * scale:
                    near = np.sort(values.ravel())
                    lower, upper = np.searchsorted(near, [limit - slack * scale, limit + slack * scale])
                    check(lower <= count <= upper, f"{kind}/{name}: {count} up to {limit}, not {lower} to {upper}")
        ratio = read.Scalars(f"update_ratio/{name}")[-1].value
        want = np.linalg.norm(update) / np.linalg.norm(after[name])
        check_close(f"{name}: ratio", ratio / want, 1, 0.01)


@case("parameters-that-do-not-learn")
def health(ingot):
    """Parameters whose gradients vanish or whose updates explode are named once."""
    trainer = digits(ingot, "--optimizer", "sgd")
    with np.load(DIGITS / "train.npz") as arrays:
        content = {name: arrays[name].copy() for name in arrays}
    image = next(name for name in content if name != "labels")
    content[image][:] = 0
    data, board = ingot.path("zero.npz"), ingot.path("board")
    np.savez(data, **content)
    watch = ["--tensorboard", board, "--histogram-every", "1"]
    said = ingot.succeed([trainer, "--data", data, "--steps", "4", *watch]).err
    zero = [line for line in said.splitlines() if "all gradients are zero in" in line]
    check(len(zero) == 1 and "weight" in zero[0], f"the first layer has no gradient: {said}")
    said = ingot.succeed([trainer, "--data", DIGITS / "train.npz", "--lr", "20", "--steps", "1", *watch]).err
    check("updates are above a tenth of the weights in" in said, said)
    said = ingot.succeed([trainer, "--data", DIGITS / "train.npz", "--lr", "1e-7", "--steps", "2", *watch]).err
    check("updates are below 1e-7 of the weights in" in said, said)
    said = ingot.succeed([trainer, "--data", DIGITS / "train.npz", "--lr", "0.01", "--steps", "3", *watch]).err
    check(not any(word in said for word in ("gradients are", "updates are", "not finite")), said)
    trainer = ingot.compile(G.model, *G.compile_flags("adamw"))
    ingot.check_error([trainer, "--data", G.data, "--histogram-every", "2"], 2, "--histogram-every")
