# SPDX-License-Identifier: Apache-2.0
"""Libraries (--emit lib): what C programs do with them, and what they do to their processes."""

import os
import re
import shutil

import numpy as np
from cases.runs.deployment import check_old_glibc
from harness import HERE, ROOT, Skip, case, check, golden, read_log

SOURCES = HERE / "embed"
# The names without a version belong to packages that the build does not need.
LLVM_VERSION = re.search("^LLVM_VERSION=(.+)$", (ROOT / "tools/versions.env").read_text(), re.MULTILINE)[1]
CLANG, CLANG_CPP = f"clang-{LLVM_VERSION}", f"clang++-{LLVM_VERSION}"
STRICT = ["-Wall", "-Wextra", "-Werror", "-pedantic"]
ENV = {"OMP_NUM_THREADS": "2"}
STEPS = 6


def compile_library(ingot, model, flags, name, suffix=".so"):
    """A library of the model, shared or static."""
    key = ("library", name, str(model), tuple(flags), suffix)
    if key not in ingot.trainers:
        library = ingot.path(f"lib{name}{suffix}")
        ingot.succeed(ingot.ingotc(model, "--emit", "lib", "-o", library, *flags))
        ingot.trainers[key] = library
    return ingot.trainers[key]


def golden_library(ingot, name, suffix=".so"):
    g = golden(name)
    return compile_library(ingot, g.model, g.compile_flags("adamw"), name, suffix)


def build(ingot, source, library, *flags, other=None):
    """A program of a source and a library, or of two static ones, with warnings as errors."""
    program = ingot.path(source.stem)
    name = library.stem.removeprefix("lib")
    cpp = source.suffix == ".cpp"
    if library.suffix == ".a":
        link = [library, *([other] if other else []), "-ldl"]
    else:
        link = [f"-L{library.parent}", f"-l{name}", f"-Wl,-rpath,{library.parent}"]
    ingot.succeed([
        "c++" if cpp else "cc", "-std=c++17" if cpp else "-std=gnu99", "-O1", *STRICT, "-Wno-unused-function",
        f"-I{library.parent}", f"-I{SOURCES}", f"-DMODEL={name}_model", *flags, source, "-o", program, *link,
        "-lm", "-lpthread",
    ])  # fmt: skip
    return program


def write_batches(ingot, g, inputs, batch):
    """The samples of a golden in the order of a library's inputs, as its programs read them."""
    folder = ingot.path("inputs")
    folder.mkdir()
    with np.load(g.data) as arrays:
        for i, name in enumerate(inputs):
            whole = len(arrays[name]) // batch * batch
            (folder / f"{i}.bin").write_bytes(np.ascontiguousarray(arrays[name][:whole]).tobytes())
    return folder


def losses(result):
    return [line for line in result.out.splitlines() if not line.startswith("state")]


def trainer_run(ingot, g, steps, *flags):
    """The losses of the trainer and the model that it exports."""
    trainer = ingot.compile(g.model, *g.compile_flags("adamw"))
    exported = ingot.path("trainer.onnx")
    rows, _ = ingot.train(
        trainer, "--data", g.data, "--no-shuffle", "--steps", steps, "--export", exported, *flags,
        env=ENV,
    )  # fmt: skip
    return [row["loss"] for row in rows], exported.read_bytes()


def same_losses(what, got, want):
    got = [np.float32(value) for value in got]
    check(got == [np.float32(value) for value in want], f"{what}: {got}, expected {want}")


@case("library-losses")
def library_losses(ingot):
    """A C program takes the trainer's steps, to the bit, and each resumes the other's checkpoint."""
    g = golden("cnn")
    library = golden_library(ingot, "cnn")
    folder = write_batches(ingot, g, ("x", "labels"), g.batch)
    program = build(ingot, SOURCES / "losses.c", library)
    saved, exported = ingot.path("saved"), ingot.path("library.onnx")
    whole = ingot.succeed([program, folder, STEPS, exported, saved], env=ENV)
    want, model = trainer_run(ingot, g, STEPS)
    same_losses("losses", losses(whole), want)
    check(exported.read_bytes() == model, "the exported model differs from the trainer's")
    # A trainer goes on with the library's checkpoint, and the library with a trainer's.
    trainer = ingot.compile(g.model, *g.compile_flags("adamw"))
    data = ["--data", g.data, "--no-shuffle"]
    more, theirs = ingot.path("more.onnx"), ingot.path("theirs")
    ingot.succeed([trainer, "--data", g.data, "--steps", 2 * STEPS, "--resume", saved, "--export", more], env=ENV)
    ingot.succeed([trainer, *data, "--steps", STEPS, "--save", theirs], env=ENV)
    exported = ingot.path("resumed.onnx")
    again = ingot.succeed([program, folder, STEPS, exported, theirs, theirs], env=ENV)
    check(f"steps {2 * STEPS}" in again.out, again.out)
    all_losses, model = trainer_run(ingot, g, 2 * STEPS)
    same_losses("losses after resuming", losses(again), all_losses[STEPS:])
    check(exported.read_bytes() == model, "the resumed library's model differs from the trainer's")
    plan = ingot.succeed([trainer, "--inspect=json"]).out
    state, arena = map(int, re.search(r"state (\d+) arena (\d+)", whole.out).groups())
    peak = int(re.search(r'"peak_bytes": ?(\d+)', plan).group(1))
    check(peak == state + arena, f"--inspect says {peak}, the library {state} and {arena}")


@case("library-pruned")
def library_pruned(ingot):
    """A library prunes what the trainer does, after the same steps, and goes on from its checkpoint."""
    g = golden("cnn")
    flags = [*g.compile_flags("adamw"), "--prune", "0.7,schedule=2:9:2"]
    library, trainer = compile_library(ingot, g.model, flags, "pruned"), ingot.compile(g.model, *flags)
    folder = write_batches(ingot, g, ("x", "labels"), g.batch)
    program = build(ingot, SOURCES / "losses.c", library)
    run, theirs = ["--data", g.data, "--no-shuffle", "--steps"], ingot.path("theirs")
    ingot.succeed([trainer, *run, STEPS, "--save", theirs], env=ENV)
    for steps, start in ((STEPS, []), (2 * STEPS, [theirs, theirs])):
        exported, want = ingot.path(f"library-{steps}.onnx"), ingot.path(f"trainer-{steps}.onnx")
        ingot.succeed([program, folder, STEPS, exported, *start], env=ENV)
        ingot.succeed([trainer, *run, steps, "--export", want], env=ENV)
        check(exported.read_bytes() == want.read_bytes(), f"the model after {steps} steps differs from the trainer's")


@case("library-manners")
def library_manners(ingot):
    """Opened often, forked, with counted allocations: the process is as before, and nothing is printed."""
    g = golden("mlp")
    library = golden_library(ingot, "mlp")
    folder = write_batches(ingot, g, ("x", "labels"), g.batch)
    times = 1000 if os.environ.get("INGOT_THOROUGH") else 200
    result = ingot.succeed([build(ingot, SOURCES / "manners.c", library), folder, times], env=ENV)
    check(not result.out and not result.err, f"prints {result.out + result.err!r}")
    g, other = golden("cnn"), golden_library(ingot, "cnn")
    inputs = write_batches(ingot, g, ("x", "labels"), g.batch)
    ingot.succeed([build(ingot, SOURCES / "manners.c", other), inputs, 3], env=ENV)
    empty = ingot.path("empty")
    empty.mkdir()
    result = ingot.succeed([build(ingot, SOURCES / "hostile.c", library), folder, empty], env=ENV)
    check(not result.out and not result.err, f"prints {result.out + result.err!r}")
    ingot.succeed([build(ingot, SOURCES / "values.cpp", library), folder], env=ENV)


@case("library-threads")
def library_threads(ingot):
    """Two sessions in two threads, and two models in a process, compute what each does alone."""
    runs, folders = {}, {}
    for name in ("mlp", "cnn"):
        g = golden(name)
        library = golden_library(ingot, name)
        folders[name] = write_batches(ingot, g, ("x", "labels"), g.batch)
        alone = build(ingot, SOURCES / "losses.c", library)
        runs[name] = losses(ingot.succeed([alone, folders[name], STEPS, ingot.path("x.onnx")], env=ENV))
    library, other = golden_library(ingot, "mlp"), golden_library(ingot, "cnn")
    two = build(ingot, SOURCES / "threads.c", library)
    got = ingot.succeed([two, folders["mlp"], STEPS], env=ENV).out.splitlines()
    check(got == 2 * runs["mlp"], f"{got}, expected twice {runs['mlp']}")
    flags = ["-DOTHER=cnn_model", f"-L{other.parent}", "-Wl,--no-as-needed", "-lcnn", f"-Wl,-rpath,{other.parent}"]
    both = build(ingot, SOURCES / "threads.c", library, *flags)
    got = ingot.succeed([both, folders["mlp"], STEPS, folders["cnn"]], env=ENV).out.splitlines()
    check(got == runs["mlp"] + runs["cnn"], f"{got}, expected {runs}")


@case("library-reloads")
def library_reloads(ingot):
    """Loaded, used and unloaded a hundred times: no thread, file or mapping is left."""
    g = golden("mlp")
    library = golden_library(ingot, "mlp")
    folder = write_batches(ingot, g, ("x", "labels"), g.batch)
    program = ingot.path("reload")
    ingot.succeed([
        "cc", "-std=gnu99", "-O1", "-Wall", "-Wno-unused-function", f"-I{library.parent}",
        SOURCES / "reload.c", "-o", program, "-ldl",
    ])  # fmt: skip
    result = ingot.succeed([program, library, "mlp_model", folder, 100], env=ENV)
    check(not result.out and not result.err, f"prints {result.out + result.err!r}")


@case("library-static")
def library_static(ingot):
    """Two static libraries in a program compute what each does alone; C++ and static programs have them, too."""
    runs, folders, libraries = {}, {}, {}
    for name in ("mlp", "cnn"):
        g = golden(name)
        libraries[name] = golden_library(ingot, name, ".a")
        folders[name] = write_batches(ingot, g, ("x", "labels"), g.batch)
        alone = build(ingot, SOURCES / "losses.c", libraries[name], "-Wl,--gc-sections")
        runs[name] = losses(ingot.succeed([alone, folders[name], STEPS, ingot.path("x.onnx")], env=ENV))
        same_losses(name, runs[name], trainer_run(ingot, g, STEPS)[0])
    both = build(
        ingot, SOURCES / "threads.c", libraries["mlp"], "-DOTHER=cnn_model", "-fuse-ld=lld",
        f"-B/usr/lib/llvm-{LLVM_VERSION}/bin", other=libraries["cnn"],
    )  # fmt: skip
    got = ingot.succeed([both, folders["mlp"], STEPS, folders["cnn"]], env=ENV).out.splitlines()
    check(got == runs["mlp"] + runs["cnn"], f"{got}, expected {runs}")
    ingot.succeed([build(ingot, SOURCES / "values.cpp", libraries["mlp"]), folders["mlp"]], env=ENV)
    empty = ingot.path("empty")
    empty.mkdir()
    whole = build(ingot, SOURCES / "hostile.c", libraries["mlp"], "-static", "-Wl,--eh-frame-hdr")
    result = ingot.succeed([whole, folders["mlp"], empty], env=ENV)
    check(not result.out and not result.err, f"prints {result.out + result.err!r}")
    # The sidecar of weights is beside the program.
    g = golden("mlp")
    flags = [*g.compile_flags("adamw"), "--weights", "sidecar"]
    library = compile_library(ingot, g.model, flags, "apart", ".a")
    program = build(ingot, SOURCES / "losses.c", library)
    command = [program, folders["mlp"], STEPS, ingot.path("x.onnx")]
    result = ingot.run(command, env=ENV)
    check(result.status == 1 and f"{program}.safetensors" in result.err, result.err)
    shutil.copy(f"{library}.safetensors", f"{program}.safetensors")
    check(losses(ingot.succeed(command, env=ENV)) == runs["mlp"], "other losses with a sidecar")


def declared_calls():
    header = (ROOT / "runtime/embed/include/ingot.h").read_text()
    return set(re.findall(r"^INGOT_API [^;]*?(ingot_\w+)\(", header, re.MULTILINE))


@case("library-symbols")
def library_symbols(ingot):
    """The library exports the functions of ingot.h alone, and asks for nothing new or unusual."""
    library, archive = golden_library(ingot, "mlp"), golden_library(ingot, "mlp", ".a")
    declared = declared_calls()
    for what, *command in ((library, "nm", "-D", "--defined-only"), (archive, "nm", "-g", "--defined-only")):
        lines = ingot.succeed([*command, what]).out.splitlines()
        exported = {line.split()[-1] for line in lines if len(line.split()) == 3}
        check(len(declared) >= 20 and exported == declared | {"mlp_model"}, f"{what}: {exported ^ declared}")
    check_old_glibc(ingot, library)
    check(library.stat().st_size < 6 << 20, f"{library.stat().st_size} bytes")


@case("library-aarch64")
def library_aarch64(ingot):
    """A library for AArch64, on an emulated CPU, gives the losses of its trainer to the bit."""
    emulator = shutil.which("qemu-aarch64-static")
    if not emulator or not (ingot.bin.parent / "lib/ingot/aarch64").exists():
        raise Skip("no qemu-aarch64-static, or no runtime for AArch64 (tools/setup --aarch64)")
    g = golden("mlp")
    flags = [*g.compile_flags("adamw"), "--arch", "aarch64"]
    folder = write_batches(ingot, g, ("x", "labels"), g.batch)
    start = [emulator, "-L", "/usr/aarch64-linux-gnu"]
    log = ingot.path("log.jsonl")
    trainer = ingot.compile(g.model, *flags)
    ingot.succeed([*start, trainer, "--data", g.data, "--no-shuffle", "--steps", STEPS, "--log", log], env=ENV)
    for suffix in (".so", ".a"):
        library = compile_library(ingot, g.model, flags, "mlp_aarch64", suffix)
        if suffix == ".so":
            check_old_glibc(ingot, library)
        program = ingot.path("losses")
        ingot.succeed([
            CLANG, "--target=aarch64-linux-gnu", "-fuse-ld=lld", "-O1", *STRICT, "-Wno-unused-function",
            f"-I{library.parent}", "-DMODEL=mlp_aarch64_model", SOURCES / "losses.c", "-o", program,
            library, f"-Wl,-rpath,{library.parent}", "-lm", "-ldl",
        ])  # fmt: skip
        got = ingot.succeed([*start, program, folder, STEPS, ingot.path("x.onnx")], env=ENV)
        same_losses(f"losses of {library.name}", losses(got), [row["loss"] for row in read_log(log)[0]])


@case("library-cuda")
def library_cuda(ingot):
    """Libraries for GPUs, shared and static, take the steps of their trainer, from any thread, and leave no trace."""
    if not (ingot.bin.parent / "lib/fakes/libcuda.so.1").exists():
        raise Skip("no software GPU: CUDA's headers were not there")
    gpu, g = ROOT / "tools/software-gpu", golden("mlp")
    flags = [*g.compile_flags("adamw"), "--target", "cuda"]
    folder = write_batches(ingot, g, ("x", "labels"), g.batch)
    trainer, log, model = ingot.compile(g.model, *flags), ingot.path("log.jsonl"), ingot.path("trainer.onnx")
    data = ["--data", g.data, "--no-shuffle", "--steps", STEPS, "--log", log, "--export", model]
    ingot.succeed([gpu, trainer, *data], env=ENV)
    want = [row["loss"] for row in read_log(log)[0]]
    for suffix in (".so", ".a"):
        library = compile_library(ingot, g.model, flags, "mlp_cuda", suffix)
        exported = ingot.path("library.onnx")
        program = build(ingot, SOURCES / "losses.c", library)
        got = ingot.succeed([gpu, program, folder, STEPS, exported], env=ENV)
        same_losses(library.name, losses(got), want)
        check(exported.read_bytes() == model.read_bytes(), f"{library.name}: another model than the trainer's")
    library = compile_library(ingot, g.model, flags, "mlp_cuda")
    check_old_glibc(ingot, library)
    check(not library.with_name(f"{library.name}.libs").exists(), "the library takes something along")
    # Both sessions record and launch graphs at the same time.
    two = build(ingot, SOURCES / "threads.c", library)
    for seed in range(4):
        got = ingot.succeed([gpu, "--seed", seed, two, folder, STEPS], env=ENV).out.splitlines()
        same_losses("losses in two threads", got, 2 * want)


@case("library-headers")
def library_headers(ingot):
    """The headers are C99 and C++17 without a warning, also for names that C does not have."""
    import onnx
    from onnx import TensorProto, helper

    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        [helper.make_node("Gemm", ["class", "w 0", "é*/b"], ["results"])], "g",
        [value("class", TensorProto.FLOAT, ["n", 3])], [value("results", TensorProto.FLOAT, ["n", 2])],
        [
            helper.make_tensor("w 0", TensorProto.FLOAT, [3, 2], [0.5] * 6),
            helper.make_tensor("é*/b", TensorProto.FLOAT, [2], [0.0, 0.0]),
        ],
    )  # fmt: skip
    model = ingot.path("odd.onnx")
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8), model)
    flags = ["--loss", "cross-entropy", "--optimizer", "momentum", "--batch", "2", "--grad-accumulation", "2"]
    odd = compile_library(ingot, model, flags, "2-odd names")
    check((odd.parent / "model_2_odd_names.h").exists(), f"{list(odd.parent.iterdir())}")
    for library in (odd, golden_library(ingot, "cnn")):
        header = next(p.name for p in library.parent.glob("*.h") if p.name != "ingot.h")
        source = ingot.path("use.c")
        calls = "" if library != odd else (
            "ingot_status step(ingot_session *s, const float *x, const int64_t *l, double *r) {\n"
            "  r[MODEL_2_ODD_NAMES_STEP_RESULT_LOSS] = 0;\n"
            "  return model_2_odd_names_step(s, x, l, r);\n}\n"
            "float x[MODEL_2_ODD_NAMES_GRAD_ACCUMULATION * MODEL_2_ODD_NAMES_BATCH];\n"
        )  # fmt: skip
        source.write_text(f'#include "{header}"\n{calls}int main(void) {{ return 0; }}\n')
        include = f"-I{library.parent}"
        for command in (
            ["cc", "-std=c99"], ["cc", "-std=c11"], ["c++", "-xc++", "-std=c++17"], ["c++", "-xc++", "-std=c++20"],
            [CLANG, "-std=c99"], [CLANG_CPP, "-xc++", "-std=c++17"],
        ):  # fmt: skip
            ingot.succeed([*command, *STRICT, include, "-fsyntax-only", source])
        source.write_text(f'#include "ingot.hpp"\n#include "{header}"\n')
        ingot.succeed(["c++", "-xc++", "-std=c++17", *STRICT, include, "-fsyntax-only", source])


@case("library-refusals")
def library_refusals(ingot):
    """What a library cannot be is wrong usage, and files of others stay."""
    g = golden("mlp")
    base = [g.model, "--emit", "lib", *g.compile_flags("adamw")]
    folder = ingot.path("out")
    folder.mkdir()
    for words, text in (
        (["-o", folder / "mlp"], "libNAME.so"),
        (["-o", folder / "libmlp.so", "--data-parallel"], "one process"),
    ):
        result = ingot.run(ingot.ingotc(*base, *words))
        check(result.status == 2 and text in result.err and "hint:" in result.err, f"{words}: {result.err}")
    (folder / "ingot.h").write_text("mine")
    result = ingot.run(ingot.ingotc(*base, "-o", folder / "libmlp.so"))
    check(result.status == 2 and "ingot.h" in result.err, f"{result.status}: {result.err}")
    check([p.name for p in folder.iterdir()] == ["ingot.h"], f"left behind: {list(folder.iterdir())}")
    # The sidecar of weights is found beside the library.
    library = compile_library(ingot, g.model, [*g.compile_flags("adamw"), "--weights", "sidecar"], "apart")
    inputs = write_batches(ingot, g, ("x", "labels"), g.batch)
    program = build(ingot, SOURCES / "losses.c", library)
    got = ingot.succeed([program, inputs, 2, ingot.path("x.onnx")], env=ENV)
    same_losses("losses with a sidecar", losses(got), trainer_run(ingot, g, 2)[0])
    library.with_name("libapart.so.safetensors").unlink()
    result = ingot.run([program, inputs, 2, ingot.path("x.onnx")], env=ENV)
    check(result.status == 1 and "weights are missing" in result.err, result.err)
