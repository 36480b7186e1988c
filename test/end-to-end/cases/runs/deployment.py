# SPDX-License-Identifier: Apache-2.0
"""The trainer as a thing to carry around: what it links, where it runs."""

import json
import os
import pathlib
import re
import shutil

import numpy as np
import onnx
import onnxruntime
from cases.training.transformer import EXAMPLE
from cases.training.transformer import FLAGS as BYTES_FLAGS
from harness import DIGITS, Skip, case, check, check_close, golden, initializers, read_log

BYTES = EXAMPLE / "bytes.onnx"
FORBIDDEN = ("python", "llvm", "mlir", "cuda", "cudnn", "cublas", "nccl", "torch", "not found")
SYSTEM = ("/lib/", "/lib64/", "/usr/lib/", "/usr/lib64/")


def shared_libraries(ingot, program):
    """Lines of ldd as (name, resolved path or None)."""
    for line in ingot.succeed(["ldd", program]).out.splitlines():
        name, arrow, path = line.strip().partition(" => ")
        yield name.split()[0], path.split(" (")[0] if arrow else None


@case("links-little")
def links_little(ingot):
    g = golden("cnn")
    trainer = ingot.compile(g.model, *g.compile_flags("adamw"))
    for program in [trainer, *sorted(trainer.with_name("trainer.libs").glob("*"))]:
        listing = ingot.succeed(["ldd", program]).out
        for word in FORBIDDEN:
            check(word not in listing.lower(), f"{program.name} links {word}:\n{listing}")


@case("runs-after-a-move")
def runs_after_a_move(ingot):
    """A trainer and its libraries in another folder, nothing of the build reachable."""
    g = golden("cnn")
    built = ingot.compile(g.model, *g.compile_flags("adamw"), "--data-parallel")
    moved = ingot.path("moved/here/trainer")
    moved.parent.mkdir(parents=True)
    shutil.copy2(built, moved)
    libraries = built.with_name("trainer.libs")
    shutil.copytree(libraries, moved.with_name("trainer.libs"), symlinks=True)
    hidden = libraries.with_name("hidden.libs")
    libraries.rename(hidden)
    try:
        for name, path in shared_libraries(ingot, moved):
            if path is None:
                continue
            inside = pathlib.Path(path).resolve().is_relative_to(moved.parent)
            check(inside or path.startswith(SYSTEM), f"{name} comes from {path}")
        env = {"LD_LIBRARY_PATH": "", "PATH": "/nowhere"}
        steps, _ = ingot.train(moved, "--data", g.data, "--no-shuffle", "--steps", "3", env=env)
        check(len(steps) == 3, f"{len(steps)} steps in the log")
    finally:
        hidden.rename(libraries)


@case("is-one-file")
def is_one_file(ingot):
    """A trainer for one process takes nothing along, and needs the C library alone."""
    g = golden("cnn")
    bf16 = ["--precision", "bf16"]
    for flags in ([], bf16, [*bf16, "--arch", "sapphirerapids"]):
        trainer = ingot.compile(g.model, *g.compile_flags("adamw"), *flags)
        check(not trainer.with_name("trainer.libs").exists(), f"{flags}: there is a folder of libraries")
        for name, path in shared_libraries(ingot, trainer):
            check(path is None or path.startswith(SYSTEM), f"{flags}: {name} comes from {path}")
            check("stdc++" not in name and "gomp" not in name, f"{flags}: needs {name}")
        size = trainer.stat().st_size
        check(size < 12 << 20, f"{flags}: {size >> 20} MiB")


@case("is-small")
def is_small(ingot):
    """The trainer of the quickstart, codecs for pictures included; what readers of old files and writers of pictures
    take is left out."""
    trainer = ingot.compile(DIGITS / "digits.onnx", "--loss", "cross-entropy", "--optimizer", "adamw", "--batch", "32")
    check(trainer.stat().st_size <= 4_500_000, f"{trainer.stat().st_size} bytes")
    trainer = ingot.compile(BYTES, *BYTES_FLAGS, "--weights", "none")
    check(trainer.stat().st_size <= 4_000_000, f"{trainer.stat().st_size} bytes of a GPT without weights")


C_LIBRARY = {"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2"}


def check_old_glibc(ingot, program, also=frozenset()):
    """No symbol of the C library is newer than 2.28, and nothing else is needed but `also`."""
    symbols = ingot.succeed(["readelf", "--dyn-syms", "--wide", program]).out
    versions = {tuple(map(int, text.split("."))) for text in re.findall(r"@GLIBC_([0-9.]+)", symbols)}
    check(versions and max(versions) <= (2, 28), f"{program.name} needs glibc {max(versions, default=None)}")
    needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", ingot.succeed(["readelf", "--dynamic", "--wide", program]).out))
    needed = {name for name in needed if not name.startswith("ld-linux-")}
    check(needed <= C_LIBRARY | also, f"{program.name} needs {sorted(needed)}")


@case("runs-with-glibc-2.28")
def runs_with_older_glibc(ingot):
    """A trainer asks for nothing newer, nor do the libraries that it takes along."""
    g = golden("cnn")
    trainer = ingot.compile(g.model, *g.compile_flags("adamw"))
    check_old_glibc(ingot, trainer)
    # Exceptions are caught, with the unwinder's question answered by the trainer.
    result = ingot.run([trainer, "--data", ingot.path("missing.npz")])
    check(result.status == 3 and "hint:" in result.err, f"{result.status}: {result.err}")
    ranks = ingot.compile(g.model, *g.compile_flags("adamw"), "--data-parallel")
    libraries = sorted(ranks.with_name("trainer.libs").glob("*"))
    marker = next(path.name for path in libraries if path.name.startswith("keep-"))
    check({path.name for path in libraries} <= {marker, "libingot_openmpi.so", "libingot_mpich.so"}, f"{libraries}")
    check_old_glibc(ingot, ranks)
    for library in libraries:
        if library.name != marker:
            check_old_glibc(ingot, library)
            dynamic = ingot.succeed(["readelf", "--dynamic", "--wide", library]).out
            check("(RUNPATH)" not in dynamic and "(RPATH)" not in dynamic, f"{library.name} names folders: {dynamic}")
    if (ingot.bin.parent / "lib/ingot/aarch64").exists():
        check_old_glibc(ingot, ingot.compile(g.model, *g.compile_flags("adamw"), "--arch", "aarch64"))


@case("leaves-lower-levels-out")
def leaves_lower_levels_out(ingot):
    """Kernels for processors that a trainer refuses are not in it, and what is left computes the same."""
    g = golden("cnn")
    trainers, losses = [], []
    for level in ("x86-64-v2", "x86-64-v3", "x86-64-v4"):
        trainers.append(ingot.compile(g.model, *g.compile_flags("adamw"), "--arch", level))
        log = ingot.path("log.jsonl")
        result = ingot.run([trainers[-1], "--data", g.data, "--steps", "3", "--no-shuffle", "--log", log])
        if "this CPU" in result.err and result.status != 0:
            continue
        check(result.status == 0, f"{level}: {result.err}")
        losses.append(read_log(log)[0][-1]["loss"])
    sizes = [trainer.stat().st_size for trainer in trainers]
    check(sizes[0] - sizes[1] > 100000 and sizes[1] - sizes[2] > 10000, f"sizes by level: {sizes}")
    for loss in losses:
        check_close("the loss at another level", [loss], [losses[0]], 1e-4)


@case("leaves-other-kernels-out")
def leaves_other_kernels_out(ingot):
    """Kernels for types and algorithms that no step calls are not in a trainer."""
    g = golden("cnn")
    sizes = {
        precision: ingot.compile(g.model, *g.compile_flags("adamw"), "--precision", precision).stat().st_size
        for precision in ("fp32", "bf16")
    }
    check(sizes["bf16"] - sizes["fp32"] > 200000, f"sizes by precision: {sizes}")
    # A depthwise convolution is the only difference of these models.
    both = [depthwise_model(ingot, groups) for groups in (1, 32)]
    flags = ["--loss", "mse", "--optimizer", "sgd", "--batch", "2"]
    whole, deep = (ingot.compile(model, *flags) for model in both)
    grown = deep.stat().st_size - whole.stat().st_size
    check(grown > 50000, f"a depthwise convolution takes {grown} bytes")
    data = ingot.path("data.npz")
    draw = np.random.default_rng(0)
    np.savez(data, x=draw.normal(size=(4, 32, 9, 9)).astype("f"), labels=draw.normal(size=(4, 32, 9, 9)).astype("f"))
    for trainer in (whole, deep):
        ingot.succeed([trainer, "--data", data, "--steps", 2])


def depthwise_model(ingot, groups):
    """A convolution of 32 channels in that many groups."""
    value, helper, real = onnx.helper.make_tensor_value_info, onnx.helper, onnx.TensorProto.FLOAT
    weights = np.random.default_rng(1).normal(scale=0.1, size=(32, 32 // groups, 3, 3)).astype("f")
    node = helper.make_node("Conv", ["x", "w"], ["y"], group=groups, pads=[1, 1, 1, 1])
    graph = helper.make_graph(
        [node], "g", [value("x", real, ["n", 32, 9, 9])], [value("y", real, ["n", 32, 9, 9])],
        [onnx.numpy_helper.from_array(weights, "w")],
    )  # fmt: skip
    path = ingot.path(f"groups-{groups}.onnx")
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8), path)
    return path


@case("runs-on-an-old-glibc")
def runs_on_older_glibc(ingot):
    """INGOT_OLD_GLIBC names a folder with an older C library, such as Debian 11's: the bits are the same."""
    folder = os.environ.get("INGOT_OLD_GLIBC")
    if not folder:
        raise Skip("INGOT_OLD_GLIBC names no folder with an older C library")
    loader = next(pathlib.Path(folder).glob("ld-linux-*.so.*"))
    g = golden("cnn")
    trainer = ingot.compile(g.model, *g.compile_flags("adamw"))
    exports = []
    for prefix in ([], [loader, "--library-path", folder]):
        exports.append(ingot.path(f"trained-{len(exports)}.onnx"))
        ingot.succeed([*prefix, trainer, "--data", g.data, "--steps", "3", "--export", exports[-1]])
        missing = ingot.run([*prefix, trainer, "--data", ingot.path("missing.npz")])
        check(missing.status == 3 and "hint:" in missing.err, f"{missing.status}: {missing.err}")
    check(exports[0].read_bytes() == exports[1].read_bytes(), "other bits with the older C library")


@case("digits-accuracy")
def digits_accuracy(ingot):
    """The example of the quickstart, with its flags: 98 % at least."""
    trainer = ingot.compile(DIGITS / "digits.onnx", "--loss", "cross-entropy", "--optimizer", "adamw", "--batch", "32")
    exported = ingot.path("trained.onnx")
    _, evaluations = ingot.train(
        trainer, "--data", DIGITS / "train.npz", "--eval-data", DIGITS / "eval.npz",
        "--epochs", "15", "--seed", "1", "--export", exported,
    )  # fmt: skip
    check(len(evaluations) == 15, f"{len(evaluations)} evaluations for 15 epochs")
    accuracy = evaluations[-1]["eval_accuracy"]
    check(accuracy >= 0.98, f"accuracy {accuracy:.4f}")
    untrained = initializers(DIGITS / "digits.onnx")
    for name, value in initializers(exported).items():
        if name in untrained:
            check(value.shape == untrained[name].shape, f"{name}: shape {value.shape}")


@case("libraries-left-behind")
def left_behind(ingot):
    """A trainer that needs its folder of libraries says so; both can be moved together."""
    g = golden("cnn")
    # Only ranks over MPI need it on CPUs.
    trainer = ingot.compile(g.model, *g.compile_flags("adamw"), "--data-parallel")
    alone = shutil.copy2(trainer, ingot.path("alone"))
    flags = ["--data", g.data, "--steps", "1"]
    ingot.succeed([alone, *flags])
    launched = {"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "2"}
    failed = ingot.check_error([alone, *flags], 1, "MPI", "libingot_openmpi.so", env=launched)
    check(".libs folder" in failed.err, f"does not say what is missing: {failed.err!r}")
    if not (ingot.bin.parent / "lib/ingot/link-cuda.txt").exists():
        return
    trainer = ingot.compile(g.model, *g.compile_flags("adamw"), "--target", "cuda")
    alone = shutil.copy2(trainer, ingot.path("trainer"))
    # The loader's message names the folder.
    result = ingot.run([alone, "--version"])
    lines = result.err.strip().splitlines()
    check(result.status != 0 and len(lines) == 1, f"exit {result.status}: {result.err!r}")
    check("keep-trainer.libs-beside-trainer" in lines[0], f"does not say what is missing: {lines[0]!r}")
    shutil.copytree(f"{trainer}.libs", f"{alone}.libs")
    ingot.succeed([alone, "--version"])


@case("inspect")
def inspect(ingot):
    """The plan adds up and speaks the model's names."""
    g = golden("cnn")
    trainer = ingot.compile(g.model, *g.compile_flags("adamw"))
    plan = json.loads(ingot.succeed([trainer, "--inspect=json"]).out)
    parts = ("weights", "optimizer", "gradient", "activation", "workspace", "communication")
    total = sum(plan[f"{part}_bytes"] for part in parts)
    check(plan["peak_bytes"] == total, f"peak_bytes {plan['peak_bytes']}, its parts {total}")
    parameters = {p["name"]: p for p in plan["parameters"]}
    bias_free = {k: v for k, v in initializers(g.model).items() if "running" not in k}
    check(set(parameters) == set(bias_free), f"parameters {sorted(parameters)}")
    numbers = sum(v.size for v in bias_free.values())
    check(plan["optimizer_bytes"] >= 8 * numbers, f"optimizer_bytes {plan['optimizer_bytes']}")
    check({i["name"] for i in plan["inputs"]} == {"x", "labels"}, f"inputs {plan['inputs']}")
    check(plan["kernels"], "no kernels")
    text = ingot.succeed([trainer, "--inspect"]).out
    check("conv.weight" in text or "peak" in text, f"--inspect says: {text}")


@case("peak-memory")
def peak_memory(ingot):
    """The process stays near its plan: no second copy of the weights or data."""
    g = golden("mlp")
    trainer = ingot.compile(g.model, *g.compile_flags("adamw"))
    status = ingot.path("status")
    script = (
        "import resource, subprocess, sys\n"
        "subprocess.run(sys.argv[2:], check=True, stdout=subprocess.DEVNULL)\n"
        "peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss\n"
        "open(sys.argv[1], 'w').write(str(peak))\n"
    )
    ingot.succeed([os.sys.executable, "-c", script, status, trainer, "--data", g.data, "--steps", "5"])
    peak = int(status.read_text()) * 1024
    check(peak < 200 << 20, f"{peak >> 20} MiB for a model of 130 KiB")


@case("evaluates-only")
def evaluates_only(ingot):
    """--steps 0 evaluates the initial weights, each sample once."""
    g = golden("mlp")
    trainer = ingot.compile(g.model, *g.compile_flags("adamw"))
    results = []
    for _ in range(2):
        steps, evaluations = ingot.train(trainer, "--steps", "0", "--eval-data", g.data)
        check(not steps and len(evaluations) == 1, f"{len(steps)} steps, {len(evaluations)} evaluations")
        results.append(evaluations[0]["eval_loss"])
    check_close("eval_loss", results[0], results[1], 0)


@case("resumes")
def resumes(ingot):
    """Five steps, a checkpoint, five more: the bits of ten in one run."""
    g = golden("cnn")
    trainer = ingot.compile(g.model, *g.compile_flags("adamw"))
    if "--resume" not in ingot.succeed([trainer, "--help"]).out:
        raise Skip("this trainer has no --resume")
    folder, whole, resumed = ingot.path("saved"), ingot.path("whole.onnx"), ingot.path("resumed.onnx")
    data = ["--data", g.data, "--seed", "3"]
    ingot.train(trainer, *data, "--steps", "14", "--export", whole)
    ingot.train(trainer, *data, "--steps", "7", "--save", folder)
    ingot.succeed([trainer, *data, "--steps", "14", "--resume", folder, "--export", resumed])
    check(whole.read_bytes() == resumed.read_bytes(), "the resumed run ends with other bits")


@case("exports-weights-beside-the-model")
def exports_data(ingot):
    """--external-data, which large models do without being asked: the same model and weights, in two files."""
    g = golden("cnn")
    run = ["--data", g.data, "--no-shuffle", "--steps", "3"]
    whole, apart = ingot.path("model.onnx"), ingot.path("model.onnx")
    ingot.train(ingot.compile(g.model, *g.compile_flags("adamw")), *run, "--export", whole)
    trainer = ingot.compile(g.model, *g.compile_flags("adamw"), "--external-data")
    ingot.train(trainer, *run, "--export", apart)
    data = apart.with_name("model.onnx.data")
    check(data.exists() and not whole.with_name("model.onnx.data").exists(), "the data is not beside the model")
    large = [name for name, values in initializers(whole).items() if values.nbytes >= 1024]
    check(large, "no weight is large enough to be elsewhere")
    tensors = {t.name: t for t in onnx.load(apart, load_external_data=False).graph.initializer}
    places = {name: {e.key: e.value for e in t.external_data} for name, t in tensors.items() if t.external_data}
    check(sorted(places) == sorted(large), f"{sorted(places)} are beside the model, not {sorted(large)}")
    check(all(int(place["offset"]) % 4096 == 0 for place in places.values()), f"{places}")
    onnx.checker.check_model(str(apart), full_check=True)
    ours, theirs = initializers(apart), initializers(whole)
    check(set(ours) == set(theirs), f"{set(ours) ^ set(theirs)}")
    check(all((ours[name] == theirs[name]).all() for name in ours), "values differ")
    outputs = []
    for path in (whole, apart):
        session = onnxruntime.InferenceSession(str(path))
        with np.load(g.data) as arrays:
            feeds = {value.name: arrays[value.name][: g.batch] for value in session.get_inputs()}
        outputs.append(session.run(None, feeds))
    check(all((a == b).all() for a, b in zip(*outputs)), "an ONNX runtime computes something else")
    # The compiler takes it back, and neither file is lost to another output.
    ingot.compile(apart, *g.compile_flags("adamw"))
    ingot.check_error([trainer, *run, "--export", apart, "--log", data], 2, "writes, too")
    ingot.check_error([trainer, *run, "--init", data, "--export", apart], 2, "is an input")
