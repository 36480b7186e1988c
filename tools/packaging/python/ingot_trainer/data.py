# SPDX-License-Identifier: Apache-2.0
"""Writes samples as files that trainers map."""

import os
import pathlib
import shutil
import tempfile
import zipfile
from collections.abc import Mapping

import numpy as np

from ingot_trainer import batches
from ingot_trainer.arrays import to_numpy
from ingot_trainer.errors import BadInputError

# Samples that a data set is asked for at a time.
PART = 1024
# Room for the header of a file, of which the number of samples is known last.
HEADER_BYTES = 256


class _File:
    """A .npy file that grows by batches."""

    def __init__(self, path, name, array):
        self._name, self._shape, self._count = name, array.shape[1:], 0
        self._dtype = array.dtype.newbyteorder("=")
        self._file = open(path, "wb")
        self._file.write(bytes(HEADER_BYTES))

    def append(self, array):
        if array.dtype.newbyteorder("=") != self._dtype or array.shape[1:] != self._shape:
            raise BadInputError(
                f"{self._name}: samples differ: {array.dtype}{list(array.shape[1:])} after"
                f" {self._dtype}{list(self._shape)} (give all of one type and shape)"
            )
        self._file.write(np.ascontiguousarray(array, dtype=self._dtype).data)
        self._count += len(array)

    def finish(self):
        shape = (self._count, *self._shape)
        text = f"{{'descr': {self._dtype.str!r}, 'fortran_order': False, 'shape': {shape!r}, }}"
        begin = b"\x93NUMPY\x01\x00" + (HEADER_BYTES - 10).to_bytes(2, "little")
        self._file.seek(0)
        self._file.write(begin + text.encode().ljust(HEADER_BYTES - 11) + b"\n")
        self.close()
        return self._count

    def close(self):
        self._file.close()


def _read(data, names):
    """Yields dictionaries of arrays."""
    if batches.is_columns(data) or isinstance(data, Mapping):
        chosen = names or list(data.column_names if batches.is_columns(data) else data)
        samples = batches.open_samples(data, chosen)
        for begin in range(0, samples.count, PART):
            yield {name: to_numpy(name, value) for name, value in samples.take(slice(begin, begin + PART)).items()}
        return
    for batch in data:
        if not isinstance(batch, Mapping):
            values = batches.as_sequence(batch)
            if names is None or len(names) != len(values):
                raise BadInputError(f"names: a batch has {len(values)} arrays (give a name for each of them)")
            batch = dict(zip(names, values))
        yield {name: to_numpy(name, batch[name]) for name in names or batch}


def save_dataset(data, path, names=None):
    """Writes samples to `path`: one file .npz, or a folder with a .npy file for each array. Trainers map both.

    data   what Trainer.fit() takes: arrays by name, a data set of Hugging Face, or
           an iterable of batches, such as a DataLoader, which is read once
    names  the arrays or columns to write; of batches that are tuples, the name of
           each

    There is all of it in the end, or nothing. Returns the number of samples.
    """
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{path.name}-", dir=path.parent) as scratch:
        folder = pathlib.Path(scratch) / "arrays"
        folder.mkdir()
        count = _write(data, names, folder)
        if path.suffix == ".npz":
            _pack(folder, pathlib.Path(scratch) / "packed")
            os.replace(pathlib.Path(scratch) / "packed", path)
        else:
            if path.is_dir() and {entry.suffix for entry in path.iterdir()} <= {".npy"}:
                shutil.rmtree(path)
            folder.replace(path)
    return count


def _write(data, names, folder):
    files = {}
    try:
        for batch in _read(data, names):
            if files and set(batch) != set(files):
                raise BadInputError(f"data: a batch has {', '.join(batch)} after {', '.join(files)}")
            for name, array in batch.items():
                if array.ndim == 0:
                    raise BadInputError(f"{name}: has no axis that counts samples")
                if "/" in name or name.startswith("."):
                    raise BadInputError(f"{name}: is no name of a file (give others: names=)")
                if name not in files:
                    files[name] = _File(folder / f"{name}.npy", name, array)
                files[name].append(array)
        counts = {name: file.finish() for name, file in files.items()}
    finally:
        for file in files.values():
            file.close()
    if not counts or 0 in counts.values():
        raise BadInputError("data: has no samples")
    if len(set(counts.values())) > 1:
        raise BadInputError(f"data: differs in samples: {', '.join(f'{n} {c}' for n, c in counts.items())}")
    return next(iter(counts.values()))


def _pack(folder, path):
    """Without compression, so that it can be mapped."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
        for file in sorted(folder.iterdir()):
            archive.write(file, file.name)
