# SPDX-License-Identifier: Apache-2.0
"""What calls raise. The text is that of the library or the compiler, which says what to do."""


class Error(Exception):
    """The base of all."""


class CompileError(Error, ValueError):
    """ingotc refused the model or an option."""


class FailedError(Error, RuntimeError):
    """A call failed while it ran."""


class UsageError(Error, ValueError):
    """A mistake of the caller: a wrong size, an unknown name, a closed trainer."""


class BadInputError(Error, ValueError):
    """A file, or values of an input, are wrong."""
