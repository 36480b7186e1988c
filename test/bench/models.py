# SPDX-License-Identifier: Apache-2.0
"""The reference models of the benchmark, with inputs and labels.

Run as a program with PyTorch: `models.py export NAME DIRECTORY` writes NAME.onnx and NAME.npz,
`models.py time NAME eager|compile|compile-avx2|max-autotune STEPS` trains and prints each step's milliseconds as JSON
(compile-avx2: the loops that PyTorch generates are of AVX2, where those of AVX-512 crash),
`models.py attention BATCH TOKENS` times cuDNN's attention alone, as in the model of that name.
NAME is mlp, resnet18, gpt-mini, gpt2, gpt2-xl or attention, with another batch (and tokens) as in gpt2:8x1024, or one
of real_models.py, with another batch as in resnet50:256: such a file is for any batch, and has no data.
Files of gpt2-xl have its shapes but not its values: compile them with --weights none.
"""

import argparse
import json
import math
import os
import statistics
import time

import numpy
import real_models
import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn import functional as F


def mlp():
    layers = [nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10)]
    return nn.Sequential(*layers)


class Residual(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.first = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.first_norm = nn.BatchNorm2d(outputs)
        self.second = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.second_norm = nn.BatchNorm2d(outputs)
        self.shortcut = None
        if stride != 1 or inputs != outputs:
            conv = nn.Conv2d(inputs, outputs, 1, stride, bias=False)
            self.shortcut = nn.Sequential(conv, nn.BatchNorm2d(outputs))

    def forward(self, x):
        y = F.relu(self.first_norm(self.first(x)))
        y = self.second_norm(self.second(y))
        return F.relu(y + (self.shortcut(x) if self.shortcut else x))


class ResNet18(nn.Module):
    """ResNet-18 (He et al., 2015) as used on images of 32 x 32."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 64, 3, 1, 1, bias=False)
        self.norm = nn.BatchNorm2d(64)
        blocks, width = [], 64
        for outputs in (64, 128, 256, 512):
            blocks += [Residual(width, outputs, 1 if outputs == 64 else 2), Residual(outputs, outputs, 1)]
            width = outputs
        self.blocks = nn.Sequential(*blocks)
        self.head = nn.Linear(512, 10)

    def forward(self, x):
        x = self.blocks(F.relu(self.norm(self.stem(x))))
        return self.head(x.mean((2, 3)))


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.attention_norm, self.mlp_norm = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        batch, tokens, width = x.shape
        q, k, v = (
            part.view(batch, tokens, self.heads, -1).transpose(1, 2)
            for part in self.qkv(self.attention_norm(x)).split(width, 2)
        )
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(batch, tokens, width))
        return x + self.down(F.gelu(self.up(self.mlp_norm(x)), approximate="tanh"))


class Gpt(nn.Module):
    """GPT-2 with tied embeddings."""

    def __init__(self, vocabulary, context, layers, heads, width):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocabulary, width), nn.Embedding(context, width)
        self.blocks = nn.ModuleList([Block(width, heads) for _ in range(layers)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.tokens.weight
        for module in self.modules():
            if isinstance(module, (nn.Linear, nn.Embedding)):
                nn.init.normal_(module.weight, std=0.02)

    def forward(self, tokens):
        x = self.tokens(tokens) + self.positions(torch.arange(tokens.shape[1], device=tokens.device))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


class Attention(nn.Module):
    """One layer of causal attention, 16 heads of 64, between small tables."""

    def __init__(self):
        super().__init__()
        self.tokens, self.qkv, self.head = nn.Embedding(256, 1024), nn.Linear(1024, 3072), nn.Linear(1024, 256)

    def forward(self, tokens):
        q, k, v = (
            part.view(*tokens.shape, 16, 64).transpose(1, 2) for part in self.qkv(self.tokens(tokens)).split(1024, 2)
        )
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.head(y.transpose(1, 2).reshape(*tokens.shape, 1024))


def make(name):
    """The model, its input and its labels."""
    torch.manual_seed(0)
    if real_models.split(name)[0]:
        return real_models.make(name)
    name, _, sizes = name.partition(":")
    sizes = [int(size) for size in sizes.split("x") if size]
    if name == "mlp":
        batch = sizes[0] if sizes else 128
        return mlp(), torch.randn(batch, 784), torch.randint(0, 10, (batch,))
    if name == "resnet18":
        batch = sizes[0] if sizes else 64
        return ResNet18(), torch.randn(batch, 3, 32, 32), torch.randint(0, 10, (batch,))
    if name == "gpt-mini":
        shape, vocabulary, model = (8, 256), 512, Gpt(512, 256, 6, 6, 384)
    elif name == "gpt2":
        shape, vocabulary, model = (4, 128), 50257, Gpt(50257, 1024, 12, 12, 768)
    elif name == "gpt2-xl":
        shape, vocabulary, model = (1, 1024), 50257, Gpt(50257, 1024, 48, 25, 1600)
    elif name == "attention":
        shape, vocabulary, model = (16, 1024), 256, Attention()
    else:
        raise SystemExit(f"error: {name}: no such model\nhint: mlp, resnet18, gpt-mini, gpt2, gpt2-xl or attention")
    shape = tuple(sizes) or shape
    return model, torch.randint(0, vocabulary, shape), torch.randint(0, vocabulary, shape)


def export(name, directory):
    real, batch = real_models.split(name)
    if real and batch:
        model, x, _ = real_models.make(f"{real}:2")
        real_models.export(model, x, f"{directory}/{name}.onnx", batch="batch")
        return
    model, x, labels = make(name)
    if real:
        real_models.export(model, x, f"{directory}/{name}.onnx")
        numpy.savez(f"{directory}/{name}.npz", x=x.numpy(), labels=labels.numpy())
        return
    # Later opsets keep attention whole: masks of long sequences need not be made then.
    torch.onnx.export(
        model,
        (x,),
        f"{directory}/{name}.onnx",
        dynamo=True,
        optimize=False,
        external_data=False,
        input_names=["x"],
        output_names=["y"],
        opset_version=23 if name.startswith("attention") else 18,
    )
    numpy.savez(f"{directory}/{name}.npz", x=x.numpy(), labels=labels.numpy())


def export_shapes(name, directory):
    """The same of a model that is never made, for any batch: its matrices are views of one file of random values, its
    vectors ones and zeros."""
    import onnx_ir

    with FakeTensorMode():
        model, x, labels = make(name)
        program = torch.onnx.export(
            model,
            (x,),
            dynamo=True,
            optimize=False,
            input_names=["x"],
            output_names=["y"],
            opset_version=18,
            dynamic_shapes=({0: torch.export.Dim("batch")},),
        )
    source = numpy.random.default_rng(0)
    values = list(program.model.graph.initializers.values())
    sizes = {value.name: math.prod(value.shape) for value in values}
    drawn = source.normal(scale=0.02, size=max(sizes.values())).astype("f")
    drawn.tofile(f"{directory}/{name}.bin")
    for value in values:
        if len(value.shape) > 1:
            value.const_value = onnx_ir.ExternalTensor(
                f"{name}.bin",
                0,
                4 * sizes[value.name],
                value.dtype,
                shape=value.shape,
                name=value.name,
                base_dir=directory,
            )
        elif isinstance(value.const_value.raw, torch.Tensor):
            ones = value.name.endswith("norm.weight")
            value.const_value = onnx_ir.tensor(numpy.full(sizes[value.name], float(ones), "f"), name=value.name)
    onnx_ir.save(program.model, f"{directory}/{name}.onnx")
    tokens = [source.integers(0, 50257, tuple(part.shape)) for part in (x, labels)]
    numpy.savez(f"{directory}/{name}.npz", x=tokens[0], labels=tokens[1])


def measure(name, mode, steps, device, precision):
    torch.set_num_threads(len(os.sched_getaffinity(0)))
    with torch.device(device):
        model, x, labels = make(name)
    if device == "cuda" and x.dim() == 4:
        # As NVIDIA's examples train.
        model, x = model.to(memory_format=torch.channels_last), x.contiguous(memory_format=torch.channels_last)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
    low = {"bf16": torch.bfloat16, "fp16": torch.float16}.get(precision)
    scaler = torch.amp.GradScaler(device, enabled=precision == "fp16")

    def loss():
        y = model(x)
        if y.dim() == 4:
            # An image of logits has its classes second.
            return F.cross_entropy(y, labels)
        return F.cross_entropy(y.reshape(-1, y.shape[-1]), labels.reshape(-1))

    compute = loss
    if mode == "compile-avx2":
        # The loops that it generates, not the libraries that it calls.
        torch._inductor.config.cpp.simdlen = 256
    if mode != "eager":
        compute = torch.compile(loss, mode=None if mode.startswith("compile") else mode)
    times, losses = [], []
    for _ in range(steps):
        start = time.perf_counter()
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, low, enabled=low is not None):
            value = compute()
        scaler.scale(value).backward()
        scaler.step(optimizer)
        scaler.update()
        losses.append(value.item())
        if device == "cuda":
            torch.cuda.synchronize()
        times.append(1e3 * (time.perf_counter() - start))
    result = {"step_ms": times, "loss": losses}
    if device == "cuda":
        result["peak_bytes"] = torch.cuda.max_memory_allocated()
    print(json.dumps(result))


def time_attention(batch, tokens):
    from torch.nn.attention import SDPBackend, sdpa_kernel

    shape = (batch, 16, tokens, 64)
    q, k, v = (torch.randn(shape, device="cuda", dtype=torch.bfloat16, requires_grad=True) for _ in range(3))
    cotangent = torch.randn(shape, device="cuda", dtype=torch.bfloat16)

    def repeat(run):
        times = []
        for _ in range(25):
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            result = run()
            end.record()
            times.append((begin, end))
        torch.cuda.synchronize()
        return statistics.median(begin.elapsed_time(end) for begin, end in times[5:]), result

    with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
        forward, y = repeat(lambda: F.scaled_dot_product_attention(q, k, v, is_causal=True))
        backward, _ = repeat(lambda: torch.autograd.grad(y, (q, k, v), cotangent, retain_graph=True))
    print(json.dumps({"forward_ms": forward, "backward_ms": backward}))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("export")
    command.add_argument("name")
    command.add_argument("directory")
    command = commands.add_parser("time")
    command.add_argument("name")
    command.add_argument("mode", choices=["eager", "compile", "compile-avx2", "max-autotune"])
    command.add_argument("steps", type=int)
    command.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    command.add_argument("--precision", choices=["fp32", "bf16", "fp16"], default="fp32")
    command = commands.add_parser("attention")
    command.add_argument("batch", type=int)
    command.add_argument("tokens", type=int)
    options = vars(parser.parse_args())
    if options["command"] == "export" and options["name"].startswith("gpt2-xl"):
        options["command"] = "export-shapes"
    commands = {"export": export, "export-shapes": export_shapes, "time": measure, "attention": time_attention}
    commands[options.pop("command")](**options)
