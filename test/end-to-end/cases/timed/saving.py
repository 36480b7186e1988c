# SPDX-License-Identifier: Apache-2.0
"""What training must not wait for."""

import numpy as np
import onnx
import onnx.parser
from harness import case, check, read_log
from launch import ALONE, mpirun, slow_disk
from onnx import numpy_helper


@case("zero-saves-behind")
def saves_behind(ingot):
    """Ranks write their shards while training goes on: the disk takes seconds, and no step waits for it."""
    text = """<ir_version: 9, opset_import: ["" : 20]>
    wide (float[N, 64] x) => (float[N, 10] y) {
      h = MatMul(x, w1)
      r = Relu(h)
      y = MatMul(r, w2)
    }"""
    model, source = onnx.parser.parse_model(text), np.random.default_rng(3)
    for name, shape in {"w1": (64, 16384), "w2": (16384, 10)}.items():
        array = (source.standard_normal(shape) * 0.05).astype(np.float32)
        model.graph.initializer.append(numpy_helper.from_array(array, name))
    path, data, save, log = (ingot.path(name) for name in ("model.onnx", "data.npz", "save", "log.jsonl"))
    onnx.save(model, path)
    np.savez(data, x=source.standard_normal((64, 64)).astype(np.float32), labels=np.arange(64) % 10)
    flags = ["--loss", "cross-entropy", "--optimizer", "adamw", "--batch", "4", "--data-parallel", "--zero", "1"]
    trainer = ingot.compile(path, *flags)
    command = [*mpirun(2), trainer, "--data", data, "--steps", "240", "--save", save, "--save-every", "160"]
    # Weights and their two moments in 14 MB, and as much at the end.
    with slow_disk(save.parent, write=4 << 20) as slow:
        ingot.succeed([*slow, *command, "--log", log], env=ALONE)
    elapsed = [row["elapsed_s"] for row in read_log(log)[0]]
    longest = max(b - a for a, b in zip(elapsed[159:], elapsed[160:]))
    check(longest < 1, f"a step waits {longest:.1f} s for a checkpoint of over 3 s")
    for step in (160, 240):
        check((save / f"step-{step}/shard-1.safetensors").exists(), f"step {step} is not there")
        resume = [trainer, "--data", data, "--steps", "241", "--resume", save / f"step-{step}"]
        ingot.succeed([*mpirun(2), *resume], env=ALONE)
