# SPDX-License-Identifier: Apache-2.0
"""Gradients of ONNX operators against central differences in double precision.

    gradients.py INGOT_OPT INGOT_EVAL FOLDER [--only REGEX]

Each case is one graph of double parameters; its loss is a weighted sum of all
elements of the results. A line says the worst error of any element, relative to
the larger of 1 and the derivative.
"""

import argparse
import pathlib
import re
import subprocess
import sys
import zlib

import numpy as np
import onnx
import onnx.parser
from onnx import numpy_helper

STEP = 1e-5
TOLERANCE = 1e-6


def ints(*values):
    return np.array(values, np.int64)


X = {"x": (2, 3)}
LENGTHS = {"l": np.array([3, 2], np.int32)}


def cell(gates, directions, steps=3, batch=2, size=3, hidden=2):
    return {
        "x": (steps, batch, size),
        "w": (directions, gates * hidden, size),
        "r": (directions, gates * hidden, hidden),
        "b": (directions, 2 * gates * hidden),
        "h": (directions, batch, hidden),
    }


# name: (opset, body, {parameter: shape}, {initializer: array}[, domain]); results
# are y and those whose names begin with y. Domains: "any" is away from 0,
# "positive" in (0.2, 2), "unit" in (-0.9, 0.9), "above" in (1.2, 3), "zeros" mostly 0.
CASES = {
    "Acos": (18, "y = Acos(x)", X, {}, "unit"),
    "Acosh": (18, "y = Acosh(x)", X, {}, "above"),
    "Asin": (18, "y = Asin(x)", X, {}, "unit"),
    "Asinh": (18, "y = Asinh(x)", X, {}),
    "Asinh-at-zero": (
        18,
        "z = Mul(x, zero)\n a = Add(z, x)\n s = Sub(a, c)\n y = Asinh(s)",
        X,
        {"zero": np.array(0.0)},
        "any",
        "c",
    ),
    "Atan": (18, "y = Atan(x)", X, {}),
    "Atanh": (18, "y = Atanh(x)", X, {}, "unit"),
    "Col2Im": (
        18,
        "y = Col2Im <strides=[2,1], pads=[1,0,0,1], dilations=[1,2]> (x, i, b)",
        {"x": (1, 8, 15)},
        {"i": ints(5, 6), "b": ints(2, 2)},
    ),
    "CumProd": (26, "y = CumProd(x, a)", {"x": (3, 5)}, {"a": ints(1)[0]}),
    "CumProd-exclusive-reverse": (26, "y = CumProd <exclusive=1, reverse=1> (x, a)", {"x": (5, 2)}, {"a": ints(-2)[0]}),
    "CumSum": (18, "y = CumSum(x, a)", {"x": (3, 5)}, {"a": ints(-1)[0]}),
    "CumSum-long": (18, "y = CumSum <reverse=1, exclusive=1> (x, a)", {"x": (70,)}, {"a": ints(0)[0]}),
    "DFT": (20, "y = DFT(x)", {"x": (2, 5, 2)}, {}),
    "DFT-onesided": (20, "y = DFT <onesided=1> (x, l)", {"x": (2, 5, 1)}, {"l": ints(7)[0]}),
    "DFT-real-inverse": (26, "y = DFT <onesided=1, inverse=1> (x)", {"x": (2, 4, 2)}, {}),
    "DeformConv": (
        22,
        "y = DeformConv <kernel_shape=[2,2], pads=[1,0,0,1], offset_group=2> (x, w, o, b, m)",
        {"x": (1, 4, 4, 3), "w": (2, 4, 2, 2), "o": (1, 16, 4, 3), "b": (2,), "m": (1, 8, 4, 3)},
        {},
    ),
    "DeformConv-groups": (
        22,
        "y = DeformConv <group=2, strides=[2,1]> (x, w, o)",
        {"x": (1, 4, 5, 3), "w": (2, 2, 2, 2), "o": (1, 8, 2, 2)},
        {},
    ),
    "Det": (22, "y = Det(x)", {"x": (2, 3, 3)}, {}),
    "Det-1": (22, "y = Det(x)", {"x": (1, 1)}, {}),
    "Einsum-chain": (18, 'y = Einsum <equation="ij,jk,kl->il"> (x, w, v)', {"x": (2, 3), "w": (3, 4), "v": (4, 2)}, {}),
    "Einsum-diagonal": (18, 'y = Einsum <equation="...ii->...i"> (x)', {"x": (2, 3, 3)}, {}),
    "Einsum-ellipsis": (18, 'y = Einsum <equation="...ij,...jk"> (x, w)', {"x": (1, 2, 3), "w": (4, 3, 2)}, {}),
    "Einsum-four": (
        18,
        'y = Einsum <equation="bi,i,bj,ijk->bk"> (x, w, v, u)',
        {"x": (2, 3), "w": (3,), "v": (2, 2), "u": (3, 2, 2)},
        {},
    ),
    "Einsum-trace": (18, 'y = Einsum <equation="iij,j"> (x, w)', {"x": (3, 3, 2), "w": (2,)}, {}),
    "GatherND-batch": (
        18,
        "y = GatherND <batch_dims=1> (x, i)",
        {"x": (2, 3, 2)},
        {"i": ints([[0], [2]], [[-1], [1]])},
    ),
    "GlobalLpPool": (18, "y = GlobalLpPool <p=3> (x)", {"x": (2, 2, 3)}, {}),
    "GridSample": (22, "y = GridSample(x, g)", {"x": (1, 2, 3, 4), "g": (1, 2, 2, 2)}, {}, "unit"),
    "GridSample-border-cubic": (
        22,
        'y = GridSample <mode="cubic", padding_mode="border", align_corners=1> (x, g)',
        {"x": (1, 1, 4, 4), "g": (1, 2, 2, 2)},
        {},
    ),
    "GridSample-reflection": (
        22,
        'y = GridSample <padding_mode="reflection"> (x, g)',
        {"x": (2, 1, 3, 3), "g": (2, 2, 1, 2)},
        {},
    ),
    "GridSample-volume": (
        22,
        "y = GridSample <align_corners=1> (x, g)",
        {"x": (1, 1, 2, 3, 2), "g": (1, 1, 2, 2, 3)},
        {},
        "unit",
    ),
    "GridSample-nearest": (
        22,
        'y = GridSample <mode="nearest"> (x, g)',
        {"x": (1, 2, 3, 3)},
        {"g": np.array([[[[-0.7, 0.1], [0.6, 0.5]]]])},
    ),
    "GRU": (22, "y, y_h = GRU <hidden_size=2> (x, w, r, b, , h)", cell(3, 1), {}),
    "GRU-after-product": (
        22,
        'y, y_h = GRU <hidden_size=2, linear_before_reset=1, direction="bidirectional"> (x, w, r, b, l, h)',
        cell(3, 2),
        LENGTHS,
    ),
    "GRU-reverse": (
        22,
        'y, y_h = GRU <hidden_size=2, direction="reverse", layout=1> (x, w, r)',
        {"x": (2, 3, 3), "w": (1, 6, 3), "r": (1, 6, 2)},
        {},
    ),
    "If": (
        18,
        "y = If (c) <then_branch = t () => (double[2,3] a) { a = Sin(x) },"
        " else_branch = e () => (double[2,3] d) { d = Exp(x) }>",
        X,
        {},
        "any",
        "c=bool",
    ),
    "LSTM": (22, "y, y_h, y_c = LSTM <hidden_size=2> (x, w, r, b, , h, c)", {**cell(4, 1), "c": (1, 2, 2)}, {}),
    "LSTM-peepholes": (
        22,
        'y, y_h, y_c = LSTM <hidden_size=2, direction="bidirectional"> (x, w, r, b, l, h, c, p)',
        {**cell(4, 2), "c": (2, 2, 2), "p": (2, 6)},
        LENGTHS,
    ),
    "LSTM-coupled": (
        22,
        "y, y_h, y_c = LSTM <hidden_size=2, input_forget=1, clip=3.0> (x, w, r, b)",
        {k: v for k, v in cell(4, 1).items() if k != "h"},
        {},
    ),
    "RNN": (22, 'y, y_h = RNN <hidden_size=2, activations=["Softsign"]> (x, w, r, b, , h)', cell(1, 1), {}),
    "RNN-bidirectional": (
        22,
        'y, y_h = RNN <hidden_size=2, direction="bidirectional", activations=["ScaledTanh", "Affine"],'
        " activation_alpha=[1.5, 0.5], activation_beta=[0.7, 0.1]> (x, w, r, b, l, h)",
        cell(1, 2),
        LENGTHS,
    ),
    "Loop": (
        18,
        "y, ys = Loop (n, , x) <body = g (int64 i, bool c, double[2,3] a) => (bool d, double[2,3] b, double[2,3] s)"
        " { d = Identity(c)\n b = Sin(a)\n s = Mul(b, a) }>",
        X,
        {"n": ints(3)[0]},
    ),
    "Scan": (
        18,
        "y, ys = Scan <num_scan_inputs=1, body = g (double[3] s, double[3] a) => (double[3] t, double[3] o)"
        " { t = Mul(s, a)\n o = Sin(t) }> (z, x)",
        {"x": (4, 3), "z": (3,)},
        {},
    ),
    "LpPool": (18, "y = LpPool <kernel_shape=[2,2], p=3, strides=[1,1]> (x)", {"x": (1, 1, 3, 3)}, {}),
    "LpPool-2": (
        22,
        "y = LpPool <kernel_shape=[2], dilations=[2], ceil_mode=1, strides=[2]> (x)",
        {"x": (1, 2, 6)},
        {},
    ),
    "MaxUnpool": (
        22,
        "y = MaxUnpool <kernel_shape=[2,2], strides=[2,2]> (x, i)",
        {"x": (1, 1, 2, 2)},
        {"i": ints(5, 7, 13, 15).reshape(1, 1, 2, 2)},
    ),
    "ReverseSequence": (
        18,
        "y = ReverseSequence <time_axis=0, batch_axis=1> (x, l)",
        {"x": (4, 3, 2)},
        {"l": ints(4, 1, 3)},
    ),
    "Resize-antialias": (
        19,
        'y = Resize <mode="linear", antialias=1> (x, , , s)',
        {"x": (1, 1, 5, 7)},
        {"s": ints(1, 1, 3, 3)},
    ),
    "Resize-crop": (
        19,
        'y = Resize <mode="cubic", coordinate_transformation_mode="tf_crop_and_resize",'
        " extrapolation_value=3.0> (x, r, , s)",
        {"x": (4, 4)},
        {"r": np.array([0.1, 0.2, 1.2, 0.9], np.float32), "s": ints(3, 3)},
    ),
    "RoiAlign": (
        22,
        "y = RoiAlign <output_height=2, output_width=3, sampling_ratio=2, spatial_scale=0.5> (x, q, i)",
        {"x": (2, 2, 4, 5), "q": (3, 4)},
        {"i": ints(0, 1, 0)},
        "above",
    ),
    "RoiAlign-adaptive": (
        22,
        "q = Constant <value = double[3,4] {0,0,1,1.5, 0.5,1,5,4.5, 1,1,2,4}> ()\n"
        " y = RoiAlign <output_height=2, output_width=2> (x, q, i)",
        {"x": (2, 2, 5, 6)},
        {"i": ints(0, 1, 0)},
    ),
    "STFT": (18, "y = STFT(x, s, w)", {"x": (2, 9, 1), "w": (4,)}, {"s": ints(2)[0]}),
    "ScatterElements": (
        18,
        "y = ScatterElements <axis=1> (x, i, u)",
        {"x": (3, 4), "u": (2, 2)},
        {"i": ints([0, 3], [-2, 1])},
    ),
    "ScatterElements-add": (
        18,
        'y = ScatterElements <axis=0, reduction="add"> (x, i, u)',
        {"x": (3, 2), "u": (4, 2)},
        {"i": ints([0, 2], [0, 1], [1, 1], [-1, 0])},
    ),
    "ScatterElements-mul": (
        18,
        'y = ScatterElements <axis=0, reduction="mul"> (x, i, u)',
        {"x": (3, 2), "u": (4, 2)},
        {"i": ints([0, 2], [0, 1], [1, 1], [-1, 0])},
    ),
    "ScatterElements-max": (
        18,
        'y = ScatterElements <axis=0, reduction="max"> (x, i, u)',
        {"x": (3, 2), "u": (4, 2)},
        {"i": ints([0, 2], [0, 1], [1, 1], [-1, 0])},
    ),
    "ScatterND": (18, "y = ScatterND(x, i, u)", {"x": (3, 2, 2), "u": (2, 2)}, {"i": ints([0, 1], [-1, 0])}),
    "ScatterND-min": (
        18,
        'y = ScatterND <reduction="min"> (x, i, u)',
        {"x": (3, 2), "u": (4, 2)},
        {"i": ints([0], [2], [0], [1])},
    ),
    "TensorScatter": (
        24,
        'y = TensorScatter <mode="circular"> (x, u, i)',
        {"x": (2, 4, 2), "u": (2, 2, 2)},
        {"i": ints(1, 3)},
    ),
    "TopK": (18, "y, _i = TopK <axis=0> (x, k)", {"x": (5, 3)}, {"k": ints(2)}),
    "TopK-smallest": (18, "y, _i = TopK <largest=0> (x, k)", {"x": (2, 6)}, {"k": ints(4)}),
    "Attention": (
        24,
        "y = Attention <q_num_heads=2, kv_num_heads=1, is_causal=1> (q, k, v, m)",
        {"q": (1, 3, 4), "k": (1, 3, 2), "v": (1, 3, 2), "m": (3, 3)},
        {},
    ),
    "Attention-past": (
        24,
        "y, y_k, y_v, y_s = Attention <is_causal=1, qk_matmul_output_mode=1, softcap=2.0> (q, k, v, , p, r)",
        {"q": (1, 2, 2, 2), "k": (1, 1, 2, 2), "v": (1, 1, 2, 2), "p": (1, 1, 3, 2), "r": (1, 1, 3, 2)},
        {},
    ),
    "AveragePool": (
        22,
        "y = AveragePool <kernel_shape=[2,3], strides=[2,1], pads=[1,0,0,1], ceil_mode=1> (x)",
        {"x": (1, 2, 4, 4)},
        {},
    ),
    "Conv": (
        22,
        "y = Conv <group=2, strides=[2,1], dilations=[1,2], pads=[1,0,1,1]> (x, w, b)",
        {"x": (1, 4, 4, 5), "w": (2, 2, 2, 2), "b": (2,)},
        {},
    ),
    "ConvTranspose": (
        22,
        "y = ConvTranspose <group=2, strides=[2], output_padding=[1], pads=[1,0]> (x, w, b)",
        {"x": (1, 2, 3), "w": (2, 2, 3), "b": (4,)},
        {},
    ),
    "Gather": (18, "y = Gather <axis=-1> (x, i)", X, {"i": ints([2, -3], [0, 2])}),
    "GatherElements": (18, "y = GatherElements <axis=1> (x, i)", X, {"i": ints([2, -3])}),
    "GroupNormalization": (
        21,
        "y = GroupNormalization <num_groups=2> (x, s, b)",
        {"x": (2, 4, 3), "s": (4,), "b": (4,)},
        {},
    ),
    "InstanceNormalization": (22, "y = InstanceNormalization(x, s, b)", {"x": (2, 2, 4), "s": (2,), "b": (2,)}, {}),
    "LRN": (18, "y = LRN <size=3, alpha=0.5, beta=0.75> (x)", {"x": (1, 4, 3)}, {}),
    "LayerNormalization": (
        18,
        "y = LayerNormalization <axis=-2> (x, s, b)",
        {"x": (2, 2, 3), "s": (2, 3), "b": (2, 3)},
        {},
    ),
    "LpNormalization": (22, "y = LpNormalization <axis=-1> (x)", X, {}),
    "MatMul-broadcast": (18, "y = MatMul(x, w)", {"x": (1, 2, 3), "w": (4, 3, 2)}, {}),
    "MaxPool": (22, "y = MaxPool <kernel_shape=[2,2], dilations=[1,2], pads=[1,0,0,1]> (x)", {"x": (1, 2, 4, 4)}, {}),
    "Pad": (
        18,
        'a = Pad <mode="reflect"> (x, p)\n b = Pad <mode="edge"> (x, p)\n c = Pad <mode="wrap"> (x, p)\n'
        " y = Sum(a, b)\n y_c = Identity(c)",
        {"x": (3, 3)},
        {"p": ints(1, 0, 0, 2)},
    ),
    "Pow": (18, "e = Neg(w)\n y = Pow(x, e)", {"x": (2, 3), "w": (3,)}, {}, "positive"),
    "ReduceProd": (18, "y = ReduceProd(x, a)", {"x": (2, 3, 2)}, {"a": ints(-2)}),
    "Slice": (
        18,
        "y = Slice(x, s, e, a, t)",
        {"x": (4, 5)},
        {"s": ints(-1, 4), "e": ints(-9, 0), "a": ints(0, -1), "t": ints(-2, -3)},
    ),
    "SoftmaxCrossEntropyLoss": (
        13,
        'y, y_p = SoftmaxCrossEntropyLoss <reduction="none", ignore_index=1> (x, l, w)',
        {"x": (3, 4), "w": (4,)},
        {"l": ints(0, 3, 1)},
    ),
    "Tile": (18, "y = Tile(x, n)", X, {"n": ints(2, 3)}),
    "Where": (18, "c = Greater(x, w)\n y = Where(c, x, w)", {"x": (2, 3), "w": (3,)}, {}),
    "empty": (
        18,
        "a = ScatterND(e, i, e)\n b = CumSum(a, d)\n y = Concat <axis=0> (x, b)",
        {"x": (2, 3)},
        {"e": np.zeros((0, 3)), "i": np.zeros((0, 1), np.int64), "d": ints(1)[0]},
    ),
}

# Operators that only other tests would reach as parts of a model.
CASES |= {
    "BatchNormalization": (
        15,
        "y = BatchNormalization(x, s, b, m, v)",
        {"x": (3, 2, 4), "s": (2,), "b": (2,)},
        {"m": np.zeros(2), "v": np.ones(2)},
    ),
    "Cast": (18, "f = Cast <to=11> (x)\n y = CastLike(f, f)", X, {}),
    "ConcatFromSequence": (
        18,
        "p = SequenceConstruct(x, w)\n q = SequenceInsert(p, x)\n r = SequenceErase(q, k)\n"
        " z = SequenceAt(r, k)\n c = ConcatFromSequence <axis=-1, new_axis=1> (r)\n u = Unsqueeze(z, k)\n"
        " d = Transpose <perm=[1,2,0]> (u)\n y = Mul(c, d)",
        {"x": (2, 3), "w": (2, 3)},
        {"k": ints(0)[0]},
    ),
    "DepthToSpace": (18, 'y = DepthToSpace <blocksize=2, mode="CRD"> (x)', {"x": (1, 8, 1, 3)}, {}),
    "Expand": (18, "y = Expand(x, s)", {"x": (3, 1)}, {"s": ints(2, 1, 4)}),
    "Flatten": (18, "f = Flatten <axis=-1> (x)\n y = Mul(f, f)", {"x": (2, 3, 2)}, {}),
    "Gemm": (
        18,
        "y = Gemm <alpha=0.5, beta=1.5, transA=1, transB=1> (x, w, c)",
        {"x": (4, 2), "w": (3, 4), "c": (2, 1)},
        {},
    ),
    "GlobalAveragePool": (18, "y = GlobalAveragePool(x)", {"x": (2, 2, 3, 2)}, {}),
    "GlobalMaxPool": (18, "y = GlobalMaxPool(x)", {"x": (2, 2, 3, 2)}, {}),
    "Loop": (
        18,
        "y, y_all = Loop (n, , x) <body = b (int64 i, bool c, double[2,3] a)"
        " => (bool d, double[2,3] e, double[2,3] s) { d = Identity(c)\n e = Tanh(a)\n s = Mul(a, w) }>",
        {"x": (2, 3), "w": (3,)},
        {"n": ints(3)[0]},
    ),
    "NegativeLogLikelihoodLoss": (
        18,
        'y = NegativeLogLikelihoodLoss <reduction="mean"> (x, l, w)',
        {"x": (3, 4), "w": (4,)},
        {"l": ints(0, 3, 1)},
        "positive",
    ),
    "OneHot": (
        18,
        "m = Neg(v)\n y = OneHot <axis=0> (i, d, m)",
        {"v": (2,)},
        {"i": ints([0, 2, 2], [1, -1, 0]), "d": ints(3)[0]},
    ),
    "PRelu": (18, "y = PRelu(x, w)", {"x": (2, 3, 2), "w": (3, 1)}, {}),
    "RMSNormalization": (23, "y = RMSNormalization <axis=-1> (x, s)", {"x": (2, 3, 4), "s": (4,)}, {}),
    "ReduceSum-empty": (18, "a = ReduceSum(e, d)\n y = Add(x, a)", X, {"e": np.zeros((0, 3)), "d": ints(-2)}),
    "RotaryEmbedding": (
        23,
        "m = Neg(c)\n n = Neg(s)\n y = RotaryEmbedding(x, m, n)",
        {"x": (1, 2, 3, 4), "c": (1, 3, 2), "s": (1, 3, 2)},
        {},
    ),
    "Scan": (
        18,
        "y, y_all = Scan <num_scan_inputs=1, scan_input_axes=[-1], scan_output_axes=[-1],"
        " body = b (double[2] h, double[2] a) => (double[2] t, double[2] o) { m = Mul(h, a)\n t = Tanh(m)\n"
        " o = Identity(t) }> (h, x)",
        {"x": (2, 3), "h": (2,)},
        {},
    ),
    "SequenceMap": (
        18,
        "p = SplitToSequence <axis=-1> (x)\n q = SequenceMap <body = f (double[2,1] a) => (double[2,1] t)"
        " { t = Tanh(a) }> (p)\n y = ConcatFromSequence <axis=0> (q)",
        X,
        {},
    ),
    "Shrink": (18, "y = Shrink <lambd=0.5, bias=0.2> (x)", X, {}),
    "SpaceToDepth": (18, "y = SpaceToDepth <blocksize=2> (x)", {"x": (1, 2, 2, 4)}, {}),
    "Split": (18, "y, y_z = Split <axis=-1> (x, s)", {"x": (2, 5)}, {"s": ints(1, 4)}),
    "Squeeze": (18, "s = Squeeze(x, a)\n y = Unsqueeze(s, b)", {"x": (2, 1, 3)}, {"a": ints(-2), "b": ints(0, -1)}),
    "Swish": (24, "y = Swish <alpha=1.5> (x)", X, {}),
    "Trilu": (18, "y = Trilu <upper=0> (x, k)", {"x": (2, 3, 3)}, {"k": ints(-1)[0]}),
}

TOKENS = {"q": (1, 3, 12), "k": (1, 3, 6), "v": (1, 3, 4), "s": (1, 2, 3, 2), "d": (1, 3, 6), "e": (1, 3, 1)}
for rule, given in {"linear": "", "gated": ", , d", "delta": ", s, , e", "gated_delta": ", s, d, e"}.items():
    body = f'y, y2 = LinearAttention <update_rule="{rule}", q_num_heads=4, kv_num_heads=2> (q, k, v{given})'
    used = {name: shape for name, shape in TOKENS.items() if name in "qkv" or name in given}
    CASES[f"LinearAttention_{rule}"] = (27, body, used, {})
CASES["CausalConvWithState"] = (
    27, 'y, y2 = CausalConvWithState <activation="silu"> (x, w, b, s)',
    {"x": (2, 3, 4), "w": (3, 1, 3), "b": (3,), "s": (2, 3, 2)}, {},
)  # fmt: skip

# Operators of one operand, in opset 22.
for body in [
    "Abs(x)", "Celu <alpha=1.5> (x)", "Clip(x, l, h)", "Cos(x)", "Cosh(x)", "Elu <alpha=0.7> (x)", "Erf(x)", "Exp(x)",
    "Gelu(x)", 'Gelu <approximate="tanh"> (x)', "HardSigmoid(x)", "HardSwish(x)", "LeakyRelu(x)", "LogSoftmax(x)",
    "Mish(x)", "Neg(x)", "ReduceL1(x)", "ReduceL2(x)", "ReduceLogSumExp(x)", "ReduceMax(x)", "ReduceMean(x)",
    "ReduceMin(x)", "ReduceSumSquare(x)", "Reciprocal(x)", "Relu(x)", "Selu(x)", "Sigmoid(x)", "Sin(x)", "Sinh(x)",
    "Softmax <axis=0> (x)", "Softplus(x)", "Softsign(x)", "Tan(x)", "Tanh(x)", "ThresholdedRelu(x)", "Transpose(x)",
]:  # fmt: skip
    constants = {"l": np.array(-0.5), "h": np.array(1.0)} if "Clip" in body else {}
    CASES[re.sub(r"[^A-Za-z0-9]", "", body)] = (22, f"y = {body}", X, constants, "unit" if "Tan(" in body else "any")
for operator in ("Log", "ReduceLogSum", "Sqrt"):
    CASES[operator] = (22, f"y = {operator}(x)", X, {}, "positive")
for operator in ("Add", "Sub", "Mul", "Div", "Max", "Min", "Mean", "Sum"):
    CASES[operator] = (22, f"y = {operator}(x, w)", {"x": (2, 1, 3), "w": (4, 1)}, {})


def draw(source, shape, domain):
    size = source.uniform(0.2, 2, shape)
    if domain == "positive":
        return size
    if domain == "unit":
        return source.uniform(-0.9, 0.9, shape)
    if domain == "above":
        return size + 1
    if domain == "zeros":
        return np.where(source.random(shape) < 0.7, 0.0, size)
    return np.where(source.random(shape) < 0.5, -size, size)


def build(name, case, parameters, as_inputs):
    """The model, with its parameters inside or as inputs; its loss in single
    and, as `exact`, in double precision."""
    opset, body, shapes, constants = case[:4]
    given = [f"double[{','.join(map(str, s))}] {k}" for k, s in shapes.items()] if as_inputs else []
    extra = case[5] if len(case) > 5 else ""
    if extra == "c=bool":
        given.append("bool c")
    head = f'<ir_version: 10, opset_import: ["": {opset}]>\ng ({", ".join(given)})'
    text = f"{head} => (double exact, float loss) {{\n{body}\n}}"
    model = onnx.parser.parse_model(text)
    graph = model.graph
    if not as_inputs:
        graph.initializer.extend(numpy_helper.from_array(v, k) for k, v in parameters.items())
    graph.initializer.extend(numpy_helper.from_array(np.asarray(v), k) for k, v in constants.items())
    results = [o for node in graph.node for o in node.output if o.startswith("y")]
    terms = []
    for i, result in enumerate(results):
        # Weights that differ for each element: sines of numbered elements.
        for node in (
            onnx.helper.make_node("Shape", [result], [f"s{i}"]),
            onnx.helper.make_node(
                "ConstantOfShape", [f"s{i}"], [f"o{i}"], value=numpy_helper.from_array(np.array([1.0]))
            ),
            onnx.helper.make_node("Reshape", [f"o{i}", "minus"], [f"f{i}"]),
            onnx.helper.make_node("CumSum", [f"f{i}", "first"], [f"n{i}"]),
            onnx.helper.make_node("Sin", [f"n{i}"], [f"w{i}"]),
            onnx.helper.make_node("Reshape", [result, "minus"], [f"r{i}"]),
            onnx.helper.make_node("Mul", [f"r{i}", f"w{i}"], [f"p{i}"]),
            onnx.helper.make_node("ReduceSum", [f"p{i}"], [f"t{i}"], keepdims=0),
        ):
            graph.node.append(node)
        terms.append(f"t{i}")
    graph.initializer.append(numpy_helper.from_array(ints(-1), "minus"))
    graph.initializer.append(numpy_helper.from_array(np.array(0, np.int64), "first"))
    graph.node.append(onnx.helper.make_node("Sum", terms, ["exact"]))
    graph.node.append(onnx.helper.make_node("Cast", ["exact"], ["loss"], to=onnx.TensorProto.FLOAT))
    return model


def run(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr.strip()[-500:])


def gradients_of(opt, tool, base, model, names, fixed):
    """The gradients of a model that build() made, by its parameters; of those that the loss depends on."""
    onnx.save(model, f"{base}.onnx")
    run([opt, f"{base}.onnx", "--ingot-attach-loss=loss=output:loss", "--ingot-differentiate", "-o", f"{base}.mlir"])
    command = [tool, f"{base}.mlir", "--function", "train_step", "--outputs", f"{base}.out.npz"]
    if fixed:
        np.savez(f"{base}.in.npz", **fixed)
        command += ["--inputs", f"{base}.in.npz"]
    run(command)
    with np.load(f"{base}.out.npz") as outputs:
        return {k: outputs[f"{k}.grad"] for k in names if f"{k}.grad" in outputs}


def worst_error(opt, tool, folder, name):
    case = CASES[name]
    shapes, domain = case[2], case[4] if len(case) > 4 else "any"
    source = np.random.default_rng(zlib.crc32(name.encode()))
    parameters = {k: draw(source, s, domain) for k, s in shapes.items()}
    fixed = {}
    if len(case) > 5 and case[5] == "c=bool":
        fixed["c"] = np.array(True)
    elif len(case) > 5:
        case = (*case[:3], {**case[3], case[5]: parameters["x"].copy()}, *case[4:5])
    base = folder / name
    found = gradients_of(opt, tool, base, build(name, case, parameters, as_inputs=False), shapes, fixed)
    missing = set(shapes) - set(found)
    if missing:
        raise RuntimeError(f"no gradient of {', '.join(sorted(missing))}")

    # All points that are needed, one a step.
    total = sum(v.size for v in parameters.values())
    if total == 0:
        return 0.0
    points = {k: np.repeat(v[None], 2 * total, axis=0) for k, v in parameters.items()}
    at = 0
    for values in points.values():
        flat = values.reshape(2 * total, -1)
        for i in range(flat.shape[1]):
            flat[at, i] += STEP
            flat[at + 1, i] -= STEP
            at += 2
    onnx.save(build(name, case, parameters, as_inputs=True), f"{base}.onnx")
    stacked = {k: v.reshape(-1, *v.shape[2:]) for k, v in points.items()}
    np.savez(f"{base}.in.npz", **stacked, **fixed)
    run([tool, f"{base}.onnx", "--inputs", f"{base}.in.npz", "--outputs", f"{base}.out.npz", "--steps", str(2 * total)])
    with np.load(f"{base}.out.npz") as outputs:
        losses = outputs["exact"]
    expected = (losses[0::2] - losses[1::2]) / (2 * STEP)
    actual = np.concatenate([found[k].ravel() for k in parameters])
    return float(np.max(np.abs(actual - expected) / np.maximum(1, np.abs(expected))))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("opt")
    parser.add_argument("tool")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    failures, count = 0, 0
    for name in CASES:
        if not re.search(args.only, name):
            continue
        count += 1
        try:
            error = worst_error(args.opt, args.tool, args.folder, name)
        except Exception as problem:
            failures += 1
            print(f"FAILED {name}: {type(problem).__name__}: {problem}")
            continue
        failed = not error <= TOLERANCE
        failures += failed
        print(f"{'FAILED ' if failed else ''}{name}: {error:.1e}")
    print(f"{count} gradients, {failures} fail")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
