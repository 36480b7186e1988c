// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The values of the interpreter: a tensor type and its elements, row-major.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_REFERENCE_TENSOR_H
#define INGOT_DIALECTS_REFERENCE_TENSOR_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"
#include <cassert>
#include <cstdint>
#include <vector>

namespace ingot::reference {

/// Returns an error with this text.
llvm::Error invalid(const llvm::Twine &text);

/// A tensor whose floating-point elements are stored as doubles, and integers
/// and booleans as int64_t (of ui64 with the same bits); after each op the
/// elements are rounded to the element type.
class Tensor {
public:
  Tensor() = default;

  /// Creates a tensor of zeros. The type must have passed checkType.
  explicit Tensor(mlir::RankedTensorType type);

  /// Fails on types that the interpreter cannot represent (too large, or of
  /// unknown elements).
  static llvm::Error checkType(mlir::RankedTensorType type);

  /// Returns the elements of a constant: dense, splat or a resource blob.
  static llvm::Expected<Tensor> fromAttribute(mlir::ElementsAttr attribute);

  /// Creates a tensor from little-endian elements in the format of `getRawData`
  /// (one byte per boolean).
  static llvm::Expected<Tensor> fromRawData(mlir::RankedTensorType type,
                                            llvm::ArrayRef<char> bytes);

  mlir::RankedTensorType getType() const { return type; }
  mlir::Type getElementType() const { return type.getElementType(); }
  llvm::ArrayRef<int64_t> getShape() const { return type.getShape(); }
  int64_t getRank() const { return type.getRank(); }
  int64_t size() const { return count; }
  bool isFloat() const { return floating; }

  /// Accesses elements in row-major order, each function for its kind of
  /// element only.
  double real(int64_t i) const { return reals[i]; }
  double &real(int64_t i) { return reals[i]; }
  int64_t integer(int64_t i) const { return integers[i]; }
  int64_t &integer(int64_t i) { return integers[i]; }

  /// Returns any element as a double (large integers lose their low bits).
  double asReal(int64_t i) const {
    if (floating)
      return reals[i];
    return getElementType().isUnsignedInteger(64)
               ? static_cast<double>(static_cast<uint64_t>(integers[i]))
               : static_cast<double>(integers[i]);
  }

  /// Copies element `from` of `source`, which has the same kind of elements.
  void copy(int64_t to, const Tensor &source, int64_t from) {
    if (floating)
      reals[to] = source.reals[from];
    else
      integers[to] = source.integers[from];
  }

  /// Rounds or wraps all elements to the element type.
  void roundToElementType();

  /// Returns the elements with another shape of the same size.
  Tensor reshaped(mlir::RankedTensorType to) const;

  /// Returns the tensor converted as `ingot.cast` does.
  Tensor converted(mlir::Type element) const;

  mlir::DenseElementsAttr toAttribute() const;

  /// Returns little-endian elements, one byte per boolean.
  std::vector<char> getRawData() const;

  void print(llvm::raw_ostream &os) const;

private:
  mlir::RankedTensorType type;
  int64_t count = 0;
  bool floating = false;
  std::vector<double> reals;
  std::vector<int64_t> integers;
};

/// Returns the largest difference of elements, relative to the larger of 1 and
/// the magnitude; infinite where only one is a number.
double distance(const Tensor &a, const Tensor &b);

/// Rounds `value` to the floating-point element type, to nearest even.
double roundToFloat(double value, mlir::Type element);

/// Splits an f32 number into a bf16 number, with ties away from zero, and the
/// lower 16 bits: docs/spec/elementwise.md.
double upperHalf(double value);
int64_t lowerHalf(double value);
double joinHalves(double upper, int64_t lower);

/// Wraps `value` to the integer type, modulo its range.
int64_t wrapToInteger(int64_t value, mlir::Type element);

/// Rounds towards zero, to the nearest value of the range if the value is
/// outside of it; NaN becomes 0.
int64_t truncateToInteger(double value, mlir::Type element);

/// Returns whether a is below b as numbers of the integer type: those of ui64
/// are stored with the bits of an int64_t.
bool isLess(int64_t a, int64_t b, mlir::Type element);

/// Returns the lowest and the highest value of the integer type.
std::pair<int64_t, int64_t> integerRange(mlir::Type element);

//===----------------------------------------------------------------------===//
// Iteration over indices
//===----------------------------------------------------------------------===//

using Index = llvm::SmallVector<int64_t, 8>;

/// Returns the row-major stride of each dimension.
Index rowMajorStrides(llvm::ArrayRef<int64_t> shape);

/// Calls `visit(index, position)` for each index of the shape in row-major
/// order.
template <typename Visit>
void forEachIndex(llvm::ArrayRef<int64_t> shape, Visit visit) {
  int64_t total = 1;
  for (int64_t size : shape)
    total *= size;
  Index index(shape.size(), 0);
  for (int64_t position = 0; position < total; ++position) {
    visit(llvm::ArrayRef<int64_t>(index), position);
    for (int64_t d = static_cast<int64_t>(shape.size()) - 1; d >= 0; --d) {
      if (++index[d] < shape[d])
        break;
      index[d] = 0;
    }
  }
}

/// Returns the sum of index times stride.
inline int64_t dot(llvm::ArrayRef<int64_t> index,
                   llvm::ArrayRef<int64_t> strides) {
  int64_t sum = 0;
  for (size_t d = 0; d < index.size(); ++d)
    sum += index[d] * strides[d];
  return sum;
}

/// A shape around dimension `dim`: the element [o, i, n] is at (o * size + i) *
/// inner + n.
struct Split {
  int64_t outer = 1, size = 1, inner = 1;
  /// Splits the shape at one dimension.
  Split(llvm::ArrayRef<int64_t> shape, int64_t dim);
  int64_t at(int64_t o, int64_t i, int64_t n) const {
    return (o * size + i) * inner + n;
  }
};

} // namespace ingot::reference

#endif // INGOT_DIALECTS_REFERENCE_TENSOR_H
