# SPDX-License-Identifier: Apache-2.0
"""adjoint.py inputs FILE W | adjoint.py check OUTPUTS W: a function that is linear in w is its gradient times w."""

import sys

import numpy as np

random = np.random.default_rng(5)
w = random.standard_normal((4, 2))
if sys.argv[1] == "inputs":
    np.savez(sys.argv[2], x=random.standard_normal((16, 2)), c=random.standard_normal((16, 2)))
    np.savez(sys.argv[3], w=w)
else:
    outputs = np.load(sys.argv[2])
    product = np.sum(w * outputs["w.grad"])
    error = abs(product - outputs["loss"]) / abs(product)
    assert error < 1e-12, f"{outputs['loss']} is not {product}"
