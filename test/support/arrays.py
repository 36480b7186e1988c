# SPDX-License-Identifier: Apache-2.0
"""Arrays for tests, and what becomes of them; %arrays in RUN lines.

    arrays.py make FILE.npz NAME=SHAPE[:VALUES]...
    arrays.py raw FILE SHAPE[:VALUES]
    arrays.py print FILE.npz NAME...
    arrays.py compare [--rtol R] [--atol A] [--rtol-of NAME=R] (--count N | --names NAME,...) EXPECTED.npz GOT.npz...

SHAPE is sizes, as in 4x6; nothing for a scalar. VALUES are `range` (0, 1, 2 ...), a number for all elements, or
`labels=N` (N classes; -100, which does not count, for three of the second row), all in f64 or i64; without VALUES
they are normally distributed, in f32. `raw` writes the bytes of f32 values. `compare` fails unless every file has the
same N names as the first one, or those that are given, and values within the tolerances.
"""

import argparse

import numpy as np


def values(random, text):
    shape, _, kind = text.partition(":")
    shape = [int(size) for size in shape.split("x")] if shape else []
    if not kind:
        return random.normal(size=shape).astype(np.float32)
    if kind == "range":
        return np.arange(float(np.prod(shape))).reshape(shape)
    if kind.startswith("labels="):
        labels = random.integers(0, int(kind[len("labels=") :]), shape)
        labels[1, 2:5] = -100
        return labels
    return np.full(shape, float(kind))


def make(options):
    random = np.random.default_rng(0)
    pairs = (text.split("=", 1) for text in options.arrays)
    np.savez(options.file, **{name: values(random, text) for name, text in pairs})


def raw(options):
    values(np.random.default_rng(0), options.array).astype(np.float32).tofile(options.file)


def show(options):
    with np.load(options.file) as arrays:
        print(*(arrays[name] for name in options.names))


def compare(options):
    rtol = {name: float(value) for name, value in (text.split("=") for text in options.rtol_of)}
    expected = np.load(options.expected)
    names = sorted(expected)
    assert (options.names or len(names) == options.count) and set(rtol) <= set(names), names
    for path in options.got:
        got = np.load(path)
        assert options.names or sorted(got) == names, (path, sorted(got), names)
        for name in options.names or names:
            np.testing.assert_allclose(
                got[name],
                expected[name],
                rtol=rtol.get(name, options.rtol),
                atol=options.atol,
                err_msg=f"{name} of {path}",
            )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)

    def command(name, run, *arguments):
        sub = commands.add_parser(name)
        sub.set_defaults(run=run)
        for argument, settings in arguments:
            sub.add_argument(argument, **settings)

    command("make", make, ("file", {}), ("arrays", {"nargs": "+"}))
    command("raw", raw, ("file", {}), ("array", {}))
    command("print", show, ("file", {}), ("names", {"nargs": "+"}))
    command(
        "compare",
        compare,
        ("--rtol", {"type": float, "default": 0.0}),
        ("--atol", {"type": float, "default": 0.0}),
        ("--rtol-of", {"action": "append", "default": []}),
        ("--count", {"type": int}),
        ("--names", {"type": lambda text: text.split(",")}),
        ("expected", {}),
        ("got", {"nargs": "+"}),
    )
    options = parser.parse_args()
    options.run(options)


if __name__ == "__main__":
    main()
