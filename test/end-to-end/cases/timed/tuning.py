# SPDX-License-Identifier: Apache-2.0
"""--tune of trainers on CPUs, and of ingotc: what is found by measuring."""

import json
import re
import shlex

from harness import DIGITS, Skip, case, check, read_log
from launch import ALONE, mpirun

DATA = DIGITS / "train.npz"
BASE = ["--loss", "cross-entropy", "--optimizer", "adamw"]


def read_losses(path):
    return [row["loss"] for row in read_log(path)[0]]


@case("tune-threads")
def threads(ingot):
    """What is found is said, kept, and what the run uses; its losses are those of a run with these settings."""
    trainer = ingot.compile(DIGITS / "digits.onnx", *BASE, "--batch", "32")
    kept, log = ingot.path("tuned.txt"), ingot.path("log.jsonl")
    command = [trainer, "--data", DATA, "--steps", "10", f"--tune={kept}", "--tune-seconds", "15", "--log", log]
    said = ingot.succeed(command).err
    measured = re.findall(r"^ +(\S.*\S) +([\d.]+) ms a step$", said, re.M)
    check(measured and measured[0][0] == "as it is", said)
    chosen = re.search(r"^tune: (?!measures )(.*)$", said, re.M)
    check(chosen, said)
    check(len(read_losses(log)) == 10, "the run was not made")
    if "so that nothing is kept" in said:
        check("other processes took" in said and not kept.exists(), said)
        raise Skip("other processes take the machine")
    # Later runs take it from the file.
    again = ingot.succeed(command).err
    check("kept from an earlier run" in again and "as it is" not in again.replace("run as it is", ""), again)
    check("tuned 1" in kept.read_text(), kept.read_text())
    # So does one with another choice in it, and its losses are those of these settings.
    line = kept.read_text().splitlines()[1].rsplit("\t", 1)[0]
    kept.write_text(f"ingot tuned 1\n{line}\t9 3 0 OMP_NUM_THREADS=1 --workers=1\n")
    tuned = ingot.succeed(command)
    check("OMP_NUM_THREADS=1 --workers=1: 3.000 ms a step instead of 9.000, 67% less" in tuned.err, tuned.err)
    check("CPU, 1 thread" in tuned.err, tuned.err)
    got = read_losses(log)
    config = log.with_name(log.name + ".toml").read_text()
    check(re.search(r"^workers = \"?1\"?$", config, re.M), config)
    ingot.succeed([trainer, "--data", DATA, "--steps", "10", "--log", log], env={"OMP_NUM_THREADS": "1"})
    check(got == read_losses(log), "other losses than with these settings")
    # A damaged line sets nothing: it is measured again.
    kept.write_text(f"ingot tuned 1\n{line}\t9 3 0 LD_PRELOAD=x\n")
    said = ingot.succeed(command).err
    check("LD_PRELOAD" not in said and "as it is" in said, said)
    # Nor is what the user has set measured.
    said = ingot.succeed([*command, "--workers", "0", "--prefetch", "4"], env={"OMP_NUM_THREADS": "1"}).err
    check("OMP_NUM_THREADS=" not in said and "--workers=" not in said, said)


@case("tune-buckets")
def buckets(ingot):
    """Two ranks join buckets in the first steps, keep what was fastest, and compute the same sums all the while."""
    trainer = ingot.compile(DIGITS / "digits.onnx", *BASE, "--batch", "32", "--data-parallel", "--bucket-mb", "0.01")
    kept, log = ingot.path("tuned.txt"), ingot.path("log.jsonl")
    plain = [*mpirun(2), trainer, "--data", DATA, "--steps", "450", "--log", log]
    command = [*plain, f"--tune={kept}", "--tune-seconds", "2"]
    said = ingot.succeed(command, env=ALONE).err
    found = re.search(r"tune: (\d+) buckets of [\d.]+ MiB are joined in turns", said)
    check(found and int(found[1]) > 2, said)
    measured = re.findall(r"^ +buckets (as they are|joined to [\d.]+ MiB) +([\d.]+) ms a step$", said, re.M)
    check(len(measured) >= 3 and measured[0][0] == "as they are", said)
    check(re.search(r"^tune: (nothing is faster than|buckets joined to [\d.]+ MiB: )", said, re.M), said)
    tuned = read_losses(log)
    ingot.succeed(plain, env=ALONE)
    # Two numbers have the same sum in either order.
    check(tuned == read_losses(log), "joined buckets give other losses")
    again = ingot.succeed(command, env=ALONE).err
    check("kept from an earlier run: buckets" in again and "in turns" not in again, again)
    # Another choice in the file is what the run uses; no choice is measured again.
    line = next(line for line in kept.read_text().splitlines() if "\tbuckets " in line).rsplit("\t", 1)[0]
    kept.write_text(f"ingot tuned 1\n{line}\t{10 << 20}\n")
    said = ingot.succeed(command, env=ALONE).err
    check("kept from an earlier run: buckets joined to 10.0 MiB" in said, said)
    check(tuned == read_losses(log), "joined buckets give other losses")
    kept.write_text(f"ingot tuned 1\n{line}\tx\n")
    said = ingot.succeed([*command, "--steps", "10"], env=ALONE).err
    check("in turns" in said and "the run was too short" in said, said)
    # Shards are not joined.
    sharded = ingot.compile(DIGITS / "digits.onnx", *BASE, "--batch", "32", "--data-parallel", "--zero", "1")
    said = ingot.succeed([*mpirun(2), sharded, "--data", DATA, "--steps", "10", f"--tune={kept}"], env=ALONE).err
    check("fewer than two buckets that could be joined" in said, said)


def table(said):
    """The rows of ingotc's table, and its command line."""
    lines = said.splitlines()
    at = next(i for i, line in enumerate(lines) if line.split()[:1] == ["samples"])
    return [line.split(None, 5) for line in lines[at + 1 : -1]], shlex.split(lines[-1])


@case("tune-batch-within-memory")
def batch(ingot):
    """The batch fits the memory, recomputed where it would not, and the command line printed makes that trainer."""
    out = ingot.path("tuned")
    limit = 3 << 20
    flags = [DIGITS / "digits.onnx", *BASE, "--tune", "--tune-seconds", "20", "--fit", limit, "-o", out]
    rows, line = table(ingot.succeed(ingot.ingotc(*flags)).out)
    measured = [row for row in rows if re.fullmatch(r"[\d.]+", row[3])]
    check(1 <= len(measured) <= 3, f"measured {measured}")
    check(all(float(row[1]) * (1 << 20) <= limit * 1.001 for row in rows), f"too large: {rows}")
    best = max(measured, key=lambda row: float(row[4]))
    check(set(best[5].split()) <= set(line), f"{line} is not of {best}")
    check("--tune" not in line and "--fit" not in line, f"{line}")
    plan = json.loads(ingot.succeed([out, "--inspect=json"]).out)
    check(plan["peak_bytes"] <= limit, f"{plan['peak_bytes']} bytes")
    size = plan["inputs"][0]["shape"][0]
    check(f"--batch={size}" in line, f"{line}, batch {size}")
    ingot.succeed(line)
    check(json.loads(ingot.succeed([out, "--inspect=json"]).out) == plan, "the command line makes another trainer")
    ingot.succeed([out, "--data", DATA, "--steps", "3"])


@case("tune-global-batch")
def global_batch(ingot):
    """Micro-batches and their number make up the samples of a step; precision only where it is named."""
    flags = [DIGITS / "digits.onnx", *BASE, "--global-batch", "48", "--tune-seconds", "20", "--tune-data", DATA]
    rows, line = table(ingot.succeed(ingot.ingotc(*flags, "--tune")).out)
    check(len(rows) >= 5 and all(row[0] == "48" for row in rows), f"{rows}")
    check(not any("precision" in word or "loss-chunks" in word for word in line), f"{line}")
    values = dict(word.split("=") for word in line if "=" in word)
    check(int(values["--batch"]) * int(values.get("--grad-accumulation", 1)) == 48, f"{line}")
    rows, _ = table(ingot.succeed(ingot.ingotc(*flags, "--tune=precision,chunks")).out)
    options = " ".join(row[5] for row in rows)
    check("--precision=bf16" in options and "--loss-chunks=1" in options, options)
