# SPDX-License-Identifier: Apache-2.0
"""One random graph of an operator."""

import numpy as np


class Case:
    """One graph: its text, its inputs and constants, and PyTorch's function of the inputs, if PyTorch has one."""

    def __init__(self, source):
        self.source = source
        self.opset, self.body, self.inputs, self.constants, self.torch = 22, "", {}, {}, None
        # Relative to the larger of 1 and the number, of single precision.
        self.tolerance = 2e-5

    def integer(self, low, high):
        return int(self.source.integers(low, high + 1))

    def flag(self):
        return bool(self.source.integers(2))

    def pick(self, *choices):
        return choices[self.integer(0, len(choices) - 1)]

    def input(self, name, shape):
        self.inputs[name] = self.source.standard_normal(shape).astype(np.float32)

    def ints(self, name, values):
        self.constants[name] = np.array(values, np.int64)

    def floats(self, name, values):
        self.constants[name] = np.array(values, np.float32)


def attributes(given):
    """The text of attributes; None leaves one out."""
    parts = []
    for name, value in given.items():
        if value is not None:
            parts.append(f'{name}="{value}"' if isinstance(value, str) else f"{name}={value}")
    return f" <{', '.join(parts)}>" if parts else ""
