#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Gives hostile models, modules, command lines and files to the programs of a build.

  fuzz.py                          every fixed case, and some of each family
  fuzz.py --family operators --count 1000 --seed 7
  fuzz.py --minutes 10 --seed 7    all families in turn, for ten minutes
  fuzz.py --replay operators:123   one case, with the command and the problem
  fuzz.py --list                   families and fixed cases

A case is named FAMILY:SEED, and the same name always makes the same case. Cases
listed in known.txt are known to fail; one of them that passes well within the
time limit is a failure, so that the list only shrinks. Problems are reduced and written to --findings.
"""

import argparse
import concurrent.futures
import importlib
import multiprocessing
import os
import pathlib
import random
import re
import shutil
import sys
import tempfile
import time
import traceback

import reduction
import sandbox
from subjects import Box, Problem

HERE = pathlib.Path(__file__).resolve().parent
FAMILIES = ["fixed", "operators", "models", "structures", "options", "trainer_options", "files", "records"]
FAMILIES += ["modules", "stages"]
# Cases of each family in a run without --count and --minutes.
SHORT = {
    "operators": 27,
    "models": 20,
    "structures": 10,
    "options": 27,
    "trainer_options": 37,
    "files": 20,
    "records": 20,
    "modules": 13,
    "stages": 20,
}


def family(name):
    return importlib.import_module(f"families.{name}")


def known_cases():
    """{fixed case: expression of the problems of other cases that have its cause}"""
    lines = (HERE / "known.txt").read_text(encoding="utf-8").splitlines()
    pairs = [line.partition(" ~ ") for line in lines if line.strip() and not line.startswith("#")]
    return {name.strip(): re.compile(expression) if tilde else None for name, tilde, expression in pairs}


def make(case, box):
    """The subject of a case."""
    name, _, seed = case.partition(":")
    return family(name).make(random.Random(case), box, seed)


def run_case(case, programs, scratch):
    """(case, seconds, problem, accepted): no problem if all is well; `accepted` is
    whether every program ended with status 0."""
    start = time.monotonic()
    folder = pathlib.Path(scratch) / case.replace(":", "-").replace("/", "-")
    box = Box(programs, sandbox.clear(folder))
    try:
        subject = make(case, box)
        try:
            if subject:
                subject.check(box)
            problem = None
        except Problem as found:
            problem = (found.program(), found.what, found.command, subject.label)
    except sandbox.Unavailable:
        problem = ("skip", "", [], "")
    except Exception:
        problem = ("generator", traceback.format_exc(), [], "")
    shutil.rmtree(folder, ignore_errors=True)
    return case, time.monotonic() - start, problem, box.accepted


def describe(case, programs, scratch, findings, effort):
    """Reduces a case that fails, writes it to `findings`, and returns its text."""
    box = Box(programs, sandbox.clear(pathlib.Path(scratch) / "reduce"))
    subject = make(case, box)
    problem = reduction.problem_of(subject, box)
    if not problem:
        return f"{case}: did not fail again"
    subject, problem = reduction.reduce(subject, problem, box, effort)
    name = case.replace(":", "-").replace("/", "-")
    findings.mkdir(parents=True, exist_ok=True)
    command = subject.text(findings / name)
    where = reduction.location(problem, box)
    text = f"{problem.program()} {problem.what}\n\n{where}case: {case} ({subject.label})\n\n    {command}\n"
    (findings / f"{name}.md").write_text(text, encoding="utf-8", errors="replace")
    return text


def plain(text):
    """Without what would control a terminal."""
    return re.sub(r"[^\n -~]", lambda match: ascii(match[0])[1:-1], text)


class Run:
    """The cases of one run, and what came of them."""

    def __init__(self, options, scratch):
        self.options, self.scratch = options, scratch
        self.known = known_cases()
        self.passed = self.failed = self.expected = self.accepted = self.skipped = 0
        self.signatures = {}

    def is_known(self, case, problem):
        if case in self.known or case.startswith("fixed:"):
            return case in self.known
        text = f"{problem[0]} {problem[1]} [{problem[3]}]"
        return any(expression and expression.search(text) for expression in self.known.values())

    def take(self, case, seconds, problem, accepted):
        self.accepted += accepted and not problem
        if problem and problem[0] == "skip":
            self.skipped += 1
        elif problem and self.is_known(case, problem):
            self.expected += 1
            print(plain(f"known {case}: {problem[0]} {problem[1][:120]} ({seconds:.1f} s)"), flush=True)
        elif not problem and case in self.known and seconds < sandbox.CPU_SECONDS / 2:
            self.failed += 1
            print(f"FAIL {case}: it no longer fails; remove it from known.txt ({seconds:.1f} s)", flush=True)
        elif problem:
            self.failed += 1
            signature = reduction.signature(problem)
            count = self.signatures[signature] = self.signatures.get(signature, 0) + 1
            if count <= self.options.same:
                print(
                    plain(f"FAIL {case}: {problem[0]} {problem[1][:600]} [{problem[3]}] ({seconds:.1f} s)"), flush=True
                )
                if self.options.findings and problem[0] != "generator":
                    self.report(case)
        else:
            self.passed += 1
            if self.options.verbose:
                print(f"ok {case} ({seconds:.1f} s)", flush=True)

    def report(self, case):
        findings = pathlib.Path(self.options.findings).resolve()
        print(plain(describe(case, self.options.bin, self.scratch, findings, self.options.effort)), flush=True)

    def run(self, cases):
        """Runs cases side by side, taking further ones while there are any."""
        start, cases = time.monotonic(), iter(cases)
        context = multiprocessing.get_context("fork")
        jobs = self.options.jobs
        with concurrent.futures.ProcessPoolExecutor(jobs, mp_context=context) as pool:
            waiting = set()
            while True:
                late = self.options.minutes and time.monotonic() - start > 60 * self.options.minutes
                while not late and len(waiting) < 3 * jobs and (case := next(cases, None)):
                    waiting.add(pool.submit(run_case, case, self.options.bin, self.scratch))
                if not waiting:
                    break
                done, waiting = concurrent.futures.wait(waiting, return_when=concurrent.futures.FIRST_COMPLETED)
                for future in done:
                    self.take(*future.result())
        if self.signatures:
            print("\nproblems:")
            for signature, count in sorted(self.signatures.items(), key=lambda item: -item[1]):
                print(f"{count:6} {signature}")
        print(f"{self.accepted} cases were accepted, the others refused")
        if self.expected:
            print(f"{self.expected} known failures")
        if self.skipped:
            print(f"{self.skipped} skipped")
        print(f"{self.passed + self.expected} passed, {self.failed} failed")
        return 1 if self.failed else 0


def choose(options):
    """The names of the cases to run, in order."""
    names = options.family or FAMILIES
    first = options.seed * 1_000_000
    if "fixed" in names:
        yield from (f"fixed:{name}" for name in family("fixed").CASES)
    names = [name for name in names if name != "fixed"]
    if options.minutes:
        # Each family in proportion to the number of its cases in a short run.
        rng = random.Random(options.seed)
        number = 0
        while names:
            number += 1
            name = rng.choices(names, [SHORT[name] for name in names])[0]
            yield f"{name}:{first + number}"
    for name in names:
        count = SHORT[name] if options.count is None else options.count
        yield from (f"{name}:{first + number}" for number in range(count))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", default=HERE.parents[1] / "build/release/bin", type=pathlib.Path)
    parser.add_argument("--family", action="append", choices=FAMILIES)
    parser.add_argument("--count", type=int, help="cases of each family")
    parser.add_argument("--minutes", type=float, default=0, help="go on with random cases for so long")
    parser.add_argument("--seed", type=int, default=int(os.environ.get("INGOT_FUZZ_SEED", "1")))
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--findings", metavar="DIR", help="reduce problems and write them to this folder")
    parser.add_argument("--same", type=int, default=2, help="the most problems to show of those that look alike")
    parser.add_argument("--effort", type=float, default=30, help="seconds that reducing one problem may take")
    parser.add_argument("--replay", metavar="CASE", action="append", help="run and reduce this case only")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--verbose", action="store_true", help="also name cases that pass")
    options = parser.parse_args()
    options.bin = options.bin.resolve()
    if options.list:
        print("\n".join([f"fixed:{name}" for name in family("fixed").CASES] + FAMILIES[1:]))
        return 0
    with tempfile.TemporaryDirectory(prefix="ingot-fuzz-") as scratch:
        names = [case.partition(":")[0] for case in options.replay or []] or options.family or FAMILIES
        for name in dict.fromkeys(names):
            prepare = getattr(family(name), "prepare", None)
            if prepare:
                prepare(options.bin, pathlib.Path(scratch))
        if options.replay:
            findings = pathlib.Path(options.findings or "fuzz-findings").resolve()
            for case in options.replay:
                print(plain(describe(case, options.bin, scratch, findings, options.effort)))
            return 0
        return Run(options, scratch).run(choose(options))


if __name__ == "__main__":
    sys.exit(main())
