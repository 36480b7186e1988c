#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes packing.onnx, a GPT whose inputs say which tokens belong together, and its data.

Needs PyTorch and onnxscript; only those who change the model run it.

  packing.onnx      2 layers of width 32, 2 heads, context 512, over bytes
  documents.jsonl   the paragraphs of the tree's LICENSE, one document each
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

CONTEXT = 512


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.qkv, self.out = heads, nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x, mask):
        b, t, width = x.shape
        parts = self.qkv(self.norm1(x)).split(width, 2)
        q, k, v = (part.view(b, t, self.heads, width // self.heads).transpose(1, 2) for part in parts)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        x = x + self.out(y.transpose(1, 2).reshape(b, t, width))
        return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))


class PackedGpt(nn.Module):
    def __init__(self, layers=2, width=32, heads=2):
        super().__init__()
        self.token, self.position = nn.Embedding(256, width), nn.Embedding(CONTEXT, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        for module in self.modules():
            if isinstance(module, (nn.Linear, nn.Embedding)):
                nn.init.normal_(module.weight, std=0.02)
            if isinstance(module, nn.Linear):
                nn.init.zeros_(module.bias)

    def forward(self, tokens, positions, mask):
        x = self.token(tokens) + self.position(positions)
        for block in self.blocks:
            x = block(x, mask)
        return F.linear(self.norm(x), self.token.weight)


def main():
    torch.manual_seed(0)
    tokens = torch.arange(2 * CONTEXT).reshape(2, CONTEXT) % 256
    positions = torch.arange(CONTEXT).expand(2, CONTEXT)
    mask = torch.ones(2, 1, CONTEXT, CONTEXT, dtype=torch.bool).tril()
    export_for_training(
        PackedGpt(),
        (tokens, positions, mask),
        HERE / "packing.onnx",
        input_names=["tokens", "positions", "mask"],
        output_names=["logits"],
    )
    text = (ROOT / "LICENSE").read_text()
    paragraphs = [" ".join(part.split()) for part in text.split("\n\n")]
    lines = [json.dumps({"text": part}) + "\n" for part in paragraphs if part]
    (HERE / "documents.jsonl").write_text("".join(lines))
    lengths = sorted(len(part) for part in paragraphs if part)
    print(f"{len(lines)} documents of {lengths[0]} to {lengths[-1]} bytes, median {lengths[len(lengths) // 2]}")


if __name__ == "__main__":
    main()
