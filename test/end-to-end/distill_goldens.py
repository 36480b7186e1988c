# SPDX-License-Identifier: Apache-2.0
"""Writes goldens-distill.json: distillation by PyTorch's recipe.

Each run takes STEPS steps of SGD on the data of a case of goldens.py, with the
teacher that cases/training/distill.py writes, and evaluates all of it. Needs
PyTorch; the tests do not.
"""

import copy
import json

import goldens
import numpy as np
import torch
import torch.nn.functional as F
from cases.training.distill import arrays_of

STEPS, RATE = 10, "0.05"
# The case, the settings as ingotc takes them, and as numbers.
RUNS = [
    ("mlp", "temperature=4,alpha=0.5", {"t": 4, "alpha": 0.5}),
    ("mlp", "temperature=1.5,alpha=1", {"t": 1.5, "alpha": 1}),
    ("mlp", "temperature=2,alpha=0.9,pairs=relu:taught", {"t": 2, "alpha": 0.9, "weight": 1}),
    ("mlp", "alpha=0,pairs=relu:taught,pair-weight=3", {"t": 4, "alpha": 0, "weight": 3}),
    ("segmentation", "temperature=4,alpha=0.7", {"t": 4, "alpha": 0.7}),
]


def teach(name, x):
    """The hidden values and the logits of the teacher, for inference."""
    weights, norm = ({k: torch.from_numpy(v) for k, v in part.items()} for part in arrays_of(name))
    layer = F.linear if name == "mlp" else F.conv2d
    first = layer(x, weights["first.weight"], weights["first.bias"])
    taught = F.relu(F.batch_norm(first, norm["mean"], norm["var"], norm["scale"], norm["shift"]))
    return taught, layer(taught, weights["last.weight"])


def divergence(y, t, labels, temperature):
    """Of the rows whose labels count, as PyTorch's recipe has it."""
    counted = labels != -100
    if y.ndim == 4:
        y, t = y.permute(0, 2, 3, 1), t.permute(0, 2, 3, 1)
    y, t = y[counted], t[counted]
    soft = F.kl_div(F.log_softmax(y / temperature, 1), F.softmax(t / temperature, 1), reduction="batchmean")
    return soft * temperature**2


def run(case, settings):
    batch = goldens.CASES[case].batch
    data = np.load(goldens.HERE / "goldens" / case / "data.npz")
    torch.manual_seed(0)
    model = copy.deepcopy(goldens.CASES[case].model())
    x, labels = torch.from_numpy(data["x"]), torch.from_numpy(data["labels"])
    hidden = {}
    model.train()
    if case == "mlp":
        model.net[1].register_forward_hook(lambda m, i, o: hidden.update(value=o))
    optimizer = torch.optim.SGD(model.parameters(), lr=float(RATE))
    rows, gradients = {}, {}
    for step in range(STEPS):
        at = slice(step * batch % len(x), step * batch % len(x) + batch)
        y = model(x[at])
        taught, t = teach(case, x[at])
        hard = F.cross_entropy(y, labels[at])
        loss = (1 - settings["alpha"]) * hard
        parts = {"train_hard_loss": hard}
        if settings["alpha"] > 0:
            parts["train_distill_loss"] = divergence(y, t, labels[at], settings["t"])
            loss = loss + settings["alpha"] * parts["train_distill_loss"]
        if "weight" in settings:
            parts["train_pair_loss"] = F.mse_loss(hidden["value"], taught)
            loss = loss + settings["weight"] * parts["train_pair_loss"]
        for key, value in {"loss": loss, **parts}.items():
            rows.setdefault(key, []).append(value.item())
        optimizer.zero_grad()
        loss.backward()
        if step == 0:
            gradients = {
                k: np.round(p.grad.double().numpy(), 9).tolist() for k, p in model.named_parameters() if p.numel() < 500
            }
        optimizer.step()
    model.eval()
    with torch.no_grad():
        evaluation = float(F.cross_entropy(model(x), labels))
    return {"rows": rows, "eval_loss": evaluation, "gradients": gradients}


if __name__ == "__main__":
    runs = [{"case": case, "distill": text, **run(case, settings)} for case, text, settings in RUNS]
    path = goldens.HERE / "goldens-distill.json"
    path.write_text(json.dumps({"lr": RATE, "runs": runs}) + "\n")
