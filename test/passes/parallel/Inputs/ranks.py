# SPDX-License-Identifier: Apache-2.0
"""ranks.py FILE: samples and labels, many of which do not count."""

import sys

import numpy as np

random = np.random.default_rng(1)
labels = random.integers(0, 3, 24)
# None of the first four, and few of those after, count.
labels[:4] = labels[5:8] = labels[13:20] = -100
np.savez(sys.argv[1], x=random.standard_normal((24, 4)).astype(np.float32), labels=labels)
