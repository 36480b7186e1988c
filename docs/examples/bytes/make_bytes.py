#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes bytes.onnx, a GPT over bytes, and what PyTorch computes with it.

Needs PyTorch and onnxscript; only those who change the model run it.

  bytes.onnx   4 layers of width 64, 4 heads, context 128, tied embeddings
  losses.json  PyTorch's losses of 50 steps over the tree's LICENSE: batches of
               4 in order, AdamW with a rate of 1e-3
"""

import json
import pathlib
import sys

import torch
import torch.nn.functional as F
from torch import nn

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path.insert(0, str(ROOT / "frontends/torch"))
from ingot_torch import export_for_training  # noqa: E402

CONTEXT, BATCH, STEPS, RATE = 128, 4, 50, 1e-3


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.qkv, self.out = heads, nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        b, t, width = x.shape
        q, k, v = (
            part.view(b, t, self.heads, width // self.heads).transpose(1, 2) for part in self.qkv(x).split(width, 2)
        )
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(y.transpose(1, 2).reshape(b, t, width))


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.norm1, self.attention = nn.LayerNorm(width), Attention(width, heads)
        self.norm2, self.up, self.down = nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))


class ByteGpt(nn.Module):
    def __init__(self, layers=4, width=64, heads=4):
        super().__init__()
        self.token, self.position = nn.Embedding(256, width), nn.Embedding(CONTEXT, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        for module in self.modules():
            if isinstance(module, (nn.Linear, nn.Embedding)):
                nn.init.normal_(module.weight, std=0.02)
            if isinstance(module, nn.Linear):
                nn.init.zeros_(module.bias)

    def forward(self, tokens):
        x = self.token(tokens) + self.position(torch.arange(tokens.shape[1]))
        for block in self.blocks:
            x = block(x)
        return F.linear(self.norm(x), self.token.weight)


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = ByteGpt()
    example = torch.arange(2 * CONTEXT).reshape(2, CONTEXT) % 256
    export_for_training(model, (example,), HERE / "bytes.onnx", output_names=["logits"])

    text = torch.tensor(list((ROOT / "LICENSE").read_bytes()))
    samples = (len(text) - 1) // CONTEXT
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE)
    losses = []
    for step in range(STEPS):
        first = step % (samples // BATCH) * BATCH
        starts = range(first * CONTEXT, (first + BATCH) * CONTEXT, CONTEXT)
        tokens = torch.stack([text[i : i + CONTEXT] for i in starts])
        labels = torch.stack([text[i + 1 : i + 1 + CONTEXT] for i in starts])
        loss = F.cross_entropy(model(tokens).flatten(0, 1), labels.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    record = {"torch": torch.__version__, "batch": BATCH, "lr": RATE, "losses": losses}
    (HERE / "losses.json").write_text(json.dumps(record, indent=1) + "\n")
    print(f"{sum(p.numel() for p in model.parameters())} parameters, loss {losses[0]:.4f} -> {losses[-1]:.4f}")


if __name__ == "__main__":
    main()
