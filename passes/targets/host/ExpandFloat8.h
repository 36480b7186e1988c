// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Conversions between f32 and 8-bit floats as integer arithmetic, which
// vectorizes.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_TARGETS_HOST_EXPANDFLOAT8_H
#define INGOT_PASSES_TARGETS_HOST_EXPANDFLOAT8_H

#include "mlir/IR/PatternMatch.h"

namespace ingot {

/// Adds the patterns of conversions to f32 and, if `rounds`, of those from it,
/// which saturate.
void populateExpandFloat8Patterns(mlir::RewritePatternSet &patterns,
                                  bool rounds);

} // namespace ingot

#endif // INGOT_PASSES_TARGETS_HOST_EXPANDFLOAT8_H
