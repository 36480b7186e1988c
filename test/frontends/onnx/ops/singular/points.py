# SPDX-License-Identifier: Apache-2.0
"""Operators at singular points: zeros, ties, bounds, infinities, empty axes and those of one element."""

import math

import numpy as np

INF = math.inf
LINE = [-INF, -40.0, -6.0, -3.0, -2.5, -1.0, -0.5, -0.0, 0.0, 0.5, 1.0, 2.5, 3.0, 6.0, 40.0, INF]
FINITE = [x for x in LINE if math.isfinite(x)]
UNIT = [-1.0, -0.5, -0.0, 0.0, 0.5, 1.0]
PAIRS = [-INF, -2.0, -1.0, -0.0, 0.0, 1.0, 2.0, 3.0, INF]


def f(name):
    import torch.nn.functional

    return getattr(torch.nn.functional, name)


def t(name):
    import torch

    return getattr(torch, name)


def tensor(values):
    import torch

    return torch.tensor(values)


class Case:
    """A graph in double, its parameters and constants, and PyTorch's function of the parameters."""

    def __init__(self, body, torch, parameters, constants=None, opset=22):
        self.body, self.torch, self.opset = body, torch, opset
        self.parameters = {name: np.array(value, np.float64) for name, value in parameters.items()}
        self.constants = {name: np.asarray(value) for name, value in (constants or {}).items()}


def unary(text, torch, points=LINE, opset=22):
    body = f"y = {text}" if "(" in text else f"y = {text}(x)"
    return Case(body, lambda p: torch(p["x"]), {"x": points}, opset=opset)


def binary(text, torch, first=PAIRS, second=PAIRS):
    pairs = [(a, b) for a in first for b in second]
    body = f"y = {text}" if "(" in text else f"y = {text}(x, w)"
    return Case(body, lambda p: torch(p["x"], p["w"]), {"x": [a for a, _ in pairs], "w": [b for _, b in pairs]})


# Rows that are reduced: equal elements, zeros, one and several, infinities.
ROWS = [
    [1.0, 1.0, 1.0, 1.0], [0.0, 0.0, 0.0, 0.0], [0.0, 2.0, -3.0, 1.0], [0.0, 0.0, 2.0, 3.0], [2.0, -1.0, 2.0, -1.0],
    [INF, 1.0, 2.0, INF], [-INF, -INF, -INF, -INF], [-INF, 0.0, 1.0, -1.0], [-0.0, 0.0, -0.0, 0.0],
    [-2.0, -2.0, 3.0, 3.0], [100.0, 100.0, -100.0, 0.0],
]  # fmt: skip
FINITE_ROWS = [row for row in ROWS if all(map(math.isfinite, row))]
LAST = {"a": np.array([-1])}


def rows(text, torch, points=ROWS, opset=22, constants=None, before=""):
    """Nodes along the last axis, of several elements and of one: with the number {0} and the operand {1}."""
    body = before + "\n".join(text.format(i, name) for i, name in enumerate("xw"))
    values = {"x": points, "w": [[0.0], [2.0], [-3.0]]}
    return Case(body, lambda p: [torch(p["x"]), torch(p["w"])], values, LAST if constants is None else constants, opset)


def selu(x):
    """With ONNX's constants, which are in single precision."""
    import torch

    alpha, gamma = 1.67326319217681884765625, 1.05070102214813232421875
    return gamma * torch.nn.functional.elu(x, alpha)


def hard_sigmoid(x):
    """torch's has a slope of 1/6: relu6's gradient with ONNX's slope and offset."""
    import torch

    return torch.nn.functional.hardtanh(0.2 * x + 0.5, 0.0, 1.0)


def reduced(name, **options):
    return lambda x: t(name)(x, -1, **options)


def norm(p):
    def function(x):
        import torch

        return torch.linalg.vector_norm(x, p, -1)

    return function


UNARY = {
    "Abs": unary("Abs", lambda x: x.abs()),
    "Acos": unary("Acos", lambda x: x.acos(), UNIT),
    "Acosh": unary("Acosh", lambda x: x.acosh(), [1.0, 1.5, 3.0]),
    "Asin": unary("Asin", lambda x: x.asin(), UNIT),
    "Asinh": unary("Asinh", lambda x: x.asinh()),
    "Atan": unary("Atan", lambda x: x.atan()),
    "Atanh": unary("Atanh", lambda x: x.atanh(), UNIT),
    "Ceil": unary("Ceil", lambda x: x.ceil()),
    "Celu": unary("Celu <alpha=1.5> (x)", lambda x: f("celu")(x, 1.5)),
    "Clip": Case(
        "y = Clip(x, l, h)\n y1 = Clip(x, l)\n y2 = Clip(x, , h)",
        lambda p: [p["x"].clamp(-1.0, 2.5), p["x"].clamp(min=-1.0), p["x"].clamp(max=2.5)],
        {"x": LINE},
        {"l": np.array(-1.0), "h": np.array(2.5)},
    ),
    "Clip-relu6": Case(
        "y = Clip(x, l, h)", lambda p: p["x"].clamp(0.0, 6.0), {"x": LINE}, {"l": np.array(0.0), "h": np.array(6.0)}
    ),
    "Cos": unary("Cos", lambda x: x.cos(), FINITE),
    "Cosh": unary("Cosh", lambda x: x.cosh()),
    "Elu": unary("Elu <alpha=0.5> (x)", lambda x: f("elu")(x, 0.5)),
    "Erf": unary("Erf", lambda x: x.erf()),
    "Exp": unary("Exp", lambda x: x.exp()),
    "Floor": unary("Floor", lambda x: x.floor()),
    "Gelu": unary("Gelu", lambda x: f("gelu")(x), FINITE),
    "Gelu-tanh": unary('Gelu <approximate="tanh"> (x)', lambda x: f("gelu")(x, approximate="tanh"), FINITE),
    "HardSigmoid": unary("HardSigmoid", hard_sigmoid),
    "HardSwish": unary("HardSwish", lambda x: f("hardswish")(x)),
    "Identity": unary("Identity", lambda x: x.clone()),
    "LeakyRelu": unary("LeakyRelu <alpha=0.25> (x)", lambda x: f("leaky_relu")(x, 0.25)),
    "Log": unary("Log", lambda x: x.log()),
    "Log-Sigmoid": Case(
        "s = Sigmoid(x)\n y = Log(s)", lambda p: f("logsigmoid")(p["x"]), {"x": [*FINITE, -1000.0, 1000.0, -INF, INF]}
    ),
    "Log-one-plus": Case(
        "o = Constant <value = double {1.0}> ()\n s = Add(x, o)\n y = Log(s)",
        lambda p: (p["x"] + 1.0).log(),
        {"x": [-1.0, -0.5, 0.0, 1.0, INF]},
    ),
    "Mish": unary("Mish", lambda x: f("mish")(x), FINITE),
    "Neg": unary("Neg", lambda x: -x),
    "PRelu": Case("y = PRelu(x, w)", lambda p: f("prelu")(p["x"][None, None], p["w"])[0, 0], {"x": LINE, "w": [0.25]}),
    "Reciprocal": unary("Reciprocal", lambda x: x.reciprocal()),
    "Relu": unary("Relu", lambda x: x.relu()),
    "Round": unary("Round", lambda x: x.round()),
    "Selu": unary("Selu", selu),
    "Shrink-hard": unary("Shrink <lambd=0.5> (x)", lambda x: f("hardshrink")(x, 0.5)),
    "Shrink-soft": unary("Shrink <lambd=0.5, bias=0.5> (x)", lambda x: f("softshrink")(x, 0.5)),
    "Sigmoid": unary("Sigmoid", lambda x: x.sigmoid()),
    "Sign": unary("Sign", lambda x: x.sign()),
    "Sin": unary("Sin", lambda x: x.sin(), FINITE),
    "Sinh": unary("Sinh", lambda x: x.sinh()),
    "Softplus": unary("Softplus", lambda x: f("softplus")(x, threshold=1000), FINITE),
    "Softsign": unary("Softsign", lambda x: f("softsign")(x), FINITE),
    "Sqrt": unary("Sqrt", lambda x: x.sqrt()),
    "Swish": unary("Swish", lambda x: f("silu")(x), FINITE, opset=24),
    "Tan": unary("Tan", lambda x: x.tan(), FINITE),
    "Tanh": unary("Tanh", lambda x: x.tanh()),
    "ThresholdedRelu": unary("ThresholdedRelu <alpha=0.5> (x)", lambda x: f("threshold")(x, 0.5, 0.0)),
}

POWERS = [-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 3.0]
BINARY = {
    "Add": binary("Add", lambda x, w: x + w),
    "Div": binary("Div", lambda x, w: x / w),
    "Max": binary("Max", lambda x, w: t("maximum")(x, w)),
    "Min": binary("Min", lambda x, w: t("minimum")(x, w)),
    "Mod": binary("Mod <fmod=1> (x, w)", lambda x, w: t("fmod")(x, w), [-3.0, -0.0, 0.0, 2.0, 4.0], [-2.0, 1.5, 2.0]),
    "Mul": binary("Mul", lambda x, w: x * w),
    "Pow": Case(
        "e = Neg(w)\n y = Pow(x, e)",
        lambda p: p["x"].pow(-p["w"]),
        {
            "x": np.repeat([-2.0, -1.0, -0.0, 0.0, 1.0, 2.0], 8),
            "w": np.tile([-3.0, -2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0], 6),
        },
    ),
    "Sub": binary("Sub", lambda x, w: x - w),
    "Max-three": Case(
        "y = Max(x, w, v)\n y1 = Min(x, w, v)",
        lambda p: [
            t("maximum")(t("maximum")(p["x"], p["w"]), p["v"]),
            t("minimum")(t("minimum")(p["x"], p["w"]), p["v"]),
        ],
        {"x": [1.0, 1.0, 0.0, 1.0], "w": [1.0, 1.0, 1.0, 0.0], "v": [1.0, 0.0, 1.0, 1.0]},
    ),
    "Max-constant": Case(
        "c = Constant <value = double {0.5}> ()\n y = Max(x, c)\n y1 = Min(c, x)",
        lambda p: [p["x"].clamp(min=0.5), p["x"].clamp(max=0.5)],
        {"x": LINE},
    ),
    "Max-zero": Case(
        "c = Constant <value = double {0.0}> ()\n y = Max(x, c)\n y1 = Max(c, x)",
        lambda p: [p["x"].relu(), p["x"].relu()],
        {"x": LINE},
    ),
    "Where": Case(
        "c = Greater(x, w)\n y = Where(c, x, w)",
        lambda p: t("where")(p["x"] > p["w"], p["x"], p["w"]),
        {"x": [1.0, 1.0, -INF, INF], "w": [1.0, 0.0, 1.0, INF]},
    ),
}
for exponent in POWERS:
    BINARY[f"Pow-{exponent:g}"] = Case(
        f"c = Constant <value = double {{{exponent}}}> ()\n y = Pow(x, c)",
        lambda p, exponent=exponent: p["x"].pow(exponent),
        {"x": [-2.0, -1.0, -0.0, 0.0, 1.0, 2.0, INF]},
    )
