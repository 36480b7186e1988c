# SPDX-License-Identifier: Apache-2.0
"""Hostile tries: a program is run within limits, and what it must not do is collected.

A sample of the tries runs in each check; INGOT_HOSTILE=all (ctest --preset hostile) runs all, INGOT_HOSTILE_SEED=N
another sample.
"""

import os
import random
import re
import resource
import subprocess

from harness import QUIET, check

ALL = os.environ.get("INGOT_HOSTILE") == "all"
SEED = int(os.environ.get("INGOT_HOSTILE_SEED", "1"))
SECONDS, MEMORY = 20, 4 << 30
NUMBERS = """-1 0 1 -0 1e308 1e309 nan inf -inf 2147483648 4294967296 9223372036854775807 9223372036854775808
18446744073709551616 -9223372036854775808 1e-320 1e-400 0x10 1_000 1,000 .5 5. 1e3 +1 5s 1KiB 10% ½ ١ 1;2 --1""".split()
NUMBERS += ["", " ", " 1", "1 ", "1\n", "9" * 400, "0." + "0" * 400 + "1", "1\x1b[31m"]


def some(tries, count):
    """All tries, or `count` of them."""
    tries = list(tries)
    return tries if ALL else random.Random(SEED).sample(tries, min(count, len(tries)))


class Tries:
    """Runs programs and collects what must not be."""

    def __init__(self, ingot):
        self.folder = ingot.path("z").parent
        self.problems = []
        self.count = 0

    def run(self, what, command, *, env=None, statuses=(0, 1, 2, 3), limit=None, hints=True, after=None):
        """One try. `limit` runs in the child before the program, `after` while the program runs."""
        self.count += 1

        def prepare():
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            if limit:
                limit()

        process = subprocess.Popen(
            [str(word) for word in command], cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, preexec_fn=prepare, env={**os.environ, **QUIET, "OMP_NUM_THREADS": "1",
            "XDG_CACHE_HOME": str(self.folder / ".cache"), "INGOT_MACHINE": "built-in", **(env or {})},
        )  # fmt: skip
        try:
            if after:
                after(process)
            output = process.communicate(timeout=SECONDS)[1]
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            self.problems.append(f"{what}: no end in {SECONDS} s")
            return None
        text = output.decode(errors="replace")
        lines = text.strip().splitlines()
        status = process.returncode
        if status not in statuses:
            self.problems.append(f"{what}: exit {status}: {lines[-3:]}")
        elif status in (1, 2, 3) and hints:
            errors = [i for i, line in enumerate(lines) if line.startswith("error: ")]
            if not errors or not any(line.startswith("hint: ") for line in lines[errors[-1] :]):
                self.problems.append(f"{what}: exit {status} without error and hint: {lines[-2:]}")
        if re.search(r"internal|report this|terminate called|Assertion|LLVM ERROR|runtime error", text):
            self.problems.append(f"{what}: {lines[-3:]}")
        if max((len(line) for line in lines), default=0) > 8000 or re.search(r"[\x00-\x08\x0b-\x1a\x1c-\x1f]", text):
            self.problems.append(f"{what}: a line that is too long, or a control character")
        return status

    def finish(self):
        print(f"{self.count} tries")
        check(not self.problems, "\n".join(problem[:400] for problem in self.problems[:40]))
