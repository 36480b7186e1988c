# SPDX-License-Identifier: Apache-2.0
"""Pictures that cases make."""

import io
import struct
import zlib

import numpy as np
from PIL import Image


def png(pixels):
    """A picture in color, without filters."""
    height, width, _ = pixels.shape
    return png_of(pixels.reshape(height, -1), width, 8, 2)


def png_of(rows, width, depth, kind, *chunks):
    """A PNG file of rows of bytes as they are, with more chunks before them."""
    lines = b"".join(b"\0" + row.tobytes() for row in rows)
    return png_file(lines, width, len(rows), depth, kind, *chunks)


def interlaced(pixels):
    """A picture in color by Adam7's seven passes."""
    passes = ((0, 8, 0, 8), (0, 8, 4, 8), (4, 8, 0, 4), (0, 4, 2, 4), (2, 4, 0, 2), (0, 2, 1, 2), (1, 2, 0, 1))
    lines = b"".join(b"\0" + row.tobytes() for y, dy, x, dx in passes for row in pixels[y::dy, x::dx] if row.size)
    return png_file(lines, pixels.shape[1], pixels.shape[0], 8, 2, interlace=1)


def png_file(lines, width, height, depth, kind, *chunks, interlace=0):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, depth, kind, 0, 0, interlace)
    parts = [(b"IHDR", head), *chunks, (b"IDAT", zlib.compress(lines)), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunk(*part) for part in parts)


def bmp_of(rows, width, bits, compression=0, colors=b"", masks=b"", height=None, core=False):
    """A BMP file of rows of bytes, from the bottom, or of compressed ones."""
    data = rows if isinstance(rows, bytes) else b"".join(r.tobytes() + b"\0" * (-r.nbytes % 4) for r in rows)
    height = len(rows) if height is None else height
    if core:
        head = struct.pack("<IHHHH", 12, width, height, 1, bits)
    else:
        entries = len(colors) // 4
        head = struct.pack("<IiiHHIIiiII", 40, width, height, 1, bits, compression, len(data), 0, 0, entries, 0)
    at = 14 + len(head) + len(masks) + len(colors)
    return b"BM" + struct.pack("<IHHI", at + len(data), 0, 0, at) + head + masks + colors + data


def encode(image, kind, **options):
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def scene(width, height, seed=0):
    """A picture in color: smooth, with edges and noise."""
    source = np.random.default_rng(seed)
    y, x = np.mgrid[:height, :width]
    waves = [np.sin(x / 5 + y / (7 + c)) * 90 + 128 for c in range(3)]
    pixels = np.stack(waves, -1) + source.normal(0, 12, (height, width, 3))
    pixels[height // 3 : height // 2, width // 4 : width // 2] = (250, 20, 30)
    return Image.fromarray(pixels.clip(0, 255).astype(np.uint8))


def _pngs(width, height):
    """PNG files of every kind of samples."""
    source = np.random.default_rng(1)
    for kind, name, channels in ((0, "gray", 1), (2, "color", 3), (4, "gray-alpha", 2), (6, "alpha", 4)):
        samples = source.integers(0, 65536, (height, width * channels))
        yield f"png-{name}-16", png_of(samples.astype(">u2"), width, 16, kind)
        yield f"png-{name}-8", png_of(samples.astype("u1"), width, 8, kind, (b"gAMA", struct.pack(">I", 100000)))
    palette = source.integers(0, 256, 768, dtype=np.uint8).tobytes()
    for bits in (1, 2, 4, 8):
        rows = source.integers(0, 256, (height, (width * bits + 7) // 8), dtype=np.uint8)
        yield f"png-palette-{bits}", png_of(rows, width, bits, 3, (b"PLTE", palette[: 3 << bits]))
        if bits < 8:
            yield f"png-gray-{bits}", png_of(rows, width, bits, 0)
    yield "png-transparent", png_of(rows, width, 8, 3, (b"PLTE", palette), (b"tRNS", bytes(range(256))))
    colored = source.integers(0, 256, (height, width * 3), dtype=np.uint8)
    yield "png-color-key", png_of(colored, width, 8, 2, (b"sRGB", b"\0"), (b"tRNS", bytes(6)))


def _bmps(width, height):
    source = np.random.default_rng(2)
    blue = source.integers(0, 256, 1024, dtype=np.uint8).tobytes()
    for bits in (1, 4, 8, 16, 24, 32):
        row = (width * bits + 7) // 8
        rows = source.integers(0, 256, (height, row), dtype=np.uint8)
        yield f"bmp-{bits}", bmp_of(rows, width, bits, colors=blue[: 4 << bits] if bits <= 8 else b"")
    yield "bmp-top-down", bmp_of(rows, width, 32, height=-height)
    half = source.integers(0, 65536, (height, width), dtype=np.uint16)
    yield "bmp-565", bmp_of(half, width, 16, 3, masks=struct.pack("<III", 0xF800, 0x7E0, 0x1F))
    yield "bmp-bgrx", bmp_of(rows, width, 32, 3, masks=struct.pack("<III", 0xFF000000, 0xFF0000, 0xFF00))
    indices = source.integers(0, 256, (height, width), dtype=np.uint8)
    yield "bmp-os2", bmp_of(indices, width, 8, colors=blue[:768], core=True)
    runs, halves = b"", b""
    for row in indices:
        # A run, values as they are, and the mark of the end of a row.
        rest = row[8:].tobytes()
        runs += bytes((8, row[0], 0, len(rest))) + rest + b"\0" * (len(rest) % 2) + b"\0\0"
        packed = row[8 : 8 + (len(rest) + 1) // 2].tobytes()
        halves += bytes((8, row[0], 0, len(rest))) + packed + b"\0" * (len(packed) % 2) + b"\0\0"
    yield "bmp-runs-8", bmp_of(runs + b"\0\1", width, 8, 1, colors=blue, height=height)
    yield "bmp-runs-4", bmp_of(halves + b"\0\1", width, 4, 2, colors=blue[:64], height=height)


def all_kinds(width, height):
    """Files of every mode and format that trainers read, by name."""
    image = scene(width, height)
    gray, alpha = image.convert("L"), image.copy()
    alpha.putalpha(gray)
    indexed = image.quantize(64)
    inks = image.convert("CMYK")
    files = {
        "jpeg": encode(image, "JPEG", quality=95),
        "jpeg-gray": encode(gray, "JPEG"),
        "jpeg-cmyk": encode(inks, "JPEG", quality=95),
        "jpeg-444": encode(image, "JPEG", subsampling=0),
        "jpeg-422": encode(image, "JPEG", subsampling=1, restart_marker_blocks=3),
        "jpeg-progressive": encode(image, "JPEG", progressive=True, quality=30),
        "jpeg-rgb": encode(image, "JPEG", keep_rgb=True),
        "png-interlaced": interlaced(np.asarray(image)),
        "png-bits": encode(image.convert("1"), "PNG"),
        "webp": encode(image, "WEBP", quality=80),
        "webp-lossless": encode(alpha, "WEBP", lossless=True, exact=True),
        "webp-alpha": encode(alpha, "WEBP", quality=60),
        "webp-animated": encode(image, "WEBP", save_all=True, append_images=[image.rotate(90)], lossless=True),
        "gif": encode(indexed, "GIF"),
        "gif-gray": encode(gray, "GIF", interlace=1),
        "gif-transparent": encode(indexed, "GIF", transparency=3, interlace=0),
        "gif-animated": encode(image, "GIF", save_all=True, append_images=[image.rotate(90)]),
        "ppm": encode(image, "PPM"),
        "pgm": encode(gray, "PPM"),
        "pbm": encode(image.convert("1"), "PPM"),
        "bmp": encode(image, "BMP"),
        "bmp-gray": encode(gray, "BMP"),
        "bmp-bits": encode(image.convert("1"), "BMP"),
        "bmp-palette": encode(indexed, "BMP"),
        "bmp-alpha": encode(alpha, "BMP"),
    }
    plain = " ".join(str(value % 13) for value in range(width * height * 3))
    files["ppm-plain"] = f"P3 # plain\n{width} {height}\n12\n{plain}".encode()
    bits = "".join(str(value % 3 % 2) for value in range(width * height))
    files["pbm-plain"] = f"P1\n{width} {height}\n{bits}\n".encode()
    files["pgm-99"] = f"P5 {width} {height} 99\n".encode() + bytes(i % 100 for i in range(width * height))
    files |= dict(_pngs(width, height)) | dict(_bmps(width, height))
    return files
