# SPDX-License-Identifier: Apache-2.0
"""Input whose time must not grow faster than its size."""

import io
import zipfile

import numpy as np
from harness import DIGITS, case

SECONDS = 10


@case("bounds-many-arrays")
def many_arrays(ingot):
    """Time grows in a line with the arrays of an archive: 100,000 of them once took 11 s."""
    trainer = ingot.compile(DIGITS / "digits.onnx", "--loss", "cross-entropy", "--batch", "32")
    path = ingot.path("many.npz")
    with zipfile.ZipFile(path, "w") as archive, np.load(DIGITS / "train.npz") as data:
        for i in range(100_000):
            archive.writestr(f"u{i}.npy", b"")
        for name in ("image", "labels"):
            content = io.BytesIO()
            np.save(content, data[name])
            archive.writestr(f"{name}.npy", content.getvalue())
    ingot.succeed([trainer, "--data", path, "--steps", "1"], timeout=SECONDS)
