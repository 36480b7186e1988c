# SPDX-License-Identifier: Apache-2.0
"""Models of the tree, changed in hostile ways or at random bytes."""

import onnx
from subjects import Model

from families import mutations, pool


def make(rng, _box, _seed):
    name, data, flags = rng.choice(pool.models())
    stage = rng.choice(["plan"] * 6 + ["train", "import"])
    if rng.random() < 0.2:
        changed = bytearray(data)
        for _ in range(rng.randint(1, 20)):
            changed[rng.randrange(len(changed))] = rng.randrange(256)
        changed = changed[: rng.choice([len(changed), rng.randrange(len(changed))])]
        return Model(f"{name}: bytes", bytes(changed), flags, stage)
    model = onnx.ModelProto.FromString(data)
    done = mutations.mutate(rng, model, rng.choice([1, 1, 1, 2, 3]))
    return Model(f"{name}: {done}", model.SerializeToString(), flags, stage)
