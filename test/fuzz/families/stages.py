# SPDX-License-Identifier: Apache-2.0
"""Any pass on any stage of the compiler: what --dump-passes wrote, also with numbers
that are changed, and any pass of ingot-opt."""

import re
import subprocess

import sandbox
from subjects import Module

from families import modules

STATE = {}
FLAGS = [["--loss=cross-entropy", "--batch=4"], ["--loss=cross-entropy", "--batch=4", "--precision=fp16", "--clip"]]


def prepare(programs, scratch):
    """Dumps the stages of two compiles, and lists the passes."""
    if STATE:
        return
    from families import fixed

    model = scratch / "stages.onnx"
    model.write_bytes(fixed.dense().SerializeToString())
    STATE["files"] = []
    for i, flags in enumerate(FLAGS):
        folder = sandbox.clear(scratch / f"stages-{i}")
        command = [programs / "ingotc", model, *flags, "--dump-passes", folder, "-o", scratch / "staged"]
        subprocess.run(command, check=True, capture_output=True)
        STATE["files"] += sorted(path for path in folder.rglob("*.mlir"))
    text = subprocess.run([programs / "ingot-opt", "--help"], check=True, capture_output=True, text=True).stdout
    STATE["passes"] = sorted(set(re.findall(r"^ +--(ingot-[\w-]+)", text, re.MULTILINE)))


def text_of(path):
    return path.read_text(encoding="utf-8")


def on_stage(stage, flag, which=0):
    """A pass on the dump after another one."""

    def make(label):
        folder = f"stages-{which}"
        files = [path for path in STATE["files"] if path.stem.endswith(stage) and path.parent.name == folder]
        return Module(label, [text_of(files[-1])], [f"--{flag}"])

    return make


CASES = {
    f"{name}-on-{stage}": on_stage(stage, f"ingot-{name}")
    for stage in ("emit-cpu-kernels", "place-steps")
    for name in (
        "group-kernels",
        "order-steps",
        "expose-values",
        "emit-cuda-kernels",
        "cuda-kernels",
        "steps",
        "scale-loss",
        "place-steps",
        "form-fusions",
    )
}


def make(rng, _box, _seed):
    path, name = rng.choice(STATE["files"]), rng.choice(STATE["passes"])
    text, done = text_of(path), "as it is"
    # MLIR's own parser of other dialects does not survive every number.
    if rng.random() < 0.4 and "llvm." not in text:
        text, done = modules.mutate(rng, text), "with other numbers"
    return Module(f"--{name} on {path.stem} {done}", [text], [f"--{name}"])
