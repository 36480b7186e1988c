# SPDX-License-Identifier: Apache-2.0
"""What surrounds a trainer: limits on threads, and places for them."""

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


@case("bound-threads-are-all-there")
def bound(ingot):
    """Binding threads to places leaves as many of them: the program starts itself again to make idle ones sleep."""
    command = ["env", "-u", "OMP_WAIT_POLICY", "-u", "OMP_NUM_THREADS", digits(ingot), "--data", DATA, "--steps", "1"]
    said = [ingot.succeed(command, env={"OMP_PROC_BIND": bind}).err for bind in ("close", "false")]
    threads = [
        line.split("CPU, ")[1].split(" on ")[0] for text in said for line in text.splitlines() if "CPU, " in line
    ]
    check(len(threads) == 2 and len(set(threads)) == 1, f"bound: {threads[0]}, not bound: {threads[1:]}")
