# SPDX-License-Identifier: Apache-2.0
"""make INPUTS STATES; first < MODULES; check INPUTS STATES END; topk INPUTS END

Steps as papers have them, for gradients that are sums of samples, on four ranks."""

import sys

import numpy as np

RANKS, SAMPLES, STEPS = 4, 2, 3


def orthonormal(columns):
    """By Gram-Schmidt: numpy.linalg.qr may choose other signs."""
    columns = columns.copy()
    for i in range(columns.shape[1]):
        for j in range(i):
            columns[:, i] -= (columns[:, i] @ columns[:, j]) * columns[:, j]
        columns[:, i] /= np.linalg.norm(columns[:, i])
    return columns


def train(x, q):
    w, b = np.zeros((8, 6)), np.zeros(6)
    errors = np.zeros((RANKS, 8, 6))
    for step in range(STEPS):
        at = step * RANKS * SAMPLES
        gradients = x[at : at + RANKS * SAMPLES].reshape(RANKS, SAMPLES, 8, 6).sum(axis=1)
        deltas = gradients + errors
        p = orthonormal(sum(delta @ q for delta in deltas))
        own = [delta.T @ p for delta in deltas]
        q = sum(own)
        w -= p @ q.T
        b -= gradients.sum(axis=(0, 1))
        errors = np.stack([delta - p @ part.T for delta, part in zip(deltas, own)])
    return {"w": w, "b": b, "w/basis": q.T, "w/residual": errors[0]}


def train_largest(x, kept):
    """Of w and its sums over rows, one after the other, the `kept` elements of largest magnitude are sent."""
    weights, errors = np.zeros(54), np.zeros((RANKS, 54))
    for step in range(STEPS):
        at = step * RANKS * SAMPLES
        gradients = x[at : at + RANKS * SAMPLES].reshape(RANKS, SAMPLES, 8, 6).sum(axis=1)
        deltas = np.concatenate([gradients.reshape(RANKS, 48), gradients.sum(axis=1)], axis=1) + errors
        sent = np.zeros_like(deltas)
        for rank, delta in enumerate(deltas):
            largest = np.argsort(-abs(delta), kind="stable")[:kept]
            sent[rank, largest] = delta[largest]
        weights -= sent.sum(axis=0)
        errors = deltas - sent
    return {"w": weights[:48].reshape(8, 6), "b": weights[48:], "bucket 0/residual": np.append(errors[0], [0] * 4)}


def compare(end, want):
    for name, value in want.items():
        np.testing.assert_allclose(end[name], value, rtol=1e-4, atol=1e-4, err_msg=name)
    print(len(want), "states agree")


if sys.argv[1] == "make":
    random = np.random.default_rng(1)
    np.savez(sys.argv[2], x=random.standard_normal((RANKS * SAMPLES * STEPS, 8, 6)).astype(np.float32))
    np.savez(sys.argv[3], **{"w/basis": random.standard_normal((2, 6)).astype(np.float32)})
elif sys.argv[1] == "first":
    print(sys.stdin.read().split("// -----")[0])
elif sys.argv[1] == "topk":
    inputs, end = (np.load(name) for name in sys.argv[2:])
    compare(end, train_largest(inputs["x"].astype(np.float64), kept=6))
else:
    inputs, states, end = (np.load(name) for name in sys.argv[2:])
    compare(end, train(inputs["x"].astype(np.float64), states["w/basis"].T.astype(np.float64)))
