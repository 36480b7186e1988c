# SPDX-License-Identifier: Apache-2.0
"""Writes seeds/READER/: small valid files for the fuzzers to start from.

It needs NumPy, Pillow and PyArrow.
"""

import io
import json
import pathlib
import struct
import sys
import tarfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet
from PIL import Image

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "end-to-end"))
from pictures import all_kinds  # noqa: E402

SEEDS = pathlib.Path(__file__).parent / "seeds"
# Of all pictures that trainers read, those of unlike code.
PICTURES = """jpeg-cmyk jpeg-rgb png-interlaced png-color-16 png-palette-2 png-gray-1 webp webp-animated
gif gif-animated bmp-4 bmp-24 bmp-565 bmp-os2 bmp-runs-8 bmp-runs-4 ppm pbm ppm-plain""".split()


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


def tar(**members):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, content in members.items():
            member = tarfile.TarInfo(name.replace("_", "."))
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return out.getvalue()


def picture(**options):
    out = io.BytesIO()
    Image.fromarray(np.arange(20 * 24 * 3, dtype=np.uint8).reshape(20, 24, 3)).save(out, **options)
    return out.getvalue()


def turned():
    exif = Image.Exif()
    exif[0x112] = 6
    return exif


def arrow(write, table):
    out = pa.BufferOutputStream()
    with write(out, table.schema) as writer:
        writer.write_table(table, max_chunksize=5)
    return out.getvalue().to_pybytes()


def token_table():
    rows = np.arange(12 * 16).reshape(12, 16) * 7 % 32
    return pa.table({"ids": rows.tolist(), "labels": ((rows * 3 + 1) % 32).tolist()})


def parquet(table, **options):
    out = io.BytesIO()
    pa.parquet.write_table(table, out, store_schema=False, write_statistics=False, **options)
    return out.getvalue()


def parquet_seeds():
    """Each encoding, kind of page and codec. ParquetTest knows the values of the row i."""
    rows = range(12)
    table = pa.table(
        {
            "byte": pa.array([i * 20 for i in rows], pa.uint8()),
            "short": pa.array([i * 3000 - 9000 for i in rows], pa.int16()),
            "int": pa.array([i * 1000003 for i in rows], pa.int32()),
            "long": pa.array([i * 10**15 - 3 * 10**15 for i in rows], pa.int64()),
            "half": pa.array(np.arange(12, dtype=np.float16) / 4),
            "float": pa.array([i / 8 for i in rows], pa.float32()),
            "double": [i / 3 for i in rows],
            "flag": [i % 3 == 0 for i in rows],
            "text": [f"text {i % 4}" for i in rows],
            "ids": pa.array([[10 * i + k for k in range(i % 4)] for i in rows], pa.list_(pa.int32())),
            "pairs": pa.array([[[i, k] for k in range(3)] for i in rows], pa.list_(pa.list_(pa.int64()))),
            "fixed": pa.array([[i, i + 0.5] for i in rows], pa.list_(pa.float32(), 2)),
            "image": [{"bytes": b"picture %d" % i, "path": None} for i in rows],
            "some": pa.array([None if i % 4 == 1 else i for i in rows], pa.int32()),
            "words": [None if i % 4 == 2 else str(i) for i in rows],
            "holes": pa.array(
                [None if i == 3 else [i, None] if i == 4 else [i, i] for i in rows], pa.list_(pa.int64())
            ),
            "day": pa.array(list(rows), pa.date32()),
            "label": pa.array([i % 3 for i in rows], pa.int64()),
        }
    )
    integers = ["byte", "short", "int", "long", "ids.list.element", "pairs.list.element.list.element", "some", "label"]
    packed = dict.fromkeys(integers, "DELTA_BINARY_PACKED")
    packed |= {"text": "DELTA_BYTE_ARRAY", "words": "DELTA_BYTE_ARRAY", "image.bytes": "DELTA_LENGTH_BYTE_ARRAY"}
    packed |= dict.fromkeys(("half", "float", "double", "fixed.list.element"), "BYTE_STREAM_SPLIT")
    plain = {"use_dictionary": False, "data_page_version": "1.0"}
    packed = {"use_dictionary": False, "data_page_version": "2.0", "column_encoding": packed | {"flag": "RLE"}}
    return {
        "plain": parquet(table, compression="none", **plain),
        "plain-snappy": parquet(table, compression="snappy", row_group_size=5, data_page_size=16, **plain),
        "dictionary": parquet(table, compression="none", row_group_size=7, write_page_checksum=True),
        "dictionary-zstd": parquet(table, compression="zstd", data_page_version="2.0", data_page_size=32),
        "packed": parquet(table, compression="none", **packed),
        "packed-gzip": parquet(table, compression="gzip", row_group_size=5, **packed),
        "tokens": parquet(token_table(), row_group_size=5),
        "packed-lz4": parquet(table, compression="lz4", **packed | {"data_page_version": "1.0"}),
    }


def main():
    floats, ints = np.arange(6, dtype=np.float32).reshape(2, 3), np.arange(4, dtype=np.int64)
    # Three sequences in two documents.
    index = b"MMIDIDX\0\0" + struct.pack("<QBQQ3i3q3q", 1, 8, 3, 3, 2, 3, 4, 0, 4, 10, 0, 2, 3)
    seeds = {
        "npy/floats": npy(floats),
        "npy/fortran": npy(np.asfortranarray(floats)),
        "npy/big-endian": npy(ints.astype(">i8")),
        "npy/scalar": npy(np.bool_(True)),
        "npz/stored": npz(np.savez, x=floats, labels=ints),
        "npz/deflated": npz(np.savez_compressed, x=floats, labels=ints),
        "safetensors/two": safetensors({"w": floats, "step": ints}),
        "safetensors/none": safetensors({}),
        "index/pair": struct.pack("<H", len(index)) + index + struct.pack("<9H", *range(1, 10)),
        "tokens/four": struct.pack("<256i4H", 20240520, 1, 4, *[0] * 253, 1, 2, 3, 4),
    }
    tokens = token_table()
    kinds = pa.table(
        {
            "fixed": pa.array([[1.0, 2.0], [3.0, 4.0]], pa.list_(pa.float32(), 2)),
            "flags": [True, False],
            "nested": [[[1, 2], [3, 4]], [[5, 6], [7, 8]]],
            "text": ["one", "two"],
            "image": [{"bytes": b"abc", "path": None}, {"bytes": b"d", "path": "x"}],
            "some": pa.array([7, None], pa.int16()),
            "words": pa.array(["a", "b"]).dictionary_encode(),
        }
    )
    seeds |= {
        "arrow/stream": arrow(pa.ipc.new_stream, tokens),
        "arrow/file": arrow(pa.ipc.new_file, tokens),
        "arrow/kinds": arrow(pa.ipc.new_stream, kinds),
        "csv/numbers": b'a,"b, c",labels\r\n1,2.5,0\r\n-3,1e4,1\r\n',
        "csv/quotes": b'\xef\xbb\xbftext;cls\n"two\nlines and a "" quote";3\n\n',
        "jsonlines/mixed": b'{"x": [[94.5], [1]]}\n{"x": [[1], [94.5]]}\n',
        "jsonlines/two": b'{"x": [[1, 2], [3, 4.5]], "labels": 1}\n{"x": [[5, 6], [7, 8]], "labels": -100}\n',
        "jsonlines/text": b'{"text": "a\\u00e9"}\n\n{"text": ""}',
        "picture/jpeg": picture(format="JPEG"),
        "picture/progressive": picture(format="JPEG", progressive=True, subsampling=0),
        "picture/png": picture(format="PNG"),
        "picture/turned": picture(format="PNG", exif=turned()),
        "recipe/crop": b"decode,resize:32,crop:8,flip,normalize:imagenet",
        "recipe/values": b"from:jpg,random-resized-crop:8x8,pad:1,center-crop:8,normalize:0.5/1/2:0.5/1e-1/3",
        "recipe/random": b"orient,random-resized-crop:8:scale=0.5/1:ratio=0.5/2,vertical-flip:0.3,"
        b"random-rotation:10/20,trivial-augment:interpolation=bilinear:fill=1/2/3,"
        b"random-erasing:p=1:value=random,normalize:imagenet",
        "recipe/colors": b"decode,color-jitter:brightness=0.5:contrast=0.9/1.1:saturation=1:hue=0.5,"
        b"random-grayscale:0.2,gaussian-blur:5:sigma=0.1/3,resize:8x8",
        "recipe/mask": b"mask,crop:8,flip:0.5",
        "recipe/text": b"bytes,next",
        "stream/lines": b'\0\0{"x": 1}\r\n\n{"x": 2}',
        "stream/table": b'\1\1a,"b\n"\n1,"2\n"\n3,4',
        "stream/tokens": b"\2\0" + bytes(range(40)),
        "stream/tar": b"\3\40" + tar(a_cls=b"1", a_txt=b"text", b_cls=b"2\n", **{"n" * 300 + "_cls": b"3"}),
        "tar/samples": tar(a_cls=b"1", a_txt=b"text", a_x_npy=npy(floats), b_cls=b"2\n"),
        "tar/json": tar(a_json=b'{"y": [1, 2], "t": "u"}', b_json=b'{"y": [3, 4]}'),
        "tar/long": tar(**{"n" * 300 + "_cls": b"3"}),
    }
    kinds = all_kinds(11, 9)
    seeds |= {f"picture/{name}": kinds[name] for name in PICTURES}
    seeds |= {f"parquet/{name}": content for name, content in parquet_seeds().items()}
    for name, content in seeds.items():
        path = SEEDS / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


if __name__ == "__main__":
    main()
