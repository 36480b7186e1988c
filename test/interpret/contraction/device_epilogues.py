# SPDX-License-Identifier: Apache-2.0
"""A step in bf16 for devices, whose products have epilogues of the library: the emulator computes what the
interpreter does, and rounding for the library moves losses no more than bf16 does anyway."""

import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnx.helper as oh
import onnx.numpy_helper

STEPS = 4
BATCH = 16
SIZES = [24, 32, 16, 8]


def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{command[0]} exited with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def write_inputs(folder):
    """Layers with GELU by tanh and ReLU; the model, and data for it."""
    rng = np.random.default_rng(0)
    tensors, nodes, at = [], [], "x"
    for i, shape in enumerate(zip(SIZES, SIZES[1:])):
        for name, size in [(f"w{i}", shape), (f"b{i}", shape[1])]:
            tensors.append(onnx.numpy_helper.from_array(rng.normal(0, 0.3, size).astype(np.float32), name))
        nodes += [oh.make_node("MatMul", [at, f"w{i}"], [f"p{i}"]), oh.make_node("Add", [f"p{i}", f"b{i}"], [f"z{i}"])]
        at = f"y{i}"
        nodes.append(
            [oh.make_node("Gelu", [f"z{i}"], [at], approximate="tanh"), oh.make_node("Relu", [f"z{i}"], [at]),
             oh.make_node("Identity", [f"z{i}"], [at])][i]
        )  # fmt: skip
    value = oh.make_tensor_value_info
    graph = oh.make_graph(nodes, "network", [value("x", 1, ["n", SIZES[0]])], [value(at, 1, ["n", SIZES[-1]])], tensors)
    onnx.save(oh.make_model(graph, opset_imports=[oh.make_opsetid("", 20)], ir_version=10), folder / "network.onnx")
    rates = {"lr": 0.1, "weight_decay": 0.0}
    np.savez(
        folder / "inputs.npz", x=rng.normal(size=(STEPS * BATCH, SIZES[0])).astype(np.float32),
        labels=rng.integers(0, SIZES[-1], STEPS * BATCH), **{k: np.float64(v) for k, v in rates.items()},
    )  # fmt: skip


def build(folder, name, *passes):
    module = folder / f"{name}.mlir"
    run(
        "ingot-opt", folder / "network.onnx", "--batch", BATCH, "--ingot-simplify",
        "--ingot-attach-loss=loss=cross-entropy", "--ingot-differentiate", "--ingot-simplify",
        "--ingot-assign-precision=precision=bf16", *passes, "--ingot-apply-optimizer=optimizer=sgd",
        "--ingot-keep-low-copies", "--ingot-simplify", "-o", module,
    )  # fmt: skip
    return module


def train(module, *flags):
    """Losses, and the parameters after the last step."""
    outputs, states = module.with_suffix(".outputs.npz"), module.with_suffix(".states.npz")
    run(
        "ingot-eval", module, "--function", "train_step", "--steps", STEPS, "--inputs", module.with_name("inputs.npz"),
        "--outputs", outputs, "--state-out", states, *flags,
    )  # fmt: skip
    with np.load(outputs) as o, np.load(states) as s:
        return o["loss"], {k: s[k] for k in s if k[0] in "wb" and "/" not in k}


def main():
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        write_inputs(folder)
        plain, device = build(folder, "plain"), build(folder, "device", "--ingot-round-epilogues")
        fused = run(
            "ingot-opt",
            device,
            "--ingot-attach-target=target=emulator",
            "--ingot-decompose",
            "--ingot-pack-signs",
            "--ingot-form-fusions",
        )
        forms = {
            "<gelu bias = 2 auxiliary": 1,
            "<relu bias = 2": 3,
            "<gelu_grad": 1,
            "<relu_grad": 1,
            "of rhs>": 3,
        }
        for form, count in forms.items():
            if fused.count(form) != count:
                sys.exit(f"{fused.count(form)} epilogues {form}, want {count}")
        losses, parameters = train(device)
        emulated, same = train(device, "--compiled", "--emulate")
        if not np.allclose(emulated, losses, rtol=1e-5):
            sys.exit(f"losses of the emulator {emulated}, of the interpreter {losses}")
        if len(parameters) != 2 * len(SIZES) - 2:
            sys.exit(f"parameters: {sorted(parameters)}")
        for name, value in parameters.items():
            if not np.allclose(same[name], value, atol=1e-5):
                sys.exit(f"{name} differs by {np.abs(same[name] - value).max()}")
        exact, _ = train(plain)
        if not np.allclose(losses, exact, rtol=5e-3) or len(set(losses)) != STEPS:
            sys.exit(f"losses {losses}, without rounding for the library {exact}")


main()
