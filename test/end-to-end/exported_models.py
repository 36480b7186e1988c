# SPDX-License-Identifier: Apache-2.0
"""Writes exported/: small models as each of PyTorch's exporters writes them.

Needs PyTorch and onnxscript. Run it after changing a model, and check the
result in; the tests themselves need neither.

  resnet-default.onnx        default settings: batch norm is folded into convolutions
  resnet-unoptimized.onnx    dynamo=True, optimize=False, as the guide asks for
  resnet-torchscript.onnx    the exporter before dynamo, in training mode
  gpt-default.onnx           default settings, opset 23: equal parameters are merged
  gpt-unoptimized.onnx       dynamo=True, optimize=False, opset 23: Attention and Gelu
  gpt-unoptimized-18.onnx    the same to opset 18, which has neither

Names and metadata are the exporter's own. Only stack traces are left out: they
hold paths of the machine that exported the model.
"""

import pathlib

import onnx
import torch
import torch.nn.functional as F
from torch import nn

FOLDER = pathlib.Path(__file__).parent / "exported"
CLASSES, VOCABULARY, TOKENS, WIDTH, HEADS = 10, 64, 32, 32, 2


class ResidualBlock(nn.Module):
    def __init__(self, channels_in, channels):
        super().__init__()
        self.conv1 = nn.Conv2d(channels_in, channels, 3, stride=2, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels)
        self.down = nn.Sequential(nn.Conv2d(channels_in, channels, 1, stride=2, bias=False), nn.BatchNorm2d(channels))

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)))
        return F.relu(self.bn2(self.conv2(y)) + self.down(x))


class ResNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, padding=1, bias=False)
        self.bn = nn.BatchNorm2d(8)
        self.block = ResidualBlock(8, 16)
        self.fc = nn.Linear(16, CLASSES)

    def forward(self, x):
        return self.fc(self.block(F.relu(self.bn(self.conv(x)))).mean((2, 3)))


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = (part.view(b, t, HEADS, d // HEADS).transpose(1, 2) for part in self.qkv(x).split(d, 2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(y.transpose(1, 2).reshape(b, t, d))


class TransformerBlock(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln1, self.attention = nn.LayerNorm(WIDTH), Attention()
        self.ln2 = nn.LayerNorm(WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        x = x + self.attention(self.ln1(x))
        return x + self.down(F.gelu(self.up(self.ln2(x)), approximate="tanh"))


class Gpt(nn.Module):
    """The embedding of tokens and the classifier are one parameter."""

    def __init__(self):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(TOKENS, WIDTH)
        self.blocks = nn.Sequential(TransformerBlock(), TransformerBlock())
        self.ln = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)
        self.head.weight = self.tokens.weight

    def forward(self, ids):
        x = self.tokens(ids) + self.positions(torch.arange(ids.shape[1]))
        return self.head(self.ln(self.blocks(x)))


def resnet():
    """With running statistics that one batch has moved."""
    torch.manual_seed(0)
    model, images = ResNet(), torch.randn(4, 3, 8, 8)
    model(images)
    return model, images


def gpt():
    torch.manual_seed(0)
    return Gpt(), torch.randint(0, VOCABULARY, (2, TOKENS))


BATCH = {"dynamic_shapes": ({0: "batch"},)}
TORCHSCRIPT = {
    "dynamo": False,
    "training": torch.onnx.TrainingMode.TRAINING,
    "do_constant_folding": False,
    "opset_version": 17,
    "input_names": ["x"],
    "dynamic_axes": {"x": {0: "batch"}},
}
MODELS = {
    "resnet-default": (resnet, {"dynamo": True}),
    "resnet-unoptimized": (resnet, {"dynamo": True, "optimize": False, **BATCH}),
    "resnet-torchscript": (resnet, TORCHSCRIPT),
    "gpt-default": (gpt, {"dynamo": True, "opset_version": 23}),
    "gpt-unoptimized": (gpt, {"dynamo": True, "optimize": False, "opset_version": 23}),
    "gpt-unoptimized-18": (gpt, {"dynamo": True, "optimize": False, "opset_version": 18}),
}


def export(name):
    make, options = MODELS[name]
    model, example = make()
    path = FOLDER / f"{name}.onnx"
    model.train(not options["dynamo"])
    torch.onnx.export(model, (example,), path, external_data=False, verbose=False, **options)
    exported = onnx.load(path)
    for node in exported.graph.node:
        node.doc_string = ""
        for entry in list(node.metadata_props):
            if entry.key == "pkg.torch.onnx.stack_trace":
                node.metadata_props.remove(entry)
    onnx.checker.check_model(exported)
    path.write_bytes(exported.SerializeToString(deterministic=True))


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name in MODELS:
        export(name)
