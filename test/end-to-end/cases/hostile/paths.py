# SPDX-License-Identifier: Apache-2.0
"""Whatever stands where an option names a path: one error, soon, and it stays what it was.

The options are those that --help lists: each is given each of the obstacles with INGOT_HOSTILE=all
(ctest --preset hostile), and in turn three of them else.
"""

import os
import re
import shutil
import stat
import subprocess

from harness import DIGITS, QUIET, case, check, golden

G = golden("multilabel")
PRECIOUS = b"precious\n"
# What --help calls the values of options that name a path; some tools have one word for all values.
PATHS = re.compile(r"(FILE|DIR|PREFIX|TRAINER|MODEL|RUN|TEXT)\b")
ALL = os.environ.get("INGOT_HOSTILE") == "all"
AT_ONCE = 3
SECONDS = 20
MEMORY_KB = 4 << 20


def list_options(ingot, program, *words):
    """The options of a program with a path, "" for the one without a dash."""
    text = ingot.succeed([*([program] if words == () else [program, *words]), "--help"]).out
    found = set()
    for line in text.splitlines():
        option = re.match(r"  (?:-\w, ?)?(-\w|--[a-z-]+)[ ,]", line)
        value = re.match(r"  (?:-\w,)?(?:--?[a-z-]+) ([A-Z][^ ]*)", line)
        if option and value and PATHS.match(value[1]):
            found.add(re.match(r"  (?:-\w,)?(--?[a-z-]+)", line)[1])
        elif re.match(r"  [A-Z]+( TEXT|  )", line):
            found.add("")
    check(found, f"no options of {program} {words}: {text}")
    return sorted(found)


def make_obstacles(folder):
    (folder / "loop").symlink_to("loop")
    (folder / "folder").mkdir()
    (folder / "file").write_bytes(PRECIOUS)
    os.mkfifo(folder / "fifo")
    (folder / "through").symlink_to("fifo")
    (folder / "dangling").symlink_to("nowhere")
    names = ["loop", "folder", "file", "fifo", "through", "none/below", "file/below", "n" * 300, "d/" * 2500 + "deep"]
    names += ["dangling", "", os.fsdecode(b"no\xfftext")]
    if os.geteuid() == 0:
        # Devices of their own, in case they are replaced: zero, full and null.
        for name, minor in (("zero", 5), ("full", 7), ("null", 3)):
            os.mknod(folder / name, 0o666 | stat.S_IFCHR, os.makedev(1, minor))
            names.append(name)
    return names


def describe(folder):
    """The kind of each thing that is there, and what the regular file holds."""
    kinds = {p.name: stat.S_IFMT(os.lstat(p).st_mode) for p in folder.iterdir()}
    return kinds | {"content": (folder / "file").is_file() and (folder / "file").read_bytes()}


def run(command, folder):
    """Status and messages within limits of time and memory."""
    shell = ["bash", "-c", f'ulimit -v {MEMORY_KB}; exec "$@"', "bash"]
    try:
        return subprocess.run(
            [*shell, *(str(word) for word in command)], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True,
            timeout=SECONDS, env={**os.environ, **QUIET, "OMP_NUM_THREADS": "1"}, errors="replace",
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return None


def try_all(ingot, program, command, options, some=None):
    """Each option with each obstacle. `command` returns the words for one option and its value."""
    problems, folder = [], ingot.path("z").parent
    names = make_obstacles(folder)
    before = describe(folder)
    names = [name for name in names if some is None or name in some]
    for at, option in enumerate(options):
        turn = [names[(5 * at + i) % len(names)] for i in range(min(AT_ONCE, len(names)))]
        for name in names if ALL else turn:
            what = f"{program} {option} {ascii(name[:20])}"
            result = run(command(option, name), folder)
            if result is None:
                problems.append(f"{what}: no end in {SECONDS} s")
                continue
            lines = result.stderr.strip().splitlines()
            # MLIR's diagnostics have no hint, and LLVM's options a form of their own.
            is_ours = "ingot-opt" not in program
            if result.returncode not in (0, 1, 2, 3):
                problems.append(f"{what}: exit {result.returncode}: {lines[-2:]}")
            elif (
                result.returncode
                and is_ours
                and not (len(lines) > 1 and lines[-2].startswith("error: ") and lines[-1].startswith("hint: "))
            ):
                problems.append(f"{what}: exit {result.returncode} without error and hint: {lines[-2:]}")
            elif "internal" in result.stderr or "report this" in result.stderr:
                problems.append(f"{what}: {lines[-2:]}")
            changed = {key for key, value in describe(folder).items() if before.get(key, value) != value}
            # A file that was named for an output is replaced by one.
            if changed - ({"content"} if result.returncode == 0 else set()):
                problems.append(f"{what}: replaced {changed}")
            for path in folder.iterdir():
                if path.name not in before or path.name == "folder":
                    shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
            (folder / "folder").mkdir()
            (folder / "file").write_bytes(PRECIOUS)
    check(not problems, "; ".join(problem[:300] for problem in problems))


@case("paths-of-trainers")
def trainers(ingot):
    trainer = ingot.compile(G.model, *G.compile_flags("adamw"), "--data-parallel")
    needs = {"--predict": ["--eval-data", G.data]}

    def command(option, value):
        data = [] if option == "--data" else ["--data", G.data]
        return [trainer, *data, "--steps", "1", *needs.get(option, []), option, value]

    options = list_options(ingot, trainer)
    check({"--data", "--config", "--save", "--log"} <= set(options), f"options {options}")
    try_all(ingot, "trainer", command, options)
    try_all(ingot, "trainer", lambda option, value: [
        trainer, "--data", G.data, "--steps", "1", "--tune-seconds", "1", f"{option}={value}"],
            ["--tune"])  # fmt: skip
    lists = [trainer, "--steps", "1", "--data"]
    forms = ["@{}", "{}:0.5", "{}*", "{{{},x}}"]
    try_all(ingot, "trainer", lambda form, value: [*lists, form.format(value)], forms)


@case("paths-of-ingotc")
def compiler(ingot):
    def command(option, value):
        model = value if option == "" else G.model
        out = [] if option in ("-o", "--output") else ["-o", "trainer"]
        given = [] if option == "" else [option, value]
        needs = {"--tune-data": ["--tune", "--tune-seconds", "1"], "--plan": ["--data-parallel"]}
        flags = G.compile_flags("adamw")
        # Kernels and the link have no paths but the trainer's.
        if option == "--report":
            flags += ["--emit", "obj"]
        elif out and option not in ("--plan", "--tune-data"):
            flags += ["--emit", "mlir"]
        return [ingot.bin / "ingotc", model, *flags, *out, *needs.get(option, []), *given, "-O0", "--weights", "none"]

    options = list_options(ingot, ingot.bin / "ingotc")
    check({"", "--machine", "--report", "--checkpoint"} <= set(options), f"options {options}")
    try_all(ingot, "ingotc", command, options, ("loop", "folder", "fifo", "file/below", "zero", "full"))
    words = [ingot.bin / "ingotc", G.model, *G.compile_flags("adamw"), "--emit", "mlir", "-o", "m.mlir"]
    ingot.check_error([*words, "--report", "r.html"], 2, "--report", "--emit mlir ends before")


@case("paths-of-tools")
def tools(ingot):
    log = ingot.path("log.jsonl")
    log.write_text('{"step": 1, "loss": 2, "lr": 1, "step_ms": 1, "samples_per_s": 1, "epoch": 1, "elapsed_s": 1}\n')
    samples = DIGITS / "eval.npz"
    bases = {
        ("ingot-report",): [log],
        ("ingot-top",): [log],
        ("ingot-eval",): [G.model, "--batch", "8"],
        **{("ingot-data", name): [samples] for name in ("inspect", "index", "verify", "convert", "shard")},
    }
    for (name, *words), base in bases.items():
        program = ingot.bin / name

        def command(option, value, program=program, words=words, base=base):
            given = [value] if option == "" else [*base, option, value]
            needs = ["-o", "out.npz"] if option != "-o" and words and words[0] in ("convert", "shard") else []
            return [program, *words, *given, *needs]

        try_all(ingot, " ".join([name, *words]), command, list_options(ingot, program, *words))
    opt = ingot.bin / "ingot-opt"
    module = ingot.path("module.mlir")
    module.write_text("module {}\n")
    try_all(ingot, "ingot-opt", lambda option, value: [opt, *([value] if not option else [module, option, value])],
            ["", "-o"])  # fmt: skip


@case("paths-of-lists-and-ranges")
def lists(ingot):
    """Ranges at the end of 64 bits, many ranges and stars in a word, lists that name themselves: each ends soon."""
    folder = ingot.path("z").parent
    trainer = ingot.compile(G.model, *G.compile_flags("adamw"))
    (folder / ("a" * 200)).write_bytes(b"")
    for name, text in {
        "self": "@self\n" * 1000,
        "ranges": "{0..0}" * 200_000,
        "digits": "{" + "0" * 100_000 + "..1}",
        "stars": "a*" * 100 + "b",
        "long": "n" * 1_000_000,
        "weights": "x.npz:" + "9" * 100_000,
        "zero": "a\0b\n" * 1000,
    }.items():
        (folder / name).write_text(text)
    words = ["{9223372036854775806..9223372036854775807}", "{0..999999}{0..999999}", "{0..0}" * 20_000]
    words += ["{0..99999999999999999999}", "[" * 1000, "a*" * 1000 + "b", ":" * 1000, "x:u16:1e999"]
    words += [f"@{path.name}" for path in folder.iterdir()]
    for word in words:
        result = run([trainer, "--steps", "1", "--data", word], folder)
        check(result is not None, f"{word[:40]}: no end")
        lines = result.stderr.strip().splitlines()
        check(
            result.returncode in (2, 3) and lines[-2].startswith("error: ") and len(result.stderr) < 4000,
            f"{word[:40]}: exit {result.returncode}: {result.stderr[:300]}",
        )
