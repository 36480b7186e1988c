# SPDX-License-Identifier: Apache-2.0
"""The errors of ingot_torch, which is what to import."""


class ExportError(RuntimeError):
    """The file would not train as the module does; says why and what to do."""

    def __init__(self, what, hint):
        super().__init__(f"{what}\nhint: {hint}")


class LoadError(ExportError):
    """The trained weights are not those of the module."""
