# SPDX-License-Identifier: Apache-2.0
"""sum_tests.py JUNIT.xml: adds up the tests inside each ctest of a run.

GoogleTest, lit and the end-to-end runner say how many tests they ran; their
own numbers count. A ctest that says nothing counts as one; one whose tests
were all skipped has failed, since nothing shows that what it tests works.
What was skipped is listed by reason. The last line is `N passed, N failed`.
"""

import collections
import re
import sys
import xml.etree.ElementTree as ElementTree

# (pattern, outcome): the number in the pattern is added to the outcome.
PATTERNS = [
    (r"^\[  PASSED  \] (\d+) tests?", "passed"),
    (r"^\[  FAILED  \] (\d+) tests?, listed below", "failed"),
    (r"^\[  SKIPPED \] (\d+) tests?", "skipped"),
    (r"^ +(?:Passed|Expectedly Failed|Passed With Retry) *: +(\d+)", "passed"),
    (r"^ +(?:Failed|Unresolved|Timed Out|Unexpectedly Passed) *: +(\d+)", "failed"),
    (r"^ +(?:Unsupported|Skipped|Excluded) *: +(\d+)", "skipped"),
    (r"^(\d+) passed, \d+ failed$", "passed"),
    (r"^\d+ passed, (\d+) failed$", "failed"),
    (r"^(\d+) skipped$", "skipped"),
]

# The reason of a skipped test: that of GoogleTest is on the line after its place, that of a case on its own line.
REASONS = [
    re.compile(r"^\S+:\d+: Skipped\n(.+)$", re.MULTILINE),
    re.compile(r"^skip [^:\n]+: (.+?)(?: \([\d.]+ s, [\d.]+ s of processors\))?$", re.MULTILINE),
]


def reasons(test):
    """Why tests of one ctest were skipped, each as often as it was."""
    output = test.findtext("system-out") or ""
    return [reason for pattern in REASONS for reason in pattern.findall(output)]


def count(test):
    """(passed, failed, skipped) of one ctest."""
    totals = {"passed": 0, "failed": 0, "skipped": 0}
    output = test.findtext("system-out") or ""
    for pattern, outcome in PATTERNS:
        totals[outcome] += sum(int(n) for n in re.findall(pattern, output, re.MULTILINE))
    status = test.get("status")
    if not any(totals.values()):
        outcome = {"run": "passed", "disabled": "skipped", "notrun": "failed"}.get(status, "failed")
        totals[outcome] += 1
    elif status != "run" and not totals["failed"]:
        # Crashed, timed out or lied: the process failed, whatever it printed.
        totals["failed"] += 1
    if not totals["passed"] and not totals["failed"]:
        totals["failed"] += 1
    return totals


def main():
    sums = {"passed": 0, "failed": 0, "skipped": 0}
    skipped = collections.defaultdict(collections.Counter)
    for test in ElementTree.parse(sys.argv[1]).getroot().iter("testcase"):
        totals = count(test)
        found = reasons(test)
        unknown = max(0, totals["skipped"] - len(found))
        for reason in [*found, *["no reason given"] * unknown]:
            skipped[reason][test.get("name")] += 1
        numbers = ", ".join(f"{n} {outcome}" for outcome, n in totals.items() if n)
        print(f"{test.get('name')}: {numbers} ({float(test.get('time', 0)):.1f} s)")
        for outcome, n in totals.items():
            sums[outcome] += n
    for reason, names in sorted(skipped.items()):
        where = ", ".join(sorted(names)[:4]) + (" and others" if len(names) > 4 else "")
        print(f"skipped: {names.total()} in {where}: {reason}")
    print(f"{sums['passed']} passed, {sums['failed']} failed")
    return 1 if sums["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
