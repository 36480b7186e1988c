# SPDX-License-Identifier: Apache-2.0
"""Operators one by one against ONNX Runtime: what an untrained trainer
predicts. Each case is one model with an output per operator; `main` comes
first and is what the loss sees, so that there is something to train."""

import numpy as np
import onnx
import onnx.parser
import onnx.shape_inference
import onnxruntime
from harness import Failure, case, check, check_close
from onnx import numpy_helper

BATCH = 3
SHAPE = (4, 6, 5)


def parameter(name, array):
    return numpy_helper.from_array(np.asarray(array), name)


def build(body, constants, opset):
    """A model of x and positive p, both [n, *SHAPE], an output per result of
    body less those with a leading underscore."""
    dims = ",".join(str(d) for d in ("n", *SHAPE))
    lines = ["main = Mul(x, weight)", *body]
    text = (
        f'<ir_version: 8, opset_import: ["": {opset}]>\n'
        f"g (float[{dims}] x, float[{dims}] p) => (float main) {{\n" + "\n".join(lines) + "\n}"
    )
    model = onnx.parser.parse_model(text)
    source = np.random.default_rng(1)
    model.graph.initializer.append(parameter("weight", source.standard_normal((1, *SHAPE)).astype(np.float32)))
    model.graph.initializer.extend(parameter(k, v) for k, v in constants.items())
    for i, node in enumerate(model.graph.node):
        node.name = f"{node.op_type}_{i}"
    del model.graph.output[:]
    for node in model.graph.node:
        for output in node.output:
            if output and not output.startswith("_"):
                model.graph.output.add().name = output
    model = onnx.shape_inference.infer_shapes(model, strict_mode=True)
    onnx.checker.check_model(model)
    return model


def operators(name, body, constants=None, opset=18):
    def run(ingot):
        model = build(body, constants or {}, opset)
        path = ingot.path(f"{name}.onnx")
        onnx.save(model, path)
        source = np.random.default_rng(2)
        shape = (BATCH, *SHAPE)
        arrays = {
            "x": source.standard_normal(shape).astype(np.float32),
            "p": (source.random(shape) + 0.25).astype(np.float32),
        }
        session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        names = [o.name for o in session.get_outputs()]
        wanted = dict(zip(names, session.run(names, arrays)))
        data = ingot.path("data.npz")
        np.savez(data, **arrays, labels=np.zeros_like(arrays["x"]))
        for level in ("-O0", "-O2"):
            trainer = ingot.compile(path, "--loss", "mse", "--batch", str(BATCH), level)
            predicted = ingot.path("predicted.npz")
            ingot.succeed([trainer, "--steps", "0", "--eval-data", data, "--predict", predicted])
            with np.load(predicted) as outputs:
                wrong = []
                for key, want in wanted.items():
                    try:
                        check(key in outputs, f"{key} is missing")
                        check_close(f"{level} {key}", outputs[key], want, 1e-5)
                    except Failure as failure:
                        wrong.append(str(failure))
                check(not wrong, "; ".join(wrong))

    case(f"operators-{name}")(run)


i64 = np.int64

operators("unary", [
    "abs = Abs(x)", "neg = Neg(x)", "exp = Exp(x)", "log = Log(p)", "sqrt = Sqrt(p)",
    "reciprocal = Reciprocal(p)", "sin = Sin(x)", "cos = Cos(x)", "tanh = Tanh(x)",
    "sigmoid = Sigmoid(x)", "erf = Erf(x)", "floor = Floor(x)", "ceil = Ceil(x)",
    "round = Round(x)", "sign = Sign(x)", "identity = Identity(x)",
])  # fmt: skip

operators("activations", [
    "relu = Relu(x)", "leaky = LeakyRelu<alpha=0.2>(x)", "elu = Elu<alpha=0.7>(x)",
    "selu = Selu(x)", "celu = Celu<alpha=1.5>(x)", "hard_sigmoid = HardSigmoid(x)",
    "hard_swish = HardSwish(x)", "softplus = Softplus(x)", "softsign = Softsign(x)",
    "mish = Mish(x)", "thresholded = ThresholdedRelu<alpha=0.5>(x)",
    "prelu = PRelu(x, slope)", "clip = Clip(x, low, high)", "clip_high = Clip(x, , high)",
], {
    "slope": np.linspace(-1, 1, 4, dtype=np.float32).reshape(4, 1, 1),
    "low": np.float32(-0.5), "high": np.float32(0.75),
})  # fmt: skip

operators("gelu", [
    "gelu = Gelu(x)", 'gelu_tanh = Gelu<approximate="tanh">(x)',
], opset=20)  # fmt: skip

operators("binary", [
    "add = Add(x, row)", "sub = Sub(column, x)", "mul = Mul(x, scalar)", "div = Div(x, p)",
    "power = Pow(p, x)", "square = Pow(x, two)", "max = Max(x, row, column)",
    "min = Min(x, scalar)", "mean = Mean(x, p, row)", "sum = Sum(x, column)",
    "_greater = Greater(x, row)", "_less = LessOrEqual(x, p)", "_both = And(_greater, _less)",
    "_either = Or(_greater, _less)", "_not = Not(_both)",
    "where = Where(_both, x, column)", "where_not = Where(_not, row, p)",
    "cast = Cast<to=1>(_either)",
], {
    "row": np.linspace(-1, 1, 5, dtype=np.float32),
    "column": np.linspace(2, -1, 6, dtype=np.float32).reshape(1, 6, 1),
    "scalar": np.float32(0.3), "two": np.float32(2),
})  # fmt: skip

operators("reductions", [
    "mean = ReduceMean(x, last)", "sum = ReduceSum<keepdims=0>(x, middle)",
    "max = ReduceMax(x, both)", "min = ReduceMin<keepdims=0>(x, last)",
    "prod = ReduceProd(p, last)", "l1 = ReduceL1(x, last)", "l2 = ReduceL2(x, both)",
    "lse = ReduceLogSumExp(x, last)", "squares = ReduceSumSquare(x, middle)",
    "softmax = Softmax<axis=1>(x)", "log_softmax = LogSoftmax(x)",
    "_index = ArgMax<axis=1, keepdims=0>(x)", "argmax = Cast<to=1>(_index)",
], {
    "last": np.array([-1], i64), "middle": np.array([2], i64), "both": np.array([1, 3], i64),
})  # fmt: skip

operators("shapes", [
    "reshape = Reshape(x, to)", "reshape_keep = Reshape(x, keep)",
    "transpose = Transpose<perm=[0,3,1,2]>(x)",
    "_flat = Flatten<axis=2>(x)", "flatten = Reshape(_flat, whole)",
    "unsqueeze = Unsqueeze(x, at)", "squeeze = Squeeze(unsqueeze, at)",
    "concat = Concat<axis=-1>(x, p, x)", "first, second = Split<axis=2>(x, sizes)",
    "slice = Slice(x, starts, ends, axes)", "backwards = Slice(x, from, down_to, axes, steps)",
    "pad = Pad(x, pads, value)", "_wide = Expand(row, wide)",
    "expand = Mul(x, _wide)", "tile = Tile(x, repeats)",
    "gather = Gather<axis=2>(x, rows)", "space = DepthToSpace<blocksize=2>(x)",
], {
    "to": np.array([0, -1, 3], i64), "keep": np.array([0, 0, 30], i64),
    "whole": np.array([-1, 120], i64), "at": np.array([2], i64),
    "sizes": np.array([2, 4], i64), "starts": np.array([1, -4], i64),
    "ends": np.array([3, 1000], i64), "axes": np.array([1, 3], i64),
    "from": np.array([-1, 3], i64), "down_to": np.array([-1000, 0], i64),
    "steps": np.array([-2, -1], i64), "pads": np.array([0, 0, 1, 2, 0, 1, 0, 1], i64),
    "value": np.float32(0.5), "row": np.linspace(-1, 1, 5, dtype=np.float32),
    "wide": np.array([6, 1], i64), "repeats": np.array([1, 2, 1, 3], i64),
    "rows": np.array([[5, 0], [-1, 2]], i64),
})  # fmt: skip


def random(*shape):
    source = np.random.default_rng(sum(shape))
    return (source.standard_normal(shape) / 3).astype(np.float32)


operators("convolutions", [
    "plain = Conv(x, w3)", "biased = Conv<pads=[1,1,1,1]>(x, w3, b)",
    "strided = Conv<strides=[2,1], pads=[0,1,2,1]>(x, w3)",
    "dilated = Conv<dilations=[2,2], pads=[2,2,2,2]>(x, w3, b)",
    'same_upper = Conv<auto_pad="SAME_UPPER", strides=[2,2]>(x, w3)',
    'same_lower = Conv<auto_pad="SAME_LOWER", strides=[2,2]>(x, w3)',
    "grouped = Conv<group=2, pads=[1,1,1,1]>(x, w_grouped)",
    "depthwise = Conv<group=4, pads=[1,1,1,1]>(x, w_depth)", "pointwise = Conv(x, w1, b)",
    "_line = Reshape(x, line)", "one_d = Conv<strides=[3], pads=[2,1]>(_line, w_line)",
    "_cube = Reshape(x, cube)", "three_d = Conv<pads=[0,1,1,0,1,1]>(_cube, w_cube)",
    "transposed = ConvTranspose<strides=[2,2], pads=[1,1,1,1]>(x, w_up)",
], {
    "w3": random(7, 4, 3, 3), "b": random(7), "w_grouped": random(6, 2, 3, 3),
    "w_depth": random(8, 1, 3, 3), "w1": random(7, 4, 1, 1), "line": np.array([0, 4, 30], i64),
    "w_line": random(3, 4, 5), "cube": np.array([0, 2, 2, 6, 5], i64),
    "w_cube": random(3, 2, 2, 3, 3), "w_up": random(4, 3, 4, 4),
})  # fmt: skip

operators("pooling", [
    "max = MaxPool<kernel_shape=[2,2], strides=[2,2]>(x)",
    "max_padded = MaxPool<kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]>(x)",
    "max_ceil = MaxPool<kernel_shape=[3,2], strides=[2,2], ceil_mode=1>(x)",
    "max_dilated = MaxPool<kernel_shape=[2,2], dilations=[2,2]>(x)",
    'max_same = MaxPool<kernel_shape=[3,3], strides=[2,2], auto_pad="SAME_UPPER">(x)',
    "average = AveragePool<kernel_shape=[2,2], strides=[2,2]>(x)",
    "average_padded = AveragePool<kernel_shape=[3,3], pads=[1,1,1,1]>(x)",
    "average_counted = AveragePool<kernel_shape=[3,3], pads=[1,1,1,1], count_include_pad=1>(x)",
    "average_ceil = AveragePool<kernel_shape=[3,2], strides=[2,2], ceil_mode=1>(x)",
    "global_average = GlobalAveragePool(x)", "global_max = GlobalMaxPool(x)",
])  # fmt: skip

operators("normalization", [
    "batch_norm = BatchNormalization<epsilon=0.001>(x, scale, bias, mean, variance)",
    "instance = InstanceNormalization(x, scale, bias)",
    "layer = LayerNormalization<axis=-1>(x, row_scale, row_bias)",
    "layer_two = LayerNormalization<axis=2, epsilon=0.01>(x, area_scale)",
    "dropped = Dropout(x)",
], {
    "scale": random(4) + 1, "bias": random(4), "mean": random(4), "variance": np.abs(random(4)) + 0.5,
    "row_scale": random(5) + 1, "row_bias": random(5), "area_scale": random(6, 5) + 1,
})  # fmt: skip

operators("products", [
    "_rows = Flatten(x)", "_square = Reshape(x, square)",
    "gemm = Gemm<alpha=0.5, beta=2.0, transB=1>(_rows, wt, bias)", "gemm_plain = Gemm(_rows, w)",
    "gemm_row = Gemm(_rows, w, row)", "_mixed = Gemm<transA=1>(_rows, _rows)",
    "gemm_transposed = Gemm(_rows, _mixed)",
    "matmul = MatMul(x, v)", "matmul_left = MatMul(u, x)", "matmul_batched = MatMul(x, batched)",
    "_turned = Transpose<perm=[0,1,3,2]>(p)", "matmul_both = MatMul(x, _turned)",
    "matmul_vector = MatMul(x, vector)",
], {
    "square": np.array([0, 10, 12], i64), "wt": random(7, 120), "w": random(120, 7),
    "bias": random(7), "row": random(1, 7), "v": random(5, 8), "u": random(2, 6),
    "batched": random(4, 5, 3), "vector": random(5),
})  # fmt: skip

operators("opset-11", [
    "_up = Unsqueeze<axes=[2]>(x)", "squeezed = Squeeze<axes=[2]>(_up)",
    "sum = ReduceSum<axes=[1], keepdims=0>(x)", "first, second = Split<axis=2, split=[1,5]>(x)",
    "clip = Clip(x, low)", "softmax = Softmax<axis=1>(x)", "pad = Pad(x, pads)",
], {"low": np.float32(0), "pads": np.array([0, 0, 1, 0, 0, 0, 0, 1], i64)}, opset=11)  # fmt: skip

operators("opset-7", [
    "relu = Relu(x)", "reshape = Reshape(x, to)", "mean = ReduceMean<axes=[2, 3], keepdims=0>(x)",
    "batch_norm = BatchNormalization(x, scale, bias, mean_, variance)", "dropped = Dropout(x)",
    "pool = AveragePool<kernel_shape=[2,2]>(x)", "_flat = Flatten(x)", "gemm = Gemm(_flat, w, b)",
], {
    "to": np.array([0, -1], i64), "scale": random(4) + 1, "bias": random(4), "mean_": random(4),
    "variance": np.abs(random(4)) + 0.5, "w": random(120, 3), "b": random(3),
}, opset=7)  # fmt: skip


def weights(*shape, seed=3):
    return (np.random.default_rng(seed).standard_normal(shape) / 2).astype(np.float32)


operators("recurrent", [
    "_rows = Reshape(x, seq)", "_seq = Transpose<perm=[1,0,2]>(_rows)",
    "_l, _l_h, _l_c = LSTM<hidden_size=8>(_seq, lw, lr, lb)", "lstm = Transpose<perm=[2,0,1,3]>(_l)",
    "lstm_h = Transpose<perm=[1,0,2]>(_l_h)", "lstm_c = Transpose<perm=[1,0,2]>(_l_c)",
    '_b, _b_h, _b_c = LSTM<hidden_size=8, direction="bidirectional", clip=0.5>'
    "(_seq, lw2, lr2, lb2, lengths, h2, c2, peep2)", "both = Transpose<perm=[2,0,1,3]>(_b)",
    "both_h = Transpose<perm=[1,0,2]>(_b_h)", "both_c = Transpose<perm=[1,0,2]>(_b_c)",
    "_g = GRU<hidden_size=8>(_seq, gw, gr, gb)", "gru = Transpose<perm=[2,0,1,3]>(_g)",
    '_r, _r_h = GRU<hidden_size=8, linear_before_reset=1, direction="reverse">(_seq, gw, gr, gb, lengths)',
    "linear = Transpose<perm=[2,0,1,3]>(_r)", "linear_h = Transpose<perm=[1,0,2]>(_r_h)",
    '_n = RNN<hidden_size=8, direction="bidirectional", activations=["Relu", "Tanh"]>(_seq, rw, rr, rb)',
    "rnn = Transpose<perm=[2,0,1,3]>(_n)",
], {
    "seq": np.array([3, 8, 15], i64), "lengths": np.array([8, 2, 5], np.int32),
    "lw": weights(1, 32, 15), "lr": weights(1, 32, 8), "lb": weights(1, 64),
    "lw2": weights(2, 32, 15), "lr2": weights(2, 32, 8), "lb2": weights(2, 64),
    "h2": weights(2, 3, 8), "c2": weights(2, 3, 8, seed=4), "peep2": weights(2, 24),
    "gw": weights(1, 24, 15), "gr": weights(1, 24, 8), "gb": weights(1, 48),
    "rw": weights(2, 8, 15), "rr": weights(2, 8, 8), "rb": weights(2, 16),
}, opset=14)  # fmt: skip

operators("writes", [
    "elements = ScatterElements<axis=2>(x, rows, p_part)",
    'added = ScatterElements<axis=3, reduction="add">(x, columns, x)',
    'smallest = ScatterElements<axis=3, reduction="min">(x, columns, p)',
    "slices = ScatterND(x, places, updates)", 'products = ScatterND<reduction="mul">(x, places, updates)',
    "batched = GatherND<batch_dims=1>(x, inner)", "reversed = ReverseSequence<batch_axis=0, time_axis=1>(x, lengths)",
    "top, _which = TopK<axis=2>(x, two)", "low, _where = TopK<axis=3, largest=0>(x, two)", "which = Cast<to=1>(_which)",
    "where = Cast<to=1>(_where)", "sums = CumSum<exclusive=1>(x, three)",
], {
    "rows": np.array([4, 0], i64).reshape(1, 1, 2, 1).repeat(3, 0), "p_part": weights(3, 1, 2, 1),
    "columns": np.array([4, 0, 1, 1, 2], i64).reshape(1, 1, 1, 5).repeat(3, 0).repeat(4, 1).repeat(6, 2),
    "places": np.array([[0, 1], [2, 3]], i64), "updates": weights(2, 6, 5),
    "inner": np.array([[3], [0], [1]], i64), "lengths": np.array([4, 1, 2], i64),
    "two": np.array([2], i64), "three": np.array(3, i64),
})  # fmt: skip

operators("sampling", [
    "grid = GridSample(x, points)",
    'border = GridSample<padding_mode="border", align_corners=1>(x, points)',
    'cubic = GridSample<mode="bicubic", padding_mode="reflection">(x, points)',
    'mirror = GridSample<mode="nearest", padding_mode="reflection">(x, points)',
    "regions = RoiAlign<output_height=2, output_width=2, sampling_ratio=2>(x, boxes, images)",
    "norm = LpPool<kernel_shape=[2,2], p=3, strides=[2,1]>(x)", "_flat = Reshape(x, columns)",
    "image = Col2Im<pads=[1,0,0,0]>(_flat, size, block)",
    'smooth = Resize<mode="linear", antialias=1>(x, , , small)', "_square = Slice(x, from, to, last)",
    "determinant = Det(_square)", "_signal = Reshape(x, frames)", "spectrum = DFT<axis=1>(_signal, length)",
    "frames_spectrum = STFT<onesided=1>(_signal, step, window)",
], {
    "points": np.random.default_rng(5).uniform(-1.2, 1.2, (3, 3, 4, 2)).astype(np.float32),
    "boxes": np.array([[0, 0, 3, 4], [1, 1.5, 4, 5.5], [2, 1, 2.5, 3]], np.float32), "images": np.array([2, 0, 1], i64),
    "columns": np.array([3, 24, 5], i64), "size": np.array([1, 5], i64), "block": np.array([2, 1], i64),
    "small": np.array([3, 4, 3, 2], i64), "from": np.array([0], i64), "to": np.array([5], i64),
    "last": np.array([2], i64), "frames": np.array([3, 120, 1], i64), "step": np.array(30, i64),
    "window": np.hanning(32).astype(np.float32), "length": np.array(128, i64),
}, opset=18)  # fmt: skip

operators("algebra", [
    'chain = Einsum<equation="abij,jk,kl->abil">(x, first, second)',
    "_square = Slice(x, zero, five, two)", 'diagonal = Einsum<equation="...ii->...i">(_square)',
    'dots = Einsum<equation="...ij,...ij->...">(x, p)', "atan = Atan(x)", "_small = Tanh(x)", "asin = Asin(_small)",
    "acos = Acos(_small)", "asinh = Asinh(x)", "_above = Add(p, one)", "acosh = Acosh(_above)",
    "atanh = Atanh(_small)", "_scaled = Mul(p, hundred)", "_bytes = Cast<to=2>(_scaled)",
    '_shifted = BitShift<direction="RIGHT">(_bytes, three)',
    "_masked = BitwiseAnd(_bytes, mask)", "_inverted = BitwiseNot(_masked)", "shifted = Cast<to=1>(_shifted)",
    "inverted = Cast<to=1>(_inverted)",
], {
    "first": weights(5, 3), "second": weights(3, 4), "zero": np.array([0], i64),
    "five": np.array([5], i64), "two": np.array([2], i64), "one": np.float32(1),
    "hundred": np.float32(100), "three": np.uint8(3), "mask": np.uint8(0x5A),
})  # fmt: skip

operators("quantization", [
    "_bytes = QuantizeLinear(x, scale, zero)", "fake = DequantizeLinear(_bytes, scale, zero)",
    "_rows = QuantizeLinear<axis=2>(x, scales, zeros)", "rows = DequantizeLinear<axis=2>(_rows, scales, zeros)",
    "_dynamic, _s, _z = DynamicQuantizeLinear(x)", "dynamic = DequantizeLinear(_dynamic, _s, _z)",
], {
    "scale": np.float32(0.02), "zero": np.uint8(120), "scales": np.linspace(0.01, 0.06, 6, dtype=np.float32),
    "zeros": np.array([0, -3, 5, 7, 0, 1], np.int8),
})  # fmt: skip

operators("control", [
    "_total = ReduceSum<keepdims=0>(x)", "_isPositive = Greater(_total, zero)",
    "chosen = If (_isPositive) <then_branch = t () => (float[3,4,6,5] a) { a = Sin(x) },"
    " else_branch = e () => (float[3,4,6,5] b) { b = Cos(x) }>",
    "_last, _all = Loop (three, , p) <body = l (int64 i, bool c, float[3,4,6,5] s) =>"
    " (bool d, float[3,4,6,5] t, float[3,4,6,5] o) { d = Identity(c)\n t = Sqrt(s)\n o = Mul(t, x) }>",
    "last = Reshape(_last, one)", "_each = Reshape(_all, each)", "all = Transpose<perm=[1,0,2]>(_each)",
], {
    "zero": np.float32(0), "three": np.array(3, i64), "one": np.array([3, 120], i64),
    "each": np.array([3, 3, 120], i64),
})  # fmt: skip
