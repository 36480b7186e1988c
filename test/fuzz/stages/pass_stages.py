# SPDX-License-Identifier: Apache-2.0
"""pass_stages.py FOLDER [MODEL[:OPTION...]...]: every pass of ingot-opt on every module of ingotc --dump-passes.

A pass may refuse a module that is not at its level, with an error, or accept it. It may not crash or hang. The
options of ingotc for a model follow it, separated by colons; without models, six are taken. The passes run in
ingot-pass-stages.
"""

import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
GOLDENS, EXPORTED = ROOT / "test/end-to-end/goldens", ROOT / "test/end-to-end/exported"
MODELS = [
    f"{GOLDENS}/mlp/model.onnx:--batch 4:--loss cross-entropy:--precision fp16:--grad-accumulation 2",
    f"{EXPORTED}/resnet-unoptimized.onnx:--batch 2:--loss cross-entropy:--memory-budget 95%",
    f"{EXPORTED}/gpt-unoptimized.onnx:--batch 2:--loss cross-entropy:--precision bf16:--data-parallel:--zero 2:--clip",
    f"{GOLDENS}/cnn/model.onnx:--batch 4:--loss cross-entropy:--target cuda:--arch sm_90",
    f"{GOLDENS}/regression/model.onnx:--batch 4:--loss mse:-O0:--optimizer lamb",
    f"{GOLDENS}/multilabel/model.onnx:--batch 4:--loss bce-with-logits:--data-parallel:--optimizer-precision bf16",
]


def passes():
    """The project's passes and pipelines that need no option; of the passes of MLIR, those of the pipeline."""
    text = subprocess.run(["ingot-opt", "--help"], check=True, capture_output=True, text=True).stdout
    names = sorted(set(re.findall(r"^ +--(ingot-[a-z0-9-]+)", text, re.MULTILINE)))
    assert len(names) > 40, names
    return [*names, "canonicalize", "cse"]


def stages(folder, model, flags):
    folder.mkdir(parents=True, exist_ok=True)
    trainer = folder / "trainer"
    subprocess.run(["ingotc", model, *flags, "--dump-passes", folder, "-o", trainer], check=True)
    return sorted(folder.glob("*.mlir"))


def different(files):
    """One file of each content: verifiers change nothing."""
    seen = {}
    for file in files:
        seen.setdefault(file.read_bytes(), file)
    return list(seen.values())


def main():
    root, names = pathlib.Path(sys.argv[1]), passes()
    models, files = sys.argv[2:] or MODELS, []
    for number, entry in enumerate(models):
        model, *flags = entry.split(":")
        found = stages(root / str(number), model, [part for flag in flags for part in flag.split()])
        assert len(found) > 20, found
        files += different(found)

    def attempt(file):
        return subprocess.run(["ingot-pass-stages", file, "--", *names], capture_output=True, text=True)

    problems = 0
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        for done in pool.map(attempt, files):
            problems += done.returncode != 0
            if done.returncode:
                print(done.stdout, done.stderr[-1000:], flush=True)
    print(f"{len(files) - problems} of {len(files)} stages of {len(models)} models fine")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
