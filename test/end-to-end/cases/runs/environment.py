# SPDX-License-Identifier: Apache-2.0
"""What surrounds a trainer: limits on threads, and places for them."""

import json
import os
import shutil

from harness import DIGITS, case, check, read_log

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
    """Binding threads to places leaves the number of them as it is."""
    command = ["env", "-u", "OMP_NUM_THREADS", digits(ingot), "--data", DATA, "--steps", "1"]
    said = [ingot.succeed(command, env={"OMP_PROC_BIND": bind}).err for bind in ("close", "false")]
    threads = [
        line.split("CPU, ")[1].split(" on ")[0] for text in said for line in text.splitlines() if "CPU, " in line
    ]
    check(len(threads) == 2 and len(set(threads)) == 1, f"bound: {threads[0]}, not bound: {threads[1:]}")


@case("settings-that-are-not-understood")
def not_understood(ingot):
    """The run goes on without them, and says so; what is understood is not mentioned."""
    command = [digits(ingot), "--data", DATA, "--steps", "1"]
    for name, value, said in (
        ("OMP_PLACES", "{0", True), ("OMP_PLACES", "cores(1)", False), ("OMP_PROC_BIND", "near", True),
        ("OMP_THREAD_LIMIT", "none", True), ("GOMP_CPU_AFFINITY", "0", False), ("GOMP_CPU_AFFINITY", "9999", True),
    ):  # fmt: skip
        err = ingot.succeed(command, env={name: value}).err
        check((f"note: {name}='{value}' is not understood" in err) == said, f"{name}={value}: {err}")


@case("more-threads-than-there-may-be")
def too_many(ingot):
    """The number is bounded, and a note says so; memory is for those that there are."""
    env = {"OMP_NUM_THREADS": "100000"}
    said = ingot.succeed([digits(ingot), "--data", DATA, "--steps", "1"], env=env).err
    check("CPU, 256 threads" in said and "note: OMP_NUM_THREADS" in said, said)


@case("threads-option")
def threads_option(ingot):
    """--threads wins over OMP_NUM_THREADS; the log, its options and the checkpoint say it."""
    trainer, save, log = digits(ingot), ingot.path("threads"), ingot.path("threads.jsonl")
    run = [trainer, "--data", DATA, "--log", log]
    command = [*run, "--steps", "2", "--threads", "2", "--save", save]
    said = ingot.succeed(command, env={"OMP_NUM_THREADS": "5"}).err
    check("CPU, 2 threads" in said, said)
    configuration = log.with_name("threads.jsonl.toml").read_text()
    check("threads = 2" in configuration and "CPU, 2 threads" in configuration, configuration)
    settings = json.loads((save / "step-2/checkpoint.json").read_text())["settings"]
    check(settings["threads"] == 2, f"the checkpoint says {settings}")
    # Another number is not inherited, and does not go without a word.
    said = ingot.succeed([*run, "--steps", "3", "--resume", save], env={"OMP_NUM_THREADS": "1"}).err
    check("CPU, 1 thread " in said, said)
    check("note: steps run in 1 thread; those of the checkpoint's run ran in 2: " in said, said)
    said = ingot.succeed([*run, "--steps", "3", "--resume", save, "--threads", "2"]).err
    check("those of the checkpoint's run ran in" not in said, said)
    for wrong in ("0", "-1", "257", "two", "1.5", "99999999999999999999"):
        ingot.check_error([*run, "--steps", "1", "--threads", wrong], 2, "--threads", f"'{wrong}'")
    # Of a trainer, not of its compiler.
    model = [DIGITS / "digits.onnx", "--loss", "cross-entropy"]
    refused = ingot.check_error(ingot.ingotc(*model, "-o", ingot.path("t"), "--threads", "2"), 2, "--threads")
    check("it is an option of the trainer" in refused.err, refused.err)


@case("system-without-threads")
def no_threads(ingot):
    """Batches, checkpoints and steps are made by the threads that there are."""
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        return
    trainer, folder = digits(ingot), ingot.path("z").parent
    for at in (ingot.scratch, folder):
        at.chmod(0o777)
    nobody = ["setpriv", "--reuid=65533", "--regid=65533", "--clear-groups"]
    want = [row["loss"] for row in ingot.train(trainer, "--data", DATA, "--steps", "20")[0]]
    for most in (1, 3):
        limited = ["bash", "-c", f'ulimit -u {most}; exec "$@"', "bash", *nobody, trainer, "--data", DATA]
        log = folder / f"log-{most}.jsonl"
        saved = ["--save", folder / f"save-{most}", "--save-every", "3", "--export", folder / f"out-{most}.onnx"]
        result = ingot.succeed(
            [*limited, "--steps", "20", "--workers", "8", "--log", log, *saved], env={"OMP_NUM_THREADS": "4"}
        )
        check("no more threads" in result.err and "fewer threads" in result.err, result.err)
        check([row["loss"] for row in read_log(log)[0]] == want, f"other losses with {most} threads")
        check((folder / f"save-{most}/step-20").is_dir() and (folder / f"out-{most}.onnx").exists(), "nothing is saved")
