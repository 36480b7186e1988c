# SPDX-License-Identifier: Apache-2.0
"""The tests that lit runs: every .mlir and .test file under this folder."""

import os

import lit.formats

config.name = "Ingot"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs", "end-to-end", "runtime"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.ingot_build_root, "test")

# An installed compiler is tested with the build's other tools (test/packages/compiler.py).
config.ingot_bin = os.environ.get("INGOT_BIN", config.ingot_bin)

# Tests name tools as users do; the build's own come first.
# Plans do not depend on what this machine measures.
config.environment["INGOT_MACHINE"] = "built-in"
config.environment["PATH"] = os.pathsep.join([config.ingot_bin, config.llvm_bin, os.environ["PATH"]])
config.environment["NO_COLOR"] = "1"
for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS", "CUDA_HOME"):
    if name in os.environ:
        config.environment[name] = os.environ[name]

config.substitutions.append(("%python", config.python))
config.substitutions.append(("%root", config.ingot_root))
config.substitutions.append(("%arrays", f"{config.python} {config.test_source_root}/support/arrays.py"))
config.substitutions.append(("%bin", config.ingot_bin))

for tool in sorted(os.listdir(config.ingot_bin)) if os.path.isdir(config.ingot_bin) else []:
    config.available_features.add(tool)

plugin = os.path.join(config.ingot_build_root, "lib", "IngotPlugin.so")
config.substitutions.append(("%plugin", plugin))
if os.path.exists(plugin):
    config.available_features.add("ingot-plugin")
