# SPDX-License-Identifier: Apache-2.0
"""What the sections of check.py share: their registry, the programs of the folder, and what is kept of a run."""

import json
import os
import shutil
import subprocess
import sys
import time

from drawing import draw_data
from kept import Kept
from traces import read_steps

HERE = os.path.dirname(os.path.abspath(__file__))
ARCHIVE = "programs.tar.xz"
SECTIONS = {}


def section(title, seconds, least=None, name=None):
    """Registers a section, by the name of its function if it has no other: `seconds` is what it takes at most, and with
    less than `least` it says nothing."""

    def register(function):
        SECTIONS[name or function.__name__] = (title, seconds, least or seconds / 2, function)
        return function

    return register


class Skip(Exception):
    pass


def add_library_folders(python):
    """Lets trainers find CUDA's libraries where they are packages of that Python, as they are beside PyTorch. Those of
    the folder come first."""
    code = "import glob, nvidia; [print(f) for p in nvidia.__path__ for f in glob.glob(p + '/**/lib', recursive=True)]"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True)
    folders = [os.path.join(HERE, "libraries"), *done.stdout.split("\n"), os.environ.get("LD_LIBRARY_PATH", "")]
    os.environ["LD_LIBRARY_PATH"] = ":".join(folder for folder in folders if folder)


def judge(problems, what, value, least=None, most=None):
    """Adds a problem if a figure does not reach its goal, or is not known."""
    if value is not None and (least is None or value >= least) and (most is None or value <= most):
        return
    goal = f"at least {least}" if least is not None else f"at most {most}"
    problems.append(f"{what} is {'not known' if value is None else f'{value:.3g}'}, the goal is {goal}")


class Check:
    def __init__(self, options):
        self.options = options
        self.deadline = time.monotonic() + options.limit
        with open(os.path.join(HERE, "plan.json")) as file:
            self.plan = json.load(file)
        self.python = os.environ.get("INGOT_TORCH_PYTHON", sys.executable)
        self.gpu = self.pytorch = None
        self.nccl = self.runs = 0
        self.section_deadline = self.deadline
        os.makedirs(options.work, exist_ok=True)
        self.kept = Kept(options.out, options.work)
        # What trainers choose is kept, too, and a later run takes it.
        os.environ["XDG_CACHE_HOME"] = self.kept.cache
        add_library_folders(self.python)

    def left(self):
        """The seconds that the section has left."""
        return self.section_deadline - time.monotonic()

    def find(self, name):
        """The path of a program."""
        folder, archive = os.path.join(self.options.work, "of-" + self.plan["commit"]), os.path.join(HERE, ARCHIVE)
        if not os.path.exists(archive):
            return os.path.join(HERE, name)
        if not os.path.isdir(folder):
            shutil.unpack_archive(archive, folder + ".part")
            os.rename(folder + ".part", folder)
        return os.path.join(folder, name)

    def run(self, *command, timeout=120, check=True, env=None):
        command = [str(word) for word in command]
        timeout = max(1, min(timeout * self.plan["slower"], self.left()))
        try:
            done = subprocess.run(
                command,
                text=True,
                capture_output=True,
                timeout=timeout,
                errors="replace",
                env={**os.environ, **(env or {})},
            )
        except subprocess.TimeoutExpired:
            raise Skip(f"{os.path.basename(command[0])}: no end after {timeout:.0f} s") from None
        if check and done.returncode != 0:
            raise RuntimeError(f"{' '.join(command[:3])}: exit {done.returncode}: {done.stderr.strip()[-400:]}")
        return done

    def read_lines(self, *command):
        """The whole lines that a command writes, whatever becomes of it, and what that is: "" for results, "timeout",
        or how it ended."""
        path = os.path.join(self.options.work, "lines.txt")
        with open(path, "w") as file:
            process = subprocess.Popen([str(word) for word in command], stdout=file, stderr=subprocess.PIPE, text=True)
            try:
                _, said = process.communicate(timeout=max(1, self.left()))
                # 1 says that a result differs.
                problem = "" if process.returncode in (0, 1) else f"exit {process.returncode}: {said.strip()[-300:]}"
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()
                problem = "timeout"
        with open(path, errors="replace") as file:
            return [line for line in file if line.endswith("\n")], problem

    def command(self, trainer, steps, *flags):
        """A run of a trainer, and the path of its log."""
        data = os.path.join(HERE, trainer.get("data", ""))
        if "draw" in trainer:
            data = os.path.join(self.options.work, f"{trainer['model'].replace(':', '-')}.npz")
            if not os.path.exists(data):
                draw_data(data, trainer["draw"]["x"], trainer["draw"]["classes"])
        # What a run that does not end goes on to write is its own.
        self.runs += 1
        log = os.path.join(self.options.work, f"log-{os.getpid()}-{self.runs}.jsonl")
        words = [self.find(trainer["name"]), "--data", data, "--no-shuffle", "--steps", steps, "--log", log, *flags]
        return [str(word) for word in words], log

    def train(self, trainer, steps, *flags, env=None, before=()):
        """The log of a run."""
        command, log = self.command(trainer, steps, *flags)
        self.run(*before, *command, timeout=240, env=env)
        with open(log) as file:
            return [json.loads(line) for line in file]

    def profile(self, trainer, steps, name, *flags, env=None):
        """The kernels and calls of the last `steps` steps of a run, by step, and how they were timed. The first ones
        choose algorithms and record the graph."""
        trace = os.path.join(self.options.work, name + ".json")
        self.train(trainer, steps + 3, "--profile", trace, "--profile-steps", f"2:1:{steps}", *flags, env=env)
        self.kept.add_trace(trace)
        return read_steps(trace)

    def inspect(self, trainer):
        return json.loads(self.run(self.find(trainer["name"]), "--inspect=json").stdout)

    def trainers(self, *models):
        return [t for t in self.plan["trainers"] if not models or t["model"] in models]

    def named(self, names):
        """Trainers by their names, those that the folder has."""
        known = {t["name"]: t for t in self.plan["trainers"] + self.plan["compared"]}
        return [known[name] for name in names if name in known]

    def torch(self, *arguments, timeout=120):
        """What models.py prints at last."""
        done = self.run(self.python, os.path.join(HERE, "models.py"), *arguments, timeout=timeout)
        return json.loads(done.stdout.splitlines()[-1])
