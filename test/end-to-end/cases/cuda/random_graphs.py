# SPDX-License-Identifier: Apache-2.0
"""Random graphs on a GPU in software give what the interpreter gives. INGOT_RANDOM_GRAPHS sets how many in each
precision; ctest --preset software-gpu runs a thousand."""

import json
import os

from cases.cuda.software_gpu import environment, software
from fakes import trainer
from harness import case, check


@case("cuda software gpu: random graphs give what the interpreter gives")
def random_graphs(ingot):
    trainer(ingot)
    count = int(os.environ.get("INGOT_RANDOM_GRAPHS", "6"))
    for precision in ("fp32", "bf16"):
        folder = ingot.path(precision)
        folder.mkdir()
        ingot.succeed(
            [ingot.bin / "ingot-gpu-cases", "--random", count, "--precision", precision, "-o", folder], timeout=3600
        )
        functions = 0
        for path in sorted(folder.glob("*.o")):
            library, log = path.with_suffix(".so"), path.with_suffix(".calls")
            ingot.succeed(["ld.lld-22", "-shared", "-o", library, path])
            command = software(ingot.bin / "ingot-gpu-run", library, seed=1)
            result = ingot.run(command, env=environment(ingot, log), timeout=3600)
            lines = [json.loads(line) for line in result.out.splitlines()]
            wrong = [line for line in lines if not line["ok"]]
            check(result.status == 0 and not wrong, f"{library.name}: {wrong[:2]} {result.err[-300:]}")
            broken = [line for line in log.read_text().splitlines() if line.startswith(("violation", "fault"))]
            check(not broken, f"{library.name}: {broken[:2]}")
            functions += len(lines)
        check(functions == count, f"{functions} graphs in {precision}")
