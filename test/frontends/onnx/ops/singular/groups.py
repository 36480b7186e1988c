# SPDX-License-Identifier: Apache-2.0
"""Reductions, norms, pools, selections and scatters at singular points."""

import numpy as np
from points import FINITE_ROWS, INF, Case, f, norm, reduced, rows, t, tensor


def ints(*values):
    return np.array(values, np.int64)


def product(x):
    return x.prod(-1)


def largest(x):
    """amax over all, whose ties share."""
    return t("amax")(x, -1)


def normalized(p):
    return lambda x: f("normalize")(x, p, -1)


def deviation(x):
    return t("std")(x, -1, correction=0, keepdim=True)


VARIANCE = "m{0} = ReduceMean({1}, a)\n d{0} = Sub({1}, m{0})\n q{0} = Mul(d{0}, d{0})\n v{0} = ReduceMean(q{0}, a)\n"

REDUCTIONS = {
    "ReduceL1": rows("y{0} = ReduceL1 <keepdims=0> ({1}, a)", norm(1), FINITE_ROWS),
    "ReduceL2": rows("y{0} = ReduceL2 <keepdims=0> ({1}, a)", norm(2), FINITE_ROWS),
    "ReduceLogSum": rows(
        "y{0} = ReduceLogSum <keepdims=0> ({1}, a)", lambda x: x.sum(-1).log(), [[0.0, 0.0], [1.0, 1.0], [0.0, 2.0]]
    ),
    "ReduceLogSumExp": rows("y{0} = ReduceLogSumExp <keepdims=0> ({1}, a)", reduced("logsumexp")),
    "ReduceMax": rows("y{0} = ReduceMax <keepdims=0> ({1}, a)", largest),
    "ReduceMean": rows("y{0} = ReduceMean <keepdims=0> ({1}, a)", reduced("mean")),
    "ReduceMin": rows("y{0} = ReduceMin <keepdims=0> ({1}, a)", lambda x: t("amin")(x, -1)),
    "ReduceProd": rows("y{0} = ReduceProd <keepdims=0> ({1}, a)", product, FINITE_ROWS),
    "ReduceProd-two": Case(
        "y = ReduceProd <keepdims=0> (x)",
        lambda p: p["x"].prod(),
        {"x": [[2.0, 3.0], [0.0, 4.0]]},
    ),
    "ReduceSum": rows("y{0} = ReduceSum <keepdims=0> ({1}, a)", reduced("sum")),
    "ReduceSumSquare": rows("y{0} = ReduceSumSquare <keepdims=0> ({1}, a)", lambda x: (x * x).sum(-1), FINITE_ROWS),
    "Softmax": rows("y{0} = Softmax({1})", reduced("softmax")),
    "LogSoftmax": rows("y{0} = LogSoftmax({1})", reduced("log_softmax")),
    "LpNormalization-1": rows("y{0} = LpNormalization <axis=-1, p=1> ({1})", normalized(1), FINITE_ROWS[:5]),
    "LpNormalization-2": rows("y{0} = LpNormalization <axis=-1> ({1})", normalized(2), FINITE_ROWS[:5]),
    "CumSum": rows("y{0} = CumSum({1}, a)", reduced("cumsum"), constants={"a": ints(-1)[0]}),
    "CumProd": rows("y{0} = CumProd({1}, a)", reduced("cumprod"), FINITE_ROWS[:8], 26, {"a": ints(-1)[0]}),
    "TopK": rows("y{0}, i{0} = TopK({1}, a)", lambda x: x.topk(1, -1)[0], FINITE_ROWS, constants={"a": ints(1)}),
    "std": rows(VARIANCE + "y{0} = Sqrt(v{0})", deviation, FINITE_ROWS),
    "std-power": rows(
        VARIANCE.replace("Mul(d{0}, d{0})", "Pow(d{0}, c)") + "y{0} = Sqrt(v{0})",
        deviation,
        FINITE_ROWS,
        before="c = Constant <value = double {2.0}> ()\n",
    ),
    "std-unbiased": Case(
        VARIANCE.format(0, "x") + f"c = Constant <value = double {{{4 / 3}}}> ()\n u = Mul(v0, c)\n y = Sqrt(u)",
        lambda p: t("std")(p["x"], -1, keepdim=True),
        {"x": FINITE_ROWS},
        {"a": ints(-1)},
    ),
    "std-norm": rows(
        "m{0} = ReduceMean({1}, a)\n d{0} = Sub({1}, m{0})\n y{0} = ReduceL2(d{0}, a)",
        lambda x: t("linalg").vector_norm(x - x.mean(-1, keepdim=True), 2, -1, keepdim=True),
        FINITE_ROWS,
    ),
    "empty": Case(
        "a = ReduceSum <keepdims=0> (x, d)\n b = ReduceProd <keepdims=0> (x, d)\n y = Add(a, b)\n y1 = Mul(w, b)",
        lambda p: [p["x"].sum(-1) + p["x"].prod(-1), p["w"] * p["x"].prod(-1)],
        {"x": np.zeros((2, 0)), "w": [0.0, 1.0]},
        {"d": ints(-1)},
    ),
}
PLANE = [[1.0, 1.0, 0.0, 0.0], [1.0, 1.0, 0.0, 0.0], [-INF, 2.0, 2.0, -1.0], [0.0, 2.0, 2.0, -1.0]]


def scattered(reduction, torchs, include=True):
    """Of equal elements and of zeros."""
    x = [[1.0, 0.0, 2.0, 0.0], [1.0, 3.0, 0.0, -1.0]]
    u = [[1.0, 0.0, 2.0], [0.0, 3.0, 5.0]]
    index = ints([0, 1, 2], [3, 1, 0])
    twice = ints([0, 0, 2], [2, 2, 0])
    body = "".join(
        f'y{i} = ScatterElements <axis=1, reduction="{reduction}"> (x, {name}, u)\n' for i, name in enumerate("ij")
    )

    def function(p):
        return [p["x"].scatter_reduce(1, tensor(i), p["u"], torchs) for i in (index, twice)]

    return Case(body, function, {"x": x, "u": u}, {"i": index, "j": twice})


GROUPS = {
    "GlobalMaxPool": Case(
        "y = GlobalMaxPool(x)", lambda p: t("amax")(p["x"], (2, 3), keepdim=True), {"x": [[PLANE, np.zeros((4, 4))]]}
    ),
    "MaxPool": Case(
        "y = MaxPool <kernel_shape=[2,2], strides=[1,1]> (x)\n y1 = MaxPool <kernel_shape=[3,3], pads=[1,1,1,1]> (x)",
        lambda p: [f("max_pool2d")(p["x"], 2, 1), f("max_pool2d")(p["x"], 3, 1, 1)],
        {"x": [[PLANE, np.zeros((4, 4))]]},
    ),
    "LpPool": Case(
        "y = LpPool <kernel_shape=[2,2], p=2, strides=[1,1]> (x)",
        lambda p: f("lp_pool2d")(p["x"], 2, 2, 1),
        {"x": np.array([[np.abs(np.where(np.isinf(PLANE), 0, PLANE))]])},
    ),
    "ScatterElements-add": scattered("add", "sum"),
    "ScatterElements-mul": scattered("mul", "prod"),
    "ScatterElements-max": scattered("max", "amax"),
    "ScatterElements-min": scattered("min", "amin"),
    "LayerNormalization": Case(
        "y = LayerNormalization <axis=-1> (x, s)",
        lambda p: f("layer_norm")(p["x"], (4,), p["s"]),
        {"x": FINITE_ROWS[:5], "s": [1.0, 0.0, -1.0, 2.0]},
    ),
    "InstanceNormalization": Case(
        "y = InstanceNormalization(x, s, b)",
        lambda p: f("instance_norm")(p["x"], weight=p["s"], bias=p["b"]),
        {"x": [FINITE_ROWS[:2]], "s": [1.0, 0.0], "b": [0.0, 1.0]},
    ),
    "SoftmaxCrossEntropyLoss": Case(
        'y = SoftmaxCrossEntropyLoss <reduction="none"> (x, l)',
        lambda p: f("cross_entropy")(p["x"], tensor(ints(0, 1, 2)), reduction="none"),
        {"x": [[1000.0, 0.0, -1000.0], [0.0, 0.0, 0.0], [-INF, 0.0, 1.0]]},
        {"l": ints(0, 1, 2)},
    ),
    "Det": Case(
        "y = Det(x)",
        lambda p: t("linalg").det(p["x"]),
        {"x": [[[1.0, 2.0], [2.0, 4.0]], [[0.0, 0.0], [0.0, 0.0]], [[0.0, 1.0], [1.0, 0.0]]]},
    ),
    "GridSample-border": Case(
        'y = GridSample <padding_mode="border", align_corners=1> (x, g)',
        lambda p: f("grid_sample")(p["x"], p["g"], padding_mode="border", align_corners=True),
        {"x": [[[[1.0, 2.0, 4.0], [0.0, 3.0, 5.0]]]], "g": [[[[-1.0, -1.0], [1.0, 1.0], [0.0, 0.0], [-2.0, 0.5]]]]},
    ),
    "Resize-one": Case(
        'y = Resize <mode="linear", coordinate_transformation_mode="align_corners"> (x, , , n)',
        lambda p: f("interpolate")(p["x"], size=3, mode="linear", align_corners=True),
        {"x": [[[2.0]]]},
        {"n": ints(1, 1, 3)},
    ),
    "Gather-twice": Case(
        "y = Gather(x, i)", lambda p: p["x"][tensor(ints(0, 0, -1))], {"x": [1.0, INF, 0.0]}, {"i": ints(0, 0, -1)}
    ),
}
