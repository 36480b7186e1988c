# SPDX-License-Identifier: Apache-2.0
"""Ranks that were started with unlike options: each run ends soon, and what rank 0 saves is whole."""

import re
from concurrent.futures import ThreadPoolExecutor

from harness import case, check, golden
from launch import ALONE, compile_for, mpirun

G = golden("mlp")


@case("unlike-ranks")
def unlike(ingot):
    trainer = compile_for(ingot, G, "adamw", 2, "--zero", "2")
    base = [trainer, "--data", G.data, "--steps", "4", "--comm-timeout"]
    evaluates = ["--eval-data", G.data]

    for limit in ("0", "1000000001", "9223372036854775807"):
        ingot.check_error([*base, limit], 2, "--comm-timeout", "from 1 to 1000000000")

    def run(first, second, limit="20", wrap=lambda words, flags: words):
        words = [
            *mpirun(1),
            *wrap([*base, limit, *first], first),
            ":",
            "-n",
            1,
            *wrap([*base, limit, *second], second),
        ]
        return ingot.run(words, env=ALONE, timeout=90)

    def never_connects(number, flags):
        """A run of which one rank has ended before the other begins to connect: once a rank has begun, mpirun ends the
        run by itself when another exits."""
        ended = ingot.path(f"ended-{number}")

        def wrap(words, own):
            script = f'"$@"; touch {ended}' if own else f'until [ -e {ended} ]; do sleep 0.1; done; exec "$@"'
            return ["sh", "-c", script, "sh", *words]

        return run(*flags, limit="2", wrap=wrap)

    save, out = ingot.path("save"), ingot.path("out.onnx")
    # The longest wait is one.
    result = run(["--save", save, "--export", out], [], limit="1000000000")
    check(result.status == 0 and out.exists(), f"exit {result.status}: {result.err}")
    check(len(list(save.glob("step-4/shard-*"))) == 2, "the checkpoint lacks a rank's part")
    result = run(["--save", save, "--resume", save, "--steps", "6"], ["--resume", save, "--steps", "6"])
    check(result.status == 0 and (save / "step-6").is_dir(), f"exit {result.status}: {result.err}")
    # A rank that never connects: MPI itself would wait for it for ever.
    # The start takes 20 s at least, whatever the limit: both wait at the same time.
    with ThreadPoolExecutor() as pool:
        alone = list(pool.map(never_connects, (0, 1), ((["--inspect"], []), ([], ["--inspect"]))))
    for result in alone:
        check(
            result.status == 4 and "for the other ranks to start" in result.err, f"exit {result.status}: {result.err}"
        )
        check(re.search(r"error: rank [01]: ", result.err), result.err)
    for flags, word in (
        (["--seed", "3"], "--seed"),
        (["--lr", "0.5"], "--lr"),
        (["--warmup", "2"], "--schedule, --warmup"),
        (["--save-every", "2", "--save", ingot.path("save")], "--save-every"),
        (evaluates, "--eval-data"),
        ([*evaluates, "--best", "eval_loss"], "--eval-data"),
        (["--diagnose"], "--steps"),
    ):
        for first, second in ((flags, []), ([], flags)):
            if first == [] and word in ("--seed", "--lr", "--schedule, --warmup", "--save-every"):
                continue
            result = run(first, second)
            check(result.status == 1, f"{first} and {second}: exit {result.status}: {result.err}")
            check(f"another {word}" in result.err or "in --eval-data" in result.err, f"{first}, {second}: {result.err}")
