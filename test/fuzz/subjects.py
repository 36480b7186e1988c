# SPDX-License-Identifier: Apache-2.0
"""What families make and the driver runs: a model, a command line, or a module,
each of which can be checked, written to a folder, and made smaller."""

import dataclasses
import hashlib
import json
import pathlib
import shlex
import shutil

import numpy as np
import onnx
import sandbox

# Larger trainers are compiled and inspected, but not run.
TRAINED_BYTES = 256 << 20
TRAINED_FLOPS = 2e9
TRAINED_INPUT = 1 << 22


class Problem(Exception):
    """What is wrong, and the command that shows it."""

    def __init__(self, what, command):
        super().__init__(what)
        self.what = what
        self.command = [word.decode("utf-8", "replace") if isinstance(word, bytes) else str(word) for word in command]

    def program(self):
        name = pathlib.Path(self.command[0]).name
        return name if name.startswith("ingot") else "trainer"


class Box:
    """The programs under test and a folder for one case."""

    def __init__(self, programs, folder):
        self.programs = pathlib.Path(programs)
        self.folder = pathlib.Path(folder)
        self.accepted = True

    def run(self, command, diagnostics=False, env=None):
        """The outcome of a command, which names a program of the build or a path; a
        problem is raised."""
        if "/" not in str(command[0]):
            command = [self.programs / command[0], *command[1:]]
        outcome = sandbox.execute(command, self.folder, env)
        what = sandbox.judge(outcome, diagnostics)
        if what:
            raise Problem(what, command)
        self.accepted &= outcome.status == 0
        return outcome


def digests(paths):
    """What regular files hold, and the kinds of others."""
    found = {}
    for path in paths:
        if path.is_symlink():
            found[path] = f"link to {path.readlink()}"
        elif path.is_file() and path.stat().st_size < 1 << 24:
            found[path] = hashlib.sha256(path.read_bytes()).hexdigest()
        elif path.is_file():
            found[path] = "large file"
        else:
            found[path] = path.lstat().st_mode >> 12 if path.exists() else "nothing"
    return found


def train(box, trainer):
    """Two steps of a trainer on random data of the shapes that it asks for."""
    plan = json.loads(box.run([trainer, "--inspect=json"]).out)
    flops = sum(kernel.get("flops") or 0 for kernel in plan["kernels"])
    sizes = [np.prod([max(n, 0) for n in entry["shape"]], dtype=float) for entry in plan["inputs"]]
    if plan["peak_bytes"] > TRAINED_BYTES or flops > TRAINED_FLOPS or sum(sizes) > TRAINED_INPUT:
        return
    rng, arrays = np.random.default_rng(1), {}
    for entry in plan["inputs"]:
        shape, dtype = entry["shape"], entry["dtype"]
        if dtype in ("f32", "f64", "f16", "bf16", "float32", "float64", "float16", "bfloat16"):
            arrays[entry["name"]] = rng.random(shape, np.float32)
        else:
            arrays[entry["name"]] = rng.integers(0, 2, shape)
    data = box.folder / "data.npz"
    try:
        np.savez(data, **arrays)
    except (ValueError, OSError, TypeError):
        return  # Numpy cannot write such names.
    box.run([trainer, "--data", data, "--steps", "2"])


@dataclasses.dataclass
class Model:
    """A model, and how it is compiled. Its files lie in the case's folder."""

    label: str
    data: bytes
    flags: list
    stage: str = "train"  # or "plan": up to placed steps; "import": the frontend alone
    suffix: str = ".onnx"
    files: dict = dataclasses.field(default_factory=dict)

    def write(self, folder):
        path = folder / f"model{self.suffix}"
        path.write_bytes(self.data)
        for name, content in self.files.items():
            (folder / name).write_bytes(content)
        return path

    def command(self, path, output):
        if self.stage == "import":
            batch = [f"{a}" for a in self.flags if a.startswith("--batch")]
            return ["ingot-opt", path, *batch, "--canonicalize", "-o", output]
        emit = ["--emit", "exec"] if self.stage == "plan" else []
        return ["ingotc", path, *self.flags, *emit, "-o", output]

    def check(self, box):
        path = self.write(box.folder)
        output = box.folder / ("t" if self.stage == "train" else "t.mlir")
        done = box.run(self.command(path, output))
        if self.stage == "train" and done.status == 0:
            train(box, output)

    def text(self, folder):
        name = folder.name
        path = folder.parent / f"{name}{self.suffix}"
        path.write_bytes(self.data)
        for other, content in self.files.items():
            (folder.parent / other).write_bytes(content)
        return shlex.join(str(word) for word in self.command(path, "/tmp/t"))

    def replaced(self, model):
        return dataclasses.replace(self, data=model.SerializeToString())

    def smaller(self):
        """The model without one of its parts each."""
        try:
            model = onnx.ModelProto.FromString(self.data)
        except Exception:
            return
        for kind in ("functions", "metadata_props"):
            for i in reversed(range(len(getattr(model, kind)))):
                copy = onnx.ModelProto.FromString(self.data)
                del getattr(copy, kind)[i]
                yield self.replaced(copy)
        for kind in ("node", "initializer", "value_info", "output"):
            count = len(getattr(model.graph, kind))
            for size in sorted({count // 2, count // 8, 1}, reverse=True):
                for start in range(0, count, max(size, 1)) if size else []:
                    copy = onnx.ModelProto.FromString(self.data)
                    if kind == "node":
                        bridge(copy.graph, range(start, min(start + size, count)))
                    else:
                        del getattr(copy.graph, kind)[start : start + size]
                    yield self.replaced(copy)
        for i, node in enumerate(model.graph.node):
            for j in range(len(node.attribute)):
                copy = onnx.ModelProto.FromString(self.data)
                del copy.graph.node[i].attribute[j]
                yield self.replaced(copy)
        for i in range(len(self.flags)):
            yield dataclasses.replace(self, flags=self.flags[:i] + self.flags[i + 1 :])


def bridge(graph, doomed):
    """Removes nodes; their users read what they read."""
    renamed = {}
    for i in doomed:
        node = graph.node[i]
        for name in node.output:
            renamed[name] = node.input[0] if node.input else ""
    for i in reversed(doomed):
        del graph.node[i]
    for node in graph.node:
        for i, name in enumerate(node.input):
            while name in renamed:
                name = renamed[name]
            node.input[i] = name
    for output in graph.output:
        while output.name in renamed:
            output.name = renamed[output.name]


@dataclasses.dataclass
class Words:
    """A command line; `files` lie in the case's folder, and `kept` names those that
    the program must leave as they are."""

    label: str
    words: list
    groups: list  # the options, each a list of words
    files: dict = dataclasses.field(default_factory=dict)
    special: dict = dataclasses.field(default_factory=dict)
    kept: list = dataclasses.field(default_factory=list)
    env: dict = dataclasses.field(default_factory=dict)
    trainer: str = ""  # run if the command wrote one of this name

    def write(self, folder):
        for name, content in self.files.items():
            if name in self.special:
                continue
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        for name, kind in self.special.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            sandbox.special(path, kind)

    def command(self):
        return [*self.words, *[word for group in self.groups for word in group]]

    def check(self, box):
        self.write(box.folder)
        unusual = [name for name, kind in self.special.items() if kind not in ("empty", "sparse")]
        watched = [box.folder / name for name in [*self.kept, *unusual]]
        before = digests(watched)
        command = self.command()
        if command[0].startswith("./"):
            command[0] = box.folder / command[0]
        done = box.run(command, env=self.env)
        after = digests(watched)
        for path, what in before.items():
            if after[path] != what:
                raise Problem(f"replaces {path.name}", command)
        trainer = box.folder / self.trainer
        if self.trainer and done.status == 0 and trainer.is_file() and trainer.stat().st_mode & 0o100:
            train(box, trainer)

    def text(self, folder):
        folder.mkdir(exist_ok=True)
        shutil.rmtree(folder)
        folder.mkdir()
        self.write(folder)
        variables = " ".join(f"{k}={shlex.quote(v)}" for k, v in self.env.items())
        words = " ".join(shlex.quote(str(word)) if len(str(word)) < 500 else "..." for word in self.command())
        return f"cd {folder}; {variables} {words}".replace("  ", " ")

    def smaller(self):
        for i in range(len(self.groups)):
            yield dataclasses.replace(self, groups=self.groups[:i] + self.groups[i + 1 :])
        for i, group in enumerate(self.groups):
            for j in range(1, len(group)):
                if len(str(group[j])) > 40:
                    short = [*group[:j], group[j][: len(group[j]) // 2], *group[j + 1 :]]
                    yield dataclasses.replace(self, groups=[*self.groups[:i], short, *self.groups[i + 1 :]])


@dataclasses.dataclass
class Module:
    """Functions in MLIR, parsed apart, and the passes that run on them."""

    label: str
    functions: list
    flags: list
    program: str = "ingot-opt"

    def check(self, box):
        path = box.folder / "module.mlir"
        path.write_text("\n// -----\n".join(self.functions), encoding="utf-8")
        command = [self.program, path, *self.flags]
        if self.program == "ingot-opt":
            command += ["--split-input-file", "-o", box.folder / "out.mlir"]
        box.run(command, diagnostics=True)

    def text(self, folder):
        path = folder.parent / f"{folder.name}.mlir"
        path.write_text("\n// -----\n".join(self.functions), encoding="utf-8")
        split = ["--split-input-file"] if self.program == "ingot-opt" else []
        return shlex.join([self.program, str(path), *self.flags, *split])

    def smaller(self):
        count = len(self.functions)
        for size in sorted({count // 2, count // 8, 1}, reverse=True):
            for start in range(0, count, size) if 0 < size < count else []:
                yield dataclasses.replace(self, functions=self.functions[:start] + self.functions[start + size :])
        if count == 1:
            lines = self.functions[0].split("\n")
            for i in range(1, len(lines) - 1):
                yield dataclasses.replace(self, functions=["\n".join(lines[:i] + lines[i + 1 :])])
