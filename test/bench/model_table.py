# SPDX-License-Identifier: Apache-2.0
"""tools/bench --models: real models at real sizes against PyTorch, one record each in a file of lines.

A model that has a record of this compiler, processor, level and precision is not run again, so that a run that was
stopped goes on where it was. --minutes starts no model after so long, and no program takes longer than LIMIT.
test/models/models.py --report makes a table of the records.
"""

import hashlib
import json
import os
import time

import bench
import real_models

LIMIT = 900
RECORDS = os.path.join(bench.ROOT, "test", "models", "speed.jsonl")


def digest(folder):
    """Of the compiler, and of the runtime that it links."""
    found = hashlib.sha256()
    paths = [os.path.join(folder, "ingotc")]
    for place, _, names in os.walk(os.path.join(os.path.dirname(folder), "lib", "ingot")):
        paths += [os.path.join(place, name) for name in names]
    for path in sorted(paths):
        with open(path, "rb") as file:
            found.update(file.read())
    return found.hexdigest()[:12]


def generation(vendor, family, model):
    """AMD's name of a microarchitecture with AVX-512, which virtual machines leave out of the processor's name."""
    if vendor != "AuthenticAMD":
        return ""
    if family == 26:
        return " (Zen 5)"
    return " (Zen 4)" if family == 25 and (model in range(0x10, 0x20) or model >= 0x60) else ""


def processor():
    """What the table calls this machine."""
    with open("/proc/cpuinfo") as file:
        pairs = [line.split(":", 1) for line in file if ":" in line]
    values = {key.strip(): value.strip() for key, value in reversed(pairs)}
    name = values.get("model name", "unknown")
    numbers = [int(values.get(key, 0)) for key in ("cpu family", "model")]
    name += generation(values.get("vendor_id"), *numbers)
    level = next((label for level, (label, _) in reversed(bench.LEVELS.items()) if bench.has(level)), "baseline")
    return f"{name} with {level}, {len(os.sched_getaffinity(0))} threads"


def read(path):
    """The last record of each model on each processor, at each level and precision."""
    if not os.path.exists(path):
        return {}
    with open(path) as file:
        records = [json.loads(line) for line in file if line.strip()]
    return {(r["model"], r["processor"], r["level"], r["precision"]): r for r in records}


def run(options):
    names = options.models or list(real_models.MODELS)
    for name in names:
        if name not in real_models.MODELS:
            bench.fail(name, "no such model", "one of " + ", ".join(real_models.MODELS))
    path = options.records or RECORDS
    compiler, machine, end = digest(options.bin), processor(), time.monotonic() + 60 * options.minutes
    level = options.arch or "native"
    bench.LIMIT = LIMIT
    for name in names:
        bench.STEPS[name] = real_models.MODELS[name][1]
        before = read(path).get((name, machine, level, options.precision))
        if before and before["compiler"] == compiler and "ratio" in before:
            print(f"{name}: {before['ratio']:.2f}, measured before", flush=True)
            continue
        if time.monotonic() > end:
            print(f"{name}: not measured, {options.minutes:g} minutes are over", flush=True)
            continue
        record = {"model": name, "title": real_models.MODELS[name][2], "processor": machine, "level": level}
        record |= {"precision": options.precision, "compiler": compiler}
        try:
            record |= bench.Bench(options).model(name)
            print(f"{name}: {summary(record)}", flush=True)
        except SystemExit as error:
            record["reason"] = str(error).splitlines()[0]
            print(f"{name}: {record['reason']}", flush=True)
        with open(path, "a") as file:
            file.write(json.dumps(record) + "\n")


def summary(record):
    """Our milliseconds and, unless no mode of PyTorch was asked for, its own and the ratio."""
    own, ratio = record["ingot_ms"], record.get("ratio")
    return f"{own:.4g} ms" + (f", PyTorch {own * ratio:.4g}: {ratio:.2f}" if ratio else "")
