# SPDX-License-Identifier: Apache-2.0
"""Thousands of hostile tries that are generated: every numeric option with every kind of number, every kind of file
cut and changed, every variable of the environment, every limit of the system, signals at any time.

A sample runs in each check; INGOT_HOSTILE=all (ctest --preset hostile) runs all, INGOT_HOSTILE_SEED=N another sample.
"""

import os
import pathlib
import random
import re
import resource
import shutil
import signal
import struct
import subprocess
import tarfile
import tempfile
import time
import zipfile

import numpy as np
import onnx
from harness import DIGITS, QUIET, Skip, case, check, golden
from tries import ALL, NUMBERS, SEED, Tries, some

G = golden("multilabel")
# What --help calls numbers.
VALUES = re.compile(r"^  (?:-\w, ?)?(--[a-z0-9-]+) ((?:N|X|SIZE|SECONDS|DECAY|WAIT|NAME=[NV])\b[^ ]*)")


def list_numeric(ingot, program):
    text = ingot.succeed([program, "--help"]).out
    found = {
        match[1] + ("=batch" if match[2].startswith("NAME") else "")
        for line in text.splitlines()
        if (match := VALUES.match(line))
    }
    check(len(found) > 5, f"numeric options of {program}: {found}")
    return sorted(found)


def trainer_of(ingot):
    return ingot.compile(G.model, *G.compile_flags("adamw"), "-O0", "--clip", "--guard")


@case("hostile-numbers")
def numbers(ingot):
    tries, trainer = Tries(ingot), trainer_of(ingot)
    run = [trainer, "--data", G.data, "--eval-data", G.data]
    # Long runs are asked for, and not waited for.
    endless = {"--epochs", "--steps"}
    for option, value in some(((o, v) for o in list_numeric(ingot, trainer) for v in NUMBERS), 60):
        steps = [] if option in endless else ["--steps", "2"]
        if option in endless and re.fullmatch(r"\+?[0-9.e]{4,}\s*", value) and len(value) < 30:
            continue
        tries.run(f"trainer {option}={value[:30]!r}", [*run, *steps, f"{option}={value}"])
    compiler = ingot.bin / "ingotc"
    compiles = [compiler, G.model, *G.compile_flags("adamw")[:-2], "-O0", "--emit", "mlir", "-o", "out.mlir"]
    for option, value in some(((o, v) for o in list_numeric(ingot, compiler) for v in NUMBERS), 25):
        batch = [] if option == "--batch" else ["--batch", "4"]
        tries.run(f"ingotc {option}={value[:30]!r}", [*compiles, *batch, f"{option}={value}"])
    tries.finish()


def make_files(ingot, tries):
    """A valid file of each kind, the words that read it, and places where its structure has a boundary."""
    trainer, folder = trainer_of(ingot), tries.folder
    digits = ingot.compile(DIGITS / "digits.onnx", "--loss", "cross-entropy", "--batch", "8", "-O0")
    tokens = ingot.compile(golden_tokens(), "--loss", "cross-entropy", "--batch", "2", "-O0")
    with np.load(DIGITS / "eval.npz") as source:
        arrays = {name: source[name][:32] for name in source}
    np.savez(folder / "small.npz", **arrays)
    data = folder / "small.npz"
    steps = ["--steps", "1"]
    read = lambda name: [digits, "--data", name, *steps]  # noqa: E731
    files = {"a.npz": (data.read_bytes(), read)}
    np.savez_compressed(folder / "packed.npz", **arrays)
    files["b.npz"] = ((folder / "packed.npz").read_bytes(), read)
    for name in ("a.tar", "a.arrow", "a.jsonl", "a.csv"):
        words = [ingot.bin / "ingot-data", "convert", data, "-o", folder / name]
        if subprocess.run([str(word) for word in words], capture_output=True).returncode == 0:
            files[name] = ((folder / name).read_bytes(), read)
    header = np.zeros(256, "<i4")
    header[:3] = 20240520, 1, 2048
    words = np.random.default_rng(0).integers(0, 250, 2048).astype("<u2").tobytes()
    files["a.bin"] = (header.tobytes() + words, lambda name: [tokens, "--data", name, *steps])
    run = [trainer, "--data", G.data]
    ingot.succeed([*run, *steps, "--save", folder / "saved", "--export", folder / "out.onnx", "--log", folder / "log"])
    state = folder / "saved/step-1/state.safetensors"
    files["w.safetensors"] = (state.read_bytes(), lambda name: [*run, *steps, "--init", name])
    for name in ("state.safetensors", "checkpoint.json"):
        content = (folder / "saved/step-1" / name).read_bytes()
        files[f"saved/step-1/{name}"] = (content, lambda name: [*run, "--steps", "2", "--resume", "saved"])
    files["saved/latest"] = (
        (folder / "saved/latest").read_bytes(),
        lambda name: [*run, "--steps", "2", "--resume", "saved"],
    )
    files["c.toml"] = ((folder / "log.toml").read_bytes(), lambda name: [*run, "--config", name])
    files["m.onnx"] = (G.model.read_bytes(), lambda name: [
        ingot.bin / "ingotc", name, *G.compile_flags("adamw"), "-O0", "--emit", "mlir", "-o", "m.mlir"])  # fmt: skip
    files["log.jsonl"] = (
        (folder / "log").read_bytes(),
        lambda name: [ingot.bin / "ingot-report", name, "-o", "r.html"],
    )
    return files


def golden_tokens():
    return DIGITS.parent / "bytes/bytes.onnx"


def find_boundaries(content):
    """Where records of archives, headers, lines and members begin."""
    places = {0, 1, 4, 8, 16, 64, 512, 1024, len(content) // 2, len(content) - 1}
    for mark in (b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06", b"\x93NUMPY", b"\n", b"}", b"{", b"[", b'"', b"ustar"):
        found = [match.start() for match in re.finditer(re.escape(mark), content)][:4]
        places |= set(found) | {place + len(mark) for place in found}
    return sorted(place for place in places if 0 <= place < len(content))


def change(content, choose):
    """The same content, cut, changed and extended: pairs of a name and bytes."""
    for place in find_boundaries(content):
        yield f"cut at {place}", content[:place]
    for place in choose.sample(range(len(content)), min(24, len(content))):
        changed = bytearray(content)
        changed[place] ^= 1 << choose.randrange(8)
        yield f"bit of byte {place}", bytes(changed)
    ends = [*range(0, min(64, len(content) - 8), 4), *range(max(0, len(content) - 40), len(content) - 8, 4)]
    for place in ends:
        for value in (2**64 - 1, 2**63, 2**32 - 1, 2**31):
            yield f"{value} at {place}", content[:place] + struct.pack("<Q", value) + content[place + 8 :]
    yield "twice", content + content
    yield "zeros after it", content + bytes(4096)
    yield "zeros before it", bytes(512) + content
    yield "nothing but zeros", bytes(len(content))
    yield "nothing but ones", b"\xff" * len(content)
    half = len(content) // 2
    yield "halves in the other order", content[half:] + content[:half]
    for old, new in ((b"<f4", b"<f8"), (b"<f4", b">f4"), (b"<i8", b"|O8"), (b"F32", b"F64"), (b"F32", b"BF16"),
                     (b"(32,", b"(99,"), (b"False", b"True "), (b"null", b"1e99"), (b"0", b"9"),
                     (b'"', b"'")):  # fmt: skip
        if old in content:
            yield f"{new} for {old}", content.replace(old, new)


@case("hostile-files")
def files(ingot):
    tries = Tries(ingot)
    choose = random.Random(SEED)
    made = make_files(ingot, tries)
    drawn = [(name, what, changed) for name, (content, _) in made.items() for what, changed in change(content, choose)]
    for name, what, changed in some(drawn, 90):
        content, words = made[name]
        path = tries.folder / name
        path.write_bytes(changed)
        tries.run(f"{name}, {what}", words(name))
        check(path.read_bytes() == changed, f"{name}, {what}: the input has changed")
        path.write_bytes(content)
    # Members that are there twice, and names that lead out of an archive.
    np.save(tries.folder / "x.npy", np.zeros((4, 1, 8, 8), np.float32))
    with zipfile.ZipFile(tries.folder / "twice.npz", "w") as archive:
        for _ in range(2):
            archive.write(tries.folder / "x.npy", "image.npy")
    with tarfile.open(tries.folder / "out.tar", "w") as archive:
        archive.add(tries.folder / "x.npy", "../../a.image.npy")
    for name in ("twice.npz", "out.tar"):
        tries.run(name, made["a.npz"][1](name), statuses=(2, 3))
    tries.finish()


@case("hostile-environment")
def environment(ingot):
    tries, trainer = Tries(ingot), trainer_of(ingot)
    text = ingot.succeed([trainer, "--help"]).out + ingot.succeed([ingot.bin / "ingotc", "--help"]).out
    names = set(re.findall(r"\b(?:INGOT|OMP|GOMP|XDG|OMPI|SLURM|CUDA|NCCL)_[A-Z_]+\b", text))
    names |= {"HOME", "TMPDIR", "LANG", "LC_ALL", "TERM", "COLUMNS", "WORLD_SIZE", "PATH", "NO_COLOR", "OMP_STACKSIZE",
              "OMP_THREAD_LIMIT", "OMP_PROC_BIND", "OMP_PLACES", "OMP_DYNAMIC", "OMP_MAX_ACTIVE_LEVELS", "PMI_SIZE",
              "GOMP_CPU_AFFINITY", "OMP_NUM_THREADS", "OMP_WAIT_POLICY", "GLIBC_TUNABLES", "TZ"}  # fmt: skip
    values = [*NUMBERS[:14], "", "abc", "x" * 5000, "/", "/dev/zero", "/nonexistent/a", "fifo", "\x1b[31m", b"\xff\xfe"]
    os.mkfifo(tries.folder / "fifo")
    run = [trainer, "--data", G.data, "--steps", "1", "--tune", "--tune-seconds", "1"]
    for name, value in some(((n, v) for n in sorted(names) for v in values), 40):
        what = f"{name}={str(value)[:30]!r}"
        # Ranks are refused.
        tries.run(what, run[:5], env={name: value})
        if name in ("HOME", "XDG_CACHE_HOME", "TMPDIR"):
            tries.run(f"--tune, {what}", run, env={name: value})
    check("OMP_NUM_THREADS" in names, f"names {names}")
    for value, words in (("9999999", "asks for 9999999 threads"), ("abc", "'abc' is no number of threads"),
                         ("0", "'0' is no number"), ("-1", "'-1' is no number"), ("2,x", "'2,x' is no")):  # fmt: skip
        result = ingot.succeed([*run[:5]], env={"OMP_NUM_THREADS": value})
        check(words in result.err, f"OMP_NUM_THREADS={value}: {result.err}")
    tries.finish()


@case("hostile-limits")
def limits(ingot):
    """Whatever of the system runs out."""
    tries, trainer = Tries(ingot), trainer_of(ingot)
    run = [trainer, "--data", G.data, "--steps", "3", "--save", "s", "--save-every", "1", "--log", "l",
           "--export", "e.onnx",
           "--overwrite"]  # fmt: skip
    compiles = [ingot.bin / "ingotc", G.model, *G.compile_flags("adamw"), "-O0", "-o", "t"]
    kinds = {
        "RLIMIT_NOFILE": [0, 3, 4, 5, 6, 8, 10, 12, 16, 32],
        "RLIMIT_FSIZE": [0, 1, 100, 512, 1024, 4096, 65536],
        "RLIMIT_STACK": [65536, 131072, 1 << 18, 1 << 20],
        "RLIMIT_AS": [1 << 24, 1 << 25, 3 << 24, 1 << 26, 1 << 27, 1 << 28, 1 << 29],
        "RLIMIT_DATA": [0, 1 << 16, 1 << 20, 1 << 22, 1 << 24],
        "RLIMIT_MEMLOCK": [0],
        "RLIMIT_CPU": [60],
    }
    for kind, value, program in some(((k, v, p) for k, vs in kinds.items() for v in vs for p in (run, compiles)), 12):

        def limit(kind=kind, value=value):
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(getattr(resource, kind), (value, value))

        name = os.path.basename(program[0])
        # The loader's own messages have no hint, and LLVM ends where it has no memory.
        tight = kind in ("RLIMIT_AS", "RLIMIT_DATA", "RLIMIT_NOFILE", "RLIMIT_STACK")
        statuses = (0, 1, 2, 3, 127, *((-6, -11, -9) if tight and program is compiles else ()),
                    *((-9, -11) if tight and kind != "RLIMIT_NOFILE" and value < 1 << 24 else ()))  # fmt: skip
        tries.run(f"{name} with {kind} {value}", program, limit=limit, statuses=statuses, hints=not tight)
        check_whole(tries, f"{name} with {kind} {value}")
    tries.finish()


def check_whole(tries, what):
    """Nothing is half written: the export is a model, and the checkpoint can be resumed."""
    out = tries.folder / "e.onnx"
    if out.exists():
        try:
            onnx.checker.check_model(onnx.load(out))
        except Exception as error:  # noqa: BLE001
            tries.problems.append(f"{what}: half an export: {error}")
        out.unlink()
    for path in tries.folder.rglob("*.tmp*"):
        if path.is_file():
            tries.problems.append(f"{what}: left {path.name}")
    saved = tries.folder / "s"
    if (saved / "latest").exists():
        name = (saved / "latest").read_text().split("\n")[0]
        if not (saved / name / "checkpoint.json").exists():
            tries.problems.append(f"{what}: latest names {name}, which is not there")


@case("hostile-signals")
def signals(ingot):
    tries, trainer = Tries(ingot), trainer_of(ingot)
    choose = random.Random(SEED)
    run = [trainer, "--data", G.data, "--steps", "100000000", "--save", "s", "--save-every", "5", "--log", "l",
           "--export", "e.onnx", "--log-every", "1000"]  # fmt: skip
    names = ["SIGTERM", "SIGINT", "SIGHUP", "SIGPIPE", "SIGUSR1", "SIGKILL"]
    for name in some([n for n in names for _ in range(12)], 8):
        number = getattr(signal, name)
        delay = choose.choice([0, 0.001, 0.01, 0.02, 0.05, 0.1, 0.3, 0.5])
        shutil.rmtree(tries.folder / "s", ignore_errors=True)

        def after(process, number=number, delay=delay):
            time.sleep(delay)
            process.send_signal(number)
            if number in (signal.SIGPIPE, signal.SIGHUP, signal.SIGUSR1):
                time.sleep(0.1)
                process.send_signal(signal.SIGTERM)

        what = f"{name} after {delay} s"
        # Before main a signal ends a process by itself.
        tries.run(what, run, after=after, statuses=(-number, -15, 128 + number, 143, 0))
        if name == "SIGKILL":
            # What it leaves is in the next run's way no more.
            (tries.folder / "e.onnx").unlink(missing_ok=True)
            for path in tries.folder.rglob("*.tmp*"):
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        check_whole(tries, what)
        if (tries.folder / "s/latest").exists():
            again = [
                trainer,
                "--data",
                G.data,
                "--steps",
                "100000000",
                "--resume",
                "s",
                "--evaluate",
                "--eval-data",
                G.data,
            ]
            tries.run(f"resumed after {what}", again, statuses=(0,))
    tries.finish()


@case("hostile-disks")
def disks(ingot):
    """A disk that is full, and one that cannot be written."""
    if os.geteuid() != 0 or not shutil.which("unshare"):
        raise Skip("mounts need root")
    tries, trainer = Tries(ingot), trainer_of(ingot)
    outputs = [["--save", "d/s", "--save-every", "1"], ["--export", "d/e.onnx"], ["--log", "d/l"],
               ["--tensorboard", "d/t"],
               ["--profile", "d/p"], ["--predict", "d/p.npz", "--eval-data", G.data], ["--cache", "d/c"],
               ["--tune=d/t", "--tune-seconds", "1"], ["--save", "d", "--log", "d/l"]]  # fmt: skip
    mounts = [f"mount -t tmpfs -o size={size} none d" for size in ("4k", "16k", "64k")]
    mounts += ["mount -t tmpfs -o ro none d", "mount -t tmpfs -o nr_inodes=2 none d", "mount -t proc none d"]
    (tries.folder / "d").mkdir()
    for mount, output in some(((m, o) for m in mounts for o in outputs), 8):
        probe = subprocess.run(["unshare", "-m", "sh", "-c", mount], cwd=tries.folder, capture_output=True)
        if probe.returncode:
            raise Skip("may not mount")
        script = f'{mount} && "$@"; s=$?; ls -A d | grep tmp; exit $s'
        words = ["unshare", "-m", "sh", "-c", script, "sh", trainer, "--data", G.data, "--steps", "3", *output]
        tries.run(f"{output} with {mount}", words)
    words = [
        "unshare",
        "-m",
        "sh",
        "-c",
        'mount -t tmpfs -o size=64k none d && "$@"',
        "sh",
        ingot.bin / "ingotc",
        G.model,
    ]
    for emit in some(["exe", "mlir", "llvm", "obj", "onnx"], 1):
        flags = [*G.compile_flags("adamw"), "-O0", "--emit", emit, "-o", "d/out"]
        tries.run(f"--emit {emit} to a full disk", [*words, *flags])
    tries.finish()


@case("hostile-permissions")
def permissions(ingot):
    """Files and folders that another user may not read or write, names that are no text, links that lead nowhere."""
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        raise Skip("needs root and setpriv")
    tries, trainer = Tries(ingot), trainer_of(ingot)
    nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    # Others may enter no folder of the tests.
    place = tries.folder = pathlib.Path(tempfile.mkdtemp(prefix="ingot-nobody-", dir="/tmp"))
    place.chmod(0o755)
    data, own = place / "data.npz", place / "own"
    shutil.copy(G.data, data)
    shutil.copy(trainer, place / "trainer")
    own.mkdir(mode=0o777)
    own.chmod(0o777)
    secret, closed = place / "secret", place / "closed"
    secret.write_bytes(b"precious\n")
    secret.chmod(0o600)
    closed.mkdir(mode=0o700)
    (place / "dangling").symlink_to("none/at/all")
    names = ["secret", "closed", "closed/a", "new", "dangling", b"own/\xff\xfe", "own/" + "n" * 255, "own/" + "n" * 256,
             "own/\n", "own/ ", "own/-x", "own/*", "own/a:0.5", "own/{0..3}", "own/@l", "own/'\"", ""]  # fmt: skip
    options = ["--data", "--eval-data", "--init", "--resume", "--config", "--save", "--export", "--log",
               "--tensorboard",
               "--profile", "--cache", "--predict", "--tune"]  # fmt: skip
    for option, name in some(((o, n) for o in options for n in names), 24):
        run = [*nobody, place / "trainer", *([] if option == "--data" else ["--data", data]), "--steps", "1"]
        run += ["--eval-data", data] if option == "--predict" else []
        run += ["--tune-seconds", "1"] if option == "--tune" else []
        value = os.fsencode(f"{option}=") + (name if isinstance(name, bytes) else name.encode())
        tries.run(f"nobody: {option}={name!r:.40}", [*[str(word) for word in run], os.fsdecode(value)])
        check(secret.read_bytes() == b"precious\n", f"{option} {name}: the secret was replaced")
        shutil.rmtree(own)
        own.mkdir(mode=0o777)
        own.chmod(0o777)
    shutil.rmtree(place)
    tries.finish()


@case("hostile-company")
def company(ingot):
    """Several trainers that save to one folder and write one log: one has it, the others are refused, all is whole."""
    tries, trainer = Tries(ingot), trainer_of(ingot)
    for at in range(6 if ALL else 1):
        run = [trainer, "--data", G.data, "--steps", "300", "--save", "s", "--save-every", "10", "--log", f"l{at % 2}"]
        words = [str(word) for word in [*run, "--overwrite"]]
        env = {**os.environ, **QUIET, "OMP_NUM_THREADS": "1"}
        group = [
            subprocess.Popen(
                words, cwd=tries.folder, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, env=env
            )
            for _ in range(4)
        ]
        said = [process.communicate(timeout=60)[1] for process in group]
        tries.count += len(group)
        for process, text in zip(group, said):
            if process.returncode not in (0, 1, 2) or (process.returncode and "hint: " not in text):
                tries.problems.append(f"company {at}: exit {process.returncode}: {text[-300:]}")
        if all(process.returncode for process in group):
            tries.problems.append(f"company {at}: nobody has trained: {said}")
        check_whole(tries, f"company {at}")
        resume = [trainer, "--data", G.data, "--eval-data", G.data, "--evaluate", "--resume", "s"]
        tries.run(f"company {at}, evaluated", resume, statuses=(0,))
    tries.finish()
