# SPDX-License-Identifier: Apache-2.0
"""What a model of the zoo is, and how one is built. Importing this needs no PyTorch."""

import dataclasses
from collections.abc import Callable

BATCH, STEPS = 4, 5


@dataclasses.dataclass
class Model:
    """A row of the table: `build` makes an Example, and is called where PyTorch is."""

    name: str
    group: str
    build: Callable
    # dynamo, or torchscript: the exporter before it, in training mode; or jax.
    exporter: str = "dynamo"
    # What is known of why it does not agree.
    note: str = ""


@dataclasses.dataclass
class Example:
    """A module, one data set, and what to minimize.

    module  takes the inputs in their order, returns a tensor, or whatever `pick` takes one from; of JAX, a function
            of a list of parameters and the inputs, and that list
    inputs  name -> tensor; the first dimension counts samples, `batch` times five of them
    keys    the names under which the module takes its inputs, where they are not positional
    loss    as ingotc's --loss: cross-entropy[:AXIS], mse or bce-with-logits
    """

    module: object
    inputs: dict
    loss: str = "cross-entropy"
    pick: Callable | None = None
    keys: tuple = ()
    batch: int = BATCH


def images(size, channels=3, batch=BATCH):
    import torch

    height, width = size if isinstance(size, tuple) else (size, size)
    return {"images": torch.randn(batch * STEPS, channels, height, width)}


def tokens(vocabulary, length, batch=BATCH, name="input_ids"):
    import torch

    return {name: torch.randint(3, vocabulary, (batch * STEPS, length))}


def padded(vocabulary, length, batch=BATCH):
    """Tokens of several lengths, and the mask that says so; the first samples are whole."""
    import torch

    data = tokens(vocabulary, length, batch)
    lengths = torch.randint(length // 2, length + 1, (batch * STEPS, 1))
    lengths[:1] = length
    data["attention_mask"] = (torch.arange(length) < lengths).to(torch.int64)
    return data
