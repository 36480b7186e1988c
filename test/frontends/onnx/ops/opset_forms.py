# SPDX-License-Identifier: Apache-2.0
"""The forms that operators took over the opsets: ingot-eval against ONNX
Runtime.

    opset_forms.py INGOT_EVAL FOLDER

ONNX's own tests use the newest form of each operator; models in the wild do
not. Each case here is one graph in one opset, on random inputs.
"""

import pathlib
import subprocess
import sys

import numpy as np
import onnx
import onnx.checker
import onnx.parser
import onnxruntime

RNG = np.random.default_rng(7)

# name: (opset, body, {input: shape}, {initializer: array}); the result is y.
X = {"x": (2, 3, 4)}
CASES = {
    "squeeze-attribute": (11, "y = Squeeze <axes=[0,-1]> (x)", {"x": (1, 3, 1)}, {}),
    "squeeze-all": (11, "y = Squeeze(x)", {"x": (1, 3, 1)}, {}),
    "squeeze-input": (13, "y = Squeeze(x, a)", {"x": (1, 3, 1)}, {"a": np.array([-1])}),
    "unsqueeze-attribute": (11, "y = Unsqueeze <axes=[0,3]> (x)", {"x": (2, 3)}, {}),
    "unsqueeze-input": (13, "y = Unsqueeze(x, a)", {"x": (2, 3)}, {"a": np.array([-1, 0])}),
    "sum-attribute": (11, "y = ReduceSum <axes=[1], keepdims=0> (x)", X, {}),
    "sum-input": (13, "y = ReduceSum <keepdims=0> (x, a)", X, {"a": np.array([-1])}),
    "sum-noop": (13, "y = ReduceSum <noop_with_empty_axes=1> (x)", X, {}),
    "mean-attribute": (17, "y = ReduceMean <axes=[0,2]> (x)", X, {}),
    "mean-input": (18, "y = ReduceMean(x, a)", X, {"a": np.array([0, 2])}),
    "max-attribute": (12, "y = ReduceMax <axes=[-1], keepdims=0> (x)", X, {}),
    "logsumexp": (11, "y = ReduceLogSumExp <axes=[1]> (x)", X, {}),
    "l2": (11, "y = ReduceL2 <axes=[1], keepdims=0> (x)", X, {}),
    "slice-attribute": (9, "y = Slice <starts=[1,0], ends=[1000,-1], axes=[1,2]> (x)", X, {}),
    "slice-input": (
        10,
        "y = Slice(x, s, e, a, t)",
        X,
        {"s": np.array([-1, 3]), "e": np.array([-1000, 0]), "a": np.array([1, 2]), "t": np.array([-2, -1])},
    ),
    "pad-attribute": (10, "y = Pad <pads=[0,1,0,0,0,2], value=1.5> (x)", X, {}),
    "pad-input": (
        13,
        "y = Pad(x, p, v)",
        X,
        {"p": np.array([0, 1, -1, 0, 0, 2]), "v": np.array(2.5, np.float32)},
    ),
    "pad-axes": (18, 'y = Pad <mode="reflect"> (x, p, , a)', X, {"p": np.array([2, 1]), "a": np.array([-1])}),
    "pad-edge": (13, 'y = Pad <mode="edge"> (x, p)', X, {"p": np.array([0, 1, 2, 0, 0, 1])}),
    "split-attribute": (11, "y, _z = Split <axis=2, split=[3,1]> (x)", X, {}),
    "split-equal": (11, "y, _z = Split <axis=2> (x)", X, {}),
    "split-input": (13, "y, _z = Split <axis=-1> (x, s)", X, {"s": np.array([1, 3])}),
    "split-outputs": (18, "y, _z, _w = Split <axis=2, num_outputs=3> (x)", {"x": (2, 3, 5)}, {}),
    "clip-attribute": (10, "y = Clip <min=-0.5, max=0.25> (x)", X, {}),
    "clip-input": (11, "y = Clip(x, l, h)", X, {"l": np.array(-0.5, np.float32), "h": np.array(0.25, np.float32)}),
    "clip-high": (11, "y = Clip(x, , h)", X, {"h": np.array(0.25, np.float32)}),
    "softmax-flat": (11, "y = Softmax <axis=1> (x)", X, {}),
    "softmax-axis": (13, "y = Softmax <axis=1> (x)", X, {}),
    "logsoftmax-flat": (11, "y = LogSoftmax <axis=0> (x)", X, {}),
    "hardmax-flat": (11, "y = Hardmax <axis=1> (x)", X, {}),
    "reshape-copy": (13, "y = Reshape(x, s)", X, {"s": np.array([0, -1])}),
    "reshape-zero": (14, "y = Reshape <allowzero=0> (x, s)", X, {"s": np.array([4, 0, 2])}),
    "flatten-negative": (13, "y = Flatten <axis=-1> (x)", X, {}),
    "gemm-no-bias": (
        11,
        "y = Gemm <transA=1, alpha=0.5> (x, w)",
        {"x": (3, 2)},
        {"w": RNG.standard_normal((3, 5)).astype(np.float32)},
    ),
    "gemm-beta": (
        9,
        "y = Gemm <beta=0.5> (x, w, c)",
        {"x": (2, 3)},
        {"w": RNG.standard_normal((3, 5)).astype(np.float32), "c": RNG.standard_normal((2, 1)).astype(np.float32)},
    ),
    "matmul-vector": (13, "y = MatMul(x, w)", {"x": (4,)}, {"w": RNG.standard_normal((2, 4, 5)).astype(np.float32)}),
    "matmul-batch": (
        13,
        "y = MatMul(x, w)",
        {"x": (2, 1, 3, 4)},
        {"w": RNG.standard_normal((5, 4, 2)).astype(np.float32)},
    ),
    "maxpool-ceil": (
        12,
        "y = MaxPool <kernel_shape=[3], strides=[2], pads=[1,1], ceil_mode=1> (x)",
        {"x": (2, 3, 6)},
        {},
    ),
    "maxpool-dilated": (12, "y = MaxPool <kernel_shape=[2,2], dilations=[2,2]> (x)", {"x": (1, 2, 5, 6)}, {}),
    "averagepool-pads": (
        11,
        "y = AveragePool <kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]> (x)",
        {"x": (1, 2, 5, 6)},
        {},
    ),
    "averagepool-include": (
        11,
        "y = AveragePool <kernel_shape=[3], pads=[1,1], count_include_pad=1> (x)",
        {"x": (1, 2, 6)},
        {},
    ),
    "averagepool-same": (
        11,
        'y = AveragePool <kernel_shape=[2], strides=[2], auto_pad="SAME_UPPER"> (x)',
        {"x": (1, 2, 7)},
        {},
    ),
    "conv-groups": (
        11,
        "y = Conv <group=2, strides=[2], pads=[1,0], dilations=[2]> (x, w, b)",
        {"x": (2, 4, 9)},
        {"w": RNG.standard_normal((6, 2, 3)).astype(np.float32), "b": RNG.standard_normal(6).astype(np.float32)},
    ),
    "conv-same-lower": (
        11,
        'y = Conv <auto_pad="SAME_LOWER", strides=[2,2]> (x, w)',
        {"x": (1, 2, 6, 5)},
        {"w": RNG.standard_normal((3, 2, 2, 3)).astype(np.float32)},
    ),
    "convtranspose": (
        11,
        "y = ConvTranspose <group=2, strides=[2], pads=[1,0], output_padding=[1]> (x, w)",
        {"x": (2, 4, 5)},
        {"w": RNG.standard_normal((4, 3, 3)).astype(np.float32)},
    ),
    "batchnorm-old": (
        9,
        "y = BatchNormalization <epsilon=0.01> (x, s, b, m, v)",
        {"x": (2, 3, 4), "s": (3,), "b": (3,), "m": (3,), "v": (3,)},
        {},
    ),
    "instancenorm": (
        8,
        "y = InstanceNormalization(x, s, b)",
        {"x": (2, 4, 3, 2)},
        {"s": RNG.standard_normal(4).astype(np.float32), "b": RNG.standard_normal(4).astype(np.float32)},
    ),
    "layernorm-old": (
        14,
        "y = LayerNormalization <axis=1, epsilon=0.01> (x, s, b)",
        X,
        {"s": RNG.standard_normal((3, 4)).astype(np.float32), "b": RNG.standard_normal((3, 4)).astype(np.float32)},
    ),
    "simplified-layernorm": (
        12,
        "y = SimplifiedLayerNormalization(x, s)",
        X,
        {"s": RNG.standard_normal(4).astype(np.float32)},
    ),
    "groupnorm-of-groups": (
        18,
        "y = GroupNormalization <num_groups=2, epsilon=0.1> (x, s, b)",
        {"x": (2, 6, 3, 2)},
        {"s": RNG.standard_normal(2).astype(np.float32), "b": RNG.standard_normal(2).astype(np.float32)},
    ),
    "groupnorm-of-channels": (
        21,
        "y = GroupNormalization <num_groups=2, epsilon=0.1> (x, s, b)",
        {"x": (2, 6, 3, 2)},
        {"s": RNG.standard_normal(6).astype(np.float32), "b": RNG.standard_normal(6).astype(np.float32)},
    ),
    "affine": (8, "y = Affine <alpha=0.5, beta=-2.0> (x)", X, {}),
    "scale": (8, "y = Scale <scale=0.5> (x)", X, {}),
    "scaled-tanh": (8, "y = ScaledTanh <alpha=0.5, beta=2.0> (x)", X, {}),
    "parametric-softplus": (8, "y = ParametricSoftplus <alpha=0.5, beta=2.0> (x)", X, {}),
    "thresholded-relu": (8, "y = ThresholdedRelu <alpha=0.5> (x)", X, {}),
    "mean-variance-old": (8, "y = MeanVarianceNormalization(x)", {"x": (2, 3, 4, 2)}, {}),
    "mean-variance-channels": (8, "y = MeanVarianceNormalization <across_channels=1> (x)", {"x": (2, 3, 4, 2)}, {}),
    "mean-variance-mean": (8, "y = MeanVarianceNormalization <normalize_variance=0> (x)", {"x": (2, 3, 4, 2)}, {}),
    "mean-variance-axes": (13, "y = MeanVarianceNormalization <axes=[0,-1]> (x)", X, {}),
    "image-scaler": (8, "y = ImageScaler <bias=[1.0,2.0,3.0], scale=0.5> (x)", {"x": (2, 3, 4, 2)}, {}),
    "crop-borders": (8, "y = Crop <border=[1,0,2,1]> (x)", {"x": (2, 3, 4, 5)}, {}),
    "crop-size": (8, "y = Crop <border=[1,2,0,0], scale=[2,3]> (x)", {"x": (2, 3, 4, 5)}, {}),
    "dynamic-slice": (
        8,
        "y = DynamicSlice(x, s, e, a)",
        X,
        {"s": np.array([1, 0]), "e": np.array([1000, -1]), "a": np.array([1, 2])},
    ),
    "onehot": (
        11,
        "i = Cast <to=7> (x)\n y = OneHot <axis=1> (i, d, v)",
        X,
        {"d": np.array(3), "v": np.array([-1, 2], np.float32)},
    ),
    "upper-triangle": (14, "y = Trilu(x, k)", {"x": (2, 4, 5)}, {"k": np.array(-1)}),
    "cumsum": (11, "y = CumSum <reverse=1, exclusive=1> (x, a)", X, {"a": np.array(1)}),
    "argmax-last": (12, "y = ArgMax <axis=2, select_last_index=1, keepdims=0> (r)", X, {}),
    "mod": (13, "y = Mod <fmod=1> (x, d)", X, {"d": np.array([0.3], np.float32)}),
    "where-broadcast": (
        9,
        "z = Less(x, t)\n y = Where(z, x, t)",
        X,
        {"t": RNG.standard_normal((3, 1)).astype(np.float32)},
    ),
    "prelu": (9, "y = PRelu(x, s)", X, {"s": RNG.standard_normal((3, 1)).astype(np.float32)}),
    "pow-integer": (13, "y = Pow(x, e)", X, {"e": np.array(3)}),
    "upsample": (
        9,
        'y = Upsample <mode="linear"> (x, s)',
        {"x": (1, 2, 3, 4)},
        {"s": np.array([1, 1, 2, 2], np.float32)},
    ),
    "resize-scales": (10, "y = Resize(x, s)", {"x": (1, 2, 3, 4)}, {"s": np.array([1, 1, 2, 3], np.float32)}),
    "resize-sizes": (
        13,
        'y = Resize <mode="linear", coordinate_transformation_mode="pytorch_half_pixel"> (x, , , s)',
        {"x": (1, 2, 5, 4)},
        {"s": np.array([1, 2, 3, 7])},
    ),
    "einsum-batch": (
        12,
        'y = Einsum <equation="bij, bkj -> bik"> (x, w)',
        {"x": (2, 3, 4), "w": (2, 5, 4)},
        {},
    ),
    "einsum-heads": (
        12,
        'y = Einsum <equation="bthd,bshd->bhts"> (x, w)',
        {"x": (2, 3, 2, 4), "w": (2, 5, 2, 4)},
        {},
    ),
    "einsum-implicit": (12, 'y = Einsum <equation="zi,ij"> (x, w)', {"x": (2, 3), "w": (3, 4)}, {}),
    "einsum-sum": (12, 'y = Einsum <equation="ijk,kl->li"> (x, w)', {"x": (2, 3, 4), "w": (4, 5)}, {}),
    "einsum-outer": (12, 'y = Einsum <equation="i,j->ji"> (x, w)', {"x": (2,), "w": (4,)}, {}),
    "depth-to-space": (11, 'y = DepthToSpace <blocksize=2, mode="CRD"> (x)', {"x": (1, 8, 2, 3)}, {}),
    "gather-negative": (11, "y = Gather <axis=1> (x, i)", X, {"i": np.array([[0, -1], [2, 1]])}),
    "shape-arithmetic": (
        13,
        "s = Shape(x)\n d = Gather <axis=0> (s, i)\n u = Unsqueeze(d, z)\n"
        " t = Concat <axis=0> (u, n)\n y = Reshape(x, t)",
        X,
        {"i": np.array(1), "z": np.array([0]), "n": np.array([-1])},
    ),
    "dynamic-mask": (
        15,
        "s = Shape <start=1> (x)\n o = ConstantOfShape <value=float[1] {1}> (s)\n l = Trilu <upper=0> (o)\n"
        " c = Cast <to=9> (l)\n y = Where(c, x, f)",
        X,
        {"f": np.array(-1e9, np.float32)},
    ),
}

# Regions of RoiAlign that take as many samples as they have elements: from none to seven by nine, some outside.
BOXES = "0,0,3,4, 1,1.5,9,9.5, -2,-3,11,13, 2,2,2.5,2.5, 6,6,5,5"
for mode in ("avg", "max"):
    for transformation in ("half_pixel", "output_half_pixel"):
        CASES[f"regions-{mode}-{transformation}"] = (
            18,
            f"q = Constant <value = float[5,4] {{{BOXES}}}> ()\n"
            f'y = RoiAlign <mode="{mode}", coordinate_transformation_mode="{transformation}", output_height=2,'
            " output_width=3, spatial_scale=0.75> (x, q, i)",
            {"x": (2, 3, 10, 8)},
            {"i": np.array([0, 1, 1, 0, 1])},
        )
CASES["argmax-last"] = (12, "r = Round(x)\n y = ArgMax <axis=2, select_last_index=1, keepdims=0> (r)", X, {})


def build(opset, body, shapes, constants):
    inputs = ", ".join(f"float[{','.join(map(str, s))}] {n}" for n, s in shapes.items())
    text = f'<ir_version: 8, opset_import: ["": {opset}]>\ng ({inputs}) => (y) {{\n{body}\n}}'
    model = onnx.parser.parse_model(text)
    model.graph.initializer.extend(onnx.numpy_helper.from_array(v, k) for k, v in constants.items())
    model = onnx.shape_inference.infer_shapes(model)
    types = {v.name: v for v in model.graph.value_info}
    known = types.get("y", model.graph.output[0])
    if not known.type.tensor_type.elem_type:
        known = onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)
    model.graph.output[0].CopyFrom(known)
    return model


def agree(tool, folder, name):
    opset, body, shapes, constants = CASES[name]
    model = build(opset, body, shapes, constants)
    arrays = {k: RNG.standard_normal(s).astype(np.float32) for k, s in shapes.items()}
    if "v" in arrays:  # A variance.
        arrays["v"] = np.abs(arrays["v"])
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    want = session.run(["y"], arrays)[0]
    base = folder / name
    onnx.save(model, f"{base}.onnx")
    np.savez(f"{base}.in.npz", **arrays)
    done = subprocess.run(
        [tool, f"{base}.onnx", "--inputs", f"{base}.in.npz", "--outputs", f"{base}.out.npz"],
        capture_output=True,
        text=True,
    )
    if done.returncode:
        return done.stderr.strip()
    with np.load(f"{base}.out.npz") as outputs:
        got = outputs["y"]
    if got.shape != want.shape or got.dtype != want.dtype:
        return f"{got.dtype}{got.shape}, not {want.dtype}{want.shape}"
    if not np.allclose(got, want, rtol=1e-5, atol=1e-6):
        return f"differs by {np.abs(got - want).max()}"
    return None


def checked(tool, folder, name):
    try:
        return agree(tool, folder, name)
    except Exception as error:  # Also what ONNX Runtime refuses: a mistake in the case.
        return f"{type(error).__name__}: {str(error)[:300]}"


def main():
    tool, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    failures = 0
    for name in CASES:
        if problem := checked(tool, folder, name):
            failures += 1
            print(f"FAILED {name}: {problem}")
    print(f"{len(CASES)} cases, {failures} fail")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
