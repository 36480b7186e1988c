# SPDX-License-Identifier: Apache-2.0
"""Writes goldens/CASE/: what PyTorch computes, for run.py to compare with.

Needs PyTorch and onnxscript. Run it after changing a case, and check the
result in; the tests themselves need neither.

  model.onnx   the exported model with its initial weights
  data.npz     the samples, in the order the steps take them
  golden.json  per optimizer: flags of the trainer, the losses of 50 steps,
               loss and accuracy of an evaluation after 10 steps
  weights.npz  OPTIMIZER/PARAMETER after 10 steps, running statistics too

A case has ten batches, so 50 steps are five passes over its data. Numbers in
the data are multiples of 1/8, which keeps the compressed files small.
"""

import argparse
import copy
import dataclasses
import importlib.util
import json
import pathlib
import typing

import numpy as np
import onnx
import torch
import torch.nn.functional as F
from torch import nn

HERE = pathlib.Path(__file__).parent
STEPS, WEIGHT_STEPS, BATCHES = 50, 10, 10

# Trainer flags and the same choice in PyTorch. Rates are chosen so that the
# loss moves in 50 steps but rounding is not amplified beyond the tolerances.
OPTIMIZERS = {
    "sgd": (["--lr", "0.05"], lambda p: torch.optim.SGD(p, lr=0.05)),
    "momentum": (
        ["--lr", "0.01", "--weight-decay", "0.001"],
        lambda p: torch.optim.SGD(p, lr=0.01, momentum=0.9, weight_decay=0.001),
    ),
    "adam": ([], torch.optim.Adam),
    "adamw": ([], torch.optim.AdamW),
    "adagrad": ([], torch.optim.Adagrad),
}


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(784, 40), nn.ReLU(), nn.Linear(40, 40), nn.ReLU(), nn.Linear(40, 10))

    def forward(self, x):
        return self.net(x)


class Block(nn.Module):
    def __init__(self, channels_in, channels, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(channels_in, channels, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        # Grouped and dilated: the same shape as a plain 3x3 one.
        self.conv2 = nn.Conv2d(channels, channels, 3, 1, 2, dilation=2, groups=4, bias=False)
        self.bn2 = nn.BatchNorm2d(channels)
        self.down = nn.Sequential(
            nn.Conv2d(channels_in, channels, 1, stride, bias=False),
            nn.BatchNorm2d(channels),
        )

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)))
        return F.relu(self.bn2(self.conv2(y)) + self.down(x))


class Cnn(nn.Module):
    """Residual, batch norm, both poolings, a mean over the image."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, padding=1, bias=False)
        self.bn = nn.BatchNorm2d(8)
        self.block = Block(8, 16, 2)
        self.fc = nn.Linear(16, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.bn(self.conv(x))), 3, 2, 1)
        x = F.avg_pool2d(self.block(x), 2, 1)
        return self.fc(x.mean((2, 3)))


class Regression(nn.Module):
    """Smooth activations and a strided 1-d convolution with a bias."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(2, 6, 3, stride=2, padding=1)
        self.fc1 = nn.Linear(48, 24)
        self.fc2 = nn.Linear(24, 24)
        self.fc3 = nn.Linear(24, 3)
        self.scale = nn.Parameter(torch.linspace(0.5, 1.5, 24))

    def forward(self, x):
        x = torch.tanh(self.conv(x)).flatten(1)
        x = F.gelu(self.fc1(x))
        x = F.silu(self.fc2(x)) * self.scale
        return self.fc3(F.softplus(x))


class Multilabel(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(24, 32), nn.Linear(32, 6)

    def forward(self, x):
        return self.fc2(torch.sigmoid(self.fc1(x)) - 0.5 * F.elu(-x.mean(1, keepdim=True)))


class Segmentation(nn.Module):
    """Class scores on axis 1, labels per pixel, some of them ignored."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(2, 8, 3, padding=1, bias=False)
        self.bn = nn.BatchNorm2d(8)
        self.conv2 = nn.Conv2d(8, 5, 1)

    def forward(self, x):
        return self.conv2(F.leaky_relu(self.bn(self.conv1(x)), 0.1))


class LossInGraph(nn.Module):
    """The graph computes its own loss; there are no labels."""

    def __init__(self):
        super().__init__()
        self.encode, self.decode = nn.Linear(20, 8), nn.Linear(8, 20)

    def forward(self, x, target):
        error = self.decode(torch.relu(self.encode(x))) - target
        return (error * error).sum(1).mean() + 0.5 * error.abs().mean()


@dataclasses.dataclass
class Case:
    model: type
    batch: int
    data: typing.Callable
    loss: str | None = None
    optimizers: tuple = ("adamw",)
    outputs: tuple = ("logits",)


def floats(generator, *shape):
    return (torch.randn(shape, generator=generator) * 8).round() / 8


def ids(generator, high, *shape):
    return torch.randint(0, high, shape, generator=generator)


def mlp_data(g, n):
    return {"x": floats(g, n, 784), "labels": ids(g, 10, n)}


def cnn_data(g, n):
    return {"x": floats(g, n, 3, 12, 12), "labels": ids(g, 10, n)}


def regression_data(g, n):
    return {"x": floats(g, n, 2, 16), "labels": floats(g, n, 3)}


def multilabel_data(g, n):
    return {"x": floats(g, n, 24), "labels": ids(g, 2, n, 6).float()}


def segmentation_data(g, n):
    labels = ids(g, 5, n, 6, 6)
    labels[ids(g, 4, n, 6, 6) == 0] = -100
    return {"x": floats(g, n, 2, 6, 6), "labels": labels}


def loss_in_graph_data(g, n):
    return {"x": floats(g, n, 20), "target": floats(g, n, 20)}


ALL = ("sgd", "momentum", "adam", "adamw")
CASES = {
    "mlp": Case(Mlp, 32, mlp_data, "cross-entropy", ALL),
    "cnn": Case(Cnn, 16, cnn_data, "cross-entropy", ALL),
    "regression": Case(Regression, 8, regression_data, "mse", ("adamw", "momentum")),
    "multilabel": Case(Multilabel, 8, multilabel_data, "bce-with-logits", ("adamw", "adagrad")),
    "segmentation": Case(Segmentation, 4, segmentation_data, "cross-entropy:1", ("adamw",)),
    "loss-in-graph": Case(LossInGraph, 8, loss_in_graph_data, None, ("sgd",), ("loss",)),
}


def loss_of(case, model, batch):
    out = model(*(v for k, v in batch.items() if k != "labels"))
    if case.loss is None:
        return out, out
    labels = batch["labels"]
    if case.loss.startswith("cross-entropy"):
        return F.cross_entropy(out, labels), out
    if case.loss == "mse":
        return F.mse_loss(out, labels.to(out)), out
    return F.binary_cross_entropy_with_logits(out, labels.to(out)), out


def evaluate(case, model, data):
    """The loss over all samples at once, and accuracy where it means something."""
    model.eval()
    with torch.no_grad():
        loss, out = loss_of(case, model, data)
    result = {"eval_loss": loss.item()}
    if case.loss == "cross-entropy":
        result["eval_accuracy"] = (out.argmax(1) == data["labels"]).double().mean().item()
    model.train()
    return result


def train(case, model, data, make_optimizer):
    """Losses of STEPS steps, and the state and evaluation after WEIGHT_STEPS."""
    model.train()
    optimizer = make_optimizer(model.parameters())
    losses, state, evaluation = [], None, None
    for step in range(STEPS):
        at = step % BATCHES * case.batch
        optimizer.zero_grad()
        batch = {k: v[at : at + case.batch] for k, v in data.items()}
        loss, _ = loss_of(case, model, batch)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if step + 1 == WEIGHT_STEPS:
            state = {k: v.numpy().copy() for k, v in model.state_dict().items()}
            evaluation = evaluate(case, model, data)
    return losses, state, evaluation


def export(case, model, data, path):
    inputs = {k: v[:2] for k, v in data.items() if k != "labels"}
    batch = torch.export.Dim("batch")
    model = torch.onnx.export(
        model.eval(),
        tuple(inputs.values()),
        dynamo=True,
        optimize=False,
        dynamic_shapes=tuple({0: batch} for _ in inputs),
        input_names=list(inputs),
        output_names=list(case.outputs),
        opset_version=18,
        verbose=False,
    ).model_proto
    for node in model.graph.node:
        # Stack traces of the exporting machine.
        del node.metadata_props[:]
    onnx.checker.check_model(model)
    path.write_bytes(model.SerializeToString(deterministic=True))


def savez(path, arrays):
    """As docs/examples/digits/make_digits.py: no time of day in the archive."""
    source = HERE.parents[1] / "docs/examples/digits/make_digits.py"
    spec = importlib.util.spec_from_file_location("make_digits", source)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.save_npz(path, **arrays)


def make(name):
    case = CASES[name]
    folder = HERE / "goldens" / name
    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    torch.set_num_threads(1)
    initial = case.model()
    data = case.data(torch.Generator().manual_seed(1), BATCHES * case.batch)
    export(case, initial, data, folder / "model.onnx")
    savez(folder / "data.npz", {k: v.numpy() for k, v in data.items()})

    golden = {"torch": torch.__version__, "batch": case.batch, "loss": case.loss, "runs": {}}
    weights = {}
    for optimizer in case.optimizers:
        flags, make_optimizer = OPTIMIZERS[optimizer]
        losses, state, evaluation = train(case, copy.deepcopy(initial), data, make_optimizer)
        golden["runs"][optimizer] = {"flags": flags, "losses": losses, **evaluation}
        for key, value in state.items():
            if not key.endswith("num_batches_tracked"):
                weights[f"{optimizer}/{key}"] = value
        # How much of the tolerance rounding alone takes: PyTorch in f64.
        doubles = {k: v.double() if v.is_floating_point() else v for k, v in data.items()}
        exact, exact_state, _ = train(case, copy.deepcopy(initial).double(), doubles, make_optimizer)
        drift = [abs(a - b) / abs(b) for a, b in zip(losses, exact)]
        moved = max(np.abs(state[k] - exact_state[k]).max() for k in state if "tracked" not in k)
        print(
            f"{name} {optimizer}: loss {losses[0]:.4f} -> {losses[-1]:.4f}, f32 against f64:"
            f" loss {max(drift[:10]):.1e} in 10 steps, {max(drift):.1e} in 50, weights {moved:.1e}"
        )
    (folder / "golden.json").write_text(json.dumps(golden, indent=1) + "\n")
    savez(folder / "weights.npz", weights)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="*", help=f"of {', '.join(CASES)} (all)")
    for name in parser.parse_args().cases or CASES:
        make(name)
