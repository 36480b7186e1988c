// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The manifest of a placed module: docs/manifest.md.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_TARGETS_HOST_BUILDMANIFEST_H
#define INGOT_PASSES_TARGETS_HOST_BUILDMANIFEST_H

#include "mlir/IR/BuiltinOps.h"
#include "runtime/abi/ManifestTypes.h"

namespace ingot {

/// Returns the manifest of a module after `--ingot-place-steps`: everything
/// except the target, the export and the names of classes, which the driver
/// adds.
runtime::ModuleSpec buildManifest(mlir::ModuleOp module,
                                  runtime::WeightsKind weights);

} // namespace ingot

#endif // INGOT_PASSES_TARGETS_HOST_BUILDMANIFEST_H
