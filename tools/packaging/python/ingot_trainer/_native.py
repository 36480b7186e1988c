# SPDX-License-Identifier: Apache-2.0
"""The functions of ingot.h by ctypes, which releases Python's lock while one runs."""

import collections
import ctypes
import os
import sys
import types

from ingot_trainer.errors import BadInputError, FailedError, UsageError

# The lists of a model.
(
    STEP_INPUTS,
    STEP_RESULTS,
    EVALUATE_INPUTS,
    EVALUATE_RESULTS,
    PREDICT_INPUTS,
    PREDICT_OUTPUTS,
    STATES,
    HYPERPARAMETERS,
    SHAPES,
) = range(9)

# The types of elements by their numbers, with NumPy's names: it has no bfloat16.
TYPES = ("float64", "float32", "float16", "bfloat16", "int64", "int32", "int8", "uint8", "bool")
FLOAT32 = 1

ROLE_OPTIMIZER = 4

Tensor = collections.namedtuple("Tensor", "name shape bytes type role")

_Log = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p)


class _Allocator(ctypes.Structure):
    _fields_ = [("allocate", ctypes.c_void_p), ("release", ctypes.c_void_p), ("data", ctypes.c_void_p)]


class _Options(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_size_t),
        ("seed", ctypes.c_uint64),
        ("threads", ctypes.c_int),
        ("flags", ctypes.c_uint),
        ("weights", ctypes.c_char_p),
        ("sidecar", ctypes.c_char_p),
        ("allocator", _Allocator),
        ("log", _Log),
        ("log_data", ctypes.c_void_p),
    ]


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("rank", ctypes.c_size_t),
        ("elements", ctypes.c_size_t),
        ("bytes", ctypes.c_size_t),
        ("type", ctypes.c_int),
        ("role", ctypes.c_int),
    ]


class _Buffer(ctypes.Structure):
    """ingot_input, and ingot_output."""

    _fields_ = [("data", ctypes.c_void_p), ("bytes", ctypes.c_size_t)]


class _Statistics(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_size_t),
        ("steps", ctypes.c_int64),
        ("state_bytes", ctypes.c_size_t),
        ("arena_bytes", ctypes.c_size_t),
        ("scratch_bytes", ctypes.c_size_t),
        ("threads", ctypes.c_int),
    ]


_pointer, _size, _text, _int = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_int
_doubles, _buffers = ctypes.POINTER(ctypes.c_double), ctypes.POINTER(_Buffer)

# The arguments of the functions that return a status.
_ARGUMENTS = {
    "open": [_pointer, ctypes.POINTER(_Options), ctypes.POINTER(_pointer)],
    "close": [_pointer],
    "describe": [_pointer, _int, _size, ctypes.POINTER(_Tensor)],
    "select_shape": [_pointer, _size],
    "step": [_pointer, _buffers, _size, _doubles, _size],
    "evaluate": [_pointer, _buffers, _size, _size, _doubles, _size],
    "predict": [_pointer, _buffers, _size, _size, _buffers, _size],
    "get_hyperparameter": [_pointer, _text, _doubles],
    "set_hyperparameter": [_pointer, _text, ctypes.c_double],
    "get_state": [_pointer, _text, _int, _pointer, _size],
    "set_state": [_pointer, _text, _int, _pointer, _size],
    "reset": [_pointer, ctypes.c_uint64],
    "save": [_pointer, _text, _int],
    "resume": [_pointer, _text],
    "load": [_pointer, _text],
    "export": [_pointer, _text],
    "get_statistics": [_pointer, ctypes.POINTER(_Statistics)],
}

_ERRORS = {1: FailedError, 2: UsageError, 3: BadInputError}


class Library:
    """A library that ingotc wrote. It stays loaded until the process ends."""

    def __init__(self, path, model):
        try:
            self._library = ctypes.CDLL(os.fspath(path))
        except OSError as error:
            raise BadInputError(f"{path}: cannot be loaded: {error}") from None
        self._functions = {}
        try:
            for name, arguments in _ARGUMENTS.items():
                self._functions[name] = self._find(f"ingot_{name}", arguments, _int)
            self._count = self._find("ingot_count", [_pointer, _int], _size)
            self._last_error = self._find("ingot_last_error", [], _text)
            self.model = self._find(f"{model}_model", [], _pointer)()
        except AttributeError:
            raise BadInputError(
                f"{path}: is no library of this version that ingotc --emit lib wrote (keep the name that it got)"
            ) from None

    def _find(self, name, arguments, result):
        function = getattr(self._library, name)
        function.argtypes, function.restype = arguments, result
        return function

    def call(self, name, *arguments):
        """Calls ingot_NAME; raises what its status stands for."""
        status = self._functions[name](*arguments)
        if status:
            # The text is of the thread's last failure, so that no other call may come between.
            raise _ERRORS.get(status, FailedError)(self._last_error().decode(errors="replace"))

    def count(self, session, which):
        return self._count(session, which)


def _make_log(state):
    """Prints lines of the library. ctypes drops exceptions there, so that a Ctrl-C is kept in `state`."""

    def print_line(_, line):
        try:
            print(line.decode(errors="replace"), file=sys.stderr)
        except KeyboardInterrupt:
            state.is_interrupted = True

    return _Log(print_line)


def _make_buffers(arrays):
    """An array of buffers that lie in NumPy's."""
    return (_Buffer * len(arrays))(*[_Buffer(array.ctypes.data, array.nbytes) for array in arrays])


class Session:
    """A session of a library. Arrays are contiguous, and of the types and sizes of its lists."""

    def __init__(self, library, seed=0, threads=0, weights=None):
        self._handle = None
        self._library = library
        self._state = types.SimpleNamespace(is_interrupted=False)
        # The library calls it as long as the session is open.
        self._log = _make_log(self._state)
        options = _Options(size=ctypes.sizeof(_Options), seed=seed, threads=threads, log=self._log)
        options.weights = os.fsencode(weights) if weights else None
        handle = _pointer()
        library.call("open", library.model, options, handle)
        self._handle = handle

    def _call(self, name, *arguments):
        if self._handle is None:
            raise UsageError("trainer: it is closed (compile or open another one)")
        self._library.call(name, self._handle, *arguments)
        if self._state.is_interrupted:
            self._state.is_interrupted = False
            raise KeyboardInterrupt

    def close(self):
        if self._handle is not None:
            self._call("close")
            self._handle = None

    def list(self, which):
        """The entries of a list of the shape that is selected."""
        entries = []
        for index in range(self._library.count(self._handle, which)):
            tensor = _Tensor()
            self._call("describe", which, index, tensor)
            shape = tuple(tensor.shape[: tensor.rank]) if tensor.rank else ()
            entries.append(Tensor(tensor.name.decode(), shape, tensor.bytes, tensor.type, tensor.role))
        return entries

    def select_shape(self, index):
        self._call("select_shape", index)

    def step(self, inputs, result_count):
        results = (ctypes.c_double * result_count)()
        self._call("step", _make_buffers(inputs), len(inputs), results, result_count)
        return list(results)

    def evaluate(self, inputs, samples, result_count):
        results = (ctypes.c_double * result_count)()
        self._call("evaluate", _make_buffers(inputs), len(inputs), samples, results, result_count)
        return list(results)

    def predict(self, inputs, samples, outputs):
        self._call("predict", _make_buffers(inputs), len(inputs), samples, _make_buffers(outputs), len(outputs))

    def get_hyperparameter(self, name):
        value = ctypes.c_double()
        self._call("get_hyperparameter", name.encode(), value)
        return value.value

    def set_hyperparameter(self, name, value):
        self._call("set_hyperparameter", name.encode(), value)

    def get_state(self, name, type, array):
        self._call("get_state", name.encode(), type, array.ctypes.data, array.nbytes)

    def set_state(self, name, type, array):
        self._call("set_state", name.encode(), type, array.ctypes.data, array.nbytes)

    def reset(self, seed):
        self._call("reset", seed)

    def save(self, folder, keep):
        self._call("save", os.fsencode(folder), keep)

    def resume(self, path):
        self._call("resume", os.fsencode(path))

    def load(self, path):
        self._call("load", os.fsencode(path))

    def export(self, path):
        self._call("export", os.fsencode(path))

    def get_statistics(self):
        statistics = _Statistics(size=ctypes.sizeof(_Statistics))
        self._call("get_statistics", statistics)
        return {name: getattr(statistics, name) for name, _ in _Statistics._fields_[1:]}
