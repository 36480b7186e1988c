# SPDX-License-Identifier: Apache-2.0
"""Models with much external data, which ctest --preset thorough runs: one above 2 GiB takes 9 GB of memory and 8 GB
of disk for a while."""

import os
import subprocess

import numpy as np
import onnx
from harness import case, check

# 2.3 GB, of which a part is not zero.
ROWS, COLUMNS, SET = 72000, 8000, 1000


def make_model(path, rows=ROWS):
    """y = gather(table, i) . weight, whose table is a file with a hole."""
    data = path.with_name("model.onnx.data")
    with open(data, "wb") as file:
        file.truncate(4 * rows * COLUMNS)
        file.seek(4 * COLUMNS * (rows - SET))
        file.write(np.random.default_rng(0).normal(size=(SET, COLUMNS)).astype(np.float32).tobytes())
    graph = onnx.parser.parse_graph(
        "large (int64[N] i) => (float[N,1] y) { rows = Gather(table, i) y = MatMul(rows, weight) }"
    )
    table = graph.initializer.add(name="table", data_type=onnx.TensorProto.FLOAT, dims=[rows, COLUMNS])
    table.data_location = onnx.TensorProto.EXTERNAL
    for key, value in (("location", data.name), ("offset", "0"), ("length", str(4 * rows * COLUMNS))):
        table.external_data.add(key=key, value=value)
    weight = np.full((COLUMNS, 1), 0.01, np.float32)
    graph.initializer.append(onnx.numpy_helper.from_array(weight, "weight"))
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, path)


@case("models-above-2-gib")
def large_models(ingot):
    model = ingot.path("model.onnx")
    make_model(model)
    data = ingot.path("data.npz")
    np.savez(data, i=np.arange(ROWS - 64, ROWS), labels=np.ones((64, 1), np.float32))
    trainer = ingot.compile(model, "--loss", "mse", "--batch", "8", "--optimizer", "sgd", "--freeze", "table")
    exported = ingot.path("trained.onnx")
    ingot.train(trainer, "--data", data, "--steps", "2", "--no-shuffle", "--lr", "0.001", "--export", exported)
    values = exported.with_name("trained.onnx.data")
    check(exported.stat().st_size < 1 << 20 < values.stat().st_size, "the weights are not beside the model")
    back = onnx.load(exported, load_external_data=False)
    tensors = {tensor.name: tensor for tensor in back.graph.initializer}
    place = {entry.key: entry.value for entry in tensors["table"].external_data}
    before = np.memmap(model.with_name("model.onnx.data"), np.float32, "r", shape=(ROWS, COLUMNS))
    after = np.memmap(values, np.float32, "r", int(place["offset"]), (ROWS, COLUMNS))
    check((before[-SET:] == after[-SET:]).all() and not after[:-SET:1000].any(), "the table differs")
    trained = tensors["weight"]
    if trained.external_data:
        place = {entry.key: entry.value for entry in trained.external_data}
        trained = np.memmap(values, np.float32, "r", int(place["offset"]), (COLUMNS, 1))
    else:
        trained = onnx.numpy_helper.to_array(trained)
    check((trained != np.float32(0.01)).any(), "the weight was not trained")


def peak_of(command):
    """The most memory that the command has at a time."""
    process = subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    check(process.returncode == 0, f"exit {process.returncode}")
    return used.ru_maxrss * 1024


@case("external-data-is-held-once")
def held_once(ingot):
    """Neither importing nor what is kept for the export has a second copy of the weights."""
    model = ingot.path("model.onnx")
    flags = ["-o", ingot.path("trainer"), "--loss", "mse", "--batch", "8", "--optimizer", "sgd"]
    small, large = 2000, 12500
    for more in ([], ["--freeze", "table"], ["--external-data"]):
        peaks = []
        for rows in (small, large):
            make_model(model, rows)
            peaks.append(peak_of(ingot.ingotc(model, *flags, *more)))
        grown = 4 * COLUMNS * (large - small)
        check(peaks[1] - peaks[0] < 1.2 * grown, f"{more}: {peaks} for {grown} bytes more")
