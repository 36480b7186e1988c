# SPDX-License-Identifier: Apache-2.0
"""Options that name parameters and nodes, and values that are no values."""

from harness import DIGITS, case, check, golden

G = golden("multilabel")
FLAGS = G.compile_flags("adamw")


def compile_with(ingot, *flags):
    return ingot.ingotc(G.model, *FLAGS, "-o", ingot.path("t"), *flags)


@case("names-that-match-nothing")
def unmatched(ingot):
    """An expression with a typing error would train everything, or in another precision."""
    cases = [
        (["--freeze", "fc1.weigth"], "matches no parameter"),
        (["--no-decay", "biass"], "matches no trained parameter"),
        (["--freeze", "bias", "--no-decay", "bias"], "matches no trained parameter"),
        (["--precision", "bf16", "--keep-fp32", "attn"], "matches no node"),
        (["--precision", "bf16", "--force-low", "attn"], "matches no node"),
        (["--remat", "save=attn"], "matches no node"),
        (["--remat", "recompute=attn", "--memory-budget", "90%"], "matches no node"),
    ]
    for flags, words in cases:
        option = next(flag for flag in reversed(flags) if flag.startswith("--") and flag != "--memory-budget")
        error = ingot.check_error(compile_with(ingot, *flags), 2, f"{option}: ", words).err
        check("--allow-unmatched" in error.splitlines()[-1], error)
        ingot.succeed(compile_with(ingot, *flags, "--allow-unmatched", "--emit", "mlir"))
    error = ingot.check_error(compile_with(ingot, "--freeze", "fc1.weigth"), 2).err
    check("it has 'fc1.weight'" in error.splitlines()[-1], error)
    # Nothing to train is an error all the same.
    ingot.check_error(compile_with(ingot, "--trainable", "absent", "--allow-unmatched"), 2, "nothing to train")


@case("names-that-match")
def matched(ingot):
    for flags in (
        ["--freeze", "absent|fc1"],
        ["--no-decay", "bias$"],
        ["--precision", "bf16", "--keep-fp32", "loss"],
        ["--remat", "save=.*"],
    ):
        ingot.succeed(compile_with(ingot, *flags, "--emit", "mlir"))


@case("remat-wishes")
def remat_wishes(ingot):
    """Of several expressions one has to match; the others are noted."""
    flags = ["--remat", "save=attn", "--remat", "recompute=.*", "--emit", "mlir"]
    said = ingot.succeed(compile_with(ingot, *flags)).err
    check(said == "note: --remat: 'save=attn' matches no node of the model\n", f"said {said!r}")
    flags = ["--remat", "save=attn", "--remat", "recompute=conv", "--emit", "mlir"]
    ingot.check_error(compile_with(ingot, *flags), 2, "--remat", "'attn' matches no node")


@case("remat-contradicts")
def remat_contradicts(ingot):
    command = compile_with(ingot, "--remat", "save=.*", "--remat", "recompute=.*")
    ingot.check_error(command, 2, "--remat", "both save and recompute match")


@case("empty-values")
def empty_values(ingot):
    """As unset variables of a shell give them."""
    for option in (
        "--freeze", "--no-decay", "--keep-fp32", "--memory-budget", "--machine", "--report", "--remarks",
        "--dump-passes", "--arch",
    ):  # fmt: skip
        ingot.check_error(compile_with(ingot, option, ""), 2, option, "empty")
    ingot.check_error(ingot.ingotc(G.model, *FLAGS, "-o", ""), 2, "empty")
    ingot.check_error(ingot.ingotc("", *FLAGS, "-o", ingot.path("t")), 2, "MODEL", "empty")
    evaluate = [ingot.bin / "ingot-eval", G.model, "--batch", "8"]
    ingot.check_error([*evaluate, "--inputs", ""], 2, "--inputs", "empty")


@case("numbers-that-are-none")
def numbers(ingot):
    """Said in words, not as a range with a number of 309 digits."""
    model = ingot.ingotc(DIGITS / "digits.onnx", "--loss", "cross-entropy", "-o", ingot.path("t"))
    for value in ("0", "-1", "4x", "1e999", "99999999999999999999", "2.5"):
        words = f"'{value}' is not an integer from 1"
        error = ingot.check_error([*model, f"--batch={value}"], 2, "--batch", words).err
        check(len(error) < 200, error)
    for option in ("--steps", "--ranks", "--batch"):
        command = [ingot.bin / "ingot-eval", G.model, f"{option}=0"]
        check(len(ingot.check_error(command, 2, option, "'0' is not an integer").err) < 200, option)
    for value, words in (("10M", ("10MiB", "10MB")), ("1.5G", ("1.5GiB", "1.5GB")), ("7K", ("7KiB", "bytes"))):
        error = ingot.check_error([*model, "--fit", value], 2, "--fit", f"'{value}'").err
        check(all(word in error.splitlines()[-1] for word in words), error)
    for value in ("nan", "inf", "-1", "0"):
        ingot.check_error(
            compile_with(ingot, "--data-parallel", "--bucket-mb", value), 2, "--bucket-mb", "out of range"
        )


@case("budget-in-every-unit")
def budget_units(ingot):
    """What fits is said in bytes, in MiB and as a percentage, and each is right."""
    model = ingot.ingotc(DIGITS / "digits.onnx", "--loss", "cross-entropy", "--batch", "32", "-o", ingot.path("t"))
    error = ingot.check_error([*model, "--memory-budget", "1%"], 2, "--memory-budget", " bytes at the peak").err
    line = next(line for line in error.splitlines() if line.startswith("error: "))
    words = line.replace(",", "").split()
    size, percent = words[words.index("MiB") - 1], words[-1]
    check(percent.endswith("%"), error)
    for budget in (f"{size}MiB", percent):
        ingot.succeed([*model, "--memory-budget", budget, "--emit", "exec"])
