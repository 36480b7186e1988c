# SPDX-License-Identifier: Apache-2.0
"""What the compiler and its tools may write: nothing that they read, nothing that is not a file, nothing by half."""

import os
import pty
import re
import shutil
import subprocess

import numpy as np
import onnx
from harness import DIGITS, ROOT, Skip, case, check, golden

G = golden("multilabel")
FLAGS = G.compile_flags("adamw")


def model_in(ingot, name="m.onnx"):
    """A copy of the model, in a folder of its own."""
    path = ingot.path(name)
    shutil.copy(G.model, path)
    return path


def contents(folder):
    return {p.name: p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def refused(ingot, folder, command, *words):
    """An error of usage that changes nothing in the folder."""
    before = contents(folder)
    ingot.check_error(command, 2, *words)
    check(contents(folder) == before, f"{command}: changed the folder")


@case("output-is-an-input")
def output_is_an_input(ingot):
    model = model_in(ingot)
    folder = model.parent
    machine = folder / "machine.json"
    machine.write_text('{"threads": 2}')
    link, trainer = folder / "link", folder / "t"
    link.symlink_to("m.onnx")
    (folder / "x").mkdir()
    for output in (model, link, folder / "x" / ".." / "m.onnx"):
        refused(ingot, folder, ingot.ingotc(model, *FLAGS, "-o", output), "-o", "is an input")
    for option in ("--report", "--remarks"):
        refused(ingot, folder, ingot.ingotc(model, *FLAGS, "-o", trainer, option, model), option, "is an input")
        command = ingot.ingotc(model, *FLAGS, "-o", trainer, "--machine", machine, option, machine)
        refused(ingot, folder, command, option, "is an input")
        refused(ingot, folder, ingot.ingotc(model, *FLAGS, "-o", trainer, option, trainer), option, "-o writes")
    command = ingot.ingotc(model, *FLAGS, "-o", trainer, "--report", folder / "r", "--remarks", folder / "r")
    refused(ingot, folder, command, "--remarks", "--report")


@case("output-is-the-weights")
def output_is_the_weights(ingot):
    """Files with external data are inputs too, and what lies beside a model is not touched."""
    path = ingot.path("model.onnx")
    onnx.save(
        onnx.load(DIGITS / "digits.onnx"), path, save_as_external_data=True, location="model.data", size_threshold=64
    )
    weights = path.with_suffix(".data")
    folder, flags = path.parent, ["--loss", "cross-entropy", "--batch", "4"]
    for options in (
        ["-o", weights],
        ["-o", folder / "t", "--remarks", weights],
        ["-o", folder / "t", "--report", weights],
    ):
        refused(ingot, folder, ingot.ingotc(path, *flags, *options), "is an input")
    # A checkpoint that is named as a sidecar would be.
    other = folder / "model.safetensors"
    other.write_bytes(b"weights of another program")
    ingot.succeed(ingot.ingotc(path, *flags, "-o", folder / "model"))
    check(other.read_bytes() == b"weights of another program", "model.safetensors was replaced")
    names = sorted(p.name for p in folder.iterdir())
    check(names == ["model", "model.data", "model.onnx", "model.safetensors"], f"there are {names}")
    # The folder of libraries may hold something else.
    inside = folder / "t.libs" / "m.onnx"
    inside.parent.mkdir()
    shutil.copy(G.model, inside)
    for _ in range(2):
        ingot.succeed(ingot.ingotc(inside, *FLAGS, "-o", folder / "t"))
    check(inside.read_bytes() == G.model.read_bytes(), "a file in t.libs was removed")


@case("output-is-no-file")
def output_is_no_file(ingot):
    """Replacing /dev/null would break the machine, as root."""
    if os.geteuid() == 0 and not os.path.exists("/dev/null"):
        raise Skip("there is no /dev/null")
    pipe = ingot.path("pipe")
    os.mkfifo(pipe)
    loop = ingot.path("loop")
    loop.symlink_to("loop")
    device = os.stat("/dev/null").st_rdev
    unusual = (
        ("/dev/null", "a device"),
        (pipe, "a FIFO"),
        (pipe.parent, "a directory"),
        (loop, "a link that leads to itself"),
    )
    for path, kind in unusual:
        for options in (
            ["-o", path],
            ["-o", ingot.path("t"), "--report", path],
            ["-o", ingot.path("t"), "--remarks", path],
        ):
            ingot.check_error(ingot.ingotc(G.model, *FLAGS, *options), 2, options[-2], kind, timeout=60)
    for emit in ("mlir", "llvm", "obj"):
        ingot.check_error(ingot.ingotc(G.model, *FLAGS, "-o", "/dev/null", "--emit", emit), 2, "-o", "a device")
    check(os.stat("/dev/null").st_rdev == device, "/dev/null is another file")


@case("outputs-of-tools")
def outputs_of_tools(ingot):
    """ingot-eval, ingot-opt and ingot-reduce."""
    model = model_in(ingot)
    folder, inputs = model.parent, model.parent / "x.npz"
    with np.load(G.data) as data:
        np.savez(inputs, x=data["x"][:4])
    evaluate = [ingot.bin / "ingot-eval", model, "--batch", "4", "--inputs", inputs]
    refused(ingot, folder, [*evaluate, "--outputs", inputs], "--outputs", "is an input")
    refused(ingot, folder, [*evaluate, "--outputs", model], "--outputs", "is an input")
    refused(ingot, folder, [*evaluate, "--state-out", "/dev/null"], "--state-out", "a device")
    refused(ingot, folder, [*evaluate, "--outputs", folder / "o", "--state-out", folder / "o"], "--state-out")
    refused(ingot, folder, [ingot.bin / "ingot-opt", model, "--batch", "4", "-o", model], "-o", "is an input")
    module = folder / "m.mlir"
    module.write_text("module {}\n")
    refused(ingot, folder, [ingot.bin / "ingot-opt", module, "-o", module], "-o", "is an input")
    ingot.succeed([ingot.bin / "ingot-opt", model, "--batch", "4", "-o", "/dev/null"])
    tree = "-reduction-tree=traversal-mode=0 test=/bin/false"
    if (ingot.bin / "ingot-reduce").exists():
        refused(ingot, folder, [ingot.bin / "ingot-reduce", module, tree, "-o", module], "-o", "is an input")
    for path, words in ((folder, "is a folder"), (folder / "absent.mlir", "no such file"), ("/dev/null", "regular")):
        ingot.check_error([ingot.bin / "ingot-eval", path], 3, words)


def with_small_disk(command, size):
    """The result of the command where `small` is a disk of few bytes, or of none to write."""
    mount = f"mount -t tmpfs -o {size} none small"
    script = f'mkdir -p small && {mount} && "$@"; status=$?; ls -A small >left; exit $status'
    return ["unshare", "-m", "bash", "-c", script, "bash", *command]


@case("outputs-on-a-full-disk")
def full_disk(ingot):
    """Errors with hints, no signals, and no parts of files."""
    if subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode != 0:
        raise Skip("cannot mount file systems here")
    trainer = ingot.path("t")
    cases = [
        ("size=200k", ["-o", "small/t"], "small/t"),
        ("size=4k", ["-o", trainer, "--remarks", "small/r.yaml"], "small/r.yaml: cannot write"),
        ("size=4k", ["-o", trainer, "--report", "small/r.html"], "small/r.html"),
        ("size=64k", ["-o", trainer, "--dump-passes", "small"], "--dump-passes"),
        ("size=4k", ["-o", "small/t", "--emit", "llvm"], "small/t"),
        ("ro", ["-o", "small/t"], "small/t: "),
        ("ro", ["-o", trainer, "--remarks", "small/r"], "small/r: "),
        ("ro", ["-o", trainer, "--dump-passes", "small/d"], "small/d: "),
    ]
    model = DIGITS / "digits.onnx"
    for size, options, word in cases:
        command = ingot.ingotc(model, "--loss", "cross-entropy", "--batch", "4", *options)
        error = ingot.check_error(with_small_disk([str(word) for word in command], size), 1, word).err
        check("LLVM ERROR" not in error and "Bus error" not in error, error)
        check("Read-only" in error or size != "ro", error)
        left = (ingot.scratch / "left").read_text().split()
        check(not left or "--dump-passes" in options, f"{options}: left {left}")


@case("failed-compile-leaves-nothing")
def failed_compile(ingot):
    """Not even the weights that an executable would get, nor does it touch those of an earlier trainer."""
    trainer = ingot.path("t")
    sidecar = trainer.with_name("t.safetensors")
    tree = ingot.path("tree")
    shutil.copytree(ROOT / "docs/examples/digits", tree)
    command = ingot.ingotc(G.model, *FLAGS, "--weights", "sidecar", "-o", trainer)
    ingot.succeed(command)
    earlier = sidecar.read_bytes()
    # Files of a megabyte have room for the weights and not for the trainer.
    limited = ["bash", "-c", 'ulimit -f 1024; exec "$@"', "bash", *command, "--freeze", "fc1.weight"]
    ingot.check_error(limited, 1, "ld.lld")
    check(sidecar.read_bytes() == earlier, "the weights of the earlier trainer were replaced")
    names = sorted(p.name for p in trainer.parent.iterdir())
    check(names == ["t", "t.safetensors"], f"there are {names}")


@case("arch-without-64-bits")
def arch(ingot):
    for name in ("i386", "pentium4", "nothing"):
        ingot.check_error(ingot.ingotc(G.model, *FLAGS, "--arch", name, "-o", ingot.path("t")), 2, "--arch", name)
    ingot.succeed(ingot.ingotc(G.model, *FLAGS, "--arch", "x86-64-v2", "-o", ingot.path("t")))


def chain(path, size):
    """A model of `size` elementwise operators, which takes seconds to compile."""
    kinds = ("Relu", "Tanh", "Sigmoid")
    nodes = [onnx.helper.make_node("MatMul", ["x", "w"], ["v0"])]
    nodes += [onnx.helper.make_node(kinds[i % 3], [f"v{i}"], [f"v{i + 1}"]) for i in range(size)]
    x, y = (onnx.helper.make_tensor_value_info(name, 1, ["n", 8]) for name in ("x", f"v{size}"))
    weight = onnx.numpy_helper.from_array(np.eye(8, dtype=np.float32), "w")
    graph = onnx.helper.make_graph(nodes, "chain", [x], [y], [weight])
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 18)], ir_version=9), path)


@case("progress-on-a-terminal")
def progress(ingot):
    """A compilation of more than two seconds says on a terminal what it does, and leaves nothing of that; elsewhere it
    says nothing."""
    model = ingot.path("chain.onnx")
    chain(model, 1000)
    command = ingot.ingotc(model, "-o", ingot.path("trainer"), "--loss", "mse", "--batch", 4)
    check(ingot.succeed(command).err == "", "says something without a terminal")
    ours, theirs = pty.openpty()
    compiler = subprocess.Popen([str(word) for word in command], stderr=theirs, env={**os.environ, "TERM": "xterm"})
    os.close(theirs)
    text = b""
    while True:
        try:
            more = os.read(ours, 4096)
        except OSError:
            break
        if not more:
            break
        text += more
    check(compiler.wait(timeout=60) == 0, "fails on a terminal")
    lines = text.decode().split("\r\x1b[K")
    check(any(re.search(r"^(--ingot|generating|linking|reading).*, \d+ s$", line) for line in lines), f"{lines[:5]}")
    check(lines[-1] == "", f"leaves {lines[-1]!r}")
