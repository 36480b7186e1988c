# SPDX-License-Identifier: Apache-2.0
"""Completion by shells and manual pages, which programs write of their own options."""

import re
import shutil
import subprocess

from harness import DIGITS, case, check

TOOLS = ("ingotc", "ingot-data", "ingot-measure", "ingot-report", "ingot-top")
# Sources a script, and prints what it offers for a command line, a word each.
COMPLETE = """
source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
function=$(complete -p "$1" | sed 's/.*-F \\([^ ]*\\).*/\\1/')
$function; printf '%s\\n' "${COMPREPLY[@]}"
"""


def programs(ingot):
    yield from (ingot.bin / tool for tool in TOOLS)
    yield ingot.compile(DIGITS / "digits.onnx", "--loss", "cross-entropy", "--batch", "32", "--data-parallel")


def options(ingot, program):
    """The long options of --help, and of that of commands."""
    text = ingot.succeed([program, "--help"]).out
    text = text.split("Examples:")[0].split("Environment:")[0]
    found = set(re.findall(r"^  (?:-\w,)?(--[a-z][\w-]*)", text, re.MULTILINE))
    check("--help" in found and "--completion" in found, f"{program.name}: {found}")
    return found


@case("completion")
def completion(ingot):
    """Shells read the scripts, which have every option; bash completes options, values, commands and files."""
    scripts = {}
    for program in programs(ingot):
        for shell in ("bash", "zsh", "fish"):
            script = ingot.path(f"{program.name}.{shell}")
            script.write_text(ingot.succeed([program, "--completion", shell]).out)
            text = script.read_text()
            for option in options(ingot, program):
                name = option[2:] if shell == "fish" else option
                check(re.search(rf"(?<![\w-]){name}(?![\w-])", text), f"{script.name} has no {option}")
            scripts[script.name] = script
            if shutil.which(shell):
                ingot.succeed([shell, "-n", script])
        ingot.check_error([program, "--completion", "tcsh"], 2, "--completion", "'tcsh'")

    def complete(*words):
        command = ["bash", "-c", COMPLETE, "complete", str(scripts[f"{words[0]}.bash"]), *words]
        found = subprocess.run(command, capture_output=True, text=True, cwd=ingot.scratch, check=False)
        check(found.returncode == 0 and not found.stderr, f"{words}: {found.stderr}")
        return found.stdout.split()

    (ingot.scratch / "samples.npz").touch()
    for words, expected in (
        (("ingotc", "--preci"), ["--precision"]),
        (("ingotc", "--emit", "ex"), ["exec", "exe"]),
        (("ingotc", "--emit", "=", "pt"), ["ptx"]),
        (("ingotc", "--emit", "="), ["onnx", "mlir", "exec", "ptx", "llvm", "obj", "exe", "lib"]),
        (("ingotc", "samp"), ["samples.npz"]),
        (("ingot-data", "ver"), ["verify"]),
        (("ingot-data", "shard", "--samp"), ["--samples"]),
        (("ingot-data", "inspect", "--samp"), []),
        (("trainer", "--data", "samp"), ["samples.npz"]),
        (("trainer", "--transport", ""), ["mpi", "tcp"]),
        (("trainer", "--weight-d"), ["--weight-decay"]),
        (("trainer", "--steps", ""), []),
    ):
        check(complete(*words) == expected, f"{words}: {complete(*words)}")


@case("man-pages")
def man_pages(ingot):
    """Readers of manual pages find nothing wrong, and every option and variable in them."""
    trainer = ingot.compile(DIGITS / "digits.onnx", "--loss", "cross-entropy", "--batch", "32", "--data-parallel")
    pages = [(ingot.bin / tool, [ingot.bin / tool, "--man-page"]) for tool in TOOLS]
    pages.append((trainer, [*ingot.ingotc(), "--trainer-man-page"]))
    for program, command in pages:
        page = ingot.path(f"{program.name}.1")
        page.write_text(ingot.succeed(command).out)
        text = page.read_text()
        check(text.startswith('.TH "') or text.startswith(".TH "), text[:40])
        for section in ("NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXIT STATUS"):
            check(f"\n.SH {section}\n" in text, f"{program.name} has no section {section}")
        for option in options(ingot, program):
            check("\\fB" + option.replace("-", "\\-") + "\\fR" in text, f"{page.name} has no {option}")
        variables = ingot.succeed([program, "--help"]).out.partition("Environment:")[2].partition("\n\n")[0]
        for name in re.findall(r"\b[A-Z]+_[A-Z_]+\b", variables):
            check(name in text, f"{page.name} has no {name}")
        # Requests are those of man(7); other lines cannot be taken for some.
        for line in text.splitlines():
            check(
                not line.startswith("'") and (line[:1] != "." or re.match(r"\.(TH|SH|SS|TP|B|n[fh]|fi)\b", line)), line
            )
        if shutil.which("groff"):
            said = ingot.succeed(["groff", "-man", "-Tutf8", "-ww", page])
            check(not said.err, f"{page.name}: {said.err}")
            check("\u2010" not in said.out, "dashes that a shell does not read")
        if shutil.which("mandoc"):
            found = ingot.run(["mandoc", "-Tlint", "-Wwarning", page])
            check(found.status == 0, f"{page.name}: {found.out}{found.err}")
