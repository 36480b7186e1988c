#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How much of the matmuls of real language models two ranks along `tensor` divide.

  partitions.py [--filter REGEX] [--minutes N]

Compiles each model of the zoo, as models.py prepares it, with --mesh tensor=2 for ranks whose link takes no time: small
models would not be split otherwise. Prints the share of the flops of contractions that a rank has a part of, and what
each contraction that is whole has as a reason, with its share. The exit status is 1 if the models together have less
than 90 %.
"""

import argparse
import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import models
import zoo

GROUPS = "transformers (decoders|encoders|encoder-decoder|experts)"
WANTED = 0.9
REMARK = re.compile(r"^--- !(\w+)\nPass: +apply-partitions\nName: +Contractions\n(.*?)^\.\.\.", re.M | re.S)


def free_link(ingotc, folder):
    """A machine file whose link takes no time."""
    path = folder / "machine.json"
    subprocess.run([ingotc.parent / "ingot-measure", "-o", path], check=True, capture_output=True)
    machine = json.loads(path.read_text())
    machine.update(link_bandwidth=1e15, link_seconds=1e-15)
    path.write_text(json.dumps(machine))
    return path


def share(ingotc, model, folder, machine):
    """Flops of all contractions, of those that ranks divide, and of the others by their nodes and reasons."""
    reference = json.loads((model / "reference.json").read_text())
    remarks = folder / "remarks.yaml"
    command = [ingotc, model / "model.onnx", "-o", folder / "step.mlir", "--emit", "mlir", "--loss", reference["loss"]]
    command += ["--mesh", "tensor=2", "--machine", machine, "--remarks", remarks]
    if reference["symbolic_batch"]:
        command += ["--batch", reference["batch"]]
    for option in ("freeze", "trainable"):
        if reference.get(option):
            command += [f"--{option}", reference[option]]
    result = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    if result.returncode:
        raise RuntimeError(next((line for line in result.stderr.splitlines() if "error" in line), "ended"))
    whole, total, rank = collections.Counter(), 0, 0
    for kind, text in REMARK.findall(remarks.read_text()):
        values = dict(re.findall(r"^  - (\w+): +'?(.*?)'?$", text, re.M))
        if kind == "Analysis":
            total, rank = int(values["flops"]), int(values["rank_flops"])
        else:
            node = re.search(r"File: '?([^',]*)'?", text)
            whole[node[1] if node else "?", values["Reason"]] += int(values["flops"])
    return total, 2 * (total - rank), whole


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", type=pathlib.Path, default=models.ROOT / "build/release/bin", help="folder of ingotc")
    parser.add_argument("--work", type=pathlib.Path, default=models.ROOT / "build/models", help="prepared models")
    parser.add_argument("--python", help="a Python that has PyTorch (or INGOT_MODELS_PYTHON)")
    parser.add_argument("--filter", default=GROUPS, help="regular expression of names and groups")
    parser.add_argument("--minutes", type=float, default=1e9, help="start no model after so long")
    args = parser.parse_args()
    python = args.python or os.environ.get("INGOT_MODELS_PYTHON")
    if python and os.path.abspath(python) != sys.executable:
        os.execv(python, [python, *[a for a in sys.argv if a not in ("--python", args.python)]])
    import prepare

    prepare.warm_up()
    ingotc, end = args.bin.resolve() / "ingotc", time.monotonic() + 60 * args.minutes
    chosen = [m for m in models.spread(zoo.models()) if re.search(args.filter, f"{m.name}\n{m.group}")]
    shares = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        machine = free_link(ingotc, folder)
        for model in chosen:
            if time.monotonic() > end:
                print("the time is over", flush=True)
                break
            source = args.work / model.name.replace("/", "-")
            why = models.prepared(model, source, False)
            if why:
                print(f"no export {model.name}: {why}", flush=True)
                continue
            try:
                total, divided, whole = share(ingotc, source, folder, machine)
            except RuntimeError as error:
                print(f"does not compile {model.name}: {error}", flush=True)
                continue
            shares.append(divided / total if total else 1.0)
            print(f"{100 * shares[-1]:5.1f} %  {model.name}", flush=True)
            for (node, reason), flops in whole.most_common():
                if flops > 0.01 * total:
                    print(f"           {100 * flops / total:.1f} % {node}: {reason}", flush=True)
    mean = sum(shares) / max(len(shares), 1)
    print(f"{len(shares)} models, {100 * mean:.1f} % on average, {sum(s >= WANTED for s in shares)} of 90 % or more")
    return mean < WANTED


if __name__ == "__main__":
    sys.exit(main())
