# SPDX-License-Identifier: Apache-2.0
"""A lit format: every file below the folder above, compiled, without RUN lines."""

import os

import lit.formats
import lit.Test
import lit.util


class CompiledFormat(lit.formats.TestFormat):
    """What `ingot-eval --expect` checks, at level 0 (each op alone) and 2 (fused), for the CPU and in the
    emulator of a CUDA device. Exchanges are compiled only in the buckets that passes form of them, and CPUs alone
    multiply what is encoded."""

    VARIANTS = {
        "O0": ["--compiled=0"],
        "O2": ["--compiled=2"],
        "cuda-O0": ["--compiled=0", "--emulate"],
        "cuda-O2": ["--compiled=2", "--emulate"],
    }

    def getTestsInDirectory(self, suite, path, litConfig, localConfig):
        root = os.path.dirname(suite.getSourcePath(path))
        for folder, _, names in sorted(os.walk(root)):
            if os.path.basename(folder) == "exchange":
                continue
            family = tuple(os.path.relpath(folder, root).split(os.sep))
            for name in sorted(names):
                if name.endswith(".mlir"):
                    for variant in self.VARIANTS:
                        if "encoding" in family and variant.startswith("cuda"):
                            continue
                        yield lit.Test.Test(suite, path + (variant,) + family + (name,), localConfig)

    def execute(self, test, litConfig):
        at = test.path_in_suite.index("compiled")
        variant, *file = test.path_in_suite[at + 1 :]
        root = os.path.dirname(test.suite.getSourcePath(test.path_in_suite[: at + 1]))
        command = ["ingot-eval", "--expect", *self.VARIANTS[variant], os.path.join(root, *file)]
        command[0] = os.path.join(test.config.ingot_bin, command[0])
        out, err, status = lit.util.executeCommand(command, env=test.config.environment)
        if status == 0:
            return lit.Test.PASS, ""
        return lit.Test.FAIL, " ".join(command) + f"\nexit status {status}\n{out}{err}"
