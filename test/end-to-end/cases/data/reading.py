# SPDX-License-Identifier: Apache-2.0
"""Tables, pipes, windows of tokens, and evaluations of a part of the data."""

import gzip
import json
import os
import subprocess
import sys

import numpy as np
from cases.data.checked import LINEAR, save, token_trainer
from cases.runs.sources import losses, write_model
from harness import case, check


def linear_trainer(ingot):
    if "linear" not in ingot.trainers:
        model = write_model(ingot, LINEAR, w=(3, 4))
        ingot.trainers["linear"] = ingot.compile(model, "--loss", "cross-entropy", "--optimizer", "sgd", "--batch", "2")
    return ingot.trainers["linear"]


def write_tokens(ingot, count, name="t.bin"):
    path = ingot.path(name)
    path.write_bytes(np.random.default_rng(4).integers(0, 32, count).astype("<u2").tobytes())
    return path


@case("tables of text are data")
def tables(ingot):
    trainer = linear_trainer(ingot)
    source = np.random.default_rng(3)
    x, labels = source.standard_normal((6, 3)).astype(np.float32), np.arange(6) % 4
    want = losses(ingot, trainer, "--data", save(ingot, x=x, labels=labels), "--no-shuffle", "--steps", "3")
    rows = [[*map(repr, map(float, row)), str(label)] for row, label in zip(x, labels, strict=True)]

    def write(name, separator, quote="", names=("a", "b", "labels", "c"), end="\n"):
        path = ingot.path(name)
        lines = [list(names)] + [[r[0], r[1], r[3], r[2]] for r in rows]
        text = end.join(separator.join(quote + cell + quote for cell in line) for line in lines) + end
        content = text.encode()
        path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
        return path

    for path in (
        write("a.csv", ","),
        write("a.tsv", "\t", end="\r\n"),
        write("A.CSV", ";", quote='"'),
        write("a.csv.gz", ",", names=('"a, with a comma"', '"two\nlines and a "" quote"', "cls", "c")),
    ):
        got = losses(ingot, trainer, "--data", path, "--no-shuffle", "--steps", "3")
        check(got == want, f"{path.name}: {got} instead of {want}")
    named = write("b.csv", ",", names=("a", "b", "kind", "c"))
    flags = ["--input", "labels=from:kind", "--steps", "1"]
    ingot.check_error([trainer, "--data", named, *flags], 3, "[N, 4]")
    # Tables with columns of text are whole, too.
    table = ingot.path("d.csv")
    table.write_text("a,text\n1,one\n2,two\n")
    ingot.succeed([ingot.bin / "ingot-data", "verify", table])
    check("*" not in ingot.succeed([ingot.bin / "ingot-data", "inspect", table]).out, "a field that is none")
    table = ingot.path("c.csv")
    for text, *words in (
        ("a,b,c,labels\n1,2,3\n", "3 cells"),
        ("a,b,c,labels\n1,x,3,0\n", "'x' in column 'b'"),
        ('a,b,c,labels\n1,"2,3,0\n', "a quote is not closed"),
        ("a,a,c,labels\n1,2,3,0\n", "two columns are named 'a'"),
        ("1,2,3,0\n1,2,3,0\n", "names of columns"),
        ("a,b,c,labels\n", "no lines of samples"),
    ):
        table.write_text(text)
        ingot.check_error([trainer, "--data", table, table, "--steps", "1"], 3, *words)


GENERATOR = """
import json, sys
import numpy as np
source = np.random.default_rng(7)
for i in range(12):
    sys.stdout.write(json.dumps({"x": source.standard_normal(3).tolist(), "labels": i % 4}) + "\\n")
    sys.stdout.flush()
"""


@case("frames of zstd from before its format was fixed are refused")
def old_zstd(ingot):
    """Trainers have no reader of them, whole files or parts."""
    text = b"a,b,c,labels\n1,2,3,0\n3,2,1,1\n"
    # A frame of one block that is stored: its size in a byte, and in the block's head.
    frame = b"\x28\xb5\x2f\xfd\x20" + bytes([len(text)]) + (len(text) << 3 | 1).to_bytes(3, "little") + text
    path = ingot.path("a.csv.zst")
    command = [linear_trainer(ingot), "--data", path, "--steps", "1"]
    path.write_bytes(frame)
    ingot.succeed(command)
    for version in (5, 6, 7):
        path.write_bytes(frame + bytes([0x20 + version]) + b"\xb5\x2f\xfd" + bytes(64))
        ingot.check_error(command, 3, path.name, "Version not supported")


@case("a generator feeds a trainer through a pipe")
def pipes(ingot):
    trainer = linear_trainer(ingot)
    lines = ingot.path("a.jsonl")
    lines.write_bytes(subprocess.run([sys.executable, "-c", GENERATOR], capture_output=True, check=True).stdout)
    flags = ["--epochs", "2", "--seed", "3"]
    want = losses(ingot, trainer, "--data", lines, *flags)

    def run(command, path, **kwargs):
        log = ingot.path("log.jsonl")
        result = subprocess.run([*command, "--data", path, *flags, "--log", log], timeout=60, **kwargs)
        check(result.returncode == 0, f"{path}: exit {result.returncode}")
        return [json.loads(line)["loss"] for line in log.read_text().splitlines()]

    with subprocess.Popen([sys.executable, "-c", GENERATOR], stdout=subprocess.PIPE) as generator:
        check(run([trainer], "-", stdin=generator.stdout) == want, "standard input")
    fifo = ingot.path("fifo")
    os.mkfifo(fifo)
    with subprocess.Popen([sys.executable, "-c", GENERATOR], stdout=subprocess.PIPE) as one:
        with subprocess.Popen(["sh", "-c", f"cat > '{fifo}'"], stdin=one.stdout):
            check(run([trainer], fifo) == want, "a FIFO")
    # Archives of arrays as well, and tokens with their type.
    arrays = save(ingot, x=np.ones((4, 3), np.float32), labels=np.arange(4))
    with arrays.open("rb") as content:
        piped = subprocess.run([trainer, "--data", "-", "--steps", "1"], stdin=content, timeout=60)
    check(piped.returncode == 0, "an archive")
    tokens = write_tokens(ingot, 400)
    with tokens.open("rb") as content:
        command = [token_trainer(ingot), "--data", "-:u16", "--steps", "1"]
        check(subprocess.run(command, stdin=content, timeout=60).returncode == 0, "tokens")
    empty = subprocess.run(
        [trainer, "--data", "-", "--steps", "1"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60
    )
    check(empty.returncode == 3 and "hint: " in empty.stderr, f"nothing: {empty.stderr}")


@case("windows of tokens move from epoch to epoch")
def offsets(ingot):
    trainer, tokens = token_trainer(ingot), write_tokens(ingot, 16 * 16 + 9)
    data = ["--data", f"{tokens}:u16", "--seed", "5"]
    epochs = {
        how: losses(ingot, trainer, *data, "--epochs", "3", "--lr", "0", *how.split())
        for how in ("", "--token-offsets fixed", "--token-offsets random", "--no-shuffle")
    }
    count = len(epochs[""]) // 3
    fixed, moved = epochs["--token-offsets fixed"], epochs["--token-offsets random"]
    check(epochs[""][:count] == fixed[:count], "the first epoch of the default")
    runs = (fixed, moved, epochs[""])
    sums = [[sum(run[i * count : i * count + count]) for i in range(3)] for run in runs]
    check(max(sums[0]) - min(sums[0]) < 1e-4, "fixed windows are the same in each epoch")
    for each in sums[1:]:
        check(len({round(s, 5) for s in each}) == 3, f"other windows are others in each epoch: {sums}")
    ordered = epochs["--no-shuffle"]
    check(ordered[:count] == ordered[count : 2 * count], "--no-shuffle moves windows")
    # Resuming continues with the same windows, and inherits the option.
    for how, want in (("", epochs[""]), ("--token-offsets random", moved)):
        saved = ingot.path("ck")
        first = ["--lr", "0", *how.split(), "--steps", str(count + 1), "--save", saved]
        ingot.succeed([trainer, *data, *first])
        rows = ingot.train(
            trainer, "--data", f"{tokens}:u16", "--resume", saved, "--steps", str(3 * count), log_from=count + 2
        )[0]
        check([row["loss"] for row in rows] == want[count + 1 :], f"resumed with {how}")
    ingot.check_error([trainer, *data, "--no-shuffle", "--token-offsets", "random"], 2, "--token-offsets")
    # Other samples begin where they begin.
    arrays = save(ingot, ids=np.zeros((4, 16), np.int64), labels=np.zeros((4, 16), np.int64))
    ingot.check_error([trainer, "--data", arrays, "--token-offsets", "random"], 2, "--token-offsets", "files of tokens")


@case("evaluations of a part of the data are spread over it")
def part_of_evaluation(ingot):
    trainer = linear_trainer(ingot)
    x = np.zeros((20, 3), np.float32)
    # One class of each half: the first batches alone would have one class.
    x[:10, 0] = x[10:, 1] = 1
    labels = np.repeat([0, 1], 10)
    data = save(ingot, x=x, labels=labels)
    flags = ["--eval-data", data, "--steps", "0"]
    whole = ingot.train(trainer, *flags)[1][-1]
    part = ingot.train(trainer, *flags, "--eval-batches", "4")[1][-1]
    more = ingot.train(trainer, *flags, "--eval-batches", "100")[1][-1]
    check(abs(part["eval_loss"] - whole["eval_loss"]) < 1e-6, f"{part} instead of {whole}")
    check(more == whole, "more batches than there are")
    one = ingot.train(trainer, *flags, "--eval-batches", "1")[1][-1]
    check(abs(one["eval_loss"] - whole["eval_loss"]) > 1e-4, "one batch is all")
    ingot.check_error([trainer, "--data", data, "--eval-batches", "1"], 2, "--eval-batches")
