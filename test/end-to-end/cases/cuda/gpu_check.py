# SPDX-License-Identifier: Apache-2.0
"""What tools/gpu-check takes along to a machine with a GPU, and what it makes of what it
finds, on fakes (fakes.py)."""

import ast
import importlib
import importlib.util
import json
import re
import shutil
import sys

import numpy as np
from fakes import trainer
from harness import ROOT, case, check

FOLDER = ROOT / "test/gpu/check"
SCRIPTS = sorted(path.name for path in FOLDER.glob("*.py"))


@case("cuda gpu-check takes along what its scripts import")
def scripts(ingot):
    tree = ast.parse((ROOT / "test/gpu/build.py").read_text())
    named = {target.id: node.value for node in tree.body if isinstance(node, ast.Assign) for target in node.targets}
    taken = [ROOT / path for path in ast.literal_eval(named["SCRIPTS"])]
    check([path.name for path in taken if path.parent == FOLDER] == SCRIPTS, f"{taken}")
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
    sys.path.insert(0, str(FOLDER))
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


def load(name):
    """A module of the scripts that run on a machine with a GPU."""
    sys.path.insert(0, str(FOLDER))
    return importlib.import_module(name)


def write_trace(path, steps, kernels):
    """A trace of steps that begin at 0, 100, ...: kernels are (number, name, track, begin, time, bytes)."""
    events = []
    for step in range(steps):
        for number, name, track, begin, time, count in kernels:
            args = {"function": "train_step", "kernel": number, "bytes": count, "flops": 0}
            events.append(
                {"name": name, "cat": "loop", "tid": track, "ts": 100 * step + begin, "dur": time, "args": args}
            )
        args = {"function": "train_step"}
        events.append({"name": "train_step", "cat": "function", "tid": 0, "ts": 100 * step, "dur": 95, "args": args})
    path.write_text(json.dumps({"otherData": {"times": "times of recorded steps"}, "traceEvents": events}))


@case("cuda gpu-check tells kernels of one node apart, and what overlaps")
def traces(ingot):
    path = ingot.path("trace.json")
    # Two kernels of one node, of which one moves ten times as much.
    kernels = [(4, "head", 0, 0, 10, 1000), (5, "head", 0, 20, 40, 10000), (6, "update", 3, 30, 40, 500)]
    write_trace(path, 3, kernels)
    script = load("traces")
    steps, times = script.read_steps(path)
    rows = script.list_calls(steps)
    check(times == "times of recorded steps" and [len(step) for step in steps] == [3, 3, 3], f"{times} {steps}")
    found = [(row["kernel"], row["name"], row["us"], row["bytes"], row["beside"]) for row in rows]
    check(found == [(4, "head", 10, 1000, 0), (5, "head", 40, 10000, 0), (6, "update", 40, 500, 1)], f"{found}")
    step = script.describe_step(steps)
    # From 0 to 70, of which 10 to 20 is a gap, and 30 to 60 has two.
    expected = {"first_to_last_ms": 0.07, "busy_ms": 0.06, "sum_ms": 0.09, "longest_gap_us": 10}
    check(all(abs(step[key] - value) < 1e-9 for key, value in expected.items()), f"{step}")


@case("cuda gpu-check's archive of traces can be read wherever it ends")
def archive(ingot):
    out, work = ingot.path("out"), ingot.path("work")
    kept = load("kept").Kept(str(out), str(work))
    for name in ("a.json", "b.json"):
        (work / name).write_text(name * 1000)
        kept.add_trace(str(work / name))
    data = (out / "traces.tar.gz").read_bytes()
    for length in (len(data), len(data) - 20):
        path = ingot.path("cut.tar.gz")
        path.write_bytes(data[:length])
        listed = ingot.run(["tar", "-xzf", path, "-C", work, "--to-stdout", "a.json"])
        check(listed.out == "a.json" * 1000, f"{length} bytes: {listed.err}")
    # What has no room is named.
    (work / "c.json").write_bytes(np.random.default_rng(0).bytes(16 << 20))
    kept.add_trace(str(work / "c.json"))
    check(kept.left_out == ["c.json"], f"{kept.left_out}")


def compared(entry):
    """As in a plan, with losses that no trainer has."""
    return {**entry, "flags": [], "losses": [1.0] * 5, "noise": [0.0] * 5}


def prepare(ingot, *trainers, **plan):
    """A folder as tools/gpu-check makes it, without kernel tests."""
    folder = ingot.path("gpu")
    folder.mkdir()
    for name in SCRIPTS:
        shutil.copy(FOLDER / name, folder)
    shutil.copy(ROOT / "docs/gpu/peers.json", folder)
    rest = {
        "profiled": [],
        "swept": [],
        "sanitized": [],
        "variants": [],
        "slower": 1,
        "most_steps": 8,
        "least_bytes": 1 << 10,
    }
    plan = {"commit": "x", "arch": "sm_90", **rest, **plan, "trainers": list(trainers)}
    plan["compared"] = [compared(entry) for entry in trainers]
    (folder / "plan.json").write_text(json.dumps(plan))
    return folder


def prepare_trainer(ingot, model, **plan):
    """The same with a trainer that runs; the environment of its runs."""
    mlp, program, env = trainer(ingot)
    folder = prepare(ingot, {"name": program.name, "model": model, "precision": "fp32", "data": mlp.data.name}, **plan)
    for path in (program, mlp.data):
        shutil.copy(path, folder)
    shutil.copytree(f"{program}.libs", folder / f"{program.name}.libs")
    return folder, program.name, env


def run_check(ingot, folder, *flags, env=None):
    result = ingot.run([sys.executable, folder / "check.py", "--out", folder / "out", *flags], env=env)
    return result, json.loads((folder / "out/report.json").read_text())


@case("cuda gpu-check reports what it finds and goes on where it ended")
def gpu_check(ingot):
    folder, name, env = prepare_trainer(ingot, "gpt2:8x1024")
    plan = json.loads((folder / "plan.json").read_text())
    (folder / "plan.json").write_text(json.dumps({**plan, "profiled": [name]}))
    first, report = run_check(ingot, folder, "--only", "losses", "recorded", env=env)
    report = report["sections"]
    # Fakes compute nothing, which is not the processor's loss.
    check(first.status == 1 and not report["losses"]["ok"], f"{report}")
    check(
        any("from the processor's loss" in problem for problem in report["losses"]["problems"]), f"{report['losses']}"
    )
    check(report["recorded"]["ok"] and report["recorded"]["rows"][0]["calls"] > 5, f"{report['recorded']}")
    check("FAILED" in (folder / "out/report.md").read_text(), "the report says nothing of a failure")
    check((folder / "out/calls.csv").read_text().count(name) > 5, "no calls are kept")
    check((folder / "out/traces.tar.gz").exists(), "no trace is kept")
    second, _ = run_check(ingot, folder, "--only", "losses", "recorded", "algorithms", env=env)
    check("losses:" not in second.out and "algorithms:" in second.out, f"{second.out}")


@case("cuda gpu-check compares variants in turns, and leaves out what does not fit")
def variants(ingot):
    options = [
        {"name": "two", "env": {}},
        {"name": "one", "env": {"INGOT_CUDA_STREAMS": "1"}},
        {"name": "broken", "env": {"INGOT_FAKE_FAIL": "cuInit"}},
    ]
    folder, name, env = prepare_trainer(ingot, "mlp")
    plan = json.loads((folder / "plan.json").read_text())
    plan["variants"] = [{"name": "streams", "steps": 3, "options": [{**o, "trainer": name} for o in options]}]
    (folder / "plan.json").write_text(json.dumps(plan))
    _, report = run_check(ingot, folder, "--only", "streams", "candidates", "kernels", "--limit", "25", env=env)
    rows = report["sections"]["streams"]["rows"]
    check([row["variant"] for row in rows] == ["two", "one"] and rows[1]["verdict"], f"{rows}")
    check(any("broken" in problem for problem in report["sections"]["streams"]["problems"]), f"{report}")
    table = (folder / "out/steps.csv").read_text().splitlines()
    turns = [line.split(",")[1:3] for line in table if line.split(",")[3] == "0"]
    check(turns == [["two", "0"], ["one", "0"], ["one", "1"], ["two", "1"]], f"{turns}")
    # The folder has none; and there is less time than it takes.
    check("no trainers" in report["sections"]["candidates"]["skipped"], f"{report}")
    _, report = run_check(ingot, folder, "--only", "streams", "losses", "--again", "--limit", "3", env=env)
    check("run check.py again" in report["sections"]["losses"]["skipped"], f"{report}")


@case("cuda gpu-check takes PyTorch's figures where they are kept")
def peers(ingot):
    folder, _, env = prepare_trainer(ingot, "mlp")
    tools = ingot.path("tools")
    tools.mkdir()
    smi = tools / "nvidia-smi"
    smi.write_text("#!/bin/sh\necho 'NVIDIA H100 80GB HBM3, 580.1, 81559 MiB, 1980 MHz'\n")
    smi.chmod(0o755)
    env = {**env, "PATH": f"{tools}:/usr/bin:/bin"}
    _, report = run_check(ingot, folder, "--only", "machine", "steps-mlp", "steps-gpt-mini", env=env)
    row = report["sections"]["steps-mlp"]["rows"][0]
    check(row["compile_ms"] == 1.1465 and row["eager_ms"] == 0.8048 and "kept" in row["pytorch"], f"{row}")
    figures = report["sections"]["machine"]["figures"]
    check(figures["gpu"] == "NVIDIA H100 80GB HBM3" and "fakes" in figures["libcupti.so.13"], f"{figures}")
    # Of another GPU there are none.
    smi.write_text(smi.read_text().replace("H100", "H900"))
    _, report = run_check(ingot, folder, "--only", "machine", "steps-mlp", "--again", env=env)
    row = report["sections"]["steps-mlp"]["rows"][0]
    check("no PyTorch" in row["compile_problem"] and "ratio" not in row, f"{row}")


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


def load_script(name):
    specification = importlib.util.spec_from_file_location("gpu_check_" + name, ROOT / f"test/gpu/{name}.py")
    script = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(script)
    return script


@case("cuda gpu-check measures what chooses between designs first, in half of its time")
def order(ingot):
    script = load("check")
    check(set(script.ORDER) == set(script.SECTIONS), f"{script.ORDER}")
    check(script.ORDER[0] == "machine" and set(script.ORDER[: len(script.CHOOSE)]) == set(script.CHOOSE), script.ORDER)
    # Nine minutes in all.
    named = [script.SECTIONS[name][1] for name in script.CHOOSE]
    check(sum(named) <= 400, f"what chooses may take {sum(named)} s")
    least = [script.SECTIONS[name][2] for name in script.CHOOSE + script.CONFIRM]
    check(sum(least) <= 540, f"at least {sum(least)} s")


@case("cuda gpu-check enforces each bar")
def bars(ingot):
    script = load("peers")
    rows = [{"trainer": "t", "ratio": 1.5, "mfu": 0.44}]
    result = script.report_steps(rows, "gpt2:8x1024")
    # One is missed, and one could not be measured.
    check(not result["ok"] and len(result["problems"]) == 2, f"{result}")
    check("mfu is 0.44, the goal is at least 0.45" in result["problems"][0], f"{result}")
    check("memory is not known, the goal is at most 0.8" in result["problems"][1], f"{result}")
    met = {"trainer": "t", "ratio": 1.5, "mfu": 0.46, "memory": 0.7}
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


@case("cuda gpu-check's designs can be chosen when a trainer is run")
def designs(ingot):
    _, _, fakes = trainer(ingot)
    machine, data = ingot.path("machine.json"), ingot.path("train.bin")
    # So that regions concurrent with other calls are worth it in a small model.
    machine.write_text('{"multiprocessors": 2, "launch_seconds": 1e-9}')
    ingot.succeed([sys.executable, ROOT / "docs/examples/bytes/tokens.py", data, ROOT / "LICENSE"])
    flags = ["--loss", "cross-entropy:2", "--batch", "2", "--precision", "fp8"]
    flags += ["--data-parallel", "--target", "cuda", "--machine", machine]
    program = ingot.compile(ROOT / "docs/examples/bytes/bytes.onnx", *flags)

    def calls(*more, **settings):
        log = ingot.path("calls.txt")
        cache = {"XDG_CACHE_HOME": str(ingot.path("cache"))}
        env = {**fakes, "INGOT_FAKE_LOG": str(log), "OMP_NUM_THREADS": "1", **cache, **settings}
        ingot.succeed([program, "--data", data, "--steps", "2", *more], env=env)
        lines = log.read_text().splitlines()
        check(not [line for line in lines if line.startswith("violation")], f"{settings}: violations")
        return lines

    def priorities(lines):
        return [line.split()[1] for line in lines if line.startswith("cuStreamCreateWithPriority")]

    def products(lines):
        """Of each 8-bit matmul whether it is fast, and how many multiprocessors it has; by its operands' types."""
        found = [re.search(r"fast=(\d) on=(\d+) operands=(\d+),(\d+)", line) for line in lines]
        return {(match[3] + "," + match[4], int(match[1]), int(match[2])) for match in found if match}

    off = "--tune=off"
    plain = calls(off)
    check(priorities(plain) == ["-5", "-5", "0"], f"{priorities(plain)}")
    check({(fast, on) for _, fast, on in products(plain)} == {(0, 0)}, f"{products(plain)}")
    check(not any(line.startswith("nccl") for line in plain), "one rank exchanges")
    one = calls(off, INGOT_CUDA_STREAMS="1")
    check(priorities(one) == ["-5", "-5"], f"one stream: {priorities(one)}")
    equal = calls(off, INGOT_CUDA_PRIORITIES="0")
    check(priorities(equal) == ["-5", "-5", "-5"], f"equal: {priorities(equal)}")
    # 28 is e4m3, which both operands are in the forward pass.
    forward = products(calls(off, INGOT_CUDA_FAST_ACCUMULATION="forward"))
    check(("28,28", 1, 0) in forward and {fast for types, fast, _ in forward if types != "28,28"} == {0}, f"{forward}")
    fast = products(calls(off, INGOT_CUDA_FAST_ACCUMULATION="all"))
    check({is_fast for types, is_fast, _ in fast if set(types.split(",")) <= {"28", "29"}} == {1}, f"{fast}")
    beside = {on for _, _, on in products(calls(off, INGOT_CUDA_SIDE_MULTIPROCESSORS="112"))}
    check(beside == {0, 112}, f"multiprocessors: {beside}")
    alone = calls(off, INGOT_NCCL_ALONE="1")
    check("ncclCommInitRank rank=0 of=1" in alone, "one rank does not exchange with itself")
    begin, end = (alone.index(f"cuStream{what}Capture") for what in ("Begin", "End"))
    check(any(line.startswith("ncclAllReduce") for line in alone[begin:end]), "no exchange in the recorded step")
    times = ingot.path("times.txt")
    calls(INGOT_TUNE_CANDIDATES="2", INGOT_TUNE_TIMES=str(times))
    rows = [line.split(";") for line in times.read_text().splitlines()]
    matmuls = [row for row in rows if row[0].startswith("matmul ")]
    check(matmuls and {row[1] for row in matmuls} == {"0", "1"}, f"{rows[:3]}")
    check(all(len(row) == 4 and float(row[3]) >= 0 for row in rows), f"{rows[:3]}")
