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

import numpy

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
# Model, precisions, and whether the processor's losses are made to compare with.
TRAINERS = [
    ("mlp", ["fp32", "bf16", "fp16"], True),
    ("gpt-mini", ["fp32", "bf16", "fp16"], True),
    ("resnet18", ["fp32", "bf16"], True),
    ("gpt2", ["fp32"], False),
    ("gpt2:8x1024", ["bf16"], False),
    ("gpt2:16x1024", ["bf16"], False),
    # As many tokens at each length.
    *((f"attention:{16384 // length}x{length}", ["bf16"], False) for length in (1024, 2048, 4096, 8192, 16384)),
    # 1.5 billion parameters: where PyTorch has room, too, and what fits 80 GB with some for libraries.
    ("gpt2-xl:8x1024", ["bf16"], False),
    ("gpt2-xl:20x1024", ["bf16"], False),
    # ImageNet's size. Its data are drawn where they are used.
    ("resnet50:256", ["bf16"], False),
]
# What check.py and models.py need besides what is compiled.
SCRIPTS = [
    "test/gpu/check.py",
    "test/gpu/drawing.py",
    "test/gpu/timeline.py",
    "test/bench/models.py",
    "test/bench/real_models.py",
]
PICTURES = {"resnet50:256": {"x": [256, 3, 224, 224], "classes": 1000}}
STEPS = 20
MAX_BYTES = 60 << 20


def run(*command, **kwargs):
    done = subprocess.run([str(word) for word in command], text=True, capture_output=True, **kwargs)
    if done.returncode != 0:
        sys.exit(
            f"error: {os.path.basename(str(command[0]))}: exit {done.returncode}: {done.stderr.strip()[-500:]}\n"
            f"hint: run it by hand: {' '.join(str(word) for word in command)}"
        )
    return done.stdout


def make_cases(folder, build, arch):
    """The interpreter's tests of every op, as shared libraries with device code."""
    cases = os.path.join(folder, "cases")
    os.makedirs(cases)
    files = sorted(glob.glob(os.path.join(ROOT, "test/interpret/**/*.mlir"), recursive=True))
    run(os.path.join(build, "bin/ingot-gpu-cases"), *files, "--arch", arch, "-o", cases)
    for path in glob.glob(cases + "/*.o"):
        # What a case calls is in the program that loads it.
        run("ld.lld-22", "-shared", "-s", "-z", "noexecstack", "-o", path[:-2] + ".so", path)
        os.remove(path)
    shutil.copy(os.path.join(build, "bin/ingot-gpu-run"), folder)
    count = len(os.listdir(cases))
    # A fifth of the size; check.py unpacks it.
    shutil.make_archive(cases, "xztar", folder, "cases")
    shutil.rmtree(cases)
    return count


def file_name(model, precision):
    return model.replace(":", "-") + "-" + precision


def drop_traces(path):
    """Removes where in Python each node comes from: trainers hold the model, and this is most of it."""
    import onnx

    model = onnx.load(path, load_external_data=False)
    for node in model.graph.node:
        del node.metadata_props[:]
    onnx.save(model, path)


def make_trainers(folder, build, arch):
    """Trainers that draw their weights by seed; their data; losses on the processor."""
    ingotc, work = os.path.join(build, "bin/ingotc"), os.path.join(ROOT, "build/gpu-models")
    os.makedirs(work, exist_ok=True)
    plan = []
    for model, precisions, compare in TRAINERS:
        onnx = os.path.join(work, model + ".onnx")
        if not os.path.exists(onnx):
            run(sys.executable, os.path.join(ROOT, "test/bench/models.py"), "export", model, work)
            drop_traces(onnx)
        data = os.path.join("data", model.replace(":", "-") + ".npz")
        if model not in PICTURES:
            with numpy.load(os.path.join(work, model + ".npz")) as arrays:
                numpy.savez_compressed(os.path.join(folder, data), **arrays)
        for precision in precisions:
            print(f"{model} {precision}", flush=True)
            name = file_name(model, precision)
            flags = [onnx, "--loss", "cross-entropy", "--weights", "none", "--precision", precision]
            if model.startswith("gpt2-xl:") or model in PICTURES:
                # The file is for any batch.
                flags += ["--batch", model.split(":")[1].split("x")[0]]
            trainer = os.path.join(folder, name)
            run(ingotc, *flags, "--target", "cuda", "--arch", arch, "-o", trainer)
            run("llvm-strip-22", trainer)
            shutil.rmtree(trainer + ".libs")
            os.symlink("libs", trainer + ".libs")
            entry = {"name": name, "model": model, "precision": precision, "data": data}
            if model in PICTURES:
                entry["draw"] = PICTURES[model]
            if compare:
                entry["losses"] = processor_losses(work, name, flags, os.path.join(folder, data))
            plan.append(entry)
    return plan


def processor_losses(work, name, flags, data):
    trainer, log = os.path.join(work, name), os.path.join(work, name + ".jsonl")
    run(os.path.join(ROOT, "build/release/bin/ingotc"), *flags, "-o", trainer)
    run(trainer, "--data", data, "--no-shuffle", "--steps", STEPS, "--log", log)
    return [json.loads(line)["loss"] for line in open(log)]


def copy_libraries(folder, build):
    libraries = os.path.join(folder, "libs")
    os.makedirs(libraries)
    for name in ["libingot_cuda.so", "libstdc++.so.6", "libgcc_s.so.1"]:
        shutil.copy(os.path.join(build, "lib/ingot/libs", name), libraries)
        run("llvm-strip-22", "--strip-unneeded", os.path.join(libraries, name))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    parser.add_argument("--build", default=os.path.join(ROOT, "build/release"))
    parser.add_argument("--arch", default="sm_90")
    options = parser.parse_args()
    if not os.path.exists(os.path.join(options.build, "lib/ingot/link-cuda.txt")):
        sys.exit("error: gpu-check: built without CUDA's headers\nhint: install CUDA 13 and build again")
    shutil.rmtree(options.folder, ignore_errors=True)
    os.makedirs(os.path.join(options.folder, "data"))
    copy_libraries(options.folder, options.build)
    cases = make_cases(options.folder, options.build, options.arch)
    trainers = make_trainers(options.folder, options.build, options.arch)
    for script in SCRIPTS:
        shutil.copy(os.path.join(ROOT, script), options.folder)
    commit = run("git", "-C", ROOT, "describe", "--always", "--dirty").strip()
    with open(os.path.join(options.folder, "plan.json"), "w") as file:
        json.dump({"commit": commit, "arch": options.arch, "steps": STEPS, "trainers": trainers}, file, indent=1)
    size = sum(
        os.path.getsize(os.path.join(d, f))
        for d, _, files in os.walk(options.folder)
        for f in files
        if not os.path.islink(os.path.join(d, f))
    )
    print(f"{options.folder}: {cases} libraries of kernel tests, {len(trainers)} trainers, {size / (1 << 20):.1f} MiB")
    if size > MAX_BYTES:
        sys.exit("error: gpu-check: the folder is too large\nhint: leave out trainers")


if __name__ == "__main__":
    main()
