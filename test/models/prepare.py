# SPDX-License-Identifier: Apache-2.0
"""Makes a model of the zoo: exports it, and trains it with PyTorch for reference.

A prepared folder holds

  model.onnx      as ingot_torch exports it
  data.npz        its inputs and labels, five batches
  reference.json  how to compile it, losses of five steps of AdamW in fp32 and in double
  gradients.npz   of the first batch, in double, by parameter
  smooth/         the same of the smooth variant, where fp32 and double part

and reference.json what PyTorch's own gradients in fp32 are off by, for each parameter. Dropout and its kin are
set to zero, because two programs draw different numbers; constant parameters (zero biases, scales of one) are moved
a little, so that each has a gradient of its own.
"""

import contextlib
import json
import pathlib
import sys
import time
import zlib

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from zoo.example import STEPS

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "frontends/torch"))
import ingot_torch  # noqa: E402

LEARNING_RATE = 1e-3
# From here on the losses say more about rounding than about the gradients.
PARTED = 1e-4


class Positional(nn.Module):
    """What the exporter sees: tensors in by position, one tensor out."""

    def __init__(self, example):
        super().__init__()
        self.module, self.keys, self.pick = example.module, example.keys, example.pick

    def run(self, *tensors):
        if self.keys:
            out = self.module(**dict(zip(self.keys, tensors)))
        else:
            out = self.module(*tensors)
        return self.pick(out) if self.pick else out


# The exporter tells inputs apart by the arguments of forward, which must not be `*tensors`.
class One(Positional):
    def forward(self, a):
        return self.run(a)


class Two(Positional):
    def forward(self, a, b):
        return self.run(a, b)


class Three(Positional):
    def forward(self, a, b, c):
        return self.run(a, b, c)


def still(module):
    """Without anything random, in the modes in which Ingot trains."""
    module.eval()
    for part in module.modules():
        for rate in ("p", "drop_prob", "dropout", "attention_dropout", "drop", "attn_dropout", "dropout_p"):
            if isinstance(getattr(part, rate, None), float) and not isinstance(part, nn.LPPool2d):
                setattr(part, rate, 0.0)
        # In evaluation LeViT and its kin keep biases that they have looked up once.
        if isinstance(part, nn.modules.batchnorm._BatchNorm) or hasattr(part, "attention_bias_cache"):
            part.train()
        if isinstance(part, nn.Embedding):
            # Its row gets no gradient, which a Gather of ONNX cannot say.
            part.padding_idx = None
    with torch.no_grad():
        for parameter in module.parameters():
            if (
                parameter.is_floating_point()
                and parameter.numel()
                and bool((parameter == parameter.flatten()[0]).all())
            ):
                parameter.add_(0.02 * torch.randn_like(parameter))


def drop_unused(module, inputs):
    """Turns parameters that the output does not depend on into buffers: the file has no place for them."""
    still_frozen = [p for p in module.parameters() if p.is_floating_point() and not p.requires_grad]
    for parameter in still_frozen:
        parameter.requires_grad_(True)
    out = module(*inputs)
    out.sum().backward()
    for parameter in still_frozen:
        parameter.requires_grad_(False)
    for owner in module.modules():
        for name, parameter in list(owner._parameters.items()):
            if parameter is not None and parameter.grad is None and parameter.is_floating_point():
                del owner._parameters[name]
                owner.register_buffer(name, parameter.detach())
    module.zero_grad(set_to_none=True)
    return out.shape


def loss_of(kind, output, labels):
    name, _, axis = kind.partition(":")
    if name == "cross-entropy":
        output = output.movedim(int(axis) if axis else -1, -1)
        return F.cross_entropy(output.reshape(-1, output.shape[-1]), labels.reshape(-1))
    labels = labels.to(output.dtype)
    return F.mse_loss(output, labels) if name == "mse" else F.binary_cross_entropy_with_logits(output, labels)


def labels_for(kind, shape, count):
    name, _, axis = kind.partition(":")
    shape = [count, *shape[1:]]
    if name == "cross-entropy":
        classes = shape.pop(int(axis) if axis else -1)
        return torch.randint(0, classes, shape)
    return torch.randn(shape) if name == "mse" else torch.randint(0, 2, shape).float()


def copied(module, dtype):
    import copy

    return copy.deepcopy(module).to(dtype)


def reference(module, data, loss, batch, dtype, steps):
    """Losses of `steps` steps, and the gradients of the first."""
    # Some modules make constants of the default type.
    torch.set_default_dtype(dtype)
    model = copied(module, dtype)
    trained = {n: p for n, p in model.named_parameters() if p.requires_grad}
    optimizer = torch.optim.AdamW(trained.values(), lr=LEARNING_RATE)
    losses, gradients = [], {}
    for step in range(steps):
        part = {n: t[step * batch : (step + 1) * batch] for n, t in data.items()}
        labels = part.pop("labels")
        inputs = [t.to(dtype) if t.is_floating_point() else t for t in part.values()]
        value = loss_of(loss, model(*inputs), labels)
        optimizer.zero_grad()
        value.backward()
        if step == 0:
            gradients = {n: p.grad.detach().double().numpy().copy() for n, p in trained.items() if p.grad is not None}
        optimizer.step()
        losses.append(value.item())
    torch.set_default_dtype(torch.float32)
    return losses, gradients


def errors(got, want):
    """Of each parameter, relative to its own norm, and to a thousandth of the whole gradient's.

    What has a zero gradient by design (a bias before a normalization) only has noise to compare.
    """
    whole = sum(float((w**2).sum()) for w in want.values()) ** 0.5
    return {
        name: float(np.linalg.norm(got[name] - w) / max(np.linalg.norm(w), 1e-3 * whole, 1e-30))
        for name, w in want.items()
    }


def largest(got, want):
    return max(abs(a - b) / abs(b) for a, b in zip(got, want))


@contextlib.contextmanager
def smooth():
    """Functions with kinks become smooth ones."""
    silu = lambda x, inplace=False: F.silu(x)  # noqa: E731
    averaged = {
        f"{prefix}max_pool{d}d": getattr(F, f"{prefix}avg_pool{d}d") for d in (1, 2, 3) for prefix in ("", "adaptive_")
    }

    def pooled(average):
        def pool(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
            if average is F.avg_pool3d:
                # It refuses inputs that are smaller than the window without their padding.
                sides = (padding,) * 3 if isinstance(padding, int) else tuple(padding)
                input, padding = F.pad(input, [p for side in reversed(sides) for p in (side, side)]), 0
            return average(input, kernel_size, stride, padding, ceil_mode)

        return pool

    replaced = {
        **dict.fromkeys(("relu", "relu_", "relu6", "hardswish"), silu),
        "leaky_relu": lambda x, slope=0.01, inplace=False: F.silu(x),
        "hardsigmoid": lambda x, inplace=False: torch.sigmoid(x),
        "hardtanh": lambda x, low=-1.0, high=1.0, inplace=False: F.silu(x),
        **{n: a if n.startswith("adaptive") else pooled(a) for n, a in averaged.items()},
    }
    places = [(F, n, f) for n, f in replaced.items()]
    places += [(o, n, silu) for o in (torch, torch.Tensor) for n in ("relu", "relu_")]
    before = [(owner, name, getattr(owner, name)) for owner, name, _ in places]
    try:
        for owner, name, function in places:
            setattr(owner, name, function)
        yield
    finally:
        for owner, name, function in before:
            setattr(owner, name, function)


def export(module, data, batch, exporter, path):
    """Writes the model; True when the batch is a dimension of the file."""
    names = [n for n in data if n != "labels"]
    inputs = tuple(data[n][:batch] for n in names)
    if exporter == "torchscript":
        # It leaves another mode than it found.
        torch.onnx.export(
            copied(module, torch.float32),
            inputs,
            path,
            dynamo=False,
            training=torch.onnx.TrainingMode.TRAINING,
            do_constant_folding=False,
            opset_version=17,
            input_names=names,
            output_names=["output"],
            dynamic_axes={n: {0: "batch"} for n in names},
        )
        return True
    # Gradients are compared here.
    options = {"path": path, "input_names": names, "check_gradients": False}
    try:
        if batch > 1:
            ingot_torch.export(module, inputs, **options)
            return True
    except ingot_torch.ExportError as error:
        # Some modules compute numbers from the batch.
        print("export with a symbolic batch:", str(error).splitlines()[0], flush=True)
    ingot_torch.export(module, inputs, **options, batch=None)
    return False


def other_names(module):
    """Of parameters that have several; the file has one of them."""
    names = {}
    for name, parameter in module.named_parameters(remove_duplicate=False):
        names.setdefault(id(parameter), []).append(name)
    return {first: others for first, *others in names.values() if others}


def frozen(module, exporter):
    """What --freeze names: dynamo's files say which parameters are trained, those of the other exporter do not."""
    if exporter == "dynamo":
        return None
    names = [n for n, p in module.named_parameters() if not p.requires_grad]
    names += [n for n, b in module.named_buffers() if b.is_floating_point() and "running_" not in n]
    return "^(" + "|".join(name.replace(".", "[.]") for name in names) + ")$" if names else None


def warm_up():
    """Loads what exporting needs, so that a forked process need not.

    With one thread and without gradients, because pools of threads do not survive the fork.
    """
    import tempfile

    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "model.onnx"
        ingot_torch.export(nn.Linear(2, 2), (torch.zeros(2, 2),), path=path, check_gradients=False)


def write(folder, module, example, exporter, steps):
    folder.mkdir(parents=True, exist_ok=True)
    record = {"loss": example.loss, "batch": example.batch, "lr": LEARNING_RATE}
    record["freeze"], record["other_names"] = frozen(module, exporter), other_names(module)
    start = time.monotonic()
    record["symbolic_batch"] = export(module, example.inputs, example.batch, exporter, folder / "model.onnx")
    record["export_s"] = round(time.monotonic() - start, 1)
    arguments = (module, example.inputs, example.loss, example.batch)
    record["losses"], single = reference(*arguments, torch.float32, steps)
    record["double_losses"], double = reference(*arguments, torch.float64, steps)
    record["gradient_errors"] = errors(single, double)
    np.savez(folder / "gradients.npz", **{n: g.astype(np.float32) for n, g in double.items()})
    np.savez(folder / "data.npz", **{n: t.numpy() for n, t in example.inputs.items()})
    (folder / "reference.json").write_text(json.dumps(record, indent=1))
    return record, double


def channels_last(module, example, steps):
    """PyTorch's losses and gradients in the order of channels that Ingot uses, where its convolutions round
    differently."""
    last = copied(module, torch.float32)
    for part in last.modules():
        if isinstance(part, nn.Conv2d):
            part.to(memory_format=torch.channels_last)
        if isinstance(part, nn.Conv3d):
            part.to(memory_format=torch.channels_last_3d)
    return reference(last, example.inputs, example.loss, example.batch, torch.float32, steps)


def low_precision_losses(module, example):
    """PyTorch's own in bf16, where it can: how far bf16 takes this model from fp32."""
    try:
        with torch.autocast("cpu", torch.bfloat16):
            return reference(module, example.inputs, example.loss, example.batch, torch.float32, STEPS)[0]
    except Exception as error:
        print("bf16:", str(error).splitlines()[:1], flush=True)
        return None


def prepare(model, folder):
    """Writes `folder`; raises what PyTorch raises."""
    torch.manual_seed(zlib.crc32(model.name.encode()))
    torch.set_num_threads(1)
    example = model.build()
    module = {1: One, 2: Two, 3: Three}[len(example.inputs)](example)
    still(module)
    shape = drop_unused(module, [t[: example.batch] for t in example.inputs.values()])
    example.inputs["labels"] = labels_for(example.loss, shape, example.batch * STEPS)
    parameters = sum(p.numel() for p in module.parameters())
    record, _ = write(folder, module, example, model.exporter, STEPS)
    record["parameters"] = parameters
    record["bf16_losses"] = low_precision_losses(module, example)
    # One of PyTorch's ways to compute in fp32 may happen to flip no sign.
    if any(isinstance(part, (nn.Conv2d, nn.Conv3d)) for part in module.modules()):
        record["channels_last_losses"] = channels_last(module, example, STEPS)[0]
    usual = record["losses"], record.get("channels_last_losses", record["losses"])
    if max(largest(losses, record["double_losses"]) for losses in usual) > PARTED:
        with smooth():
            variant, double = write(folder / "smooth", module, example, model.exporter, 1)
            variant["channels_last_errors"] = errors(channels_last(module, example, 1)[1], double)
        (folder / "smooth/reference.json").write_text(json.dumps(variant, indent=1))
    (folder / "reference.json").write_text(json.dumps(record, indent=1))
