# SPDX-License-Identifier: Apache-2.0
"""loop.py FOLDER: trains the digits in Python, with a schedule of its own, and leaves the results in FOLDER."""

import pathlib
import sys

import ingot_trainer
import numpy as np

DIGITS = pathlib.Path(__file__).resolve().parents[1] / "digits"
EPOCHS, BATCH = 5, 32


def read(name):
    with np.load(DIGITS / name) as arrays:
        return dict(arrays)


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    train, held_out = read("train.npz"), read("eval.npz")
    order = np.random.default_rng(0)
    with ingot_trainer.compile(DIGITS / "digits.onnx", loss="cross-entropy", optimizer="adamw", batch=BATCH) as trainer:
        steps = EPOCHS * (len(train["labels"]) // BATCH)
        for _ in range(EPOCHS):
            permutation = order.permutation(len(train["labels"]))
            for begin in range(0, len(permutation) - BATCH + 1, BATCH):
                chosen = permutation[begin : begin + BATCH]
                trainer.lr = 2e-3 * (1 - trainer.steps / steps)
                loss = trainer.step(train["image"][chosen], train["labels"][chosen])
            found = trainer.evaluate(held_out)
            print(f"step {trainer.steps}  loss {loss:.4f}  eval loss {found['loss']:.4f}  {found['accuracy']:.1%}")
        trainer.save(folder / "checkpoints")
        trainer.export(folder / "trained.onnx")

        # The same from the model's outputs.
        right = trainer.predict(held_out["image"]).argmax(axis=1) == held_out["labels"]
        assert right.mean() == found["accuracy"], (right.mean(), found)
    if found["accuracy"] < 0.95:
        sys.exit(f"accuracy {found['accuracy']:.1%}, expected 95%")


if __name__ == "__main__":
    main()
