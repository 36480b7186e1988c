# SPDX-License-Identifier: Apache-2.0
"""Pictures of every format: pixels are those of Pillow."""

import io
import math
import tarfile

import numpy as np
import onnx
import onnx.parser
from harness import case, check
from onnx import numpy_helper
from pictures import all_kinds, encode, scene
from PIL import Image, ImageEnhance, ImageFilter, ImageOps

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
        ingot.trainers[key] = ingot.compile(path, "--loss", "output:loss", "--optimizer", "sgd", "--batch", "1")
    return ingot.trainers[key]


def archive(ingot, files):
    path = ingot.path("pictures.tar")
    with tarfile.open(path, "w") as tar:
        for i, content in enumerate(files):
            member = tarfile.TarInfo(f"{i:04d}.image")
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return path


def pixels(ingot, files, dtype="float", channels=3, steps="decode", flags=()):
    """What the trainer reads, with the colors last."""
    out, data = ingot.path("out.npz"), archive(ingot, files)
    run = [model(ingot, dtype, channels), "--eval-data", data, "--steps", "0", "--input", f"x={steps}", *flags]
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


def seen_in_training(ingot, files, steps, size, channels=3, seed=0):
    """What the first step of training reads: with a loss that is the sum of both, the gradient of `w` is `x`."""
    count, (width, height) = len(files), size
    shape = f"{channels},{height},{width}"
    key = f"trained-{count}-{shape}"
    if key not in ingot.trainers:
        text = f"""<ir_version: 8, opset_import: ["": 18]>
          g (float[n,{shape}] x) => (float[n,{shape}] y, float loss) {{
            y = Mul(x, w)
            loss = ReduceSum<keepdims=0>(y)
          }}"""
        built = onnx.parser.parse_model(text)
        zeros = np.zeros((count, channels, height, width), np.float32)
        built.graph.initializer.append(numpy_helper.from_array(zeros, "w"))
        path = ingot.path("trained.onnx")
        onnx.save(built, path)
        flags = ["--loss", "output:loss", "--optimizer", "sgd", "--batch", str(count)]
        ingot.trainers[key] = ingot.compile(path, *flags)
    out, data = ingot.path("out.onnx"), archive(ingot, files)
    run = [ingot.trainers[key], "--data", data, "--steps", "1", "--no-shuffle", "--lr", "1", "--seed", str(seed)]
    ingot.succeed([*run, "--input", f"x={steps}", "--export", out])
    weights = {t.name: numpy_helper.to_array(t) for t in onnx.load(out).graph.initializer}
    return -weights["w"].transpose(0, 2, 3, 1) * 255


def shift_hue(image, share):
    """torchvision's adjust_hue."""
    hue, saturation, value = image.convert("HSV").split()
    moved = (np.asarray(hue).astype(int) + int(share * 255)).astype(np.uint8)
    return Image.merge("HSV", (Image.fromarray(moved), saturation, value)).convert("RGB")


@case("pictures-augmented-as-pillow")
def augmented(ingot):
    """Random steps whose range is a single value do what torchvision does to pictures of Pillow."""
    image = scene(33, 28)
    enhance = {"brightness": ImageEnhance.Brightness, "contrast": ImageEnhance.Contrast}
    enhance["saturation"] = ImageEnhance.Color
    wanted = {
        f"color-jitter:{name}={f}/{f}": change(image).enhance(f) for name, change in enhance.items() for f in (0.4, 1.7)
    }
    for share in (-0.3, 0.05, 0.5):
        wanted[f"color-jitter:hue={share}/{share}"] = shift_hue(image, share)
    for angle in (0, 17, -123.5, 90, 180):
        for kind, how in (("nearest", Image.Resampling.NEAREST), ("bilinear", Image.Resampling.BILINEAR)):
            steps = f"random-rotation:{angle}/{angle}:interpolation={kind}:fill=20/200/90"
            wanted[steps] = image.rotate(angle, how, fillcolor=(20, 200, 90))
    wanted["random-grayscale:1"] = image.convert("L").convert("RGB")
    wanted["random-grayscale:0"] = image
    wanted["flip:1"], wanted["vertical-flip:p=1"] = ImageOps.mirror(image), ImageOps.flip(image)
    wanted["flip:1,vertical-flip:1,random-rotation:30/30,flip:1"] = ImageOps.mirror(image.rotate(180).rotate(30))
    wanted["flip:0,vertical-flip:0"] = image
    for steps, want in wanted.items():
        got = seen_in_training(ingot, [encode(image, "PNG")], f"decode,{steps}", image.size)[0]
        if want:
            differ(got, np.asarray(want).astype(float), 1.01, steps)
    got = seen_in_training(ingot, [encode(image, "PNG")], "decode,gaussian-blur:5:sigma=1.2", image.size)[0]
    differ(got, blurred(np.asarray(image), 5, 1.2), 1.01, "gaussian-blur")
    # In evaluation, nothing of it happens.
    steps = "decode,color-jitter:hue=0.5:brightness=0.9,random-rotation:90,flip:1,vertical-flip:1,trivial-augment"
    steps += ",random-grayscale:1,gaussian-blur:9,random-erasing:p=1:value=random"
    kept = scene(WIDTH, HEIGHT)
    got = pixels(ingot, [encode(kept, "PNG")], steps=steps)[0]
    differ(got * 255, np.asarray(kept).astype(float), 0.01, "evaluation")


def blurred(pixels, size, sigma):
    """torchvision's gaussian_blur."""
    kernel = np.exp(-0.5 * ((np.arange(size) - size // 2) / sigma) ** 2)
    kernel /= kernel.sum()
    half = size // 2
    padded = np.pad(pixels.astype(float), ((half, half), (half, half), (0, 0)), "reflect")
    rows = sum(k * padded[i : i + pixels.shape[0]] for i, k in enumerate(kernel))
    return np.rint(sum(k * rows[:, i : i + pixels.shape[1]] for i, k in enumerate(kernel)))


def trivial_changes(image):
    """All that torchvision's TrivialAugmentWide may do to a picture of Pillow, by name."""

    def move(*matrix):
        return image.transform(image.size, Image.Transform.AFFINE, matrix, Image.Resampling.NEAREST, fillcolor=0)

    yield "identity", image
    yield "auto-contrast", ImageOps.autocontrast(image)
    yield "equalize", ImageOps.equalize(image)
    for share in np.linspace(0, 1, 31):
        yield "posterize", ImageOps.posterize(image, int(8 - np.round(share * 6)))
        yield "solarize", ImageOps.solarize(image, 255 * (1 - share))
        for sign in (1, -1):
            factor = 1 + sign * 0.99 * share
            yield "brightness", ImageEnhance.Brightness(image).enhance(factor)
            yield "color", ImageEnhance.Color(image).enhance(factor)
            yield "contrast", ImageEnhance.Contrast(image).enhance(factor)
            yield "sharpness", ImageEnhance.Sharpness(image).enhance(factor)
            shear = math.tan(math.atan(sign * 0.99 * share))
            yield "shear-x", move(1, shear, 0, 0, 1, 0)
            yield "shear-y", move(1, 0, 0, shear, 1, 0)
            yield "translate-x", move(1, 0, -int(sign * 32 * share), 0, 1, 0)
            yield "translate-y", move(1, 0, 0, 0, 1, -int(sign * 32 * share))
            yield "rotate", image.rotate(sign * 135 * share)


@case("pictures-trivial-augment")
def trivial(ingot):
    """Each sample is one of the results of TrivialAugmentWide, and each of its operations comes up."""
    image = scene(26, 20)
    names, results = zip(*((name, np.asarray(result).astype(int)) for name, result in trivial_changes(image)))
    results = np.stack(results)
    got = seen_in_training(ingot, [encode(image, "PNG")] * 96, "decode,trivial-augment", image.size)
    found = set()
    for i, picture in enumerate(got):
        # Of geometry with the same rounding a pixel may still fall to the other side.
        away = (np.abs(results - picture) > 1.01).any(-1).mean((1, 2))
        check(away.min() <= 0.003, f"sample {i} is {away.min():.3f} from {names[away.argmin()]}")
        found.add(names[away.argmin()])
    check(found >= set(names) - {"identity", "posterize"}, f"only {found}")


@case("pictures-random-parts")
def random_parts(ingot):
    """Seeds, erased parts, and masks that have the geometry of their pictures."""
    image = scene(40, 32)
    files = [encode(image, "PNG")] * 16
    steps = "decode,random-resized-crop:32x40:scale=0.5/1:ratio=0.5/2,vertical-flip,color-jitter:brightness=0.5:hue=0.1"
    first = seen_in_training(ingot, files, steps, image.size)
    check((first == seen_in_training(ingot, files, steps, image.size)).all(), "another result with the same seed")
    other = seen_in_training(ingot, files, steps, image.size, seed=1)
    check((np.abs(first - other).max((1, 2, 3)) > 5).all(), "the seed changes nothing")
    # Zero after normalize is the mean; before it is black.
    for recipe, value in (("normalize:0.5:0.25,random-erasing:p=1", 0), ("random-erasing:p=1,normalize:0.5:0.25", -2)):
        got = seen_in_training(ingot, files, f"decode,{recipe}", image.size) / 255
        plain = (np.asarray(image) / 255 - 0.5) / 0.25
        erased = (np.abs(got - plain) > 1e-3).any(-1)
        shares = erased.mean((1, 2))
        check((shares > 0.01).all() and (shares < 0.4).all(), f"{recipe}: shares {shares}")
        check(np.allclose(got[erased], value, atol=1e-5), f"{recipe}: other values than {value}")
        for rows, columns in ((np.flatnonzero(e.any(1)), np.flatnonzero(e.any(0))) for e in erased):
            area = (rows[-1] - rows[0] + 1) * (columns[-1] - columns[0] + 1)
            check(area > 0, "no part")
    noise = seen_in_training(ingot, files, "decode,random-erasing:p=1:scale=0.3/0.3:ratio=1/1:value=random", (40, 32))
    drawn = noise[np.abs(noise - np.asarray(image)).max(-1) > 0.01] / 255
    check(abs(drawn.mean()) < 0.1 and abs(drawn.std() - 1) < 0.1, f"noise {drawn.mean()} {drawn.std()}")


MASKED = """<ir_version: 8, opset_import: ["": 18]>
g (float[n,3,16,16] image, int64[n,16,16] mask) => (float[n,3,16,16] y, float loss) {
  one = Constant<value_ints=[1]>()
  rows = Unsqueeze(mask, one)
  m = Cast<to=1>(rows)
  both = Concat<axis=1>(image, m)
  y = Mul(both, w)
  loss = ReduceSum<keepdims=0>(y)
}"""


@case("pictures-masks")
def masks(ingot):
    """A mask with the steps of its picture has its geometry, and its classes stay whole."""
    built = onnx.parser.parse_model(MASKED.replace("[n,3,16,16] y", "[n,4,16,16] y"))
    built.graph.initializer.append(numpy_helper.from_array(np.zeros((8, 4, 16, 16), np.float32), "w"))
    path = ingot.path("masked.onnx")
    onnx.save(built, path)
    trainer = ingot.compile(path, "--loss", "output:loss", "--optimizer", "sgd", "--batch", "8")
    source = np.random.default_rng(3)
    classes = np.kron(source.integers(0, 6, (8, 6, 7)), np.ones((1, 4, 4), int)).astype(np.uint8)
    tar = ingot.path("masks.tar")
    with tarfile.open(tar, "w") as archive:
        for i, values in enumerate(classes):
            indexed = Image.fromarray(values)
            indexed.putpalette(source.integers(0, 256, 768, dtype=np.uint8).tobytes())
            colors = Image.fromarray(values * 40).convert("RGB")
            for name, content in (("image", encode(colors, "PNG")), ("mask", encode(indexed, "PNG"))):
                member = tarfile.TarInfo(f"{i}.{name}")
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))
    geometry = "pad:2,crop:20,flip,vertical-flip,random-rotation:40,crop:16"
    for extra in ("", ",color-jitter:brightness=0.0/0.0", ",trivial-augment"):
        out = ingot.path("out.onnx")
        run = [trainer, "--data", tar, "--steps", "1", "--no-shuffle", "--lr", "1", "--export", out]
        colors = extra if "trivial" in extra else ""
        ingot.succeed([*run, "--input", f"image=decode,{geometry}{colors}", "--input", f"mask=mask,{geometry}{extra}"])
        weights = {t.name: numpy_helper.to_array(t) for t in onnx.load(out).graph.initializer}
        got = -weights["w"]
        image, mask = np.rint(got[:, 0] * 255 / 40), got[:, 3]
        check(set(np.unique(mask)) <= set(range(6)) and len(np.unique(mask)) == 6, f"classes {np.unique(mask)}")
        if not colors:
            check((image == mask).all(), f"{extra}: other geometry in {(image != mask).mean():.3f} of the mask")
    # Colors of the palette are no classes, and bilinear means neither.
    error = [trainer, "--data", tar, "--steps", "1", "--input", "image=decode,crop:16", "--input"]
    ingot.check_error([*error, "mask=from:image,mask,crop:16"], 3, "a picture in color", "mask")
    ingot.check_error([*error, "mask=mask,crop:16,normalize:1:1"], 2, "normalize")
    ingot.check_error([*error, "mask=crop:16,mask"], 2, "'mask' comes after")


@case("pictures-orientation")
def orientation(ingot):
    """EXIF's eight orientations, as Pillow's exif_transpose; without the step, one note."""
    image = scene(WIDTH, HEIGHT)
    turned = scene(HEIGHT, WIDTH)
    note = "have an EXIF orientation, which is not applied"
    files, wanted = [], []
    for number in range(1, 9):
        for kind, options in (("PNG", {}), ("WEBP", {"lossless": True}), ("JPEG", {"quality": 95, "subsampling": 0})):
            exif = Image.Exif()
            exif[0x112] = number
            content = encode(image if number < 5 else turned, kind, exif=exif, **options)
            files.append(content)
            wanted.append(np.asarray(ImageOps.exif_transpose(Image.open(io.BytesIO(content)))).astype(float))
    got = pixels(ingot, files, steps="decode,orient") * 255
    for i, want in enumerate(wanted):
        differ(got[i], want, 1.01, f"file {i}")
    kept = ["--cache", ingot.path("kept")]
    for _ in range(2):
        check((pixels(ingot, files, steps="decode,orient", flags=kept) * 255 == got).all(), "other pixels with a cache")
    stored = pixels(ingot, files[:3], steps="decode", flags=kept) * 255
    differ(stored[1], np.asarray(Image.open(io.BytesIO(files[1]))).astype(float), 1.01, "as stored, with a cache")
    # Parts of a JPEG, and at a fraction of its size.
    large = scene(160, 120).filter(ImageFilter.GaussianBlur(3))
    trainer = model(ingot, "float", 3)
    for steps in (f"center-crop:{HEIGHT}x{WIDTH}", f"resize:{HEIGHT}x{WIDTH}"):
        for number in range(1, 9):
            exif = Image.Exif()
            exif[0x112] = number
            content = encode(large, "JPEG", quality=97, subsampling=0, exif=exif)
            upright = encode(ImageOps.exif_transpose(Image.open(io.BytesIO(content))), "PNG")
            both = pixels(ingot, [content, upright], steps=f"decode,orient,{steps}") * 255
            differ(both[0], both[1], 1.01 if "crop" in steps else 10, f"{steps} of orientation {number}")
    run = [trainer, "--eval-data", archive(ingot, files[:12]), "--steps", "0", "--input"]
    err = ingot.succeed([*run, "x=decode"]).err
    check(err.count(note) == 1 and "orient" in err, err)
    check(note not in ingot.succeed([*run, "x=decode,orient"]).err, "a note on what is applied")
    ingot.check_error([*run, f"x=resize:{HEIGHT}x{WIDTH},orient"], 2, "'orient' comes after")


@case("pictures-wrong-settings")
def wrong_settings(ingot):
    """Settings that make no sense are named, with what they are."""
    run = [model(ingot, "float", 3), "--data", archive(ingot, [encode(scene(WIDTH, HEIGHT), "PNG")]), "--input"]
    for steps, *words in (
        ("color-jitter", "nothing to do", "brightness=X"),
        ("color-jitter:0.4", "without a name", "brightness, contrast, saturation, hue"),
        ("color-jitter:hue=0.6", "hue=X from 0 to 0.5"),
        ("color-jitter:brightness=-1", "brightness=X"),
        ("color-jitter:light=1", "no setting 'light'"),
        ("random-rotation", "degrees"),
        ("random-rotation:400", "degrees=X"),
        ("random-rotation:5:interpolation=cubic", "nearest or bilinear"),
        ("random-rotation:5:fill=1/2", "fill=N or RED/GREEN/BLUE"),
        ("random-resized-crop:8:scale=0.5", "scale=LOW/HIGH"),
        ("random-resized-crop:8:scale=1/0.5", "scale=LOW/HIGH"),
        ("random-resized-crop:8:ratio=0/1", "ratio=LOW/HIGH"),
        ("random-resized-crop:scale=0.5/1", "no size"),
        ("random-erasing:p=2", "p=P from 0 to 1"),
        ("random-erasing,flip", "after all steps but normalize"),
        ("random-erasing:value=1/2", "value=X"),
        ("gaussian-blur:4", "odd"),
        ("gaussian-blur:sigma=1", "nothing to do"),
        ("flip:1.5", "p=P"),
        ("flip:0.5:0.5:x", "p=P"),
        ("trivial-augment:9", "without a name"),
        ("orient:1", "not a step"),
        ("mask", "no colors"),
    ):
        ingot.check_error([*run, f"x=decode,{steps}"], 2, "--input x", *words)
