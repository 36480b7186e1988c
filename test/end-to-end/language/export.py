# SPDX-License-Identifier: Apache-2.0
"""Writes the models of this folder, small ones of PyTorch and of Hugging Face's GPT-2. Needs torch and transformers;
the files are checked in.

    export.py [FOLDER]
"""

import pathlib
import sys

import onnx
import torch
import transformers
from torch import nn
from torch.nn import functional

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[2] / "frontends/torch"))
import ingot_torch  # noqa: E402

VOCABULARY, TOKENS, WIDTH, HEADS = 64, 8, 16, 2


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in range(2))
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        q, k, v = (part.unflatten(-1, (HEADS, -1)).transpose(1, 2) for part in self.qkv(self.norms[0](x)).chunk(3, -1))
        attended = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(attended.transpose(1, 2).flatten(2))
        return x + self.down(functional.gelu(self.up(self.norms[1](x))))


class Gpt(nn.Module):
    """Logits of all positions and the loss if there are targets, otherwise those of the last position, which is all
    that writing text needs."""

    def __init__(self):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(2 * TOKENS, WIDTH)
        self.block, self.norm = Block(), nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)
        self.head.weight = self.tokens.weight

    def forward(self, idx, targets=None):
        x = self.tokens(idx) + self.positions(torch.arange(idx.shape[1]))
        x = self.norm(self.block(x))
        if targets is None:
            return self.head(x[:, [-1], :]), None
        logits = self.head(x)
        return logits, functional.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=-1)


def strip(path):
    """Without the exporter's notes on each node, which are most of the file."""
    model = onnx.load(path)
    for proto in [*model.graph.node, *(n for f in model.functions for n in f.node)]:
        del proto.metadata_props[:]
    # Shapes of values in between follow from the inputs.
    kept = [value for value in model.graph.value_info if value.metadata_props]
    del model.graph.value_info[:]
    model.graph.value_info.extend(kept)
    onnx.save(model, path)


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else HERE)
    torch.manual_seed(0)
    ids = torch.randint(0, VOCABULARY, (4, TOKENS))
    gpt = Gpt()
    ingot_torch.export(gpt, (ids,), path=folder / "gpt-writing.onnx")
    ingot_torch.export(gpt, (ids, ids), path=folder / "gpt-training.onnx")
    config = transformers.GPT2Config(
        vocab_size=VOCABULARY, n_positions=2 * TOKENS, n_embd=WIDTH, n_layer=1, n_head=HEADS, use_cache=False,
        resid_pdrop=0, embd_pdrop=0, attn_pdrop=0,
    )  # fmt: skip
    seq = {"input_ids": {1: "seq"}, "labels": {1: "seq"}}
    ingot_torch.export(
        transformers.GPT2LMHeadModel(config),
        kwargs={"input_ids": ids, "labels": ids},
        path=folder / "gpt2-labels.onnx",
        dynamic_shapes=seq,
    )
    for path in folder.glob("*.onnx"):
        strip(path)


if __name__ == "__main__":
    main()
