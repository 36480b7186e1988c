# SPDX-License-Identifier: Apache-2.0
"""What --diagnose says of runs that are slow for one reason, and of runs that are not."""

import json
import os
import re
import shutil
import subprocess

import numpy as np
import onnx
import onnx.parser
from harness import Skip, case, check, golden
from launch import ALONE, compile_for, slow_disk
from onnx import numpy_helper
from pictures import png

MLP = """<ir_version: 9, opset_import: ["" : 20]>
mlp (float[N, 256] x) => (float[N, 10] y) {
  h = MatMul(x, w1)
  r = Relu(h)
  y = MatMul(r, w2)
}"""
PICTURES = """<ir_version: 9, opset_import: ["" : 20]>
pictures (float[N, 3, 16, 16] image) => (float[N, 4] y) {
  shape = Constant<value = int64[2] {-1, 768}>()
  flat = Reshape(image, shape)
  y = MatMul(flat, w)
}"""
# Kernels of one thread: other work on the machine delays them less.
ONE = {"OMP_NUM_THREADS": "1"}


def build(ingot, text, *flags, **shapes):
    key = " ".join(map(str, ("diagnosed", text, *flags, shapes)))
    if key not in ingot.trainers:
        model = onnx.parser.parse_model(text)
        source = np.random.default_rng(3)
        for name, shape in shapes.items():
            array = (source.standard_normal(shape) * 0.05).astype(np.float32)
            model.graph.initializer.append(numpy_helper.from_array(array, name))
        path = ingot.path("model.onnx")
        onnx.save(model, path)
        ingot.trainers[key] = ingot.compile(path, "--loss", "cross-entropy", "--optimizer", "adamw", *flags)
    return ingot.trainers[key]


def mlp(ingot, batch, *flags, hidden=1024):
    """A trainer, and data for it."""
    data = ingot.path("data.npz")
    source = np.random.default_rng(4)
    x = source.standard_normal((1024, 256)).astype(np.float32)
    np.savez(data, x=x, labels=np.arange(1024) % 10)
    return build(ingot, MLP, "--batch", str(batch), *flags, w1=(256, hidden), w2=(hidden, 10)), data


def diagnose(ingot, command, env=None, wanted=None):
    """What is found. Other work on the machine delays threads: with much of it, up to three runs are made until the
    cause that is wanted comes first, or nothing is found without one, and then nothing can be said."""
    for _ in range(3):
        result = json.loads(ingot.succeed([*command, "--diagnose=json"], env=env or ONE).out)
        parts = sum(value for name, value in result.items() if name.endswith("_ms") and name != "step_ms")
        check(abs(parts - result["step_ms"]) < 0.05 * result["step_ms"], f"the parts are not the step: {result}")
        causes = [finding["cause"] for finding in result["findings"]]
        if causes[:1] == ([wanted] if wanted else []) or result["others"] < 0.2:
            return result
    raise Skip(f"other work takes {result['others']:.0%} of the machine, and delays what is measured")


def check_cause(result, cause, advice=None):
    findings = result["findings"]
    check(findings, f"nothing found: {result}")
    check(findings[0]["cause"] == cause, f"{cause} was called {findings}")
    if advice:
        check(advice in json.dumps(findings[0]), f"no {advice}: {findings[0]}")
    check("gain" not in findings[0] or 0 < findings[0]["gain"] < 1, f"gains {findings[0]}")


@case("diagnose-nothing")
def nothing(ingot):
    """Runs of three kinds whose steps are compute, and what does not change: outputs are left alone."""
    trainer, data = mlp(ingot, 512)
    log, save = ingot.path("log.jsonl"), ingot.path("save")
    log.write_text("kept")
    base = [trainer, "--data", data, "--log", log, "--export", ingot.path("out.onnx")]
    for flags in ([], ["--workers", "1"], ["--save", save]):
        result = diagnose(ingot, [*base, *flags])
        check(result["findings"] == [], f"{flags}: a false alarm: {result}")
        check(10 <= result["steps"] <= 40, f"{result['steps']} steps")
    said = ingot.succeed([*base, "--diagnose"], env=ONE).out
    check("nothing to gain" in said, said)
    check(log.read_text() == "kept", "the log was written")
    check(sorted(os.listdir(log.parent)).count("out.onnx") == 0, "the model was exported")
    check(not list(save.parent.glob("save*")), "checkpoints are left")
    ingot.check_error([trainer, "--data", data, "--diagnose=what"], 2, "--diagnose", "not known")
    ingot.check_error([trainer, "--diagnose"], 2, "--data")


@case("diagnose-saves")
def saves(ingot):
    """Checkpoints after every step; what is advised makes steps faster, as predicted."""
    trainer, data = mlp(ingot, 64)
    command = [trainer, "--data", data, "--save", ingot.path("save"), "--save-every", "1"]
    check_cause(diagnose(ingot, command, wanted="frequent saves"), "frequent saves", "--save-every")
    said = ingot.succeed([*command, "--diagnose=apply"], env=ONE).out
    found = re.search(r"with --save-every \d+: .* ([-\d]+)% less \((\d+)% predicted\)", said)
    check(found, said)
    check(int(found[1]) >= 0.6 * int(found[2]), f"gained {found[1]}%, predicted {found[2]}%")


@case("diagnose-threads")
def threads(ingot):
    trainer, data = mlp(ingot, 256)
    cores = len(os.sched_getaffinity(0))
    result = diagnose(
        ingot, [trainer, "--data", data], env={"OMP_NUM_THREADS": str(4 * cores)}, wanted="too many threads"
    )
    check_cause(result, "too many threads", "OMP_NUM_THREADS")


@case("diagnose-batch")
def batch(ingot):
    trainer, data = mlp(ingot, 1, hidden=16384)
    result = diagnose(ingot, [trainer, "--data", data], wanted="small batch")
    check_cause(result, "small batch", "--batch")


@case("diagnose-machine-profile")
def profile(ingot):
    """Figures of a machine a hundred times slower, with which kernels were chosen."""
    machine = ingot.path("machine.json")
    machine.write_text('{"matmul_f32": 1e8, "vector_f32": 1e7, "memory_bandwidth": 1e7, "cache_bandwidth": 1e7}')
    trainer, data = mlp(ingot, 512, "--machine", machine)
    result = diagnose(ingot, [trainer, "--data", data], wanted="wrong machine profile")
    check_cause(result, "wrong machine profile", "measured")


@case("diagnose-decoding")
def decoding(ingot):
    """Large pictures, which one thread decodes."""
    trainer = build(ingot, PICTURES, "--batch", "16", w=(768, 4))
    folder, source = ingot.path("pictures"), np.random.default_rng(5)
    picture = png(source.integers(0, 255, (256, 256, 3), dtype=np.uint8))
    for i in range(64):
        (folder / f"class{i % 4}").mkdir(parents=True, exist_ok=True)
        (folder / f"class{i % 4}/{i:03d}.png").write_bytes(picture)
    recipe = "image=decode,resize:16,normalize:0.5:0.5"
    result = diagnose(ingot, [trainer, "--data", folder, "--input", recipe, "--workers", "1"], wanted="slow decoding")
    check_cause(result, "slow decoding")


@case("diagnose-storage")
def storage(ingot):
    """A disk of 8 MB/s, and pictures that are in no cache; without the limit it is not found."""
    trainer = build(ingot, PICTURES, "--batch", "16", w=(768, 4))
    folder, source = ingot.path("pictures"), np.random.default_rng(5)
    for i in range(45 * 16):
        (folder / f"class{i % 4}").mkdir(parents=True, exist_ok=True)
        (folder / f"class{i % 4}/{i:03d}.png").write_bytes(png(source.integers(0, 255, (128, 128, 3), dtype=np.uint8)))
    recipe = "image=decode,resize:16,normalize:0.5:0.5"
    command = [str(trainer), "--data", str(folder), "--input", recipe, "--workers", "1", "--diagnose=json"]

    def forget():
        for path in folder.glob("*/*"):
            with path.open("rb") as file:
                os.fsync(file.fileno())
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)

    with slow_disk(folder, read=8 << 20) as shell:
        for _ in range(3):
            forget()
            result = json.loads(ingot.succeed([*shell, *command], env=ONE).out)
            if result["others"] < 0.2 or [f["cause"] for f in result["findings"]][:1] == ["slow storage"]:
                break
        else:
            raise Skip(f"other work takes {result['others']:.0%} of the machine, and delays what is measured")
        check_cause(result, "slow storage")
    forget()
    result = json.loads(ingot.succeed(command, env=ONE).out)
    check("slow storage" not in [finding["cause"] for finding in result["findings"]], f"a false alarm: {result}")


@case("diagnose-link")
def link(ingot):
    """A link of 50 Mbit/s between two ranks; without the limit it is not found."""
    if not all(shutil.which(tool) for tool in ("mpirun", "unshare", "tc", "ip")):
        raise Skip("mpirun, unshare, ip and tc are not all there")
    shape = "ip link set lo up && tc qdisc add dev lo root tbf rate 50mbit burst 100kb latency 50ms"
    if subprocess.run(["unshare", "-n", "sh", "-c", shape], capture_output=True).returncode != 0:
        raise Skip("may not make a link of its own")
    g = golden("mlp")
    trainer = compile_for(ingot, g, "adamw", 2)
    run = (
        "exec mpirun --allow-run-as-root --oversubscribe --mca btl tcp,self --mca btl_tcp_if_include lo -n 2"
        f" {trainer} --data {g.data} --diagnose=json"
    )
    result = json.loads(ingot.succeed(["unshare", "-n", "sh", "-c", f"{shape} && {run}"], env=ALONE).out)
    check_cause(result, "slow link", "--grad-comm")
