# SPDX-License-Identifier: Apache-2.0
"""Gradients of ONNX operators against PyTorch's in double precision, on random shapes.

    torch_gradients.py INGOT_OPT INGOT_EVAL FOLDER [--only REGEX] [--count N] [--seed N]

Each operator gets a number of graphs: shapes that broadcast, dimensions of size one and zero, axes that count from the
end, attributes drawn. The loss is the weighted sum of gradients.py. A line says the worst error of any element,
relative to the larger of 1 and the derivative. Needs PyTorch: INGOT_MODELS_PYTHON names a Python that has it.
"""

import argparse
import os
import pathlib
import re
import sys
import zlib

if os.environ.get("INGOT_MODELS_PYTHON", sys.executable) != sys.executable:
    # ruff: noqa: E402
    os.execv(os.environ["INGOT_MODELS_PYTHON"], [os.environ["INGOT_MODELS_PYTHON"], *sys.argv])

import gradients
import numpy as np
import torch
import torch.nn.functional as F

TOLERANCE = 1e-9


class Case:
    """One graph of an operator that is drawn: its text, parameters and constants, and PyTorch's function of them."""

    def __init__(self, source, domain="any"):
        self.source, self.domain = source, domain
        self.opset, self.parameters, self.constants = 23, {}, {}

    def integer(self, low, high):
        return int(self.source.integers(low, high + 1))

    def flag(self):
        return bool(self.source.integers(2))

    def shape(self, low=0, high=4, empty=True):
        sizes = [1, 2, 3, 5, 0] if empty and self.integer(0, 4) == 0 else [1, 2, 3, 5]
        return tuple(int(self.source.choice(sizes)) for _ in range(self.integer(low, high)))

    def parameter(self, name, shape):
        self.parameters[name] = gradients.draw(self.source, shape, self.domain)

    def constant(self, name, value):
        self.constants[name] = value

    def broadcast(self, shape):
        """A shape that broadcasts to this one: fewer dimensions, some of size one."""
        part = shape[self.integer(0, len(shape)) :]
        return tuple(1 if self.integer(0, 2) == 0 else size for size in part)

    def axis(self, rank):
        return self.integer(-rank, rank - 1)

    def axes(self, rank):
        """Some dimensions, each counted from the front or the end."""
        chosen = [d for d in range(rank) if self.flag()] or [0]
        return [d - rank if self.flag() else d for d in chosen]


def unary(operator, function, domain="any", opset=23):
    def make(source):
        case = Case(source, domain)
        case.opset = opset
        case.parameter("x", case.shape())
        return case, f"y = {operator}(x)" if "(" not in operator else f"y = {operator}", lambda p: function(p["x"])

    return make


def binary(operator, function, domain="any"):
    def make(source):
        case = Case(source, domain)
        shape = case.shape()
        first, second = (shape, case.broadcast(shape)) if case.flag() else (case.broadcast(shape), shape)
        case.parameter("x", first)
        case.parameter("w", second)
        return case, f"y = {operator}(x, w)", lambda p: function(p["x"], p["w"])

    return make


def reduction(operator, function, empty=True, domain="any"):
    def make(source):
        case = Case(source, domain)
        shape = case.shape(low=1, empty=empty)
        case.parameter("x", shape)
        axes, keep = case.axes(len(shape)), case.flag()
        case.constant("a", np.array(axes, np.int64))
        return case, f"y = {operator} <keepdims={int(keep)}> (x, a)", lambda p: function(p["x"], axes, keep)

    return make


def along_axis(operator, function, empty=True, name="axis"):
    def make(source):
        case = Case(source)
        shape = case.shape(low=1, empty=empty)
        case.parameter("x", shape)
        axis = case.axis(len(shape))
        return case, f"y = {operator} <{name}={axis}> (x)", lambda p: function(p["x"], axis)

    return make


def norm(x, axes, keep):
    return torch.linalg.vector_norm(x, 2, axes, keep)


def product(x, axes, keep):
    for axis in sorted((a % x.ndim for a in axes), reverse=True):
        x = x.prod(axis, keepdim=keep)
    return x


def where(source):
    case = Case(source)
    shape = case.shape()
    case.parameter("x", case.broadcast(shape))
    case.parameter("w", shape)
    condition = source.random(shape) < 0.5
    case.constant("c", condition)
    return case, "y = Where(c, x, w)", lambda p: torch.where(torch.tensor(condition), p["x"], p["w"])


def cumulative(operator, function):
    def make(source):
        case = Case(source)
        case.opset = 26
        shape = case.shape(low=1)
        case.parameter("x", shape)
        axis = case.axis(len(shape))
        case.constant("a", np.array(axis, np.int64))
        return case, f"y = {operator}(x, a)", lambda p: function(p["x"], axis)

    return make


def concat(source):
    case = Case(source)
    shape = list(case.shape(low=1))
    axis = case.axis(len(shape))
    case.parameter("x", tuple(shape))
    shape[axis] = case.integer(0, 3)
    case.parameter("w", tuple(shape))
    return case, f"y = Concat <axis={axis}> (x, w, x)", lambda p: torch.cat([p["x"], p["w"], p["x"]], axis)


def gather(source):
    case = Case(source)
    shape = case.shape(low=1, empty=False)
    axis = case.axis(len(shape))
    indices = source.integers(-shape[axis], shape[axis], case.shape(high=2))
    case.parameter("x", shape)
    case.constant("i", indices.astype(np.int64))
    flat = torch.tensor(indices.ravel() % shape[axis])
    parts = [*shape[: axis % len(shape)], *indices.shape, *shape[axis % len(shape) + 1 :]]
    return case, f"y = Gather <axis={axis}> (x, i)", lambda p: p["x"].index_select(axis, flat).reshape(parts)


def elements(source):
    case = Case(source)
    shape = case.shape(low=1, empty=False)
    axis = case.axis(len(shape))
    size = list(shape)
    size[axis] = case.integer(1, 4)
    indices = source.integers(0, shape[axis], size).astype(np.int64)
    case.parameter("x", shape)
    case.constant("i", indices)
    return case, f"y = GatherElements <axis={axis}> (x, i)", lambda p: p["x"].gather(axis, torch.tensor(indices))


def scatter(source):
    case = Case(source)
    shape = case.shape(low=1, empty=False)
    axis = case.axis(len(shape))
    size = list(shape)
    size[axis] = case.integer(1, 4)
    indices = source.integers(0, shape[axis], size).astype(np.int64)
    case.parameter("x", shape)
    case.parameter("u", tuple(size))
    case.constant("i", indices)
    text = f'y = ScatterElements <axis={axis}, reduction="add"> (x, i, u)'
    return case, text, lambda p: p["x"].scatter_add(axis, torch.tensor(indices), p["u"])


def sliced(source):
    case = Case(source)
    shape = case.shape(low=1, empty=False)
    axis, size = case.axis(len(shape)), None
    size = shape[axis]
    start, step = case.integer(0, size - 1), case.integer(1, 2)
    case.parameter("x", shape)
    back = case.flag()
    values = {"s": size - 1 - start, "e": -size - 1, "t": -step} if back else {"s": start - size, "e": 99, "t": step}
    for name, value in {**values, "a": axis}.items():
        case.constant(name, np.array([value], np.int64))
    kept = list(range(size - 1 - start, -1, -step)) if back else list(range(start, size, step))
    return case, "y = Slice(x, s, e, a, t)", lambda p: p["x"].index_select(axis, torch.tensor(kept))


def padded(mode):
    def make(source):
        case = Case(source)
        shape = (2, *(case.integer(2, 5) for _ in range(2)))
        low, high = (case.integer(0, 1) for _ in range(2))
        case.parameter("x", shape)
        case.constant("p", np.array([0, low, high, 0, high, low], np.int64))
        name = {"edge": "replicate"}.get(mode, mode)
        return case, f'y = Pad <mode="{mode}"> (x, p)', lambda p: F.pad(p["x"][None], (high, low, low, high), name)[0]

    return make


def matmul(source):
    case = Case(source)
    rows, inner, columns = (int(source.choice([0, 1, 2, 3], p=[0.05, 0.25, 0.35, 0.35])) for _ in range(3))
    batch = case.shape(high=2)
    left = () if case.integer(0, 3) == 0 else (rows,)
    case.parameter("x", (*(batch if left else ()), *left, inner))
    case.parameter("w", (*case.broadcast(batch), inner, columns))
    return case, "y = MatMul(x, w)", lambda p: p["x"] @ p["w"]


def einsum(source):
    case = Case(source)
    text = str(source.choice(["bij,bjk->bik", "...i,ij->...j", "ii->i", "ij,jk,kl->il", "bi,bj->ij", "...ij->...ji"]))
    sizes = {letter: case.integer(1, 3) for letter in "bijkl"}
    names = []
    for n, part in enumerate(text.split("->")[0].split(",")):
        letters = part.replace("...", "")
        case.parameter(f"x{n}", (*((2, 1) if "..." in part else ()), *(sizes[letter] for letter in letters)))
        names.append(f"x{n}")
    body = f'y = Einsum <equation="{text}"> ({", ".join(names)})'
    return case, body, lambda p: torch.einsum(text, *(p[name] for name in names))


def convolution(transposed):
    def make(source):
        case = Case(source)
        dims, groups = case.integer(1, 3), case.integer(1, 2)
        inputs, outputs = groups * case.integer(1, 2), groups * case.integer(1, 2)
        kernel = [case.integer(1, 3) for _ in range(dims)]
        stride, dilation = ([case.integer(1, 2) for _ in range(dims)] for _ in range(2))
        pads = [case.integer(0, k - 1) for k in kernel]
        size = [d * (k - 1) + case.integer(1, 4) for k, d in zip(kernel, dilation)]
        case.parameter("x", (case.integer(1, 2), inputs, *size))
        filters = (inputs, outputs // groups) if transposed else (outputs, inputs // groups)
        case.parameter("w", (*filters, *kernel))
        case.parameter("b", (outputs,))
        attributes = f"group={groups}, strides={stride}, dilations={dilation}, pads={pads + pads}"
        name = f"conv{'_transpose' if transposed else ''}{dims}d"
        options = {"stride": stride, "padding": pads, "dilation": dilation, "groups": groups}
        operator = "ConvTranspose" if transposed else "Conv"
        function = getattr(F, name)
        return case, f"y = {operator} <{attributes}> (x, w, b)", lambda p: function(p["x"], p["w"], p["b"], **options)

    return make


def pool(operator, function):
    def make(source):
        case = Case(source)
        dims = case.integer(1, 3)
        kernel, stride = [case.integer(1, 3) for _ in range(dims)], [case.integer(1, 2) for _ in range(dims)]
        pads = [case.integer(0, k // 2) for k in kernel]
        case.parameter("x", (2, 2, *(k + case.integer(0, 3) for k in kernel)))
        extra = ", count_include_pad=1" if operator == "AveragePool" else ""
        text = f"y = {operator} <kernel_shape={kernel}, strides={stride}, pads={pads + pads}{extra}> (x)"
        return case, text, lambda p: getattr(F, f"{function}{dims}d")(p["x"], kernel, stride, pads)

    return make


def layer_norm(source):
    case = Case(source)
    shape = case.shape(low=1, empty=False)
    axis = case.integer(-len(shape), -1)
    case.parameter("x", shape)
    case.parameter("s", shape[axis:])
    case.parameter("b", shape[axis:])
    text = f"y = LayerNormalization <axis={axis}, epsilon=0.01> (x, s, b)"
    return case, text, lambda p: F.layer_norm(p["x"], shape[axis:], p["s"], p["b"], 0.01)


def channel_norm(operator):
    def make(source):
        case = Case(source)
        groups, channels = 2, 2 * case.integer(1, 3)
        case.parameter("x", (2, channels, *(case.integer(2, 4) for _ in range(case.integer(1, 2)))))
        case.parameter("s", (channels,))
        case.parameter("b", (channels,))
        if operator == "InstanceNormalization":
            text = "y = InstanceNormalization <epsilon=0.01> (x, s, b)"
            return case, text, lambda p: F.instance_norm(p["x"], weight=p["s"], bias=p["b"], eps=0.01)
        text = f"y = GroupNormalization <num_groups={groups}, epsilon=0.01> (x, s, b)"
        return case, text, lambda p: F.group_norm(p["x"], groups, p["s"], p["b"], 0.01)

    return make


def top_k(source):
    case = Case(source)
    shape = case.shape(low=1, empty=False)
    axis = case.axis(len(shape))
    count, largest = case.integer(1, shape[axis]), case.flag()
    case.parameter("x", shape)
    case.constant("k", np.array([count], np.int64))
    text = f"y, _i = TopK <axis={axis}, largest={int(largest)}> (x, k)"
    return case, text, lambda p: p["x"].topk(count, axis, largest)[0]


def shaped(source):
    """Reshape, Transpose and Expand in a row."""
    case = Case(source)
    shape = case.shape(low=1)
    order = [int(d) for d in source.permutation(len(shape))]
    case.parameter("x", shape)
    case.constant("r", np.array([1, *(shape[d] for d in order)], np.int64))
    case.constant("e", np.array([2, *([1] * len(shape))], np.int64))
    body = f"t = Transpose <perm={order}> (x)\n a = Reshape <allowzero=1> (t, r)\n y = Expand(a, e)"
    return case, body, lambda p: p["x"].permute(order).unsqueeze(0).expand(2, *([-1] * len(shape)))


def tiled(source):
    case = Case(source)
    shape = case.shape(low=1)
    times = [case.integer(0 if case.integer(0, 9) == 0 else 1, 3) for _ in shape]
    case.parameter("x", shape)
    case.constant("n", np.array(times, np.int64))
    return case, "y = Tile(x, n)", lambda p: p["x"].repeat(times)


def triangle(source):
    case = Case(source)
    shape = case.shape(low=2, high=3)
    diagonal, upper = case.integer(-2, 2), case.flag()
    case.parameter("x", shape)
    case.constant("k", np.array(diagonal, np.int64))
    function = torch.triu if upper else torch.tril
    return case, f"y = Trilu <upper={int(upper)}> (x, k)", lambda p: function(p["x"], diagonal)


def grid_sample(source):
    case = Case(source, "unit")
    aligned, padding = case.flag(), str(source.choice(["zeros", "border", "reflection"]))
    case.parameter("x", (2, 2, case.integer(2, 4), case.integer(2, 4)))
    case.parameter("g", (2, case.integer(1, 3), case.integer(1, 3), 2))
    text = f'y = GridSample <mode="linear", padding_mode="{padding}", align_corners={int(aligned)}> (x, g)'
    return case, text, lambda p: F.grid_sample(p["x"], p["g"], "bilinear", padding, aligned)


def selu(x):
    """With ONNX's constants, which are in single precision."""
    alpha, gamma = 1.67326319217681884765625, 1.05070102214813232421875
    return gamma * torch.where(x > 0, x, alpha * torch.expm1(x))


def power(source):
    # An exponent that is an initializer configures the operator.
    case, _, function = binary("Pow", lambda x, w: x**-w, "positive")(source)
    return case, "e = Neg(w)\n y = Pow(x, e)", function


def nothing(x):
    return x * 0.0


CASES = {
    "Abs": unary("Abs", torch.abs), "Acos": unary("Acos", torch.acos, "unit"),
    "Acosh": unary("Acosh", torch.acosh, "above"), "Asin": unary("Asin", torch.asin, "unit"),
    "Asinh": unary("Asinh", torch.asinh), "Atan": unary("Atan", torch.atan),
    "Atanh": unary("Atanh", torch.atanh, "unit"), "Celu": unary("Celu <alpha=1.5> (x)", lambda x: F.celu(x, 1.5)),
    "Cos": unary("Cos", torch.cos), "Cosh": unary("Cosh", torch.cosh),
    "Elu": unary("Elu <alpha=0.7> (x)", lambda x: F.elu(x, 0.7)),
    "Erf": unary("Erf", torch.erf), "Exp": unary("Exp", torch.exp), "Gelu": unary("Gelu", F.gelu),
    "Gelu-tanh": unary('Gelu <approximate="tanh"> (x)', lambda x: F.gelu(x, approximate="tanh")),
    "HardSwish": unary("HardSwish", F.hardswish),
    "LeakyRelu": unary("LeakyRelu <alpha=0.2> (x)", lambda x: F.leaky_relu(x, 0.2)),
    "Log": unary("Log", torch.log, "positive"), "Mish": unary("Mish", F.mish), "Neg": unary("Neg", torch.neg),
    "Reciprocal": unary("Reciprocal", torch.reciprocal), "Relu": unary("Relu", F.relu), "Selu": unary("Selu", selu),
    "Sigmoid": unary("Sigmoid", torch.sigmoid), "Sin": unary("Sin", torch.sin), "Sinh": unary("Sinh", torch.sinh),
    "Softplus": unary("Softplus", F.softplus), "Softsign": unary("Softsign", F.softsign),
    "Sqrt": unary("Sqrt", torch.sqrt, "positive"), "Swish": unary("Swish", F.silu, opset=24),
    "Tan": unary("Tan", torch.tan, "unit"), "Tanh": unary("Tanh", torch.tanh),
    "Ceil": unary("Ceil", nothing), "Floor": unary("Floor", nothing), "Round": unary("Round", nothing),
    "Sign": unary("Sign", nothing), "Identity": unary("Identity", torch.clone),
    "Add": binary("Add", torch.add), "Div": binary("Div", torch.div), "Max": binary("Max", torch.maximum),
    "Min": binary("Min", torch.minimum), "Mul": binary("Mul", torch.mul), "Pow": power,
    "Sub": binary("Sub", torch.sub), "Where": where,
    "ReduceL1": reduction("ReduceL1", lambda x, a, k: x.abs().sum(a, k)),
    "ReduceL2": reduction("ReduceL2", norm, empty=False, domain="zeros"),
    "ReduceLogSum": reduction("ReduceLogSum", lambda x, a, k: x.sum(a, k).log(), empty=False, domain="positive"),
    "ReduceLogSumExp": reduction("ReduceLogSumExp", torch.logsumexp, empty=False),
    "ReduceMax": reduction("ReduceMax", torch.amax, empty=False),
    "ReduceMean": reduction("ReduceMean", torch.mean, empty=False),
    "ReduceMin": reduction("ReduceMin", torch.amin, empty=False), "ReduceProd": reduction("ReduceProd", product),
    "ReduceSum": reduction("ReduceSum", torch.sum),
    "ReduceSumSquare": reduction("ReduceSumSquare", lambda x, a, k: (x * x).sum(a, k)),
    "Softmax": along_axis("Softmax", torch.softmax), "LogSoftmax": along_axis("LogSoftmax", torch.log_softmax),
    "LpNormalization": along_axis("LpNormalization", lambda x, a: x / x.norm(dim=a, keepdim=True), empty=False),
    "CumSum": cumulative("CumSum", torch.cumsum), "CumProd": cumulative("CumProd", torch.cumprod),
    "Concat": concat, "Gather": gather, "GatherElements": elements, "ScatterElements": scatter, "Slice": sliced,
    "Pad": padded("constant"), "Pad-edge": padded("edge"), "Pad-reflect": padded("reflect"), "MatMul": matmul,
    "Einsum": einsum, "Conv": convolution(False), "ConvTranspose": convolution(True),
    "AveragePool": pool("AveragePool", "avg_pool"), "MaxPool": pool("MaxPool", "max_pool"),
    "LayerNormalization": layer_norm, "InstanceNormalization": channel_norm("InstanceNormalization"),
    "GroupNormalization": channel_norm("GroupNormalization"), "TopK": top_k, "Reshape": shaped, "Tile": tiled,
    "Trilu": triangle, "GridSample": grid_sample,
}  # fmt: skip


def torchs(case, function):
    """PyTorch's gradients of the loss that gradients.build() makes."""
    tensors = {name: torch.tensor(value, requires_grad=True) for name, value in case.parameters.items()}
    flat = function(tensors).reshape(-1)
    (flat * torch.arange(1, flat.numel() + 1).double().sin()).sum().backward()
    return {name: np.zeros(t.shape) if t.grad is None else t.grad.numpy() for name, t in tensors.items()}


def error_of(opt, tool, folder, name, seed):
    case, body, function = CASES[name](np.random.default_rng([zlib.crc32(name.encode()), seed]))
    shapes = {key: value.shape for key, value in case.parameters.items()}
    model = gradients.build(name, (case.opset, body, shapes, case.constants), case.parameters, as_inputs=False)
    try:
        got = gradients.gradients_of(opt, tool, folder / f"{name}-{seed}", model, shapes, {})
    except RuntimeError as problem:
        if "there is nothing to train" not in str(problem):
            raise
        got = {}
    worst = 0.0
    for key, want in torchs(case, function).items():
        # Without elements, or where none of them counts, there is no gradient.
        found = got.get(key, np.zeros(want.shape))
        if found.shape != want.shape:
            raise RuntimeError(f"the gradient of {key} has the shape {found.shape}, not {want.shape}")
        if want.size:
            worst = max(worst, float(np.max(np.abs(found - want) / np.maximum(1, np.abs(want)))))
    return worst, shapes


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("opt")
    parser.add_argument("tool")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--count", type=int, default=8, help="graphs of each operator")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    failures = graphs = 0
    for name in [name for name in CASES if re.search(args.only, name)]:
        worst, problems = 0.0, []
        for seed in range(args.seed, args.seed + args.count):
            graphs += 1
            try:
                error, shapes = error_of(args.opt, args.tool, args.folder, name, seed)
            except Exception as problem:
                problems.append(f"seed {seed}: {type(problem).__name__}: {problem}")
                continue
            worst = max(worst, error)
            if not error <= TOLERANCE:
                problems.append(f"seed {seed}: off by {error:.1e}, shapes {shapes}")
        failures += len(problems)
        print(f"{name}: {worst:.1e}", *problems, sep="\n  FAILED ", flush=True)
    print(f"{graphs} graphs of {len(CASES)} operators, {failures} fail")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
