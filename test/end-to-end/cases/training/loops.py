# SPDX-License-Identifier: Apache-2.0
"""Loops that are compiled once for all iterations: the losses are those of the same model with its loops unrolled."""

import json

import numpy as np
import onnx
import onnx.parser
from cases.cuda import software_gpu
from fakes import trainer as require_software_gpu
from harness import case, check, check_close, check_relative
from launch import ALONE, mpirun
from onnx import numpy_helper

STEPS, BATCH, INPUTS, HIDDEN, CLASSES = 12, 4, 6, 20, 5

# Nodes from `s`, [steps, batch, inputs], to `h`, [batch, hidden], and the number of their directions.
LAYERS = {
    "lstm": ["_, _h, _c = LSTM<hidden_size=20>(s, w, r, b)", "h = Squeeze(_h, zero)"],
    "gru": ["_, _h = GRU<hidden_size=20>(s, w, r, b)", "h = Squeeze(_h, zero)"],
    "gru-after-product": [
        "_, _h = GRU<hidden_size=20, linear_before_reset=1>(s, w, r, b)",
        "h = Squeeze(_h, zero)",
    ],
    "rnn": ['_, _h = RNN<hidden_size=20, direction="reverse">(s, w, r, b)', "h = Squeeze(_h, zero)"],
    "lstm-bidirectional": [
        'all, _h = LSTM<hidden_size=20, direction="bidirectional">(s, w, r, b, lengths)',
        "flat = ReduceMean<keepdims=0>(all, zero)",
        "h = ReduceSum<keepdims=0>(flat, zero)",
    ],
    "scan": [
        """h, _all = Scan<num_scan_inputs=1, scan_input_directions=[1], body = step
        (float[4,20] a, float[4,6] v) => (float[4,20] c, float[4,20] o) {
          p = MatMul(v, ws)
          q = MatMul(a, rs)
          t = Add(p, q)
          u = Tanh(t)
          i = Mul(u, u)
          c = Sub(u, i)
          o = Mul(c, a)
        }>(start, s)""",
    ],
    "loop": [
        """h, _all = Loop(count, , start) <body = step
        (int64 i, bool go, float[4,20] a) => (bool on, float[4,20] c, float[4,20] o) {
          on = Identity(go)
          v = Gather(s, i)
          p = MatMul(v, ws)
          q = MatMul(a, rs)
          t = Add(p, q)
          g = Cast<to=1>(i)
          f = Add(t, g)
          c = Sigmoid(f)
          o = Mul(c, c)
        }>""",
    ],
}
GATES = {"lstm": 4, "gru": 3, "rnn": 1}


def build(path, kind):
    gates = GATES.get(kind.split("-")[0], 0)
    directions = 2 if kind.endswith("bidirectional") else 1
    body = "\n".join(LAYERS[kind])
    text = (
        '<ir_version: 8, opset_import: ["": 18]>\n'
        f"g (float[n,{STEPS},{INPUTS}] x) => (float[n,{CLASSES}] y) {{\n"
        f"s = Transpose<perm=[1,0,2]>(x)\n{body}\ny = MatMul(h, out)\n}}"
    )
    model = onnx.parser.parse_model(text)
    source = np.random.default_rng(3)

    def weight(*shape):
        return (source.standard_normal(shape) * 0.3).astype(np.float32)

    arrays = {"out": weight(HIDDEN, CLASSES), "zero": np.array([0], np.int64)}
    if gates:
        arrays |= {
            "w": weight(directions, gates * HIDDEN, INPUTS),
            "r": weight(directions, gates * HIDDEN, HIDDEN),
            "b": weight(directions, 2 * gates * HIDDEN),
            "lengths": np.array([STEPS, 1, STEPS - 3, STEPS], np.int32),
        }
    else:
        arrays |= {
            "ws": weight(INPUTS, HIDDEN),
            "rs": weight(HIDDEN, HIDDEN),
            "start": np.zeros((BATCH, HIDDEN), np.float32),
            "count": np.array(STEPS, np.int64),
        }
    text = str(body)
    model.graph.initializer.extend(numpy_helper.from_array(v, k) for k, v in arrays.items() if k == "out" or k in text)
    for i, node in enumerate(model.graph.node):
        node.name = f"{node.op_type}_{i}"
    onnx.checker.check_model(model)
    onnx.save(model, path)


def data(ingot, count=BATCH):
    source = np.random.default_rng(4)
    path = ingot.path("data.npz")
    np.savez(
        path,
        x=source.standard_normal((count, STEPS, INPUTS)).astype(np.float32),
        labels=source.integers(0, CLASSES, count),
    )
    return path


FLAGS = ("--loss", "cross-entropy", "--batch", str(BATCH), "--optimizer", "sgd")


def compile_both(ingot, kind, *flags):
    """Trainers of the model with its loops as they are, and unrolled."""
    model = ingot.path(f"{kind}.onnx")
    build(model, kind)
    remarks = ingot.path("remarks.yaml")
    rolled = ingot.compile(model, *FLAGS, "--loops", "rolled", "--remarks", remarks, *flags)
    text = remarks.read_text()
    check("Passed\nPass:            import-onnx\nName:            RolledLoop" in text, "the loop is not rolled")
    return rolled, ingot.compile(model, *FLAGS, "--loops", "unrolled", *flags)


def compare(ingot, kind, tolerance, *flags, count=BATCH, steps=8, launch=()):
    arrays = data(ingot, count)
    losses = []
    for trainer in compile_both(ingot, kind, *flags):
        log = ingot.path("log.jsonl")
        command = [*launch, trainer, "--data", arrays, "--steps", str(steps), "--lr", "0.1", "--log", log]
        ingot.succeed(command, env=ALONE)
        losses.append([line["loss"] for line in map(json.loads, log.read_text().splitlines()) if "loss" in line])
    check(len(losses[0]) == steps, f"{len(losses[0])} losses")
    check(losses[1][-1] < losses[1][0], "the model does not learn")
    check_relative(kind, *losses, tolerance)


def register(kind):
    @case(f"loops-{kind}")
    def run(ingot):
        for level in ("-O2", "-O0"):
            compare(ingot, kind, 1e-6, level)


for kind in LAYERS:
    register(kind)


@case("loops-refused")
def refused(ingot):
    """A condition that depends on data: the loop is unrolled, and a remark says why."""
    model, remarks = ingot.path("condition.onnx"), ingot.path("remarks.yaml")
    graph = onnx.parser.parse_model(
        f"""<ir_version: 8, opset_import: ["": 18]>
        g (float[n,{INPUTS}] x) => (float[n,{INPUTS}] y) {{
          a = Mul(x, w)
          y = Loop(count, , a) <body = step (int64 i, bool go, float[{BATCH},{INPUTS}] p)
              => (bool on, float[{BATCH},{INPUTS}] q) {{
            q = Tanh(p)
            most = ReduceMax<keepdims=0>(q)
            on = Less(most, limit)
          }}>
        }}"""
    )
    arrays = {"w": np.ones(INPUTS, np.float32), "count": np.array(4, np.int64), "limit": np.float32(0.5)}
    graph.graph.initializer.extend(numpy_helper.from_array(np.asarray(v), k) for k, v in arrays.items())
    onnx.save(graph, model)
    flags = ("--loss", "mse", "--batch", str(BATCH), "--loops", "rolled", "--remarks", remarks)
    ingot.compile(model, *flags)
    check("its condition depends on data" in remarks.read_text(), "no remark says why the loop is unrolled")


@case("loops-bf16")
def bf16(ingot):
    # Without optimization, contractions are in 16 bits whatever the machine gains by it.
    for kind, level in (("lstm", "-O0"), ("gru", "-O0"), ("lstm", "-O2")):
        compare(ingot, kind, 2e-2, "--precision", "bf16", level)


@case("loops-accumulation")
def accumulation(ingot):
    compare(ingot, "lstm", 1e-6, "--grad-accumulation", "2", count=2 * BATCH)


@case("loops-ranks")
def ranks(ingot):
    launch = mpirun(2)
    for zero in ("0", "2"):
        compare(ingot, "gru", 1e-6, "--data-parallel", "--zero", zero, count=2 * BATCH, launch=launch)


@case("loops-memory-budget")
def budget(ingot):
    compare(ingot, "lstm-bidirectional", 1e-6, "--memory-budget", "95%")


@case("loops-evaluation")
def evaluation(ingot):
    arrays = data(ingot)
    values = []
    for trainer in compile_both(ingot, "lstm"):
        predicted = ingot.path("predicted.npz")
        flags = ["--steps", "6", "--eval-data", arrays, "--eval-every", "3", "--predict", predicted]
        _, evaluations = ingot.train(trainer, "--data", arrays, *flags)
        with np.load(predicted) as outputs:
            values.append(([e["eval_loss"] for e in evaluations], outputs["y"]))
    check_relative("evaluation", values[0][0], values[1][0], 1e-6)
    check_close("predictions", values[0][1], values[1][1], 1e-5)


@case("loops-resume")
def resume(ingot):
    arrays = data(ingot)
    rolled, unrolled = compile_both(ingot, "lstm")
    folder = ingot.path("saved")
    whole, _ = ingot.train(unrolled, "--data", arrays, "--steps", "8", "--lr", "0.3")
    ingot.train(rolled, "--data", arrays, "--steps", "4", "--lr", "0.3", "--save", folder)
    rest, _ = ingot.train(rolled, "--data", arrays, "--steps", "8", "--lr", "0.3", "--resume", folder, log_from=5)
    check_relative("resumed", [s["loss"] for s in rest], [s["loss"] for s in whole[4:]], 1e-6)


@case("loops-software-gpu")
def on_gpu(ingot):
    """The graph of a step has the launches of all iterations."""
    require_software_gpu(ingot)
    model = ingot.path("lstm.onnx")
    build(model, "lstm")
    software_gpu.compare(ingot, model, data(ingot), *FLAGS, "--loops", "rolled", steps=3)
