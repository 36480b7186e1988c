# SPDX-License-Identifier: Apache-2.0
"""ingotc --print-pipeline: the command line of ingot-opt that repeats a compile."""

import json
import re
import shlex

from cases.programs.variants import write_model
from harness import ROOT, case, check

DIGITS = [ROOT / "docs/examples/digits/digits.onnx", "--loss", "cross-entropy", "--batch", "8"]
BYTES = [ROOT / "docs/examples/bytes/bytes.onnx", "--loss", "cross-entropy", "--batch", "2"]
RANKS = ["--data-parallel", "--bucket-mb", "0.01"]


def print_pipeline(ingot, *flags):
    """The words of the line that is printed, which is all that is printed."""
    printed = ingot.succeed(ingot.ingotc(*flags, "--print-pipeline")).out
    check(printed.count("\n") == 1 and printed.endswith("\n"), f"not one line: {printed!r}")
    return shlex.split(printed)


def check_repeats(ingot, *flags, emit="exec"):
    """The shell runs the line that ingotc prints, and both write the same bytes."""
    compiled, repeated = ingot.path("compiled.mlir"), ingot.path("repeated.mlir")
    flags = [*flags, "--emit", emit]
    ingot.succeed(ingot.ingotc(*flags, "-o", compiled))
    script = 'out=$1; shift; eval "$("$@" --print-pipeline)" -o "$out"'
    ingot.succeed(["sh", "-c", script, "sh", repeated, *ingot.ingotc(*flags)])
    want = compiled.read_bytes()
    check(len(want) > 1000 and repeated.read_bytes() == want, "ingot-opt writes another module than ingotc")
    return want.decode()


def repeats(name, *flags, has=(), **kwargs):
    def run(ingot):
        module = check_repeats(ingot, *flags, **kwargs)
        for text in has:
            check(text in module, f"the module has no {text!r}")

    case(f"pipeline-{name}")(run)


repeats("default", *DIGITS)
repeats("unoptimized", *DIGITS, "-O0", "--optimizer", "sgd")
repeats("bf16", *BYTES, "--precision", "bf16", "--keep-fp32", "layer_norm|node_linear_1$", "-O3", has=["bf16"])
repeats("fp16", *DIGITS, "--precision", "fp16", "--force-low", "relu", "--clip", has=["f16"])
repeats("moments", *DIGITS, "--optimizer-precision", "bf16", "--loss-scaling", has=["moment", "bf16"])
repeats("cuda-exact-math", *DIGITS, "--target", "cuda", "--exact-math", has=["ingot.exact_math"])
repeats("cuda-tf32", *DIGITS, "--target", "cuda", "--tf32", has=["math = tf32"])
repeats("cuda-bf16", *BYTES, "--target", "cuda", "--arch", "sm_80", "--precision", "bf16", has=['arch = "sm_80"'])
repeats("cpu-arch", *DIGITS, "--arch", "x86-64-v2", "--optimizer", "lion", has=['arch = "x86-64-v2"'])
repeats("zero-0", *DIGITS, *RANKS, "--zero", "0", "--sync-batch-norm", has=["@ingot_all_reduce_start"])
repeats("zero-1", *DIGITS, *RANKS, "--zero", "1", "--optimizer", "momentum", has=["@ingot_reduce_scatter_start"])
repeats("zero-2", *BYTES, *RANKS, "--zero", "2", "--precision", "bf16", "--target", "cuda", has=["ingot.data_parallel"])
repeats("compression", *DIGITS, *RANKS, "--grad-comm", "powersgd:2,start:3", has=["ingot.uncompressed_steps = 3"])
repeats("int8", *DIGITS, *RANKS, "--grad-comm", "int8", "--target", "cuda")
repeats("rounding", *DIGITS, *RANKS, "--grad-comm", "bf16", "--zero", "1")
repeats("budget-bytes", *BYTES, "--memory-budget", "24 MiB")
repeats("budget-percent", *BYTES, "--memory-budget", "60%", "--remat", "save=softmax", "--remat", "recompute=gelu|norm")
repeats("accumulation", *DIGITS, "--grad-accumulation", "4", "--no-decay", "bias", has=["@accumulate_step"])
repeats(
    "parameters", *DIGITS, "--freeze", "^bn[0-9]{1,2}\\.|it's", "--trainable", 'conv|fc|"', has=["ingot.state frozen"]
)
repeats("kernels", *DIGITS, "--precision", "bf16", emit="mlir", has=["ingot.fusion"])


@case("pipeline-variants")
def variants(ingot):
    """Several sizes, of a dimension whose name is no plain word."""
    flags = [write_model(ingot), "--loss", "cross-entropy", "--batch", "4", "--dim", "seq=3,7"]
    module = check_repeats(ingot, *flags)
    for name in ("seq=3", "seq=7"):
        check(f'@"train_step[{name}]"' in module, f"no step of {name}")


@case("pipeline-machine")
def machine(ingot):
    """The figures of a file, which is named in the line."""
    path = ingot.path("a machine.json")
    path.write_text(json.dumps({"threads": 3, "link_bandwidth": 1e8}))
    module = check_repeats(ingot, *DIGITS, *RANKS[:1], "--machine", path)
    check("threads = 3.0" in module, "not the machine's threads")


@case("pipeline-fit")
def fit(ingot):
    """The batch that --fit finds is in the line."""
    model, loss = DIGITS[0], DIGITS[1:3]
    words = print_pipeline(ingot, model, *loss, "--fit", "1 MiB")
    found = re.search(r"batch (\d+):", ingot.succeed(ingot.ingotc(model, *loss, "--fit", "1 MiB")).out)
    check(found and f"--batch={found[1]}" in words, f"no batch in {words}")


@case("pipeline-line")
def line(ingot):
    """The line names ingot-opt beside ingotc, and only what was given."""
    words = print_pipeline(ingot, *DIGITS, "--zero", "1", "--data-parallel", "--no-decay", "a b")
    model = str(DIGITS[0])
    check(words[:3] == [str(ingot.bin / "ingot-opt"), model, "--batch=8"], f"starts with {words[:3]}")
    want = "--ingot-steps=loss=cross-entropy no-decay='a b' data-parallel zero=1"
    check(want in words, f"no {want!r} in {words}")
    both = "it's \"a b"
    ingot.check_error(ingot.ingotc(*DIGITS, "--no-decay", both, "--print-pipeline"), 2, "--no-decay")
