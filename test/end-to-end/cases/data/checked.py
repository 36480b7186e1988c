# SPDX-License-Identifier: Apache-2.0
"""Data that would train something else than was meant: indices beyond tables, other classes, labels to ignore."""

import gzip
import io
import json
import os
import shutil
import tarfile
import zipfile

import numpy as np
import onnx
import onnx.parser
from cases.runs.sources import TOKENS, losses, picture_trainer, write_model, write_pictures
from harness import HERE, case, check
from onnx import numpy_helper

RECIPE = "image=decode,resize:10,crop:8,normalize:0.5:0.5"
# Two columns of categories with a table each, and a number that is no index.
COLUMNS = """<ir_version: 8, opset_import: ["": 18]>
g (int64[n,3] x) => (float[n,2] logits) <int64 zero = {0}, int64 one = {1}> {
  a = Gather <axis = 1> (x, zero)
  b = Gather <axis = 1> (x, one)
  first = Gather (small, a)
  second = Gather (large, b)
  sum = Add(first, second)
  logits = MatMul(sum, w)
}"""
LINEAR = """<ir_version: 8, opset_import: ["": 18]>
g (float[n,3] x) => (float[n,4] logits) { logits = MatMul(x, w) }"""
LOSS = """<ir_version: 8, opset_import: ["": 18]>
g (float[n,3] x, int64[n] target) => (float loss) {
  logits = MatMul(x, w)
  loss = SoftmaxCrossEntropyLoss <ignore_index = 255> (logits, target)
}"""


def save(ingot, **arrays):
    path = ingot.path("data.npz")
    np.savez(path, **arrays)
    return path


def token_trainer(ingot):
    if "checked tokens" not in ingot.trainers:
        path = write_model(ingot, TOKENS, table=(32, 8), w=(8, 32))
        ingot.trainers["checked tokens"] = ingot.compile(
            path, "--loss", "cross-entropy", "--optimizer", "sgd", "--batch", "4"
        )
    return ingot.trainers["checked tokens"]


def add(tar, name, content):
    member = tarfile.TarInfo(name)
    member.size = len(content)
    tar.addfile(member, io.BytesIO(content))


def npy(array):
    content = io.BytesIO()
    np.save(content, array)
    return content.getvalue()


@case("tokens beyond the table are refused in any file")
def tokens_beyond(ingot):
    trainer = token_trainer(ingot)
    ids = np.arange(8 * 16).reshape(8, 16) % 32
    labels = np.full((8, 16), 7)
    good = save(ingot, ids=ids, labels=labels)
    want = losses(ingot, trainer, "--data", good, "--steps", "2")
    # Indices may count from the end, as in ONNX.
    check(
        losses(ingot, trainer, "--data", save(ingot, ids=ids - 32, labels=labels), "--steps", "2") == want, "from end"
    )
    bad = ids.copy()
    bad[5, 3] = 32
    words = ("sample 5", "32", "a table of 32 rows")
    ingot.check_error([trainer, "--data", save(ingot, ids=bad, labels=labels), "--steps", "1"], 3, *words)
    ingot.check_error([trainer, "--data", save(ingot, ids=ids - 33, labels=labels), "--steps", "1"], 3, "-33")
    lines = ingot.path("a.jsonl")
    lines.write_text("".join(json.dumps({"ids": row.tolist(), "labels": [7] * 16}) + "\n" for row in bad))
    ingot.check_error([trainer, "--data", lines, "--no-shuffle", "--steps", "2"], 3, "sample 5", "32 rows")
    archive = ingot.path("a.tar")
    with tarfile.open(archive, "w") as tar:
        for i, row in enumerate(bad):
            add(tar, f"{i}.ids.npy", npy(row))
            add(tar, f"{i}.labels.npy", npy(labels[i]))
    ingot.check_error([trainer, "--data", archive, "--no-shuffle", "--steps", "2"], 3, "5.ids.npy", "32 rows")
    # Text as bytes.
    text = ingot.path("t.jsonl")
    text.write_text(json.dumps({"ids": "A" * 16, "labels": [1] * 16}) + "\n")
    flags = ["--input", "ids=bytes", "--steps", "1"]
    many = [text] * 4
    ingot.check_error([trainer, "--data", *many, *flags], 3, "65", "32 rows")


@case("packed sequences are checked against the table and the classes")
def packed_beyond(ingot):
    model = HERE.parents[1] / "docs/examples/packing/packing.onnx"
    trainer = ingot.compile(model, "--loss", "cross-entropy", "--batch", "4")
    path = ingot.path("a.jsonl")
    path.write_text((json.dumps({"tokens": [300] * 600}) + "\n") * 60)
    ingot.check_error([trainer, "--data", path, "--pack", "--steps", "2"], 3, "300", "outside 0 to 255")
    path.write_text('{"text": "a"}\n' * 5000)
    flags = ["--pack", "--input", "tokens=bytes,pack", "--steps", "1"]
    ingot.check_error([trainer, "--data", path, *flags], 3, "all labels of the step are -100")


@case("each column of categories is checked against its own table")
def columns(ingot):
    path = write_model(ingot, COLUMNS, small=(4, 8), large=(100, 8), w=(8, 2))
    trainer = ingot.compile(path, "--loss", "cross-entropy", "--optimizer", "sgd", "--batch", "2")
    labels = np.zeros(4, np.int64)
    good = np.array([[3, 99, 5000]] * 4)
    losses(ingot, trainer, "--data", save(ingot, x=good, labels=labels), "--steps", "2")
    for column, value, rows in ((0, 4, 4), (1, 100, 100)):
        bad = good.copy()
        bad[2, column] = value
        ingot.check_error(
            [trainer, "--data", save(ingot, x=bad, labels=labels), "--steps", "1"], 3, "sample 2", f"of {rows} rows"
        )


@case("labels to ignore are those that the loss says")
def ignored(ingot):
    model = write_model(ingot, LINEAR, w=(3, 4))
    source = np.random.default_rng(1)
    x = source.standard_normal((6, 3)).astype(np.float32)
    labels = np.array([0, 255, 2, 3, 255, 1])
    want = None
    for number, loss in ((-100, "cross-entropy"), (255, "cross-entropy:ignore=255"), (-1, "cross-entropy:1:ignore=-1"),
                         (0, "cross-entropy:1,ignore=0")):  # fmt: skip
        trainer = ingot.compile(model, "--loss", loss, "--optimizer", "sgd", "--batch", "3", "--metrics", "accuracy,f1")
        # Where a class is ignored, no label is of it.
        own = np.where(labels == 255, number, np.where(labels == 0, 1, labels) if number == 0 else labels)
        data = save(ingot, x=x, labels=own)
        steps, evaluations = ingot.train(
            trainer, "--data", data, "--eval-data", data, "--no-shuffle", "--steps", "2", "--lr", "0.1"
        )
        kept = own != number
        scores = x[:3] @ numpy_helper.to_array(onnx.load(model).graph.initializer[0])
        logs = scores - np.log(np.exp(scores).sum(1, keepdims=True))
        first = -np.mean([logs[i, own[i]] for i in range(3) if kept[i]])
        check(abs(steps[0]["loss"] - first) < 1e-5, f"{loss}: {steps[0]['loss']} instead of {first}")
        if number != 0:
            got = [s["loss"] for s in steps], evaluations[-1]["eval_loss"], evaluations[-1]["eval_accuracy"]
            want = want or got
            check(got == want, f"{loss}: {got} instead of {want}")
    ingot.check_error([trainer, "--data", save(ingot, x=x, labels=labels), "--steps", "1"], 3, "255", "outside 0 to 3")
    for bad in ("ignore=x", "ignore="):
        flags = ["--batch", "3", "--loss", "cross-entropy:" + bad]
        ingot.check_error([ingot.bin / "ingotc", model, "-o", ingot.path("t"), *flags], 2, "ignore")


@case("the ignore_index of a loss in the model is the label that is ignored")
def ignored_in_model(ingot):
    model = write_model(ingot, LOSS, w=(3, 4))
    trainer = ingot.compile(model, "--loss", "output:loss", "--optimizer", "sgd", "--batch", "3")
    x = np.ones((3, 3), np.float32)
    losses(ingot, trainer, "--data", save(ingot, x=x, target=np.array([0, 255, 3])), "--steps", "1")
    for bad in (4, -1, -100):
        data = save(ingot, x=x, target=np.array([0, bad, 3]))
        ingot.check_error([trainer, "--data", data, "--steps", "1"], 3, f"label {bad}", "outside 0 to 3")


@case("classes of folders are found by their names")
def class_names(ingot):
    trainer, (folder, _) = picture_trainer(ingot, "--batch", "8"), write_pictures(ingot)
    flags = ["--input", RECIPE, "--seed", "1"]
    exported, saved, log = ingot.path("m.onnx"), ingot.path("ck"), ingot.path("log.jsonl")
    run = [trainer, "--data", folder, "--eval-data", folder, *flags, "--epochs", "1"]
    text = ingot.succeed([*run, "--export", exported, "--save", saved, "--log", log]).err
    check("classes: 0 class0, 1 class1, 2 class2, 3 class3" in text, f"not printed: {text}")
    names = ["class0", "class1", "class2", "class3"]
    check(json.loads(log.read_text().splitlines()[0])["classes"] == names, "not in the log")
    checkpoint = next(saved.glob("step-*/checkpoint.json"))
    check(json.loads(checkpoint.read_text())["settings"]["classes"] == names, "not in the checkpoint")
    model = onnx.load(exported)
    onnx.checker.check_model(model)
    check({p.key: p.value for p in model.metadata_props}["classes"] == json.dumps(names, separators=(",", ":")), "ONNX")
    check("classes: 0 class0" in ingot.succeed([ingot.bin / "ingot-data", "inspect", folder]).out, "inspect")

    # A class that evaluation lacks shifts no label; nor does an empty one.
    def accuracy(data, *more):
        rows = ingot.train(trainer, "--eval-data", data, *flags[:2], "--resume", saved, "--evaluate", *more)[1]
        return rows[-1]["eval_accuracy"]

    parts = {}
    for name in names:
        parts[name] = ingot.path("one")
        shutil.copytree(folder / name, parts[name] / name)
    whole = accuracy(folder)
    check(abs(np.mean([accuracy(part) for part in parts.values()]) - whole) < 1e-6, "labels are shifted")
    (parts["class3"] / "class1").mkdir()
    (parts["class3"] / "aaa").mkdir()
    accuracy(parts["class3"])
    shutil.copytree(folder / "class0", parts["class0"] / "stranger")
    ingot.check_error(
        [trainer, "--eval-data", parts["class0"], *flags[:2], "--resume", saved, "--evaluate"],
        3,
        "stranger",
        "not one of the classes",
    )
    # Training needs all: of another run, or empty, is an error.
    lacking = ingot.path("lacking")
    shutil.copytree(folder, lacking)
    (lacking / "class1").rename(lacking / "other")
    more = [trainer, "--data", lacking, *flags[:2], "--resume", saved, "--epochs", "2"]
    ingot.check_error(more, 3, "other", "class1")
    (lacking / "aaa").mkdir()
    ingot.check_error([trainer, "--data", lacking, *flags, "--epochs", "1"], 3, "aaa", "the class has no pictures")
    # The exported model knows its classes when it is compiled again.
    again = ingot.compile(exported, "--loss", "cross-entropy", "--optimizer", "sgd", "--batch", "8")
    rows = ingot.train(again, "--eval-data", parts["class3"], *flags[:2], "--steps", "0")[1]
    check(rows[-1]["eval_accuracy"] == accuracy(parts["class3"]), "the model's own classes")


@case("archives that webdataset reads")
def webdataset(ingot):
    model = write_model(ingot, LINEAR, w=(3, 4))
    trainer = ingot.compile(model, "--loss", "cross-entropy", "--optimizer", "sgd", "--batch", "2")
    source = np.random.default_rng(2)
    good = []
    for i in range(4):
        array = source.standard_normal(3).astype(np.float32)
        good += [(f"{i}.x.npy", npy(array)), (f"{i}.cls", str(i).encode())]

    def write(name, members):
        path = ingot.path(name)
        with tarfile.open(path, "w", format=tarfile.GNU_FORMAT) as tar:
            for member, content in members:
                add(tar, member, content)
        return path

    plain = write("good.tar", good)
    want = losses(ingot, trainer, "--data", plain, "--no-shuffle", "--steps", "2")
    zipped = ingot.path("good.tar.gz")
    content = plain.read_bytes()
    zipped.write_bytes(gzip.compress(content[:1000]) + gzip.compress(content[1000:]))
    capitals = write("capitals.tar", [(n.split(".")[0] + "." + n.split(".", 1)[1].upper(), b) for n, b in good])
    apple = write("apple.tar", [pair for n, b in good for pair in (("._" + n, b"attributes"), (n, b))])
    for path in (zipped, capitals, apple):
        got = losses(ingot, trainer, "--data", path, "--no-shuffle", "--steps", "2")
        check(got == want, f"{path.name}: {got} instead of {want}")
    zipped.write_bytes(zipped.read_bytes()[:-20])
    ingot.check_error([trainer, "--data", zipped, "--steps", "1"], 3, "truncated")
    twice = write("twice.tar", good[:2] + good[1:])
    ingot.check_error([trainer, "--data", twice, "--steps", "1"], 3, "0.cls", "twice")
    other = ingot.path("d.xyz")
    other.write_text("what is it?")
    result = ingot.check_error([trainer, "--data", other, "--steps", "1"], 3, "no kind of file")
    check(all(kind in result.err for kind in (".npz", ".tar", ".jsonl", ".arrow", ".bin", "gzip")), result.err)


@case("archives and objects with a name twice are refused")
def twice(ingot):
    model = write_model(ingot, LINEAR, w=(3, 4))
    trainer = ingot.compile(model, "--loss", "cross-entropy", "--optimizer", "sgd", "--batch", "2")
    archive = ingot.path("a.npz")
    with zipfile.ZipFile(archive, "w") as zipped:
        for name, array in (("x", np.zeros((2, 3), np.float32)), ("labels", np.zeros(2, np.int64)),
                            ("labels", np.ones(2, np.int64))):  # fmt: skip
            zipped.writestr(name + ".npy", npy(array))
    ingot.check_error([trainer, "--data", archive, "--steps", "1"], 3, "labels", "two arrays")
    lines = ingot.path("a.jsonl")
    lines.write_text('{"x": [1, 2, 3], "labels": 0}\n{"x": [1, 2, 3], "labels": 0, "labels": 1}\n')
    ingot.check_error([trainer, "--data", lines, "--no-shuffle", "--steps", "1"], 3, "'labels' twice")


@case("ingot-data replaces no input")
def own_input(ingot):
    tool, source = ingot.bin / "ingot-data", HERE.parents[1] / "docs/examples/digits/train.npz"
    data = ingot.path("t.npz")
    shutil.copy(source, data)
    os.symlink(data, data.with_name("link.npz"))
    for output in (data, data.with_name("link.npz")):
        ingot.check_error([tool, "convert", data, "--field", "labels", "-o", output], 2, "is an input")
    check(data.read_bytes() == source.read_bytes(), "the input is changed")
    start = ingot.path("s")
    ingot.succeed([tool, "shard", data, "-o", start, "--samples", "500"])
    shards = sorted(start.parent.glob("s-*.tar"))
    before = [path.read_bytes() for path in shards]
    ingot.check_error([tool, "shard", *shards, "-o", start, "--samples", "100"], 2, "is an input")
    os.link(shards[1], start.with_name("other-000007.tar"))
    ingot.check_error([tool, "shard", *shards, "-o", start.with_name("other"), "--samples", "100"], 2, "is an input")
    check([path.read_bytes() for path in shards] == before, "the shards are changed")
    precious = ingot.path("precious")
    precious.write_text("precious")
    os.symlink(precious, str(shards[0]) + ".index")
    ingot.succeed([tool, "index", shards[0]])
    check(precious.read_text() == "precious", "the index follows a link")
    lines = ingot.path("a.jsonl")
    lines.write_text('{"' + "k" * 70000 + '": [1, 5]}\n')
    ingot.check_error([tool, "convert", lines, "-o", ingot.path("a.npz")], 3, "longer than an archive can hold")
