# SPDX-License-Identifier: Apache-2.0
"""Compares --ingot-apply-optimizer with plain NumPy, see optimizers.test."""

import pathlib
import subprocess
import sys
import tempfile

import numpy as np

MODULE = """
ingot.state parameter @w : tensor<2x3xf32> = dense<[[1.0, -2.0, 0.5], [0.25, 3.0, -0.125]]> : tensor<2x3xf32>
ingot.state parameter @bias : tensor<3xf32> = dense<[0.5, -1.5, 2.0]> : tensor<3xf32>
func.func @forward(%x: tensor<2x3xf32> {ingot.kind = "data", ingot.name = "x"},
                   %w: tensor<2x3xf32> {ingot.state = @w},
                   %b: tensor<3xf32> {ingot.state = @bias}) -> (tensor<f32> {ingot.name = "y"}) {
  %0 = ingot.mul %w, %x : tensor<2x3xf32>
  %1 = ingot.broadcast %b dims = [1] : tensor<3xf32> -> tensor<2x3xf32>
  %2 = ingot.add %0, %1 : tensor<2x3xf32>
  %3 = ingot.mul %2, %2 : tensor<2x3xf32>
  %4 = ingot.reduce sum %3 dims = [0, 1] : (tensor<2x3xf32>) -> tensor<f32>
  return %4 : tensor<f32>
}
"""
W = np.array([[1.0, -2.0, 0.5], [0.25, 3.0, -0.125]])
B = np.array([0.5, -1.5, 2.0])
STEPS = 5


def gradients(w, b, x):
    error = w * x + b
    return 2 * error * x, (2 * error).sum(0)


def sgd(p, g, s, t, lr, weight_decay):
    return p - lr * (g + weight_decay * p)


def momentum(p, g, s, t, lr, weight_decay, momentum):
    g = g + weight_decay * p
    s["b"] = momentum * s["b"] + g if t > 1 else g
    return p - lr * s["b"]


def moments(g, s, t, beta1, beta2):
    s["m"] = beta1 * s.get("m", 0) + (1 - beta1) * g
    s["v"] = beta2 * s.get("v", 0) + (1 - beta2) * g * g
    return s["m"] / (1 - beta1**t), s["v"] / (1 - beta2**t)


def adam(p, g, s, t, lr, beta1, beta2, eps, weight_decay):
    m, v = moments(g + weight_decay * p, s, t, beta1, beta2)
    return p - lr * m / (np.sqrt(v) + eps)


def adamw(p, g, s, t, lr, beta1, beta2, eps, weight_decay):
    p = p - lr * weight_decay * p
    m, v = moments(g, s, t, beta1, beta2)
    return p - lr * m / (np.sqrt(v) + eps)


def adagrad(p, g, s, t, lr, eps, weight_decay):
    g = g + weight_decay * p
    s["sum"] = s.get("sum", 0) + g * g
    return p - lr * g / (np.sqrt(s["sum"]) + eps)


def lamb(p, g, s, t, lr, beta1, beta2, eps, weight_decay):
    m, v = moments(g, s, t, beta1, beta2)
    r = m / (np.sqrt(v) + eps) + weight_decay * p
    return p - lr * np.linalg.norm(p) / np.linalg.norm(r) * r


def lion(p, g, s, t, lr, beta1, beta2, weight_decay):
    m = s.get("m", 0)
    s["m"] = beta2 * m + (1 - beta2) * g
    return p - lr * (np.sign(beta1 * m + (1 - beta1) * g) + weight_decay * p)


def rmsprop_momentum(p, g, s, t, lr, alpha, eps, weight_decay, momentum):
    g = g + weight_decay * p
    s["v"] = alpha * s.get("v", 0) + (1 - alpha) * g * g
    s["b"] = momentum * s.get("b", 0) + g / (np.sqrt(s["v"]) + eps)
    return p - lr * s["b"]


def nadam(p, g, s, t, lr, beta1, beta2, eps, weight_decay, momentum_decay):
    mu, mu_next = (beta1 * (1 - 0.5 * 0.96 ** (n * momentum_decay)) for n in (t, t + 1))
    s["product"] = s.get("product", 1) * mu
    g = g + weight_decay * p
    _, v = moments(g, s, t, beta1, beta2)
    ahead = (1 - mu) / (1 - s["product"]) * g + mu_next / (1 - s["product"] * mu_next) * s["m"]
    return p - lr * ahead / (np.sqrt(v) + eps)


def ademamix(p, g, s, t, lr, beta1, beta2, beta3, slow_weight, eps, weight_decay, slow_weight_warmup, beta3_warmup):
    if slow_weight_warmup:
        slow_weight *= min(1, t / slow_weight_warmup)
    if beta3_warmup:
        log1, log3, done = np.log(beta1), np.log(beta3), min(1, t / beta3_warmup)
        beta3 = np.exp(log1 * log3 / ((1 - done) * log3 + done * log1))
    m, v = moments(g, s, t, beta1, beta2)
    s["slow"] = beta3 * s.get("slow", 0) + (1 - beta3) * g
    return p - lr * ((m + slow_weight * s["slow"]) / (np.sqrt(v) + eps) + weight_decay * p)


def rms(x):
    return np.sqrt((x * x).mean())


def adafactor(p, g, s, t, lr, beta2_decay, eps, clip_threshold, weight_decay):
    part, small = t**beta2_decay, np.finfo(np.float32).eps
    size = min(lr, t**-0.5) * max(eps, rms(p))
    if p.ndim > 1:
        rows = s["rows"] = s.get("rows", 0) * (1 - part) + part * (g * g).mean(-1, keepdims=True)
        columns = s["columns"] = s.get("columns", 0) * (1 - part) + part * (g * g).mean(-2, keepdims=True)
        v = rows * columns / np.maximum(rows.mean(-2, keepdims=True), small)
    else:
        v = s["v"] = s.get("v", 0) * (1 - part) + part * g * g
    update = g / np.sqrt(np.maximum(v, small**2))
    return p * (1 - lr * weight_decay) - size / max(1, rms(update) / clip_threshold) * update


def muon(p, g, s, t, lr, weight_decay, momentum, match_rms_adamw, beta1, beta2, eps):
    if p.ndim != 2:
        return adamw(p, g, s, t, lr, beta1, beta2, eps, weight_decay)
    s["b"] = s.get("b", 0) * momentum + (1 - momentum) * g
    x = (1 - momentum) * g + momentum * s["b"]
    x = x / np.linalg.norm(x)
    for _ in range(5):
        square = x @ x.T
        x = 3.4445 * x + (-4.775 * square + 2.0315 * square @ square) @ x
    scale = 0.2 * np.sqrt(max(p.shape)) if match_rms_adamw else np.sqrt(max(1, p.shape[0] / p.shape[1]))
    return p * (1 - lr * weight_decay) - lr * scale * x


def schedule_free_adamw(p, g, s, t, lr, beta1, beta2, eps, weight_decay, r, weight_lr_power):
    """`p` is the average x, `g` the gradient at `s["point"]`."""
    y, z = s["point"], s.get("z", p)
    _, v = moments(g, s, t, 0, beta2)
    weight = t**r * lr**weight_lr_power
    s["sum"] = s.get("sum", 0) + weight
    s["z"] = z - lr * (g / (np.sqrt(v) + eps) + weight_decay * y)
    x = p + weight / s["sum"] * (s["z"] - p)
    s["point"] = beta1 * x + (1 - beta1) * s["z"]
    return x


DEFAULTS = {
    sgd: {"lr": 1e-3, "weight_decay": 0},
    momentum: {"lr": 1e-3, "weight_decay": 0, "momentum": 0.9},
    adam: {"lr": 1e-3, "beta1": 0.9, "beta2": 0.999, "eps": 1e-8, "weight_decay": 0},
    adamw: {"lr": 1e-3, "beta1": 0.9, "beta2": 0.999, "eps": 1e-8, "weight_decay": 1e-2},
    adagrad: {"lr": 1e-2, "eps": 1e-10, "weight_decay": 0},
    lamb: {"lr": 1e-3, "beta1": 0.9, "beta2": 0.999, "eps": 1e-6, "weight_decay": 1e-2},
    lion: {"lr": 1e-4, "beta1": 0.9, "beta2": 0.99, "weight_decay": 0},
    rmsprop_momentum: {"lr": 1e-2, "alpha": 0.99, "eps": 1e-8, "weight_decay": 0, "momentum": 0.9},
    nadam: {"lr": 2e-3, "beta1": 0.9, "beta2": 0.999, "eps": 1e-8, "weight_decay": 0, "momentum_decay": 4e-3},
    ademamix: {
        "lr": 1e-3, "beta1": 0.9, "beta2": 0.999, "beta3": 0.9999, "slow_weight": 5, "eps": 1e-8, "weight_decay": 0,
        "slow_weight_warmup": 0, "beta3_warmup": 0,
    },
    adafactor: {"lr": 1e-2, "beta2_decay": -0.8, "eps": 1e-3, "clip_threshold": 1, "weight_decay": 0},
    muon: {
        "lr": 1e-3, "weight_decay": 0.1, "momentum": 0.95, "match_rms_adamw": 1, "beta1": 0.9, "beta2": 0.999,
        "eps": 1e-8,
    },
    schedule_free_adamw: {
        "lr": 2.5e-3, "beta1": 0.9, "beta2": 0.999, "eps": 1e-8, "weight_decay": 0, "r": 0, "weight_lr_power": 2,
    },
}  # fmt: skip
# Far from the defaults, so that each one shows.
CHANGED = {
    "lr": 0.03, "beta1": 0.7, "beta2": 0.8, "eps": 1e-2, "weight_decay": 0.2, "momentum": 0.5, "alpha": 0.8,
    "momentum_decay": 0.3, "beta3": 0.95, "slow_weight": 1.5, "slow_weight_warmup": 4, "beta3_warmup": 3,
    "beta2_decay": -0.5, "clip_threshold": 0.8, "match_rms_adamw": 0, "r": 1, "weight_lr_power": 1.5,
}  # fmt: skip


def expected(optimizer, x, hyper, clip, decayed_bias):
    w, b, sw, sb, norms = W.copy(), B.copy(), {}, {}, []
    if optimizer is schedule_free_adamw:
        sw["point"], sb["point"] = w, b
    bias_hyper = hyper if decayed_bias else {**hyper, "weight_decay": 0}
    for t in range(1, STEPS + 1):
        # Where gradients are asked, if that is not at the weights.
        gw, gb = gradients(sw.get("point", w), sb.get("point", b), x[t - 1])
        norms.append(np.sqrt((gw**2).sum() + (gb**2).sum()))
        if clip is not None:
            factor = min(1, clip / (norms[-1] + 1e-6))
            gw, gb = gw * factor, gb * factor
        w = optimizer(w, gw, sw, t, **hyper)
        b = optimizer(b, gb, sb, t, **bias_hyper)
    return w, b, norms


def actual(folder, optimizer, x, given, clip, decayed_bias):
    options = f"loss=output:y optimizer={optimizer.__name__.replace('_', '-')}"
    options += " clip=true" if clip is not None else ""
    options += "" if decayed_bias else " no-decay=^bias$"
    module = subprocess.run(
        ["ingot-opt", f"--ingot-autodiff={options}"],
        input=MODULE, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    (folder / "step.mlir").write_text(module)
    scalars = {k: np.float64(v) for k, v in given.items()}
    if clip is not None:
        scalars["clip_norm"] = np.float64(clip)
    np.savez(folder / "in.npz", x=x.reshape(-1, 3).astype(np.float32), **scalars)
    subprocess.run(
        ["ingot-eval", folder / "step.mlir", "--function", "train_step", "--steps", str(STEPS),
         "--inputs", folder / "in.npz", "--outputs", folder / "out.npz",
         "--state-out", folder / "state.npz"],
        check=True,
    )  # fmt: skip
    return np.load(folder / "state.npz"), np.load(folder / "out.npz")


def main():
    x = np.random.default_rng(0).integers(-8, 8, (STEPS, 2, 3)) / 4
    failed = False
    with tempfile.TemporaryDirectory() as name:
        for optimizer, defaults in DEFAULTS.items():
            changed = {k: CHANGED[k] for k in defaults}
            cases = [
                ("defaults", {}, None, True),
                ("changed", changed, None, True),
                ("no decay of the bias", changed, None, False),
                ("clipped", changed, 2.5, True),
            ]
            for what, given, clip, decayed_bias in cases:
                w, b, norms = expected(optimizer, x, {**defaults, **given}, clip, decayed_bias)
                state, out = actual(pathlib.Path(name), optimizer, x, given, clip, decayed_bias)
                error = max(np.abs(state["w"] - w).max(), np.abs(state["bias"] - b).max())
                good = error < 2e-6 and state["step"] == STEPS
                if clip is not None:
                    good = good and np.allclose(out["grad_norm"], norms, rtol=1e-5)
                if not good:
                    print(f"{optimizer.__name__}, {what}: differs by {error:.1e}")
                    failed = True
    sys.exit(failed)


main()
