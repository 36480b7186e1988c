# SPDX-License-Identifier: Apache-2.0
"""Hostile files for every option that reads one. The byte-level mutations of .npy,
.npz, .safetensors and token files are the fuzz targets' in test/fuzz/readers; here,
programs as a whole get their seeds, files of unusual kinds, and JSON."""

import io
import json
import pathlib
import struct
import subprocess

import numpy as np
import sandbox
from subjects import Words

from families import pool

SEEDS = pool.ROOT / "test/fuzz/readers/seeds"
STATE = {}
CHECKPOINT = "checkpoint"
# Name of a trainer, and how it is compiled.
TRAINERS = {
    "dense": ["--batch=4", "--loss=cross-entropy"],
    "digits": ["--batch=8", "--loss=cross-entropy", "--optimizer=momentum"],
    "clip": ["--batch=4", "--loss=cross-entropy", "--clip", "--grad-accumulation=2", "--optimizer=sgd"],
    "fp16": ["--batch=4", "--loss=cross-entropy", "--precision=fp16"],
    "ranks": ["--batch=4", "--loss=cross-entropy", "--data-parallel", "--zero=1", "--optimizer=lion"],
}


def npz(**arrays):
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


def prepare(programs, scratch):
    """Compiles the trainers that several families run, and saves a checkpoint."""
    if STATE:
        return
    from families import fixed

    rng = np.random.default_rng(0)
    folder = sandbox.clear(scratch / "trainers")
    (folder / "dense.onnx").write_bytes(fixed.dense().SerializeToString())
    (folder / "digits.onnx").write_bytes(fixed.DIGITS)
    for name, flags in TRAINERS.items():
        model = folder / ("digits.onnx" if name == "digits" else "dense.onnx")
        command = [programs / "ingotc", model, *flags, "-o", folder / name]
        subprocess.run(command, check=True, capture_output=True)
        if name == "digits":
            data = (pool.ROOT / "docs/examples/digits/train.npz").read_bytes()
        else:
            data = npz(x=rng.random((16, 24), np.float32), labels=rng.integers(0, 21, 16))
        (folder / f"{name}.npz").write_bytes(data)
        STATE[name] = (folder / name, data)
    command = [folder / "dense", "--data", folder / "dense.npz", "--steps=2", "--save", folder / CHECKPOINT]
    subprocess.run(command, check=True, capture_output=True)
    saved = sorted(path for path in (folder / CHECKPOINT).rglob("*") if path.is_file())
    STATE[CHECKPOINT] = {str(path.relative_to(folder)): path.read_bytes() for path in saved}


def trainer(name):
    """(path, data) of a trainer that prepare() made."""
    return STATE[name]


def deep(rng):
    size = rng.choice([10, 100, 1000, 10_000, 200_000])
    opening = rng.choice([b"[", b'{"a":', b'[{"peak_flops":', b"[[0],", b"\xff[", b'"\\u0000'])
    return opening * size + rng.choice([b"", b"]" * size])


VALUES = [
    0,
    -1,
    1,
    1e308,
    1e-308,
    -0.0,
    2**63,
    2**64,
    -(2**63),
    None,
    True,
    "",
    "x" * 9000,
    "\x1b[31m",
    [],
    {},
    [[]],
    "1",
]


def change_json(rng, tree):
    """Replaces, removes or adds one thing anywhere in a tree of JSON."""
    while True:
        if isinstance(tree, dict) and tree:
            key = rng.choice(sorted(tree))
            if isinstance(tree[key], (dict, list)) and tree[key] and rng.random() < 0.7:
                tree = tree[key]
                continue
            action = rng.random()
            if action < 0.6:
                tree[key] = rng.choice(VALUES)
            elif action < 0.8:
                del tree[key]
            else:
                tree[rng.choice(["", "x", "\x1b[2J", key + key])] = rng.choice(VALUES)
        elif isinstance(tree, list) and tree:
            at = rng.randrange(len(tree))
            if isinstance(tree[at], (dict, list)) and tree[at] and rng.random() < 0.7:
                tree = tree[at]
                continue
            tree[at] = rng.choice(VALUES)
        return


def hostile_json(rng, valid):
    """A document in place of a valid one."""
    action = rng.random()
    if action < 0.2:
        return deep(rng)
    if action < 0.3:
        return rng.choice(
            [b"", b"null", b"[]", b"{}", b"0", b'"x"', b"\xff\xfe", b"{\x00}", b'{"a":1,"a":2}', b"1e999", b"nan"]
        )
    if action < 0.45:
        text = json.dumps(valid).encode()
        return text[: rng.randrange(len(text))]
    tree = json.loads(json.dumps(valid))
    for _ in range(rng.randint(1, 3)):
        change_json(rng, tree)
    return json.dumps(tree).encode()


def changed_bytes(rng, data):
    data = bytearray(data)
    for _ in range(rng.randint(1, 8)):
        if data:
            data[rng.randrange(min(len(data), 400) if rng.random() < 0.5 else len(data))] = rng.randrange(256)
    return bytes(data[: rng.choice([len(data), len(data), rng.randrange(len(data) + 1)])])


def array(rng):
    """An array of an unusual type, shape or value, for an input or for labels."""
    kind = rng.choice(["<f4", ">f4", "<f8", "<f2", "<i8", "<i4", "|u1", "|b1", "<c8", "<U3", "<M8[s]", "<f4", "<i8"])
    shape = [rng.choice([0, 1, 2, 3, 4, 5, 8, 16, 24]) for _ in range(rng.randint(0, 3))]
    if rng.random() < 0.6:
        shape = rng.choice([[16, 24], [16], [16, 1], [0, 24], [3, 24], [16, 23]])
    values = np.zeros(shape, kind)
    if values.size and values.dtype.kind in "fiu":
        with np.errstate(all="ignore"):
            number = rng.choice([0, -1, 20, 21, -100, 1e30, float("nan"), float("inf"), 2**31, 2**62])
            values.reshape(-1)[rng.randrange(values.size)] = np.array(number).astype(kind)
    return np.asfortranarray(values) if rng.random() < 0.2 else values


def hostile_arrays(rng):
    names = ["x", "labels", "x", "labels", "extra", "", "\x1b[31m", "a" * 5000, "x.npy", "../x", "labels/x"]
    return npz(**{rng.choice(names): array(rng) for _ in range(rng.randint(0, 4))})


def hostile_npz(rng, data):
    action = rng.random()
    if action < 0.4:
        return hostile_arrays(rng)
    if action < 0.6:
        # All kinds of data: the content decides which reader it goes to.
        paths = sorted(path for path in SEEDS.rglob("*") if path.is_file())
        return changed_bytes(rng, rng.choice(paths).read_bytes())
    return changed_bytes(rng, data)


def tensor_file(rng):
    """.safetensors with a hostile header."""
    header = {"W": {"dtype": "F32", "shape": [4, 4], "data_offsets": [0, 64]}, "__metadata__": {"format": "pt"}}
    text = hostile_json(rng, header)
    length = rng.choice([len(text)] * 4 + [0, 1, 2**31, 2**63, 2**64 - 1, len(text) + 1000])
    return struct.pack("<Q", length) + text + bytes(rng.choice([0, 64, 63]))


def tokens(rng):
    head = [rng.choice([20240520, 20240801, 0]), rng.choice([0, 1, 2, 7]), rng.choice([0, 4, 100, -1, 2**31 - 1])]
    return struct.pack("<256i", *head, *[0] * 253) + bytes(rng.choice([0, 7, 8, 400]))


MACHINE = {"threads": 2, "matmul_f32": 1e11, "vector_f32": 1e10, "memory_bandwidth": 1e10, "cache_bytes": 1e6}
CLUSTER = {
    "ranks": [1, 8, 4096],
    "ranks_per_node": 8,
    "inside": {"latency_us": 3, "bandwidth_gbps": 800},
    "between": {"latency_us": 10, "bandwidth_gbps": 200},
    "host": {"exchange_us": 300, "bandwidth_gbps": 25},
    "step_ms": 120,
}


def checkpoint(rng):
    """The files of a checkpoint, one of which is changed."""
    changed = dict(STATE[CHECKPOINT])
    name = rng.choice(sorted(changed))
    action = rng.random()
    if action < 0.2:
        del changed[name]
    elif name.endswith(".json"):
        changed[name] = hostile_json(rng, json.loads(changed[name]))
    elif name.endswith("latest"):
        changed[name] = rng.choice(
            [b"", b"..", b"/", b"step-9", b"a" * 9000, b"\0", b"../checkpoint/step-2", b"\x1b[31m"]
        )
    else:
        changed[name] = changed_bytes(rng, changed[name])
    return changed


def make(rng, _box, _seed):
    from families import fixed

    program, data = trainer("dense")
    run = [str(program)]
    reads = rng.choice(["data", "data", "eval", "init", "resume", "machine", "cluster", "model", "tokens", "special"])
    contents, special, env = {"train.npz": data}, {}, {}
    groups = [["--data", "train.npz"], ["--steps", "2"]]
    compiles = ["ingotc", "model.onnx", "--loss=cross-entropy", "--batch=4", "-o", "t.mlir", "--emit=exec"]
    if reads == "data":
        contents["bad.npz"] = hostile_npz(rng, data)
        groups = [["--data", *(["train.npz"] if rng.random() < 0.2 else []), "bad.npz"], ["--steps", "2"]]
    elif reads == "eval":
        contents["bad.npz"] = hostile_npz(rng, data)
        groups += [["--eval-data", "bad.npz"], *([["--predict", "p.npz"]] if rng.random() < 0.5 else [])]
    elif reads == "init":
        contents["w.safetensors"] = tensor_file(rng)
        groups += [["--init", "w.safetensors"]]
    elif reads == "tokens":
        contents["t.bin"] = tokens(rng)
        groups = [["--data", "t.bin"]]
    elif reads == "resume":
        contents.update(checkpoint(rng))
        groups = [["--data", "train.npz"], ["--steps", "4"], ["--resume", CHECKPOINT]]
    elif reads in ("machine", "cluster"):
        run, contents = compiles, {"model.onnx": fixed.dense().SerializeToString()}
        contents["bad.json"] = hostile_json(rng, MACHINE if reads == "machine" else CLUSTER)
        groups = [["--machine", "bad.json"]] if reads == "machine" else [["--data-parallel"], ["--plan", "bad.json"]]
    else:
        kind = rng.choice(sandbox.SPECIAL)
        name = rng.choice(["bad.npz", "bad.npy", "bad.bin", "bad.safetensors", "bad"])
        special = {name: kind}
        option = rng.choice(["--data", "--eval-data", "--init", "--resume", "--log", "--save", "--export", "--profile"])
        groups = [["--data", "train.npz"], ["--steps", "2"], [option, name]]
        if reads == "model":
            run, contents = compiles, {"model.onnx": fixed.dense().SerializeToString()}
            groups = [
                rng.choice([["--machine", name], ["--remarks", name], ["--report", name], ["--dump-passes", name]])
            ]
            if rng.random() < 0.3:
                contents, special, groups = {}, {"model.onnx": kind}, []
    kept = [name for name in contents if pathlib.Path(name).name == name]
    return Words(f"{reads}: {groups[-1] if groups else special}", run, groups, contents, special, kept, env=env)
