#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes gray pictures of noise, which take long to decode, in a folder per class: pictures.py DIR COUNT SIZE"""

import pathlib
import random
import struct
import sys
import zlib


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(size, source):
    rows = b"".join(b"\0" + source.randbytes(size) for _ in range(size))
    head = struct.pack(">IIBBBBB", size, size, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    folder, count, size = pathlib.Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    source = random.Random(1)
    for i in range(count):
        path = folder / f"class{i % 10}" / f"{i:04d}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(png(size, source))
