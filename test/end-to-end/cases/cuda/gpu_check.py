# SPDX-License-Identifier: Apache-2.0
"""What tools/gpu-check takes along to a machine with a GPU, and what it makes of what it
finds, on fakes (fakes.py)."""

import ast
import importlib
import importlib.util
import json
import re
import shutil
import sqlite3
import sys

import numpy as np
from fakes import trainer
from harness import ROOT, case, check

SCRIPTS = ["check.py", "drawing.py", "report.py", "timeline.py"]


@case("cuda gpu-check takes along what its scripts import")
def scripts(ingot):
    tree = ast.parse((ROOT / "test/gpu/build.py").read_text())
    named = {target.id: node.value for node in tree.body if isinstance(node, ast.Assign) for target in node.targets}
    taken = [ROOT / path for path in ast.literal_eval(named["SCRIPTS"])]
    check([path.name for path in taken if path.parent.name == "gpu"] == SCRIPTS, f"{taken}")
    names = {path.stem for path in taken}
    for path in taken:
        for node in ast.walk(ast.parse(path.read_text())):
            modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            modules += [node.module] if isinstance(node, ast.ImportFrom) else []
            for module in modules:
                is_here = (path.parent / f"{module}.py").exists()
                check(not is_here or module in names, f"{path.name} imports {module}")


@case("cuda gpu-check draws pictures where they are used")
def drawn(ingot):
    sys.path.insert(0, str(ROOT / "test/gpu"))
    path = ingot.path("data") / "pictures.npz"
    importlib.import_module("drawing").draw_data(str(path), [3, 3, 8, 8], 10)
    with np.load(path) as arrays:
        x, labels = arrays["x"], arrays["labels"]
    check(x.shape == (3, 3, 8, 8) and x.dtype == np.float32 and abs(x).max() <= 1, f"{x.shape} {x.dtype}")
    check(x.std() > 0.5 and not np.array_equal(x[0], x[1]), "pictures are alike")
    check(labels.shape == (3,) and labels.dtype == np.int64 and set(labels) <= set(range(10)), f"{labels}")


@case("cuda tests of kernels for a machine with a GPU")
def kernel_cases(ingot):
    _, _, env = trainer(ingot)
    folder = ingot.path("add-O2.so").parent
    ingot.succeed(
        [ingot.bin / "ingot-gpu-cases", ROOT / "test/interpret/elementwise/arithmetic/add.mlir", "-o", folder]
    )
    for level in ["O0", "O2"]:
        name = folder / f"add-{level}"
        ingot.succeed(["ld.lld-22", "-shared", "-o", f"{name}.so", f"{name}.o"])
        log = folder / f"calls-{level}.txt"
        # Fakes compute nothing: the runner has to notice.
        result = ingot.run([ingot.bin / "ingot-gpu-run", f"{name}.so"], env={**env, "INGOT_FAKE_LOG": str(log)})
        lines = [json.loads(line) for line in result.out.splitlines()]
        check(result.status == 1 and len(lines) > 3, f"exit {result.status}, {len(lines)} functions")
        check(any("expected" in line["difference"] for line in lines), "no difference found")
        check("violation" not in log.read_text(), "a call is wrong")


@case("cuda a recorded timeline says what overlaps")
def timeline(ingot):
    def record(steps):
        """Launches at 10, 110, ... with two kernels and a copy of inputs each, as nsys writes them."""
        path = ingot.path("timeline.sqlite")
        base = sqlite3.connect(path)
        base.execute("CREATE TABLE StringIds (id, value)")
        base.execute("CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start, end, nameId, correlationId)")
        base.execute("CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end, correlationId)")
        base.execute("CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start, end, copyKind)")
        base.executemany("INSERT INTO StringIds VALUES (?, ?)", [(1, "cuGraphLaunch"), (2, "cuEventSynchronize")])
        for step, launch in enumerate(steps):
            begin = 100 * step + 50
            base.execute("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, 1, ?)", (launch, launch + 5, step))
            base.execute(
                "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, 2, ?)", (launch + 6, launch + 9, 50 + step)
            )
            base.executemany(
                "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, ?)",
                [(begin, begin + 40, step), (begin + 50, begin + 90, step)],
            )
            # Half of it beside a kernel; the next step's copy within the GPU fills the gap between steps.
            base.execute("INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (?, ?, 1)", (begin + 30, begin + 50))
            base.execute("INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (?, ?, 8)", (begin + 90, begin + 100))
        base.commit()
        return path

    sys.path.insert(0, str(ROOT / "test/gpu"))
    read = importlib.import_module("timeline").read_timeline
    figures, ahead = read(record([10, 60, 160, 260, 360, 460]))
    check(figures["steps_seen"] == 4, f"{figures}")
    check(abs(figures["busy_share_seen"] - (4 * 80 + 3 * 10) / 390) < 1e-9, f"{figures}")
    check(abs(figures["longest_gap_us"] - 0.01) < 1e-9, f"{figures}")
    check(figures["input_copies"] == 4 and figures["input_copies_beside_kernels"] == 0.5, f"{figures}")
    check(ahead == 3 and figures["launched_before_the_last_ended"] == "3 of 3", f"{figures}")
    # One launch waits for the step before.
    figures, ahead = read(record([10, 60, 160, 260, 445, 460]))
    check(ahead == 2, f"{figures}")


def compared(entry):
    """As in a plan, with losses that no trainer has."""
    return {**entry, "flags": [], "losses": [1.0] * 5, "noise": [0.0] * 5}


@case("cuda gpu-check reports what it finds and goes on where it ended")
def gpu_check(ingot):
    mlp, program, env = trainer(ingot)
    folder = ingot.path("plan.json").parent
    for path in (*(ROOT / "test/gpu" / name for name in SCRIPTS), program, mlp.data):
        shutil.copy(path, folder)
    shutil.copytree(f"{program}.libs", folder / f"{program.name}.libs")
    entry = {"name": program.name, "model": "gpt2:8x1024", "precision": "fp32", "data": mlp.data.name}
    plan = {"commit": "x", "arch": "sm_90", "steps": 4, "trainers": [entry], "compared": [compared(entry)]}
    (folder / "plan.json").write_text(json.dumps(plan))
    command = [sys.executable, folder / "check.py", "--only", "losses", "timeline", "--out", folder / "out"]
    first = ingot.run(command, env=env)
    # Fakes compute nothing, which is not the processor's loss.
    report = json.loads((folder / "out/report.json").read_text())["sections"]
    check(first.status == 1 and not report["losses"]["ok"], f"{report}")
    check(
        any("from the processor's loss" in problem for problem in report["losses"]["problems"]), f"{report['losses']}"
    )
    check(report["timeline"]["figures"]["calls"] > 10, f"{report['timeline']}")
    check("FAILED" in (folder / "out/report.md").read_text(), "the report says nothing of a failure")
    second = ingot.run([*command[:-3], "bandwidth", *command[-2:]], env=env)
    check("losses:" not in second.out and "bandwidth:" in second.out, f"{second.out}")


def prepare(ingot, *trainers):
    """A folder as tools/gpu-check makes it, without kernel tests."""
    folder = ingot.path("gpu")
    folder.mkdir()
    for name in SCRIPTS:
        shutil.copy(ROOT / "test/gpu" / name, folder)
    plan = {"commit": "x", "arch": "sm_90", "steps": 4, "trainers": list(trainers)}
    plan["compared"] = [compared(entry) for entry in trainers]
    (folder / "plan.json").write_text(json.dumps(plan))
    return folder


@case("cuda gpu-check finds libraries in Python packages")
def python_packages(ingot):
    mlp, program, env = trainer(ingot)
    folder = prepare(ingot, {"name": program.name, "model": "mlp", "precision": "fp32", "data": mlp.data.name})
    shutil.copy(mlp.data, folder)
    # As the script that builds the folder shares and packs what is compiled.
    programs = ingot.path("packed")
    (programs / "libs").mkdir(parents=True)
    shutil.copy(program, programs)
    shutil.copytree(f"{program}.libs", programs / f"{program.name}.libs")
    load_script("build").share_libraries(str(programs / program.name))
    shutil.make_archive(str(folder / "programs"), "xztar", programs)
    site = ingot.path("site") / "nvidia/cu13"
    site.mkdir(parents=True)
    (site / "lib").symlink_to(env["LD_LIBRARY_PATH"])
    command = [sys.executable, folder / "check.py", "--only", "losses", "--out", folder / "out"]
    ingot.run(command, env={"PYTHONPATH": str(site.parents[1])})
    report = json.loads((folder / "out/report.json").read_text())["sections"]["losses"]
    # The trainer ran, on fakes that compute nothing.
    check(any("from the processor's loss" in problem for problem in report["problems"]), f"{report}")


def load_script(name="check"):
    specification = importlib.util.spec_from_file_location("gpu_check_" + name, ROOT / f"test/gpu/{name}.py")
    sys.path.insert(0, str(ROOT / "test/gpu"))
    script = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(script)
    return script


@case("cuda gpu-check measures what says most first")
def order(ingot):
    script = load_script()
    check(set(script.ORDER) == set(script.SECTIONS), f"{script.ORDER}")
    # The figures of gpt2 fit the first run, whatever the sections before it take.
    until = script.ORDER[: script.ORDER.index("gpt2") + 1]
    seconds = sum(script.SECTIONS[name][1] for name in until)
    check(seconds <= 480, f"{until} may take {seconds} s")
    check(set(until) <= {"machine", "gpt2"}, f"{until}")


@case("cuda gpu-check enforces each bar")
def bars(ingot):
    script = load_script()
    rows = [{"trainer": "t", "ratio": 1.2, "mfu": 0.49}]
    result = script.report_steps(rows, "gpt2:8x1024")
    # One is missed, and one could not be measured.
    check(not result["ok"] and len(result["problems"]) == 2, f"{result}")
    check("mfu is 0.49, asked at least 0.5" in result["problems"][0], f"{result}")
    check("memory is not known, asked at most 0.8" in result["problems"][1], f"{result}")
    met = {"trainer": "t", "ratio": 1.2, "mfu": 0.51, "memory": 0.7}
    check(script.report_steps([met], "gpt2:8x1024")["ok"], "bars that are met")


@case("cuda gpu-check tests all kernels in one process")
def one_process(ingot):
    _, _, env = trainer(ingot)
    folder = prepare(ingot)
    cases = folder / "made/cases"
    cases.mkdir(parents=True)
    names = ["elementwise/arithmetic/add", "elementwise/arithmetic/sub"]
    ingot.succeed([ingot.bin / "ingot-gpu-cases", *[ROOT / f"test/interpret/{n}.mlir" for n in names], "-o", cases])
    for path in list(cases.glob("*.o")):
        ingot.succeed(["ld.lld-22", "-shared", "-o", path.with_suffix(".so"), path])
    starts = ingot.path("starts.txt")
    runner = folder / "made/ingot-gpu-run"
    runner.write_text(f'#!/bin/sh\necho started >> {starts}\nexec {ingot.bin}/ingot-gpu-run "$@"\n')
    runner.chmod(0o755)
    shutil.make_archive(str(folder / "programs"), "xztar", folder / "made")
    command = [sys.executable, folder / "check.py", "--only", "kernels", "--out", folder / "out"]
    ingot.run(command, env=env)
    report = json.loads((folder / "out/report.json").read_text())["sections"]["kernels"]
    check(report["figures"]["libraries"] == "4 of 4" and report["figures"]["functions"] > 8, f"{report}")
    check(starts.read_text() == "started\n", f"{starts.read_text().count('started')} processes")


@case("cuda tests of library calls for a machine with a GPU")
def library_cases(ingot):
    _, _, env = trainer(ingot)
    folder = ingot.path("log.txt").parent
    files = [
        ROOT / "test/interpret" / f"{name}.mlir"
        for name in ["convolution/channels-last", "attention/packed-attention-low", "attention/attention-low"]
    ]
    ingot.succeed([ingot.bin / "ingot-gpu-cases", *files, "-o", folder])
    # Attention in half precision is a call that takes parts of one tensor.
    for name in ["packed-attention-low", "attention-low"]:
        check(b"ingot_attention_grad" in (folder / f"{name}-O2.o").read_bytes(), f"{name}: attention is decomposed")
    name, log = folder / "channels-last-O2", folder / "log.txt"
    ingot.succeed(["ld.lld-22", "-shared", "-o", f"{name}.so", f"{name}.o"])
    ingot.run([ingot.bin / "ingot-gpu-run", f"{name}.so"], env={**env, "INGOT_FAKE_LOG": str(log)})
    lines = re.findall(r"convolution channels (.*)", log.read_text())
    # A convolution and its two gradients, in both orders in f32. In half
    # precisions, of which there are two functions, all get their channels last.
    orders = [lines.count(f"data={order} filter={order} result={order}") for order in ["first", "last"]]
    check(orders == [3, 9] and len(lines) == 12, f"{orders}")
    check("violation" not in log.read_text(), "a call is wrong")
