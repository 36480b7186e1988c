# SPDX-License-Identifier: Apache-2.0
"""What programs write and read again, or read for people: checkpoints whose checksums
are right, configurations, lists and ranges of files, mixtures, choices of --tune,
indexes, logs, and all commands of ingot-data, ingot-report and ingot-top."""

import io
import json
import struct
import tarfile
import zlib

from subjects import Words

from families import files

STEP = {"step": 1, "loss": 2.5, "lr": 0.001, "step_ms": 1.5, "samples_per_s": 20.0, "epoch": 1, "elapsed_s": 0.5}
EVALUATION = {"step": 1, "eval_loss": 2.5, "eval_accuracy": 0.5, "eval_confusion": [[1, 2], [3, 4]]}
STATISTICS = {"step_ms_p50": 1, "step_ms_p90": 2, "step_ms_max": 3, "resident_bytes": 1000, "data_share": 0.1}
EVENT = {"name": "matmul", "cat": "matmul", "ph": "X", "ts": 1.0, "dur": 2.0, "pid": 1, "tid": 1}
TRACE = {
    "traceEvents": [
        {**EVENT, "cat": "step", "args": {"step": 1}},
        {**EVENT, "args": {"function": "train_step", "kernel": 0, "part": "forward", "bytes": 8, "flops": 16}},
    ],
    "otherData": {"device": "CPU"},
}
DIAGNOSIS = {"steps": 10, "samples": 4, "step_ms": 1.5, "findings": [{"cause": "c", "evidence": "e", "gain": 0.5}]}
CONFIGURATION = ["steps = 2", 'data = ["train.npz"]', 'lr = "0.1"', "seed = 3", "no-shuffle = true"]
HUGE = [0, 1, -1, 2**31, 2**53 + 1, 2**62, 2**63 - 1, 2**63, 2**64 - 1, 10**30, 0.5, -0.0, 1e308]
PIECES = [
    "{0..9}",
    "{00..09}",
    "{9223372036854775806..9223372036854775807}",
    "{1..0}",
    "{",
    "}",
    "..",
    "*",
    "?",
    "[a-z]",
]
PIECES += [
    "[",
    "@list",
    "@",
    "train.npz",
    ":u16",
    ":0.5",
    ":nan",
    ":1e999",
    ":",
    "/",
    "~",
    "\t",
    "#",
    "\x1b[31m",
    "x" * 300,
]


def checkpoint(rng):
    """A checkpoint whose description is hostile, with the checksum that belongs to it."""
    changed = dict(files.STATE[files.CHECKPOINT])
    name = next(name for name in changed if name.endswith("checkpoint.json"))
    tree = json.loads(changed[name])
    del tree["crc32"]
    for _ in range(rng.randint(1, 2)):
        if rng.random() < 0.6:
            place = rng.choice([tree, tree["settings"]])
            place[rng.choice(sorted(place) + ["epoch_samples", "best", "batch_tokens"])] = rng.choice(
                [*HUGE, [1, 2**63 - 1], [], {"metric": "eval_loss", "value": 1e308, "step": 2**62, "since": 0}]
            )
            if not isinstance(tree.get("settings"), dict):
                break
        else:
            files.change_json(rng, tree)
    tree["crc32"] = zlib.crc32(json.dumps(tree, separators=(",", ":")).encode())
    changed[name] = (json.dumps(tree, indent=1) + "\n").encode()
    return changed


def lines(rng, valid):
    """Lines of JSON, some of which are hostile."""
    rows = [dict(rng.choice(valid), step=i) for i in range(rng.randint(0, 20))]
    text = [json.dumps(row).encode() for row in rows]
    for _ in range(rng.randint(0, 3)):
        wide = json.dumps({f"k{i}": i for i in range(rng.choice([10, 30_000]))} | {"step": rng.choice(HUGE)}).encode()
        row = rng.choice([files.hostile_json(rng, rng.choice(valid)), wide])
        text.insert(rng.randint(0, len(text)), row.replace(b"\n", b" "))
    return b"\n".join(text) + rng.choice([b"\n", b"", b"\n\0\n"])


def configuration(rng):
    text = rng.sample(CONFIGURATION, rng.randint(0, len(CONFIGURATION)))
    hostile = [
        "a" * 9000 + " = 1",
        "[" * 500,
        "steps = " + str(rng.choice(HUGE)),
        'x = "',
        "= 1",
        "steps",
        "\0",
        "data = []",
    ]
    hostile += ["data = [[[1]]]", "config = 'config.toml'", "seed = ''", "# " * 3000, "lr = [0.1, 0.2]", "[[data]]"]
    for _ in range(rng.randint(0, 3)):
        text.insert(rng.randint(0, len(text)), rng.choice(hostile))
    return "\n".join(text).encode()


def tuned(rng):
    words = [
        "ingot tuned 1\n",
        "machine",
        "\t",
        "key",
        "1.5",
        " ",
        "nan",
        "1e999",
        "OMP_NUM_THREADS=",
        "--workers=9",
        "\n",
    ]
    return "".join(rng.choice(words) for _ in range(rng.randint(0, 60))).encode() + rng.choice([b"", b"\xff\0"])


def tar(rng):
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=rng.choice([tarfile.PAX_FORMAT, tarfile.GNU_FORMAT])) as archive:
        for i in range(rng.randint(0, 5)):
            name = rng.choice([f"{i}.cls", f"{i}.txt", f"{i}.json", "a" * 300 + ".cls", "../x.cls", "x/", "\x1b.cls"])
            content = rng.choice([b"1", b"", b"{", b'{"y": [1]}', b"99999999999999999999", b"\xff"])
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return stream.getvalue()


def data(rng, good):
    """(name, content) of a file of samples that may be hostile."""
    seeds = sorted(path for path in files.SEEDS.rglob("*") if path.is_file())
    return rng.choice(
        [
            ("a.npz", files.hostile_npz(rng, good)),
            ("a.tar", tar(rng)),
            ("a.tar", files.changed_bytes(rng, tar(rng))),
            ("a.jsonl", lines(rng, [{"x": [1, 2], "labels": 1}, {"text": "abc"}])),
            ("a.bin", files.tokens(rng)),
            ("a.bin", files.changed_bytes(rng, rng.choice(seeds).read_bytes())),
        ]
    )


def prepare(programs, scratch):
    files.prepare(programs, scratch)


def inspect_data(rng, good):
    name, content = data(rng, good)
    contents = {name: content, "list": "\n".join(word(rng) for _ in range(3)).encode("utf-8", "replace")}
    if name.endswith(".tar") and rng.random() < 0.5:
        index = b"INGOTTX1" + struct.pack(
            "<5Q", len(content), *(rng.choice([0, 1, 2**63, 2**64 - 1]) for _ in range(4))
        )
        contents[name + ".index"] = files.changed_bytes(rng, index + bytes(64))
    command = rng.choice(["inspect", "index", "verify", "convert", "shard"])
    given = rng.choice([name, name, "@list", word(rng)])
    out = (
        ["-o", rng.choice(["o.tar", "o.npz", "o.bin", "o", name, "none/o.tar"])]
        if command in ("convert", "shard")
        else []
    )
    field = (
        ["--field", rng.choice(["x", "labels", "", "\x1b", "cls", "x" * 5000])] if out and rng.random() < 0.3 else []
    )
    samples = ["--samples", str(rng.choice([1, 2, 2**31, 2**63]))] if command == "shard" and rng.random() < 0.5 else []
    return ["ingot-data", command, given], [part for part in (out, field, samples) if part], contents, [name]


def word(rng):
    return "".join(rng.choice(PIECES) for _ in range(rng.randint(1, 5))).replace("\0", "")


def make(rng, _box, _seed):
    program, good = files.trainer("dense")
    run, groups, contents, kept = [str(program)], [["--data", "train.npz"], ["--steps", "4"]], {"train.npz": good}, []
    reads = rng.choice(
        ["resume", "resume", "config", "words", "tune", "data", "data", "report", "report", "top", "mixture"]
    )
    if reads == "resume":
        contents |= checkpoint(rng)
        groups += [["--resume", files.CHECKPOINT]]
        if rng.random() < 0.3:
            groups += [["--no-shuffle"]]
    elif reads == "config":
        contents["config.toml"] = configuration(rng)
        groups = [["--config", "config.toml"], *(groups if rng.random() < 0.5 else [])]
        kept = ["config.toml"]
    elif reads in ("words", "mixture"):
        contents["list"] = "\n".join(word(rng) for _ in range(rng.randint(0, 5))).encode("utf-8", "replace")
        weights = [":1", ":0.3", ":1e-300", ":1e300", ":0"]
        words = [word(rng) for _ in range(rng.randint(1, 3))]
        if reads == "mixture":
            words = ["train.npz" + rng.choice(weights) for _ in range(rng.randint(1, 4))]
        groups = [["--data", *words], ["--steps", "3"]]
    elif reads == "tune":
        contents["tuned"] = tuned(rng)
        groups += [["--tune=tuned"], ["--tune-seconds", "1"]]
    elif reads == "data":
        run, groups, contents, kept = inspect_data(rng, good)
    else:
        log = lines(rng, [STEP, EVALUATION, {**STEP, "stats": STATISTICS}])
        contents = {"log.jsonl": log, "log.jsonl.toml": configuration(rng)}
        if reads == "top":
            run, groups = ["ingot-top", rng.choice(["log.jsonl", "."])], [["--count", "1"]]
        else:
            contents["trace.json"] = files.hostile_json(rng, TRACE)
            contents["diagnosis.json"] = files.hostile_json(rng, DIAGNOSIS).replace(b"\n", b" ")
            contents["remarks.yaml"] = b"--- !Passed\nPass: p\nName: n\nArgs:\n  - a: 'b'\n" * rng.choice(
                [1, 1000]
            ) + rng.choice([b"...", b"[", b"\xff"])
            given = rng.choice([["log.jsonl", "trace.json"], ["."], ["log.jsonl", "remarks.yaml"], ["diagnosis.json"]])
            run, groups = ["ingot-report", *given], [["-o", rng.choice(["r.html", "log.jsonl", "."])]]
            kept = sorted(contents)
    return Words(f"{reads}: {groups[-1] if groups else run}", run, groups, contents, {}, kept)
