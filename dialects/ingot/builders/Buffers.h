// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Views of buffers, with which kernels of ops address contiguous elements.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_INGOT_BUILDERS_BUFFERS_H
#define INGOT_DIALECTS_INGOT_BUILDERS_BUFFERS_H

#include "mlir/IR/Builders.h"
#include <array>

namespace ingot {

/// Returns a view of a contiguous buffer with these sizes, in row-major order.
mlir::Value reshapeBuffer(mlir::OpBuilder &b, mlir::Location loc,
                          mlir::Value buffer, llvm::ArrayRef<int64_t> sizes);

/// Returns the shape as [before, rows, columns]: the elements of the dimensions
/// before `dim`, of it, and of those after it.
std::array<int64_t, 3> splitAround(llvm::ArrayRef<int64_t> shape, int64_t dim);

} // namespace ingot

#endif // INGOT_DIALECTS_INGOT_BUILDERS_BUFFERS_H
