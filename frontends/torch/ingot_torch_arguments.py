# SPDX-License-Identifier: Apache-2.0
"""What forward is called with: the names of the tensors, and the dimensions that the file leaves open.

Part of ingot_torch, which is what to import.
"""

import contextlib
import dataclasses
import inspect
import itertools
import re

import torch
from ingot_torch_errors import ExportError
from torch.utils import _pytree as pytree


def argument_names(module, count, is_free):
    """The names of forward's first arguments; made up for those without if inputs have names of their own."""
    names = [
        name
        for name, parameter in inspect.signature(module.forward).parameters.items()
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
    ][:count]
    if len(names) < count and is_free:
        names += [f"argument_{i}" for i in range(len(names), count)]
    if len(names) < count:
        raise ExportError("forward takes fewer arguments than there are examples", "give input_names")
    return names


def separate(arguments):
    """A copy of each tensor: the exporter takes tensors that share memory for one input."""

    def copy_of(value):
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            with contextlib.suppress(ValueError):  # It is known already.
                torch.export.register_dataclass(type(value))
        return value.detach().clone() if isinstance(value, torch.Tensor) else value

    # Dataclasses have entries once they are registered.
    return pytree.tree_map(copy_of, pytree.tree_map(copy_of, arguments))


def name_tensors(arguments, positional):
    """The tensors among the arguments, by the names of these and of their entries."""
    found = {}
    for name, value in arguments.items():
        entries = [entry for entry in pytree.tree_leaves(value) if isinstance(entry, torch.Tensor)]
        if name in positional and not entries and value is not None:
            raise ExportError(f"the example for {name} is no tensor", "wrap the module so that it takes tensors only")
        if isinstance(value, (list, tuple, dict)) and not entries:
            raise ExportError(
                f"the argument {name} is {type(value).__name__} without tensors",
                "wrap the module so that it takes tensors, and constants such as numbers and strings",
            )
    for keys, value in pytree.tree_flatten_with_path(arguments)[0]:
        parts = [str(getattr(key, "key", getattr(key, "idx", getattr(key, "name", "")))) for key in keys]
        if isinstance(value, torch.Tensor):
            found["_".join(parts)] = value
        elif not isinstance(value, (bool, int, float, str, type(None))):
            raise ExportError(
                f"the argument {'.'.join(parts)} is {type(value).__name__}",
                "wrap the module so that it takes tensors, and constants such as numbers and strings",
            )
    return found


def dynamic_shapes_of(arguments, given, positional, batch):
    """The dimensions that the file leaves open, by argument, in the form that the exporter takes."""
    if batch is None and given is None:
        return None
    if isinstance(given, (tuple, list)):
        given = dict(zip(positional, given))
    unknown = set(given or {}) - set(arguments)
    if unknown:
        raise ExportError(
            f"dynamic_shapes names {sorted(unknown)[0]}, which is no argument",
            f"the arguments are {', '.join(arguments)}",
        )
    sample = {} if batch is None else {0: torch.export.Dim(batch)}

    def merge(value, named):
        if isinstance(value, torch.Tensor):
            named = dict(enumerate(named)) if isinstance(named, (tuple, list)) else dict(named or {})
            return {d: n for d, n in (sample | named).items() if n is not None} or None
        if dataclasses.is_dataclass(value):
            entries = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
            return [merge(entry, (named or {}).get(name)) for name, entry in entries.items()]
        if isinstance(value, dict):
            return {name: merge(entry, (named or {}).get(name)) for name, entry in value.items()}
        if isinstance(value, (tuple, list)):
            return type(value)(merge(v, n) for v, n in itertools.zip_longest(value, named or []))
        return None

    return {name: merge(value, (given or {}).get(name)) for name, value in arguments.items()}


def name_dimensions(proto, names, arguments, shapes):
    """The exporter forgets names of dimensions, that of the batch where an argument is a constant."""
    wanted = {}
    is_leaf = lambda shape: isinstance(shape, dict) and all(isinstance(key, int) for key in shape)  # noqa: E731
    leaves = pytree.tree_leaves(shapes, is_leaf=lambda shape: is_leaf(shape) or shape is None) if shapes else []
    values = pytree.tree_leaves(arguments)
    named = [shape for shape, value in zip(leaves, values) if isinstance(value, torch.Tensor)]
    inputs = {value.name: value for value in proto.graph.input}
    for name, shape in zip(names, named if len(leaves) == len(values) else []):
        for index, dimension in (shape or {}).items():
            text = dimension if isinstance(dimension, str) else getattr(dimension, "__name__", "")
            dims = inputs[name].type.tensor_type.shape.dim if name in inputs else []
            if index < len(dims) and dims[index].dim_param not in ("", text) and text.isidentifier():
                wanted.setdefault(dims[index].dim_param, text)
    for symbol, text in wanted.items():
        pattern = re.compile(rf"\b{re.escape(symbol)}\b")
        for value in [*proto.graph.input, *proto.graph.output, *proto.graph.value_info]:
            for dimension in value.type.tensor_type.shape.dim:
                if dimension.dim_param:
                    dimension.dim_param = pattern.sub(text, dimension.dim_param)
