# SPDX-License-Identifier: Apache-2.0
"""Gradients of the operators of ONNX Runtime's optimizers: backward.py takes what ../gradients/gradients.py takes."""

import pathlib
import sys

import cases

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "gradients"))
import gradients  # noqa: E402

if __name__ == "__main__":
    ALL = {**cases.CASES, **{name: case for name, (case, _) in cases.FORMULAS.items()}}
    gradients.CASES = {name: (23, *case) for name, case in ALL.items()}
    sys.exit(gradients.main())
