# SPDX-License-Identifier: Apache-2.0
"""Random graphs of transforms and margins."""

from case import Case, attributes


def fourier(source):
    case = Case(source)
    case.opset = case.pick(17, 20)
    real = case.flag()
    shape = [case.integer(1, 7) for _ in range(case.integer(1, 2))]
    axis = case.integer(1, len(shape))
    case.input("x", (2, *shape, 1 if real else 2))
    inverse = case.flag()
    one_sided = real and not inverse and case.flag()
    length = case.pick(None, case.integer(1, 9))
    given = {"inverse": int(inverse), "onesided": int(one_sided)}
    if length:
        case.ints("n", length)
    if case.opset == 17:
        given["axis"] = axis
        case.body = f"y = DFT{attributes(given)} (x{', n' if length else ''})"
    else:
        case.ints("a", axis if case.flag() else axis - len(shape) - 2)
        case.body = f"y = DFT{attributes(given)} (x, {'n' if length else ''}, a)"
    case.tolerance = 1e-4

    def function(p):
        import torch

        x = torch.complex(p["x"][..., 0], torch.zeros_like(p["x"][..., 0]) if real else p["x"][..., 1])
        found = (torch.fft.ifft if inverse else torch.fft.fft)(x, length, axis)
        if one_sided:
            found = found.narrow(axis, 0, found.shape[axis] // 2 + 1)
        return torch.view_as_real(found)

    case.torch = function
    return case


def short_time(source):
    case = Case(source)
    case.opset = 17
    length, step = case.integer(2, 6), case.integer(1, 4)
    windowed, one_sided = case.flag(), case.flag()
    count = length + case.integer(0, 9)
    case.input("x", (2, count, 1))
    case.ints("s", step)
    case.ints("l", length)
    if windowed:
        case.input("w", (length,))
    case.body = f"y = STFT <onesided={int(one_sided)}> (x, s, {'w' if windowed else ''}, l)"
    case.tolerance = 1e-4

    def function(p):
        import torch

        window = p["w"] if windowed else torch.ones(length, dtype=p["x"].dtype)
        found = torch.stft(
            p["x"][..., 0], length, step, window=window, center=False, onesided=one_sided, return_complex=True
        )
        return torch.view_as_real(found.transpose(1, 2))

    case.torch = function
    return case


def window_function(source):
    case = Case(source)
    case.opset = 17
    operator, periodic, size = case.pick("Hann", "Hamming", "Blackman"), case.flag(), case.integer(1, 9)
    case.ints("n", size)
    case.input("x", (size,))
    case.body = f"v = {operator}Window <periodic={int(periodic)}> (n)\n y = Mul(x, v)"
    # ONNX's Hamming windows have 25 / 46 where PyTorch's have 0.54.
    return case


def mel(source):
    case = Case(source)
    case.opset = 17
    case.ints("a", case.integer(1, 6))
    case.ints("b", case.pick(8, 16, 32))
    case.ints("c", case.pick(8000, 16000))
    case.floats("d", case.pick(0.0, 100.0))
    case.floats("e", case.pick(2000.0, 4000.0))
    case.input("x", (1,))
    case.body = "v = MelWeightMatrix(a, b, c, d, e)\n y = Mul(x, v)"
    return case


def crop_or_pad(source):
    case = Case(source)
    case.opset = 18
    rank = case.integer(1, 3)
    shape = [case.integer(1, 6) for _ in range(rank)]
    case.input("x", shape)
    chosen = [d for d in range(rank) if case.flag()]
    given = {"axes": [d - rank if case.flag() else d for d in chosen]} if chosen else {}
    case.ints("n", [case.integer(1, 7) for _ in (chosen or shape)])
    case.body = f"y = CenterCropPad{attributes(given)} (x, n)"
    return case


def pad(source):
    case = Case(source)
    case.opset = case.pick(13, 18, 19, 21)
    mode = case.pick("constant", "edge", "reflect", *(["wrap"] if case.opset >= 19 else []))
    rank = case.integer(1, 3)
    shape = [case.integer(2, 5) for _ in range(rank)]
    case.input("x", shape)
    by_axes = case.opset >= 18 and case.flag()
    dims = [d for d in range(rank) if case.flag()] or [0] if by_axes else list(range(rank))
    limit = {"reflect": [n - 1 for n in shape], "wrap": shape}.get(mode, [3] * rank)
    low, high = ([case.integer(-1 if shape[d] > 2 else 0, limit[d]) for d in dims] for _ in range(2))
    case.ints("p", [*low, *high])
    names = ["x", "p"]
    if by_axes:
        case.ints("a", [d - rank if case.flag() else d for d in dims])
        names += ["", "a"]
    elif mode == "constant" and case.flag():
        case.floats("v", 1.5)
        names.append("v")
    case.body = f'y = Pad <mode="{mode}"> ({", ".join(names)})'
    torchs = {"edge": "replicate", "reflect": "reflect", "wrap": "circular"}.get(mode)
    if torchs is None or by_axes or len(dims) != 3 or low[0] or high[0] or min(low + high) < 0:
        return case

    def function(p):
        import torch.nn.functional as F

        return F.pad(p["x"][None], (low[2], high[2], low[1], high[1]), torchs)[0]

    case.torch = function
    return case
