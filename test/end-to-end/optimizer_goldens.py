# SPDX-License-Identifier: Apache-2.0
"""Writes goldens-optimizers.json: weights after 20 steps on fixed gradients.

sgd, momentum, nesterov, rmsprop, adadelta, adam, adamw, nadam, adagrad,
adafactor and muon by torch.optim, schedule-free-adamw by schedulefree 1.4.1,
lamb, lion and ademamix by their papers' formulas in NumPy, all in double
precision. Needs PyTorch and schedulefree; the tests do not. Gradients are
gradients() below, the same in the test.
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
    "nadam": [{}, {"lr": 0.03, "beta1": 0.8, "beta2": 0.95, "eps": 1e-4, "weight-decay": 0.1, "momentum-decay": 0.2}],
    "ademamix": [
        {},
        {"lr": 0.02, "beta1": 0.8, "beta2": 0.95, "beta3": 0.99, "slow-weight": 2.0, "eps": 1e-4, "weight-decay": 0.1},
        {"lr": 0.02, "beta3": 0.99, "slow-weight-warmup": 16, "beta3-warmup": 12},
    ],
    "rmsprop-momentum": [{}, {"lr": 0.01, "alpha": 0.9, "eps": 1e-3, "weight-decay": 0.1, "momentum": 0.6}],
    "adafactor": [
        {},
        {"lr": 0.3, "beta2-decay": -0.6, "eps": 0.05, "clip-threshold": 1.25, "weight-decay": 0.1},
    ],
    # "a" is a matrix, "b" has adamw's update.
    "muon": [{}, {"lr": 0.02, "momentum": 0.8, "match-rms-adamw": 0, "weight-decay": 0.2, "beta1": 0.8}],
    "schedule-free-adamw": [
        {},
        {"lr": 0.03, "beta1": 0.8, "beta2": 0.95, "eps": 1e-4, "weight-decay": 0.1, "r": 1.0, "weight-lr-power": 1.0},
    ],
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
    kinds |= {"nadam": "NAdam", "rmsprop-momentum": "RMSprop", "adafactor": "Adafactor"}
    if optimizer == "nadam":
        options["betas"] = (options.pop("beta1", 0.9), options.pop("beta2", 0.999))
    if optimizer == "rmsprop-momentum":
        options.setdefault("momentum", 0.9)
    if optimizer == "adafactor":
        # The smallest variance is that of the trainer's fp32.
        options["eps"] = (float(np.finfo(np.float32).eps), options.pop("eps", 1e-3))
        options["d"] = options.pop("clip_threshold", 1.0)
    kind = kinds.get(optimizer, "SGD")
    weights = torch_weights()
    steps = [getattr(torch.optim, kind)(list(weights.values()), **options)]
    return run_torch(steps, weights)


def run_torch(steps, weights):
    import torch

    for t in range(STEPS):
        for name, weight in weights.items():
            weight.grad = torch.tensor(gradients()[name][t], dtype=torch.float64)
        for step in steps:
            step.step()
    return {name: weight.detach().numpy() for name, weight in weights.items()}


def torch_weights():
    import torch

    return {name: torch.tensor(v, dtype=torch.float64, requires_grad=True) for name, v in initial().items()}


def by_muon(flags):
    import torch

    options = {key.replace("-", "_"): value for key, value in flags.items()}
    matches = options.pop("match_rms_adamw", 1)
    momentum, beta1 = options.pop("momentum", 0.95), options.pop("beta1", 0.9)
    options.setdefault("weight_decay", 0.1)
    weights = torch_weights()
    kind = "match_rms_adamw" if matches else "original"
    steps = [
        torch.optim.Muon([weights["a"]], momentum=momentum, adjust_lr_fn=kind, **options),
        torch.optim.AdamW([weights["b"]], betas=(beta1, 0.999), **options),
    ]
    # Products in double precision, like all goldens.
    low, torch.bfloat16 = torch.bfloat16, torch.float64
    try:
        return run_torch(steps, weights)
    finally:
        torch.bfloat16 = low


def by_schedulefree(flags):
    import schedulefree

    options = {key.replace("-", "_"): value for key, value in flags.items()}
    options["betas"] = (options.pop("beta1", 0.9), options.pop("beta2", 0.999))
    weights = torch_weights()
    step = schedulefree.AdamWScheduleFree(list(weights.values()), foreach=False, **options)
    step.train()
    run_torch([step], weights)
    step.eval()
    return {name: weight.detach().numpy() for name, weight in weights.items()}


def ademamix(
    p, g, s, t, lr=1e-3, beta1=0.9, beta2=0.999, beta3=0.9999, slow_weight=5.0, eps=1e-8, weight_decay=0,
    slow_weight_warmup=0, beta3_warmup=0,
):  # fmt: skip
    """Pagliardini et al. 2024, algorithm 1 and its schedules."""
    if slow_weight_warmup:
        slow_weight *= min(1, t / slow_weight_warmup)
    if beta3_warmup:
        done = min(1, t / beta3_warmup)
        log1, log3 = np.log(beta1), np.log(beta3)
        beta3 = np.exp(log1 * log3 / ((1 - done) * log3 + done * log1))
    s["m"] = beta1 * s.get("m", 0) + (1 - beta1) * g
    s["slow"] = beta3 * s.get("slow", 0) + (1 - beta3) * g
    s["v"] = beta2 * s.get("v", 0) + (1 - beta2) * g * g
    root = np.sqrt(s["v"] / (1 - beta2**t)) + eps
    return p - lr * ((s["m"] / (1 - beta1**t) + slow_weight * s["slow"]) / root + weight_decay * p)


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
        formula = {"lamb": lamb, "lion": lion, "ademamix": ademamix}.get(optimizer)
        whole = {"muon": by_muon, "schedule-free-adamw": by_schedulefree}.get(optimizer)
        record[optimizer] = []
        for flags in runs:
            if whole:
                weights = whole(flags)
            else:
                weights = by_formula(formula, flags) if formula else by_torch(optimizer, flags)
            rounded = {name: [round(x, 9) for x in v.ravel().tolist()] for name, v in weights.items()}
            record[optimizer].append({"flags": flags, "weights": rounded})
    path = pathlib.Path(__file__).parent / "goldens-optimizers.json"
    path.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
