# SPDX-License-Identifier: Apache-2.0
"""Writes goldens-optimizers.json: weights after 20 steps on fixed gradients.

sgd, momentum, nesterov, rmsprop, adadelta, adam, adamw and adagrad by torch.optim, lamb and lion by their
papers' formulas in NumPy, all in double precision. Needs PyTorch; the tests
do not. Gradients are gradients() below, the same in the test.
"""

import json
import pathlib

import numpy as np

STEPS, SHAPES = 20, {"a": (3, 4), "b": (5,)}
# Flags of the trainer besides its defaults; the same names in FORMULAS.
RUNS = {
    "sgd": [{}, {"lr": 0.05, "weight-decay": 0.1}],
    "momentum": [{}, {"lr": 0.02, "momentum": 0.7, "weight-decay": 0.1}],
    "nesterov": [{}, {"lr": 0.02, "momentum": 0.7, "weight-decay": 0.1}],
    "rmsprop": [{}, {"lr": 0.02, "alpha": 0.9, "eps": 1e-3, "weight-decay": 0.1}],
    "adadelta": [{}, {"lr": 0.5, "rho": 0.8, "eps": 1e-3, "weight-decay": 0.1}],
    "adam": [{}, {"lr": 0.03, "beta1": 0.8, "beta2": 0.95, "eps": 1e-4, "weight-decay": 0.1}],
    "adamw": [{}, {"lr": 0.03, "beta1": 0.8, "beta2": 0.95, "eps": 1e-4, "weight-decay": 0.3}],
    "adagrad": [{}, {"lr": 0.05, "eps": 1e-3, "weight-decay": 0.1}],
    "lamb": [{}, {"lr": 0.02, "beta1": 0.8, "beta2": 0.95, "eps": 1e-4, "weight-decay": 0.1}],
    "lion": [{}, {"lr": 0.01, "beta1": 0.8, "beta2": 0.95, "weight-decay": 0.1}],
}


def gradients():
    """By parameter, [STEPS, ...]: multiples of 1/16, some zero, some large."""
    values = {}
    for i, (name, shape) in enumerate(SHAPES.items()):
        size = STEPS * int(np.prod(shape))
        steps = (np.arange(size) * (37 + 12 * i) + 11) % 101 - 50
        values[name] = (steps / 16).reshape(STEPS, *shape).astype(np.float32)
    return values


def initial():
    return {
        name: ((np.arange(np.prod(shape)) * 7 % 11 - 5) / 8).reshape(shape).astype(np.float32)
        for name, shape in SHAPES.items()
    }


def by_torch(optimizer, flags):
    import torch

    options = {key.replace("-", "_"): value for key, value in flags.items()}
    if optimizer in ("adam", "adamw"):
        options["betas"] = (options.pop("beta1", 0.9), options.pop("beta2", 0.999))
    if optimizer in ("momentum", "nesterov"):
        options.setdefault("momentum", 0.9)
    if optimizer == "nesterov":
        options["nesterov"] = True
    kinds = {"adam": "Adam", "adamw": "AdamW", "adagrad": "Adagrad", "rmsprop": "RMSprop", "adadelta": "Adadelta"}
    kind = kinds.get(optimizer, "SGD")
    weights = {name: torch.tensor(v, dtype=torch.float64, requires_grad=True) for name, v in initial().items()}
    step = getattr(torch.optim, kind)(list(weights.values()), **options)
    for t in range(STEPS):
        for name, weight in weights.items():
            weight.grad = torch.tensor(gradients()[name][t], dtype=torch.float64)
        step.step()
    return {name: weight.detach().numpy() for name, weight in weights.items()}


def lamb(p, g, s, t, lr=1e-3, beta1=0.9, beta2=0.999, eps=1e-6, weight_decay=0.01):
    """You et al. 2020, algorithm 2, the scaling function being the identity."""
    s["m"] = beta1 * s.get("m", 0) + (1 - beta1) * g
    s["v"] = beta2 * s.get("v", 0) + (1 - beta2) * g * g
    r = s["m"] / (1 - beta1**t) / (np.sqrt(s["v"] / (1 - beta2**t)) + eps) + weight_decay * p
    return p - lr * np.linalg.norm(p) / np.linalg.norm(r) * r


def lion(p, g, s, t, lr=1e-4, beta1=0.9, beta2=0.99, weight_decay=0):
    """Chen et al. 2023, algorithm 2."""
    m = s.get("m", np.zeros_like(p))
    s["m"] = beta2 * m + (1 - beta2) * g
    return p - lr * (np.sign(beta1 * m + (1 - beta1) * g) + weight_decay * p)


def by_formula(formula, flags):
    options = {key.replace("-", "_"): value for key, value in flags.items()}
    weights = {name: value.astype(np.float64) for name, value in initial().items()}
    states = {name: {} for name in weights}
    for t in range(STEPS):
        for name in weights:
            gradient = gradients()[name][t].astype(np.float64)
            weights[name] = formula(weights[name], gradient, states[name], t + 1, **options)
    return weights


def main():
    record = {}
    for optimizer, runs in RUNS.items():
        formula = {"lamb": lamb, "lion": lion}.get(optimizer)
        record[optimizer] = []
        for flags in runs:
            weights = by_formula(formula, flags) if formula else by_torch(optimizer, flags)
            rounded = {name: [round(x, 9) for x in v.ravel().tolist()] for name, v in weights.items()}
            record[optimizer].append({"flags": flags, "weights": rounded})
    path = pathlib.Path(__file__).parent / "goldens-optimizers.json"
    path.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
