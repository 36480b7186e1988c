# SPDX-License-Identifier: Apache-2.0
"""Values that no training can come of are named: where, and what."""

import json
import warnings
import zipfile

import numpy as np
import onnx
from harness import case, check, golden, initializers

BCE, MLP = golden("multilabel"), golden("mlp")


def arrays_of(g):
    with np.load(g.data) as data:
        return {k: data[k].copy() for k in data}


def write(ingot, arrays):
    path = ingot.path("data.npz")
    np.savez(path, **arrays)
    return path


def trainer_of(ingot, g):
    return ingot.compile(g.model, *g.compile_flags("adamw"))


@case("labels-not-probabilities")
def probabilities(ingot):
    for value in (1.5, -0.25, np.nan):
        arrays = arrays_of(BCE)
        arrays["labels"][3].flat[0] = value
        command = [trainer_of(ingot, BCE), "--data", write(ingot, arrays), "--steps", "2"]
        ingot.check_error(command, 3, "data.npz: labels", "sample 3", f"{value:g}", "from 0 to 1")


@case("labels-all-ignored")
def ignored(ingot):
    arrays = arrays_of(MLP)
    arrays["labels"][:] = -100
    path = write(ingot, arrays)
    error = ingot.check_error([trainer_of(ingot, MLP), "--data", path, "--steps", "2"], 3, "step 1", "-100")
    check("--lr" not in error.err, error.err)
    # One that counts is enough.
    arrays["labels"][0] = 1
    ingot.succeed([trainer_of(ingot, MLP), "--data", write(ingot, arrays), "--no-shuffle", "--steps", "1"])


@case("data-not-a-number")
def not_a_number(ingot):
    arrays = arrays_of(MLP)
    arrays["x"][5].flat[1] = np.nan
    command = [trainer_of(ingot, MLP), "--data", write(ingot, arrays), "--no-shuffle", "--epochs", "1"]
    ingot.check_error(command, 3, "sample 5 has NaN in 'x'")


@case("data-array-twice")
def array_twice(ingot):
    """NumPy takes the last one, others the first."""
    arrays = arrays_of(MLP)
    path = write(ingot, {**arrays, "x": arrays["x"] * np.nan})
    with zipfile.ZipFile(path, "a") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with archive.open("x.npy", "w") as file:
            np.save(file, arrays["x"])
    ingot.check_error([trainer_of(ingot, MLP), "--data", path, "--steps", "2"], 3, "x: the archive has two arrays")


@case("weights-beside-damaged")
def damaged(ingot):
    """A flipped bit anywhere in the file; other weights are given with --init."""
    trainer = ingot.compile(MLP.model, *MLP.compile_flags("adamw"), "--weights", "sidecar")
    sidecar = trainer.with_name("trainer.safetensors")
    content = sidecar.read_bytes()
    try:
        for place in (20, len(content) // 2, len(content) - 1):
            flipped = bytearray(content)
            flipped[place] ^= 1
            sidecar.write_bytes(flipped)
            ingot.check_error([trainer, "--data", MLP.data, "--steps", "1"], 3, "trainer.safetensors")
    finally:
        sidecar.write_bytes(content)
    ingot.succeed([trainer, "--data", MLP.data, "--steps", "1"])


@case("init-with-other-tensors")
def other_tensors(ingot):
    """One line for all of them, however many there are and whatever their names."""
    path = ingot.path("init.safetensors")
    others = {f"other{i}.\x1b[31m{'n' * 500}": np.zeros(1, np.float32) for i in range(300)}
    header, data = {}, b""
    for name, value in {**initializers(MLP.model), **others}.items():
        value = np.ascontiguousarray(value, np.float32)
        offsets = [len(data), len(data) + value.nbytes]
        header[name] = {"dtype": "F32", "shape": value.shape, "data_offsets": offsets}
        data += value.tobytes()
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)
    result = ingot.succeed([trainer_of(ingot, MLP), "--data", MLP.data, "--steps", "1", "--init", path])
    notes = [line for line in result.err.splitlines() if "not in the model" in line]
    check(len(notes) == 1 and "300 tensors" in notes[0], f"{len(notes)} lines: {result.err[:2000]}")
    check("other0" in notes[0] and len(notes[0]) < 1000 and "\x1b" not in result.err, notes[0][:2000])


@case("names-are-printable")
def printable(ingot):
    """The tables of a model whose names hold control sequences; long arguments are shortened."""
    model = onnx.load(MLP.model)
    for i, node in enumerate(model.graph.node):
        node.name = f"evil{i}\x1b]0;title\x07{'x' * 2000}"
    path = ingot.path("model.onnx")
    onnx.save(model, path)
    trainer = ingot.compile(path, *MLP.compile_flags("adamw"))
    trace = ingot.path("trace.json")
    runs = [
        ingot.succeed([trainer, "--data", MLP.data, "--steps", "1", "--watch", "stats"]),
        ingot.succeed([trainer, "--data", MLP.data, "--steps", "1", "--profile", trace]),
        ingot.succeed([trainer, "--inspect"]),
    ]
    for run in runs:
        text = run.out + run.err
        check(not any(ord(c) < 32 and c != "\n" for c in text), f"control characters: {text[:300]!r}")
    check("evil" in runs[0].err and "evil" in runs[1].out, "the names are not there")
    check(max(map(len, (runs[0].err + runs[1].out).splitlines())) < 400, "long names")
    for flags in (["--" + "y" * 100000], ["z" * 100000], ["--lr", "9" * 100000 + "q"]):
        result = ingot.check_error([trainer, *flags, "--data", MLP.data], 2)
        check(len(result.err) < 2000, f"{len(result.err)} characters")


@case("export-weights")
def export_weights(ingot):
    """--export FILE.safetensors holds what the exported model holds, and --init takes it."""
    g = golden("cnn")
    trainer = ingot.compile(g.model, *g.compile_flags("adamw"))
    weights, model = ingot.path("trained.safetensors"), ingot.path("trained.onnx")
    for path in (weights, model):
        ingot.train(trainer, "--data", g.data, "--steps", "3", "--export", path)
    with open(weights, "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        start = file.tell()
        want = initializers(model)
        check(set(header) - {"__metadata__"} <= set(want), f"holds {sorted(header)}, the model {sorted(want)}")
        check(len(header) > 2, "holds next to nothing")
        for name, entry in header.items():
            if name != "__metadata__":
                file.seek(start + entry["data_offsets"][0])
                got = np.frombuffer(file.read(want[name].nbytes), want[name].dtype).reshape(entry["shape"])
                check(np.array_equal(got, want[name]), f"{name} is not that of the model")
    again = ingot.path("again.safetensors")
    ingot.train(trainer, "--data", g.data, "--steps", "1", "--lr", "0", "--init", weights, "--export", again)
    check(again.stat().st_size == weights.stat().st_size, "--init does not take what was exported")
