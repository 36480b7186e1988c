# SPDX-License-Identifier: Apache-2.0
"""Sections of check.py that say whether what the GPU computes is right."""

import glob
import json
import os
import re
import shutil
import signal
import subprocess
import time

from runner import Skip, section

# Relative to the processor's losses, or this many times what these differ from each other with other orders of sums.
LOSS_TOLERANCE = {"fp32": 1e-3, "bf16": 2e-2, "fp16": 2e-2, "fp8": 2e-2}
LOSS_NOISE = 4
# The first version of NCCL in which ranks can share a GPU.
FIRST_TO_SHARE = 23000


def find_cases(check, ending):
    """The libraries of kernel tests whose names end so."""
    return sorted(glob.glob(os.path.join(check.find("cases"), "*" + ending)))


@section("Every op's kernels against the interpreter, twice with the same bits", 90, 20)
def kernels(check):
    rest = {os.path.basename(path)[:-3]: path for path in find_cases(check, ".so")}
    total, lines, problems = len(rest), [], []
    # One process for all libraries, as starting CUDA takes a second. A crash costs one library.
    while rest:
        output, problem = check.read_lines(check.find("ingot-gpu-run"), *rest.values())
        done = []
        for line in map(json.loads, output):
            name = os.path.basename(line["library"])[:-3]
            done.append(name)
            lines.append({**line, "case": f"{name}/{line['case']}"})
        if not problem:
            break
        if problem == "timeout":
            problems.append(f"out of time in {done[-1] if done else 'the first library'}")
            break
        # The last one that has a line may have crashed after it.
        crashed = next((name for name in rest if name not in done), done[-1] if done else next(iter(rest)))
        problems.append(f"{crashed}: {problem}")
        for name in [*done, crashed]:
            rest.pop(name, None)
    failed = [f"{line['case']}: {line['difference']}" for line in lines if not line["ok"]]
    notes = sorted({note for line in lines for note in line.get("notes", [])})
    return {
        "ok": bool(lines) and not failed and not problems,
        "figures": {
            "libraries": f"{len({line['library'] for line in lines})} of {total}",
            "functions": len(lines),
            "failed": len(failed),
            "notes": "; ".join(notes) or "none",
        },
        "problems": problems + failed,
    }


@section("Losses of 20 steps against the processor's trainer, twice with the same bits", 90, 15)
def losses(check):
    rows, problems = [], []
    for trainer in check.plan["compared"]:
        if rows and check.left() < 6:
            problems.append(f"out of time before {trainer['name']}")
            break
        name, expected, flags = trainer["name"], trainer["losses"], trainer["flags"]
        try:
            first = [line["loss"] for line in check.train(trainer, len(expected), *flags)]
            second = [line["loss"] for line in check.train(trainer, len(expected), *flags)]
            plain = [line["loss"] for line in check.train(trainer, 5, *flags, env={"INGOT_CUDA_GRAPH": "0"})]
        except (RuntimeError, Skip) as error:
            problems.append(f"{name}: {error}")
            continue
        off = [abs(a - b) / max(abs(b), 1e-3) for a, b in zip(first, expected)]
        allowed = [max(LOSS_TOLERANCE[trainer["precision"]], LOSS_NOISE * noise) for noise in trainer["noise"]]
        row = {"trainer": name, "step_2": off[1], "step_5": off[4], "worst": max(off), "noise": max(trainer["noise"])}
        rows.append({**row, "last": first[-1], "expected": expected[-1]})
        # Not a number is not within a bound.
        for step, (a, b) in enumerate(zip(off, allowed)):
            if not a <= b:
                problems.append(f"{name}: {a:.3g} from the processor's loss at step {step + 1}, allowed {b:.3g}")
                break
        if first != second:
            problems.append(f"{name}: other bits in the second run")
        if second[:5] != plain[: len(second)]:
            problems.append(f"{name}: other bits without the graph")
    return {"ok": bool(rows) and not problems, "rows": rows, "problems": problems}


def launch_ranks(check, trainer, ranks, steps, *flags):
    """The words of a command that starts ranks which share this GPU, and the path of their log."""
    command, log = check.command(trainer, steps, *flags)
    mpirun = shutil.which("mpirun")
    if not mpirun:
        raise Skip("two ranks: no mpirun")
    settings = {
        # One GPU for all, of which each takes a few multiprocessors.
        "CUDA_VISIBLE_DEVICES": os.environ.get("CUDA_VISIBLE_DEVICES", "0"),
        "NCCL_MULTI_RANK_GPU_ENABLE": "1",
        "NCCL_MAX_CTAS": "1",
        "NCCL_NVLS_ENABLE": "0",
    }
    words = [word for item in settings.items() for word in ("-x", "=".join(item))]
    return [mpirun, "--allow-run-as-root", "--oversubscribe", *words, "-n", str(ranks), *command], log


def kill_a_rank(check, trainer):
    """Ends one of two ranks in the middle of a run; returns what the other says."""
    command, log = launch_ranks(check, trainer, 2, 100000, "--comm-timeout", 20 * check.plan["slower"])
    run = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        # In the middle of a run, as its log shows.
        while check.left() > 5 and run.poll() is None and not (os.path.exists(log) and os.path.getsize(log)):
            time.sleep(0.2)
        children = subprocess.run(["pgrep", "-P", str(run.pid)], capture_output=True, text=True).stdout.split()
        if len(children) < 2:
            run.kill()
            raise RuntimeError(f"{len(children)} ranks run: {run.communicate()[1].strip()[-300:]}")
        os.kill(int(children[-1]), signal.SIGKILL)
        _, said = run.communicate(timeout=max(5, min(30, check.left())))
    except subprocess.TimeoutExpired:
        raise RuntimeError("the other rank does not end when one is killed") from None
    finally:
        run.kill()
        run.communicate()
    return said


@section("Exchanges by NCCL: one rank within its graph, then two on this GPU", 50, 10)
def exchanges(check):
    trainers = check.named([check.plan["exchanging"]])
    if not trainers:
        raise Skip("the folder has no trainer for it")
    trainer, figures, problems = trainers[0], {}, []
    flags, steps = trainer["flags"], len(trainer["losses"])
    plain = [line["loss"] for line in check.train(trainer, steps, *flags)]
    alone = [line["loss"] for line in check.train(trainer, steps, *flags, env={"INGOT_NCCL_ALONE": "1"})]
    figures["one rank"] = "the same losses" if alone == plain else "other losses"
    if alone != plain:
        problems.append(f"one rank: {alone[-1]} with NCCL, {plain[-1]} without")
    try:
        if check.nccl < FIRST_TO_SHARE:
            raise Skip(f"two ranks: NCCL {check.nccl or 'unknown'}, which lets no ranks share a GPU")
        # Each rank has half of the samples, then half of each layer.
        for what, each in (("two ranks", trainer), ("a mesh of two", check.plan["meshed"])):
            command, log = launch_ranks(check, each, 2, steps, *each["flags"])
            check.run(*command, timeout=60)
            with open(log) as file:
                both = [json.loads(line)["loss"] for line in file]
            off = max(abs(a - b) / max(abs(b), 1e-3) for a, b in zip(both, each["rank_losses"]))
            figures[what] = f"within {off:.3g} of two ranks of processors"
            if not off <= LOSS_TOLERANCE[each["precision"]]:
                problems.append(f"{what}: {off:.3g} from the losses of two ranks of processors")
        said = kill_a_rank(check, trainer)
        # The other one says where it was.
        is_named = re.search(r"(error|warning): rank [0-9]+, step [0-9]+", said)
        figures["a killed rank"] = "is noticed" if is_named else "is not noticed"
        if not is_named:
            problems.append(f"a killed rank: {said.strip()[-200:]}")
    except Skip as skip:
        figures["two ranks"] = f"did not run: {skip}"
    except RuntimeError as error:
        problems.append(str(error))
    return {"ok": not problems, "figures": figures, "problems": problems}


@section("compute-sanitizer on trainers and kernels", 90, 15)
def sanitizer(check):
    tool = shutil.which("compute-sanitizer") or "/usr/local/cuda/bin/compute-sanitizer"
    if not os.path.exists(tool):
        raise Skip("no compute-sanitizer on this machine")
    figures, problems, some = {}, [], 8
    # Of trainers, kernels and calls as they follow each other; of the others each op by itself.
    for kind in ("memcheck", "racecheck", "initcheck"):
        done = 0
        for trainer in check.named(check.plan["sanitized"]):
            if check.left() < 8:
                break
            before = [tool, "--tool", kind, "--error-exitcode", "7"]
            flags = [*trainer["flags"], "--tune=off"]
            try:
                command, _ = check.command(trainer, 3, *flags)
                result = check.run(*before, *command, timeout=40, check=False)
            except Skip as skip:
                problems.append(f"{kind}: {trainer['name']}: {skip}")
                continue
            if result.returncode == 7:
                problems.append(f"{kind}: {trainer['name']}: {result.stdout.strip()[-600:]}")
            elif result.returncode:
                problems.append(f"{kind}: {trainer['name']}: {result.stderr.strip()[-300:]}")
            done += 1
        figures[kind] = f"{done} trainers"
    libraries = find_cases(check, "-O2.so")
    for kind in ("memcheck", "racecheck"):
        covered = 0
        while covered < len(libraries) and check.left() > 8:
            part = libraries[covered : covered + some]
            try:
                result = check.run(
                    tool, "--tool", kind, "--error-exitcode", "7", check.find("ingot-gpu-run"), *part, check=False
                )
            except Skip:
                break
            if result.returncode == 7:
                names = ", ".join(os.path.basename(path) for path in part)
                problems.append(f"{kind}: {names}: {result.stdout.strip()[-400:]}")
            covered += len(part)
        figures[kind] += f", {covered} of {len(libraries)} libraries"
    return {"ok": not problems, "figures": figures, "problems": problems}
