// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The manifest of a placed module: docs/manifest.md.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_TARGETS_HOST_BUILDMANIFEST_H
#define INGOT_PASSES_TARGETS_HOST_BUILDMANIFEST_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/JSON.h"

namespace ingot {

/// The storage of the initial values of states.
enum class WeightStorage { Embed, Sidecar, None };

/// The checksum of the file of weights beside the trainer, on the module.
inline constexpr llvm::StringLiteral kWeightsCrcAttr = "ingot.weights_crc32";

/// Returns the manifest of a module after `--ingot-place-steps`: everything
/// except `target` and `export`, which the driver adds.
llvm::json::Object buildManifest(mlir::ModuleOp module, WeightStorage weights);

} // namespace ingot

#endif // INGOT_PASSES_TARGETS_HOST_BUILDMANIFEST_H
