# SPDX-License-Identifier: Apache-2.0
"""The models, in the order of the table. Listing them needs no PyTorch."""

from . import functions, signals, text, vision, written


def models():
    found = {}
    for source in (written, vision, text, signals, functions):
        for model in source.models():
            if model.name in found:
                raise ValueError(f"two models named {model.name}")
            found[model.name] = model
    return list(found.values())
