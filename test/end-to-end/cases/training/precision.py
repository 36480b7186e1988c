# SPDX-License-Identifier: Apache-2.0
"""Mixed precision: convergence, dynamic loss scaling, and what is watched."""

import json

import numpy as np
import onnx
from harness import DIGITS, ROOT, case, check, check_relative, golden, initializers
from launch import ALONE, mpirun

G = golden("multilabel")
DATA = ["--data", G.data, "--no-shuffle"]


def compile_with(ingot, *flags, optimizer="adamw"):
    return ingot.compile(G.model, *G.compile_flags(optimizer), *flags)


@case("precision-losses")
def losses(ingot):
    """Within the rounding of the operands, losses are those of fp32."""
    expected = [row["loss"] for row in ingot.train(compile_with(ingot), *DATA, "--steps", "30")[0]]
    for precision, tolerance in (("bf16", 2e-2), ("fp16", 4e-3)):
        trainer = compile_with(ingot, "--precision", precision)
        rows, _ = ingot.train(trainer, *DATA, "--steps", "30")
        check_relative(precision, [row["loss"] for row in rows], expected, tolerance)
        check([row["loss"] for row in rows] != expected, f"{precision}: computed in fp32")
        check(("loss_scale" in rows[0]) == (precision == "fp16"), f"{precision}: {rows[0]}")


@case("precision-digits")
def digits(ingot):
    """The CNN with batch norm learns as well in 16 bits."""
    results = {}
    for precision in ("fp32", "bf16", "fp16"):
        flags = ["--loss", "cross-entropy", "--batch", "32", "--precision", precision]
        trainer = ingot.compile(DIGITS / "digits.onnx", *flags)
        files = ["--data", DIGITS / "train.npz", "--eval-data", DIGITS / "eval.npz"]
        _, evaluations = ingot.train(trainer, *files, "--epochs", "3")
        results[precision] = evaluations[-1]
    for precision in ("bf16", "fp16"):
        accuracy = results[precision]["eval_accuracy"]
        check(accuracy >= results["fp32"]["eval_accuracy"] - 0.01, f"{precision}: {results}")


@case("precision-fp8")
def fp8(ingot):
    """With operands of matmuls in 8 bits, a language model learns as in bf16, and
    the history of delayed scales is part of checkpoints."""
    folder = ROOT / "docs/examples/bytes"
    tokens = ingot.path("tokens.bin")
    ingot.succeed(["python3", folder / "tokens.py", tokens, ROOT / "LICENSE"])
    # At higher rates, two runs in bf16 that differ in a last bit part as far.
    data = ["--data", tokens, "--lr", "3e-4"]
    flags = ["--batch", "4", "--loss", "cross-entropy:2"]

    def losses(rows):
        return [row["loss"] for row in rows]

    def train(*options):
        trainer = ingot.compile(folder / "bytes.onnx", *flags, *options)
        return trainer, ingot.train(trainer, *data, "--steps", "50")[0]

    expected = losses(train("--precision", "bf16")[1])
    for scaling in ("current", "delayed", "block"):
        trainer, rows = train("--precision", "fp8", "--fp8-scaling", scaling)
        check(losses(rows) != expected, f"{scaling}: computed in bf16")
        check_relative(scaling, losses(rows), expected, 1e-2)
        if scaling == "delayed":
            saved, log = ingot.path("saved"), ingot.path("log.jsonl")
            ingot.train(trainer, *data, "--steps", "40", "--save", saved)
            ingot.succeed([trainer, *data, "--steps", "50", "--resume", saved, "--log", log])
            rest = [json.loads(line)["loss"] for line in log.read_text().splitlines()]
            check(rest == losses(rows[40:]), "losses differ after a resume")
            # Each rank knows the largest magnitudes of all, and scales as one rank with the whole batch does. The order
            # of sums differs, and with it a few roundings to 8 bits.
            options = ["--precision", "fp8", "--fp8-scaling", "delayed", "--data-parallel"]
            half = ingot.compile(folder / "bytes.onnx", "--batch", "2", "--loss", "cross-entropy:2", *options)
            log, saved = ingot.path("log.jsonl"), ingot.path("saved")
            command = [*mpirun(2), half, *data, "--steps", "20", "--log", log, "--save", saved]
            ingot.succeed(command, env=ALONE)
            both = [json.loads(line)["loss"] for line in log.read_text().splitlines()]
            check_relative("two ranks", both, losses(rows[:20]), 1e-3)
            ingot.succeed([trainer, *data, "--steps", "21", "--resume", saved])


@case("precision-resume")
def resume(ingot):
    """A checkpoint holds masters alone: it goes on bit for bit, and in another
    precision."""
    trainer = compile_with(ingot, "--precision", "fp16")
    whole, _ = ingot.train(trainer, *DATA, "--steps", "8")
    folder = ingot.path("saved")
    ingot.train(trainer, *DATA, "--steps", "4", "--save", folder)
    log = ingot.path("log.jsonl")
    ingot.succeed([trainer, *DATA, "--steps", "8", "--resume", folder, "--log", log])
    rest = [json.loads(line)["loss"] for line in log.read_text().splitlines()]
    check(rest == [row["loss"] for row in whole[4:]], "losses differ after a resume")
    for other in (compile_with(ingot, "--clip"), compile_with(ingot, "--precision", "bf16")):
        log = ingot.path("log.jsonl")
        ingot.succeed([other, *DATA, "--steps", "8", "--resume", folder, "--log", log])
        rest = [json.loads(line)["loss"] for line in log.read_text().splitlines()]
        check_relative("resumed", rest, [row["loss"] for row in whole[4:]], 5e-2)


@case("precision-halves")
def halves(ingot):
    """Masters in halves are the weights bit for bit: as they came, in files,
    and in a trainer that has them whole."""
    trainer = compile_with(ingot, "--precision", "bf16")
    plain = compile_with(ingot)
    planned, whole = (json.loads(ingot.succeed([t, "--inspect=json"]).out) for t in (trainer, plain))
    rounding = 64 * len(planned["parameters"])
    check(planned["weights_bytes"] <= whole["weights_bytes"] + rounding, f"{planned['weights_bytes']} B of weights")
    before, after, again = ingot.path("before.onnx"), ingot.path("after.onnx"), ingot.path("again.onnx")
    ingot.succeed([trainer, *DATA, "--steps", "0", "--export", before])
    start = initializers(G.model)
    check(all(np.array_equal(v, start[k]) for k, v in initializers(before).items()), "weights changed at rest")
    folder = ingot.path("halves")
    whole, _ = ingot.train(trainer, *DATA, "--steps", "6", "--export", after)
    ingot.train(trainer, *DATA, "--steps", "4", "--save", folder)
    log = ingot.path("log.jsonl")
    ingot.succeed(
        [trainer, *DATA, "--steps", "6", "--resume", folder, "--log", log, "--export", again, "--save", folder]
    )
    rest = [json.loads(line)["loss"] for line in log.read_text().splitlines()]
    check(rest == [row["loss"] for row in whole[4:]], "losses differ after a resume")
    a, b = initializers(after), initializers(again)
    check(all(np.array_equal(a[k], b[k]) for k in a), "parameters differ after a resume")
    ingot.succeed([plain, *DATA, "--steps", "6", "--resume", folder, "--export", again])
    b = initializers(again)
    check(all(np.array_equal(a[k], b[k]) for k in a), "a trainer in fp32 reads other parameters")


def with_overflows(ingot, steps):
    """The data in order for `steps` steps with the batches whose samples are
    infinite, and the same without them."""
    with np.load(G.data) as arrays:
        arrays = {k: arrays[k] for k in arrays}
    name = next(k for k in arrays if k != "labels")
    total, batch = len(arrays["labels"]), G.batch
    rng = np.random.default_rng(3)
    order = [rng.integers(0, total, batch) for _ in range(steps)]
    bad = set(rng.choice(np.arange(steps), steps // 3, replace=False).tolist())
    files = {}
    for key, chosen in (("all", range(steps)), ("good", [s for s in range(steps) if s not in bad])):
        parts = {k: [] for k in arrays}
        for s in chosen:
            for k, v in arrays.items():
                part = v[order[s]].copy()
                if s in bad and k == name:
                    part.flat[0] = np.inf
                parts[k].append(part)
        files[key] = ingot.path(f"{key}.npz")
        np.savez(files[key], **{k: np.concatenate(v) for k, v in parts.items()})
    return files, bad


@case("precision-skipped-steps")
def skipped_steps(ingot):
    """A run with infinities has exactly the parameters, schedule and moments of
    the run without those steps."""
    for optimizer in ("adamw", "momentum"):
        for flags in (["--precision", "fp16"], ["--precision", "bf16", "--loss-scaling"], ["--loss-scaling"]):
            trainer = compile_with(ingot, *flags, optimizer=optimizer)
            files, bad = with_overflows(ingot, 18)
            # The scale does not move, so that roundings are the same.
            rest = ["--no-shuffle", "--loss-scale-backoff", "1", "--warmup", "4", "--epochs", "1"]
            exported, clean = ingot.path("all.onnx"), ingot.path("good.onnx")
            rows, _ = ingot.train(trainer, "--data", files["all"], *rest, "--export", exported)
            skipped = {row["step"] - 1 for row in rows if row["skipped"]}
            check(skipped == bad, f"{flags}: skipped {skipped}, infinite {bad}")
            good, _ = ingot.train(trainer, "--data", files["good"], *rest, "--export", clean)
            kept = [(row["loss"], row["lr"]) for row in rows if not row["skipped"]]
            check(kept == [(row["loss"], row["lr"]) for row in good], f"{flags}: losses or rates differ")
            a, b = initializers(exported), initializers(clean)
            check(all(np.array_equal(a[k], b[k]) for k in a), f"{flags}: parameters differ")


def scaler(finite, scale, growth, backoff, interval, hysteresis):
    """The plain reference of the loss scale's state machine."""
    good = overflows = 0
    for ok in finite:
        yield scale
        if ok:
            good += 1
            if good >= interval:
                scale, good, overflows = min(scale * growth, 2.0**127), 0, 0
        else:
            good = 0
            overflows += 1
            if overflows >= hysteresis:
                scale, overflows = max(scale * backoff, 1.0), 0


@case("precision-scale-adapts")
def scale_adapts(ingot):
    trainer = compile_with(ingot, "--precision", "fp16")
    files, bad = with_overflows(ingot, 24)
    finite = [s not in bad for s in range(24)]
    for settings in ((2.0, 0.5, 2, 1), (4.0, 0.25, 3, 2)):
        flags = []
        for name, value in zip(("growth", "backoff", "interval", "hysteresis"), settings):
            flags += [f"--loss-scale-{name}", str(value)]
        rows, _ = ingot.train(
            trainer, "--data", files["all"], "--no-shuffle", "--epochs", "1", "--loss-scale", "64", *flags
        )
        got = [row["loss_scale"] for row in rows]
        expected = list(scaler(finite, 64.0, *settings))
        check(got == expected, f"{settings}: scales {got}, expected {expected}")


@case("precision-overflow-named")
def overflow_named(ingot):
    """A layer that overflows in fp16 is named; with it in fp32 the run goes on."""
    model = onnx.load(G.model)
    for tensor in model.graph.initializer:
        if tensor.name == "fc1.weight":
            big = onnx.numpy_helper.to_array(tensor) * np.float32(1e6)
            tensor.CopyFrom(onnx.numpy_helper.from_array(big, tensor.name))
    path = ingot.path("big.onnx")
    onnx.save(model, path)
    node = next(n.name for n in model.graph.node if "fc1.weight" in n.input)
    flags = [*G.compile_flags("adamw"), "--precision", "fp16"]
    trainer = ingot.compile(path, *flags)
    ingot.check_error(
        [trainer, *DATA, "--steps", "60", "--loss-scale", "4", "--watch", "nan"], 1, "loss scale of 1", node
    )
    kept = ingot.compile(path, *flags, "--keep-fp32", f"^{node}$")
    rows, _ = ingot.train(kept, *DATA, "--steps", "3", "--loss-scale", "1")
    check(np.isfinite(rows[0]["loss"]), f"{rows}")


@case("precision-watch-fp32")
def watch_fp32(ingot):
    files, bad = with_overflows(ingot, 6)
    trainer = compile_with(ingot)
    command = [trainer, "--data", files["all"], "--no-shuffle", "--epochs", "1"]
    ingot.check_error(command, 1, "the loss is")
    # Gradients may be NaN steps before the loss is.
    ingot.check_error([*command, "--watch", "nan"], 1, f"step {min(bad) + 1}", "not finite is in")
    result = ingot.succeed([trainer, *DATA, "--steps", "2", "--watch", "stats"])
    check("subnormal" in result.out + result.err, "no table of values")


@case("precision-options")
def options(ingot):
    out = ingot.path("trainer")
    common = [*G.compile_flags("adamw"), "-o", out]
    ingot.check_error(ingot.ingotc(G.model, *common, "--precision", "fp4"), 2, "--precision")
    for flags, message in (
        (["--fp8-scaling", "block"], "requires --precision fp8"),
        (["--precision", "fp8", "--fp8-scaling", "row"], "unknown fp8-scaling"),
        (["--precision", "fp8", "--target", "cuda", "--arch", "sm_80"], "sm_80 has no 8-bit floats"),
        (["--precision", "fp8", "--fp8-scaling", "delayed", "--grad-accumulation", "2"], "delayed scales"),
    ):
        ingot.check_error(ingot.ingotc(G.model, *common, *flags), 2, message)
    ingot.check_error(ingot.ingotc(G.model, *common, "--precision", "bf16", "--keep-fp32", "("), 2, "--keep-fp32")
    trainer = compile_with(ingot)
    ingot.check_error([trainer, *DATA, "--steps", "1", "--loss-scale", "8"], 2, "--loss-scale")


@case("precision-optimizer")
def optimizer(ingot):
    """Moments in bf16 take half the bytes, train as well, resume with the same
    bits, and go on in fp32."""
    flags = ["--loss", "cross-entropy", "--batch", "32"]
    trainers = {p: ingot.compile(DIGITS / "digits.onnx", *flags, "--optimizer-precision", p) for p in ("fp32", "bf16")}
    files = ["--data", DIGITS / "train.npz", "--eval-data", DIGITS / "eval.npz"]
    results = {p: ingot.train(trainer, *files, "--epochs", "4")[1][-1] for p, trainer in trainers.items()}
    check_relative("loss", [results["bf16"]["eval_loss"]], [results["fp32"]["eval_loss"]], 0.05)
    check(results["bf16"]["eval_accuracy"] >= results["fp32"]["eval_accuracy"] - 0.01, f"{results}")
    plans = {p: json.loads(ingot.succeed([t, "--inspect=json"]).out) for p, t in trainers.items()}
    sizes = {p: plan["optimizer_bytes"] for p, plan in plans.items()}
    check(sizes["bf16"] <= 0.55 * sizes["fp32"], f"bytes of moments: {sizes}")

    trainer, data = trainers["bf16"], ["--data", DIGITS / "train.npz", "--no-shuffle"]
    whole, _ = ingot.train(trainer, *data, "--steps", "8")
    folder = ingot.path("saved")
    ingot.train(trainer, *data, "--steps", "4", "--save", folder)
    for other, tolerance in ((trainer, 0), (trainers["fp32"], 1e-2)):
        log = ingot.path("log.jsonl")
        ingot.succeed([other, *data, "--steps", "8", "--resume", folder, "--log", log])
        rest = [json.loads(line)["loss"] for line in log.read_text().splitlines()]
        check_relative("resumed", rest, [row["loss"] for row in whole[4:]], tolerance)
