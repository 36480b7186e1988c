#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times the way from files to the step, against PyTorch's loaders where they have the same.

  test/bench/data.py [pictures tokens wait packing index]

`pictures`: images/s of a folder of JPEG files, of about 500 x 375, cut at random to 224 x 224 and flipped, by a
trainer whose step does next to nothing, by DataLoader with torchvision's transforms, and by libjpeg-turbo, which
decodes them whole in a process for each processor; the same of an archive against the package webdataset. `tokens`:
tokens/s from .bin and .arrow, likewise. `wait`: the part of the steps of the models of tools/bench that is spent
waiting for data, of files that are not in the page cache. `packing`: tokens/s of packed rows and of a row for each
text, whose lengths are log-normal. `index`: the time to open a sparse archive of 100 GB with its index.

Needs a Python with torch, torchvision, webdataset and pyarrow. Rounds take turns; figures are medians.
"""

import concurrent.futures
import io
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time

import bench
import numpy as np
import onnx
import onnx.parser
from onnx import numpy_helper

SIDE, BATCH, WORKERS = 224, 32, 2
PICTURES = f"""<ir_version: 8, opset_import: ["": 18]>
g (float[n,3,{SIDE},{SIDE}] image) => (float[n,8] logits) {{
  mean = ReduceMean<keepdims=0>(image, axes)
  logits = MatMul(mean, w)
}}"""
TOKENS = """<ir_version: 8, opset_import: ["": 18]>
g (int64[n,1024] ids) => (float loss) {
  values = Cast<to=1>(ids)
  mean = ReduceMean<keepdims=0>(values)
  loss = Mul(mean, w)
}"""
RECIPE = f"image=decode,random-resized-crop:{SIDE},flip,normalize:imagenet"


def write_pictures(folder, count):
    """JPEG files of photographs' sizes, smooth shapes and some noise as cameras have it; the same in an archive."""
    from PIL import Image

    source = np.random.default_rng(1)
    with tarfile.open(folder / "pictures.tar", "w") as tar:
        for i in range(count):
            width, height = int(source.normal(500, 30)), int(source.normal(375, 30))
            coarse = source.integers(0, 255, (12, 16, 3), dtype=np.uint8)
            smooth = np.asarray(Image.fromarray(coarse).resize((width, height), Image.BICUBIC), np.int16)
            noise = source.normal(0, 8, smooth.shape)
            picture = Image.fromarray(np.clip(smooth + noise, 0, 255).astype(np.uint8))
            content = io.BytesIO()
            picture.save(content, "JPEG", quality=90)
            place = folder / f"pictures/class{i % 8}"
            place.mkdir(parents=True, exist_ok=True)
            (place / f"{i:05d}.jpg").write_bytes(content.getvalue())
            for name, part in ((f"{i:05d}.jpg", content.getvalue()), (f"{i:05d}.cls", str(i % 8).encode())):
                member = tarfile.TarInfo(name)
                member.size = len(part)
                tar.addfile(member, io.BytesIO(part))


def compile_model(options, text, arrays, path, *flags):
    model = onnx.parser.parse_model(text)
    for name, array in arrays.items():
        model.graph.initializer.append(numpy_helper.from_array(array, name))
    onnx.save(model, f"{path}.onnx")
    bench.run([f"{options.bin}/ingotc", f"{path}.onnx", "-o", str(path), "--optimizer", "sgd", *flags])
    return str(path)


def train(trainer, *flags, skip=2):
    """The lines of the log after the first ones."""
    with tempfile.NamedTemporaryFile(suffix=".jsonl") as log:
        bench.run([trainer, *map(str, flags), "--log", log.name])
        rows = [json.loads(line) for line in open(log.name)]
    return [row for row in rows if "step_ms" in row][skip:]


def rate(rows, per_step):
    return per_step * len(rows) / sum(row["step_ms"] for row in rows) * 1e3


def time_loader(loader, batches):
    """Images/s of an iterator after its first batches."""
    images, begin = 0, None
    for number, batch in enumerate(loader):
        if number == 2:
            begin = time.perf_counter()
        elif begin:
            images += len(batch[0])
        if number == batches:
            break
    return images / (time.perf_counter() - begin)


def make_transform():
    from torchvision import transforms

    return transforms.Compose(
        [
            transforms.RandomResizedCrop(SIDE),
            transforms.RandomHorizontalFlip(),
            transforms.ToTensor(),
            transforms.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
        ]
    )


def time_torch(folder, batches):
    import torch
    from torchvision import datasets

    data = datasets.ImageFolder(str(folder / "pictures"), make_transform())
    return time_loader(torch.utils.data.DataLoader(data, BATCH, shuffle=True, num_workers=WORKERS), batches)


def time_webdataset(folder, batches):
    import webdataset

    # An archive for each worker.
    shards = [str(folder / "pictures.tar")] * WORKERS
    data = webdataset.WebDataset(shards, shardshuffle=False).shuffle(256).decode("pil").to_tuple("jpg", "cls")
    data = data.map_tuple(make_transform(), int).batched(BATCH)
    return time_loader(webdataset.WebLoader(data, batch_size=None, num_workers=WORKERS), batches)


def decode_all(paths):
    from PIL import Image

    begin = time.process_time()
    for path in paths:
        Image.open(path).load()
    return time.process_time() - begin


def time_turbo(folder):
    """libjpeg-turbo, in a process for each processor."""
    paths = sorted((folder / "pictures").glob("*/*.jpg"))[:600]
    count = len(os.sched_getaffinity(0))
    with concurrent.futures.ProcessPoolExecutor(count) as pool:
        list(pool.map(decode_all, [paths[:8]] * count))
        begin = time.perf_counter()
        list(pool.map(decode_all, [paths[i::count] for i in range(count)]))
    return len(paths) / (time.perf_counter() - begin)


def bench_pictures(options, folder):
    from PIL import features

    write_pictures(folder, 640)
    weights = {"axes": np.array([2, 3]), "w": np.zeros((3, 8), np.float32)}
    flags = ["--loss", "cross-entropy", "--batch", str(BATCH)]
    trainer = compile_model(options, PICTURES, weights, folder / "pictures-trainer", *flags)
    flags = ["--input", RECIPE, "--steps", 120, "--workers", WORKERS]

    def time_own(name):
        return rate(train(trainer, "--data", folder / name, *flags, skip=20), BATCH)

    sides = {
        "folder": lambda: time_own("pictures"),
        "archive": lambda: time_own("pictures.tar"),
        "DataLoader": lambda: time_torch(folder, 20),
        "webdataset": lambda: time_webdataset(folder, 18),
        f"libjpeg-turbo {features.version('libjpeg_turbo')}, whole pictures": lambda: time_turbo(folder),
    }
    return take_turns(options, sides, "images/s")


def take_turns(options, sides, unit):
    samples = {name: [] for name in sides}
    for _ in range(options.rounds):
        for name, measure in sides.items():
            samples[name].append(measure())
    for name, values in samples.items():
        each = ", ".join(f"{value:.4g}" for value in values)
        print(f"| {name} | {statistics.median(values):.4g} {unit} | {each} |", flush=True)
    return {name: statistics.median(values) for name, values in samples.items()}


def bench_tokens(options, folder):
    import pyarrow

    count, length = 1 << 24, 1024
    tokens = np.random.default_rng(2).integers(0, 50257, count + 1).astype(np.uint16)
    head = np.zeros(256, np.int32)
    head[:3] = 20240520, 1, len(tokens)
    (folder / "tokens.bin").write_bytes(head.tobytes() + tokens.tobytes())
    rows = pyarrow.array(tokens[:count].astype(np.int32).reshape(-1, length).tolist(), pyarrow.list_(pyarrow.int32()))
    table = pyarrow.table({"ids": rows})
    with pyarrow.OSFile(str(folder / "tokens.arrow"), "wb") as file, pyarrow.ipc.new_stream(file, table.schema) as out:
        out.write_table(table, max_chunksize=1000)
    arrays = {"w": np.array(0, np.float32)}
    trainer = compile_model(options, TOKENS, arrays, folder / "tokens-trainer", "--batch", "64")
    per_step = 64 * length
    return take_turns(
        options,
        {
            kind: lambda kind=kind: rate(train(trainer, "--data", folder / f"tokens.{kind}", "--steps", 400), per_step)
            for kind in ("bin", "arrow")
        },
        "tokens/s",
    )


def drop_cache(path):
    """Asks the system to forget the pages of a file."""
    os.sync()
    files = path.rglob("*") if path.is_dir() else [path]
    for file in files:
        if file.is_file():
            with file.open("rb") as stream:
                os.posix_fadvise(stream.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def write_model_data(name, folder):
    """Files of the kind that one trains such a model with, and how its input is made of them."""
    source = np.random.default_rng(3)
    if name == "mlp":
        path = folder / "mlp.npz"
        np.savez(path, x=source.standard_normal((60000, 784), np.float32), labels=source.integers(0, 10, 60000))
        return path, []
    if name == "resnet18":
        from PIL import Image

        path = folder / "resnet18.tar"
        with tarfile.open(path, "w") as tar:
            for i in range(4000):
                content = io.BytesIO()
                Image.fromarray(source.integers(0, 255, (36, 36, 3), dtype=np.uint8)).save(content, "JPEG", quality=90)
                for member_name, part in ((f"{i:05d}.jpg", content.getvalue()), (f"{i:05d}.cls", b"%d" % (i % 10))):
                    member = tarfile.TarInfo(member_name)
                    member.size = len(part)
                    tar.addfile(member, io.BytesIO(part))
        return path, ["--input", "x=from:jpg,decode,crop:32,flip,normalize:imagenet"]
    path = folder / f"{name}.bin"
    vocabulary = 512 if name == "gpt-mini" else 50257
    tokens = source.integers(0, vocabulary, 1 << 23).astype(np.uint16)
    head = np.zeros(256, np.int32)
    head[:3] = 20240520, 1, len(tokens)
    path.write_bytes(head.tobytes() + tokens.tobytes())
    return path, []


def bench_wait(options, folder):
    tester = bench.Bench(options)
    shares = {}
    steps = {"mlp": 6000, "resnet18": 30, "gpt-mini": 20, "gpt2": 12}
    for name in bench.MODELS:
        tester.export(name)
        trainer = str(folder / name)
        bench.run([f"{options.bin}/ingotc", tester.path(name + ".onnx"), "-o", trainer, "--loss", "cross-entropy"])
        path, flags = write_model_data(name, folder)
        values = []
        for _ in range(options.rounds):
            drop_cache(path)
            rows = train(trainer, "--data", path, *flags, "--steps", steps[name], "--workers", "auto")
            values.append(sum(row["data_wait_ms"] for row in rows) / sum(row["step_ms"] for row in rows))
        median = statistics.median(row["step_ms"] for row in rows)
        shares[name] = statistics.median(values)
        each = ", ".join(f"{100 * value:.3f}" for value in values)
        print(f"| {name} | {path.suffix} | {100 * shares[name]:.3f} % of {median:.4g} ms | {each} |", flush=True)
    return shares


def bench_packing(options, folder):
    source = np.random.default_rng(5)
    lengths = np.clip(np.exp(source.normal(np.log(90), 0.9, 3000)).astype(int), 2, 512)
    texts = folder / "texts.jsonl"
    with texts.open("w") as file:
        for length in lengths:
            file.write(json.dumps({"text": "".join(map(chr, source.integers(32, 126, length)))}) + "\n")
    trainer = str(folder / "packing-trainer")
    model = os.path.join(bench.ROOT, "docs/examples/packing/packing.onnx")
    bench.run([f"{options.bin}/ingotc", model, "-o", trainer, "--loss", "cross-entropy", "--batch", "4"])
    inputs = ["positions=positions-of:tokens", "mask=block-diagonal:tokens,causal", "labels=next-of:tokens"]

    def measure(step):
        recipes = [word for text in [f"tokens=bytes,{step}", *inputs] for word in ("--input", text)]
        rows = train(trainer, "--data", texts, *recipes, "--steps", 20)
        return statistics.median(row["tokens_per_s"] for row in rows)

    return take_turns(options, {step: lambda step=step: measure(step) for step in ("pack", "bucket")}, "tokens/s")


def write_sparse_tar(path, samples, bytes_each):
    """Members of zeros that take no room on the disk."""
    with path.open("wb") as file:
        at = 0
        for i in range(samples):
            for name, size, content in ((f"{i:06d}.cls", 1, b"1"), (f"{i:06d}.txt", bytes_each, b"")):
                member = tarfile.TarInfo(name)
                member.size = size
                file.seek(at)
                file.write(member.tobuf() + content)
                at += 512 + (size + 511) // 512 * 512
        file.truncate(at + 1024)
    return at


def bench_index(options, folder):
    path = folder / "large.tar"
    size = write_sparse_tar(path, 10000, 10_000_000)
    tool = f"{options.bin}/ingot-data"

    def open_archive():
        begin = time.perf_counter()
        subprocess.run([tool, "inspect", str(path)], check=True, stdout=subprocess.DEVNULL)
        return time.perf_counter() - begin

    without = open_archive()
    subprocess.run([tool, "index", str(path)], check=True, stdout=subprocess.DEVNULL)
    times = [open_archive() for _ in range(options.rounds)]
    print(f"| {size / 1e9:.1f} GB, 20,000 members | {statistics.median(times):.3f} s | {without:.3f} s without |")
    return {"indexed": statistics.median(times), "without": without}


PARTS = {
    "pictures": bench_pictures, "tokens": bench_tokens, "wait": bench_wait, "packing": bench_packing,
    "index": bench_index,
}  # fmt: skip


def main():
    parser = bench.make_parser(__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", choices=[*PARTS, []], help=" ".join(PARTS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--scratch", help="a folder on the disk that files are read from")
    parser.add_argument("--python", default=sys.executable, help="a Python that has PyTorch")
    options = parser.parse_args()
    results = {}
    for part in options.parts or PARTS:
        with tempfile.TemporaryDirectory(prefix="ingot-data-", dir=options.scratch) as scratch:
            print(f"# {part}", flush=True)
            results[part] = PARTS[part](options, pathlib.Path(scratch))
    bench.write_json(options.json, results)


if __name__ == "__main__":
    main()
