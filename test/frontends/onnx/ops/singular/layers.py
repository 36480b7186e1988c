# SPDX-License-Identifier: Apache-2.0
"""Layers, windows and copies at singular points, and the operators that have no such point, with the reason."""

import numpy as np
from groups import ints
from points import FINITE_ROWS, INF, LINE, PAIRS, Case, f, rows, t, tensor, unary

# Channels that are constant, zero, equal in parts, and of one large element.
CHANNELS = [[[0.0, 0.0, 0.0, 0.0], [3.0, 3.0, 3.0, 3.0], [1.0, 1.0, -1.0, -1.0], [0.0, 0.0, 0.0, 1e6]]]
SCALES = {"s": [1.0, 0.0, -1.0, 2.0], "b": [0.0, 1.0, 0.0, -1.0]}
# By whether corners are aligned: an image, and positions on pixels, between them, at borders, beyond them and far away,
# all of which are exact in binary.
IMAGES = {
    True: [[[[1.0, 2.0, 4.0], [0.0, 3.0, 5.0], [2.0, -1.0, 0.0]]]],
    False: [[[[1.0, 2.0, 4.0, 0.0], [0.0, 3.0, 5.0, 1.0], [2.0, -1.0, 0.0, 2.0], [1.0, 1.0, 3.0, -2.0]]]],
}
PLACES = {
    True: [[[[-1.0, -1.0], [1.0, 1.0], [0.0, 0.0], [0.5, -0.25]], [[-2.0, 0.5], [1.5, -3.0], [2.0, 0.0], [9.0, 0.0]]]],
    False: [
        [[[-1.0, 1.0], [-0.75, 0.75], [0.25, -0.25], [0.5, 0.0]], [[-1.25, 0.5], [1.25, -3.0], [2.0, 0.0], [9.0, 0.25]]]
    ],
}


def flat(function):
    return lambda p: function(*(p[name] for name in p))


def sampled(mode, padding, corners):
    torchs = "bicubic" if mode == "cubic" else "bilinear"
    body = f'y = GridSample <mode="{mode}", padding_mode="{padding}", align_corners={int(corners)}> (x, g)'

    def function(x, g):
        return f("grid_sample")(x, g, mode=torchs, padding_mode=padding, align_corners=corners)

    return Case(body, flat(function), {"x": IMAGES[corners], "g": PLACES[corners]})


def scattered_rows(reduction, torchs):
    """Equal elements, zeros, and indices that come twice."""
    x, u = [1.0, 0.0, 2.0, 0.0, -1.0], [1.0, 0.0, 0.0, 2.0, 3.0, -1.0]
    index = ints(0, 1, 1, 2, 4, 4)
    body = f'y = ScatterND <reduction="{reduction}"> (x, i, u)'
    return Case(
        body,
        lambda p: p["x"].scatter_reduce(0, tensor(index), p["u"], torchs),
        {"x": x, "u": u},
        {"i": index[:, None]},
    )


def attention(q, k, v):
    """As scaled_dot_product_attention is defined."""
    return ((q @ k.transpose(-1, -2)) / q.shape[-1] ** 0.5).softmax(-1) @ v


def rnn_of_relu(x, w, r):
    """The last and all states of two units whose sums are at zero, above and below."""
    h, states = x.new_zeros(x.shape[1], r.shape[1]), []
    for step in x:
        h = (step @ w[0].T + h @ r[0].T).relu()
        states.append(h[None])
    return [h[None], t("stack")(states)]


UNARY_AT_INFINITY = {
    f"{name}-infinite": unary(body, function, [-INF, INF], opset)
    for name, body, function, opset in (
        ("Cos", "Cos", lambda x: x.cos(), 22),
        ("Gelu", "Gelu", lambda x: f("gelu")(x), 22),
        ("Gelu-tanh", 'Gelu <approximate="tanh"> (x)', lambda x: f("gelu")(x, approximate="tanh"), 22),
        ("Mish", "Mish", lambda x: f("mish")(x), 22),
        ("Sin", "Sin", lambda x: x.sin(), 22),
        ("Softplus", "Softplus", lambda x: f("softplus")(x), 22),
        ("Softsign", "Softsign", lambda x: f("softsign")(x), 22),
        ("Swish", "Swish", lambda x: f("silu")(x), 24),
        ("Tan", "Tan", lambda x: x.tan(), 22),
    )
}

LAYERS = {
    **UNARY_AT_INFINITY,
    "Clip-computed": Case(
        "l = Neg(a)\n h = Neg(b)\n y = Clip(x, l, h)",
        lambda p: p["x"].clamp(-p["a"], -p["b"]),
        {"x": LINE, "a": 1.0, "b": -2.5},
    ),
    "GroupNormalization": Case(
        "y = GroupNormalization <num_groups=2> (x, s, b)",
        lambda p: f("group_norm")(p["x"], 2, p["s"], p["b"]),
        {"x": CHANNELS, **SCALES},
    ),
    "BatchNormalization": Case(
        "y, m1, v1 = BatchNormalization <training_mode=1> (x, s, b, m, v)",
        lambda p: f("batch_norm")(p["x"], None, None, p["s"], p["b"], training=True),
        {"x": CHANNELS, **SCALES},
        {"m": np.zeros(4), "v": np.ones(4)},
    ),
    "RMSNormalization": Case(
        "y = RMSNormalization <axis=-1> (x, s)",
        lambda p: f("rms_norm")(p["x"], (4,), p["s"], 1e-5),
        {"x": FINITE_ROWS[:5], "s": SCALES["s"]},
        opset=23,
    ),
    "MeanVarianceNormalization": Case(
        "y = MeanVarianceNormalization <axes=[2]> (x)",
        lambda p: (
            (p["x"] - p["x"].mean(2, keepdim=True))
            / (((p["x"] ** 2).mean(2, keepdim=True) - p["x"].mean(2, keepdim=True) ** 2).sqrt() + 1e-9)
        ),
        {"x": [[[1.0, 2.0, 4.0], [-1.0, 0.0, 3.0]]]},
    ),
    "LRN": Case(
        "y = LRN <size=3, alpha=0.5, beta=0.75, bias=1.0> (x)",
        lambda p: f("local_response_norm")(p["x"], 3, alpha=0.5, beta=0.75, k=1.0),
        {"x": CHANNELS},
    ),
    "LpPool-1": Case(
        "y = LpPool <kernel_shape=[2], p=1, strides=[1]> (x)\n y1 = GlobalLpPool <p=1> (x)",
        lambda p: [f("lp_pool1d")(p["x"].abs(), 1, 2, 1), p["x"].abs().sum(2, keepdim=True)],
        {"x": CHANNELS},
    ),
    "GlobalLpPool": Case(
        "y = GlobalLpPool <p=2> (x)",
        lambda p: t("linalg").vector_norm(p["x"], 2, -1, keepdim=True),
        {"x": CHANNELS},
    ),
    "Attention": Case(
        "y = Attention(q, k, v)",
        flat(attention),
        {
            "q": [[[[0.0, 0.0], [1.0, -1.0], [100.0, 0.0]]]],
            "k": [[[[0.0, 0.0], [1.0, 1.0], [1.0, 1.0]]]],
            "v": [[[[1.0, 2.0], [0.0, 0.0], [3.0, -1.0]]]],
        },
        opset=23,
    ),
    "RNN-relu": Case(
        'n, y = RNN <hidden_size=2, activations=["Relu"]> (x, w, r)\n y1 = Identity(n)',
        flat(rnn_of_relu),
        {"x": [[[0.0]], [[1.0]], [[-1.0]]], "w": [[[1.0], [0.0]]], "r": [[[1.0, 0.0], [0.0, 1.0]]]},
    ),
    "ScatterND-add": scattered_rows("add", "sum"),
    "ScatterND-mul": scattered_rows("mul", "prod"),
    "ScatterND-max": scattered_rows("max", "amax"),
    "ScatterND-min": scattered_rows("min", "amin"),
    "GatherElements-twice": Case(
        "y = GatherElements <axis=1> (x, i)",
        lambda p: p["x"].gather(1, tensor(ints([0, 0, 2], [1, 1, 1]))),
        {"x": [[1.0, INF, 0.0], [0.0, -INF, 2.0]]},
        {"i": ints([0, 0, -1], [1, -2, 1])},
    ),
    "GatherND-twice": Case(
        "y = GatherND(x, i)",
        lambda p: p["x"][tensor(ints(0, 0, -1))],
        {"x": [[1.0, INF], [0.0, 2.0]]},
        {"i": ints([0], [0], [-1])},
    ),
    "CumProd-exclusive-reverse": rows(
        "y{0} = CumProd <exclusive=1, reverse=1> ({1}, a)",
        lambda x: t("cat")([x.flip(-1).cumprod(-1)[..., :-1].flip(-1), t("ones_like")(x[..., :1])], -1),
        FINITE_ROWS[:8],
        26,
        {"a": ints(-1)[0]},
    ),
    "Hardmax": Case(
        "h = Hardmax(x)\n y = Mul(h, x)",
        lambda p: p["x"].max(-1)[0][..., None] * hard(p["x"]),
        {"x": [[1.0, 0.0, 2.0], [-1.0, -2.0, -3.0]]},
    ),
    "NegativeLogLikelihoodLoss": Case(
        'y = NegativeLogLikelihoodLoss <reduction="mean", ignore_index=1> (x, l)',
        lambda p: f("nll_loss")(p["x"], tensor(ints(0, 1)), ignore_index=1),
        {"x": [[-INF, 0.0, 1.0], [0.0, INF, 0.0]]},
        {"l": ints(0, 1)},
    ),
    "SoftmaxCrossEntropyLoss-ignored": Case(
        "y = SoftmaxCrossEntropyLoss <ignore_index=1> (x, l)",
        lambda p: f("cross_entropy")(p["x"], tensor(ints(1, 0)), ignore_index=1),
        {"x": [[1000.0, 0.0, -1000.0], [0.0, 0.0, 0.0]]},
        {"l": ints(1, 0)},
    ),
    "Mean-infinite": Case("y = Mean(x, w)", lambda p: (p["x"] + p["w"]) / 2, {"x": PAIRS, "w": PAIRS}),
    "MatMul-zero": Case(
        "y = MatMul(x, w)",
        lambda p: p["x"] @ p["w"],
        {"x": np.zeros((2, 0)), "w": np.zeros((0, 3))},
    ),
    **{
        f"GridSample-{mode}-{padding}-{int(corners)}": sampled(mode, padding, corners)
        for mode in ("linear", "cubic")
        for padding in ("zeros", "border", "reflection")
        for corners in (False, True)
    },
}


def hard(x):
    """One where a row has its largest element."""
    return (x == x.max(-1, keepdim=True)[0]).double()


# What is of the first kind is linear in each operand, so that a gradient depends on the other operands alone, or moves
# elements; what is of the second is smooth where it is defined.
LINEAR = """Affine AffineGrid AveragePool BitCast Cast CastLike Col2Im Compress Concat ConcatFromSequence Conv
ConvTranspose Crop DFT DepthToSpace DequantizeLinear DynamicSlice Einsum Expand EyeLike Flatten Gemm GlobalAveragePool
ImageScaler MaxUnpool OneHot Optional OptionalGetElement Pad Reshape ReverseSequence RotaryEmbedding STFT Scale Scatter
SequenceAt SequenceConstruct SequenceErase SequenceInsert Slice SpaceToDepth Split SplitToSequence Squeeze Sum
TensorScatter Tile Transpose Trilu Unsqueeze Upsample""".split()
SMOOTH = ["CausalConvWithState", "GRU", "LSTM", "LinearAttention", "ParametricSoftplus", "ScaledTanh",
          "SimplifiedLayerNormalization"]  # fmt: skip
# Of whose results no gradient is asked, or that PyTorch does not have as such.
OTHERS = {
    "random numbers": ["Bernoulli", "Dropout", "RandomNormalLike", "RandomUniformLike"],
    "constants": ["MelWeightMatrix", "Range"],
    "gradients of straight-through estimators": ["DynamicQuantizeLinear", "QLinearMatMul", "QuantizeLinear"],
    "of torchvision, not of PyTorch: compared at random positions (agreement)": ["DeformConv", "RoiAlign"],
    "moves elements that are known": ["Unique"],
}
WITHOUT = {*LINEAR, *SMOOTH, *(name for names in OTHERS.values() for name in names)}
