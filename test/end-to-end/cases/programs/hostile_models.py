# SPDX-License-Identifier: Apache-2.0
"""Models that lie: each of what took a reader of ONNX down elsewhere is one error here, soon."""

import os

import numpy as np
import onnx
from cases.programs.hostile import compile_error, floats, save, weight
from harness import case, check
from onnx import TensorProto, helper

FLAGS = ["--loss", "mse", "--batch", "2"]


def external(ingot, location, folder):
    """A model in `folder` whose weight is in the file `location`, 64 bytes of it."""
    tensor = weight("w", 4, 4)
    tensor.ClearField("float_data")
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in (("location", location), ("offset", "0"), ("length", "64")):
        tensor.external_data.add(key=key, value=value)
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"])]
    path = save(ingot, nodes, [floats("x", ["n", 4])], [floats("y", ["n", 4])], [tensor])
    return path.rename(folder / "m.onnx")


@case("hostile-external-data")
def external_data(ingot):
    """No path leads out of the model's folder."""
    folder = ingot.path("model")
    other = folder.parent / "other"
    folder.mkdir()
    other.mkdir()
    (folder / "inside").mkdir()
    values = np.arange(16, dtype=np.float32).tobytes()
    (other / "secret.bin").write_bytes(values)
    (folder / "inside/w.bin").write_bytes(values)
    ingot.compile(external(ingot, "inside/w.bin", folder), *FLAGS)
    (folder / "link").symlink_to(other)
    os.link(other / "secret.bin", folder / "hard.bin")
    outside = ["inside/../../other/secret.bin", "./../other/secret.bin", str(other / "secret.bin")]
    for location in (*outside, "link/secret.bin", "hard.bin", "inside", "inside/w.bin\0.txt", ""):
        model = external(ingot, location, folder)
        compile_error(ingot, 3, model, *FLAGS, words=["external data of tensor 'w'"])


@case("hostile-recursion")
def recursion(ingot):
    """Functions that call each other, and conditionals in conditionals."""
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("f", 1)]
    functions = [
        helper.make_function("f", name, ["x"], ["y"], [helper.make_node(other, ["x"], ["y"], domain="f")], opsets)
        for name, other in (("A", "B"), ("B", "C"), ("C", "A"))
    ]
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["a"]),
        helper.make_node("A", ["a"], ["y"], domain="f"),
    ]
    ends = [floats("x", ["n", 4])], [floats("y", ["n", 4])], [weight("w", 4, 4)]
    compile_error(ingot, 3, save(ingot, nodes, *ends, functions, opsets), *FLAGS, words=["m.onnx"])

    def nested(depth):
        inner = helper.make_node("Relu", ["a"], ["y0"])
        for i in range(1, depth):
            branches = {
                name: helper.make_graph([inner], f"{name}{i}", [], [floats(f"y{i - 1}", ["n", 4])])
                for name in ("then_branch", "else_branch")
            }
            inner = helper.make_node("If", ["c"], [f"y{i}"], **branches)
        nodes = [
            helper.make_node("MatMul", ["x", "w"], ["a"]),
            helper.make_node("ReduceMean", ["a"], ["m"], keepdims=0),
            helper.make_node("Greater", ["m", "zero"], ["c"]),
            inner,
        ]
        zero = helper.make_tensor("zero", TensorProto.FLOAT, [], [0.0])
        inputs, weights = [floats("x", ["n", 4])], [weight("w", 4, 4), zero]
        return save(ingot, nodes, inputs, [floats(f"y{depth - 1}", ["n", 4])], weights)

    # Both branches of each are computed, so that the nodes double at every level.
    ingot.compile(nested(3), *FLAGS)
    compile_error(ingot, 3, nested(17), *FLAGS, words=["100000"])


def deep_file(levels):
    """A file of graphs in attributes of nodes, without the size that two branches would have."""

    def field(number, payload):
        size, length = len(payload), b""
        while size >= 0x80:
            length += bytes([size & 0x7F | 0x80])
            size >>= 7
        return bytes([number << 3 | 2]) + length + bytes([size]) + payload

    graph = field(1, field(4, b"Relu"))
    for _ in range(levels):
        attribute = field(1, b"then_branch") + field(6, graph)
        graph = field(1, field(4, b"If") + field(5, attribute))
    return bytes([1 << 3, 9]) + field(7, graph)


@case("hostile-depth")
def depth(ingot):
    """A file that nests as deep as it is long does not overflow the stack of what reads it."""
    for levels in (20, 150, 3000):
        path = ingot.path(f"deep{levels}.onnx")
        path.write_bytes(deep_file(levels))
        compile_error(ingot, 3, path, *FLAGS, words=[path.name])


def changed_weight(ingot, change):
    tensor = weight("w", 4, 4)
    values = np.zeros(16, np.float32).tobytes()
    tensor.ClearField("float_data")
    tensor.raw_data = values
    change(tensor)
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"])]
    return save(ingot, nodes, [floats("x", ["n", 4])], [floats("y", ["n", 4])], [tensor])


@case("hostile-tensors")
def tensors(ingot):
    """Dimensions whose product overflows, and bytes that are not as many as they say."""

    def dims(*values):
        def change(tensor):
            tensor.dims[:] = values

        return change

    def raw(size):
        def change(tensor):
            tensor.raw_data = bytes(size)

        return change

    def typed(tensor):
        tensor.ClearField("raw_data")
        tensor.float_data.extend([0.0] * 15)

    def element(tensor):
        tensor.data_type = 77

    changes = [dims(2**32, 2**32), dims(2**62, 4), dims(-4, -4), dims(4, 2**63 - 1), dims(2**33, 2**31)]
    changes += [raw(0), raw(63), raw(65), raw(60), typed, element]
    for change in changes:
        compile_error(ingot, 3, changed_weight(ingot, change), *FLAGS)
    for shape in (["n", 2**62], ["n", 2**40, 2**40], ["n", -2]):
        nodes = [helper.make_node("Mul", ["x", "w"], ["y"])]
        model = save(ingot, nodes, [floats("x", shape)], [floats("y", shape)], [weight("w", 1)])
        compile_error(ingot, 3, model, *FLAGS)


@case("hostile-ranks")
def ranks(ingot):
    """Attributes and operands that do not fit the rank of what they are for."""

    def node(op, *inputs, outputs=("y",), **attributes):
        return [helper.make_node(op, inputs, outputs, f"bad{op}", **attributes)]

    def ints(name, *values):
        return helper.make_tensor(name, TensorProto.INT64, [len(values)], values)

    x, long = floats("x", ["n", 4, 6]), [2**40] * 3
    flat = weight("w", 12, 6)
    cases = [
        (node("Conv", "x", "w", dilations=[1, 1, 1]), [weight("w", 4, 4, 3)]),
        (node("Conv", "x", "w", pads=[1] * 7), [weight("w", 4, 4, 3)]),
        (node("Conv", "x", "w", strides=[0]), [weight("w", 4, 4, 3)]),
        (node("Conv", "x", "w", kernel_shape=[5]), [weight("w", 4, 4, 3)]),
        (node("Conv", "x", "w", group=0), [weight("w", 4, 4, 3)]),
        (node("MaxPool", "x", kernel_shape=[3], pads=[2**40, 2**40]), []),
        (node("MaxPool", "x", kernel_shape=long), []),
        (node("LSTM", "x", "w", "w", hidden_size=3), [flat]),
        (node("RNN", "x", "w", "w", hidden_size=2**40), [flat]),
        (node("GRU", "x", "w", "w", hidden_size=-1), [flat]),
        (node("OneHot", "i", "d", "v"), [ints("i", 1, 2), ints("d", 3, 4), weight("v", 2)]),
        (node("OneHot", "i", "d", "v"), [ints("i", 1, 2), ints("d", 2**60), weight("v", 2)]),
        (node("OneHot", "i", "d", "v"), [ints("i", 1, 2), ints("d", 3), weight("v", 1)]),
        (node("Slice", "x", "s", "e"), [ints("s", 0, 0, 0, 0), ints("e", 1, 1, 1, 1)]),
        (node("Slice", "x", "s", "e", "a"), [ints("s", 0), ints("e", 1), ints("a", 9)]),
        (node("Slice", "x", "s", "e", "a", "t"), [ints("s", 0), ints("e", 1), ints("a", 0), ints("t", 0)]),
        (node("Slice", "x", "s", "e"), [ints("s", 0, 1), ints("e", 1)]),
        (node("Transpose", "x", perm=[0, 1, 1]), []),
        (node("Concat", "x", axis=7), []),
        (node("Softmax", "x", axis=-9), []),
        (node("Reshape", "x", "s"), [ints("s", 2**40, 2**40)]),
        (node("Expand", "x", "s"), [ints("s", 2**40, 2**40, 4, 6)]),
        (node("Tile", "x", "s"), [ints("s", 2**40, 2**40, 2**40)]),
        (node("Pad", "x", "s"), [ints("s", *[2**40] * 6)]),
        (node("Gather", "x", "i", axis=1), [ints("i", 4)]),
        (node("Gather", "x", "i", axis=1), [ints("i", -5)]),
        (node("GatherND", "x", "i"), [helper.make_tensor("i", TensorProto.INT64, [1, 3], [0, 9, 0])]),
        (node("ScatterND", "w", "i", "u"), [flat, helper.make_tensor("i", TensorProto.INT64, [1, 1], [12]),
                                            weight("u", 1, 6)]),
        (node("ScatterElements", "w", "i", "u", axis=5), [flat, ints("i", 1), weight("u", 1)]),
        (node("Relu"), []),
        (node("Concat", axis=0), []),
        (node("Add", "x"), []),
        (node("Split", "x", outputs=()), []),
    ]  # fmt: skip
    for nodes, initializers in cases:
        total = [
            *nodes,
            helper.make_node("MatMul", ["x", "p"], ["xp"]),
            helper.make_node("ReduceMean", ["xp"], ["m"], keepdims=0),
            helper.make_node("ReduceMean", ["y"], ["n"], keepdims=0),
            helper.make_node("Add", ["m", "n"], ["loss"]),
        ]
        model = save(ingot, total, [x], [floats("loss", [])], [*initializers, weight("p", 6, 6)])
        result = compile_error(ingot, 3, model, "--loss", "output:loss", "--batch", "2")
        check(len(result.err) < 2000, f"{nodes[0].op_type}: {len(result.err)} bytes of message")


@case("hostile-indices")
def indices(ingot):
    """Indices of a pool's gradient that no pool has computed would write anywhere."""
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["h"]),
        helper.make_node("MaxUnpool", ["h", "i"], ["y"], "unpool", kernel_shape=[2], strides=[2]),
    ]
    far = onnx.numpy_helper.from_array(np.full((2, 3, 4), 10**9, np.int64), "i")
    model = save(ingot, nodes, [floats("x", [2, 3, 4])], [floats("y", None)], [weight("w", 4, 4), far])
    trainer = ingot.path("trainer")
    command = ingot.ingotc(model, *FLAGS, "-o", trainer)
    if ingot.run(command).status:
        ingot.check_error(command, 3, "unpool")
        return
    data = ingot.path("data.npz")
    np.savez(data, x=np.ones((2, 3, 4), np.float32), labels=np.zeros((2, 3, 8), np.float32))
    # What points outside is dropped or refused.
    result = ingot.run([trainer, "--data", data, "--steps", "2"])
    check(result.status in (0, 1, 3), f"ended with {result.status}: {result.err!r}")
