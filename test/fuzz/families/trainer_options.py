# SPDX-License-Identifier: Apache-2.0
"""Sets of options of trainers, taken from their --help."""

import subprocess

from subjects import Words

from families import files, options

STATE = {}


def prepare(programs, scratch):
    files.prepare(programs, scratch)
    for name in files.TRAINERS:
        path, _ = files.trainer(name)
        text = subprocess.run([path, "--help"], check=True, capture_output=True, text=True).stdout
        STATE[name] = options.read_help(text)
        assert len(STATE[name]) > 20, STATE


def make(rng, _box, _seed):
    name = rng.choice([*files.TRAINERS])
    path, data = files.trainer(name)
    groups = [["--data", "train.npz"], ["--steps", "2"]]
    for group in list(groups):
        if rng.random() < 0.08:
            groups.remove(group)
    chosen = [rng.choice(STATE[name]) for _ in range(rng.choice([1, 1, 1, 2, 2, 3, 5, 8]))]
    groups += [options.option(rng, entry) for entry in chosen]
    groups += options.hurry(chosen)
    contents = {**options.contents(), "train.npz": data}
    if rng.random() < 0.2:
        contents |= files.STATE[files.CHECKPOINT]
        groups.append(["--resume", files.CHECKPOINT])
    if rng.random() < 0.2:
        groups.append(["--eval-data", "train.npz"])
    label = f"{name} " + " ".join(entry[0] for entry in chosen)
    kept = ["train.npz"] if ["--data", "train.npz"] in groups else []
    return Words(label, [str(path)], groups, contents, dict(options.SPECIAL), kept)
