# SPDX-License-Identifier: Apache-2.0
"""The compiler of Ingot for Python environments: the programs `ingotc`, `ingot-data`, `ingot-measure`, `ingot-report`
and `ingot-top` of this package, which scripts of the same names start, and `python -m ingot_trainer` for `ingotc`.

    import subprocess, ingot_trainer
    subprocess.run([ingot_trainer.program("ingotc"), "model.onnx", "-o", "trainer", "--loss", "cross-entropy"])

The same model trained in the process, which needs NumPy:

    with ingot_trainer.compile("model.onnx", loss="cross-entropy", batch=32) as trainer:
        trainer.fit({"image": images, "labels": labels}, epochs=5)
"""

import importlib
import os
import sys

PROGRAMS = ("ingotc", "ingot-data", "ingot-measure", "ingot-report", "ingot-top")


def program(name="ingotc"):
    """Returns the path of a program of the package. Raises ValueError for another name."""
    if name not in PROGRAMS:
        raise ValueError(f"{name} is no program of Ingot: {', '.join(PROGRAMS)}")
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", name)


def _start(name):
    """Becomes the program, so that signals and the exit status are its own."""
    path = program(name)
    os.execv(path, [path] + sys.argv[1:])


def ingotc():
    _start("ingotc")


def ingot_data():
    _start("ingot-data")


def ingot_measure():
    _start("ingot-measure")


def ingot_report():
    _start("ingot-report")


def ingot_top():
    _start("ingot-top")


# Modules of what needs NumPy, which the programs do without.
_LAZY = {
    "BadInputError": "errors",
    "CompileError": "errors",
    "Error": "errors",
    "FailedError": "errors",
    "Trainer": "trainer",
    "UsageError": "errors",
    "compile": "trainer",
    "save_dataset": "data",
}


def __getattr__(name):
    if name not in _LAZY:
        raise AttributeError(f"module {__name__} has no attribute {name}")
    return getattr(importlib.import_module(f"{__name__}.{_LAZY[name]}"), name)


def __dir__():
    return sorted([*globals(), *_LAZY])
