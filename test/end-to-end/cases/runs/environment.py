# SPDX-License-Identifier: Apache-2.0
"""What surrounds a trainer: limits on threads."""

from harness import DIGITS, case, check

DATA = DIGITS / "train.npz"


def digits(ingot):
    return ingot.compile(DIGITS / "digits.onnx", "--loss", "cross-entropy", "--batch", "32")


@case("fewer-threads-than-asked")
def fewer_threads(ingot):
    """Libraries would wait for ever for threads that do not come."""
    trainer, losses = digits(ingot), set()
    for setting in ("OMP_DYNAMIC=true", "OMP_THREAD_LIMIT=1", "OMP_MAX_ACTIVE_LEVELS=0", "OMP_NUM_THREADS=1"):
        name, value = setting.split("=")
        env = {"OMP_NUM_THREADS": "4", name: value}
        steps, _ = ingot.train(trainer, "--data", DATA, "--steps", "2", env=env, timeout=60)
        losses.add(round(steps[-1]["loss"], 4))
    check(len(losses) == 1, f"losses depend on the number of threads: {losses}")
