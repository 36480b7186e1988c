//===----------------------------------------------------------------------===//
//
// Layers: a product with a weight, and its bias.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_GRAPH_PROJECTION_H
#define INGOT_PASSES_GRAPH_PROJECTION_H

#include "dialects/ingot/ir/Dialect.h"

namespace ingot {

/// A product with a weight, what is added to each of its rows, and the rows
/// under the shape in which they are read.
struct Projection {
  MatmulOp product;
  mlir::BlockArgument weight, bias;
  mlir::Value result;

  /// Nothing if the right side is no weight.
  static std::optional<Projection> of(MatmulOp product);

  int64_t columns() const;
  /// Of [.., columns].
  llvm::ArrayRef<int64_t> rowShape() const;
};

} // namespace ingot

#endif // INGOT_PASSES_GRAPH_PROJECTION_H
