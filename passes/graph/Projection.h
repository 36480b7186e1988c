// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Linear layers: a matmul with a weight, and its bias.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_GRAPH_PROJECTION_H
#define INGOT_PASSES_GRAPH_PROJECTION_H

#include "dialects/ingot/ir/Dialect.h"

namespace ingot {

/// A matmul with a weight, the bias added to each row, and the rows in the
/// shape in which they are read.
struct Projection {
  MatmulOp matmul;
  mlir::BlockArgument weight, bias;
  mlir::Value result;

  /// Returns the layer of a matmul; nothing if its right operand is not a
  /// weight.
  static std::optional<Projection> of(MatmulOp matmul);

  int64_t columns() const;
  /// Returns the shape of the result without its columns.
  llvm::ArrayRef<int64_t> rowShape() const;
};

} // namespace ingot

#endif // INGOT_PASSES_GRAPH_PROJECTION_H
