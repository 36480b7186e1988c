# SPDX-License-Identifier: Apache-2.0
"""Files that would block, exhaust or crash the compiler: each is one error, soon."""

import json
import os

import numpy as np
import onnx
from harness import DIGITS, case, check, golden
from onnx import TensorProto, helper

MODEL = golden("multilabel").model
FLAGS = ["--loss", "bce-with-logits", "--batch", "8"]
OPSET = [helper.make_opsetid("", 17)]


def compile_error(ingot, status, *command, words=(), hint=""):
    """An error within a minute, and nothing left behind."""
    trainer = ingot.path("trainer")
    result = ingot.check_error(ingot.ingotc(*command, "-o", trainer), status, *words, timeout=60)
    check(hint in result.err.splitlines()[-1], f"no {hint!r} in the hint: {result.err!r}")
    left = list(trainer.parent.iterdir())
    check(not left, f"left behind: {[p.name for p in left]}")
    return result


def save(ingot, nodes, inputs, outputs, initializers=(), functions=(), opsets=OPSET, name="m.onnx"):
    path = ingot.path(name)
    graph = helper.make_graph(nodes, "g", inputs, outputs, initializers)
    model = helper.make_model(graph, opset_imports=opsets, functions=list(functions), ir_version=9)
    onnx.save(model, path)
    return path


def floats(name, shape):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


def weight(name, *shape):
    values = np.linspace(-1, 1, int(np.prod(shape)), dtype=np.float32)
    return helper.make_tensor(name, TensorProto.FLOAT, shape, values)


def nested_functions(ingot, count, calls):
    """Functions that call the one before `calls` times each."""
    opsets = [*OPSET, helper.make_opsetid("f", 1)]
    functions = []
    for i in range(count):
        op, domain = ("Relu", "") if i == 0 else (f"F{i - 1}", "f")
        names = ["x", *(f"t{k}" for k in range(calls - 1)), "y"]
        nodes = [helper.make_node(op, [a], [b], domain=domain) for a, b in zip(names, names[1:])]
        functions.append(helper.make_function("f", f"F{i}", ["x"], ["y"], nodes, opsets))
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["a"]),
        helper.make_node(f"F{count - 1}", ["a"], ["y"], domain="f"),
    ]
    return save(ingot, nodes, [floats("x", ["n", 4])], [floats("y", ["n", 4])], [weight("w", 4, 4)], functions, opsets)


@case("hostile-functions")
def functions(ingot):
    """Two kilobytes of functions that mean a billion nodes, or a long chain of calls."""
    flags = ["--loss", "mse", "--batch", "4"]
    compile_error(ingot, 3, nested_functions(ingot, 30, 2), *flags, words=["m.onnx", "100000", "nodes"])
    compile_error(ingot, 3, nested_functions(ingot, 5000, 1), *flags, words=["m.onnx", "200", "deep"])
    ingot.compile(nested_functions(ingot, 5, 2), *flags)


@case("hostile-sequence")
def sequence(ingot):
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["a"]),
        helper.make_node("SplitToSequence", ["a"], ["parts"], "splitter", axis=1),
        helper.make_node("ConcatFromSequence", ["parts"], ["y"], axis=1),
    ]
    model = save(ingot, nodes, [floats("x", ["n", 1])], [floats("y", ["n", 100000])], [weight("w", 1, 100000)])
    compile_error(ingot, 3, model, "--loss", "mse", "--batch", "4", words=["splitter", "100000", "4096"])


@case("hostile-special-files")
def special_files(ingot):
    """Devices never end and pipes never begin: neither is read."""
    pipe = ingot.path("pipe")
    os.mkfifo(pipe)
    plan = [*FLAGS, "--data-parallel", "--plan"]
    for path in ("/dev/zero", "/dev/urandom", pipe):
        words = [str(path), "not a regular file"]
        compile_error(ingot, 3, path, *FLAGS, words=words)
        compile_error(ingot, 3, MODEL, *FLAGS, "--machine", path, words=words)
        compile_error(ingot, 3, MODEL, *plan, path, words=words)
    folder = pipe.parent
    compile_error(ingot, 3, folder, *FLAGS, words=["is a folder"])
    compile_error(ingot, 3, MODEL, *FLAGS, "--machine", folder, words=["is a folder"])
    large = ingot.path("large.json")
    with large.open("wb") as file:
        file.truncate(1 << 40)
    compile_error(ingot, 3, MODEL, *FLAGS, "--machine", large, words=["large.json", "16 MiB"])
    compile_error(ingot, 3, large, *FLAGS, words=["large.json", "2 GiB"])


@case("hostile-json")
def nested_json(ingot):
    """The parser recurses, so the depth is checked first."""
    deep = ingot.path("deep.json")
    for text in ("[" * 200_000, '{"a":' * 200_000):
        deep.write_text(text)
        for flags in (["--machine", deep], ["--data-parallel", "--plan", deep]):
            compile_error(ingot, 3, MODEL, *FLAGS, *flags, words=["deep.json", "64 levels"])
    deep.write_text('{"threads": "' + "[" * 1000 + '"}')
    compile_error(ingot, 3, MODEL, *FLAGS, "--machine", deep, words=["'threads' is not a positive number"])


@case("hostile-machines")
def machines(ingot):
    """Counts are integers, and what is multiplied is bounded."""
    path = ingot.path("machine.json")
    for field, value, words in (
        ("threads", "1e-308", "an integer from 1 to 131072"),
        ("threads", "1e300", "an integer from 1 to 131072"),
        ("threads", "1.5", "an integer from 1 to 131072"),
        ("cache_bytes", "1e300", "above 1e15"),
        ("device_workspace_bytes", "9223372036854775808", "above 1e15"),
        ("link_seconds", "2e576", "from 1e-30 to 1e30"),
        ("vector_f32", "1e-320", "from 1e-30 to 1e30"),
        ("memory_bandwidth", "1e308", "from 1e-30 to 1e30"),
    ):
        path.write_text(f'{{"{field}": {value}}}')
        compile_error(ingot, 3, MODEL, *FLAGS, "--machine", path, words=[f"'{field}'", words])


@case("hostile-expressions")
def expressions(ingot):
    """Compiling these would take minutes and gigabytes."""
    nested = "(((a{1,255}){1,255}){1,255})"
    for option in ("--freeze", "--trainable", "--no-decay", "--keep-fp32", "--force-low"):
        compile_error(ingot, 2, MODEL, *FLAGS, "--precision", "bf16", option, nested, words=[option, "too large"])
    compile_error(ingot, 2, MODEL, *FLAGS, "--remat", f"save={nested}", words=["--remat", "too large"])
    compile_error(ingot, 2, MODEL, *FLAGS, "--freeze", "a" * 100_000, words=["too large", "aaa...aaa"])
    compile_error(ingot, 2, MODEL, *FLAGS, "--freeze", r"(f.*)\1", words=["refers back"])


@case("hostile-names")
def names(ingot):
    """What a model calls its nodes does not reach the terminal as commands."""
    escape = "\x1b]0;title\x07\x1b[31m\x9b2J\x00"
    nodes = [helper.make_node("NonMaxSuppression", ["x"], ["y"], f"node{escape}")]
    model = save(ingot, nodes, [floats("x", ["n", 3, 3])], [floats("y", ["n"])])
    result = compile_error(
        ingot, 3, model, "--loss", "mse", "--batch", "4", words=["NonMaxSuppression (node?]0;title??[31m"]
    )
    check(all(ord(c) >= 0x20 and not 0x7F <= ord(c) < 0xA0 for c in result.err if c != "\n"), f"raw: {result.err!r}")
    nodes = [helper.make_node("NonMaxSuppression", ["x"], ["y"], "n" * 100_000)]
    model = save(ingot, nodes, [floats("x", ["n", 3, 3])], [floats("y", ["n"])])
    result = compile_error(ingot, 3, model, "--loss", "mse", "--batch", "4", words=["NonMaxSuppression (nnn"])
    check(len(result.err) < 4000, f"{len(result.err)} bytes of message")


@case("hostile-names-inspected")
def names_inspected(ingot):
    """Tables print them without control characters, JSON has them as they are."""
    escape = "\x1b[31m\x07"
    nodes = [
        helper.make_node("MatMul", [f"x{escape}", f"w{escape}"], [f"h{escape}"], f"first{escape}"),
        helper.make_node("Relu", [f"h{escape}"], ["y"], f"second{escape}"),
    ]
    inputs = [floats(f"x{escape}", ["n", 4])]
    model = save(ingot, nodes, inputs, [floats("y", ["n", 4])], [weight(f"w{escape}", 4, 4)])
    trainer = ingot.compile(model, "--loss", "mse", "--batch", "4")
    text = ingot.succeed([trainer, "--inspect"]).out
    check("w?[31m?" in text and "\x1b" not in text and "\x07" not in text, f"raw: {text!r}")
    plan = json.loads(ingot.succeed([trainer, "--inspect=json"]).out)
    check(plan["parameters"][0]["name"] == f"w{escape}", f"{plan['parameters']}")


@case("external-data-missing")
def external_data_missing(ingot):
    """The commonest mistake: the model was copied without its data file."""
    path = ingot.path("model.onnx")
    model = onnx.load(DIGITS / "digits.onnx")
    onnx.save(model, path, save_as_external_data=True, location="weights.data", size_threshold=64)
    flags = ["--loss", "cross-entropy", "--batch", "4"]
    ingot.compile(path, *flags)
    (path.parent / "weights.data").unlink()
    words = ["weights.data", "no such file"]
    result = compile_error(ingot, 3, path, *flags, words=words, hint="keep the data file beside")
    check("regular" not in result.err, result.err)
