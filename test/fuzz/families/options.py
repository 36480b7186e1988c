# SPDX-License-Identifier: Apache-2.0
"""Sets of options of ingotc, taken from its --help: valid, boundary, nonsensical,
empty, long and contradictory values."""

import re
import subprocess

from subjects import Words

from families import files

STATE = {}
NONSENSE = [
    "",
    " ",
    "-1",
    "0",
    "1",
    "2",
    "3",
    "00",
    "1e999",
    "nan",
    "inf",
    "-inf",
    "0x10",
    "4x",
    "1.5",
    "99999999999999999999",
]
NONSENSE += [
    "9223372036854775807",
    "-9223372036854775808",
    "2147483648",
    "x" * 300,
    "y" * 100_000,
    "\x1b[31m",
    "é",
    "a,b",
    ",",
]
NONSENSE += [
    "=",
    "a=",
    "=1",
    "a=b=c",
    "N=4",
    "N=0",
    "N=4,8",
    "(",
    ")",
    "[",
    ".*",
    "^$",
    "a{9999}",
    "(a*)*b",
    "\\",
    "%s%n",
    "--help",
]
NONSENSE += [
    "true",
    "false",
    "on",
    "no",
    "10%",
    "0%",
    "100%",
    "101%",
    "-5%",
    "1KiB",
    "64KiB",
    "1GiB",
    "1e3MB",
    "GB",
    "10G",
    "16MB",
]
NONSENSE += ["-", "--", "; true", "$(true)", "1\n2", "start:3,bf16", "powersgd:0", "topk:2", "topk:0.1", "int8"]
# Options whose value is a file or a folder to write, and those that read one.
WRITES = re.compile(
    r"output|report|remarks|dump|log|save|export|predict|profile|tensorboard|cache|record|tune|diagnose"
)
READS = re.compile(r"machine|plan|data|init|resume|config")
PATHS = [
    "",
    "out",
    "no/such/folder/out",
    "folder",
    ".",
    "..",
    "model.onnx",
    "train.npz",
    "x" * 300,
    "a:b",
    "\x1b[31m",
    "out\nput",
]
PATHS += ["device", "fifo", "loop", "dangling", "sparse", "out.json", "-", "é", "folder/", "out/", "./t", "t"]
SPECIAL = {"device": "null", "fifo": "fifo", "loop": "link-loop", "dangling": "dangling-link", "folder": "folder"}
SPECIAL |= {"sparse": "sparse"}
# Values with which programs get further than their command line. Options that are
# not listed are tried with the words of their description.
VALID = {
    "--batch": ["1", "3", "4", "64"],
    "--trainable": [".*", "w1", "w"],
    "--freeze": ["w1", "w2"],
    "--loss": [
        "mse",
        "cross-entropy:0",
        "cross-entropy:1",
        "cross-entropy:-1",
        "bce-with-logits",
        "output:logits",
        "nll",
        "L1Loss",
        "huber:0",
        "huber:1e999",
        "smooth-l1:0",
        "kl-div",
        "ce",
    ],
    "--optimizer": [
        "sgd",
        "momentum",
        "nesterov",
        "rmsprop",
        "Adadelta",
        "adam",
        "adamw",
        "adagrad",
        "lamb",
        "lion",
        "muon",
    ],
    "--no-decay": [".*", "w1"],
    "--grad-accumulation": ["1", "2", "7"],
    "--precision": ["bf16", "fp16", "fp32"],
    "--keep-fp32": [".*"],
    "--force-low": [".*"],
    "--optimizer-precision": ["bf16", "dyn8"],
    "--bucket-mb": ["1", "0.001", "25"],
    "--grad-comm": ["bf16", "fp16", "int8", "topk:0.1", "powersgd:2", "int8,start:2"],
    "--zero": ["1", "2"],
    "--target": ["cpu", "cuda"],
    "--arch": ["native", "x86-64-v2", "x86-64-v3", "x86-64-v4", "sm_90"],
    "--level": ["0", "1", "2", "3"],
    "--memory-budget": ["50%", "90%", "100%", "1MiB", "10KiB", "1GiB"],
    "--remat": ["save=.*", "recompute=.*", "recompute=w"],
    "--weights": ["embed", "sidecar", "none"],
    "--fit": ["1MiB", "100KiB", "10MB"],
    "--emit": ["mlir", "exec", "llvm", "obj", "exe", "ptx"],
    "--seed": ["0", "1", "18446744073709551615"],
    "--schedule": ["constant", "cosine", "linear"],
    "--warmup": ["0", "1", "100"],
    "--lr": ["0", "0.1", "1e-30", "1e30"],
    "--watch": ["nan", "stats"],
    "--inspect": ["text", "json"],
    "--ranks": ["1", "2", "1000000"],
    "--save-every": ["1", "2"],
    "--eval-every": ["1", "2"],
    "--steps": ["0", "1", "3"],
    "--epochs": ["0", "1"],
    "--comm-timeout": ["1", "600"],
    "--transport": ["mpi", "tcp"],
}


def read_help(text):
    """[(flag, takes a value, words of its description)] of a --help."""
    found = []
    for line in text.splitlines():
        start = re.match(r"^ {1,8}(-[\w,-]+)((?: |\[|=).*)?$", line)
        if start:
            flags, rest = start[1].split(","), start[2] or ""
            takes = bool(re.match(r"\[?[ =]?[A-Z]{2,}|\[?[ =][A-Z]\b|\[?[ =]nan\|stats", rest.strip(" ") and rest))
            found.append((flags[-1], takes, rest))
        elif found and line.startswith("      "):
            found[-1] = (*found[-1][:2], found[-1][2] + " " + line.strip())
    return [
        (flag, takes, sorted(set(re.findall(r"[a-z][\w-]*[\w]", words))))
        for flag, takes, words in found
        if flag not in ("-h", "--help", "--version")
    ]


def value(rng, flag, words):
    if WRITES.search(flag) and rng.random() < 0.9:
        return rng.choice(PATHS)
    if READS.search(flag) and rng.random() < 0.8:
        return rng.choice([*PATHS, "train.npz", "good.json", "bad.json"])
    if flag in VALID and rng.random() < 0.6:
        return rng.choice(VALID[flag])
    if words and rng.random() < 0.4:
        return rng.choice(words) + rng.choice(["", "", "", "", ":1", ":-1", "x", "="])
    return rng.choice(NONSENSE)


def option(rng, entry):
    """An option with a value, in one of the forms of a command line."""
    flag, takes, words = entry
    if not takes:
        return [flag] if rng.random() < 0.95 else [f"{flag}={rng.choice(NONSENSE)}"]
    chosen = value(rng, flag, words).replace("\0", "")
    if flag == "-O":
        return [f"-O{chosen}"]
    form = rng.random()
    if form < 0.55:
        return [flag, chosen]
    if form < 0.92:
        return [f"{flag}={chosen}"]
    return [flag] if form < 0.96 else [flag, chosen, rng.choice(NONSENSE)]


def prepare(programs, scratch):
    files.prepare(programs, scratch)
    text = subprocess.run([programs / "ingotc", "--help"], check=True, capture_output=True, text=True).stdout
    STATE["options"] = read_help(text)
    assert len(STATE["options"]) > 30, STATE


def contents():
    from families import fixed

    return {"model.onnx": fixed.dense().SerializeToString(), "good.json": b"{}", "bad.json": b"[", "train.npz": b"PK"}


def hurry(chosen):
    """Measuring ends within a second."""
    return [["--tune-seconds=1"]] if any(entry[0] == "--tune" for entry in chosen) else []


def make(rng, _box, _seed):
    entries = STATE["options"]
    groups = [["--batch=4"], ["--loss=cross-entropy"], ["-o", "t"]]
    for group in list(groups):
        if rng.random() < 0.12:
            groups.remove(group)
    if rng.random() < 0.7:
        groups.append([f"--emit={rng.choice(['exec', 'exec', 'exec', 'mlir', 'llvm', 'obj'])}"])
    chosen = [rng.choice(entries) for _ in range(rng.choice([1, 1, 1, 2, 2, 3, 5, 8]))]
    groups += [option(rng, entry) for entry in chosen if entry[0] not in ("--batch",) or rng.random() < 0.5]
    groups += hurry(chosen)
    if rng.random() < 0.03:
        groups.append([rng.choice(NONSENSE)])
    words = ["ingotc", *(["model.onnx"] if rng.random() < 0.97 else [])]
    label = " ".join(entry[0] for entry in chosen)
    kept = ["model.onnx"] if len(words) > 1 else []
    return Words(label, words, groups, contents(), dict(SPECIAL), kept, trainer="t")
