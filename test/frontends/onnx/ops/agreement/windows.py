# SPDX-License-Identifier: Apache-2.0
"""Random graphs of the operators that have windows."""

import numpy as np
from case import Case, attributes


def window(case, dims, dilated=True, pools=False):
    """Attributes of a window over an input, and the input's sizes.

    ONNX Runtime pads pools as if they had no dilation, and by less than nothing where steps are longer than the window.
    """
    kernel, stride = [case.integer(1, 4) for _ in range(dims)], [case.integer(1, 3) for _ in range(dims)]
    dilation = [case.integer(1, 2) if dilated else 1 for _ in range(dims)]
    extent = [d * (k - 1) + 1 for k, d in zip(kernel, dilation)]
    given = {"kernel_shape": kernel, "strides": stride, "dilations": dilation if dilated else None}
    automatic = case.pick(None, None, None, "SAME_UPPER", "SAME_LOWER", "VALID")
    symmetric = case.flag()
    if pools and automatic and (max(dilation) > 1 or any(s > k for s, k in zip(stride, kernel))):
        automatic = None
    if automatic:
        given["auto_pad"] = automatic
        pads = None
    else:
        low = [case.integer(0, k // 2) for k in kernel]
        pads = [low, low if symmetric else [case.integer(0, k // 2) for k in kernel]]
        given["pads"] = [*pads[0], *pads[1]]
    return given, [e + case.integer(0, 5) for e in extent], pads


def pool(operator):
    def make(source):
        case = Case(source)
        case.opset = case.pick(13, 19, 22)
        dims = case.pick(1, 2, 2, 3)
        dilated = operator == "MaxPool" or case.opset >= 19
        given, spatial, pads = window(case, dims, dilated, pools=True)
        ceiling = case.flag() and (operator != "LpPool" or case.opset >= 18) and "auto_pad" not in given
        if ceiling:
            given["ceil_mode"] = 1
        if operator == "AveragePool":
            given["count_include_pad"] = int(case.flag())
        if operator == "LpPool":
            given["p"] = case.pick(1, 2, 3)
        case.input("x", (case.integer(1, 2), 2, *spatial))
        case.body = f"y = {operator}{attributes(given)} (x)"
        if pads is None or pads[0] != pads[1] or operator == "LpPool":
            return case
        kernel, stride, dilation = given["kernel_shape"], given["strides"], given["dilations"] or [1] * dims
        if operator == "AveragePool" and max(dilation) > 1:
            return case

        def function(p):
            import torch.nn.functional as F

            if operator == "MaxPool":
                return getattr(F, f"max_pool{dims}d")(p["x"], kernel, stride, pads[0], dilation, ceiling)
            include = bool(given["count_include_pad"])
            return getattr(F, f"avg_pool{dims}d")(p["x"], kernel, stride, pads[0], ceiling, include)

        case.torch = function
        return case

    return make


def unpool(source):
    """The positions that MaxPool returns, into a tensor of the size that they come from."""
    case = Case(source)
    dims = case.pick(1, 2, 3)
    kernel, stride = [case.integer(2, 3) for _ in range(dims)], [case.integer(2, 3) for _ in range(dims)]
    stride = [max(s, k) for s, k in zip(stride, kernel)]
    pads = [case.integer(0, 1) for _ in range(dims)]
    spatial = [k + case.integer(0, 2) * s - 2 * p for k, s, p in zip(kernel, stride, pads)]
    if min(spatial) < 1:
        return unpool(source)
    given = attributes({"kernel_shape": kernel, "strides": stride, "pads": pads + pads})
    case.input("x", (1, 2, *spatial))
    case.ints("n", [1, 2, *spatial])
    case.body = f"p, i = MaxPool{given} (x)\n y = MaxUnpool{given} (p, i{', n' if case.flag() else ''})"

    def function(p):
        import torch.nn.functional as F

        values, indices = getattr(F, f"max_pool{dims}d")(p["x"], kernel, stride, pads, return_indices=True)
        return getattr(F, f"max_unpool{dims}d")(values, indices, kernel, stride, pads, p["x"].shape[2:])

    case.torch = function
    return case


def columns(source):
    case = Case(source)
    kernel, stride, dilation = ([case.integer(1, high) for _ in range(2)] for high in (3, 2, 2))
    pads = [case.integer(0, 1), case.integer(0, 1)]
    size = [d * (k - 1) + case.integer(1, 4) for k, d in zip(kernel, dilation)]
    blocks = [(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, p, d, k, s in zip(size, pads, dilation, kernel, stride)]
    case.input("x", (2, 2 * kernel[0] * kernel[1], blocks[0] * blocks[1]))
    case.ints("n", size)
    case.ints("k", kernel)
    given = {"strides": stride, "dilations": dilation, "pads": pads + pads}
    case.body = f"y = Col2Im{attributes(given)} (x, n, k)"

    def function(p):
        import torch.nn.functional as F

        return F.fold(p["x"], size, kernel, dilation, pads, stride)

    case.torch = function
    return case


def convolution(transposed):
    def make(source):
        case = Case(source)
        case.opset = case.pick(11, 22)
        dims, groups = case.pick(1, 2, 3), case.integer(1, 2)
        given, spatial, pads = window(case, dims)
        given["group"] = groups
        inputs, outputs = groups * case.integer(1, 2), groups * case.integer(1, 2)
        kernel = given["kernel_shape"]
        if transposed:
            spatial = [case.integer(1, 4) for _ in range(dims)]
            extra = [case.integer(0, max(s, d) - 1) for s, d in zip(given["strides"], given["dilations"])]
            how = case.pick("none", "padding", "shape", "both")
            if how in ("padding", "both"):
                given["output_padding"] = extra
            if how in ("shape", "both"):
                given.pop("pads", None)
                pads = None
                given["output_shape"] = [
                    s * (n - 1) + d * (k - 1) + 1 - case.integer(0, 1)
                    for s, n, d, k in zip(given["strides"], spatial, given["dilations"], kernel)
                ]
                if min(given["output_shape"]) < 1:
                    return make(source)
            elif (
                pads
                and min(
                    s * (n - 1) + d * (k - 1) + 1 - low - high
                    for s, n, d, k, low, high in zip(given["strides"], spatial, given["dilations"], kernel, *pads)
                )
                < 1
            ):
                return make(source)
            case.input("w", (inputs, outputs // groups, *kernel))
        else:
            case.input("w", (outputs, inputs // groups, *kernel))
        case.input("x", (case.integer(1, 2), inputs, *spatial))
        case.input("b", (outputs,))
        case.tolerance = 1e-4
        operator = "ConvTranspose" if transposed else "Conv"
        case.body = f"y = {operator}{attributes(given)} (x, w, b)"
        if pads is None or pads[0] != pads[1]:
            return case
        options = {"stride": given["strides"], "padding": pads[0], "dilation": given["dilations"], "groups": groups}
        if transposed:
            options["output_padding"] = given.get("output_padding", 0)

        def function(p):
            import torch.nn.functional as F

            name = f"conv{'_transpose' if transposed else ''}{dims}d"
            return getattr(F, name)(p["x"], p["w"], p["b"], **options)

        case.torch = function
        return case

    return make


def local_response(source):
    case = Case(source)
    size = case.integer(1, 5)
    alpha, beta, bias = case.pick(1e-4, 0.5), case.pick(0.75, 0.5), case.pick(1.0, 2.0)
    case.input("x", (2, case.integer(1, 6), *(case.integer(1, 3) for _ in range(case.integer(1, 2)))))
    case.body = f"y = LRN{attributes({'size': size, 'alpha': alpha, 'beta': beta, 'bias': bias})} (x)"

    def function(p):
        import torch.nn.functional as F

        return F.local_response_norm(p["x"], size, float(np.float32(alpha)), float(np.float32(beta)), bias)

    # Of an even number of channels PyTorch has one more below, and ONNX above.
    case.torch = function if size % 2 else None
    return case
