# SPDX-License-Identifier: Apache-2.0
"""Attention with masks and biases in the form that a device's library takes, against the same as products and a
softmax: the loss, and queries, keys and values after a step, by the interpreter."""

import pathlib
import subprocess
import sys
import tempfile

import numpy as np

BATCH, ROWS, HEADS, SIZE = 3, 16, 2, 8
SHAPE = f"tensor<{BATCH}x{ROWS}x{HEADS}x{SIZE}xf32>"
LSE = f"tensor<{BATCH}x{HEADS}x{ROWS}xf32>"


def module(terms, bounds):
    """The mean of what attention gives times a weight. `terms`: shapes of bias and mask."""
    state = "".join(f"ingot.state parameter @{name} : {SHAPE} = dense<0.0> : {SHAPE}\n" for name in "qkv")
    elements = {"bias": "f32", "mask": "i1", "lengths": "i32"}
    types = {name: f"tensor<{'x'.join(map(str, shape))}x{elements[name]}>" for name, shape in terms.items()}
    arguments = [f"%{name}: {SHAPE} {{ingot.state = @{name}}}" for name in "qkv"]
    arguments += [f'%{name}: {type} {{ingot.kind = "data", ingot.name = "{name}"}}' for name, type in types.items()]
    arguments += [f'%g: {SHAPE} {{ingot.kind = "data", ingot.name = "g"}}']
    operands = "".join(f" {name} %{name}" for name in types)
    inputs = ", ".join([SHAPE] * 3 + list(types.values()))
    # So little memory traffic a second that scores are not worth storing.
    return f"""module attributes {{ingot.machine = {{memory_bandwidth = 1.0e6}}}} {{
{state}
func.func @forward({", ".join(arguments)}) -> (tensor<f32> {{ingot.name = "loss"}}) {{
  %r, %l = ingot.attention %q, %k, %v{operands} {{scale = 0.5 : f64{bounds}}} : ({inputs}) -> ({SHAPE}, {LSE})
  %0 = ingot.mul %r, %g : {SHAPE}
  %1 = ingot.reduce sum %0 dims = [0, 1, 2, 3] : ({SHAPE}) -> tensor<f32>
  return %1 : tensor<f32>
}}
}}
"""


ON_GPU = [
    "--ingot-attach-target=target=cuda",
    "--ingot-form-attention=precision=bf16",
    "--ingot-legalize-attention",
]


def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{command[0]} exited with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def step(source, passes, scratch):
    """The loss and the states after a step of plain descent."""
    lowered = scratch / "step.mlir"
    text = (
        run(
            "ingot-opt",
            source,
            *passes,
            "--ingot-autodiff=loss=output:loss optimizer=sgd",
            "-o",
            lowered,
        )
        + lowered.read_text()
    )
    run(
        "ingot-eval",
        lowered,
        "--function",
        "train_step",
        "--inputs",
        scratch / "inputs.npz",
        "--states",
        scratch / "states.npz",
        "--outputs",
        scratch / "outputs.npz",
        "--state-out",
        scratch / "after.npz",
    )
    states = np.load(scratch / "after.npz")
    return text, {"loss": np.load(scratch / "outputs.npz")["loss"], **{name: states[name] for name in "qkv"}}


def cases(rng):
    lengths = np.array([0, 5, ROWS], np.int32)
    ends = np.arange(ROWS) < lengths[:, None]
    infinite = np.where(rng.random((1, HEADS, ROWS, ROWS)) < 0.7, -np.inf, 1.0).astype(np.float32)
    infinite[:, :, 3] = -np.inf
    for bounds in ["", ", right = 0 : i64", ", right = 0 : i64, left = 2 : i64"]:
        # Keys at the end, and at the begin: queries that see none, of a sample and of causal ones.
        yield "ends", {"mask": ends[:, None, None]}, bounds
        yield "begins", {"mask": ends[:, None, None, ::-1]}, bounds
        yield "pairs", {"mask": rng.random((BATCH, HEADS, ROWS, ROWS)) < 0.2}, bounds
        yield "bias", {"bias": infinite}, bounds
        # As some models add masks.
        yield (
            "lowest",
            {"bias": np.where(np.arange(ROWS) < 3, 1.0, -3.4e38).astype(np.float32)[None, None, None]},
            ", right = 0 : i64",
        )
        yield "both", {"bias": infinite[:, :1], "mask": ends[:, None, None]}, bounds
        yield "lengths", {"lengths": lengths}, bounds
        # Keys within lengths are hidden as well: queries that see none of them.
        yield "all", {"bias": infinite, "mask": ~ends[::-1, None, None], "lengths": lengths}, bounds


def main():
    rng = np.random.default_rng(7)
    failed = False
    for name, terms, bounds in cases(rng):
        with tempfile.TemporaryDirectory() as folder:
            scratch = pathlib.Path(folder)
            source = scratch / "model.mlir"
            source.write_text(module({key: value.shape for key, value in terms.items()}, bounds))

            def draw():
                return rng.standard_normal((BATCH, ROWS, HEADS, SIZE)).astype(np.float32)

            np.savez(scratch / "inputs.npz", g=draw(), lr=np.float64(1), **terms)
            np.savez(scratch / "states.npz", **{state: 4 * draw() for state in "qkv"})
            text, device = step(source, ON_GPU, scratch)
            _, plain = step(source, ["--ingot-form-attention=plain"], scratch)
            errors = {key: float(np.max(np.abs(device[key] - plain[key]))) for key in plain}
            formed = "ingot.attention_grad" in text and " mask " not in text
            if not formed or not max(errors.values()) < 1e-4:
                print(f"{name}{bounds}: {errors}, {'' if formed else 'decomposed'}")
                failed = True
    sys.exit(failed)


if __name__ == "__main__":
    main()
