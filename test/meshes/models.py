# SPDX-License-Identifier: Apache-2.0
"""Small models in f64, as MLIR for any size of the batch."""

import math

S, H, V = 6, 24, 51
HEADS, KEY_HEADS, FFN = 12, 6, 48


class Value:
    def __init__(self, name, shape, element="f64"):
        self.name, self.shape, self.element = name, list(shape), element

    @property
    def type(self):
        return "tensor<" + "".join(f"{size}x" for size in self.shape) + f"{self.element}>"


class Model:
    """A function `forward` as it is built."""

    def __init__(self, name, batch, dropout=0.0):
        self.name, self.batch, self.dropout = name, batch, dropout
        self.states, self.arguments, self.lines, self.outputs = {}, [], [], []
        self.data = {}
        self.streams = 0

    # ---- arguments

    def state(self, name, shape, role="parameter"):
        value = Value(f"%{name}", shape)
        self.states[name] = (shape, role)
        self.arguments.append(f"{value.name}: {value.type} {{ingot.state = @{name}}}")
        return value

    def input(self, name, shape, classes=None):
        value = Value(f"%{name}", [self.batch, *shape], "i64" if classes else "f64")
        self.data[name] = (shape, classes)
        self.arguments.append(f'{value.name}: {value.type} {{ingot.kind = "data", ingot.name = "{name}"}}')
        return value

    def counter(self, name, role):
        if f"%{name}" not in [a.split(":")[0] for a in self.arguments]:
            self.states[name] = ([], role)
            self.arguments.append(f"%{name}: tensor<i64> {{ingot.state = @{name}}}")
        return Value(f"%{name}", [], "i64")

    # ---- ops

    def op(self, text, *results):
        name = f"%v{len(self.lines)}"
        count = f":{len(results)}" if len(results) > 1 else ""
        self.lines.append(f"  {name}{count} = {text}")
        if len(results) == 1:
            return Value(name, *results[0])
        return [Value(f"{name}#{i}", *result) for i, result in enumerate(results)]

    def unary(self, op, x):
        return self.op(f"ingot.{op} {x.name} : {x.type}", (x.shape, x.element))

    def binary(self, op, x, y):
        return self.op(f"ingot.{op} {x.name}, {y.name} : {x.type}", (x.shape,))

    def broadcast(self, x, shape, dims):
        to = Value("", shape)
        return self.op(f"ingot.broadcast {x.name} dims = {dims} : {x.type} -> {to.type}", (shape,))

    def reshape(self, x, shape):
        to = Value("", shape, x.element)
        return self.op(f"ingot.reshape {x.name} : {x.type} -> {to.type}", (shape, x.element))

    def matmul(self, x, y, transposed=False):
        columns = y.shape[-2 if transposed else -1]
        result = Value("", [*x.shape[:-1], columns])
        word = " transposed" if transposed else ""
        return self.op(
            f"ingot.matmul {x.name}, {y.name}{word} : ({x.type}, {y.type}) -> {result.type}", (result.shape,)
        )

    def linear(self, name, x, columns, bias=True):
        y = self.matmul(x, self.state(f"{name}", [x.shape[-1], columns]))
        if not bias:
            return y
        b = self.state(f"{name}_b", [columns])
        return self.binary("add", y, self.broadcast(b, y.shape, [len(y.shape) - 1]))

    def norm(self, name, x, kind="layer_norm"):
        scale = self.state(f"{name}_g", [x.shape[-1]])
        operands, count = [x, scale], 2
        if kind == "layer_norm":
            operands.append(self.state(f"{name}_b", [x.shape[-1]]))
            count = 3
        dim = len(x.shape) - 1
        results = [(x.shape,)] + [(x.shape[:-1],)] * (count - 1)
        return self.op(
            f"ingot.{kind} {', '.join(v.name for v in operands)} dim = {dim} {{epsilon = 1.0e-5 : f64}} : "
            f"({', '.join(v.type for v in operands)}) -> ({', '.join(Value('', *r).type for r in results)})",
            *results,
        )[0]

    def drop(self, x):
        if self.dropout == 0:
            return x
        seed, step = self.counter("seed", "seed"), self.counter("step", "step")
        self.streams += 1
        mask = Value("", x.shape, "i1")
        return self.op(
            f"ingot.dropout {x.name}, {seed.name}, {step.name} ratio = {self.dropout} stream = {self.streams} : "
            f"({x.type}, tensor<i64>, tensor<i64>) -> ({x.type}, {mask.type})",
            (x.shape,),
            (x.shape, "i1"),
        )[0]

    def embed(self, table, tokens):
        result = Value("", [*tokens.shape, table.shape[1]])
        return self.op(
            f"ingot.gather {table.name}[{tokens.name}] dim = 0 : ({table.type}, {tokens.type}) -> {result.type}",
            (result.shape,),
        )

    def attention(self, q, k, v, heads, key_heads, causal):
        """Of rows of heads; the result is as well."""
        width = q.shape[-1] // heads

        def split(x, count):
            return self.reshape(x, [self.batch, x.shape[0] // self.batch, count, width])

        q, k, v = split(q, heads), split(k, key_heads), split(v, key_heads)
        right = "right = 0 : i64, " if causal else ""
        lse = Value("", [self.batch, heads, q.shape[1]])
        result = self.op(
            f"ingot.attention {q.name}, {k.name}, {v.name} {{{right}scale = {1 / math.sqrt(width)!r} : f64}} : "
            f"({q.type}, {k.type}, {v.type}) -> ({q.type}, {lse.type})",
            (q.shape,),
            (lse.shape,),
        )[0]
        return self.reshape(result, [self.batch * q.shape[1], heads * width])

    def loss_rows(self, logits):
        self.outputs.append((logits, "logits"))
        return self

    def text(self):
        states = "\n".join(
            f"ingot.state {role} @{name} : {Value('', shape, 'f64' if shape else 'i64').type}"
            f" = dense<{'0.0' if shape else '0'}> : {Value('', shape, 'f64' if shape else 'i64').type}"
            for name, (shape, role) in self.states.items()
        )
        results = ", ".join(
            f"{v.type} {{ingot.state = @{name}}}" if name in self.states else f'{v.type} {{ingot.name = "{name}"}}'
            for v, name in self.outputs
        )
        values = ", ".join(v.name for v, _ in self.outputs)
        types = ", ".join(v.type for v, _ in self.outputs)
        body = "\n".join(self.lines)
        return (
            f"module {{\n{states}\nfunc.func @forward({', '.join(self.arguments)}) -> ({results}) {{\n"
            f"{body}\n  return {values} : {types}\n}}\n}}\n"
        )


def block(m, name, x, kv=None, causal=True, key_heads=HEADS, gate=False):
    """A block of rows, with attention to `kv` or to the rows themselves."""
    kind = "rms_norm" if gate else "layer_norm"
    key_width = H // HEADS * key_heads
    h = m.norm(f"{name}_n1", x, kind)
    of = h if kv is None else kv
    q = m.linear(f"{name}_q", h, H, bias=not gate)
    # A bias of keys has no gradient but rounding.
    k = m.linear(f"{name}_k", of, key_width, bias=False)
    v = m.linear(f"{name}_v", of, key_width, bias=not gate)
    a = m.attention(q, k, v, HEADS, key_heads, causal)
    x = m.binary("add", x, m.drop(m.linear(f"{name}_o", a, H, bias=not gate)))
    h = m.norm(f"{name}_n2", x, kind)
    if gate:
        h = m.binary(
            "mul", m.unary("tanh", m.linear(f"{name}_gate", h, FFN, False)), m.linear(f"{name}_up", h, FFN, False)
        )
    else:
        h = m.unary("tanh", m.linear(f"{name}_up", h, FFN))
    return m.binary("add", x, m.drop(m.linear(f"{name}_down", h, H, bias=not gate)))


def embedded(m, name, tokens):
    table = m.state(name, [V, H])
    places = m.state(f"{name}_p", [S, H])
    x = m.embed(table, tokens)
    x = m.binary("add", x, m.broadcast(places, x.shape, [1, 2]))
    return table, m.reshape(m.drop(x), [m.batch * S, H])


def gpt(m):
    """Embeddings that are the head, too."""
    table, x = embedded(m, "wte", m.input("tokens", [S], V))
    for i in range(2):
        x = block(m, f"b{i}", x)
    return m.loss_rows(m.matmul(m.norm("f", x), table, transposed=True))


def llama(m):
    """Queries in groups, and a gate."""
    _, x = embedded(m, "wte", m.input("tokens", [S], V))
    for i in range(2):
        x = block(m, f"b{i}", x, key_heads=KEY_HEADS, gate=True)
    return m.loss_rows(m.linear("head", m.norm("f", x, "rms_norm"), V, bias=False))


def seq2seq(m):
    """An encoder, and a decoder that looks at it."""
    _, e = embedded(m, "src", m.input("source", [S], V))
    e = block(m, "e0", e, causal=False)
    e = m.norm("en", e)
    table, x = embedded(m, "tgt", m.input("target", [S], V))
    x = block(m, "d0", x)
    x = block(m, "d1", x, kv=e, causal=False)
    return m.loss_rows(m.matmul(m.norm("f", x), table, transposed=True))


def pooled(m, x):
    """The mean of the rows of each sample."""
    x = m.reshape(x, [m.batch, S, H])
    result = Value("", [m.batch, H])
    return m.op(f"ingot.reduce sum {x.name} dims = [1] : ({x.type}) -> {result.type}", (result.shape,))


def joined(m):
    """An encoder of text and one of features."""
    _, x = embedded(m, "wte", m.input("tokens", [S], V))
    text = pooled(m, block(m, "t0", x, causal=False))
    features = m.input("features", [10])
    y = m.unary("tanh", m.linear("f_up", features, FFN))
    y = m.norm("f_n", m.linear("f_down", y, H))
    both = m.binary("mul", m.linear("join_t", text, H), m.linear("join_f", y, H))
    return m.loss_rows(m.linear("head", m.unary("tanh", both), 10))


def cnn(m):
    """Convolutions with batch normalization."""
    x = m.input("image", [3, 6, 6])

    def conv(name, x, channels):
        filters = m.state(name, [channels, x.shape[1], 3, 3])
        window = ", ".join(f"{key} = array<i64: 1, 1>" for key in ("dilations", "pad_high", "pad_low", "strides"))
        result = Value("", [m.batch, channels, *x.shape[2:]])
        y = m.op(
            f"ingot.conv {x.name}, {filters.name} {{{window}, groups = 1 : i64}} : ({x.type}, {filters.type}) -> "
            f"{result.type}",
            (result.shape,),
        )
        own = [
            m.state(f"{name}_{s}", [channels], role)
            for s, role in (("s", "parameter"), ("b", "parameter"), ("m", "running"), ("v", "running"))
        ]
        vector = own[0].type
        results = m.op(
            f"ingot.batch_norm {y.name}, {', '.join(v.name for v in own)} {{epsilon = 1.0e-5 : f64, momentum = 0.9 : "
            f"f64}} : ({y.type}, {', '.join([vector] * 4)}) -> ({y.type}, {', '.join([vector] * 4)})",
            (y.shape,),
            *[([channels],)] * 4,
        )
        m.running += [(results[1], f"{name}_m"), (results[2], f"{name}_v")]
        return m.unary("tanh", results[0])

    m.running = []
    x = conv("c1", x, 12)
    x = conv("c2", x, 24)
    x = m.reshape(x, [m.batch, 24 * 36])
    m.loss_rows(m.linear("head", m.drop(x), 10))
    m.outputs += m.running
    return m


MODELS = {"gpt": gpt, "llama": llama, "seq2seq": seq2seq, "joined": joined, "cnn": cnn}


def build(name, batch, dropout=0.0):
    return MODELS[name](Model(name, batch, dropout))
