# SPDX-License-Identifier: Apache-2.0
"""Small models of other packages, prepared with PyTorch (test/models): five steps, and the gradients of the first."""

import sys

from harness import ROOT, case, check

sys.path.insert(0, str(ROOT / "test/models"))
import agreement  # noqa: E402

GOLDENS = ROOT / "test/models/goldens"


def agrees(folder):
    def run(ingot):
        try:
            record = agreement.compare(ingot.bin / "ingotc", folder, ingot.path("model"))
        except agreement.Fault as fault:
            record = {"agrees": False, "reason": f"{fault.stage}: {fault}"}
        check(record["agrees"], record.get("reason"))

    return run


for path in sorted(GOLDENS.iterdir()):
    case(f"agrees-{path.name}")(agrees(path))
