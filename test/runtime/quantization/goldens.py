#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes goldens.inc: what bitsandbytes makes of numbers, on a CPU. Needs torch and bitsandbytes (0.50)."""

import pathlib

import numpy as np
import torch
from bitsandbytes import functional


def make_numbers(count):
    state, numbers = 1, []
    for _ in range(count):
        total = 0
        for _ in range(4):
            state = (state * 1664525 + 1013904223) & 0xFFFFFFFF
            total += (state >> 16) - 32768
        numbers.append(total / 65536)
    return torch.tensor(numbers, dtype=torch.float32)


def spell(values):
    texts = [str(value) for value in values]
    lines = [", ".join(texts[i : i + 18]) for i in range(0, len(texts), 18)]
    return ",\n     ".join(lines)


def write():
    out = "// SPDX-License-Identifier: Apache-2.0\n// Made by goldens.py.\n// clang-format off\n"
    out += "struct Golden {\n  ingot_encoding kind;\n  bool isDouble;\n  int64_t elements;\n"
    out += "  std::vector<uint8_t> codes, scales;\n  float mean;\n  uint64_t bits;\n};\n"
    out += "const Golden kGoldens[] = {\n"
    for kind in ("nf4", "fp4"):
        for double in (False, True):
            elements = 1000 if not double else 2048
            codes, state = functional.quantize_4bit(
                make_numbers(elements), blocksize=64, quant_type=kind, compress_statistics=double
            )
            # Zeros have no sign here.
            decoded, bits = functional.dequantize_4bit(codes, state).numpy().ravel() + np.float32(0), 0
            for word in decoded.view(np.uint32):
                bits = (bits * 31 + int(word)) & 0xFFFFFFFFFFFFFFFF
            scales = state.absmax.numpy().tolist() if double else []
            mean = state.offset.item() if double else 0.0
            out += f"    {{INGOT_CODE_{kind.upper()}, {str(double).lower()}, {elements},\n"
            out += f"     {{{spell(codes.numpy().ravel())}}},\n     {{{spell(scales)}}},\n     {mean!r}F, {bits}u}},\n"
    out += "};\n"
    for name, signed in (("kScaleNumbers", True), ("kUnsignedNumbers", False)):
        numbers = [f"{value!r}F" for value in functional.create_dynamic_map(signed=signed).tolist()]
        lines = [", ".join(numbers[i : i + 4]) for i in range(0, 256, 4)]
        out += f"const float {name}[256] = {{\n    " + ",\n    ".join(lines) + "};\n"
    out += "// clang-format on\n"
    pathlib.Path(__file__).with_name("goldens.inc").write_text(out)


if __name__ == "__main__":
    write()
