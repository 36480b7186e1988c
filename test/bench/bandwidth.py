# SPDX-License-Identifier: Apache-2.0
"""Which share of the memory's bandwidth the memory-bound kernels reach, on tensors of 1 GiB.

Trains models that hold one tensor of that size, with --profile, and compares the bytes per second of each
kernel that touches all of it with those of three patterns by numpy in as many threads: a sum of two such tensors
into a third (STREAM's "add"; shares are of it), a copy, and a sum in place. The patterns run before and after each
model, the best of all runs counts. What is written to a new place is also read by the processor first: add moves
four tensors where three count, a copy three for two, a sum in place three for three. Needs numpy and onnx,
and six times the size in memory.
"""

import json
import os
import statistics
import subprocess
import tempfile
import threading
import time

import bench
import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

STEPS = 4
# Kinds of kernels, apart from library calls.
GENERATED = {"loop", "reduction", "row"}


# What each pattern does with parts of three tensors, and how many tensors count.
PATTERNS = {
    "add": (lambda a, b, c: numpy.add(a, b, out=c), 3),
    "copy": (lambda a, b, c: numpy.copyto(c, a), 2),
    "in place": (lambda a, b, c: numpy.add(a, b, out=a), 3),
}


def stream(size, threads, best):
    """Raises `best`, bytes per second by pattern, to what four runs of each reach."""
    tensors = [numpy.full(size // 4, value, numpy.float32) for value in (1, 0, 0)]
    bounds = numpy.linspace(0, size // 4, threads + 1).astype(int)
    parts = [[tensor[bounds[i] : bounds[i + 1]] for tensor in tensors] for i in range(threads)]
    for name, (run, count) in PATTERNS.items():
        for _ in range(4):
            workers = [threading.Thread(target=run, args=part) for part in parts]
            start = time.perf_counter()
            for worker in workers:
                worker.start()
            for worker in workers:
                worker.join()
            best[name] = max(best.get(name, 0), count * size / (time.perf_counter() - start))


def model(kind, rows, columns):
    """A parameter of rows x columns through one operation, and a small product so that its result is in memory."""
    random = numpy.random.default_rng(0)
    values = {
        "small": random.normal(0, 0.02, (columns, 16)),
        "weight": numpy.ones(columns),
        "bias": numpy.zeros(columns),
        "axis": numpy.array([1]),
    }
    big = helper.make_tensor("big", TensorProto.FLOAT, [rows, columns], bytes(4 * rows * columns), raw=True)
    nodes = {
        "layer-norm": [helper.make_node("LayerNormalization", ["big", "weight", "bias"], ["y"], "norm", axis=-1)],
        "softmax": [helper.make_node("Softmax", ["big"], ["y"], "softmax", axis=-1)],
        "gelu": [helper.make_node("Gelu", ["big"], ["y"], "gelu", approximate="tanh")],
        "cross-entropy": [],
    }[kind]
    if kind == "cross-entropy":
        nodes.append(helper.make_node("Unsqueeze", ["x", "axis"], ["column"], "column"))
        nodes.append(helper.make_node("Add", ["big", "column"], ["logits"], "logits"))
        outputs = [helper.make_tensor_value_info("logits", TensorProto.FLOAT, [rows, columns])]
    else:
        nodes.append(helper.make_node("MatMul", ["y", "small"], ["z"], "product"))
        nodes.append(helper.make_node("ReduceMean", ["z"], ["mean"], "mean", keepdims=0))
        nodes.append(helper.make_node("Mul", ["mean", "x"], ["scaled"], "scale"))
        nodes.append(helper.make_node("ReduceSum", ["scaled"], ["loss"], "loss", keepdims=0))
        outputs = [helper.make_tensor_value_info("loss", TensorProto.FLOAT, [])]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [rows if kind == "cross-entropy" else 1])]
    used = {name for node in nodes for name in node.input}
    initializers = [big]
    for name in used & values.keys():
        kept = values[name].astype(numpy.int64 if name == "axis" else numpy.float32)
        initializers.append(numpy_helper.from_array(kept, name))
    graph = helper.make_graph(nodes, kind, inputs, outputs, initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


def profile(kind, rows, columns, options, directory):
    """The kernels that touch all of the tensor: name -> (bytes, seconds)."""
    path = os.path.join(directory, kind)
    onnx.save(model(kind, rows, columns), path + ".onnx", save_as_external_data=True, location=kind + ".data")
    loss = "cross-entropy" if kind == "cross-entropy" else "output:loss"
    subprocess.run(
        [
            os.path.join(options.bin, "ingotc"),
            path + ".onnx",
            "-o",
            path,
            "--loss",
            loss,
            "--weights",
            "none",
            "--optimizer",
            "adamw" if kind == "gelu" else "sgd",
        ],
        check=True,
    )
    os.remove(path + ".data")
    samples = rows if kind == "cross-entropy" else 1
    arrays = {"x": numpy.ones(samples, numpy.float32)}
    if kind == "cross-entropy":
        arrays["labels"] = numpy.arange(samples) % columns
    numpy.savez(path + ".npz", **arrays)
    subprocess.run(
        [path, "--data", path + ".npz", "--steps", str(STEPS), "--profile", path + ".json"],
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    with open(path + ".json") as file:
        events = json.load(file)["traceEvents"]
        events = [event for event in events if event.get("args", {}).get("function") == "train_step"]
    kernels = sorted((event for event in events if event["cat"] != "function"), key=lambda event: event["ts"])
    count = len(kernels) // STEPS
    result = {}
    for i in range(count):
        name, size = kernels[i]["name"], kernels[i]["args"]["bytes"]
        seconds = statistics.median(event["dur"] for event in kernels[count + i :: count]) * 1e-6
        if kernels[i]["cat"] in GENERATED and size >= 4 * rows * columns:
            result[f"{i} {name}"] = (size, seconds)
    return result


def main():
    parser = bench.make_parser(__doc__)
    kinds = ["layer-norm", "softmax", "gelu", "cross-entropy"]
    parser.add_argument("kinds", nargs="*", default=kinds, metavar="KIND", help=" ".join(kinds))
    parser.add_argument("--mib", type=int, default=1024, help="size of the tensor")
    parser.add_argument("--columns", type=int, default=1024, help="length of its rows")
    options = parser.parse_args()
    size = options.mib << 20
    rows = size // 4 // options.columns

    threads = int(os.environ.get("OMP_NUM_THREADS", len(os.sched_getaffinity(0))))
    best, kernels = {}, {}
    stream(size, threads, best)
    with tempfile.TemporaryDirectory() as directory:
        for kind in options.kinds:
            for name, measured in profile(kind, rows, options.columns, options, directory).items():
                kernels[kind, name] = measured
            stream(size, threads, best)
    for name, rate in best.items():
        print(f"{name}: {rate * 1e-9:.1f} GB/s")
    print(f"{'model':14} {'MiB':>6} {'ms':>8} {'GB/s':>6} {'share':>6}  kernel")
    results = {f"stream/{name}": rate for name, rate in best.items()}
    for (kind, name), (count, seconds) in kernels.items():
        rate = count / seconds
        results[f"{kind}/{name}"] = rate
        print(f"{kind:14} {count >> 20:6} {seconds * 1e3:8.1f} {rate * 1e-9:6.1f} {rate / best['add']:6.0%}  {name}")
    bench.write_json(options.json, results)


if __name__ == "__main__":
    main()
