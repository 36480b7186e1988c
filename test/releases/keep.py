#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""keep.py [--bin DIR]: keeps a checkpoint of this release, test/releases/VERSION, which every later one has to resume
(the end-to-end cases of runs/releases). Run it with the Python of tools/setup when a release is made; a folder that is
there stays as it is. There is no way to make one again with a later release.

A folder has the model, its data, the checkpoint of step 5, and run.json: the flags, the version, and what the release
itself found when it resumed: the evaluation, and the losses of steps 6 to 10.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnx.numpy_helper

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
FLAGS = ["--loss", "cross-entropy", "--optimizer", "adamw", "--batch", "8", "--clip"]
RUN = ["--lr", "0.02", "--schedule", "cosine", "--warmup", "2", "--clip-norm", "1", "--seed", "3"]


def make_model(path):
    random = np.random.default_rng(0)
    weights = {"fc1.weight": (12, 6), "fc1.bias": (12,), "fc2.weight": (4, 12), "fc2.bias": (4,)}
    graph = onnx.parser.parse_graph(
        "kept (float[N,6] x) => (float[N,4] y) {"
        " a = Gemm<transB=1>(x, fc1.weight, fc1.bias)"
        " b = Tanh(a)"
        " y = Gemm<transB=1>(b, fc2.weight, fc2.bias) }".replace("fc1.", "fc1_").replace("fc2.", "fc2_")
    )
    for node in graph.node:
        node.name = node.output[0]
        node.input[:] = [name.replace("_", ".") for name in node.input]
    for name, shape in weights.items():
        values = random.normal(0, 0.4, shape).astype(np.float32)
        graph.initializer.append(onnx.numpy_helper.from_array(values, name))
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    onnx.save(model, path)


def make_data(path):
    random = np.random.default_rng(1)
    labels = np.arange(64) % 4
    centers = random.normal(0, 1, (4, 6))
    x = centers[labels] + random.normal(0, 0.7, (64, 6))
    np.savez(path, x=x.astype(np.float32), labels=labels.astype(np.int64))


def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"error: keep: {command[0]}: {done.stderr}\nhint: the release has to run the model")
    return done.stdout


def read_log(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/release/bin")
    options = parser.parse_args()
    version = run(options.bin / "ingotc", "--version").split()[1]
    folder = HERE / version
    if folder.exists():
        sys.exit(f"error: keep: {folder} is there\nhint: a checkpoint that is kept never changes")
    with tempfile.TemporaryDirectory() as scratch:
        made = pathlib.Path(scratch, "made")
        made.mkdir()
        make_model(made / "model.onnx")
        make_data(made / "data.npz")
        trainer, log = pathlib.Path(scratch, "trainer"), pathlib.Path(scratch, "log.jsonl")
        data = ["--data", made / "data.npz", "--eval-data", made / "data.npz"]
        run(options.bin / "ingotc", made / "model.onnx", "-o", trainer, *FLAGS)
        # The schedule is that of the whole run.
        run(trainer, *data, *RUN, "--steps", "10", "--save", pathlib.Path(scratch, "whole"), "--save-every", "5")
        pathlib.Path(scratch, "whole/step-5").rename(made / "checkpoint")
        run(trainer, *data, "--resume", made / "checkpoint", "--log", log)
        steps = [line["loss"] for line in read_log(log) if "loss" in line]
        printed = pathlib.Path(scratch, "evaluation.jsonl")
        run(trainer, *data, "--resume", made / "checkpoint", "--evaluate", "--log", printed)
        found = [line for line in read_log(printed) if "eval_loss" in line][-1]
        results = {"version": version, "flags": FLAGS, "losses": steps}
        results |= {name: found[name] for name in ("eval_loss", "eval_accuracy")}
        (made / "run.json").write_text(json.dumps(results, indent=1) + "\n")
        made.rename(folder)
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    print(f"{folder}: {size} bytes")


if __name__ == "__main__":
    main()
