# SPDX-License-Identifier: Apache-2.0
"""Makes a model of JAX: exports it with jax2onnx, and trains it with JAX for reference.

A prepared folder holds what prepare.py says, without a smooth variant. The file has no names of parameters: they are
told by their values, in any order of their dimensions, and no other numbers of the file are trained.
"""

import itertools
import json
import pathlib
import time
import zlib

import numpy as np
from zoo.example import STEPS

LEARNING_RATE, DECAY, BETAS, EPSILON = 1e-3, 1e-2, (0.9, 0.999), 1e-8


def loss_of(kind, output, labels):
    import jax
    import jax.numpy as jnp

    if kind == "mse":
        return jnp.mean((output - labels) ** 2)
    logs = jax.nn.log_softmax(output.reshape(-1, output.shape[-1]))
    return -jnp.mean(jnp.take_along_axis(logs, labels.reshape(-1, 1), 1))


def labels_for(kind, shape, generator):
    if kind == "mse":
        return generator.standard_normal(shape).astype(np.float32)
    return generator.integers(0, shape[-1], shape[:-1])


def moved(values, generator):
    """Constant parameters get gradients of their own, as in prepare.still()."""
    return [
        v + 0.02 * generator.standard_normal(v.shape).astype(np.float32) if v.size and (v == v.flat[0]).all() else v
        for v in values
    ]


def reference(apply, values, data, example, dtype, steps):
    """Losses of `steps` steps of AdamW, and the gradients of the first."""
    import jax

    def whole(values, inputs, labels):
        return loss_of(example.loss, apply(values, *inputs), labels)

    def cast(array):
        return array.astype(dtype) if array.dtype.kind == "f" else array

    compute = jax.jit(jax.value_and_grad(whole))
    values = [cast(v) for v in values]
    first, second = [np.zeros_like(v) for v in values], [np.zeros_like(v) for v in values]
    losses, start = [], None
    for step in range(steps):
        part = {n: cast(t[step * example.batch : (step + 1) * example.batch]) for n, t in data.items()}
        labels = part.pop("labels")
        loss, gradients = compute(values, list(part.values()), labels)
        gradients = [np.asarray(g) for g in gradients]
        start = start or [g.astype(np.float64) for g in gradients]
        losses.append(float(loss))
        scales = [1 - beta ** (step + 1) for beta in BETAS]
        for i, g in enumerate(gradients):
            first[i] = BETAS[0] * first[i] + (1 - BETAS[0]) * g
            second[i] = BETAS[1] * second[i] + (1 - BETAS[1]) * g * g
            step_size = LEARNING_RATE * (first[i] / scales[0]) / (np.sqrt(second[i] / scales[1]) + EPSILON)
            values[i] = (values[i] * (1 - LEARNING_RATE * DECAY) - step_size).astype(dtype)
    return losses, start


def export(apply, values, data, batch, path):
    """Writes the model; True when the batch is a dimension of the file."""
    import jax
    from jax2onnx import to_onnx

    def forward(*inputs):
        return apply(values, *inputs)

    def shapes(first):
        return [jax.ShapeDtypeStruct((first, *t.shape[1:]), t.dtype) for t in data.values()]

    def write(inputs):
        to_onnx(forward, inputs=inputs, return_mode="file", output_path=str(path))

    try:
        (dimension,) = jax.export.symbolic_shape("batch")
        write(shapes(dimension))
        return True
    except Exception as error:  # Many kinds, of JAX and of the exporter.
        print("export with a symbolic batch:", str(error).splitlines()[:1], flush=True)
    write(shapes(batch))
    return False


def find_parameters(path, values):
    """The initializer that holds each parameter: its name and shape, and the order of the parameter's dimensions there.

    The exporter merges heads with features, and puts channels first.
    """
    import onnx
    from onnx import numpy_helper

    graph = onnx.load(path).graph
    stored = {t.name: numpy_helper.to_array(t) for t in graph.initializer}
    found = []
    for value in values:
        orders = itertools.permutations(range(value.ndim))
        matches = (
            (name, array.shape, order)
            for order in orders
            for name, array in stored.items()
            if array.dtype == value.dtype and np.array_equal(array.flatten(), value.transpose(order).flatten())
        )
        match = next(matches, None)
        if match is None:
            raise ValueError(f"a parameter of shape {value.shape} is not in the file")
        found.append(match)
    if len({name for name, _, _ in found}) < len(values):
        raise ValueError("two parameters have the same values")
    return found, [i.name for i in graph.input]


def errors(got, want):
    whole = sum(float((w**2).sum()) for w in want) ** 0.5
    return [
        float(np.linalg.norm(g - w) / max(np.linalg.norm(w), 1e-3 * whole, 1e-30))
        for g, w in zip(got, want, strict=True)
    ]


def prepare(model, folder):
    """Writes `folder`; raises what JAX and its exporter raise."""
    import jax

    generator = np.random.default_rng(zlib.crc32(model.name.encode()))
    example = model.build()
    apply, values = example.module
    values = moved(values, generator)
    path = pathlib.Path(folder) / "model.onnx"
    start = time.monotonic()
    record = {"loss": example.loss, "batch": example.batch, "lr": LEARNING_RATE, "other_names": {}}
    record["symbolic_batch"] = export(apply, values, example.inputs, example.batch, path)
    record["export_s"] = round(time.monotonic() - start, 1)
    found, names = find_parameters(path, values)
    record["freeze"], record["trainable"] = None, "^(" + "|".join(name for name, _, _ in found) + ")$"
    record["parameters"] = sum(v.size for v in values)

    shape = jax.eval_shape(apply, values, *[t[: example.batch] for t in example.inputs.values()]).shape
    labels = labels_for(example.loss, (example.batch * STEPS, *shape[1:]), generator)
    data = {**dict(zip(names, example.inputs.values(), strict=True)), "labels": labels}
    record["losses"], single = reference(apply, values, data, example, np.float32, STEPS)
    jax.config.update("jax_enable_x64", True)
    record["double_losses"], double = reference(apply, values, data, example, np.float64, STEPS)
    record["gradient_errors"] = dict(zip((name for name, _, _ in found), errors(single, double), strict=True))
    gradients = {
        name: g.transpose(order).reshape(shape).astype(np.float32)
        for (name, shape, order), g in zip(found, double, strict=True)
    }
    np.savez(folder / "gradients.npz", **gradients)
    np.savez(folder / "data.npz", **data)
    (folder / "reference.json").write_text(json.dumps(record, indent=1))
