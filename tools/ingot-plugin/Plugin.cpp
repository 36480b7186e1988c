// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Ingot's dialects and passes for the stock mlir-opt:
//
//   mlir-opt --load-dialect-plugin=IngotPlugin.so \
//     --load-pass-plugin=IngotPlugin.so \
//     --pass-pipeline="builtin.module(func.func(ingot-simplify))" module.mlir
//
//===----------------------------------------------------------------------===//

#include "passes/Registration.h"

#include "mlir/Tools/Plugins/DialectPlugin.h"
#include "mlir/Tools/Plugins/PassPlugin.h"

static constexpr const char *name = "Ingot";
static constexpr const char *version = INGOT_VERSION;

extern "C" LLVM_ATTRIBUTE_WEAK mlir::DialectPluginLibraryInfo
mlirGetDialectPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, name, version,
          [](mlir::DialectRegistry *registry) {
            ingot::registerIngotDialects(*registry);
          }};
}

extern "C" LLVM_ATTRIBUTE_WEAK mlir::PassPluginLibraryInfo
mlirGetPassPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, name, version, ingot::registerIngotPasses};
}
