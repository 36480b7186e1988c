# SPDX-License-Identifier: Apache-2.0
"""Training steps of other programs, as the nodes that their sources execute: what published.py predicts."""

HALF, FLOAT = 2, 4


def matmul(m, n, k, extra=0):
    """Reads both operands and writes the result, in 16 bits; `extra` bytes for its epilogue."""
    return {"kind": "matmul", "m": m, "n": n, "k": k, "bytes": HALF * (m * k + k * n + m * n) + extra}


def kernel(count):
    """Moves as many bytes."""
    return {"kind": "kernel", "bytes": count}


def llm_c(batch, rows, layers, width, heads, parts=1, ranks=1, fused_gelu=False, vocabulary=50304):
    """llm.c's train_gpt2.cu in bf16 with cuDNN's attention, ZeRO 1 and no recomputation: `parts` micro-batches."""
    tokens, size = batch * rows, width // heads
    x = HALF * tokens * width
    attention = {"kind": "attention", "batch": batch, "heads": heads, "rows": rows, "size": size, "causal": True}

    def linear(inputs, outputs, extra=0):
        return [matmul(tokens, outputs, inputs, extra)]

    def linear_gradients(inputs, outputs):
        # The bias's gradient is a kernel that reads the gradient again.
        return [
            matmul(tokens, inputs, outputs),
            kernel(HALF * tokens * outputs),
            matmul(outputs, inputs, tokens, HALF * inputs * outputs),
        ]

    gelu = [] if fused_gelu else [kernel(2 * 4 * x)]
    forward = (
        linear(width, 3 * width)
        + [{**attention, "bytes": 4 * x}]
        + linear(width, width)
        + [kernel(4 * x)]
        + linear(width, 4 * width, extra=4 * x if fused_gelu else 0)
        + gelu
        + linear(4 * width, width)
        + [kernel(4 * x)]
    )
    backward = (
        linear_gradients(4 * width, width)
        + ([] if fused_gelu else [kernel(3 * 4 * x)])
        + linear_gradients(width, 4 * width)
        + [kernel(4 * x)]
        + linear_gradients(width, width)
        + [{**attention, "gradient": True, "bytes": 8 * x}]
        + linear_gradients(width, 3 * width)
        + [kernel(4 * x)]
    )
    logits = HALF * tokens * vocabulary
    head = [
        matmul(tokens, vocabulary, width),
        kernel(2 * logits),
        matmul(tokens, width, vocabulary),
        matmul(vocabulary, width, tokens),
    ]
    ends = [kernel(2 * x), kernel(2 * x), kernel(4 * x), kernel(3 * x)]
    parameters = 12 * layers * width * width + (vocabulary + rows) * width
    # Gradients and parameters in bf16, two moments and the master in fp32, and the norm of the gradients.
    update = [kernel(HALF * parameters), kernel((28 + HALF) * parameters / ranks)]
    exchange = [{"kind": "exchange", "bytes": HALF * parameters / 2}] if ranks > 1 else []
    return parts * (layers * (forward + backward) + head + ends) + update + exchange


def resnet50_layers(size=224):
    """Of each convolution: channels in and out, sides in and out, kernel, stride, and what follows its batch
    normalization: relu, add (and relu), or nothing."""
    layers, side = [(3, 64, size, size // 2, 7, 2, "relu")], size // 4
    inputs = 64
    for stage, (width, blocks) in enumerate([(64, 3), (128, 4), (256, 6), (512, 3)]):
        for block in range(blocks):
            stride = 2 if stage > 0 and block == 0 else 1
            out = side // stride
            layers.append((inputs, width, side, side, 1, 1, "relu"))
            layers.append((width, width, side, out, 3, stride, "relu"))
            if block == 0:
                layers.append((inputs, 4 * width, side, out, 1, stride, ""))
            layers.append((width, 4 * width, out, out, 1, 1, "add"))
            inputs, side = 4 * width, out
    return layers


def resnet50(batch, fused):
    """ResNet-50 v1.5 at 224 x 224 with SGD, in fp16 and channels last. `fused`: batch normalization, the sum and ReLU
    are one operation in each direction, as in NVIDIA's MXNet; else each is a kernel, as in PyTorch."""
    nodes, parameters = [], 2048 * 1000
    for number, (inputs, outputs, side, out, taps, stride, then) in enumerate(resnet50_layers()):
        x, y = HALF * batch * side * side * inputs, HALF * batch * out * out * outputs
        weights = inputs * outputs * taps * taps
        parameters += weights + 2 * outputs
        shape = {
            "kind": "convolution",
            "batch": batch,
            "in_channels": inputs,
            "out_channels": outputs,
            "in": side,
            "out": out,
            "kernel": taps,
            "stride": stride,
            "bytes": x + y + HALF * weights,
        }
        nodes += [shape, {**shape, "part": "filter"}]
        if number > 0:
            nodes.append({**shape, "part": "input"})
        # Statistics read the tensor, then it is read and written.
        nodes += [kernel(y), kernel(2 * y + (y if fused and then == "add" else 0))]
        # The gradient: sums over both tensors, then both are read and one is written.
        nodes += [kernel(2 * y), kernel(3 * y)]
        if then and not fused:
            nodes += [kernel(2 * y), kernel(3 * y)]
        if then == "add":
            # The sum of a block, and the sum of the gradients of its two branches.
            nodes += [kernel(3 * y)] * (1 if fused else 2)
    stem = HALF * batch * 112 * 112 * 64
    nodes += [kernel(stem + stem / 4), kernel(stem + stem / 2)]
    nodes += [matmul(batch, 1000, 2048), matmul(batch, 2048, 1000), matmul(1000, 2048, batch)]
    # Momentum in fp32, gradients and a copy of the weights in 16 bits.
    return nodes + [kernel(parameters * (5 * FLOAT + 2 * HALF))]


STEPS = {"llm.c": llm_c, "resnet50": resnet50}
