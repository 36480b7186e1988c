# SPDX-License-Identifier: Apache-2.0
"""Random graphs of the operators that interpolate."""

import numpy as np
from case import Case, attributes

COORDINATES = ("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "half_pixel_symmetric",
               "tf_crop_and_resize")  # fmt: skip


def interpolate(case, given, scales, sizes):
    """PyTorch's function, if it has one with these attributes."""
    mode, coordinates = given["mode"], given["coordinate_transformation_mode"]
    dims = len(sizes)
    name = {"linear": {1: "linear", 2: "bilinear", 3: "trilinear"}.get(dims), "cubic": "bicubic" if dims == 2 else None}
    options = {"mode": name.get(mode)}
    if mode == "nearest":
        if coordinates == "asymmetric" and given["nearest_mode"] == "floor":
            options["mode"] = "nearest"
        elif coordinates == "half_pixel" and given["nearest_mode"] == "round_prefer_ceil":
            options["mode"] = "nearest-exact"
    elif coordinates == "align_corners":
        options["align_corners"] = True
    elif coordinates not in ("half_pixel", "pytorch_half_pixel") or 1 in sizes:
        return None
    # As its exporter writes them.
    smooth = bool(given["antialias"])
    if options["mode"] is None or given["exclude_outside"] != int(smooth):
        return None
    if mode == "cubic" and given["cubic_coeff_a"] != (-0.5 if smooth else -0.75):
        return None
    if smooth:
        options["antialias"] = True
    scales = scales and [float(np.float32(scale)) for scale in scales]
    options |= {"size": sizes} if scales is None else {"scale_factor": scales}

    def function(p):
        import torch.nn.functional as F

        return F.interpolate(p["x"], **options)

    return function


def resize(source):
    case = Case(source)
    case.opset = case.pick(13, 18, 19)
    dims = case.pick(1, 2, 2, 2, 3)
    mode = case.pick("nearest", "linear", "cubic") if dims == 2 else case.pick("nearest", "linear")
    spatial = [case.integer(1, 7) for _ in range(dims)]
    case.input("x", (case.integer(1, 2), 2, *spatial))
    # Of a symmetric one a rounding decides which element is the nearest.
    coordinates = case.pick(*(name for name in COORDINATES if mode != "nearest" or name != "half_pixel_symmetric"))
    crops = coordinates == "tf_crop_and_resize"
    antialias = int(case.opset >= 18 and mode != "nearest" and dims == 2 and case.flag())
    given = {
        "mode": mode,
        "coordinate_transformation_mode": coordinates,
        "nearest_mode": case.pick("round_prefer_floor", "round_prefer_ceil", "floor", "ceil"),
        "cubic_coeff_a": case.pick(-0.75, -0.5) if mode == "cubic" else None,
        "exclude_outside": int((mode == "cubic" or antialias) and not crops and case.flag()),
        "extrapolation_value": 2.5 if crops else None,
        "antialias": antialias or None,
    }
    by_axes = case.opset >= 18 and case.flag()
    if by_axes:
        given["axes"] = [d - dims if case.flag() else d + 2 for d in range(dims)]
    front = [] if by_axes else [1, 1]
    if crops:
        low = [round(float(case.source.uniform(-0.3, 0.4)), 2) for _ in range(dims)]
        high = [round(float(case.source.uniform(0.5, 1.3)), 2) for _ in range(dims)]
        case.floats("roi", [*([0.0] * len(front)), *low, *([1.0] * len(front)), *high])
    roi = "roi" if crops else ""
    if case.flag():
        scales = [case.pick(0.5, 0.6, 0.7, 0.75, 0.8, 0.3, 1.0, 1.1, 1.3, 1.5, 2.0, 2.3, 3.0) for _ in range(dims)]
        scales = [max(s, 1.0 / n) if s * n < 1 else s for s, n in zip(scales, spatial)]
        case.floats("s", [*front, *scales])
        sizes = [int(np.float32(s) * np.float32(n)) for s, n in zip(scales, spatial)]
        if [int(float(np.float32(s)) * n) for s, n in zip(scales, spatial)] != sizes:
            # Of single precision: PyTorch takes the scale in double.
            return resize(source)
        if any(a == b for a, b in zip(sizes, spatial)) and (crops or antialias or sizes == spatial):
            # ONNX Runtime leaves such a dimension as it is, whatever the region and the scale.
            return resize(source)
        case.body = f"y = Resize{attributes(given)} (x, {roi}, s)"
        case.torch = interpolate(case, given, scales, sizes)
    else:
        sizes = [case.integer(1, 9) for _ in range(dims)]
        if crops and any(a == b for a, b in zip(sizes, spatial)):
            return resize(source)
        case.ints("s", [*(front and case.inputs["x"].shape[:2]), *sizes])
        # ONNX Runtime takes the policy for axes that count from the front, and for cropping of the result's size.
        if by_axes and min(given["axes"]) > 0 and not crops:
            given["keep_aspect_ratio_policy"] = case.pick(None, "stretch", "not_larger", "not_smaller")
        case.body = f"y = Resize{attributes(given)} (x, {roi}, , s)"
        if given.get("keep_aspect_ratio_policy") in (None, "stretch"):
            case.torch = interpolate(case, given, None, sizes)
    return case


def old_resize(source):
    """Of opsets whose scales are the second input."""
    case = Case(source)
    operator, case.opset = case.pick(("Upsample", 9), ("Resize", 10))
    mode = case.pick("nearest", "linear")
    spatial = [case.integer(2, 6), case.integer(2, 6)]
    case.input("x", (1, 2, *spatial))
    choices = (1.0, 1.5, 2.0, 2.3, 3.0) if operator == "Upsample" else (0.5, 0.6, 0.75, 1.0, 1.3, 2.0)
    scales = [case.pick(*choices) for _ in spatial]
    if [int(s * n) for s, n in zip(scales, spatial)] == spatial:
        return old_resize(source)
    case.floats("s", [1, 1, *scales])
    case.body = f'y = {operator} <mode="{mode}"> (x, s)'
    return case


def grid_sample(source):
    case = Case(source)
    case.opset = case.pick(16, 20, 22)
    dims = 2 if case.opset == 16 else case.pick(2, 2, 3)
    mode = case.pick("linear", "nearest", "cubic") if dims == 2 else case.pick("linear", "nearest")
    padding, aligned = case.pick("zeros", "border", "reflection"), case.flag()
    spatial = [case.integer(1, 5) for _ in range(dims)]
    batch, out = case.integer(1, 2), [case.integer(1, 3) for _ in range(dims)]
    case.input("x", (batch, 2, *spatial))
    grid = case.source.standard_normal((batch, *out, dims)) * 1.2
    # The borders themselves, at which pictures are read that keep their corners.
    exact = case.source.random(grid.shape) < 0.2
    grid = np.where(exact, case.source.choice([-1.0, 0.0, 1.0, 1.5, -2.0], grid.shape), grid)
    case.inputs["g"] = grid.astype(np.float32)
    names = {"linear": "bilinear", "cubic": "bicubic", "nearest": "nearest"}
    given = {
        "mode": names[mode] if case.opset == 16 else mode,
        "padding_mode": padding,
        "align_corners": int(aligned),
    }
    case.body = f"y = GridSample{attributes(given)} (x, g)"

    def function(p):
        import torch.nn.functional as F

        return F.grid_sample(p["x"], p["g"], names[mode], padding, aligned)

    case.torch = function
    return case


def affine_grid(source):
    case = Case(source)
    case.opset = 20
    dims, aligned = case.pick(2, 3), case.flag()
    batch, sizes = case.integer(1, 2), [case.integer(1, 4) for _ in range(dims)]
    case.input("t", (batch, dims, dims + 1))
    case.ints("s", [batch, 2, *sizes])
    case.body = f"y = AffineGrid <align_corners={int(aligned)}> (t, s)"

    def function(p):
        import torch.nn.functional as F

        return F.affine_grid(p["t"], [batch, 2, *sizes], aligned)

    case.torch = function
    return case


def roi_align(source):
    case = Case(source)
    mode = case.pick("avg", "max")
    case.opset = case.pick(10, 16, 22)
    half = case.opset >= 16 and case.flag()
    size, ratio = [case.integer(1, 3), case.integer(1, 3)], case.integer(0, 3)
    shape, scale = (case.integer(1, 2), 2, case.integer(2, 6), case.integer(2, 6)), case.pick(1.0, 0.5, 0.25)
    case.input("x", shape)
    count = case.integer(1, 3)
    start = case.source.uniform(-1, 3, (count, 2)) / scale
    boxes = np.concatenate([start, start + case.source.uniform(-0.2, 4, (count, 2)) / scale], 1).astype(np.float32)
    indices = case.source.integers(0, shape[0], count)
    case.floats("r", boxes)
    case.ints("i", indices)
    given = {
        "mode": mode,
        "output_height": size[0],
        "output_width": size[1],
        "sampling_ratio": ratio,
        "spatial_scale": scale,
    }
    if case.opset >= 16:
        given["coordinate_transformation_mode"] = "half_pixel" if half else "output_half_pixel"
    case.body = f"y = RoiAlign{attributes(given)} (x, r, i)"

    def function(p):
        import torch
        import torchvision

        rois = torch.tensor(np.concatenate([indices[:, None], boxes.astype(np.float64)], 1))
        return torchvision.ops.roi_align(p["x"], rois.to(p["x"].dtype), size, scale, ratio, half)

    case.torch = function if mode == "avg" else None
    return case


def deform_conv(source):
    case = Case(source)
    case.opset = case.pick(19, 22)
    groups, offset_groups = case.integer(1, 2), case.integer(1, 2)
    batch, inputs, outputs = case.integer(1, 2), 2 * case.integer(1, 2), groups * case.integer(1, 2)
    kernel, stride, dilation = ([case.integer(1, high) for _ in range(2)] for high in (3, 2, 2))
    pads = [case.integer(0, 1), case.integer(0, 1)]
    spatial = [d * (k - 1) + case.integer(1, 4) for k, d in zip(kernel, dilation)]
    size = [(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, p, d, k, s in zip(spatial, pads, dilation, kernel, stride)]
    taps = kernel[0] * kernel[1]
    case.input("x", (batch, inputs, *spatial))
    case.input("w", (outputs, inputs // groups, *kernel))
    case.input("o", (batch, 2 * offset_groups * taps, *size))
    names = ["x", "w", "o"]
    has_bias, has_mask = case.flag(), case.flag()
    if has_bias:
        case.input("b", (outputs,))
    if has_mask:
        case.input("m", (batch, offset_groups * taps, *size))
    names += ["b" if has_bias else "", "m"] if has_mask else ["b"] if has_bias else []
    given = {"group": groups, "offset_group": offset_groups, "strides": stride, "dilations": dilation,
             "pads": pads + pads, "kernel_shape": kernel}  # fmt: skip
    case.body = f"y = DeformConv{attributes(given)} ({', '.join(names)})"
    case.tolerance = 1e-4

    def function(p):
        import torchvision

        return torchvision.ops.deform_conv2d(p["x"], p["o"], p["w"], p.get("b"), stride, pads, dilation, p.get("m"))

    case.torch = function
    return case
