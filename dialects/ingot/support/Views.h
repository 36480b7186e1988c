// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Looks through views, which are other names for the same bytes.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_INGOT_SUPPORT_VIEWS_H
#define INGOT_DIALECTS_INGOT_SUPPORT_VIEWS_H

#include "mlir/IR/Value.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace ingot {

/// Returns the tensor that a value is a view of, or the value itself.
mlir::Value resolveViews(mlir::Value value);

/// Returns the value whose elements a chain of reshapes forwards.
mlir::Value skipReshapes(mlir::Value value);

/// Calls `visit` with every use of the tensor's bytes that is not a view.
void forEachUseThroughViews(mlir::Value value,
                            llvm::function_ref<void(mlir::OpOperand &)> visit);

} // namespace ingot

#endif // INGOT_DIALECTS_INGOT_SUPPORT_VIEWS_H
