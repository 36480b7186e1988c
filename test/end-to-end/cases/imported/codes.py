# SPDX-License-Identifier: Apache-2.0
"""Models that come with weights in 4 or 8 bits: what they compute, what trains on them, and what is exported."""

import numpy as np
import onnx
import onnxruntime
from cases.training.adapters import read_tensors
from harness import case, check, check_close
from onnx import TensorProto, helper, numpy_helper

BATCH = 4
ADAPTER = ["--adapter", "lora:r=2,alpha=4@all-linear"]
NF4 = [
    -1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635, -0.18477343022823334,
    -0.09105003625154495, 0.0, 0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224,
    0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1.0,
]  # fmt: skip


def pack(integers):
    """Packs integers of four bits along the last dimension, the first one in the lower half of a byte."""
    integers = np.asarray(integers, np.uint8) & 15
    if integers.shape[-1] % 2:
        integers = np.concatenate([integers, np.zeros_like(integers[..., :1])], axis=-1)
    return integers[..., ::2] | integers[..., 1::2] << 4


def initializer(name, array, data_type=None):
    if data_type is None:
        return numpy_helper.from_array(array, name)
    # Integers of four bits as numpy has none.
    return helper.make_tensor(name, data_type, array.shape, pack(array.reshape(1, -1)).tobytes(), raw=True)


class Layer:
    """A node with a matrix [n, k] in codes, and its numbers."""

    def __init__(self, source, name, op, k, n, **how):
        self.name, self.op, self.k, self.n = name, op, k, n
        self.source, self.how = source, how
        self.initializers, self.nodes = [], []
        self.dtype = how.get("dtype", np.float32)
        getattr(self, op)()

    def scales(self, *shape):
        return (self.source.uniform(0.02, 0.1, shape) * self.source.choice([-1, 1], shape)).astype(self.dtype)

    def add(self, name, array, data_type=None):
        self.initializers.append(initializer(f"{self.name}_{name}", array, data_type))
        return f"{self.name}_{name}"

    def nbits(self):
        bits, block = self.how.get("bits", 4), self.how.get("block", 32)
        blocks = -(-self.k // block)
        codes = self.source.integers(0, 2**bits, (self.n, blocks, block))
        codes[:, :, 0] = 3  # Not all alike.
        scales = self.scales(self.n, blocks)
        zero, middle = self.how.get("zero"), 2 ** (bits - 1)
        zeros = np.full((self.n, blocks), middle, np.float32)
        inputs = [
            f"{self.name}_x",
            self.add(f"Q{bits}", pack(codes) if bits == 4 else codes.astype(np.uint8)),
            self.add("scales", scales if self.how.get("flat") is None else scales.reshape(-1)),
        ]
        if zero == "packed":
            zeros = self.source.integers(0, 2**bits, (self.n, blocks))
            inputs.append(self.add("zero_points", (pack(zeros) if bits == 4 else zeros.astype(np.uint8)).reshape(-1)))
        elif zero == "float":
            zeros = self.source.uniform(4, 12, (self.n, blocks)).astype(self.dtype)
            inputs.append(self.add("zero_points", zeros.reshape(-1)))
        if self.how.get("bias"):
            inputs += [""] * (5 - len(inputs))
            inputs.append(self.add("bias", self.source.standard_normal(self.n).astype(self.dtype)))
        numbers = (codes - zeros[:, :, None].astype(np.float32)) * scales[:, :, None].astype(np.float32)
        self.numbers = numbers.reshape(self.n, -1)[:, : self.k]
        attributes = {"K": self.k, "N": self.n, "bits": bits, "block_size": block} | self.how.get("more", {})
        self.nodes.append(
            helper.make_node("MatMulNBits", inputs, [f"{self.name}_y"], self.name, domain="com.microsoft", **attributes)
        )

    def bnb4(self):
        kind, block = self.how.get("kind", 1), self.how.get("block", 64)
        count = self.n * self.k
        codes = self.source.integers(0, 16, count)
        absmax = np.abs(self.scales(-(-count // block)))
        padded = np.append(codes, 0) if count % 2 else codes
        inputs = [
            f"{self.name}_x",
            self.add("Bnb4", (padded[::2] << 4 | padded[1::2]).astype(np.uint8)),
            self.add("absmax", absmax),
        ]
        fp4 = np.array([0, 0.0625, 8, 12, 4, 6, 2, 3], np.float32) / 12
        table = np.array(NF4, np.float32) if kind == 1 else np.concatenate([fp4, -fp4])
        self.numbers = (table[codes] * np.repeat(absmax, block)[:count]).reshape(self.n, self.k)
        self.nodes.append(
            helper.make_node(
                "MatMulBnb4", inputs, [f"{self.name}_y"], self.name, domain="com.microsoft",
                K=self.k, N=self.n, block_size=block, quant_type=kind,
            )
        )  # fmt: skip

    def blocks(self):
        """DequantizeLinear in blocks, of the matrix as [k, n] or [n, k]."""
        block, axis, kind = self.how.get("block", 32), self.how.get("axis", 0), self.how.get("kind", TensorProto.INT4)
        bits = 4 if kind in (TensorProto.INT4, TensorProto.UINT4) else 8
        low = 0 if kind in (TensorProto.UINT4, TensorProto.UINT8) else -(2 ** (bits - 1))
        codes = self.source.integers(low, low + 2**bits, (self.n, self.k))
        blocks = self.k // block
        scales = self.scales(self.n, blocks)
        zeros = np.zeros((self.n, blocks), int)
        if self.how.get("zero"):
            zeros = self.source.integers(low, low + 2**bits, (self.n, blocks))
        self.numbers = ((codes - np.repeat(zeros, block, 1)) * np.repeat(scales, block, 1)).astype(np.float32)
        order = np.transpose if axis == 0 else np.array

        def add(name, integers):
            if bits == 4:
                return self.add(name, order(integers), kind)
            return self.add(name, np.ascontiguousarray(order(integers)).astype(np.int8 if low else np.uint8))

        inputs = [add("q", codes), self.add("scale", np.ascontiguousarray(order(scales)))]
        if self.how.get("zero"):
            inputs.append(add("zero", zeros))
        weight = f"{self.name}_w"
        self.nodes.append(
            helper.make_node("DequantizeLinear", inputs, [weight], axis=0 if axis == 0 else 1, block_size=block)
        )
        if axis != 0:
            self.nodes.append(helper.make_node("Transpose", [weight], [weight + "t"], perm=[1, 0]))
            weight += "t"
        self.nodes.append(helper.make_node("MatMul", [f"{self.name}_x", weight], [f"{self.name}_y"], self.name))


def build(path, source, layers, width, between=()):
    """Saves a model of layers one after the other, with activations between them, and a head that trains."""
    nodes, last, half = [], "x", layers[0].dtype == np.float16
    if half:
        nodes.append(helper.make_node("Cast", ["x"], ["x16"], to=TensorProto.FLOAT16))
        last = "x16"
    for layer in layers:
        nodes.append(helper.make_node("Identity", [last], [f"{layer.name}_x"]))
        nodes += layer.nodes
        nodes.append(helper.make_node("Tanh", [f"{layer.name}_y"], [f"{layer.name}_a"]))
        last = f"{layer.name}_a"
    if half:
        nodes.append(helper.make_node("Cast", [last], ["last32"], to=TensorProto.FLOAT))
        last = "last32"
    nodes.append(helper.make_node("MatMul", [last, "head"], ["y"], "head"))
    head = source.standard_normal((layers[-1].n, 3)).astype(np.float32) * 0.1
    graph = helper.make_graph(
        nodes, "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", *between, width])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", *between, 3])],
        [initializer("head", head), *(tensor for layer in layers for tensor in layer.initializers)],
    )  # fmt: skip
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=10), path)


def infer(path, x):
    options = onnxruntime.SessionOptions()
    # What DequantizeLinear and MatMul fuse to would round activations to 8 bits.
    options.add_session_config_entry("session.qdq_matmulnbits_accuracy_level", "1")
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return session.run(None, {"x": x})[0]


def predict(ingot, trainer, data, *flags):
    predicted = ingot.path("predicted.npz")
    ingot.succeed([trainer, "--data", data, "--eval-data", data, "--predict", predicted, "--no-shuffle", *flags])
    with np.load(predicted) as outputs:
        return outputs["y"]


def make_data(ingot, source, *shape):
    x = source.standard_normal((BATCH, *shape)).astype(np.float32)
    path = ingot.path("data.npz")
    np.savez(path, x=x, labels=np.full((*x.shape[:-1], 3), 0.3, np.float32))
    return x, path


def draw(source, count):
    """Draws settings of layers: what the operators' specifications allow."""
    for i in range(count):
        op = ["nbits", "bnb4", "blocks"][i % 3]
        n, block = int(source.integers(3, 40)), int(2 ** source.integers(4, 9))
        if op == "nbits":
            yield op, int(source.integers(10, 300)), n, {
                "block": block, "bits": int(source.choice([4, 8])), "zero": source.choice([None, "packed", "float"]),
                "bias": bool(source.integers(2)), "flat": source.choice([None, True]),
                "dtype": source.choice([np.float32, np.float16], p=[0.7, 0.3]),
                "more": {"accuracy_level": 1} if source.integers(2) else {},
            }  # fmt: skip
        elif op == "bnb4":
            yield op, int(source.integers(10, 100)) * 2, n, {"block": block, "kind": int(source.integers(2))}
        else:
            yield op, int(source.integers(1, 4)) * block, n, {
                "block": block, "axis": int(source.integers(2)), "zero": bool(source.integers(2)),
                "kind": int(source.choice([TensorProto.INT4, TensorProto.UINT4, TensorProto.INT8, TensorProto.UINT8])),
            }  # fmt: skip


def compare(ingot, seed, count):
    source = np.random.default_rng(seed)
    for i, (op, k, n, how) in enumerate(draw(source, count)):
        # Of float zero points, ONNX Runtime has those of 4 bits.
        if how.get("zero") == "float" and how["bits"] == 8:
            how["zero"] = None
        layer = Layer(source, f"layers.{i}.up", op, k, n, **how)
        between = (2,) if i % 2 else ()
        model = ingot.path(f"model{i}.onnx")
        build(model, source, [layer], k, between)
        x, data = make_data(ingot, source, *between, k)
        what, tolerance = f"{op} {k} x {n} {how}", 5e-3 if layer.dtype == np.float16 else 1e-4
        want = infer(model, x)
        trainer = ingot.compile(model, "--loss", "mse", "--batch", str(BATCH))
        check_close(what, predict(ingot, trainer, data, "--steps", "0"), want, tolerance)
        # The head trains; codes are exported as they came.
        out = ingot.path("out.onnx")
        got = predict(ingot, trainer, data, "--steps", "3", "--lr", "0.1", "--export", out)
        check_close(f"{what}, exported", got, infer(out, x), tolerance)
        before, after = ({tensor.name: tensor for tensor in onnx.load(path).graph.initializer} for path in (model, out))
        for name, tensor in before.items():
            same = after[name].raw_data == tensor.raw_data
            # Padding of rows, and float zero points, which are stored as differences.
            if name.endswith("zero_points"):
                continue
            check(same or name.endswith(("head", "bias")), f"{what}: {name} changes")


@case("codes-imported")
def imported(ingot):
    """Weights in codes compute what they do in ONNX Runtime, and are exported as they came."""
    compare(ingot, 5, 12)


@case("codes-adapted")
def adapted(ingot):
    """Adapters train on codes; what is exported merged is in the form in which the model came."""
    source = np.random.default_rng(3)
    for op, how in (
        ("nbits", {"zero": "packed", "bias": True}),
        ("nbits", {"bits": 8}),
        ("bnb4", {}),
        ("blocks", {"kind": TensorProto.UINT4, "zero": True}),
        ("blocks", {"axis": 1, "kind": TensorProto.INT8}),
    ):
        k, n = 64, 96
        up, down = Layer(source, "layers.0.up", op, k, n, **how), Layer(source, "layers.0.down", op, n, k, **how)
        model, out, folder = (ingot.path(name) for name in ("model.onnx", "out.onnx", "adapter"))
        build(model, source, [up, down], k)
        x, data = make_data(ingot, source, k)
        trainer = ingot.compile(model, "--loss", "mse", "--batch", str(BATCH), *ADAPTER)
        flags = ["--data", data, "--lr", "0.05", "--no-shuffle", "--steps", "20"]
        steps, _ = ingot.train(trainer, *flags, "--export-adapter", folder)
        what = f"{op} {how}"
        check(steps[-1]["loss"] < 0.9 * steps[0]["loss"], f"{what}: the loss stays at {steps[-1]['loss']}")
        adapters = read_tensors(folder / "adapter_model.safetensors")
        check(len(adapters) == 4, f"{what}: {sorted(adapters)}")
        # The base that adapters are for is that of the file: with them it computes what the trainer does.
        plain = x
        for layer in (up, down):
            a, b = (adapters[f"base_model.model.{layer.name}.lora_{part}.weight"] for part in "AB")
            bias = {t.name: numpy_helper.to_array(t) for t in layer.initializers}.get(f"{layer.name}_bias", 0)
            plain = np.tanh(plain @ layer.numbers.T + 2 * (plain @ a.T) @ b.T + bias)
        head = {t.name: numpy_helper.to_array(t) for t in onnx.load(model).graph.initializer}["head"]
        got = predict(ingot, trainer, data, *flags[2:])
        check_close(f"{what}: predictions", got, plain @ head, 1e-4)
        result = ingot.succeed([trainer, *flags, "--eval-data", data, "--export", out])
        printed = result.out + result.err
        check(printed.count("on average") == 2, f"{what}: {printed}")
        tensors = {tensor.name: tensor for tensor in onnx.load(out).graph.initializer}
        codes = up.initializers[0].name
        check(tensors[codes].raw_data != up.initializers[0].raw_data, f"{what}: codes do not change")
        loss = np.square(infer(out, x) - 0.3).mean()
        said = float(printed.split("the loss of a batch goes from")[1].split(" to ")[1].split()[0])
        check_close(f"{what}: loss in codes", said, loss, 1e-4)


@case("codes-refused")
def refused(ingot):
    """What contradicts a specification, or is not supported, is one line."""
    source = np.random.default_rng(4)

    def write(change, op="nbits", **how):
        layer = Layer(source, "up", op, 64, 8, **how)
        change(layer)
        path = ingot.path("wrong.onnx")
        build(path, source, [layer], 64)
        return path

    def set_attribute(name, value):
        def change(layer):
            for attribute in layer.nodes[0].attribute:
                if attribute.name == name:
                    attribute.i = value

        return change

    def add_groups(layer):
        inputs = layer.nodes[0].input
        inputs.extend([""] * (4 - len(inputs)))
        inputs.append(layer.add("g_idx", np.zeros(64, np.int32)))

    def cut(index):
        def change(layer):
            array = numpy_helper.to_array(layer.initializers[index])
            layer.initializers[index].CopyFrom(initializer(layer.initializers[index].name, array[:-1]))

        return change

    def compute(layer):
        layer.nodes.insert(0, helper.make_node("Identity", [layer.nodes[0].input[1]], ["computed"]))
        layer.nodes[1].input[1] = "computed"

    for change, op, said in (
        (add_groups, "nbits", "g_idx"),
        (set_attribute("bits", 2), "nbits", "2 bits"),
        (set_attribute("bits", 3), "nbits", "3 bits"),
        (set_attribute("block_size", 24), "nbits", "block_size is 24"),
        (set_attribute("block_size", 8), "nbits", "block_size is 8"),
        (set_attribute("K", 0), "nbits", "K and N are 0"),
        (set_attribute("N", 9), "nbits", "does not have the codes of 9 x 64"),
        (set_attribute("K", 1 << 40), "nbits", "K and N are"),
        (cut(1), "nbits", "scales"),
        (compute, "nbits", "its weight is computed"),
        (set_attribute("quant_type", 2), "bnb4", "quant_type is 2"),
        (set_attribute("block_size", 0), "bnb4", "block_size is 0"),
        (set_attribute("N", 9), "bnb4", "does not have the codes of 576"),
        (compute, "bnb4", "its weight is computed"),
    ):
        path = write(change, op)
        ingot.check_error(ingot.ingotc(path, "-o", ingot.path("t"), "--loss", "mse", "--batch", "4"), 3, said)
