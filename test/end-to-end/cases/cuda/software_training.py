# SPDX-License-Identifier: Apache-2.0
"""A table of trainers on a GPU in software, whose losses are those of a CPU and the same bits for every order of what
nothing orders. INGOT_SOFTWARE_GPU=all adds the rows for which the tests of every day have no time
(ctest --preset software-gpu)."""

import dataclasses
import json
import os
import shutil
import sys

from cases.cuda.software_gpu import TOLERANCE, compare
from fakes import trainer
from harness import DIGITS, ROOT, Skip, case, check, check_relative

PRECISIONS = ("fp32", "bf16", "fp16")
BYTES = ROOT / "docs/examples/bytes"
# The model is too small to be worth it.
MESH = ("--mesh", "tensor=2", *(f"--partition={name}.weight=0:tensor" for name in ("qkv", "up", "token")))


@dataclasses.dataclass(frozen=True)
class Row:
    """A trainer: `flags` are those of ingotc, `seeds` draw the orders."""

    model: str
    precision: str
    flags: tuple = ()
    ranks: int = 1
    steps: int = 3
    seeds: tuple = (0, 1)

    @property
    def name(self):
        ranks = [f"on {self.ranks} GPUs"] if self.ranks > 1 else []
        orders = [f"in {len(self.seeds)} orders"] if len(self.seeds) > 2 else []
        return " ".join([self.model, self.precision, *self.flags, *ranks, *orders])


def make_rows():
    """Those of every day, and the others."""
    short = [Row("bytes", precision) for precision in PRECISIONS]
    short += [
        Row("bytes", "bf16", ("--memory-budget", "60%"), seeds=(1,)),
        Row("digits", "bf16", ("--memory-budget", "80%"), seeds=(1,)),
        Row("bytes", "bf16", ("--zero", "2"), ranks=2),
    ]
    variants = [
        ((), 1),
        (("--memory-budget", "at-least:60%"), 1),
        (("--grad-accumulation", "2"), 1),
        (("--zero", "0"), 2),
        (("--zero", "1"), 2),
        (("--zero", "2"), 2),
        (("--zero", "3"), 2),
    ]
    long = [
        Row(model, precision, flags, ranks, steps=4, seeds=(0, 1, 2))
        for model in ("digits", "bytes")
        for precision in PRECISIONS
        for flags, ranks in variants
    ]
    long += [Row("bytes", "fp8", ("--fp8-scaling", "delayed"), ranks=2)]
    long += [Row("digits", "fp32", ("--mesh", "inner=2", "--zero", zero, "--clip"), 4) for zero in ("1", "3")]
    long += [
        Row("bytes", precision, (*MESH, *flags), ranks, seeds=tuple(range(20)))
        for precision, flags, ranks in (
            ("fp32", ("--clip",), 2),
            ("bf16", ("--zero", "2"), 4),
            ("fp32", ("--zero", "3", "--grad-accumulation", "2"), 4),
        )
    ]
    rows = (*MESH, "--split-rows", "always")
    long += [Row("bytes", "fp8", MESH, ranks=2), Row("bytes", "bf16", rows, ranks=2)]
    long += [Row(model, "bf16", steps=4, seeds=tuple(range(20))) for model in ("digits", "bytes")]
    return short, long


def prepare(ingot, row):
    """Model, data and flags of ingotc."""
    if row.model == "digits":
        return DIGITS / "digits.onnx", DIGITS / "train.npz", ["--loss", "cross-entropy", "--batch", "16", *row.flags]
    data = ingot.path("train.bin")
    ingot.succeed([sys.executable, BYTES / "tokens.py", data, ROOT / "LICENSE"])
    return BYTES / "bytes.onnx", data, ["--loss", "cross-entropy", "--batch", "2", *row.flags]


def compare_ranks(ingot, row, model, data, flags):
    if not shutil.which("mpirun"):
        raise Skip("mpirun is not there")
    if "--mesh" not in flags:
        flags = [*flags, "--data-parallel"]
    flags = [*flags, "--bucket-mb", "0.05", "--precision", row.precision]
    on_cpu, on_gpu = ingot.compile(model, *flags), ingot.compile(model, *flags, "--target", "cuda")
    fakes = {"INGOT_FAKES": str(ingot.bin.parent / "lib/fakes"), "OMP_NUM_THREADS": "1"}

    def run(program, log, seed=None):
        words = f"{program} --data {data} --steps {row.steps} --seed 1 --log {log}"
        calls = ingot.path("calls")
        if seed is not None:
            words = (
                f"env INGOT_FAKE_LOG={calls}.$OMPI_COMM_WORLD_RANK {ROOT}/tools/software-gpu "
                f"--gpus {row.ranks} --seed $(({seed} + OMPI_COMM_WORLD_RANK)) {words}"
            )
        command = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", row.ranks, "bash", "-c", "exec " + words]
        ingot.succeed(command, env=fakes)
        for rank in range(row.ranks if seed is not None else 0):
            text = calls.with_name(f"calls.{rank}").read_text()
            check("violation" not in text and "fault" not in text, f"rank {rank}: a call is wrong")
        return [json.loads(line)["loss"] for line in log.read_text().splitlines()]

    expected = run(on_cpu, ingot.path("cpu.jsonl"))
    first = None
    for seed in row.seeds:
        got = run(on_gpu, ingot.path(f"gpu{seed}.jsonl"), seed)
        check_relative(f"order {seed}", got, expected, TOLERANCE[row.precision])
        check(first in (None, got), f"the order of what nothing orders changes the losses: {first}, {got}")
        first = got


def register(row):
    @case(f"cuda software gpu trains {row.name}")
    def run(ingot):
        trainer(ingot)
        model, data, flags = prepare(ingot, row)
        if row.ranks > 1:
            compare_ranks(ingot, row, model, data, flags)
            return
        compare(ingot, model, data, *flags, precision=row.precision, steps=row.steps, seeds=row.seeds)


SHORT, LONG = make_rows()
for each in LONG if os.environ.get("INGOT_SOFTWARE_GPU") == "all" else SHORT:
    register(each)
