# SPDX-License-Identifier: Apache-2.0
"""Writes goldens-moments.npz: codes of moments after 100 steps on fixed gradients.

They are those of bitsandbytes 0.50 in its form of PyTorch operations, which its
GPU kernels equal; its kernels for CPUs take codes from a table that is not the
nearest number. Needs bitsandbytes; the tests do not. Gradients are gradients()
below, the same in the test.
"""

import ast
import importlib.util
import math
import pathlib
import typing

import numpy as np

STEPS = 100
# The blocks of one are whole, and the last of the other is shorter.
SHAPES = {"even": (64, 72), "odd": (75, 61), "small": (4095,)}
LR = 1e-3
# By the name here: that of bitsandbytes, its hyperparameters, and the states.
OPTIMIZERS = {
    "adamw": ("adam", {"beta1": 0.9, "beta2": 0.999, "eps": 1e-8, "weight_decay": 0.01}, ["exp_avg", "exp_avg_sq"]),
    "momentum": ("momentum", {"beta1": 0.9, "weight_decay": 0.0}, ["momentum"]),
    "lion": ("lion", {"beta1": 0.9, "beta2": 0.99, "weight_decay": 0.01}, ["exp_avg"]),
    "adagrad": ("adagrad", {"eps": 1e-10, "weight_decay": 0.0}, ["sum"]),
    "rmsprop": ("rmsprop", {"beta1": 0.99, "eps": 1e-8, "weight_decay": 0.0}, ["square_avg"]),
}


def gradients():
    """By parameter, [STEPS, ...]: of several orders of magnitude."""
    rng = np.random.default_rng(48)
    values = {}
    for name, shape in SHAPES.items():
        scale = 10.0 ** rng.uniform(-4, 0, shape)
        values[name] = (scale * rng.standard_normal((STEPS, *shape))).astype(np.float32)
    return values


def initial():
    rng = np.random.default_rng(84)
    return {name: rng.standard_normal(shape).astype(np.float32) for name, shape in SHAPES.items()}


def load_reference():
    """The functions on PyTorch tensors alone, without the compiler of GPU kernels
    that their file imports."""
    import torch

    root = pathlib.Path(importlib.util.find_spec("bitsandbytes").origin).parent
    tree = ast.parse((root / "backends/triton/kernels_optim.py").read_text())
    names = ("_dequantize_blockwise_pytorch", "_quantize_blockwise_pytorch", "optimizer_update_8bit_blockwise_pytorch")
    tree.body = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name in names]
    for node in tree.body:
        node.decorator_list = []
    found = {"torch": torch, "math": math, "Optional": typing.Optional}
    exec(compile(tree, "kernels_optim.py", "exec"), found)
    return found["optimizer_update_8bit_blockwise_pytorch"]


class Reference:
    """Parameters and moments that bitsandbytes updates."""

    def __init__(self, optimizer):
        import bitsandbytes.functional as functional
        import torch

        self.torch, self.update = torch, load_reference()
        self.name, self.hyper, self.states = OPTIMIZERS[optimizer]
        self.weights = {k: torch.from_numpy(v.copy()) for k, v in initial().items() if v.size >= 4096}
        self.maps = [functional.create_dynamic_map(signed=i == 0) for i in range(2)]
        self.codes, self.scales = {}, {}
        for key, weight in self.weights.items():
            blocks = -(-weight.numel() // 256)
            self.codes[key] = [torch.zeros(weight.shape, dtype=torch.uint8) for _ in self.states]
            self.scales[key] = [torch.zeros(blocks) for _ in self.states]

    def step(self, number, gradients):
        hyper = {"beta1": 0.0, "beta2": 0.0, "eps": 0.0, **self.hyper}
        for key, weight in self.weights.items():
            codes, scales = self.codes[key], self.scales[key]
            two = len(codes) > 1
            self.update(
                weight, self.torch.from_numpy(gradients[key]), codes[0], codes[1] if two else None,
                hyper["beta1"], hyper["beta2"], 0.0, 0.0, hyper["eps"], number, LR, self.maps[0],
                self.maps[1] if two else None, scales[0], scales[1] if two else None, hyper["weight_decay"], 1.0, False,
                optimizer_name=self.name,
            )  # fmt: skip


def main():
    values = gradients()
    goldens = {}
    for optimizer in OPTIMIZERS:
        reference = Reference(optimizer)
        for i in range(STEPS):
            reference.step(i + 1, {key: value[i] for key, value in values.items()})
        for key in reference.weights:
            for state, codes in zip(reference.states, reference.codes[key]):
                goldens[f"{optimizer}/{key}/{state}"] = codes.numpy().ravel()
    np.savez_compressed(pathlib.Path(__file__).with_name("goldens-moments.npz"), **goldens)


if __name__ == "__main__":
    main()
