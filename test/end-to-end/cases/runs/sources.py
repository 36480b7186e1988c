# SPDX-License-Identifier: Apache-2.0
"""Data from every kind of file: the same samples give the same steps."""

import io
import json
import os
import struct
import subprocess
import tarfile
import time

import numpy as np
import onnx
import onnx.parser
from harness import HERE, case, check, golden
from launch import run_ranks
from onnx import numpy_helper
from pictures import png

PICTURES = """<ir_version: 8, opset_import: ["": 18]>
g (float[n,3,8,8] image) => (float[n,4] logits) {
  flat = Flatten(image)
  logits = MatMul(flat, w)
}"""
TOKENS = """<ir_version: 8, opset_import: ["": 18]>
g (int64[n,16] ids) => (float[n,16,32] logits) {
  e = Gather(table, ids)
  logits = MatMul(e, w)
}"""
RECIPE = "image=decode,resize:10,crop:8,flip,trivial-augment,color-jitter:hue=0.1:contrast=0.3,normalize:0.5:0.5"
SEEDS = HERE.parent / "fuzz/readers/seeds"


def write_pictures(ingot, count=48):
    """A folder of pictures of 4 classes and an archive of the same, in one order."""
    source = np.random.default_rng(5)
    folder = ingot.path("pictures")
    archive = folder.parent / "pictures.tar"
    with tarfile.open(archive, "w") as tar:
        for i in range(count):
            label = i * 4 // count
            picture = png(source.integers(0, 255, (12, 14, 3), dtype=np.uint8))
            (folder / f"class{label}").mkdir(parents=True, exist_ok=True)
            (folder / f"class{label}/{i:04d}.png").write_bytes(picture)
            for name, content in ((f"{i:04d}.png", picture), (f"{i:04d}.cls", str(label).encode())):
                member = tarfile.TarInfo(name)
                member.size = len(content)
                tar.addfile(member, io.BytesIO(content))
    return folder, archive


def write_model(ingot, text, **shapes):
    model = onnx.parser.parse_model(text)
    source = np.random.default_rng(3)
    for name, shape in shapes.items():
        array = (source.standard_normal(shape) * 0.1).astype(np.float32)
        model.graph.initializer.append(numpy_helper.from_array(array, name))
    path = ingot.path("model.onnx")
    onnx.save(model, path)
    return path


def picture_trainer(ingot, *flags):
    key = "pictures" + "".join(flags)
    if key not in ingot.trainers:
        path = write_model(ingot, PICTURES, w=(192, 4))
        ingot.trainers[key] = ingot.compile(path, "--loss", "cross-entropy", "--optimizer", "sgd", *flags)
    return ingot.trainers[key]


def losses(ingot, trainer, *flags):
    return [row["loss"] for row in ingot.train(trainer, *flags)[0]]


@case("pictures-any-workers")
def any_workers(ingot):
    """Folders and archives, with any number of threads: the same losses."""
    trainer, (folder, archive) = picture_trainer(ingot, "--batch", "8"), write_pictures(ingot)
    flags = ["--input", RECIPE, "--epochs", "3", "--seed", "4"]
    want = losses(ingot, trainer, "--data", folder, *flags, "--workers", "1")
    check(len(want) == 18 and len(set(want)) == 18, f"{want}")
    for workers in ("0", "2", "4", "auto"):
        got = losses(ingot, trainer, "--data", archive, *flags, "--workers", workers)
        check(got == want, f"{workers} workers: {got} instead of {want}")
    steps, _ = ingot.train(trainer, "--data", folder, *flags)
    check({"data_wait_ms", "decode_ms", "queue"} <= steps[-1].keys(), f"{steps[-1]}")
    other = losses(ingot, trainer, "--data", folder, *flags[:-1], "5")
    check(other != want, "another seed changes nothing")


@case("pictures-any-ranks")
def any_ranks(ingot):
    """Ranks take parts of the same batches, and a run resumes on another number of them."""
    (_, archive), save = write_pictures(ingot), ingot.path("save")
    one = picture_trainer(ingot, "--batch", "8", "--data-parallel")
    two = picture_trainer(ingot, "--batch", "4", "--data-parallel")
    flags = ["--data", archive, "--input", RECIPE, "--seed", "4"]
    want = losses(ingot, one, *flags, "--steps", "15")
    got = [row["loss"] for row in run_ranks(ingot, 2, two, *flags, "--steps", "15")[0]]
    check(np.allclose(got, want, rtol=1e-5), f"{got} instead of {want}")
    # Step 4 of 8 samples, then steps of 4 from the next sample on.
    ingot.succeed([one, *flags, "--steps", "4", "--save", save])
    resumed = ingot.succeed([two, *flags, "--steps", "8", "--resume", save, "--log", ingot.path("log")])
    check("step 5 continues at sample 33 of epoch 1" in resumed.err, resumed.err)
    info = json.loads((save / (save / "latest").read_text().split()[0] / "checkpoint.json").read_text())
    check(info["settings"]["epoch_sample"] == 32, f"{info}")


@case("pictures-skip-bad")
def skip_bad(ingot):
    """A broken picture is named; some may be left out."""
    trainer, (folder, _) = picture_trainer(ingot, "--batch", "8"), write_pictures(ingot)
    broken = folder / "class1/0013.png"
    broken.write_bytes(broken.read_bytes()[:60])
    run = [trainer, "--data", folder, "--input", RECIPE, "--epochs", "1"]
    ingot.check_error(run, 3, "class1/0013.png", "damaged")
    result = ingot.succeed([*run, "--skip-bad", "1"])
    check("leaves out" in result.err and "0013.png" in result.err, result.err)
    (folder / "class1/0014.png").write_bytes(b"")
    ingot.check_error([*run, "--skip-bad", "1"], 3, "class1/001")
    ingot.check_error([ingot.bin / "ingot-data", "verify", folder], 3, "2 problems")


@case("tokens-any-layout")
def layouts(ingot):
    """The same tokens in four layouts, compressed, in JSON, and by ingot-data."""
    path = write_model(ingot, TOKENS, table=(32, 8), w=(8, 32))
    trainer = ingot.compile(path, "--loss", "cross-entropy", "--batch", "4")
    tokens = np.random.default_rng(1).integers(0, 32, 16 * 40 + 1)
    folder = ingot.path("t").parent

    def write(name, content):
        (folder / name).write_bytes(content)
        return folder / name

    head = struct.pack("<3i", 20240520, 1, len(tokens)) + bytes(253 * 4)
    wide = struct.pack("<3i", 20240801, 7, len(tokens)) + bytes(253 * 4)
    narrow = tokens.astype("<u2").tobytes()
    llmc = write("llmc.bin", head + narrow)
    write("pair.bin", narrow)
    index = b"MMIDIDX\0\0" + struct.pack("<QBQQiqqq", 1, 8, 1, 2, len(tokens), 0, 0, 1)
    write("pair.idx", index)
    windows = []
    for start in range(0, 640, 16):
        ids, labels = tokens[start : start + 16], tokens[start + 1 : start + 17]
        windows.append({"ids": ids.tolist(), "labels": labels.tolist()})
    lines = write("windows.jsonl", "".join(json.dumps(line) + "\n" for line in windows).encode())
    parts = [
        write("wide.bin", wide + tokens.astype("<u4").tobytes()),
        f"{write('plain.bin.raw', narrow)}:u16",
        folder / "pair.bin",
    ]
    archive, arrays = folder / "windows.tar", folder / "windows.npz"
    ingot.succeed([ingot.bin / "ingot-data", "convert", lines, "-o", archive])
    ingot.succeed([ingot.bin / "ingot-data", "convert", archive, "-o", arrays])
    ingot.succeed([ingot.bin / "ingot-data", "index", archive])
    fixed = ["--token-offsets", "fixed"]
    want = losses(ingot, trainer, "--data", llmc, "--epochs", "2", *fixed)
    whole = [(data, []) for data in (lines, archive, arrays)]
    for data, offsets in [*((data, fixed) for data in parts), *whole]:
        got = losses(ingot, trainer, "--data", data, "--epochs", "2", *offsets)
        check(got == want, f"{data}: {got[:3]} instead of {want[:3]}")
    description = ingot.succeed([ingot.bin / "ingot-data", "inspect", archive]).out
    check("tar, 40 samples" in description and "ids: i64 [16]" in description, description)


@case("data-arrow")
def arrow(ingot):
    """What `datasets` writes: a stream of record batches, the file format, and Parquet."""
    path = write_model(ingot, TOKENS, table=(32, 8), w=(8, 32))
    trainer = ingot.compile(path, "--loss", "cross-entropy", "--batch", "4")
    rows = np.arange(12 * 16).reshape(12, 16) * 7 % 32
    arrays = ingot.path("rows.npz")
    np.savez(arrays, ids=rows, labels=(rows * 3 + 1) % 32)
    want = losses(ingot, trainer, "--data", arrays, "--epochs", "2")
    for name in ("arrow/stream", "arrow/file", "parquet/tokens"):
        got = losses(ingot, trainer, "--data", SEEDS / name, "--epochs", "2")
        check(got == want, f"{name}: {got} instead of {want}")


@case("data-mixtures")
def mixtures(ingot):
    """Sources in proportion, lists and patterns."""
    g = golden("mlp")
    trainer = ingot.compile(g.model, *g.compile_flags("adamw"))
    folder = ingot.path("a").parent
    with np.load(g.data) as data:
        count = len(data["labels"])
        for i in range(3):
            np.savez(folder / f"part-{i}.npz", **{k: data[k] for k in data})
    mixed = ["--data", f"{folder}/part-0.npz:0.5", f"{folder}/part-[12].npz:0.5"]
    result = ingot.succeed([trainer, *mixed, "--epochs", "1"])
    check(f"an epoch takes {count} of {count}, {count} of {2 * count} samples" in result.err, result.err)
    (folder / "list").write_text("# parts\npart-0.npz\npart-2.npz\n")
    listed = losses(ingot, trainer, "--data", f"@{folder}/list", "--epochs", "1")
    ranged = losses(ingot, trainer, "--data", f"{folder}/part-{{1..2}}.npz", "--epochs", "1")
    check(listed == ranged, "lists and ranges differ")
    run = [trainer, "--epochs", "1", "--data"]
    ingot.check_error([*run, f"{folder}/part-0.npz:0.5", f"{folder}/part-1.npz"], 2, "--data", "weight")
    ingot.check_error([*run, f"{folder}/part-0.npz:0"], 2, "--data", "not above 0")
    ingot.check_error([*run, f"{folder}/no-*.npz"], 3, "no file matches")
    ingot.check_error([*run, f"{folder}/gone.npz"], 3, "gone.npz")


@case("recipes-that-do-not-fit")
def recipes(ingot):
    trainer, (folder, _) = picture_trainer(ingot, "--batch", "8"), write_pictures(ingot, 8)
    run = [trainer, "--data", folder, "--epochs", "1"]
    for recipe, *words in (
        ("image", "not NAME=STEPS"),
        ("picture=decode", "no input 'picture'"),
        ("image=decod", "'decod' is not a step"),
        ("image=decode,crop:9", "9 x 9", "8 x 8"),
        ("labels=decode", "no picture"),
    ):
        ingot.check_error([*run, "--input", recipe], 2, "--input", *words)
    ingot.check_error([*run, "--input", "image=decode"], 3, ".png: the picture has 12 x 14 pixels")
    ingot.check_error([*run, "--input", "image=from:nothing,decode"], 3, "nothing: no such field")
    ingot.check_error(run, 3, "text or a picture")
    ingot.check_error([*run, "--workers", "many"], 2, "--workers")


@case("pictures-cache")
def cached(ingot):
    """Pictures from the folder of --cache give the same losses, and damaged ones are made again."""
    trainer, (folder, _) = picture_trainer(ingot, "--batch", "8"), write_pictures(ingot)
    flags = ["--data", folder, "--input", RECIPE, "--epochs", "3", "--seed", "4"]
    want, kept = losses(ingot, trainer, *flags), ingot.path("kept")
    check(losses(ingot, trainer, *flags, "--cache", kept) == want, "the cache changes losses")
    files = sorted(kept.rglob("*.picture"))
    check(len(files) == 48, f"{len(files)} pictures are kept")
    files[0].write_bytes(files[0].read_bytes()[:100])
    check(losses(ingot, trainer, *flags, "--cache", kept) == want, "a damaged picture changes losses")
    ingot.check_error([trainer, *flags, "--cache-mb", "5"], 2, "--cache")
    plan = json.loads(ingot.succeed([trainer, "--inspect=json"]).out)
    ahead = plan["data"]["bytes"]
    check(ahead == 8 * 8 * (3 * 64 * 4 + 8), f"{ahead} bytes ahead of the step")


@case("pictures-mixed")
def mixed(ingot):
    """Mixup and cutmix: the same losses on any workers and ranks; evaluation mixes nothing."""
    folder, _ = write_pictures(ingot)
    path = write_model(ingot, PICTURES, w=(192, 4))
    build = ["--loss", "bce-with-logits", "--optimizer", "sgd", "--data-parallel"]
    one, two = (ingot.compile(path, *build, "--batch", n) for n in ("8", "4"))
    flags = ["--data", folder, "--input", "labels=one-hot,smooth:0.1", "--steps", "12", "--seed", "4"]
    plain = losses(ingot, one, *flags, "--input", RECIPE)
    for steps in ("mixup:0.5", "cutmix:1", "mixup:0.5,cutmix:1"):
        recipe = ["--input", f"{RECIPE},{steps}"]
        want = losses(ingot, one, *flags, *recipe, "--workers", "0")
        check(want != plain, f"{steps} changes nothing")
        check(losses(ingot, one, *flags, *recipe, "--workers", "4") == want, f"{steps}: other losses with workers")
        got = [row["loss"] for row in run_ranks(ingot, 2, two, *flags, *recipe)[0]]
        check(np.allclose(got, want, rtol=1e-5), f"{steps} on two ranks: {got} instead of {want}")
    pass_over = ["--steps", "0", "--eval-data", folder, "--input", "labels=one-hot"]
    results = [
        ingot.train(one, *pass_over, "--input", RECIPE + extra)[1][-1]["eval_loss"] for extra in ("", ",mixup:0.5")
    ]
    check(results[0] == results[1], f"evaluation is mixed: {results}")
    integers = picture_trainer(ingot, "--batch", "8")
    error = [integers, "--data", folder, "--epochs", "1", "--input", f"{RECIPE},mixup:0.5"]
    ingot.check_error(error, 2, "--input image", "as probabilities")


@case("data-truncated-while-read")
def truncated(ingot):
    """A file that becomes shorter ends the run with its name, not with a signal; --skip-bad goes on with the others."""
    path = write_model(ingot, TOKENS, table=(32, 8), w=(8, 32))
    trainer = ingot.compile(path, "--loss", "cross-entropy", "--batch", "4")
    rows = np.arange(4096 * 16).reshape(4096, 16) % 32
    folder = ingot.path("x").parent
    for skip, code in (("0", 3), ("1", 0)):
        log = folder / f"log{skip}"
        for name in ("a", "b"):
            np.savez(folder / f"{name}.npz", ids=rows, labels=rows)
        run = [trainer, "--data", folder / "a.npz", folder / "b.npz", "--log", log, "--skip-bad", skip, "--lr", "1e-5"]
        process = subprocess.Popen([str(w) for w in [*run, "--steps", "20000"]], stderr=subprocess.PIPE, text=True)
        while process.poll() is None and not (log.exists() and log.read_text().count("\n") > 20):
            time.sleep(0.01)
        os.truncate(folder / "a.npz", 40000)
        err = process.communicate(timeout=120)[1]
        check(process.returncode == code, f"exit {process.returncode}: {err}")
        check("a.npz: the file was truncated while it was read: it has 40000 of" in err, err)
