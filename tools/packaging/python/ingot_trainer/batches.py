# SPDX-License-Identifier: Apache-2.0
"""Batches of what `fit` and `evaluate` take: arrays by name, data sets with columns, and iterables of batches."""

import warnings
from collections.abc import Mapping

import numpy as np

from ingot_trainer.arrays import to_numpy
from ingot_trainer.errors import BadInputError


def is_columns(data):
    """Whether it is a data set of Hugging Face, or one like it."""
    return hasattr(data, "column_names") and hasattr(data, "with_format")


def open_samples(data, names):
    """Columns of which samples can be taken by their indices, or None for an iterable of batches."""
    if is_columns(data):
        return _Columns(data, names)
    return _Arrays(data, names) if isinstance(data, Mapping) else None


class _Arrays:
    """A dictionary of arrays, whose first axis counts samples."""

    def __init__(self, data, names):
        self._arrays = {name: to_numpy(name, data[name]) for name in names if name in data}
        missing = [name for name in names if name not in data]
        if missing:
            raise BadInputError(f"data: has no {', '.join(missing)} (it has {', '.join(map(str, data))})")
        lengths = {name: len(array) if array.ndim else 0 for name, array in self._arrays.items()}
        if len(set(lengths.values())) > 1:
            text = ", ".join(f"{name} {length}" for name, length in lengths.items())
            raise BadInputError(f"data: differs in samples: {text} (give as many of each)")
        self.count = next(iter(lengths.values()))

    def take(self, indices):
        return {name: array[indices] for name, array in self._arrays.items()}


class _Columns:
    """A data set with columns; those that are no inputs are left out."""

    def __init__(self, data, names):
        missing = [name for name in names if name not in data.column_names]
        if missing:
            raise BadInputError(
                f"data: has no column {', '.join(missing)} (it has {', '.join(data.column_names)}: rename_column)"
            )
        self._data = data.with_format("numpy", columns=list(names))
        self.count = len(data)

    def take(self, indices):
        indices = list(range(*indices.indices(self.count))) if isinstance(indices, slice) else indices.tolist()
        return self._data[indices]


def training_batches(data, names, sizes, parts, epochs, order):
    """Yields the batches of all epochs, of the first of `sizes`, or batches of an iterable of any of them.

    order   None, or a generator of NumPy that draws the order of samples
    parts   a batch of an iterable may have its share of a step's samples, and
            as many as that are taken together
    """
    size = sizes[0]
    samples = open_samples(data, names)
    for epoch in range(epochs):
        count = 0
        source = _in_order(samples, size, order) if samples else _joined(data, names, sizes, parts)
        for batch in source:
            count += 1
            yield batch
        if count == 0:
            what = "has nothing for another epoch" if epoch else f"has fewer samples than a step takes, {size}"
            raise BadInputError(f"data: {what} (give more, or what can be iterated again)")


def _warn_of_rest(samples, size):
    warnings.warn(
        f"the last {samples} samples of the epoch are left out: a step takes {size}", RuntimeWarning, stacklevel=2
    )


def _in_order(samples, size, order):
    """An epoch's batches of samples."""
    permutation = order.permutation(samples.count) if order else None
    for begin in range(0, samples.count - size + 1, size):
        part = slice(begin, begin + size)
        yield samples.take(part if permutation is None else permutation[part])
    rest = samples.count % size
    if rest and samples.count > size:
        _warn_of_rest(rest, size)


def count_samples(batch):
    """The samples of a batch, a dictionary of arrays or a sequence of them."""
    values = list(batch.items()) if isinstance(batch, Mapping) else [("data", value) for value in batch]
    if not values:
        raise BadInputError("data: a batch has no arrays")
    name, value = values[0]
    array = to_numpy(name, value)
    if array.ndim == 0:
        raise BadInputError(f"{name}: has no axis that counts samples")
    return len(array)


def _choose(batch, names):
    """The inputs of a batch; what else a dictionary has is left out, unless it has none of them."""
    if not isinstance(batch, Mapping):
        return batch
    return {name: batch[name] for name in names if name in batch} or batch


def as_sequence(batch):
    """A batch as a dictionary, or as a sequence of arrays."""
    if isinstance(batch, (Mapping, tuple, list)):
        return batch
    return (batch,)


def _joined(data, names, sizes, parts):
    """Batches of an iterable, several for a step where that takes more."""
    size = sizes[0]
    share = size // parts
    held, rest = [], 0
    for batch in data:
        batch = as_sequence(_choose(batch, names))
        samples = count_samples(batch)
        if rest or (samples > share and samples not in sizes):
            got = rest or samples
            raise BadInputError(
                f"data: a batch has {got} samples, and a step takes {size} (compile with batch={got}, or change data)"
            )
        if samples in sizes:
            yield batch
        elif samples < share:
            rest = samples
        else:
            held.append(batch)
            if len(held) == parts:
                yield _concatenate(held)
                held = []
    rest += len(held) * share
    if rest:
        _warn_of_rest(rest, size)


def _concatenate(batches):
    if isinstance(batches[0], Mapping):
        return {name: np.concatenate([to_numpy(name, batch[name]) for batch in batches]) for name in batches[0]}
    return [np.concatenate([to_numpy("data", value) for value in values]) for values in zip(*batches)]


def evaluation_batches(data, names, size):
    """Yields batches of up to `size` samples, as dictionaries or sequences of arrays."""
    samples = open_samples(data, names)
    if samples:
        for begin in range(0, samples.count, size):
            yield samples.take(slice(begin, begin + size))
        return
    for batch in data:
        batch = as_sequence(_choose(batch, names))
        is_named = isinstance(batch, Mapping)
        values = [to_numpy(name, value) for name, value in batch.items()] if is_named else batch
        values = values if is_named else [to_numpy("data", value) for value in values]
        for begin in range(0, count_samples(batch), size):
            part = [value[begin : begin + size] for value in values]
            yield dict(zip(batch, part)) if is_named else part
