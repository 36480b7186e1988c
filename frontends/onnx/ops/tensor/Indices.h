// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Indices as ONNX gives them, and as `ingot` ops take them.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_FRONTENDS_ONNX_OPS_TENSOR_INDICES_H
#define INGOT_FRONTENDS_ONNX_OPS_TENSOR_INDICES_H

#include "frontends/onnx/model/Node.h"

namespace ingot::onnx_import {

/// Returns indices without negative ones, which count from the end of a
/// dimension of this size. Constants are adjusted at import, others at run
/// time.
llvm::FailureOr<mlir::Value> fromEnd(Node &node, mlir::Value indices,
                                     int64_t size);

/// Returns the corner of the first input that the indices (the second input, of
/// the same rank) cover; dimension `dim`, which they index, is whole.
llvm::FailureOr<mlir::Value> coveredCorner(Node &node, int64_t dim);

/// Returns the row-major positions that tuples of indices (the last dimension)
/// select within the leading dimensions of data. The first `batch` dimensions
/// are common to both.
llvm::FailureOr<mlir::Value> flatPositions(Node &node, mlir::Value indices,
                                           llvm::ArrayRef<int64_t> data,
                                           int64_t batch);

} // namespace ingot::onnx_import

#endif // INGOT_FRONTENDS_ONNX_OPS_TENSOR_INDICES_H
