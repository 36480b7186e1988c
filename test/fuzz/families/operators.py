# SPDX-License-Identifier: Apache-2.0
"""An operator of the standard between a batch and a loss, changed in hostile ways."""

import functools
import re

import onnx
from subjects import Model

from families import mutations, pool


@functools.cache
def kinds():
    """The operators that are imported, and the others."""
    page = (pool.ROOT / "docs/onnx.md").read_text(encoding="utf-8")
    words = set(re.findall(r"\b[A-Z]\w+", page[page.index("## Operators") :]))
    names = sorted(pool.operators())
    return [name for name in names if name in words], [name for name in names if name not in words]


def prepare(_programs, _scratch):
    pool.operators()


def make(rng, _box, _seed):
    operators = pool.operators()
    imported, others = kinds()
    kind = rng.choice(others if rng.random() < 0.05 else imported)
    name, data = rng.choice(operators[kind])
    model = onnx.ModelProto.FromString(data)
    done = mutations.mutate(rng, model, rng.choice([1, 1, 1, 2, 2, 3]))
    flags = [f"--batch={rng.choice([1, 4, 4, 4])}", *rng.choice([[], [], ["-O0"], ["--precision=bf16"]])]
    stage = rng.choice(["plan"] * 5 + ["train"])
    return Model(f"{name}: {done}", model.SerializeToString(), flags, stage)
