# SPDX-License-Identifier: Apache-2.0
"""Writes goldens-attention/: what PyTorch computes for each kind of attention.

Needs PyTorch and onnxscript. Run it after changing a case, and check the
result in; the tests themselves need neither.

  CASE.onnx      products and a softmax, as exported to opset 18
  CASE-23.onnx   the operator Attention, as exported to opset 23
  data.npz       the samples of all cases: 8 batches of 2
  golden.json    the losses of 8 steps of SGD and how far each parameter moved

Queries, keys and values are linear layers of their own on one input.
"""

import json
import pathlib

import numpy as np
import onnx
import torch
import torch.nn.functional as F
from goldens import floats, ids, savez
from torch import nn

FOLDER = pathlib.Path(__file__).parent / "goldens-attention"
BATCH, STEPS, TOKENS, WIDTH, HEADS = 2, 8, 40, 16, 4
LR = 0.5


class Attention(nn.Module):
    """Attention and its projections; `key_heads` of them are repeated."""

    def __init__(self, key_heads=HEADS):
        super().__init__()
        self.key_heads = key_heads
        size = WIDTH // HEADS
        self.query = nn.Linear(WIDTH, WIDTH)
        self.key = nn.Linear(WIDTH, key_heads * size)
        self.value = nn.Linear(WIDTH, key_heads * size)
        self.out = nn.Linear(WIDTH, WIDTH)

    def attend(self, x, memory=None, **how):
        def split(rows, heads):
            return rows.unflatten(-1, (heads, WIDTH // HEADS)).transpose(1, 2)

        memory = x if memory is None else memory
        q = split(self.query(x), HEADS)
        k = split(self.key(memory), self.key_heads)
        v = split(self.value(memory), self.key_heads)
        gqa = self.key_heads != HEADS
        y = F.scaled_dot_product_attention(q, k, v, enable_gqa=gqa, **how)
        return self.out(y.transpose(1, 2).flatten(2))


class Causal(Attention):
    def forward(self, x):
        return self.attend(x, is_causal=True)


class Grouped(Attention):
    """Two heads read one key head."""

    def __init__(self):
        super().__init__(key_heads=2)

    def forward(self, x):
        return self.attend(x, is_causal=True)


class Window(Attention):
    """A token sees itself and the 6 before it."""

    def forward(self, x):
        at = torch.arange(TOKENS)
        distance = at[:, None] - at[None, :]
        return self.attend(x, attn_mask=(distance >= 0) & (distance < 7))


class Packed(Attention):
    """Several sequences in a row: a token sees those of its own, up to itself."""

    def forward(self, x, segments):
        at = torch.arange(TOKENS)
        same = segments[:, None, :, None] == segments[:, None, None, :]
        return self.attend(x, attn_mask=same & (at[:, None] >= at[None, :]))


class Ragged(Attention):
    """Keys from another sequence, of which the first `lengths` count: perhaps none."""

    def forward(self, x, memory, lengths):
        at = torch.arange(memory.shape[1])
        return self.attend(x, memory, attn_mask=(at < lengths[:, None])[:, None, None, :])


class Biased(Attention):
    """Scores fall with distance, by head (ALiBi)."""

    def forward(self, x):
        at = torch.arange(TOKENS, dtype=x.dtype)
        slopes = 2.0 ** -torch.arange(1, HEADS + 1, dtype=x.dtype)
        return self.attend(x, attn_mask=-slopes[:, None, None] * (at[:, None] - at[None, :]).abs())


CASES = {
    "causal": (Causal, ()),
    "grouped": (Grouped, ()),
    "window": (Window, ()),
    "packed": (Packed, ("segments",)),
    "ragged": (Ragged, ("memory", "lengths")),
    "biased": (Biased, ()),
}


def samples(n):
    g = torch.Generator().manual_seed(2)
    lengths = ids(g, 24, n)
    lengths[::4] = 0
    return {
        "x": floats(g, n, TOKENS, WIDTH),
        "memory": floats(g, n, 23, WIDTH),
        "segments": ids(g, 2, n, TOKENS).cumsum(1) // 4,
        "lengths": lengths,
        "labels": floats(g, n, TOKENS, WIDTH),
    }


def train(model, data, names):
    before = {k: v.clone() for k, v in model.state_dict().items()}
    optimizer = torch.optim.SGD(model.parameters(), lr=LR)
    losses = []
    for step in range(STEPS):
        batch = {k: v[step * BATCH : (step + 1) * BATCH] for k, v in data.items()}
        optimizer.zero_grad()
        loss = F.mse_loss(model(*(batch[k] for k in names)), batch["labels"])
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    moved = {k: (v - before[k]).norm().item() for k, v in model.state_dict().items()}
    return {"losses": losses, "moved": moved}


def export(model, inputs, opset, path):
    exported = torch.onnx.export(
        model,
        tuple(inputs.values()),
        dynamo=True,
        optimize=False,
        input_names=list(inputs),
        output_names=["output"],
        opset_version=opset,
        verbose=False,
    ).model_proto
    for part in (exported.graph, *exported.functions):
        for node in part.node:
            # Stack traces of the exporting machine.
            del node.metadata_props[:]
    onnx.checker.check_model(exported)
    path.write_bytes(exported.SerializeToString(deterministic=True))


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    data = samples(STEPS * BATCH)
    savez(FOLDER / "data.npz", {k: v.numpy() for k, v in data.items()})
    golden = {"torch": torch.__version__, "batch": BATCH, "lr": LR, "cases": {}}
    for name, (module, others) in CASES.items():
        names = ["x", *others]
        torch.manual_seed(0)
        model = module()
        inputs = {k: data[k][:BATCH] for k in names}
        export(model, inputs, 18, FOLDER / f"{name}.onnx")
        export(model, inputs, 23, FOLDER / f"{name}-23.onnx")
        golden["cases"][name] = train(model, data, names)
        losses = golden["cases"][name]["losses"]
        print(f"{name}: loss {losses[0]:.4f} -> {losses[-1]:.4f}")
        assert np.isfinite(losses).all()
    (FOLDER / "golden.json").write_text(json.dumps(golden, indent=1) + "\n")
