#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Text files as tokens, a token per byte: tokens.py OUT.bin FILE..."""

import pathlib
import struct
import sys


def write_tokens(path, text):
    """llm.c's layout: 256 int32 (20240520, version 1, count), then uint16."""
    header = struct.pack("<256i", 20240520, 1, len(text), *[0] * 253)
    pathlib.Path(path).write_bytes(header + struct.pack(f"<{len(text)}H", *text))


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    write_tokens(sys.argv[1], b"".join(pathlib.Path(name).read_bytes() for name in sys.argv[2:]))
