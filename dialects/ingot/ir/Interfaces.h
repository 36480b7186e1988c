// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Types that the interfaces of Interfaces.td use.
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

/// The kind of work of an op, see the interface CostModel.
enum class WorkKind { Vector, Matmul, Convolution, Attention };

/// The role of an op in mixed precision, see the interface PrecisionRole.
enum class Precision { Low, Keep, Follow };

/// An operand that may be 8-bit floats, and its dimension that is summed.
struct Float8Read {
  unsigned operand;
  int64_t dim;
};

enum class ScaleLayout : uint32_t;

/// A matrix of 8-bit floats in memory: its elements are those of `value` times
/// `scales`. With `isTransposed`, `value` has its two dimensions exchanged.
struct Float8Operand {
  mlir::Value value, scales;
  ScaleLayout layout;
  bool isTransposed;
};

/// Emits the element of operand `operand` at `indices`.
using ElementSource =
    llvm::function_ref<mlir::Value(unsigned operand, mlir::ValueRange indices)>;

/// The descriptor of a library call (dialects/ingot/ir/CallDescriptor.h).
class CallDescriptor;

/// A buffer of a call: a whole operand or result, or a part of one with its own
/// shape and strides, which begins at element `offset`. Null where the entry
/// point accepts a null pointer.
struct CallBuffer {
  mlir::Value value = {};
  int64_t offset = 0;
  llvm::SmallVector<int64_t> shape = {}, strides = {};

  bool isPart() const { return !shape.empty(); }
};

/// A trait of ops whose results are the bytes of the operands with another type
/// or name (reshape, barrier): views once memory is placed, never copies.
template <typename Op>
class SameBytes : public mlir::OpTrait::TraitBase<Op, SameBytes> {};

/// The element that each result element is copied from, see the interface
/// MovesElements: result element [i0, i1, ...] is the operand's element number
/// base + i0 * steps[0] + i1 * steps[1] + ... in row-major order.
struct ElementMove {
  int64_t base = 0;
  llvm::SmallVector<int64_t> steps;
};

/// Integers that number elements along a dimension of `count`, see the
/// interface IndexesElements.
struct ElementIndices {
  mlir::Value indices;
  int64_t count;
};

namespace detail {
int64_t elementwiseFlops(mlir::Operation *op);
int64_t operandAndResultBytes(mlir::Operation *op);
llvm::SmallVector<CallBuffer> operandsAndResults(mlir::Operation *op);
/// Returns whether an op is a composite (Decomposable).
bool isComposite(mlir::Operation *op);
/// Returns the type in which a reduction accumulates its first operand.
mlir::Type accumulatorOf(mlir::Operation *reduction);
/// Returns the list 0, 1, ... rank - 1.
llvm::SmallVector<int64_t> sameDims(mlir::Value tensor);
} // namespace detail

} // namespace ingot

#include "dialects/ingot/ir/Interfaces.h.inc"

#endif // INGOT_DIALECTS_INGOT_IR_INTERFACES_H
