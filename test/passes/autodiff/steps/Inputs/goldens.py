# SPDX-License-Identifier: Apache-2.0
"""Runs train_step and eval_step of every golden case, see goldens.test."""

import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

STEPS = 10
SIMPLIFY = "func.func(ingot-simplify,ingot-decompose,ingot-simplify)"


def evaluate(module, function, folder, inputs, states=None, steps=1):
    np.savez(folder / "in.npz", **inputs)
    command = ["ingot-eval", module, "--function", function, "--steps", str(steps)]
    command += ["--inputs", folder / "in.npz", "--outputs", folder / "out.npz"]
    command += ["--state-out", folder / "state.npz"]
    if states is not None:
        np.savez(folder / "from.npz", **states)
        command += ["--states", folder / "from.npz"]
    subprocess.run(command, check=True)
    return dict(np.load(folder / "out.npz")), dict(np.load(folder / "state.npz"))


def relative(got, want):
    return np.max(np.abs(np.asarray(got) - want) / np.maximum(np.abs(want), 1e-6))


def check(golden, optimizer, folder):
    text = json.loads((golden / "golden.json").read_text())
    run, batch = text["runs"][optimizer], text["batch"]
    loss = f"loss={text['loss']}" if text["loss"] else ""
    pipeline = f"builtin.module(func.func(ingot-simplify),ingot-autodiff{{{loss} optimizer={optimizer}}},{SIMPLIFY})"
    module = folder / "step.mlir"
    command = ["ingot-opt", golden / "model.onnx", f"--batch={batch}", "-o", module]
    subprocess.run([*command, f"--pass-pipeline={pipeline}"], check=True)

    data = dict(np.load(golden / "data.npz"))
    flags = iter(run["flags"])
    hyper = {name[2:].replace("-", "_"): np.float64(next(flags)) for name in flags}
    inputs = {k: v[: STEPS * batch] for k, v in data.items()}
    out, states = evaluate(module, "train_step", folder, {**inputs, **hyper}, steps=STEPS)
    errors = {"losses": relative(out["loss"], run["losses"][:STEPS])}
    with np.load(golden / "weights.npz") as weights:
        errors["weights"] = max(
            np.max(np.abs(states[key.removeprefix(f"{optimizer}/")] - weights[key]))
            for key in weights
            if key.startswith(f"{optimizer}/")
        )
    if text["loss"]:
        # Every other batch has three samples of padding, whose contents must not show.
        samples, at, full = len(next(iter(data.values()))), 0, True
        totals = dict.fromkeys(("loss_sum", "loss_count", "correct"), 0.0)
        while at < samples:
            count = min(batch if full else batch - 3, samples - at)
            part = {k: np.full((batch, *v.shape[1:]), 2, v.dtype) for k, v in data.items()}
            for k, v in data.items():
                part[k][:count] = v[at : at + count]
            part["valid"] = np.int64(count)
            out, _ = evaluate(module, "eval_step", folder, part, states)
            for key in out:
                totals[key] += out[key].item()
            at, full = at + count, not full
        errors["eval_loss"] = relative(totals["loss_sum"] / totals["loss_count"], run["eval_loss"])
        if "eval_accuracy" in run:
            accuracy = totals["correct"] / totals["loss_count"]
            errors["eval_accuracy"] = abs(accuracy - run["eval_accuracy"])
    return errors


def main():
    failed = False
    with tempfile.TemporaryDirectory() as name:
        for golden in sorted(pathlib.Path(sys.argv[1]).iterdir()):
            text = json.loads((golden / "golden.json").read_text())
            for optimizer in text["runs"]:
                errors = check(golden, optimizer, pathlib.Path(name))
                print(golden.name, optimizer, {k: f"{v:.1e}" for k, v in errors.items()})
                failed |= not max(errors.values()) < 1e-5
    sys.exit(failed)


main()
