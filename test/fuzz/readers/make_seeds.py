# SPDX-License-Identifier: Apache-2.0
"""Writes seeds/READER/: small valid files for the fuzzers to start from."""

import io
import json
import pathlib
import struct

import numpy as np

SEEDS = pathlib.Path(__file__).parent / "seeds"


def npy(array):
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


def npz(save, **arrays):
    out = io.BytesIO()
    save(out, **arrays)
    return out.getvalue()


def safetensors(tensors):
    header, data = {"__metadata__": {"format": "pt"}}, b""
    for name, array in tensors.items():
        dtype = {"f4": "F32", "i8": "I64"}[array.dtype.str[1:]]
        end = len(data) + array.nbytes
        header[name] = {"dtype": dtype, "shape": list(array.shape), "data_offsets": [len(data), end]}
        data += array.tobytes()
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def main():
    floats, ints = np.arange(6, dtype=np.float32).reshape(2, 3), np.arange(4, dtype=np.int64)
    seeds = {
        "npy/floats": npy(floats),
        "npy/fortran": npy(np.asfortranarray(floats)),
        "npy/big-endian": npy(ints.astype(">i8")),
        "npy/scalar": npy(np.bool_(True)),
        "npz/stored": npz(np.savez, x=floats, labels=ints),
        "npz/deflated": npz(np.savez_compressed, x=floats, labels=ints),
        "safetensors/two": safetensors({"w": floats, "step": ints}),
        "safetensors/none": safetensors({}),
        "tokens/four": struct.pack("<256i4H", 20240520, 1, 4, *[0] * 253, 1, 2, 3, 4),
    }
    for name, content in seeds.items():
        path = SEEDS / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


if __name__ == "__main__":
    main()
