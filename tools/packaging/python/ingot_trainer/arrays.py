# SPDX-License-Identifier: Apache-2.0
"""Values as arrays of the types and shapes that a model takes: without a copy where they are so already.

Floating-point values are rounded to the type of the input. Integers and booleans become it if no value changes.
Floating-point values for an input of integers are an error.
"""

import numpy as np

from ingot_trainer import _native
from ingot_trainer.errors import BadInputError

# Devices of DLPack whose memory a CPU reads: kDLCPU, and pinned memory of CUDA and ROCm.
_CPU_DEVICES = (1, 3, 11)


def to_numpy(name, value):
    """Any array, tensor or list as a NumPy array, which may share the memory."""
    if isinstance(value, np.ndarray):
        array = value
    elif hasattr(value, "__dlpack__"):
        array = _from_dlpack(name, value)
    else:
        try:
            array = np.asarray(value)
        except ValueError as error:
            raise BadInputError(f"{name}: {error} (samples of one shape make an array)") from None
    if array.dtype.kind not in "biuf":
        raise BadInputError(f"{name}: has elements of type {array.dtype} (give numbers)")
    return array


def _from_dlpack(name, value):
    device = value.__dlpack_device__()[0]
    if device not in _CPU_DEVICES:
        raise BadInputError(f"{name}: is not in the memory of the CPU (give a copy that is, such as tensor.cpu())")
    if hasattr(value, "detach"):
        value = value.detach()
        # NumPy has no bfloat16; float32 has all its values.
        if str(value.dtype) == "torch.bfloat16":
            value = value.float()
    try:
        return np.from_dlpack(value)
    except (AttributeError, BufferError, RuntimeError, TypeError):
        # NumPy before 1.22, and types that its DLPack lacks.
        return np.asarray(value)


def to_type(name, array, type):
    """A contiguous array of a type of ingot.h."""
    if _native.TYPES[type] == "bfloat16":
        return _to_bfloat16(array)
    wanted = np.dtype(_native.TYPES[type])
    if array.dtype != wanted:
        array = _convert(name, array, wanted)
    return np.ascontiguousarray(array)


def _convert(name, array, wanted):
    if array.dtype.kind == "f" and wanted.kind != "f":
        raise BadInputError(f"{name}: has elements of type {array.dtype} instead of {wanted} (give integers)")
    with np.errstate(all="ignore"):
        converted = array.astype(wanted)
        is_kept = array.dtype.kind == "f" or np.array_equal(converted.astype(array.dtype), array)
    if not is_kept:
        raise BadInputError(f"{name}: has values that {wanted} does not hold (give them in its range)")
    return converted


def _to_bfloat16(array):
    """The upper halves of float32, rounded to nearest even."""
    bits = np.ascontiguousarray(array, dtype=np.float32).view(np.uint32)
    rounded = (bits + (0x7FFF + ((bits >> 16) & 1)).astype(np.uint32)) >> 16
    return np.where(np.isnan(array), 0x7FC0, rounded).astype(np.uint16)


def allocate(type, shape):
    """Memory for values of a type of ingot.h."""
    name = _native.TYPES[type]
    return np.empty(shape, np.uint16 if name == "bfloat16" else name)


def from_type(array, type):
    """What a call wrote into allocate()'s memory; bfloat16 as float32."""
    if _native.TYPES[type] != "bfloat16":
        return array
    return (array.astype(np.uint32) << 16).view(np.float32)
