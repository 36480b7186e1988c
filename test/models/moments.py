#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Moments in 8 bits beside bitsandbytes: each step from the same codes, with the same gradients, except for ties.

moments.py --bin build/release/bin
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

if os.environ.get("INGOT_MODELS_PYTHON", sys.executable) != sys.executable:
    os.execv(os.environ["INGOT_MODELS_PYTHON"], [os.environ["INGOT_MODELS_PYTHON"], *sys.argv])
# ruff: noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "end-to-end"))
import moment_goldens as goldens
import numpy as np
import torch
from cases.training import moments


def train(bin_folder, folder, optimizer, saves):
    """Returns the states after each of the first steps."""
    model, data, trainer = folder / "model.onnx", folder / "data.npz", folder / f"{optimizer}"
    moments.write_model(model)
    np.savez(data, **{f"g_{name}": v for name, v in goldens.gradients().items()})
    subprocess.run(
        [bin_folder / "ingotc", model, "-o", trainer, "--loss", "output:loss", "--optimizer", optimizer, *moments.DYN8],
        check=True,
    )  # fmt: skip
    flags, states, saved = moments.list_flags(optimizer), [], None
    for step in range(1, saves + 1):
        before, saved = saved, folder / f"{optimizer}-{step}"
        start = ["--resume", before] if before else ["--lr", str(goldens.LR), *flags]
        command = [trainer, "--data", data, "--no-shuffle", *start, "--steps", str(step), "--save", saved]
        subprocess.run(command, check=True, capture_output=True)
        states.append(moments.read_states(saved))
    return states


def compare(optimizer, states):
    reference, gradients = goldens.Reference(optimizer), goldens.gradients()
    steps = differing = elements = 0
    for step, found in enumerate(states, start=1):
        reference.step(step, {key: value[step - 1] for key, value in gradients.items()})
        for key, weight in reference.weights.items():
            for i, state in enumerate(reference.states):
                codes = torch.from_numpy(found[f"{key}/{state}/codes"].copy()).reshape(weight.shape)
                scales = torch.from_numpy(found[f"{key}/{state}.absmax"].copy())
                apart = (codes.int() - reference.codes[key][i].int()).abs()
                assert apart.max() <= 1, f"{optimizer}: {key}/{state} is {apart.max()} codes apart in step {step}"
                assert torch.allclose(scales, reference.scales[key][i], rtol=1e-5), f"{optimizer}: {key}/{state}"
                differing += int((apart > 0).sum())
                elements += apart.numel()
                # The next step begins with the same codes.
                reference.codes[key][i].copy_(codes)
                reference.scales[key][i].copy_(scales)
            weights = torch.from_numpy(found[key].copy()).reshape(weight.shape)
            assert torch.allclose(weight, weights, rtol=1e-5, atol=1e-6), f"{optimizer}: {key} in step {step}"
            weight.copy_(weights)
        steps += 1
    assert differing <= 1e-4 * elements, f"{optimizer}: {differing} of {elements} codes differ"
    print(f"{optimizer}: {differing} of {elements} codes differ in {steps} steps")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--steps", type=int, default=goldens.STEPS)
    options = parser.parse_args()
    for optimizer in goldens.OPTIMIZERS:
        with tempfile.TemporaryDirectory() as folder:
            compare(optimizer, train(options.bin.resolve(), pathlib.Path(folder), optimizer, options.steps))


if __name__ == "__main__":
    main()
