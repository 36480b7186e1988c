# SPDX-License-Identifier: Apache-2.0
"""DEFLATE by libdeflate, whose strongest level makes files about 4 % smaller than zlib's."""

import ctypes

LEVEL = 12


def load():
    """The library, or None."""
    try:
        library = ctypes.CDLL("libdeflate.so.0")
    except OSError:
        return None
    pointer, size = ctypes.c_void_p, ctypes.c_size_t
    for name, result, arguments in (
        ("alloc_compressor", pointer, [ctypes.c_int]),
        ("deflate_compress_bound", size, [pointer, size]),
        ("deflate_compress", size, [pointer, ctypes.c_char_p, size, pointer, size]),
        ("free_compressor", None, [pointer]),
    ):
        function = getattr(library, f"libdeflate_{name}")
        function.restype, function.argtypes = result, arguments
    return library


LIBRARY = load()


def compress(data):
    """The raw stream of `data`. Other threads run meanwhile."""
    compressor = LIBRARY.libdeflate_alloc_compressor(LEVEL)
    try:
        room = LIBRARY.libdeflate_deflate_compress_bound(compressor, len(data))
        packed = ctypes.create_string_buffer(room)
        size = LIBRARY.libdeflate_deflate_compress(compressor, data, len(data), packed, room)
    finally:
        LIBRARY.libdeflate_free_compressor(compressor)
    return packed.raw[:size]
