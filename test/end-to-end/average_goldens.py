# SPDX-License-Identifier: Apache-2.0
"""Writes goldens-average.json: moving averages of weights by torch.optim.swa_utils.AveragedModel.

The training is that of goldens.py. Needs PyTorch; the tests do not.
"""

import copy
import json

import goldens
import torch
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

CASE, OPTIMIZER, DECAYS, STEPS = "multilabel", "adamw", (0.9, 0.3), 10


def main():
    case = goldens.CASES[CASE]
    torch.manual_seed(0)
    torch.set_num_threads(1)
    initial = case.model()
    data = case.data(torch.Generator().manual_seed(1), goldens.BATCHES * case.batch)
    record = {"case": CASE, "optimizer": OPTIMIZER, "steps": STEPS, "runs": {}}
    for decay in DECAYS:
        model = copy.deepcopy(initial)
        average = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(decay))
        flags, make_optimizer = goldens.OPTIMIZERS[OPTIMIZER]
        optimizer = make_optimizer(model.parameters())
        for step in range(STEPS):
            at = step % goldens.BATCHES * case.batch
            batch = {k: v[at : at + case.batch] for k, v in data.items()}
            optimizer.zero_grad()
            goldens.loss_of(case, model, batch)[0].backward()
            optimizer.step()
            average.update_parameters(model)
        record["flags"] = flags
        record["runs"][decay] = {
            "weights": {k: v.flatten().tolist() for k, v in average.module.state_dict().items()},
            **goldens.evaluate(case, average.module, data),
        }
    (goldens.HERE / "goldens-average.json").write_text(json.dumps(record) + "\n")


if __name__ == "__main__":
    main()
