# SPDX-License-Identifier: Apache-2.0
"""--emit onnx: the step as an ONNX training graph, which the onnx package's
reference evaluator runs to the losses of the trainer."""

import numpy as np
import onnx
import onnx.parser
from harness import EXPORTED, HERE, case, check, check_relative, golden
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

STEPS = 10


class Stepper:
    """Takes the steps of a model with training information: runs its algorithm,
    and replaces initializers as the bindings say."""

    def __init__(self, path):
        model = onnx.load(path)
        onnx.checker.check_model(model)
        (self.training,) = model.training_info
        algorithm = self.training.algorithm
        initializers = [*model.graph.initializer, *algorithm.initializer]
        self.state = {t.name: numpy_helper.to_array(t) for t in initializers}
        # The training graph is the model's graph followed by the algorithm.
        data = [*model.graph.input, *algorithm.input]
        inputs = [
            *data,
            *(helper.make_tensor_value_info(t.name, t.data_type, t.dims) for t in initializers),
        ]
        nodes = [*model.graph.node, *algorithm.node]
        graph = helper.make_graph(nodes, "step", inputs, [*model.graph.output, *algorithm.output])
        self.names = [v.name for v in graph.output]
        self.inputs = [v.name for v in data]
        step = helper.make_model(graph, opset_imports=model.opset_import)
        step.ir_version = model.ir_version
        onnx.checker.check_model(step, full_check=True)
        self.evaluator = ReferenceEvaluator(step)

    def __call__(self, data):
        results = dict(zip(self.names, self.evaluator.run(None, {**self.state, **data})))
        for binding in self.training.update_binding:
            self.state[binding.key] = results[binding.value]
        return float(results["loss"])


def losses(path, data, batch, steps, **hyperparameters):
    step = Stepper(path)
    for name, value in hyperparameters.items():
        check(name in step.state, f"no hyperparameter {name}")
        step.state[name] = np.float64(value)
    found = []
    for i in range(steps):
        rows = [j % len(data[step.inputs[0]]) for j in range(i * batch, (i + 1) * batch)]
        found.append(step({name: data[name][rows] for name in step.inputs}))
    return found


def agrees(name, optimizer):
    """The losses of the first steps are those of the trainer."""

    def run(ingot):
        g = golden(name)
        flags = g.runs[optimizer]["flags"]
        written = ingot.path("step.onnx")
        ingot.succeed(ingot.ingotc(g.model, "-o", written, "--emit", "onnx", *g.compile_flags(optimizer)))
        trainer = ingot.compile(g.model, *g.compile_flags(optimizer))
        steps, _ = ingot.train(trainer, "--data", g.data, "--no-shuffle", "--steps", STEPS, *flags)
        hyper = {n[2:].replace("-", "_"): float(v) for n, v in zip(flags[::2], flags[1::2])}
        with np.load(g.data) as arrays:
            got = losses(written, arrays, g.batch, STEPS, **hyper)
        check_relative("loss", got, [s["loss"] for s in steps], 1e-5)

    return run


MODELS = {"mlp": "adamw", "cnn": "momentum", "regression": "adamw", "multilabel": "adagrad", "segmentation": "adamw"}

for model, optimizer in MODELS.items():
    case(f"written-onnx-{model}")(agrees(model, optimizer))


def artifacts_agree(name, *flags):
    """So are those of ONNX Runtime, of a step that came with its backward pass."""

    def run(ingot):
        folder = HERE / "ort" / name
        written = ingot.path("step.onnx")
        files = [folder / "training_model.onnx", "--checkpoint", folder / "checkpoint"]
        files += ["--optimizer-model", folder / "optimizer_model.onnx"]
        ingot.succeed(ingot.ingotc(*files, *flags, "-o", written, "--emit", "onnx"))
        want = np.load(folder / "golden.npz")
        got = losses(written, want, 4, len(want["loss"]), lr=want["lr"])
        check_relative("loss", got, want["loss"], 1e-5)

    return run


case("written-onnx-transformer")(artifacts_agree("transformer"))
case("written-onnx-perceptron")(artifacts_agree("perceptron", "--batch", "4"))


@case("written-onnx-resnet")
def resnet(ingot):
    """Convolutions with strides, and pools, as PyTorch exports them."""
    source = np.random.default_rng(0)
    data = {"x": source.standard_normal((4, 3, 8, 8)).astype(np.float32), "labels": source.integers(0, 10, 4)}
    model, samples, written = EXPORTED / "resnet-unoptimized.onnx", ingot.path("data.npz"), ingot.path("step.onnx")
    np.savez(samples, **data)
    flags = ["--loss", "cross-entropy", "--batch", "2", "--optimizer", "sgd"]
    ingot.succeed(ingot.ingotc(model, *flags, "-o", written, "--emit", "onnx"))
    trainer = ingot.compile(model, *flags)
    steps, _ = ingot.train(trainer, "--data", samples, "--no-shuffle", "--steps", "2", "--lr", "0.01")
    check_relative("loss", losses(written, data, 2, 2, lr=0.01), [s["loss"] for s in steps], 1e-5)


@case("written-onnx-refused")
def refused(ingot):
    """What ONNX has no operator for is one error that names the node."""
    written = ingot.path("step.onnx")
    model = helper.make_model(
        onnx.parser.parse_graph("g (float[4,8] x) => (float[4,2] y) { h = Dropout(x, ratio, train) y = MatMul(h, w) }"),
        opset_imports=[helper.make_opsetid("", 17)],
    )
    model.ir_version = 8
    model.graph.node[0].name = "encoder/drop"
    for name, value in (("ratio", np.float32(0.5)), ("train", np.array(True)), ("w", np.ones((8, 2), np.float32))):
        model.graph.initializer.append(numpy_helper.from_array(np.asarray(value), name))
    path = ingot.path("dropout.onnx")
    onnx.save(model, path)
    flags = ["--loss", "mse", "-o", written, "--emit", "onnx"]
    ingot.check_error(ingot.ingotc(path, *flags), 3, "encoder/drop")
    g = golden("mlp")
    flags = [*g.compile_flags("adamw"), "--grad-accumulation", "2", "-o", written, "--emit", "onnx"]
    ingot.check_error(ingot.ingotc(g.model, *flags), 3, "several functions")
    check(not written.exists(), "a file is left")
