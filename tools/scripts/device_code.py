# SPDX-License-Identifier: Apache-2.0
"""device_code.py [--check] [--write] [--only NAME...] [--arch ARCH...] [MODEL.onnx[:--FLAG]...]: kernels' machine code.

Compiles each model for each architecture, assembles the PTX with ptxas, and reads the machine code with nvdisasm:
spills, registers and the occupancy that they allow, static shared memory, the share of global bytes that move in 128
bits, instructions per byte in the loop that moves most, and the longest chain of loads of which each needs the one
before. Without arguments, the models are those of test/gpu/model/kernels.json, or those of them that --only names.
--check fails where a figure is beyond the limits in that file, of all models or of one; --write puts the rows into the
table in docs/gpu/kernels.md and leaves the others. --check-page compiles nothing, and checks that table: each model has
a row for each architecture, within the limits.

ptxas is looked for in CUDA_HOME, PATH and /usr/local/cuda; nvdisasm there, in INGOT_DEPS and in Python's packages
(pip install nvidia-cuda-nvdisasm). Neither needs a GPU.
"""

import argparse
import glob
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
SETTINGS = ROOT / "test/gpu/model/kernels.json"
PAGE = ROOT / "docs/gpu/kernels.md"
BEGIN, END = "<!-- device_code.py: begin -->\n", "<!-- device_code.py: end -->\n"
ARCHS = ["sm_80", "sm_90", "sm_100", "sm_120"]
# Threads of a multiprocessor, and its shared memory in bytes (CUDA programming guide, "Technical Specifications").
THREADS = {"sm_80": 2048, "sm_90": 2048, "sm_90a": 2048, "sm_100": 2048, "sm_120": 1536}
SHARED = {"sm_80": 164 << 10, "sm_90": 228 << 10, "sm_90a": 228 << 10, "sm_100": 228 << 10, "sm_120": 100 << 10}
REGISTERS, BLOCK = 65536, 256
FIGURES = ["kernels", "spills", "registers", "least_blocks", "shared", "wide_share"]
FIGURES += ["instructions_per_byte", "load_chain"]
HEADER = "| model | for | " + " | ".join(name.replace("_", " ") for name in FIGURES) + " |\n"
HEADER += "|" + "---|" * (2 + len(FIGURES)) + "\n"
WIDTHS = {"128": 16, "64": 8, "U16": 2, "S16": 2, "U8": 1, "S8": 1, "256": 32}


def find_tool(name):
    places = [os.environ.get("CUDA_HOME", ""), "/usr/local/cuda"]
    deps = os.environ.get("INGOT_DEPS", os.path.expanduser("~/.cache/ingot/deps"))
    found = [os.path.join(place, "bin", name) for place in places if place] + [shutil.which(name) or ""]
    found += glob.glob(f"{deps}/nvdisasm-*/bin/{name}")
    for folder in sys.path:
        found += glob.glob(f"{folder}/nvidia/*/bin/{name}")
    return next((path for path in found if path and os.access(path, os.X_OK)), None)


def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"error: {os.path.basename(str(command[0]))}: {done.stderr.strip()[-400:]}\nhint: run it by hand")
    return done.stdout + done.stderr


def read_registers(operands):
    """The registers that operands name; of a pair or more only the first, which is enough for a chain."""
    return re.findall(r"\bU?R\d+\b", operands)


def width_of(opcode):
    return next((WIDTHS[part] for part in opcode.split(".")[1:] if part in WIDTHS), 4)


def analyse(lines):
    """Of one function's instructions (address, opcode, operands, target of a jump, whether it may not be taken): the
    share of wide bytes, instructions per byte, and the longest chain of loads."""
    moved = [(at, width_of(op)) for at, op, *_ in lines if op.startswith(("LDG", "STG"))]
    total = sum(width for _, width in moved)
    wide = sum(width for _, width in moved if width >= 16)
    loops = [(0, len(lines) * 16)]
    for at, _, _, target, _ in lines:
        # What jumps to itself is behind the end of the function.
        if target is not None and target < at:
            loops.append((target, at))
    # The smallest part of the code that moves as much as any loop does.
    inside = {loop: sum(w for at, w in moved if loop[0] <= at <= loop[1]) for loop in loops}
    most = max((inside[loop] for loop in loops[1:]), default=total)
    hot = min((loop for loop in loops if inside[loop] >= most), key=lambda loop: loop[1] - loop[0])
    count = sum(hot[0] <= at <= hot[1] for at, *_ in lines)
    # The loads that registers wait for, also as a later place is jumped to with.
    depth, longest, jumped = {}, 0, {}
    is_reached = True
    for at, op, operands, target, is_conditional in lines:
        if at in jumped:
            others = jumped.pop(at)
            names = set(others) | (set(depth) if is_reached else set())
            depth = {name: max(others.get(name, 0), depth.get(name, 0) if is_reached else 0) for name in names}
            is_reached = True
        if target is not None and target > at:
            others = jumped.setdefault(target, {})
            for name, level in depth.items():
                others[name] = max(level, others.get(name, 0))
        if op.startswith(("BRA", "EXIT", "RET")) and not is_conditional:
            is_reached = False
        named = read_registers(operands)
        if not named or op.startswith(("STG", "STS", "BRA")):
            continue
        level = max((depth.get(name, 0) for name in named[1:]), default=0)
        depth[named[0]] = level + op.startswith("LDG")
        longest = max(longest, depth[named[0]])
    return {
        "bytes": total,
        "wide": wide,
        "per_byte": count / max(1, inside[hot]) if total else 0,
        "chain": longest,
    }


def disassemble(text):
    """The instructions of each function."""
    functions, name, labels, waiting = {}, None, {}, []
    for line in text.splitlines():
        if label := re.match(r"(\.L_x_\d+):", line):
            waiting.append(label[1])
        header = re.match(r"\s*\.section\s+\.text\.(\w+)", line) or re.match(r"//-+ \.text\.(\w+)", line)
        if header:
            name = header[1]
        code = re.match(r"\s*/\*([0-9a-f]{4,})\*/\s+(@!?U?P\w+\s+)?([A-Z][\w.]*)\s*(.*?);", line)
        if name and code:
            at = int(code[1], 16)
            labels.update({(name, label): at for label in waiting})
            waiting = []
            functions.setdefault(name, []).append((at, code[3], code[4], bool(code[2])))
    # Jumps name their targets; BRA.U and BRA.DIV have their condition among the operands.
    for name, lines in functions.items():
        for i, (at, op, operands, is_predicated) in enumerate(lines):
            target = re.search(r"`\((\.L_x_\d+)\)", operands) if op.startswith("BRA") else None
            is_conditional = is_predicated or op.startswith("BRA.") or "," in operands
            lines[i] = (at, op, operands, labels.get((name, target[1])) if target else None, is_conditional)
    return functions


def examine(model, flags, arch, ingotc, ptxas, nvdisasm):
    """The figures of each kernel by name."""
    with tempfile.TemporaryDirectory() as folder:
        ptx, cubin = os.path.join(folder, "kernels.ptx"), os.path.join(folder, "kernels.cubin")
        run(ingotc, model, *flags, "--weights", "none", "--target", "cuda", "--arch", arch, "--emit", "ptx", "-o", ptx)
        said = run(ptxas, f"-arch={arch}", "-O3", "-v", "-o", cubin, ptx)
        functions = disassemble(run(nvdisasm, "-c", cubin))
    kernels = {}
    for name, text in re.findall(r"entry function '(\w+)'(.*?)(?=Compiling entry|\Z)", said, re.S):
        registers = int(re.search(r"Used (\d+) registers", text)[1])
        shared = int((re.search(r"(\d+) bytes smem", text) or [0, 0])[1])
        spills = sum(map(int, re.findall(r"(\d+) bytes spill", text)))
        blocks = min(
            THREADS[arch] // BLOCK,
            REGISTERS // (-(-registers // 8) * 8 * BLOCK),
            SHARED[arch] // (shared + 1024) if shared else 32,
        )
        kernels[name] = {"registers": registers, "shared": shared, "spills": spills, "blocks": blocks}
        kernels[name] |= analyse(functions.get(name, []))
    return kernels


def summarise(kernels):
    """The figures of a model, which limits are for."""
    moving = [kernel for kernel in kernels.values() if kernel["bytes"] >= 16]
    return {
        "kernels": len(kernels),
        "spills": sum(kernel["spills"] for kernel in kernels.values()),
        "registers": max(kernel["registers"] for kernel in kernels.values()),
        "least_blocks": min(kernel["blocks"] for kernel in kernels.values()),
        "shared": max(kernel["shared"] for kernel in kernels.values()),
        "wide_share": sum(k["wide"] for k in moving) / max(1, sum(k["bytes"] for k in moving)),
        "instructions_per_byte": max((kernel["per_byte"] for kernel in moving), default=0),
        "load_chain": max(kernel["chain"] for kernel in kernels.values()),
    }


def judge(what, figures, limits):
    """What is beyond a limit; a limit of the least has the name `least_...` or is a share."""
    for name, limit in limits.items():
        is_least = name in ("least_blocks", "wide_share")
        if figures[name] < limit if is_least else figures[name] > limit:
            yield f"{what}: {name} is {figures[name]:.3g}, {'at least' if is_least else 'at most'} {limit}"


def report(problems):
    """Prints what is wrong; returns the exit status."""
    problems = list(problems)
    for problem in problems:
        print(f"error: device_code: {problem}", file=sys.stderr)
    return 1 if problems else 0


def format_row(name, arch, figures):
    cells = [f"{v:.2f}" if isinstance(v, float) else str(v) for v in figures.values()]
    return f"| {name} | {arch} | " + " | ".join(cells) + " |\n"


def parse_page(text):
    """The rows of the table, by model and architecture."""
    rows = {}
    for line in text.split(BEGIN)[1].split(END)[0].splitlines()[2:]:
        name, arch, *cells = [cell.strip() for cell in line.strip("|").split("|")]
        rows[name, arch] = {f: float(c) if "." in c else int(c) for f, c in zip(FIGURES, cells, strict=True)}
    return rows


def get_limits(settings, name, arch):
    own = next((model.get("limits", {}) for model in settings["models"] if model["name"] == name), {})
    return settings["limits"] | settings["of_archs"].get(arch, {}) | own


def check_page(settings, text):
    """What is missing or beyond a limit in the table."""
    rows = parse_page(text)
    for model in settings["models"]:
        for arch in ARCHS:
            if figures := rows.get((model["name"], arch)):
                yield from judge(f"{model['name']} for {arch}", figures, get_limits(settings, model["name"], arch))
            else:
                yield f"no row of {model['name']} for {arch}: write it with --write --only '{model['name']}'"


def write_page(settings, new):
    """Puts rows into the table, in the order of the settings; other models keep theirs."""
    before, rest = PAGE.read_text().split(BEGIN)
    rows = parse_page(PAGE.read_text()) | new
    order = [(model["name"], arch) for model in settings["models"] for arch in ARCHS]
    order += sorted(key for key in new if key not in order)
    table = HEADER + "".join(format_row(*key, rows[key]) for key in order if key in rows)
    PAGE.write_text(before + BEGIN + table + END + rest.split(END)[1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", help="MODEL.onnx, or MODEL.onnx:FLAG,FLAG...")
    parser.add_argument("--arch", nargs="*", default=ARCHS, choices=THREADS)
    parser.add_argument("--bin", default=str(ROOT / "build/release/bin"))
    parser.add_argument("--check", action="store_true", help="fail beyond a limit")
    parser.add_argument("--write", action="store_true", help="write docs/gpu/kernels.md")
    parser.add_argument("--only", nargs="*", metavar="NAME", help="of the models of kernels.json")
    parser.add_argument("--check-page", action="store_true", help="check docs/gpu/kernels.md instead")
    parser.add_argument("--kernels", action="store_true", help="print each kernel's figures as JSON")
    options = parser.parse_args()
    settings = json.loads(SETTINGS.read_text())
    if options.check_page:
        return report(check_page(settings, PAGE.read_text()))
    tools = {name: find_tool(name) for name in ("ptxas", "nvdisasm")}
    for name, path in tools.items():
        if not path:
            sys.exit(
                f"error: device_code: no {name}\nhint: install the CUDA toolkit, or pip install nvidia-cuda-{name}"
            )
    models = []
    for text in options.models:
        path, *flags = text.split(":--")
        models.append((pathlib.Path(path).stem, path, [f"--{flag}" for flag in flags]))
    for model in [] if models else settings["models"]:
        if options.only is not None and model["name"] not in options.only:
            continue
        if (ROOT / model["model"]).exists():
            models.append((model["name"], ROOT / model["model"], model["flags"]))
        else:
            print(f"note: {model['model']} is not there: test/gpu/model/make_models.py makes it", file=sys.stderr)
    print(HEADER, end="")
    rows, problems = {}, []
    for name, path, flags in models:
        for arch in options.arch:
            kernels = examine(path, flags, arch, os.path.join(options.bin, "ingotc"), **tools)
            if options.kernels:
                print(json.dumps({"model": name, "arch": arch, "kernels": kernels}))
            rows[name, arch] = summarise(kernels)
            problems += judge(f"{name} for {arch}", rows[name, arch], get_limits(settings, name, arch))
            print(format_row(name, arch, rows[name, arch]), end="", flush=True)
            if options.write:
                write_page(settings, rows)
    return report(problems) if options.check else 0


if __name__ == "__main__":
    sys.exit(main())
