# SPDX-License-Identifier: Apache-2.0
"""The training step, built from an ONNX model and run by the interpreter,
against the losses and weights of PyTorch in test/end-to-end/goldens."""

import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

GOLDENS = pathlib.Path(__file__).parent.parent / "end-to-end" / "goldens"
STEPS = 10


def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{command[0]} exited with {done.returncode}:\n{done.stdout}{done.stderr}")


def train(folder, optimizer, golden, scratch):
    """Losses by step, and the states after the last."""
    options = [f"optimizer={optimizer}"]
    if golden["loss"]:
        options.append(f"loss={golden['loss']}")
    step = scratch / "step.mlir"
    run(
        "ingot-opt", folder / "model.onnx", "--batch", golden["batch"],
        f"--ingot-autodiff={' '.join(options)}", "-o", step,
    )  # fmt: skip
    arrays = dict(np.load(folder / "data.npz"))
    flags = golden["runs"][optimizer]["flags"]
    for flag, value in zip(flags[::2], flags[1::2]):
        arrays[flag.removeprefix("--").replace("-", "_")] = np.float64(value)
    np.savez(scratch / "inputs.npz", **arrays)
    run(
        "ingot-eval", step, "--function", "train_step", "--steps", STEPS,
        "--inputs", scratch / "inputs.npz", "--outputs", scratch / "outputs.npz",
        "--state-out", scratch / "states.npz",
    )  # fmt: skip
    return np.load(scratch / "outputs.npz")["loss"], np.load(scratch / "states.npz")


def main():
    failed = False
    for folder in sorted(GOLDENS.iterdir()):
        golden = json.loads((folder / "golden.json").read_text())
        weights = np.load(folder / "weights.npz")
        for optimizer, record in golden["runs"].items():
            with tempfile.TemporaryDirectory() as scratch:
                losses, states = train(folder, optimizer, golden, pathlib.Path(scratch))
                want = np.array(record["losses"][:STEPS])
                worst = {"loss": np.max(np.abs(losses - want) / np.abs(want))}
                for key in weights.files:
                    run_name, _, name = key.partition("/")
                    if run_name == optimizer:
                        worst[name] = np.max(np.abs(states[name] - weights[key]))
            worst = {key: np.nan_to_num(value, nan=np.inf) for key, value in worst.items()}
            name = max(worst, key=worst.get)
            print(f"{folder.name} {optimizer}: at most {worst[name]:.1e} ({name})")
            failed |= not worst[name] <= 1e-4
    sys.exit(failed)


if __name__ == "__main__":
    main()
