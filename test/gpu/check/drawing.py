# SPDX-License-Identifier: Apache-2.0
"""Data that are made where they are used, as they are too large to take along: check.py asks."""

import array
import math
import os
import random
import zipfile


def draw_data(path, shape, classes):
    """Writes pictures of random bytes from -1 to 1, and their labels, as numpy does; it may be missing here."""
    source = random.Random(0)
    # Any byte as a float of the same low bits: as hard to multiply as pictures are.
    floats = [array.array("f", [value / 127.5 - 1]).tobytes() for value in range(256)]

    def write(archive, name, kind, sizes, parts):
        text = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {tuple(sizes)!r}, }}"
        text += " " * (-(len(text) + 11) % 64) + "\n"
        with archive.open(name + ".npy", "w", force_zip64=True) as file:
            file.write(b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode())
            for part in parts:
                file.write(part)

    picture = math.prod(shape[1:])
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        pictures = (b"".join(map(floats.__getitem__, source.randbytes(picture))) for _ in range(shape[0]))
        write(archive, "x", "<f4", shape, pictures)
        labels = array.array("q", (source.randrange(classes) for _ in range(shape[0])))
        write(archive, "labels", "<i8", shape[:1], [labels.tobytes()])
