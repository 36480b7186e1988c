# SPDX-License-Identifier: Apache-2.0
"""Models with training information: the optimizer operators of
ai.onnx.preview.training as the onnx package's reference evaluator runs them,
with gradients written by hand."""

import numpy as np
import onnx
import onnxruntime
from harness import case, check_close, check_relative, initializers
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

BATCH, STEPS, RATE = 4, 6, 0.1
DOMAIN = "ai.onnx.preview.training"
SOURCE = np.random.default_rng(0)
START = {
    "weight": SOURCE.standard_normal((3, 2)).astype(np.float32),
    "bias": np.zeros(2, np.float32),
}
DATA = {
    "x": SOURCE.standard_normal((BATCH * STEPS, 3)).astype(np.float32),
    "target": SOURCE.standard_normal((BATCH * STEPS, 2)).astype(np.float32),
}

# The operator, its attributes and the number of moments of each parameter.
OPTIMIZERS = {
    "Momentum": ({"alpha": 0.9, "beta": 1.0, "mode": "standard", "norm_coefficient": 0.01}, 1),
    "Nesterov": ({"alpha": 0.9, "beta": 1.0, "mode": "nesterov", "norm_coefficient": 0.01}, 1),
    "Adagrad": ({"decay_factor": 0.0, "epsilon": 1e-6, "norm_coefficient": 0.01}, 1),
    "Adam": ({"alpha": 0.8, "beta": 0.95, "epsilon": 1e-6}, 2),
}


def value(name, shape, kind=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def optimizer_node(kind, count):
    attributes, moments = OPTIMIZERS[kind]
    names = [f"{p}.m{m}" for m in range(moments) for p in START]
    inputs = ["rate", count, *START, *(p + ".gradient" for p in START), *names]
    outputs = [n + ".next" for n in (*START, *names)]
    operator = "Momentum" if kind == "Nesterov" else kind
    return helper.make_node(operator, inputs, outputs, domain=DOMAIN, **attributes), names


def make_model(kind, count="steps", rate_is_input=False):
    """A linear model whose algorithm trains it by mean squared error."""
    forward = helper.make_graph(
        [helper.make_node("MatMul", ["x", "weight"], ["xw"]), helper.make_node("Add", ["xw", "bias"], ["y"])],
        "forward",
        [value("x", ["n", 3])],
        [value("y", ["n", 2])],
        [numpy_helper.from_array(v, k) for k, v in START.items()],
    )
    nodes = [
        helper.make_node("Sub", ["y", "target"], ["error"]),
        helper.make_node("Mul", ["error", "error"], ["square"]),
        helper.make_node("ReduceMean", ["square"], ["loss"], keepdims=0),
        helper.make_node(
            "Gradient", list(START), [p + ".gradient" for p in START], domain=DOMAIN, xs=list(START), y="loss"
        ),
        helper.make_node("Add", ["steps", "one"], ["steps.next"]),
    ]
    own = {"steps": np.array(0), "one": np.array(1)}
    updated = list(START)
    if kind == "descent":
        for p in START:
            nodes.append(helper.make_node("Mul", ["rate", p + ".gradient"], [p + ".change"]))
            nodes.append(helper.make_node("Sub", [p, p + ".change"], [p + ".next"]))
    else:
        node, names = optimizer_node(kind, count)
        nodes.append(node)
        own.update({n: np.zeros_like(START[n.split(".")[0]]) for n in names})
        updated += [*names, "steps"]
    inputs = [value("target", ["n", 2])]
    if rate_is_input:
        inputs.append(value("rate", []))
    else:
        own["rate"] = np.float32(RATE)
    own = [numpy_helper.from_array(np.asarray(v), k) for k, v in own.items()]
    algorithm = helper.make_graph(nodes, "algorithm", inputs, [value("loss", [])], own)
    model = helper.make_model(forward, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid(DOMAIN, 1)])
    model.ir_version = 8
    info = model.training_info.add()
    info.algorithm.CopyFrom(algorithm)
    for name in updated:
        info.update_binding.add(key=name, value=name + ".next")
    # The bias starts from the initialization's constant.
    start = numpy_helper.from_array(np.full(2, 0.5, np.float32), "start")
    info.initialization.CopyFrom(helper.make_graph([], "initialization", [], [value("start", [2])], [start]))
    info.initialization_binding.add(key="bias", value="start")
    onnx.checker.check_model(model)
    return model


def reference(kind, first):
    """Losses, and the parameters after all steps; the optimizer reads `first` in the first step."""
    state = {"weight": START["weight"], "bias": np.full(2, 0.5, np.float32)}
    losses = []
    if kind != "descent":
        node, names = optimizer_node(kind, "steps")
        state.update({n: np.zeros_like(state[n.split(".")[0]]) for n in names})
        kinds = {"steps": TensorProto.INT64}
        graph = helper.make_graph(
            [node],
            "update",
            [value(n, None, kinds.get(n, TensorProto.FLOAT)) for n in node.input],
            [value(n, None) for n in node.output],
        )
        evaluator = ReferenceEvaluator(helper.make_model(graph, opset_imports=[helper.make_opsetid(DOMAIN, 1)]))
    for step in range(STEPS):
        x, target = (DATA[n][step * BATCH : (step + 1) * BATCH] for n in ("x", "target"))
        error = x @ state["weight"] + state["bias"] - target
        losses.append(float((error**2).mean()))
        slope = 2 * error / error.size
        gradients = {"weight": x.T @ slope, "bias": slope.sum(0)}
        if kind == "descent":
            state = {p: v - np.float32(RATE) * gradients[p] for p, v in state.items()}
            continue
        feeds = {"rate": np.float32(RATE), "steps": np.array(first + step), **state}
        feeds.update({p + ".gradient": g for p, g in gradients.items()})
        state = dict(zip(state, evaluator.run(None, feeds)))
    return losses, state


def agrees(kind, count="steps", rate_is_input=False):
    def run(ingot):
        path, data = ingot.path("model.onnx"), ingot.path("data.npz")
        onnx.save(make_model(kind, count, rate_is_input), path)
        np.savez(data, **DATA)
        trainer = ingot.compile(path, "--batch", str(BATCH))
        exported = ingot.path("exported.onnx")
        rate = ["--lr", str(RATE)] if rate_is_input else []
        flags = ["--data", data, "--no-shuffle", "--steps", STEPS, "--export", exported, *rate]
        steps, _ = ingot.train(trainer, *flags)
        losses, state = reference(kind, 1 if count == "steps.next" else 0)
        check_relative("loss", [s["loss"] for s in steps], losses, 1e-5)
        weights = initializers(exported)
        for name in START:
            check_close(name, weights[name], state[name], 1e-5)
        got = onnxruntime.InferenceSession(exported).run(None, {"x": DATA["x"][:2]})[0]
        check_close("y", got, DATA["x"][:2] @ state["weight"] + state["bias"], 1e-5)

    return run


for kind in ("descent", *OPTIMIZERS):
    case(f"training-info-{kind.lower()}")(agrees(kind))
case("training-info-adam-counted")(agrees("Adam", "steps.next"))
case("training-info-rate")(agrees("Momentum", rate_is_input=True))


@case("training-info-refused")
def refused(ingot):
    """What is not recognized is one error that names the initializer or the node."""

    def error(word, change, status=3, *flags):
        model = make_model("Momentum")
        change(model.training_info[0], model)
        path = ingot.path("model.onnx")
        onnx.save(model, path)
        ingot.check_error(ingot.ingotc(path, "--batch", "4", "-o", ingot.path("trainer"), *flags), status, word)

    def attribute(name, **changed):
        def change(info, _):
            node = info.algorithm.node[-1]
            kept = [a for a in node.attribute if a.name != name]
            del node.attribute[:]
            node.attribute.extend([*kept, helper.make_attribute(name, changed[name])])

        return change

    def binding(info, _):
        info.update_binding[0].value = "loss"

    def unknown(info, _):
        info.update_binding[0].key = "nothing"

    def shifted(info, _):
        info.initialization_binding[0].value = "nothing"

    def twice(info, model):
        model.training_info.add().CopyFrom(info)

    error("'other'", attribute("mode", mode="other"))
    error("beta", attribute("beta", beta=0.5))
    error("'weight'", binding)
    error("'nothing'", unknown)
    error("'bias'", shifted)
    error("2 pieces", twice)
    error("its own loss", lambda *_: None, 2, "--loss", "mse")
