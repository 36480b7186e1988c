# SPDX-License-Identifier: Apache-2.0
"""The operators that ONNX Runtime's optimizers write, in their forms."""

import numpy as np


def i32(*values):
    return np.array(values, np.int32)


X = {"x": (2, 4, 6)}
LAYER = {"x": (2, 3, 4), "s": (4,), "b": (4,)}
# Head size 2 of two heads: queries, keys and values of a projection.
PROJECTED = {"x": (2, 3, 4), "w": (4, 12), "b": (12,)}
QKV = {"x": (2, 3, 4), "k": (2, 5, 4), "v": (2, 5, 6)}
TOKENS = {"t": np.array([[1, 0, 2], [3, 3, 1]], np.int32), "g": np.array([[0, 0, 1], [1, 0, 0]], np.int32)}
TABLES = {"word": (4, 4), "place": (5, 4), "kind": (2, 4), "s": (4,), "b": (4,)}
ANGLES = np.arange(15).reshape(5, 3) * 0.3
CACHES = {"cosines": np.cos(ANGLES), "sines": np.sin(ANGLES)}
LENGTHS = {"lengths": i32(2, 2), "total": np.array(3, np.int32)}
IMAGE = {"x": (1, 4, 4, 5), "w": (6, 2, 3, 3), "b": (6,)}

# name: (body, {parameter: shape}, {initializer: array}); results are y and those whose names begin with y.
# Initializers of floating-point numbers have the type of parameters.
CASES = {
    "Attention": ("y = com.microsoft.Attention <num_heads=2> (x, w, b)", PROJECTED, {}),
    "Attention-scale": ("y = com.microsoft.Attention <num_heads=1, scale=0.3> (x, w, b)", PROJECTED, {}),
    "Attention-causal": ("y = com.microsoft.Attention <num_heads=2, unidirectional=1> (x, w, b)", PROJECTED, {}),
    "Attention-mask": (
        "y = com.microsoft.Attention <num_heads=2> (x, w, b, m)",
        PROJECTED,
        {"m": i32([1, 1, 0], [1, 0, 1])},
    ),
    "Attention-mask-of-rows": (
        "y = com.microsoft.Attention <num_heads=2> (x, w, b, m)",
        PROJECTED,
        {"m": i32([[1, 1, 0], [0, 0, 1], [1, 0, 0]], [[1, 1, 1], [0, 1, 0], [1, 0, 1]])},
    ),
    "Attention-lengths": ("y = com.microsoft.Attention <num_heads=2> (x, w, b, m)", PROJECTED, {"m": i32(2, 3)}),
    "Attention-ends": ("y = com.microsoft.Attention <num_heads=2> (x, w, b, m)", PROJECTED, {"m": i32(3, 3, 1, 0)}),
    "Attention-sizes": (
        "y = com.microsoft.Attention <num_heads=2, qkv_hidden_sizes=[4,4,6]> (x, w, b)",
        {"x": (2, 3, 4), "w": (4, 14), "b": (14,)},
        {},
    ),
    "Attention-bias": (
        "y = com.microsoft.Attention <num_heads=2> (x, w, b, , , a)",
        {**PROJECTED, "a": (1, 2, 3, 3)},
        {},
    ),
    "Attention-past": (
        "y, y_present = com.microsoft.Attention <num_heads=2, unidirectional=1> (x, w, b, , p)",
        {**PROJECTED, "p": (2, 2, 2, 5, 2)},
        {},
    ),
    "MultiHeadAttention": ("y = com.microsoft.MultiHeadAttention <num_heads=2> (x, k, v)", QKV, {}),
    "MultiHeadAttention-bias": (
        "y = com.microsoft.MultiHeadAttention <num_heads=2> (x, k, v, b)",
        {**QKV, "b": (14,)},
        {},
    ),
    "MultiHeadAttention-mask": (
        "y = com.microsoft.MultiHeadAttention <num_heads=2, scale=0.4> (x, k, v, , m)",
        QKV,
        {"m": i32([1, 1, 0, 0, 1], [1, 0, 1, 1, 1])},
    ),
    "MultiHeadAttention-scores": (
        "y = com.microsoft.MultiHeadAttention <num_heads=2> (x, k, v, , , a)",
        {**QKV, "a": (1, 2, 3, 5)},
        {},
    ),
    "MultiHeadAttention-causal": (
        "y = com.microsoft.MultiHeadAttention <num_heads=2, unidirectional=1> (x, k, v)",
        {"x": (2, 3, 4), "k": (2, 3, 4), "v": (2, 3, 4)},
        {},
    ),
    "MultiHeadAttention-heads": (
        "y = com.microsoft.MultiHeadAttention <num_heads=2> (x, k, v)",
        {"x": (2, 3, 4), "k": (2, 2, 5, 2), "v": (2, 2, 5, 2)},
        {},
    ),
    "MultiHeadAttention-past": (
        "y, y_k, y_v = com.microsoft.MultiHeadAttention <num_heads=2> (x, k, v, , , , pk, pv)",
        {"x": (2, 3, 4), "k": (2, 3, 4), "v": (2, 3, 4), "pk": (2, 2, 2, 2), "pv": (2, 2, 2, 2)},
        {},
    ),
    "GroupQueryAttention": (
        "y = com.microsoft.GroupQueryAttention <num_heads=4, kv_num_heads=2> (x, k, v, , , lengths, total)",
        {"x": (2, 3, 32), "k": (2, 3, 16), "v": (2, 3, 16)},
        LENGTHS,
    ),
    "GroupQueryAttention-packed": (
        "y = com.microsoft.GroupQueryAttention <num_heads=2, kv_num_heads=1, local_window_size=2, softcap=0.7>"
        " (x, , , , , lengths, total)",
        {"x": (2, 3, 32)},
        LENGTHS,
    ),
    "GroupQueryAttention-rotary": (
        "y = com.microsoft.GroupQueryAttention <num_heads=2, kv_num_heads=1, do_rotary=1>"
        " (x, k, v, , , lengths, total, cosines, sines)",
        {"x": (2, 3, 32), "k": (2, 3, 16), "v": (2, 3, 16)},
        {
            **LENGTHS,
            "cosines": np.cos(np.arange(40).reshape(5, 8) * 0.1),
            "sines": np.sin(np.arange(40).reshape(5, 8) * 0.1),
        },
    ),
    "RotaryEmbedding": (
        "y = com.microsoft.RotaryEmbedding (x, p, cosines, sines)",
        {"x": (2, 3, 12)},
        {**CACHES, "p": np.array([[0, 2, 4], [1, 1, 3]])},
    ),
    "RotaryEmbedding-offset": (
        "y = com.microsoft.RotaryEmbedding <interleaved=1> (x, p, cosines, sines)",
        {"x": (2, 2, 3, 6)},
        {**CACHES, "p": np.array([2])},
    ),
    "RotaryEmbedding-part": (
        "y = com.microsoft.RotaryEmbedding <num_heads=2, rotary_embedding_dim=6> (x, p, cosines, sines)",
        {"x": (2, 3, 20)},
        {**CACHES, "p": np.array([[0, 2, 4], [1, 1, 3]])},
    ),
    "RotaryEmbedding-standard": (
        "y = RotaryEmbedding <num_heads=2, interleaved=1> (x, cosines, sines, p)",
        {"x": (2, 3, 12)},
        {**CACHES, "p": np.array([[0, 2, 4], [1, 1, 3]])},
    ),
    "SkipLayerNormalization": (
        "y, , , y_sum = com.microsoft.SkipLayerNormalization <epsilon=0.01> (x, r, s, b, a)",
        {**LAYER, "r": (2, 3, 4), "a": (4,)},
        {},
    ),
    "SkipLayerNormalization-broadcast": (
        "y = com.microsoft.SkipLayerNormalization (x, r, s)",
        {"x": (2, 3, 4), "s": (4,), "r": (3, 4)},
        {},
    ),
    "SkipSimplifiedLayerNormalization": (
        "y, , , y_sum = com.microsoft.SkipSimplifiedLayerNormalization <epsilon=0.01> (x, r, s, a)",
        {"x": (2, 3, 4), "s": (4,), "r": (1, 3, 4), "a": (4,)},
        {},
    ),
    "EmbedLayerNormalization": (
        "y, m, y_sum = com.microsoft.EmbedLayerNormalization <epsilon=0.1> (t, g, word, place, kind, s, b)",
        TABLES,
        TOKENS,
    ),
    "EmbedLayerNormalization-places": (
        "y, m = com.microsoft.EmbedLayerNormalization (t, , word, place, , s, b, k, q)",
        {k: v for k, v in TABLES.items() if k != "kind"},
        {"t": TOKENS["t"], "k": i32([1, 1, 0], [1, 1, 1]), "q": i32([4, 3, 2], [0, 1, 2])},
    ),
    "FusedConv": (
        'y = com.microsoft.FusedConv <group=2, pads=[1,0,1,0], activation="Tanh"> (x, w, b)',
        IMAGE,
        {},
    ),
    "FusedConv-sum": (
        'y = com.microsoft.FusedConv <group=2, activation="LeakyRelu", activation_params=[0.2]> (x, w, b, z)',
        {**IMAGE, "z": (1, 6, 2, 3)},
        {},
    ),
    "FusedConv-clip": (
        'y = com.microsoft.FusedConv <group=2, activation="Clip", activation_params=[-0.3,0.4]> (x, w)',
        {"x": (1, 4, 4, 5), "w": (6, 2, 3, 3)},
        {},
    ),
    "FusedConv-hard": (
        'y = com.microsoft.FusedConv <activation="HardSigmoid", activation_params=[0.3,0.6]> (x, w)',
        {"x": (1, 2, 5), "w": (3, 2, 2)},
        {},
    ),
    "FusedGemm": (
        'y = com.microsoft.FusedGemm <transB=1, alpha=0.5, beta=2.0, activation="Sigmoid"> (x, w, b)',
        {"x": (3, 4), "w": (5, 4), "b": (5,)},
        {},
    ),
    "FusedGemm-leaky": (
        'y = com.microsoft.FusedGemm <activation="LeakyRelu", activation_alpha=0.2> (x, w, b)',
        {"x": (3, 4), "w": (4, 5), "b": (5,)},
        {},
    ),
    "FusedMatMul": (
        "y = com.microsoft.FusedMatMul <transA=1, transB=1, alpha=0.5> (x, w)",
        {"x": (2, 4, 3), "w": (2, 5, 4)},
        {},
    ),
    "TransposeMatMul": (
        "y = com.microsoft.TransposeMatMul <transB=1> (x, w)",
        {"x": (2, 3, 4), "w": (2, 5, 4)},
        {},
    ),
    "BiasGelu": ("y = com.microsoft.BiasGelu (x, b)", {"x": (2, 4), "b": (4,)}, {}),
    "FastGelu": ("y = com.microsoft.FastGelu (x, b)", {"x": (2, 4), "b": (4,)}, {}),
    "QuickGelu": ("y = com.microsoft.QuickGelu <alpha=1.5> (x)", {"x": (2, 4)}, {}),
    "ExpandDims": ("y = com.microsoft.ExpandDims (x, a)", {"x": (2, 3)}, {"a": np.array(-1, np.int32)}),
    "GatherND": ("y = com.microsoft.GatherND (x, i)", {"x": (2, 3, 2)}, {"i": np.array([[0, 2], [1, 1]])}),
    "Trilu": ("y = com.microsoft.Trilu <upper=0> (x)", {"x": (2, 3, 4)}, {}),
}


def gelu(x):
    from math import erf

    return x * 0.5 * (1 + np.vectorize(erf)(x / np.sqrt(2)))


def group_norm(x, scale, bias, groups, epsilon=1e-5):
    rows = x.reshape(x.shape[0], -1, groups, x.shape[-1] // groups)
    mean = rows.mean((1, 3), keepdims=True)
    rows = (rows - mean) / np.sqrt(rows.var((1, 3), keepdims=True) + epsilon)
    return rows.reshape(x.shape) * scale + bias


def silu(x):
    return x / (1 + np.exp(-x))


PICTURE = {"x": (2, 3, 2, 4), "s": (4,), "b": (4,)}
# Those that ONNX Runtime has for GPUs only, with a formula.
FORMULAS = {
    "GemmFastGelu": (
        ("y = com.microsoft.GemmFastGelu (x, w, b)", {"x": (2, 3, 4), "w": (4, 5), "b": (5,)}, {}),
        lambda x, w, b: (lambda z: 0.5 * z * (1 + np.tanh(np.sqrt(2 / np.pi) * (z + 0.044715 * z**3))))(x @ w + b),
    ),
    "BiasSplitGelu": (
        ("y = com.microsoft.BiasSplitGelu (x, b)", {"x": (2, 3, 8), "b": (8,)}, {}),
        lambda x, b: (x + b)[..., :4] * gelu((x + b)[..., 4:]),
    ),
    "BiasAdd": (
        ("y = com.microsoft.BiasAdd (x, b, r)", {"x": (2, 3, 4), "b": (4,), "r": (2, 3, 4)}, {}),
        lambda x, b, r: x + b + r,
    ),
    "BiasDropout": (
        ("y = com.microsoft.BiasDropout (x, b, r)", {"x": (2, 3, 4), "b": (4,), "r": (2, 3, 4)}, {}),
        lambda x, b, r: x + b + r,
    ),
    "BiasSoftmax": (
        (
            "y = com.microsoft.BiasSoftmax <axis=3, is_inner_broadcast=0> (x, b)",
            {"x": (2, 2, 3, 4), "b": (1, 1, 3, 4)},
            {},
        ),
        lambda x, b: np.exp(x + b) / np.exp(x + b).sum(-1, keepdims=True),
    ),
    "BiasSoftmax-inner": (
        (
            "y = com.microsoft.BiasSoftmax <axis=2, is_inner_broadcast=1> (x, b)",
            {"x": (2, 2, 3, 4), "b": (2, 1, 3, 4)},
            {},
        ),
        lambda x, b: np.exp(x + b) / np.exp(x + b).sum((2, 3), keepdims=True),
    ),
    "GroupNorm": (
        ("y = com.microsoft.GroupNorm <groups=2, activation=1> (x, s, b)", PICTURE, {}),
        lambda x, s, b: silu(group_norm(x, s, b, 2)),
    ),
    "SkipGroupNorm": (
        (
            "y, y_sum = com.microsoft.SkipGroupNorm <groups=2, activation=0> (x, s, b, r, a)",
            {**PICTURE, "r": (2, 4), "a": (4,)},
            {},
        ),
        lambda x, s, b, r, a: group_norm(x + r[:, None, None] + a, s, b, 2),
    ),
    "FusedMatMulActivation": (
        (
            'y = com.microsoft.FusedMatMulActivation <transA=1, activation="Tanh"> (x, w)',
            {"x": (2, 4, 3), "w": (4, 5)},
            {},
        ),
        lambda x, w: np.tanh(x.transpose(0, 2, 1) @ w),
    ),
}
