//===----------------------------------------------------------------------===//
//
// C++ side of Interfaces.td.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_INGOT_IR_INTERFACES_H
#define INGOT_DIALECTS_INGOT_IR_INTERFACES_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/OpDefinition.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallBitVector.h"

namespace ingot {

/// See the interface CostModel.
enum class WorkKind { Vector, Matmul, Convolution, Attention };

/// See the interface PrecisionRole.
enum class Precision { Low, Keep, Follow };

/// Emits the element of operand `operand` at `indices`.
using ElementSource =
    llvm::function_ref<mlir::Value(unsigned operand, mlir::ValueRange indices)>;

/// See the interface LibraryCall (dialects/ingot/ir/CallDescriptor.h).
class CallDescriptor;

/// A buffer of a call: all of an operand or result, or a part with a shape and
/// strides of its own, which begins `offset` elements behind. Null where the
/// entry may do without.
struct CallBuffer {
  mlir::Value value = {};
  int64_t offset = 0;
  llvm::SmallVector<int64_t> shape = {}, strides = {};

  bool isPart() const { return !shape.empty(); }
};

/// Results are the operands' bytes under another type or name (reshape,
/// barrier): a view once memory is placed, never a copy.
template <typename Op>
class SameBytes : public mlir::OpTrait::TraitBase<Op, SameBytes> {};

/// See the interface MovesElements: result element [i0, i1, ...] is the
/// operand's element number base + i0 * steps[0] + i1 * steps[1] + ... in
/// row-major order.
struct ElementMove {
  int64_t base = 0;
  llvm::SmallVector<int64_t> steps;
};

/// See the interface RowSplit.
struct RowParts {
  enum Kind {
    None,
    /// The results come in parts too.
    Rows,
    /// The same, but what reads the result gets it whole.
    LastRows,
    /// The result is the sum of what parts give.
    Sum
  } kind = None;
  /// Operands that are cut; the others are read whole.
  llvm::SmallBitVector cut = {};
};

namespace detail {
int64_t elementwiseFlops(mlir::Operation *op);
int64_t operandAndResultBytes(mlir::Operation *op);
llvm::SmallVector<CallBuffer> operandsAndResults(mlir::Operation *op);
/// Whether an op is made of others (Decomposable).
bool isComposite(mlir::Operation *op);
/// 0, 1, ... rank - 1.
llvm::SmallVector<int64_t> sameDims(mlir::Value tensor);
} // namespace detail

} // namespace ingot

#include "dialects/ingot/ir/Interfaces.h.inc"

#endif // INGOT_DIALECTS_INGOT_IR_INTERFACES_H
