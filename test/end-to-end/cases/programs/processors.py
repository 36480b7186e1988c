# SPDX-License-Identifier: Apache-2.0
"""Trainers for several processors: INGOT_MAX_ISA makes this machine one of a lower level."""

import json
import pathlib
import shutil
import sys

from harness import DIGITS, ROOT, Skip, case, check, check_relative, golden, read_log

MODEL = golden("multilabel")
FLAGS = ["--loss", "bce-with-logits", "--batch", "8"]
ONE_STEP = ["--data", MODEL.data, "--steps", "1"]


@case("max-isa-unknown")
def unknown(ingot):
    trainer = ingot.compile(MODEL.model, *FLAGS, "--arch", "x86-64-v2")
    ingot.check_error([trainer, *ONE_STEP], 2, "INGOT_MAX_ISA", "avx3", env={"INGOT_MAX_ISA": "avx3"})
    ingot.check_error(
        ingot.ingotc(MODEL.model, *FLAGS, "-o", ingot.path("other")), 2, "avx3", env={"INGOT_MAX_ISA": "avx3"}
    )


@case("missing-features")
def missing(ingot):
    """A processor that lacks what the trainer was compiled for is named, with what to do about it."""
    trainer = ingot.compile(MODEL.model, *FLAGS, "--arch", "x86-64-v2")
    ingot.check_error([trainer, *ONE_STEP], 1, "this CPU", "sse4.2", env={"INGOT_MAX_ISA": "x86-64"})
    check(ingot.run([trainer, *ONE_STEP], env={"INGOT_MAX_ISA": "x86-64-v2"}).status == 0, "x86-64-v2 does not run")


def has(feature):
    """Whether this machine's CPU has it, by Linux's name."""
    return feature in pathlib.Path("/proc/cpuinfo").read_text().split()


def features(ingot, trainer, level):
    """The features of the module that the trainer takes at a level."""
    text = ingot.run([trainer, "--inspect=json"], env={"INGOT_MAX_ISA": level}).out
    return set(json.loads(text)["features"])


@case("several-processors")
def several(ingot):
    """A trainer takes the steps for the best processor that it runs on, whatever the order they are named in."""
    trainer = ingot.compile(MODEL.model, *FLAGS, "--arch", "x86-64-v2+x86-64-v3")
    check("avx2" not in features(ingot, trainer, "x86-64-v2"), "x86-64-v2: steps for AVX2 were taken")
    one = ingot.compile(MODEL.model, *FLAGS, "--arch", "x86-64-v2")
    losses = {}
    for name, program in (("several", trainer), ("one", one)):
        log = ingot.path(f"{name}.jsonl")
        flags = ["--data", MODEL.data, "--steps", "8", "--seed", "3", "--log", log]
        ingot.succeed([program, *flags], env={"INGOT_MAX_ISA": "x86-64-v2"})
        losses[name] = [line["loss"] for line in read_log(log)[0]]
    check(losses["several"] == losses["one"], f"losses differ: {losses}")
    ingot.check_error([trainer, *ONE_STEP], 1, "this CPU", "sse4.2", env={"INGOT_MAX_ISA": "x86-64"})
    if has("avx2"):
        check("avx2" in features(ingot, trainer, "amx"), "steps for AVX2 were not taken")


@case("processors-mixed")
def mixed(ingot):
    ingot.check_error(
        ingot.ingotc(MODEL.model, *FLAGS, "-o", ingot.path("x"), "--arch", "x86-64-v3+aarch64"), 2, "AArch64"
    )


# Emulated CPUs by the level that they have: one without SSSE3 and SSE4.1, and the first of two levels.
EMULATED = {"qemu64": "x86-64", "Conroe": "x86-64", "Nehalem": "x86-64-v2", "Haswell-noTSX": "x86-64-v3"}
LEVELS = ["x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4"]


@case("emulated-processors")
def emulated(ingot):
    """A trainer runs on a CPU of its level, and is one error line on those below it."""
    emulator = shutil.which("qemu-x86_64-static")
    if not emulator:
        raise Skip("no qemu-x86_64-static (tools/setup --aarch64)")
    model = golden("cnn")
    for arch in LEVELS:
        trainer = ingot.compile(model.model, *model.compile_flags("sgd"), "--arch", arch)
        for cpu, level in EMULATED.items():
            command = [emulator, "-cpu", cpu, trainer, "--data", model.data, "--steps", "2"]
            if LEVELS.index(level) >= LEVELS.index(arch):
                result = ingot.run(command)
                check(result.status == 0, f"{arch} on {cpu}: exit {result.status}: {result.last()}")
            else:
                ingot.check_error(command, 1, "this CPU", "lacks")


def architectures(trainer):
    """The architecture that ELF files name, of a trainer and of its libraries."""
    files = [trainer, *pathlib.Path(f"{trainer}.libs").glob("*")]
    return {int.from_bytes(file.read_bytes()[18:20], "little") for file in files}


def train_on_aarch64(name, model, steps, *flags):
    """Trainers for AArch64, on an emulated CPU, compute what those for x86-64 do."""

    def run(ingot):
        if not (ingot.bin.parent / "lib/ingot/aarch64").exists():
            raise Skip("the runtime for AArch64 is not built (tools/setup --aarch64)")
        emulator = shutil.which("qemu-aarch64-static")
        if not emulator:
            raise Skip("no qemu-aarch64-static")
        data, *flags_of_model = flags
        losses = {}
        for arch, machine, start in (
            ("aarch64", AARCH64, [emulator, "-L", "/usr/aarch64-linux-gnu"]),
            ("x86-64-v2", X86, []),
        ):
            trainer = ingot.compile(model, *flags_of_model, "--arch", arch)
            check(architectures(trainer) == {machine}, f"{arch}: ELF files are for {architectures(trainer)}")
            log = ingot.path("log.jsonl")
            command = [*start, trainer, "--data", data(ingot), "--no-shuffle", "--steps", steps, "--log", log]
            ingot.succeed(command, env={"OMP_NUM_THREADS": "2"})
            losses[arch] = [line["loss"] for line in read_log(log)[0]]
        check_relative("loss", losses["aarch64"], losses["x86-64-v2"], 1e-6)

    case(f"aarch64-{name}")(run)


def license_bytes(ingot):
    """The tree's LICENSE as a token file."""
    path = ingot.path("train.bin")
    command = [sys.executable, ROOT / "docs/examples/bytes/tokens.py", path, ROOT / "LICENSE"]
    ingot.succeed(command)
    return path


AARCH64, X86 = 183, 62
DIGITS_FLAGS = ["--loss", "cross-entropy", "--optimizer", "adamw", "--batch", "32"]
train_on_aarch64("digits", DIGITS / "digits.onnx", 10, lambda ingot: DIGITS / "train.npz", *DIGITS_FLAGS)
BYTES = ROOT / "docs/examples/bytes/bytes.onnx"
train_on_aarch64("bytes", BYTES, 4, license_bytes, "--loss", "cross-entropy", "--batch", "2")
CNN = golden("cnn")
train_on_aarch64("cnn", CNN.model, 10, lambda ingot: CNN.data, *CNN.compile_flags("momentum"))


@case("aarch64-features")
def aarch64_features(ingot):
    """Trainers for a version of AArch64 run where its features are, and take the best of several steps."""
    emulator = shutil.which("qemu-aarch64-static")
    if not emulator or not (ingot.bin.parent / "lib/ingot/aarch64").exists():
        raise Skip("no qemu-aarch64-static, or no runtime for AArch64 (tools/setup --aarch64)")
    start = [emulator, "-L", "/usr/aarch64-linux-gnu", "-cpu"]
    trainer = ingot.compile(MODEL.model, *FLAGS, "--arch", "armv8.2-a+dotprod")
    ingot.succeed([*start, "neoverse-n1", trainer, *ONE_STEP])
    ingot.check_error([*start, "cortex-a53", trainer, *ONE_STEP], 1, "this CPU", "dotprod")
    several = ingot.compile(MODEL.model, *FLAGS, "--arch", "aarch64+neoverse-n1")
    for cpu, has_it in (("cortex-a53", False), ("neoverse-n1", True)):
        text = ingot.succeed([*start, cpu, several, "--inspect=json"]).out
        check(("fullfp16" in json.loads(text)["features"]) == has_it, f"{cpu} took other steps")
    ingot.check_error(ingot.ingotc(MODEL.model, *FLAGS, "-o", ingot.path("x"), "--arch", "armv8.2-a+speed"), 2, "speed")


@case("aarch64-missing")
def missing_aarch64(ingot):
    """Where the runtime for AArch64 was not built, the error says how to."""
    alone = ingot.path("bin") / "ingotc"
    alone.parent.mkdir()
    shutil.copy(ingot.bin / "ingotc", alone)
    command = [alone, MODEL.model, *FLAGS, "-o", ingot.path("x"), "--arch", "aarch64"]
    ingot.check_error(command, 1, "lib/ingot/aarch64", "AArch64")


@case("several-processors-unknown")
def several_unknown(ingot):
    for arch in ("x86-64-v3+x86-64-v9", "x86-64-v3+", "+"):
        ingot.check_error(ingot.ingotc(MODEL.model, *FLAGS, "-o", ingot.path("x"), "--arch", arch), 2)


def train_at(level, name):
    """Steps compiled for a level, and kernels of that level, agree with PyTorch."""
    model = golden(name)
    optimizer = next(iter(model.runs))

    def run(ingot):
        if level == "x86-64-v4" and not has("avx512bw") or level == "x86-64-v3" and not has("avx2"):
            raise Skip(f"this machine is none of {level}")
        trainer = ingot.compile(model.model, *model.compile_flags(optimizer), "--arch", level)
        want = model.runs[optimizer]
        flags = ["--data", model.data, "--no-shuffle", *want["flags"], "--steps", "50"]
        steps, _ = ingot.train(trainer, *flags, env={"INGOT_MAX_ISA": level})
        losses = [s["loss"] for s in steps]
        check_relative("loss", losses[:10], want["losses"][:10], 1e-4)
        check_relative("loss", losses, want["losses"], 1e-3)
        again, _ = ingot.train(trainer, *flags, env={"INGOT_MAX_ISA": level})
        check(losses == [s["loss"] for s in again], "a second run has other losses")

    case(f"level-{level}-{name}")(run)


for each in ("x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4"):
    for model_name in ("mlp", "cnn", "segmentation"):
        train_at(each, model_name)
