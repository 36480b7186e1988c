#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains real models with Ingot and with PyTorch, and compares them.

  models.py --list                        names
  models.py [--filter REGEX]              every model that has no result of this compiler yet
  models.py --again REGEX                 those too that have one, if their name or reason matches
  models.py --minutes 30 --bf16
  models.py --report                      writes docs/models.md from the results
  models.py --golden NAME                 copies a prepared model to goldens, which CI trains without PyTorch

Needs PyTorch, torchvision, timm, transformers, diffusers, onnx, onnxscript and onnxruntime, and for models of JAX flax
and jax2onnx; --python names a Python that has one of the two, and models of the other are left out. Results are lines
of results.jsonl; the last of a model counts. Prepared models are kept in build/models, until --afresh. One model at a
time, each in a process of its own with a limit on its time.
"""

import argparse
import hashlib
import importlib
import importlib.util
import json
import multiprocessing
import os
import pathlib
import re
import shutil
import sys
import time
import traceback

import report
import zoo

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
RESULTS = HERE / "results.jsonl"
PREPARE_LIMIT = 300
# The module that prepares the models of an exporter, and the package without which it cannot; others are PyTorch's.
EXPORTERS, USUAL = {"jax": ("prepare_jax", "jax2onnx")}, ("prepare", "torch")


def digest(ingotc):
    """Of the compiler, and of the runtime that it links."""
    found = hashlib.sha256()
    for path in [ingotc, *sorted(p for p in (ingotc.parents[1] / "lib/ingot").rglob("*") if p.is_file())]:
        found.update(path.read_bytes())
    return found.hexdigest()[:12]


def read_results():
    """The last record of each model."""
    if not RESULTS.exists():
        return {}
    found = {}
    for line in filter(None, RESULTS.read_text().splitlines()):
        record = json.loads(line)
        # Behind the others, in the order of time.
        found.pop(record["name"], None)
        found[record["name"]] = record
    return found


def prepare_in_child(model, folder, answer):
    """The body of the forked process; what goes wrong is sent back as one line."""
    os.setsid()
    out = os.open(folder.parent / f"{folder.name}.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(out, 1)
    os.dup2(out, 2)
    try:
        importlib.import_module(EXPORTERS.get(model.exporter, USUAL)[0]).prepare(model, folder)
        answer.send(None)
    except BaseException as error:
        traceback.print_exc()
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        answer.send(f"{type(error).__name__}: {lines[0] if lines else ''}"[:300])


def prepared(model, folder, afresh):
    """None once `folder` holds the model, or why PyTorch cannot make or export it."""
    stamp = folder / "stamp"
    if stamp.exists() and not afresh:
        return stamp.read_text() or None
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    context = multiprocessing.get_context("fork")
    receive, send = context.Pipe(False)
    child = context.Process(target=prepare_in_child, args=(model, folder, send))
    child.start()
    send.close()
    if receive.poll(PREPARE_LIMIT):
        try:
            why = receive.recv()
        except EOFError:
            why = "the process ended"
    else:
        why = f"no end after {PREPARE_LIMIT} s"
        child.kill()
    child.join(10)
    stamp.write_text(why or "")
    return why


def spread(models):
    """A few of each group before all of one."""
    order, count = {}, {}
    for model in models:
        order[model.name] = count[model.group] = count.get(model.group, 0) + 1
    return sorted(models, key=lambda model: order[model.name])


def keep_golden(source, target):
    """Copies what agreement.py reads, without what the exporter says of each node."""
    import numpy as np
    import onnx

    target.mkdir(parents=True, exist_ok=True)
    for name in ("data.npz", "reference.json"):
        shutil.copy(source / name, target / name)
    with np.load(source / "gradients.npz") as arrays:
        np.savez_compressed(target / "gradients.npz", **arrays)

    def strip(graph):
        for node in graph.node:
            del node.metadata_props[:]
            node.doc_string = ""
            for attribute in node.attribute:
                strip(attribute.g)

    model = onnx.load(source / "model.onnx")
    for graph in [model.graph, *model.functions]:
        strip(graph)
    (target / "model.onnx").write_bytes(model.SerializeToString(deterministic=True))


def attempt(model, ingotc, compiler, folder, bf16, afresh):
    import agreement

    record = {"name": model.name, "group": model.group, "exporter": model.exporter, "compiler": compiler}
    start = time.monotonic()
    why = prepared(model, folder, afresh)
    if why:
        return {**record, "exports": False, "reason": why}
    reference = json.loads((folder / "reference.json").read_text())
    record.update(exports=True, export_s=reference["export_s"], parameters=reference["parameters"])
    record["symbolic_batch"] = reference["symbolic_batch"]
    scratch = folder / "trainer"
    try:
        record.update(compiles=True, **agreement.compare(ingotc, folder, scratch))
        if bf16 and record["agrees"]:
            record.update(agreement.compare_bf16(ingotc, folder, scratch))
    except agreement.Fault as fault:
        record.setdefault("agrees", False)
        record["compiles"] = record.get("compiles", False) or fault.stage != "compile"
        record["reason"] = f"{fault.stage}: {fault}"
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    record["seconds"] = round(time.monotonic() - start, 1)
    return record


def line(record):
    if not record["exports"]:
        return f"no export {record['name']}: {record['reason']}"
    if not record["agrees"]:
        return f"FAIL {record['name']}: {record['reason']} ({record['seconds']} s)"
    off = f"off {record['off']:.1e}" if "smooth" not in record else f"smooth {record['smooth']:.1e}"
    low = f", bf16 {record['bf16']:.1e}" if "bf16" in record else ""
    return f"ok {record['name']}: {off}{low}, compiled in {record['compile_s']} s ({record['seconds']} s)"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/release/bin", help="folder of ingotc")
    parser.add_argument("--work", type=pathlib.Path, default=ROOT / "build/models", help="prepared models")
    parser.add_argument("--python", help="a Python that has PyTorch (or INGOT_MODELS_PYTHON)")
    parser.add_argument("--filter", default="", help="regular expression of names and groups")
    parser.add_argument("--again", help="regular expression of names and reasons: those too that have a result")
    parser.add_argument("--any-compiler", action="store_true", help="results of other compilers count")
    parser.add_argument("--new", action="store_true", help="only models that have no result at all")
    parser.add_argument("--minutes", type=float, default=1e9, help="start no model after so long")
    parser.add_argument("--bf16", action="store_true", help="in bf16 too")
    parser.add_argument("--afresh", action="store_true", help="prepare models again: after a change of prepare.py, zoo")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--report", action="store_true")
    parser.add_argument("--golden", metavar="NAME", action="append", default=[])
    args = parser.parse_args()

    python = args.python or os.environ.get("INGOT_MODELS_PYTHON")
    if python and os.path.abspath(python) != sys.executable and not (args.list or args.report):
        os.execv(python, [python, *[a for a in sys.argv if a not in ("--python", args.python)]])
    if args.report:
        results = read_results()
        newest = list(results.values())[-1]["compiler"]
        rows = [{**results[m.name], "note": m.note} for m in zoo.models() if m.name in results]
        report.write(rows, newest, ROOT / "docs/models.md")
        return 0
    chosen = [m for m in spread(zoo.models()) if re.search(args.filter, m.name) or re.search(args.filter, m.group)]
    for name in args.golden:
        stem = name.replace("/", "-")
        keep_golden(args.work / stem, HERE / "goldens" / stem)
    if args.golden:
        return 0
    if args.list:
        print("\n".join(f"{m.name}  {m.group}" for m in chosen))
        return 0

    ingotc, end, failed = args.bin.resolve() / "ingotc", time.monotonic() + 60 * args.minutes, 0
    results, current = read_results(), digest(ingotc)
    chosen = [m for m in chosen if importlib.util.find_spec(EXPORTERS.get(m.exporter, USUAL)[1])]
    if any(m.exporter not in EXPORTERS for m in chosen):
        import prepare

        prepare.warm_up()
    for model in chosen:
        old = results.get(model.name)
        known = old and (args.any_compiler or not old["exports"] or old["compiler"] == current)
        known = known and not (args.bf16 and old.get("agrees") and "bf16" not in old)
        known = known or (args.new and old)
        again = args.again is not None and re.search(args.again, f"{model.name} {(old or {}).get('reason', '')}")
        if known and not again:
            continue
        if time.monotonic() > end:
            print("the time is over", flush=True)
            return 1
        record = attempt(model, ingotc, current, args.work / model.name.replace("/", "-"), args.bf16, args.afresh)
        with RESULTS.open("a") as out:
            out.write(json.dumps(record) + "\n")
        print(line(record), flush=True)
        failed += record["exports"] and not record["agrees"]
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
