# SPDX-License-Identifier: Apache-2.0
"""Pictures of every format: pixels are those of Pillow."""

import io
import tarfile

import numpy as np
import onnx
import onnx.parser
from harness import case, check
from pictures import all_kinds
from PIL import Image

WIDTH, HEIGHT = 37, 26


def model(ingot, dtype, channels):
    """A trainer whose output is its input."""
    key = f"pixels-{dtype}-{channels}"
    if key not in ingot.trainers:
        text = f"""<ir_version: 8, opset_import: ["": 18]>
          g ({dtype}[n,{channels},{HEIGHT},{WIDTH}] x) => (float[n,{channels},{HEIGHT},{WIDTH}] y, float loss)
          <float w = {{1}}> {{
            f = Cast<to=1>(x)
            y = Mul(f, w)
            loss = ReduceMean<keepdims=0>(y)
          }}"""
        path = ingot.path("pixels.onnx")
        onnx.save(onnx.parser.parse_model(text), path)
        ingot.trainers[key] = ingot.compile(path, "--loss", "output:loss", "--optimizer", "sgd", "--batch", "8")
    return ingot.trainers[key]


def archive(ingot, files):
    path = ingot.path("pictures.tar")
    with tarfile.open(path, "w") as tar:
        for i, content in enumerate(files):
            member = tarfile.TarInfo(f"{i:04d}.image")
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return path


def pixels(ingot, files, dtype="float", channels=3, steps="decode"):
    """What the trainer reads, with the colors last."""
    out, data = ingot.path("out.npz"), archive(ingot, files)
    run = [model(ingot, dtype, channels), "--eval-data", data, "--steps", "0", "--input", f"x={steps}"]
    ingot.succeed([*run, "--predict", out])
    return np.load(out)["y"].transpose(0, 2, 3, 1)


def differ(got, want, most, what):
    check(got.shape == want.shape, f"{what}: {got.shape} instead of {want.shape}")
    error = np.abs(got - want).max()
    at = np.unravel_index(np.abs(got - want).argmax(), got.shape)
    check(error <= most, f"{what}: {got[at]} instead of {want[at]} at {at}")


@case("pictures-as-pillow")
def as_pillow(ingot):
    """The same values as Pillow's convert, within a step; samples of 16 bits as they are."""
    files = all_kinds(WIDTH, HEIGHT)
    check(len(files) >= 40, f"{len(files)} kinds")
    color, gray = pixels(ingot, files.values()), pixels(ingot, files.values(), channels=1)
    whole = pixels(ingot, files.values(), dtype="uint8")
    for i, (name, content) in enumerate(files.items()):
        image = Image.open(io.BytesIO(content))
        want = np.asarray(image.convert("RGB")).astype(float)
        light = np.asarray(image.convert("L"))[..., None].astype(float)
        if name in ("png-gray-16", "png-gray-alpha-16", "png-color-16", "png-alpha-16"):
            # Pillow has no picture of 16 bits but in gray, and clips that.
            deep = deep_samples(content)
            differ(color[i], deep / 65535, 1 / 65535, name)
            weights = deep @ [0.299, 0.587, 0.114] if deep.shape[2] == 3 else deep[..., 0]
            differ(gray[i], weights[..., None] / 65535, 1.2 / 65535, name + " in gray")
            want = np.broadcast_to(deep // 256, color[i].shape).astype(float)
        else:
            differ(color[i] * 255, want, 1.01, name)
            differ(gray[i] * 255, light, 1.01, name + " in gray")
        differ(whole[i], want, 1, name + " as integers")


def deep_samples(content):
    """The samples of a PNG file that `png_of` made, without alpha."""
    import zlib

    at = content.index(b"IDAT")
    data = zlib.decompress(content[at + 4 : at + 4 + int.from_bytes(content[at - 4 : at], "big")])
    rows = np.frombuffer(data, np.uint8).reshape(HEIGHT, -1)[:, 1:].copy()
    samples = rows.view(">u2").reshape(HEIGHT, WIDTH, -1).astype(float)
    return samples[..., :3] if samples.shape[2] >= 3 else np.repeat(samples[..., :1], 3, 2)
