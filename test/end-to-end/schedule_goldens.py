# SPDX-License-Identifier: Apache-2.0
"""Writes goldens-schedules.json: the learning rate of every step by torch.optim.lr_scheduler.

Those of inverse-sqrt are by Hugging Face Transformers. Needs both; the tests do
not. RUNS holds the trainer's flags beside --steps
and --lr, and the schedulers that give the same rates.
"""

import json
import pathlib

STEPS, RATE = 40, 0.08


def warmed(torch, optimizer, steps, after):
    """`steps` of linear warm-up, whose first rate is 1/steps of the full one, then `after`."""
    s = torch.optim.lr_scheduler
    warm = s.LinearLR(optimizer, start_factor=1 / steps, end_factor=1, total_iters=steps - 1)
    return s.SequentialLR(optimizer, [warm, after], milestones=[steps])


def make_runs(torch):
    from transformers import get_inverse_sqrt_schedule

    s = torch.optim.lr_scheduler
    return {
        "--schedule constant --warmup 5": lambda o: warmed(torch, o, 5, s.ConstantLR(o, factor=1)),
        "--schedule cosine --min-lr 0.002": lambda o: s.CosineAnnealingLR(o, STEPS, eta_min=0.002),
        "--schedule cosine --warmup 10%": lambda o: warmed(torch, o, 4, s.CosineAnnealingLR(o, STEPS - 4)),
        "--schedule linear --min-lr 0.008": lambda o: s.LinearLR(o, 1, end_factor=0.1, total_iters=STEPS),
        "--schedule polynomial:2": lambda o: s.PolynomialLR(o, STEPS, power=2),
        "--schedule polynomial:0.5 --warmup 8": lambda o: warmed(torch, o, 8, s.PolynomialLR(o, STEPS - 8, power=0.5)),
        "--schedule step:9": lambda o: s.StepLR(o, 9),
        "--schedule step:7,20,33:0.5": lambda o: s.MultiStepLR(o, [7, 20, 33], gamma=0.5),
        "--schedule wsd:25% --warmup 4": lambda o: s.SequentialLR(
            o,
            [
                s.LinearLR(o, start_factor=1 / 4, total_iters=3),
                s.ConstantLR(o, factor=1),
                s.LinearLR(o, 1, end_factor=0, total_iters=10),
            ],
            milestones=[4, 30],
        ),
        "--schedule wsd --min-lr 0.02": lambda o: s.SequentialLR(
            o,
            [s.ConstantLR(o, factor=1), s.LinearLR(o, 1, end_factor=0.25, total_iters=8)],
            milestones=[32],
        ),
        "--schedule one-cycle": lambda o: s.OneCycleLR(o, RATE, total_steps=STEPS, cycle_momentum=False),
        "--schedule one-cycle:10:100 --warmup 20": lambda o: s.OneCycleLR(
            o, RATE, total_steps=STEPS, pct_start=0.5, div_factor=10, final_div_factor=100, cycle_momentum=False
        ),
        "--schedule cosine-restarts:7": lambda o: s.CosineAnnealingWarmRestarts(o, 7),
        "--schedule cosine-restarts:4:2 --min-lr 0.004 --warmup 3": lambda o: warmed(
            torch, o, 3, s.CosineAnnealingWarmRestarts(o, 4, 2, eta_min=0.004)
        ),
        # Their warm-up begins at 0, ours and torch's at the first step's part: the rates after it are compared.
        "--schedule inverse-sqrt": lambda o: get_inverse_sqrt_schedule(o, 0),
        "--schedule inverse-sqrt:9": lambda o: get_inverse_sqrt_schedule(o, 0, timescale=9),
        "--schedule inverse-sqrt --warmup 6": lambda o: warmed(torch, o, 6, get_inverse_sqrt_schedule(o, 0, 6)),
    }


def main():
    import torch

    runs = {}
    for flags, make in make_runs(torch).items():
        optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=RATE)
        scheduler = make(optimizer)
        rates = []
        for _ in range(STEPS):
            rates.append(optimizer.param_groups[0]["lr"])
            optimizer.step()
            scheduler.step()
        runs[flags] = rates
    path = pathlib.Path(__file__).parent / "goldens-schedules.json"
    path.write_text(json.dumps({"steps": STEPS, "lr": RATE, "runs": runs}, indent=0) + "\n")


if __name__ == "__main__":
    main()
