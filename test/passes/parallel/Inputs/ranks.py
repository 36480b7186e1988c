"""make FILE: samples and labels, many of which do not count. compare A B [NAME...]:
arrays (of these names) within 1e-6."""

import sys

import numpy as np

if sys.argv[1] == "make":
    random = np.random.default_rng(1)
    labels = random.integers(0, 3, 24)
    # None of the first four, and few of those after, count.
    labels[:4] = labels[5:8] = labels[13:20] = -100
    np.savez(sys.argv[2], x=random.standard_normal((24, 4)).astype(np.float32), labels=labels)
else:
    a, b = (np.load(name) for name in sys.argv[2:4])
    names = sys.argv[4:] or sorted(a)
    assert names == (sys.argv[4:] or sorted(b)), (sorted(a), sorted(b))
    for name in names:
        np.testing.assert_allclose(a[name], b[name], rtol=1e-6, atol=1e-6, err_msg=name)
    print(len(names), "arrays agree")
