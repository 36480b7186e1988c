# SPDX-License-Identifier: Apache-2.0
"""Makes the folder that check.py runs from on a machine with a GPU: tests of kernels, trainers, the losses
that the processor's trainers have, and the scripts for PyTorch. build.py FOLDER; see tools/gpu-check."""

import argparse
import glob
import json
import os
import shutil
import subprocess
import sys
import tarfile

import numpy

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
OWN_MATMULS = ["--arch", "sm_90a", "--matmul-kernels", "own"]
# A GPU on which regions concurrent with other calls are worth it in the smallest of models.
REGIONS = {"multiprocessors": 2, "launch_seconds": 1e-9}
# Trainers whose losses are compared with those of the processor's: model, precision, flags of ingotc, and of both
# trainers. Adam's first steps are as large for gradients that are rounding errors as for others, of which ResNets
# have many.
COMPARED = [
    *(("mlp", precision, [], []) for precision in ("fp32", "bf16", "fp16")),
    *(("gpt-mini", precision, [], []) for precision in ("fp32", "bf16", "fp16")),
    *(("resnet18", precision, ["--optimizer", "momentum"], ["--lr", "0.01"]) for precision in ("fp32", "bf16", "fp16")),
    *(("digits", precision, ["--batch", "16"], []) for precision in ("fp32", "bf16", "fp16")),
    *(("bytes", precision, ["--batch", "8"], []) for precision in ("fp32", "bf16", "fp16")),
    *(("bytes", "fp8", ["--batch", "8", "--fp8-scaling", scaling], []) for scaling in ("current", "delayed", "block")),
    ("bytes", "bf16", ["--batch", "4", "--grad-accumulation", "2"], []),
    ("bytes", "bf16", ["--batch", "8", "--memory-budget", "60%"], []),
    ("bytes", "bf16", ["--batch", "8", *OWN_MATMULS], []),
    ("bytes", "bf16", ["--batch", "2", "--machine", "regions.json", *OWN_MATMULS], []),
    ("bytes", "bf16", ["--batch", "4", "--data-parallel", "--bucket-mb", "0.05"], []),
]
# A trainer of which two ranks have parts of each layer. The model is too small to be worth it.
PARTS = [f"--partition={name}.weight=0:tensor" for name in ("qkv", "up", "token")]
MESHED = ("bytes", "bf16", ["--batch", "8", "--mesh", "tensor=2", *PARTS])
# Trainers whose steps are measured: model, precision, and for variants what their names end with and flags of ingotc.
TRAINERS = [
    *(("mlp", precision, "", []) for precision in ("fp32", "bf16")),
    *(("gpt-mini", precision, "", []) for precision in ("fp32", "bf16")),
    ("resnet18", "bf16", "", []),
    *(("gpt2:8x1024", precision, "", []) for precision in ("bf16", "fp8")),
    ("gpt2:16x1024", "bf16", "", []),
    # As many tokens at each length.
    *((f"attention:{16384 // length}x{length}", "bf16", "", []) for length in (1024, 4096, 16384)),
    # 1.5 billion parameters: where PyTorch has room, too, and what fits 80 GB with some for libraries.
    *(("gpt2-xl:8x1024", precision, "", []) for precision in ("bf16", "fp8")),
    ("gpt2-xl:20x1024", "bf16", "", []),
    # ImageNet's size. Its data are drawn where they are used.
    *(("resnet50:256", precision, "", []) for precision in ("bf16", "fp16")),
    ("resnet50:256", "fp16", "-fused", ["--conv-fusion", "auto"]),
]
# What check.py compares in turns: the name of the section, steps, and each variant's trainer and environment.
STREAMS = [
    ("as it is", {}),
    ("one stream", {"INGOT_CUDA_STREAMS": "1"}),
    ("no priorities", {"INGOT_CUDA_PRIORITIES": "0"}),
    ("matmuls beside on 112", {"INGOT_CUDA_SIDE_MULTIPROCESSORS": "112"}),
]
SUMS = [
    ("full sums", {}),
    ("fast sums forward", {"INGOT_CUDA_FAST_ACCUMULATION": "forward"}),
    ("fast sums", {"INGOT_CUDA_FAST_ACCUMULATION": "all"}),
]
CANDIDATES = [("8 candidates", {}), ("64 candidates", {"INGOT_TUNE_CANDIDATES": "64", "XDG_CACHE_HOME": "other-cache"})]
VARIANTS = [
    ("streams", 40, [("gpt2-8x1024-bf16", *option) for option in STREAMS]),
    ("fp8", 40, [("gpt2-8x1024-fp8", *option) for option in SUMS]),
    ("fp8-xl", 10, [("gpt2-xl-8x1024-fp8", *option) for option in SUMS[::2]]),
    ("candidates", 40, [("gpt2-8x1024-bf16", *option) for option in CANDIDATES]),
    (
        "pictures",
        20,
        [
            ("resnet50-256-bf16", "bf16", {}),
            ("resnet50-256-fp16", "fp16", {}),
            ("resnet50-256-fp16-fused", "fp16, fused", {}),
        ],
    ),
]
# Whose recorded steps are looked at, and whose matmuls are tried with all algorithms.
PROFILED = ["gpt2-8x1024-bf16", "resnet50-256-bf16", "gpt2-8x1024-fp8", "gpt2-xl-8x1024-bf16"]
SWEPT = ["gpt2-8x1024-bf16", "gpt2-8x1024-fp8"]
# Of those that are compared: what compute-sanitizer watches, as model and precision.
SANITIZED = [("mlp", "fp32"), ("bytes", "bf16"), ("digits", "bf16")]
# With --small, what stands for each model: a few steps of it take seconds on a GPU in software.
SMALL = {"resnet": "digits", "mlp": "digits"}
SMALL_BATCH = {"digits": "16", "bytes": "2"}
# What check.py and models.py need besides what is compiled.
SCRIPTS = [
    "docs/gpu/peers.json",
    "test/gpu/check/check.py",
    "test/gpu/check/correctness.py",
    "test/gpu/check/designs.py",
    "test/gpu/check/drawing.py",
    "test/gpu/check/kept.py",
    "test/gpu/check/peers.py",
    "test/gpu/check/report.py",
    "test/gpu/check/runner.py",
    "test/gpu/check/traces.py",
    "test/bench/models.py",
    "test/bench/real_models.py",
]
# What is only made, and the exported models.
WORK = os.path.join(ROOT, "build/gpu-check-models")
# Of the second of the processor's trainers: its vectors are shorter than those of all others.
OTHER_ARCH = "x86-64-v2"
RANDOM_GRAPHS = 60
# The folder of what is compiled.
PROGRAMS = "programs"
PICTURES = {"resnet50:256": {"x": [256, 3, 224, 224], "classes": 1000}}
STEPS = 20
SMALL_STEPS = 6
# Of the folder with the working tree, which a machine with a GPU gets both.
MAX_BYTES = 64 << 20


def run(*command, **kwargs):
    done = subprocess.run([str(word) for word in command], text=True, capture_output=True, **kwargs)
    if done.returncode != 0:
        sys.exit(
            f"error: {os.path.basename(str(command[0]))}: exit {done.returncode}: {done.stderr.strip()[-500:]}\n"
            f"hint: run it by hand: {' '.join(str(word) for word in command)}"
        )
    return done.stdout


def make_cases(folder, build, arch, is_small):
    """The interpreter's tests of every op, and random graphs, as shared libraries with device code."""
    cases = os.path.join(folder, PROGRAMS, "cases")
    os.makedirs(cases)
    make = [os.path.join(build, "bin/ingot-gpu-cases"), "--arch", arch, "-o", cases]
    tests = sorted(glob.glob(os.path.join(ROOT, "test/interpret/**/*.mlir"), recursive=True))
    run(*make, *(tests[:: len(tests) // 4] if is_small else tests))
    for precision in () if is_small else ("fp32", "bf16", "fp16"):
        run(*make, "--random", RANDOM_GRAPHS, "--precision", precision)
    for path in glob.glob(cases + "/*.o"):
        # What a case calls is in the program that loads it.
        run("ld.lld-22", "-shared", "-s", "-z", "noexecstack", "-o", path[:-2] + ".so", path)
        os.remove(path)
    for path in glob.glob(cases + "/*.mlir"):
        os.remove(path)
    shutil.copy(os.path.join(build, "bin/ingot-gpu-run"), os.path.join(folder, PROGRAMS))
    return len(os.listdir(cases))


def drop_traces(path):
    """Removes where in Python each node comes from: trainers hold the model, and this is most of it."""
    import onnx

    model = onnx.load(path, load_external_data=False)
    for node in model.graph.node:
        del node.metadata_props[:]
    onnx.save(model, path)


def find_model(model, folder):
    """The model's file, and its data's within the folder."""
    data = os.path.join("data", model.replace(":", "-") + (".bin" if model == "bytes" else ".npz"))
    kept = os.path.join(folder, data)
    examples = os.path.join(ROOT, "docs/examples")
    if model == "bytes":
        if not os.path.exists(kept):
            run(sys.executable, os.path.join(examples, "bytes/tokens.py"), kept, os.path.join(ROOT, "LICENSE"))
        return os.path.join(examples, "bytes/bytes.onnx"), data
    if model == "digits":
        shutil.copy(os.path.join(examples, "digits/train.npz"), kept)
        return os.path.join(examples, "digits/digits.onnx"), data
    onnx = os.path.join(WORK, model + ".onnx")
    if not os.path.exists(onnx):
        run(sys.executable, os.path.join(ROOT, "test/bench/models.py"), "export", model, WORK)
        drop_traces(onnx)
    if model not in PICTURES and not os.path.exists(kept):
        with numpy.load(os.path.join(WORK, model + ".npz")) as arrays:
            numpy.savez_compressed(kept, **arrays)
    return onnx, data


def share_libraries(trainer):
    """Replaces the trainer's own libraries by the folder's. It also needs the library that names it."""
    own, libraries = trainer + ".libs", os.path.join(os.path.dirname(trainer), "libs")
    for name in os.listdir(own):
        if not os.path.exists(os.path.join(libraries, name)):
            shutil.move(os.path.join(own, name), libraries)
    shutil.rmtree(own)
    os.symlink("libs", own)


def compile_for_gpu(trainer, build, arch, flags):
    if "--arch" not in flags:
        flags = [*flags, "--arch", arch]
    run(os.path.join(build, "bin/ingotc"), *flags, "--target", "cuda", "-o", trainer)
    run("llvm-strip-22", trainer)
    share_libraries(trainer)


def make_trainers(folder, build, arch, is_small):
    """Trainers that draw their weights by seed, and their data."""
    plan = []
    for model, precision, ending, flags in TRAINERS:
        name = model.replace(":", "-") + "-" + precision + ending
        print(name, flush=True)
        made = model
        if is_small:
            made = next((small for part, small in SMALL.items() if model.startswith(part)), "bytes")
        onnx, data = find_model(made, folder)
        flags = [onnx, "--loss", "cross-entropy", "--weights", "none", "--precision", precision, *flags]
        if precision == "fp8":
            flags += ["--fp8-scaling", "delayed"]
        entry = {"name": name, "model": model, "precision": precision, "data": data}
        if is_small:
            flags += ["--batch", SMALL_BATCH[made]]
        elif model.startswith("gpt2-xl:") or model in PICTURES:
            # The file is for any batch.
            flags += ["--batch", model.split(":")[1].split("x")[0]]
        if model in PICTURES and not is_small:
            entry["draw"] = PICTURES[model]
        compile_for_gpu(os.path.join(folder, PROGRAMS, name), build, arch, flags)
        plan.append(entry)
    return plan


def list_variants(is_small):
    return [
        {
            "name": name,
            "steps": 2 if is_small else steps,
            "options": [{"trainer": trainer, "name": option, "env": env} for trainer, option, env in options],
        }
        for name, steps, options in VARIANTS
    ]


def processor_losses(build, flags, run_flags, data, steps, ranks=1):
    trainer, log = os.path.join(WORK, "processor"), os.path.join(WORK, "processor.jsonl")
    run(os.path.join(build, "bin/ingotc"), *flags, "-o", trainer)
    launch = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", ranks] if ranks > 1 else []
    run(*launch, trainer, "--data", data, *run_flags, "--no-shuffle", "--steps", steps, "--log", log)
    return [json.loads(line)["loss"] for line in open(log)]


def make_compared(folder, build, arch, is_small):
    """Trainers, the losses of the processor's, and how far these differ when sums have another order, up to each
    step: training enlarges such differences."""
    plan, seen = [], set()
    steps = SMALL_STEPS if is_small else STEPS
    regions = os.path.join(WORK, "regions.json")
    with open(regions, "w") as file:
        json.dump(REGIONS, file)
    for number, (model, precision, flags, run_flags) in enumerate(COMPARED):
        is_another = (model, precision) in seen and not {"--machine", "--data-parallel"} & set(flags)
        if is_small and (model not in SMALL_BATCH or is_another):
            continue
        seen.add((model, precision))
        onnx, data = find_model(model, folder)
        name = f"losses-{number}-{model}-{precision}"
        print(name, *flags, flush=True)
        common = [onnx, "--loss", "cross-entropy", "--precision", precision]
        if os.path.dirname(onnx) == WORK:
            common += ["--weights", "none"]
        flags = [regions if flag == "regions.json" else flag for flag in flags]
        compile_for_gpu(os.path.join(folder, PROGRAMS, name), build, arch, [*common, *flags])
        if flags[-len(OWN_MATMULS) :] == OWN_MATMULS:
            flags = flags[: -len(OWN_MATMULS)]
        if "--machine" in flags:
            # What the processor's trainer is compiled for is the processor.
            flags = flags[: flags.index("--machine")]
        path = os.path.join(folder, data)
        losses, others = (
            processor_losses(build, [*common, *flags, *arch], run_flags, path, steps)
            for arch in ([], ["--arch", OTHER_ARCH])
        )
        differences = [abs(a - b) / abs(a) for a, b in zip(losses, others)]
        noise = [max(differences[: i + 1]) for i in range(steps)]
        entry = {"name": name, "model": model, "precision": precision, "data": data, "flags": run_flags}
        if "--data-parallel" in flags:
            entry["rank_losses"] = processor_losses(build, [*common, *flags], run_flags, path, steps, ranks=2)
        plan.append({**entry, "losses": losses, "noise": noise})
    return plan


def make_meshed(folder, build, arch, is_small):
    """The trainer of MESHED, and the losses of two ranks on processors."""
    model, precision, flags = MESHED
    onnx, data = find_model(model, folder)
    name = f"meshed-{model}-{precision}"
    print(name, *flags, flush=True)
    flags = [onnx, "--loss", "cross-entropy", "--precision", precision, *flags]
    compile_for_gpu(os.path.join(folder, PROGRAMS, name), build, arch, flags)
    steps = SMALL_STEPS if is_small else STEPS
    losses = processor_losses(build, flags, [], os.path.join(folder, data), steps, ranks=2)
    return {"name": name, "model": model, "precision": precision, "data": data, "flags": [], "rank_losses": losses}


def copy_libraries(folder, build):
    libraries = os.path.join(folder, PROGRAMS, "libs")
    os.makedirs(libraries)
    for name in ["libingot_cuda.so", "libstdc++.so.6", "libgcc_s.so.1"]:
        shutil.copy(os.path.join(build, "lib/ingot/libs", name), libraries)
        run("llvm-strip-22", "--strip-unneeded", os.path.join(libraries, name))


def pack_programs(folder, is_small):
    """Makes an archive of the programs, which check.py unpacks. They have the runtime in common: the highest level of
    compression looks back as far as to the last twenty of them."""
    programs = os.path.join(folder, PROGRAMS)
    with tarfile.open(programs + ".tar.xz", "w:xz", preset=1 if is_small else 9) as archive:
        archive.add(programs, arcname=".")
    shutil.rmtree(programs)


def measure_folder(folder):
    paths = (os.path.join(d, f) for d, _, files in os.walk(folder) for f in files)
    return sum(os.path.getsize(path) for path in paths if not os.path.islink(path))


def measure_tree():
    """The bytes of the working tree that is taken along: what git does not ignore."""
    listed = run("git", "-C", ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard").split("\0")
    paths = [os.path.join(ROOT, path) for path in listed if path]
    return sum(os.path.getsize(path) for path in paths if os.path.isfile(path) and not os.path.islink(path))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    parser.add_argument("--build", default=os.path.join(ROOT, "build/release"))
    parser.add_argument("--arch", default="sm_90")
    parser.add_argument("--small", action="store_true", help="of small models, for a GPU in software")
    options = parser.parse_args()
    if not os.path.exists(os.path.join(options.build, "lib/ingot/link-cuda.txt")):
        sys.exit("error: gpu-check: built without CUDA's headers\nhint: install CUDA 13 and build again")
    shutil.rmtree(options.folder, ignore_errors=True)
    os.makedirs(os.path.join(options.folder, "data"))
    copy_libraries(options.folder, options.build)
    os.makedirs(WORK, exist_ok=True)
    arguments = (options.folder, options.build, options.arch, options.small)
    cases, trainers, compared = make_cases(*arguments), make_trainers(*arguments), make_compared(*arguments)
    meshed = make_meshed(*arguments)
    pack_programs(options.folder, options.small)
    for script in SCRIPTS:
        shutil.copy(os.path.join(ROOT, script), options.folder)
    commit = run("git", "-C", ROOT, "describe", "--always", "--dirty").strip()
    first_of = {(entry["model"], entry["precision"]): entry["name"] for entry in compared[::-1]}
    plan = {
        "commit": commit,
        "arch": options.arch,
        "trainers": trainers,
        "compared": compared,
        "variants": list_variants(options.small),
        "profiled": PROFILED,
        "swept": SWEPT,
        "sanitized": [first_of[kind] for kind in SANITIZED if kind in first_of],
        "exchanging": next(entry["name"] for entry in compared if "rank_losses" in entry),
        "meshed": meshed,
        # Of a run, and of a kernel that is compared with a copy: smaller ones are bound by their launch.
        # How much longer sections may take, on a GPU in software.
        "slower": 20 if options.small else 1,
        "most_steps": 8 if options.small else 50,
        "least_bytes": 1 << 10 if options.small else 8 << 20,
    }
    with open(os.path.join(options.folder, "plan.json"), "w") as file:
        json.dump(plan, file, indent=1)
    made = f"{cases} libraries of kernel tests, {len(trainers) + len(compared)} trainers"
    taken, tree = measure_folder(options.folder), measure_tree()
    print(f"{options.folder}: {made}, {taken / (1 << 20):.1f} MiB")
    print(
        f"with the working tree ({tree / (1 << 20):.1f} MiB) {(taken + tree) / (1 << 20):.1f} of {MAX_BYTES >> 20} MiB"
    )
    if taken + tree > MAX_BYTES:
        sys.exit("error: gpu-check: the folder is too large\nhint: leave out trainers")


if __name__ == "__main__":
    main()
