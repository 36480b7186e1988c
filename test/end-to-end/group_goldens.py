# SPDX-License-Identifier: Apache-2.0
"""Writes goldens-groups.json: PyTorch's parameter groups, and parameters that are frozen for a time.

Needs PyTorch; the tests do not.
"""

import json

import goldens
import torch
import torch.nn.functional as F

CASE, STEPS, LR, DECAY = "mlp", 10, 0.002, 0.1

# The prefixes of the parameters in each group, its settings, and the step from
# which it is trained.
RUNS = {
    "adamw": {"head": ("net.4.", 0.1, 0.0, 0), "body": ("net.0.", 1.0, DECAY, 4)},
    "momentum": {"head": ("net.4.", 3.0, DECAY, 2), "body": ("net.0.", 0.5, 0.02, 0)},
}
OPTIMIZERS = {
    "adamw": lambda groups: torch.optim.AdamW(groups),
    "momentum": lambda groups: torch.optim.SGD(groups, momentum=0.9),
}


def train(optimizer_name, settings, clip):
    case = goldens.CASES[CASE]
    torch.manual_seed(0)
    model = case.model()
    data = case.data(torch.Generator().manual_seed(1), goldens.BATCHES * case.batch)
    groups, starts, others = [], [], dict(model.named_parameters())
    for prefix, factor, decay, start in settings.values():
        own = [others.pop(name) for name in list(others) if name.startswith(prefix)]
        groups.append({"params": own, "lr": LR * factor, "weight_decay": decay})
        starts.append(start)
    groups.append({"params": list(others.values()), "lr": LR, "weight_decay": DECAY})
    optimizer = OPTIMIZERS[optimizer_name](groups)
    losses, norms = [], []
    for step in range(STEPS):
        for group, start in zip(groups, starts):
            for parameter in group["params"]:
                parameter.requires_grad_(step >= start)
        at = slice(step * case.batch, (step + 1) * case.batch)
        optimizer.zero_grad()
        loss = F.cross_entropy(model(data["x"][at]), data["labels"][at])
        loss.backward()
        norms.append(torch.nn.utils.clip_grad_norm_(model.parameters(), clip).item())
        optimizer.step()
        losses.append(loss.item())
    weights = {k: [v.double().sum().item(), v.double().norm().item()] for k, v in model.state_dict().items()}
    return {"losses": losses, "norms": norms, "weights": weights}


def main():
    torch.set_num_threads(1)
    record = {"case": CASE, "steps": STEPS, "lr": LR, "decay": DECAY, "clip": 0.5, "runs": []}
    for optimizer, settings in RUNS.items():
        record["runs"].append({
            "optimizer": optimizer,
            "compile": [word for name, (prefix, *_) in settings.items() for word in ("--group", f"{name}=^{prefix}")],
            "run": [
                word
                for name, (_, factor, decay, start) in settings.items()
                for word in ("--group", f"{name}:lr={factor},decay={decay},freeze-until={start}")
            ],
            **train(optimizer, settings, record["clip"]),
        })  # fmt: skip
    (goldens.HERE / "goldens-groups.json").write_text(json.dumps(record, indent=0) + "\n")


if __name__ == "__main__":
    main()
