# SPDX-License-Identifier: Apache-2.0
"""Training for integers: which kernels ONNX Runtime makes of the exported model, what they compute, and how well."""

import numpy as np
import onnx
import onnxruntime
from harness import DIGITS, case, check, check_close, initializers
from onnx import helper, numpy_helper

CLASSES = ["--loss", "cross-entropy", "--batch", "32"]
FILES = ["--data", DIGITS / "train.npz", "--eval-data", DIGITS / "eval.npz"]


def open_model(path):
    """The model in ONNX Runtime, and the operators that it optimizes it to."""
    options = onnxruntime.SessionOptions()
    options.optimized_model_filepath = str(path) + ".optimized"
    options.log_severity_level = 3
    # Products of weights of 4 bits keep their other operand.
    options.add_session_config_entry("session.qdq_matmulnbits_accuracy_level", "1")
    # Before VNNI, x86 adds pairs of products of uint8 and int8 in 16 bits, which saturate.
    options.add_session_config_entry("session.x64quantprecision", "1")
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return session, [node.op_type for node in onnx.load(options.optimized_model_filepath).graph.node]


def check_integers(what, operators, wanted):
    """Each node that is marked has a kernel of integers, and none is in floating point."""
    left = [name for name in operators if name in ("Conv", "Gemm", "MatMul", "Add", "FusedConv", "FusedGemm")]
    check(not left, f"{what}: {left} are in float: {operators}")
    for name, count in wanted.items():
        check(operators.count(name) == count, f"{what}: {operators.count(name)} {name} of {count}: {operators}")


def train_digits(ingot):
    trained = ingot.path("trained.onnx")
    _, evaluations = ingot.train(
        ingot.compile(DIGITS / "digits.onnx", *CLASSES), *FILES, "--epochs", "4", "--export", trained
    )
    return trained, evaluations[-1]["eval_accuracy"]


@case("quantized-digits")
def digits(ingot):
    """A CNN keeps its accuracy in integers of 8 bits, whether it is trained with them or its ranges are observed."""
    trained, accuracy = train_digits(ingot)
    images, labels = (np.load(DIGITS / "eval.npz")[name] for name in ("image", "labels"))
    for rule, words in (
        ("int8:fold", ["--steps", "0"]),
        ("int8:fold", ["--epochs", "1"]),
        ("int8:per-channel,fold", ["--steps", "0", "--calibration", "percentile"]),
        ("int8:per-channel,fold", ["--steps", "0", "--calibration", "mse"]),
        ("int8:per-channel,learned,fold", ["--epochs", "1"]),
        ("int8:per-channel", ["--epochs", "1"]),
    ):
        what = f"{rule} {' '.join(words)}"
        trainer = ingot.compile(trained, *CLASSES, "--qat", rule)
        quantized, predicted = ingot.path("quantized.onnx"), ingot.path("predicted.npz")
        ingot.succeed(
            [trainer, *FILES, *words, "--lr", "3e-4", "--calibrate", "8", "--export", quantized]
            + ["--predict", predicted]
        )
        session, operators = open_model(quantized)
        logits = session.run(None, {"image": images})[0]
        check_integers(what, operators, {"QLinearConv": 3, "QGemm": 1} if "fold" in rule else {"QLinearConv": 3})
        got = (logits.argmax(1) == labels).mean()
        check(got >= accuracy - 0.005, f"{what}: accuracy {got}, in float {accuracy}")
        (name,) = np.load(predicted).files
        same = (np.load(predicted)[name].argmax(1) == logits.argmax(1)).mean()
        check(same > 0.997, f"{what}: {same} of the samples have the class that the trainer predicts")
        scales = [value for key, value in initializers(quantized).items() if key.endswith("_scale")]
        check(scales and all((scale > 0).all() for scale in scales), f"{what}: scales are not positive")


def make_initializer(name, shape, scale, rng):
    return numpy_helper.from_array((rng.normal(size=shape) * scale).astype(np.float32), name)


def write_net(path):
    """Convolutions with a residual sum, pools, and an output that is quantized."""
    rng = np.random.default_rng(5)
    weights = [
        make_initializer(name, shape, scale, rng)
        for name, shape, scale in (
            ("one.weight", (8, 3, 3, 3), 0.3),
            ("one.bias", (8,), 0.1),
            ("two.weight", (8, 8, 3, 3), 0.2),
            ("two.bias", (8,), 0.1),
            ("three.weight", (4, 8, 1, 1), 0.4),
            ("three.bias", (4,), 0.1),
        )
    ]
    nodes = [
        helper.make_node("Conv", ["x", "one.weight", "one.bias"], ["one"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["one"], ["a"]),
        helper.make_node("MaxPool", ["a"], ["b"], kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Conv", ["b", "two.weight", "two.bias"], ["two"], pads=[1, 1, 1, 1]),
        helper.make_node("Add", ["two", "b"], ["sum"]),
        helper.make_node("Relu", ["sum"], ["c"]),
        helper.make_node("AveragePool", ["c"], ["d"], kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Conv", ["d", "three.weight", "three.bias"], ["y"]),
    ]
    values = [helper.make_tensor_value_info("x", 1, ["n", 3, 16, 16])]
    outputs = [helper.make_tensor_value_info("y", 1, ["n", 4, 4, 4])]
    graph = helper.make_graph(nodes, "net", values, outputs, weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)


def write_samples(path, count=64):
    rng = np.random.default_rng(6)
    x = rng.normal(size=(count, 3, 16, 16)).astype(np.float32)
    np.savez(path, x=x, labels=rng.normal(size=(count, 4, 4, 4)).astype(np.float32))
    return x


@case("quantized-codes")
def codes(ingot):
    """What the trainer predicts has the codes that ONNX Runtime's integer kernels compute."""
    model, data = ingot.path("net.onnx"), ingot.path("data.npz")
    write_net(model)
    x = write_samples(data)
    for rule in ("int8:reduce-range", "int8:per-channel,reduce-range", "int8:per-channel"):
        trainer = ingot.compile(model, "--loss", "mse", "--batch", "16", "--qat", rule)
        quantized, predicted = ingot.path("quantized.onnx"), ingot.path("predicted.npz")
        ingot.succeed(
            [trainer, "--data", data, "--epochs", "2", "--export", quantized]
            + ["--eval-data", data, "--predict", predicted]
        )
        session, operators = open_model(quantized)
        check_integers(rule, operators, {"QLinearConv": 3, "QLinearAdd": 1, "QLinearAveragePool": 1})
        want, got = session.run(None, {"x": x})[0], np.load(predicted)["y"]
        difference = np.abs(np.rint((got - want) / initializers(quantized)["y_scale"]))
        check(difference.max() <= 1, f"{rule}: codes differ by {difference.max()}")
        check((difference > 0).mean() < 1e-3, f"{rule}: {(difference > 0).mean()} of the codes differ")


@case("quantized-ranges")
def ranges(ingot):
    """Without steps, scales are those of the ranges of the float model, and its weights stay as they are."""
    model, data, out = ingot.path("net.onnx"), ingot.path("data.npz"), ingot.path("quantized.onnx")
    write_net(model)
    x = write_samples(data)
    trainer = ingot.compile(model, "--loss", "mse", "--batch", "16", "--qat", "int8:per-channel")
    run = [trainer, "--data", data, "--steps", "0", "--export", out]
    ingot.check_error(run, 1, "scales are not known yet")
    ingot.succeed([*run, "--calibrate", "4"])
    base, quantized = initializers(model), initializers(out)
    whole = onnx.load(model)
    for name in ("a", "two"):
        whole.graph.output.append(helper.make_tensor_value_info(name, 1, None))
    exact = dict(zip(("y", "a", "two"), onnxruntime.InferenceSession(whole.SerializeToString()).run(None, {"x": x})))
    exact["x"] = x
    for name, values in exact.items():
        low, high = min(values.min(), 0), max(values.max(), 0)
        check_close(f"the scale of {name}", quantized[f"{name}_scale"], np.float32((high - low) / 255), 1e-6)
        zero = np.rint(-low / ((high - low) / 255))
        check(quantized[f"{name}_zero_point"] == zero, f"the zero point of {name} is not {zero}")
    for name in ("one.weight", "two.weight", "three.weight"):
        check(np.array_equal(base[name], quantized[name]), f"{name} changes")
        want = np.abs(base[name]).max(axis=(1, 2, 3)) / 127
        check_close(f"the scales of {name}", quantized[f"{name}_scale"], want, 1e-7)
    # A run that goes on has the scales that it had.
    folder, again = ingot.path("save"), ingot.path("again.onnx")
    ingot.succeed([trainer, "--data", data, "--steps", "4", "--save", folder])
    ingot.succeed([trainer, "--data", data, "--resume", folder, "--steps", "8", "--export", again])
    ingot.succeed([trainer, "--data", data, "--steps", "8", "--export", out])
    check(out.read_bytes() == again.read_bytes(), "a resumed run differs")


def write_matmuls(path, opset):
    """Matmuls with biases, as transformers have them, and a Gemm."""
    rng = np.random.default_rng(7)
    weights = [
        make_initializer(name, shape, 0.15, rng)
        for name, shape in (
            ("up.weight", (64, 96)),
            ("up.bias", (96,)),
            ("down.weight", (96, 64)),
            ("down.bias", (64,)),
            ("head.weight", (10, 64)),
            ("head.bias", (10,)),
        )
    ]
    weights.append(numpy_helper.from_array(np.array([1]), "axes"))
    nodes = [
        helper.make_node("MatMul", ["x", "up.weight"], ["up"]),
        helper.make_node("Add", ["up.bias", "up"], ["up_b"]),
        helper.make_node("Tanh", ["up_b"], ["t"]),
        helper.make_node("MatMul", ["t", "down.weight"], ["down"]),
        helper.make_node("Add", ["down", "down.bias"], ["down_b"]),
        helper.make_node("Add", ["down_b", "x"], ["residual"]),
        helper.make_node("ReduceMean", ["residual", "axes"], ["rows"], keepdims=0),
        helper.make_node("Gemm", ["rows", "head.weight", "head.bias"], ["y"], transB=1),
    ]
    values = [helper.make_tensor_value_info("x", 1, ["n", 5, 64])]
    outputs = [helper.make_tensor_value_info("y", 1, ["n", 10])]
    graph = helper.make_graph(nodes, "matmuls", values, outputs, weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10), path)


@case("quantized-matmuls")
def matmuls(ingot):
    """Matmuls become integer products, of 8 bits or of weights of 4 bits, though biases follow them."""
    model, data = ingot.path("matmuls.onnx"), ingot.path("data.npz")
    write_matmuls(model, 21)
    rng = np.random.default_rng(8)
    x = rng.normal(size=(32, 5, 64)).astype(np.float32)
    np.savez(data, x=x, labels=rng.normal(size=(32, 10)).astype(np.float32))
    for rule, wanted, tolerance in (
        ("int8:per-channel,reduce-range", {"MatMulIntegerToFloat": 2, "QGemm": 1}, 2e-2),
        ("int8:per-channel,learned", {"MatMulIntegerToFloat": 2, "QGemm": 1}, 2e-2),
        ("int4", {"MatMulNBits": 3}, 1e-4),
        ("int4:block=16,learned", {"MatMulNBits": 3}, 1e-4),
    ):
        trainer = ingot.compile(model, "--loss", "mse", "--batch", "16", "--qat", rule)
        quantized, predicted = ingot.path("quantized.onnx"), ingot.path("predicted.npz")
        flags = ["--data", data, "--eval-data", data, "--export", quantized, "--predict", predicted]
        ingot.succeed([trainer, *flags, "--epochs", "2"])
        session, operators = open_model(quantized)
        for name, count in wanted.items():
            check(operators.count(name) == count, f"{rule}: {operators.count(name)} {name} of {count}: {operators}")
        check(not {"MatMul", "Gemm"} & set(operators), f"{rule}: products are in float: {operators}")
        want = session.run(None, {"x": x})[0]
        check_close(rule, np.load(predicted)["y"], want, tolerance)


@case("quantized-usage")
def usage(ingot):
    """What cannot be quantized is one line that says so."""
    model, old = ingot.path("matmuls.onnx"), ingot.path("old.onnx")
    write_matmuls(model, 21)
    write_matmuls(old, 20)
    flags = ["-o", ingot.path("trainer"), "--loss", "mse", "--batch", "16"]

    def refuse(status, path, words, *expected):
        ingot.check_error(ingot.ingotc(path, *flags, *words), status, *expected)

    refuse(2, model, ["--qat", "int2"], "--qat", "unknown kind 'int2'")
    refuse(2, model, ["--qat", "int8:block=32"], "unknown setting 'block=32'")
    refuse(2, model, ["--qat", "int4:block=48"], "block of '48'")
    refuse(2, model, ["--qat", "int8:learned,reduce-range"], "reduced range")
    refuse(2, model, ["--qat", "int8@"], "names no layers")
    result = ingot.check_error(
        ingot.ingotc(model, *flags, "--qat", "int8@uq"), 2, "--qat", "'uq' matches no layer of the model"
    )
    check("'up'" in result.err, f"no name that resembles: {result.err}")
    refuse(2, model, ["--qat", "int8", "--qat", "int4@down"], "takes no layer that is left")
    refuse(2, old, ["--qat", "int4"], "needs operator set 21", "the model has 20")
    refuse(2, model, ["--qat", "int8", "--data-parallel"], "--qat", "ranks")
    refuse(2, model, ["--qat", "int8", "--target", "cuda"], "--qat", "CPUs only")
    refuse(2, model, ["--qat", "int8", "--adapter", "lora:r=2@all-linear"], "--qat", "adapters")
    refuse(2, model, ["--qat", "int8", "--base", "nf4", "--freeze", "up"], "--qat", "--base")
    plain = ingot.compile(model, "--loss", "mse", "--batch", "16")
    ingot.check_error([plain, "--calibrate", "4"], 2, "--calibrate")
    trainer = ingot.compile(model, "--loss", "mse", "--batch", "16", "--qat", "int8")
    ingot.check_error([trainer, "--calibrate", "4", "--steps", "0"], 2, "--calibrate", "needs --data")
    ingot.check_error([trainer, "--calibration", "all"], 2, "--calibration")


@case("quantized-remarks")
def remarks(ingot):
    """What is quantized, and what stays in float, is said."""
    path = ingot.path("remarks.yaml")
    model = ingot.path("matmuls.onnx")
    write_matmuls(model, 21)
    ingot.succeed(
        ingot.ingotc(model, "-o", ingot.path("trainer"), "--loss", "mse", "--batch", "16")
        + ["--qat", "int8@up|down", "--remarks", path]
    )
    text = path.read_text()
    check(text.count("QuantizedNode") == 3, f"remarks: {text.count('QuantizedNode')}")
    for words in ("no --qat names it: it stays in float", "Tanh (1)"):
        check(words in text, f"no remark {words!r}")
