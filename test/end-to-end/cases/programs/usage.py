# SPDX-License-Identifier: Apache-2.0
"""Wrong use of the compiler and of trainers: exit status and message."""

import json
import random
import re
import shutil

import numpy as np
import onnx
from harness import DIGITS, case, check, golden
from onnx import TensorProto, helper

MODEL = golden("multilabel").model
FLAGS = ["--loss", "bce-with-logits", "--batch", "8"]


def compiler_error(name, status, *flags, words=()):
    """A compile that fails leaves nothing behind."""

    def run(ingot):
        trainer = ingot.path("trainer")
        ingot.check_error(ingot.ingotc(*flags, "-o", trainer), status, *words)
        left = list(trainer.parent.iterdir())
        check(not left, f"left behind: {[p.name for p in left]}")

    case(f"ingotc-{name}")(run)


@case("ingotc-colon")
def colon(ingot):
    """The loader's search path has no names with a colon."""
    ingot.check_error(ingot.ingotc(MODEL, *FLAGS, "-o", ingot.path("a:b")), 2, "-o", "libraries")


compiler_error("unknown-option", 2, MODEL, *FLAGS, "--frobnicate", words=["--frobnicate"])
compiler_error("extra", 2, MODEL, *FLAGS, "--clip", "1.0", words=["error: 1.0: an argument that no option takes"])
compiler_error("no-model", 2)
compiler_error("no-loss", 2, MODEL, "--batch", "8", words=["--loss"])
compiler_error("unknown-loss", 2, MODEL, "--loss", "hinge", "--batch", "8", words=["--loss", "hinge"])
compiler_error("unknown-loss-output", 2, MODEL, "--loss", "output:nothing", "--batch", "8", words=["nothing"])
compiler_error("unknown-optimizer", 2, MODEL, *FLAGS, "--optimizer", "sgdd", words=["--optimizer", "sgdd"])
compiler_error("bad-batch", 2, MODEL, "--loss", "bce-with-logits", "--batch", "0", words=["--batch"])
compiler_error("batch-not-a-number", 2, MODEL, "--loss", "bce-with-logits", "--batch", "x", words=["--batch"])
compiler_error("unknown-dim", 2, MODEL, *FLAGS, "--dim", "nothing=3", words=["nothing"])
compiler_error("unbound-dim", 3, MODEL, "--loss", "bce-with-logits", words=["batch"])
compiler_error("missing-model", 3, "no-such-model.onnx", *FLAGS, words=["no-such-model.onnx"])
compiler_error("bad-regex", 2, MODEL, *FLAGS, "--freeze", "(", words=["--freeze"])
compiler_error("freeze-all", 2, MODEL, *FLAGS, "--freeze", ".*", words=["--freeze", "nothing to train"])
compiler_error("train-none", 2, MODEL, *FLAGS, "--trainable", "^absent$", words=["--trainable", "nothing to train"])


@case("ingotc-unknown-options-meant")
def unknown_options_meant(ingot):
    """What users of other tools write is answered with the option's name here."""
    for given, hint in (
        ("--batchsize", "did you mean --batch?"),
        ("--gradient-accumulation-steps", "did you mean --grad-accumulation?"),
        ("--freez", "did you mean --freeze?"),
        ("--lr", "it is an option of the trainer"),
        ("--learning-rate", "--lr is an option of the trainer"),
        ("--comm-timeout", "it is an option of the trainer"),
        ("--loss-scale", "it is an option of the trainer"),
    ):
        result = ingot.run(ingot.ingotc(MODEL, *FLAGS, given, "4", "-o", ingot.path("trainer")))
        check(result.status == 2, f"exit {result.status} of {given}")
        for words in (f"error: {given}: unknown option\n", f"hint: {hint}"):
            check(words in result.err, f"{words!r} is not in {result.err!r}")


@case("options-of-the-other-program")
def other_program(ingot):
    """Each program knows all options of the other."""
    trainer = ingot.compile(MODEL, *FLAGS)
    own, other = (
        set(re.findall(r"^  (?:-\w,)?(--[a-z0-9-]+)", ingot.succeed([*command, "--help"]).out, re.MULTILINE))
        for command in ([trainer], ingot.ingotc())
    )
    check(len(own) > 50 and len(other) > 50, f"{own}, {other}")
    for options, command, whose in (
        (sorted(other - own)[::5], [trainer, "--data", golden("multilabel").data], "ingotc"),
        (sorted(own - other)[::5], ingot.ingotc(MODEL, *FLAGS), "the trainer"),
    ):
        for option in options:
            result = ingot.run([*command, option])
            check(result.status == 2, f"exit {result.status} of {option}")
            known = f"it is an option of {whose}" in result.err
            # Some are said with what to do.
            check(known or "compile the model with ingotc" in result.err, f"{option}: {result.err}")


@case("ingotc-help")
def ingotc_help(ingot):
    text = ingot.succeed(ingot.ingotc("--help")).out
    for option in ("--loss", "--optimizer", "--batch", "--dim", "--freeze", "--emit", "--dump-passes"):
        check(option in text, f"--help does not mention {option}")
    lines = text.splitlines()
    headings = [line[:-1] for line in lines if line.endswith(":") and not line.startswith(" ")]
    groups = ["Model", "What is trained", "Precision", "Ranks", "The machine", "Kernels and memory", "GPUs only",
              "Output", "Planning", "Tuning", "Environment", "Examples"]  # fmt: skip
    check([name for name in headings if name in groups] == groups, f"--help has {headings}")
    check(max(map(len, lines)) <= 80, "--help is wider than a terminal")
    check("INGOT_MACHINE" in text and "--grad-accumulation N" in text, text)
    check("--matmul-kernels NAME" in text and "--conv-fusion NAME" in text, "options without the name of a value")
    # The last part are commands that work.
    for command in re.findall(r"  ingotc (.*)", text.split("Examples:")[1].replace("\\\n", "")):
        words = command.replace("model.onnx", str(DIGITS / "digits.onnx")).replace("cross-entropy", "ce").split()
        words = [ingot.path("out") if word in ("trainer", "compiled.html") else word for word in words]
        ingot.succeed(ingot.ingotc(*(words if "--fit" not in words else [*words[:-2], "--batch", "2"])))
    version = ingot.succeed(ingot.ingotc("--version")).out
    check("ingotc" in version and any(c.isdigit() for c in version), f"--version says {version!r}")


@case("ingotc-config")
def ingotc_config(ingot):
    """Options of a file, which those on the command line replace; what is printed is read again."""
    config, trainer = ingot.path("compile.toml"), ingot.path("trainer")
    config.write_text(
        "# how\n[model]\nbatch = 16\nclip = true\nno_decay = 'bias' # of layers\n"
        f'optimizer = "sgd"\nlevel = 1\nuntie = false\noutput = "{trainer}"\nremat = ["save=a", "recompute=b"]\n'
    )
    command = ingot.ingotc(MODEL, "--config", config, "--loss", "mse", "--optimizer", "AdamW", "--allow-unmatched")
    ingot.succeed(command)
    plan = json.loads(ingot.succeed([trainer, "--inspect=json"]).out)
    check([plan["batch"], plan["optimizer"]] == [16, "adamw"], f"{plan['batch']}, {plan['optimizer']}")
    printed = ingot.succeed([*command, "--print-config"]).out
    for line in ('optimizer = "AdamW"', "batch = 16", "clip = true", "level = 1", 'remat = ["save=a", "recompute=b"]',
                 'precision = "fp32"', 'emit = "exe"'):  # fmt: skip
        check(line in printed.splitlines(), f"no {line} in {printed}")
    check("untie" not in printed, printed)
    again = ingot.path("again.toml")
    again.write_text(printed)
    check(ingot.succeed(ingot.ingotc(MODEL, "--config", again, "--print-config")).out == printed, "reads another one")
    for text, words in (("speed = 3\n", "unknown option 'speed'"), ("batch 3\n", "line 1"), ("tune = true\n", "tune")):
        config.write_text(text)
        ingot.check_error(ingot.ingotc(MODEL, "-o", trainer, *FLAGS, "--config", config), 2, "--config", words)
    ingot.check_error(ingot.ingotc(MODEL, "--config", ingot.path("none.toml")), 2, "--config", "no such file")


def broken(name, content):
    def run(ingot):
        model = ingot.path("broken.onnx")
        model.write_bytes(content())
        ingot.check_error(ingot.ingotc(model, "-o", ingot.path("trainer"), *FLAGS), 3, "broken.onnx")

    case(f"ingotc-model-{name}")(run)


broken("empty", lambda: b"")
broken("text", lambda: b"this is not a model\n" * 20)
broken("truncated", lambda: MODEL.read_bytes()[:3000])
broken("npz", lambda: golden("multilabel").data.read_bytes())


@case("ingotc-unwritable-output")
def unwritable(ingot):
    result = ingot.run(ingot.ingotc(MODEL, "-o", "/proc/nothing/trainer", *FLAGS))
    check(result.status in (1, 2, 3), f"exit {result.status}")
    check(result.err.startswith("error: "), f"message {result.err!r}")


@case("ingotc-runtime-incomplete")
def runtime_incomplete(ingot):
    """A build of ingotc alone lacks what trainers for GPUs are linked from."""
    tree = ingot.path("tree")
    (tree / "bin").mkdir(parents=True)
    (tree / "lib" / "ingot").mkdir(parents=True)
    compiler = shutil.copy2(ingot.ingotc()[0], tree / "bin")
    (tree / "lib" / "ingot" / "link-cuda.txt").write_text("bundle libs/libingot_cuda.so\n")
    trainer = ingot.path("trainer")
    command = [compiler, MODEL, *FLAGS, "-o", trainer]
    error = ingot.check_error([*command, "--target", "cuda"], 1, "runtime for cuda", "libs/libingot_cuda.so").err
    check("cmake --build --preset release" in error, f"no hint how to build it: {error!r}")
    ingot.check_error(command, 1, "runtime for cpu is not there")
    check(not trainer.exists(), "a trainer is left behind")


@case("ingotc-unsupported-ops")
def unsupported(ingot):
    """All of them in one error, with the names of their nodes."""
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 2, 3, 6])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 2, 3, 6])
    w = helper.make_tensor("w", TensorProto.FLOAT, [6, 6], np.eye(6, dtype=np.float32).ravel())
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["a"], "first"),
        helper.make_node("NoSuchFunction", ["w"], ["d"], "second_function"),
        helper.make_node("NoSuchPool", ["a"], ["b"], "third_pool", kernel_shape=[1, 1]),
        helper.make_node("Mul", ["b", "d"], ["y"], "fourth"),
    ]
    graph = helper.make_graph(nodes, "g", [x], [y], [w])
    path = ingot.path("unsupported.onnx")
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)
    ingot.check_error(
        ingot.ingotc(path, "-o", ingot.path("trainer"), "--loss", "mse", "--batch", "4"),
        3, "NoSuchFunction", "second_function", "NoSuchPool", "third_pool",
    )  # fmt: skip


@case("ingotc-flipped-bytes")
def flipped(ingot):
    """A damaged model compiles or is refused; it never takes the compiler down."""
    content = MODEL.read_bytes()
    source = random.Random(0)
    for attempt in range(40):
        damaged = bytearray(content)
        for _ in range(source.randint(1, 4)):
            damaged[source.randrange(2000)] = source.randrange(256)
        model = ingot.path("damaged.onnx")
        model.write_bytes(damaged)
        result = ingot.run(ingot.ingotc(model, "-o", model.with_name("t"), "--emit", "mlir", *FLAGS))
        check(result.status in (0, 2, 3), f"damage {attempt}: exit {result.status}: {result.last()}")
        if result.status:
            check("\nerror: " in "\n" + result.err, f"damage {attempt}: no error line: {result.err!r}")


def make_trainer(ingot):
    return ingot.compile(MODEL, *FLAGS)


def good_data():
    with np.load(golden("multilabel").data) as data:
        return {k: data[k] for k in data}


def trainer_error(name, status, *flags, words=(), env=None):
    def run(ingot):
        data = ingot.path("data.npz")
        np.savez(data, **good_data())
        trainer = make_trainer(ingot)
        words_ = [data if f == "DATA" else f for f in flags]
        ingot.check_error([trainer, *words_], status, *words, env=env)

    case(f"trainer-{name}")(run)


trainer_error("unknown-option", 2, "--data", "DATA", "--frobnicate", words=["--frobnicate"])
trainer_error("no-data", 2, words=["--data"])
trainer_error("missing-data", 3, "--data", "no-such.npz", words=["no-such.npz"])
trainer_error("missing-eval-data", 3, "--data", "DATA", "--eval-data", "no-such.npz", words=["no-such.npz"])
trainer_error("bad-steps", 2, "--data", "DATA", "--steps", "many", words=["--steps"])
trainer_error("negative-steps", 2, "--data", "DATA", "--steps", "-1", words=["--steps"])
trainer_error("bad-rate", 2, "--data", "DATA", "--lr", "fast", words=["--lr"])
trainer_error("clip-not-compiled", 2, "--data", "DATA", "--clip-norm", "1", words=["--clip-norm"])
trainer_error("bad-schedule", 2, "--data", "DATA", "--schedule", "saw", words=["--schedule"])
trainer_error("several-ranks", 2, "--data", "DATA", "--steps", "1", env={"WORLD_SIZE": "2"})
trainer_error("missing-init", 3, "--data", "DATA", "--init", "no-such.safetensors", words=["no-such"])


@case("trainer-help")
def trainer_help(ingot):
    trainer = make_trainer(ingot)
    text = ingot.succeed([trainer, "--help"]).out
    for option in ("--data", "--epochs", "--lr", "--weight-decay", "--export", "--inspect"):
        check(option in text, f"--help does not mention {option}")
    check("0.001" in text, "--help does not show the default rate")
    # It ends with examples, which work one after the other.
    folder, data = ingot.path("run"), ingot.path("data.npz")
    np.savez(data, **good_data())
    places = {"train.npz": data, "eval.npz": data, "run": folder, "TRAINER": trainer}
    for command in re.findall(r"  (TRAINER .*)", text.split("Examples:")[1].replace("\\\n", "")):
        ingot.succeed([places.get(word, word) for word in command.split()])
    ingot.succeed([trainer, "--version"])


def bad_data(name, change, *words, where="bad.npz"):
    """`change` damages the arrays, or returns the bytes of the whole file."""

    def run(ingot):
        path = ingot.path("bad.npz")
        arrays = good_data()
        content = change(arrays)
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            np.savez(path, **arrays)
        trainer = make_trainer(ingot)
        exported = path.with_name("exported.onnx")
        ingot.check_error([trainer, "--data", path, "--steps", "2", "--export", exported], 3, where, *words)
        check(not exported.exists(), "exported a model all the same")

    case(f"data-{name}")(run)


def assign(name, change):
    def run(arrays):
        arrays[name] = change(arrays[name])

    return run


file_bytes = golden("multilabel").data.read_bytes()
bad_data("not-a-zip", lambda _: b"not a zip archive" * 9)
bad_data("empty-file", lambda _: b"")
bad_data("truncated", lambda _: file_bytes[: len(file_bytes) // 2])
bad_data("missing-array", lambda a: a.pop("labels") is None, "labels")
bad_data("complex", assign("x", lambda v: v.astype(np.complex64)), "x")
bad_data("strings", assign("x", lambda v: v.astype("U4")), "x")
bad_data("wrong-shape", assign("x", lambda v: v[:, :5]), "x")
bad_data("wrong-rank", assign("x", lambda v: v.ravel()), "x")
bad_data("other-length", assign("labels", lambda v: v[:-1]))
bad_data("too-few", lambda a: a.update({k: v[:3] for k, v in a.items()}), where="--data")
bad_data("no-samples", lambda a: a.update({k: v[:0] for k, v in a.items()}))


@case("data-label-out-of-range")
def label_out_of_range(ingot):
    g = golden("mlp")
    with np.load(g.data) as data:
        arrays = {k: data[k].copy() for k in data}
    arrays["labels"][5] = 10
    path = ingot.path("bad.npz")
    np.savez(path, **arrays)
    trainer = ingot.compile(g.model, *g.compile_flags("adamw"))
    ingot.check_error([trainer, "--data", path, "--steps", "2"], 3, "bad.npz", "10")


@case("data-other-types")
def other_types(ingot):
    """Types that convert without loss train to the same numbers."""
    g = golden("mlp")
    with np.load(g.data) as data:
        arrays = {k: data[k] for k in data}
    path = ingot.path("other.npz")
    np.savez(
        path,
        x=arrays["x"].astype(np.float64),
        labels=arrays["labels"].astype(np.int32),
        unrelated=np.zeros(3),
    )
    trainer = ingot.compile(g.model, *g.compile_flags("adamw"))
    runs = [ingot.train(trainer, "--data", file, "--no-shuffle", "--steps", "4")[0] for file in (g.data, path)]
    check([s["loss"] for s in runs[0]] == [s["loss"] for s in runs[1]], "losses differ")
