# SPDX-License-Identifier: Apache-2.0
"""Hostile tries of the programs beside compiler and trainer, of launchers' variables, and of variables that are absent.

What ingot-data, ingot-report and ingot-top read is cut and changed, their disks are full, they are given signals, and
nobody reads what they print.
"""

import json
import os
import random
import shutil
import signal
import subprocess
import time

import numpy as np
from harness import DIGITS, Skip, case, check, golden
from tries import ALL, NUMBERS, SEED, Tries, some

G = golden("multilabel")


def trainer_of(ingot, *flags):
    return ingot.compile(G.model, *G.compile_flags("adamw"), "-O0", *flags)


def change(content, choose):
    """The same content, cut, changed, extended and in another order."""
    size = len(content)
    for place in sorted({0, 1, 7, 100, 512, size // 3, size // 2, size - 1, *choose.sample(range(size), 6)}):
        yield f"cut at {place}", content[:place]
    for place in choose.sample(range(size), 12):
        changed = bytearray(content)
        changed[place] ^= 1 << choose.randrange(8)
        yield f"bit of byte {place}", bytes(changed)
    lines = content.split(b"\n")
    shuffled = lines[:]
    choose.shuffle(shuffled)
    yield "lines in another order", b"\n".join(shuffled)
    yield "lines twice", b"\n".join(lines + lines)
    yield "carriage returns", content.replace(b"\n", b"\r\n")
    yield "a byte order mark", b"\xef\xbb\xbf" + content
    yield "16-bit text", content.decode("latin-1").encode("utf-16")
    yield "zeros", bytes(size)
    yield "a long line", b'{"step": 1, "loss": 2, "x": "' + b"y" * 3_000_000 + b'"}\n' + content
    for old in (b"0", b"1", b":", b"[", b'"step"', b'"loss"', b'"epoch"', b"{", b"PK", b"."):
        for new in (b"-1", b"1e999", b"null", b"NaN", b"9223372036854775807", b"[[[[", b"", b"\xff"):
            if old in content:
                yield f"{new!r} for {old!r}", content.replace(old, new)


def make_inputs(ingot, tries):
    """Files, and the commands that read each."""
    folder = tries.folder
    data, report, top = (ingot.bin / f"ingot-{name}" for name in ("data", "report", "top"))
    with np.load(DIGITS / "eval.npz") as source:
        np.savez(folder / "a.npz", **{name: source[name][:16] for name in source})
    run = [trainer_of(ingot), "--data", G.data, "--eval-data", G.data, "--steps", "30"]
    ingot.succeed([*run, "--log", folder / "run.jsonl", "--profile", folder / "trace.json", "--save", folder / "ck"])
    diagnosis = ingot.succeed([*run[:3], "--diagnose=json"]).out
    (folder / "diagnosis.json").write_text(diagnosis)
    flags = ["--emit", "obj", "--remarks", folder / "remarks.yaml", "--report", folder / "compiled.html"]
    ingot.succeed([ingot.bin / "ingotc", G.model, *G.compile_flags("adamw"), "-O0", *flags, "-o", folder / "m.o"])
    for name in ("a.tar", "a.jsonl"):
        ingot.run([data, "convert", folder / "a.npz", "-o", folder / name])
    (folder / "a.csv").write_text("x,label\n" + "".join(f"{i / 7},{i % 3}\n" for i in range(20)))
    readers = {
        name: [[data, "inspect", name], [data, "verify", name], [data, "convert", name, "-o", "out.npz"]]
        for name in ("a.npz", "a.tar", "a.jsonl", "a.csv")
        if (folder / name).exists()
    }
    readers["a.tar"] += [[data, "index", "a.tar"], [data, "shard", "a.tar", "-o", "s", "--samples", "3"]]
    for name in ("run.jsonl", "trace.json", "diagnosis.json", "remarks.yaml", "compiled.html", "run.jsonl.toml"):
        log = ["run.jsonl"] if name == "run.jsonl.toml" else [name]
        readers[name] = [[report, *log, "-o", "r.html"]]
    readers["run.jsonl"] += [[top, "run.jsonl", "--count", "1"], [top, ".", "--count", "1"]]
    readers["run.jsonl.toml"] += [[trainer_of(ingot), "--config", "run.jsonl.toml", "--steps", "1", "--log", "other"]]
    return readers


@case("hostile-tools")
def tools(ingot):
    """What tools read is changed: an error with a hint, or what can be read of it."""
    tries, choose = Tries(ingot), random.Random(SEED)
    readers = make_inputs(ingot, tries)
    contents = {name: (tries.folder / name).read_bytes() for name in readers}
    drawn = [
        (name, what, changed, command)
        for name, commands in readers.items()
        for what, changed in change(contents[name], choose)
        for command in commands
    ]
    for name, what, changed, command in some(drawn, 40):
        path = tries.folder / name
        path.write_bytes(changed)
        tries.run(f"{command[0].name} {command[1]}: {name}, {what}", command)
        check(path.read_bytes() == changed, f"{command}: {what}: the input has changed")
        path.write_bytes(contents[name])
    options = [("ingot-data shard", "--samples"), ("ingot-top .", "--count"), ("ingot-top .", "--interval")]
    for (program, option), value in some(((o, v) for o in options for v in NUMBERS), 12):
        name, word = program.split()
        if (option, value) == ("--count", "") or (option == "--count" and value[:1].isdigit() and value not in "01"):
            continue  # They are asked to go on for ever.
        words = [ingot.bin / name, word, *(["a.npz", "-o", "s"] if name == "ingot-data" else ["--count", "1"])]
        tries.run(f"{program} {option}={value[:30]!r}", [*words, f"{option}={value}"])
    tries.finish()


@case("hostile-readers")
def readers(ingot):
    """Nobody reads what is printed, or it cannot be written: never status 0 and nothing printed."""
    tries, trainer = Tries(ingot), trainer_of(ingot)
    samples = DIGITS / "eval.npz"
    (tries.folder / "run.jsonl").write_text(
        '{"step": 1, "loss": 2, "lr": 1, "step_ms": 1, "epoch": 1, "elapsed_s": 1}\n'
    )
    commands = [
        [ingot.bin / "ingot-data", "inspect", samples],
        [ingot.bin / "ingot-data", "shard", samples, "-o", tries.folder / "s"],
        [ingot.bin / "ingot-top", "run.jsonl", "--count", "1"],
        [ingot.bin / "ingotc", G.model, *G.compile_flags("adamw"), "--print-pipeline"],
        [trainer, "--inspect"],
        [trainer, "--print-config"],
        [trainer, "--data", G.data, "--diagnose=json"],
    ]
    for command in commands:
        what = f"{command[0].name} {command[1]}"
        for target, wanted in (("/dev/full", 1), ("/dev/null", 0)):
            script = ["bash", "-c", f'"$@" >{target}', "bash", *command]
            tries.run(f"{what} >{target}", script, statuses=(wanted,))
        # A reader that has seen enough is no failure.
        tries.run(f"{what} | true", ["bash", "-c", '"$@" | true; exit ${PIPESTATUS[0]}', "bash", *command],
                  statuses=(0, 141))  # fmt: skip
        tries.run(f"{what} >&-", ["bash", "-c", '"$@" >&- </dev/null', "bash", *command], statuses=(0, 1))
    tries.finish()


@case("hostile-launchers")
def launchers(ingot):
    """Variables of torchrun, MPI and Slurm with values that no launcher sets: refused, or one rank."""
    tries, trainer = Tries(ingot), trainer_of(ingot, "--data-parallel")
    names = ["RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "LOCAL_RANK", "OMPI_COMM_WORLD_RANK",
             "OMPI_COMM_WORLD_SIZE", "PMI_RANK", "PMI_SIZE", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_STEP_ID",
             "TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT"]  # fmt: skip
    values = [*NUMBERS, "1", "x" * 100_000, "\x1b[31m", "localhost", "256.1.1.1", "::1", "[::1]", "0.0.0.0", "/tmp",
              "a" * 300, "no.such.host.invalid", b"\xff"]  # fmt: skip
    rank = {"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "localhost", "MASTER_PORT": "29499"}
    run = [trainer, "--data", G.data, "--steps", "1", "--comm-timeout", "1", "--transport", "tcp"]
    for name, value in some(((n, v) for n in names for v in values), 24):
        alone = run[:5] if name.startswith(("OMPI", "PMI")) else run
        tries.run(f"{name}={value[:30]!r}", alone[:5], env={name: value})
    # Together with the other three, of which the rank is none that there is.
    pairs = [(n, v) for n in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT") for v in values]
    for name, value in some(pairs, 4):
        # A rank that there is waits for the other one, for 20 seconds at least.
        if name != "RANK" or value not in ("0", "-0", "1"):
            env = {**rank, "WORLD_SIZE": "2", "RANK": "5", name: value}
            tries.run(f"of two, {name}={value[:30]!r}", run, env=env, statuses=(0, 1, 2, 3, 4), hints=False)
    for left in some(rank, 4):
        env = {**rank, "WORLD_SIZE": "2", "RANK": "5"}
        env.pop(left)
        tries.run(f"without {left}", run, env=env, statuses=(0, 2))
    tries.finish()


@case("hostile-absences")
def absences(ingot):
    """Variables that are not set, descriptors that are closed, and a folder that is gone."""
    tries, trainer = Tries(ingot), trainer_of(ingot)
    base = [trainer, "--data", G.data, "--steps", "2"]
    commands = [
        [*base, "--tune", "--tune-seconds", "1"],
        [*base, "--log", "l", "--save", "s", "--overwrite"],
        [ingot.bin / "ingotc", G.model, *G.compile_flags("adamw"), "-O0", "--emit", "mlir", "-o", "m.mlir"],
        [ingot.bin / "ingotc", G.model, *G.compile_flags("adamw"), "-O0", "-o", "t"],
        [ingot.bin / "ingot-data", "convert", DIGITS / "eval.npz", "-o", "c.tar"],
        [ingot.bin / "ingot-top", ".", "--count", "1"],
    ]
    unset = [["HOME"], ["XDG_CACHE_HOME"], ["HOME", "XDG_CACHE_HOME"], ["PATH"], ["TMPDIR"], ["USER", "LOGNAME"]]
    scripts = [(" ".join(names), "env " + " ".join(f"-u {n}" for n in names) + ' "$@"') for names in unset]
    scripts += [("everything", 'env -i "$@"'), ("stdin", '"$@" <&-'), ("stderr", '"$@" 2>&-'),
                ("all descriptors", '"$@" <&- >&- 2>&-'),
                ("the folder", 'mkdir -p gone && cd gone && rmdir ../gone && "$@"')]  # fmt: skip
    for (what, script), command in some(((s, c) for s in scripts for c in commands), 10):
        words = ["bash", "-c", script, "bash", *command]
        heard = what not in ("stderr", "all descriptors")
        tries.run(f"without {what}: {command[0].name} {command[-1]}", words, hints=heard)
    tries.finish()


@case("hostile-disks-of-tools")
def disks(ingot):
    """Outputs of tools on a disk that is full, read-only or has no room for names: nothing half written is left."""
    if os.geteuid() != 0 or not shutil.which("unshare"):
        raise Skip("mounts need root")
    tries = Tries(ingot)
    log = tries.folder / "run.jsonl"
    log.write_text(
        "".join(json.dumps({"step": i, "loss": 2, "lr": 1, "step_ms": 1, "epoch": 1, "elapsed_s": i}) + "\n"
                for i in range(1, 400))
    )  # fmt: skip
    samples = DIGITS / "train.npz"
    commands = [
        [ingot.bin / "ingot-data", "convert", samples, "-o", "d/a.tar"],
        [ingot.bin / "ingot-data", "convert", samples, "-o", "d/a.npz"],
        [ingot.bin / "ingot-data", "shard", samples, "-o", "d/s", "--samples", "20"],
        [ingot.bin / "ingot-report", log, "-o", "d/r.html"],
        *([ingot.bin / "ingotc", G.model, *G.compile_flags("adamw"), "-O0", "--emit", "obj", "-o", "m.o", *more]
          for more in (["--report", "d/r.html"], ["--remarks", "d/r.yaml"], ["--dump-passes", "d/passes"])),
    ]  # fmt: skip
    mounts = [f"mount -t tmpfs -o size={size} none d" for size in ("4k", "16k", "64k")]
    mounts += ["mount -t tmpfs -o ro none d", "mount -t tmpfs -o nr_inodes=2 none d"]
    (tries.folder / "d").mkdir()
    probe = subprocess.run(["unshare", "-m", "sh", "-c", mounts[0]], cwd=tries.folder, capture_output=True)
    if probe.returncode:
        raise Skip("may not mount")
    for mount, command in some(((m, c) for m in mounts for c in commands), 6):
        # Shards that were written whole may stay, dumps of passes are many files.
        script = f'{mount} && "$@"; s=$?; ls -A d >left; exit $s'
        what = f"{command[0].name} {command[-1]} with {mount}"
        status = tries.run(what, ["unshare", "-m", "sh", "-c", script, "sh", *command], statuses=(0, 1, 2))
        left = (tries.folder / "left").read_text().split()
        if status and any("tmp" in name or name in ("a.tar", "a.npz", "r.html", "r.yaml") for name in left):
            tries.problems.append(f"{what}: left {left}")
    tries.finish()


@case("hostile-signals-of-tools")
def signals(ingot):
    """Tools that are ended at any time leave what was there, or all of what they make."""
    tries, choose = Tries(ingot), random.Random(SEED)
    samples, out = DIGITS / "train.npz", tries.folder / "out.tar"
    commands = [
        [ingot.bin / "ingot-data", "convert", samples, "-o", out],
        [ingot.bin / "ingotc", G.model, *G.compile_flags("adamw"), "-O0", "-o", out],
        [ingot.bin / "ingotc", G.model, *G.compile_flags("adamw"), "--emit", "llvm", "-o", out],
    ]
    for command in commands[: None if ALL else 1]:
        out.unlink(missing_ok=True)
        ingot.succeed(command)
        whole = out.stat().st_size
        for name in some(["SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGXCPU", "SIGKILL"] * 4, 3):
            number = getattr(signal, name)
            delay = choose.choice([0.005, 0.01, 0.02, 0.05, 0.1, 0.3])
            out.write_bytes(b"precious")

            def after(process, number=number, delay=delay):
                time.sleep(delay)
                process.send_signal(number)

            what = f"{command[0].name} {command[1]}: {name} after {delay} s"
            status = tries.run(what, command, after=after, statuses=(0, -number, 128 + number), hints=False)
            # A signal may come when all is there and the program has not ended yet.
            sizes = [whole] if status == 0 else [8, whole]
            if out.stat().st_size not in sizes and status is not None:
                tries.problems.append(f"{what}: exit {status} with {out.stat().st_size} of {whole} bytes")
            lost = [path for path in tries.folder.iterdir() if "tmp" in path.name and name != "SIGKILL"]
            if lost:
                tries.problems.append(f"{what}: left {lost}")
            for path in lost:
                path.unlink()
    tries.finish()
