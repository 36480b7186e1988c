//===----------------------------------------------------------------------===//
//
// The interpreter's values: a tensor type and its elements, row-major.
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

/// An error with this text.
llvm::Error invalid(const llvm::Twine &text);

/// Every floating element is held as a double, every integer and boolean as an
/// int64_t; after each op the elements are rounded to the element type.
class Tensor {
public:
  Tensor() = default;

  /// All zero. The type must have passed checkType.
  explicit Tensor(mlir::RankedTensorType type);

  /// Fails on types the interpreter cannot hold (too large, unknown elements).
  static llvm::Error checkType(mlir::RankedTensorType type);

  /// The elements of a constant: dense, splat or a resource blob.
  static llvm::Expected<Tensor> fromAttribute(mlir::ElementsAttr attribute);

  /// From little-endian elements as `getRawData` gives them (booleans: one byte
  /// each).
  static llvm::Expected<Tensor> fromRawData(mlir::RankedTensorType type,
                                            llvm::ArrayRef<char> bytes);

  mlir::RankedTensorType getType() const { return type; }
  mlir::Type getElementType() const { return type.getElementType(); }
  llvm::ArrayRef<int64_t> getShape() const { return type.getShape(); }
  int64_t getRank() const { return type.getRank(); }
  int64_t size() const { return count; }
  bool isFloat() const { return floating; }

  /// Elements in row-major order; each for its kind of element only.
  double real(int64_t i) const { return reals[i]; }
  double &real(int64_t i) { return reals[i]; }
  int64_t integer(int64_t i) const { return integers[i]; }
  int64_t &integer(int64_t i) { return integers[i]; }

  /// Any element as a double (large integers lose their low bits).
  double asReal(int64_t i) const {
    return floating ? reals[i] : static_cast<double>(integers[i]);
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

  /// The same elements under another shape of the same size.
  Tensor reshaped(mlir::RankedTensorType to) const;

  /// Converted as `ingot.cast` does.
  Tensor converted(mlir::Type element) const;

  mlir::DenseElementsAttr toAttribute() const;

  /// Little-endian elements, booleans as one byte each.
  std::vector<char> getRawData() const;

  void print(llvm::raw_ostream &os) const;

private:
  mlir::RankedTensorType type;
  int64_t count = 0;
  bool floating = false;
  std::vector<double> reals;
  std::vector<int64_t> integers;
};

/// The largest difference of elements, relative to the larger of 1 and the
/// magnitude; infinite where only one is a number.
double distance(const Tensor &a, const Tensor &b);

/// `value` as the floating element type holds it, to nearest even.
double roundToFloat(double value, mlir::Type element);

/// A number of f32 as one of bf16, ties away from zero, and the lower 16 bits:
/// docs/spec/elementwise.md.
double upperHalf(double value);
int64_t lowerHalf(double value);
double joinHalves(double upper, int64_t lower);

/// `value` as the integer type holds it, modulo its range.
int64_t wrapToInteger(int64_t value, mlir::Type element);

/// Towards zero, the nearest value of the range where it is outside; 0 for NaN.
int64_t truncateToInteger(double value, mlir::Type element);

/// Lowest and highest value of the integer type.
std::pair<int64_t, int64_t> integerRange(mlir::Type element);

//===----------------------------------------------------------------------===//
// Walking over indices
//===----------------------------------------------------------------------===//

using Index = llvm::SmallVector<int64_t, 8>;

/// Distance of neighbours along each dimension in row-major order.
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

/// Sum of index times stride.
inline int64_t dot(llvm::ArrayRef<int64_t> index,
                   llvm::ArrayRef<int64_t> strides) {
  int64_t sum = 0;
  for (size_t d = 0; d < index.size(); ++d)
    sum += index[d] * strides[d];
  return sum;
}

/// The shape seen around dimension `dim`: the element [o, i, n] is at
/// (o * size + i) * inner + n.
struct Split {
  int64_t outer = 1, size = 1, inner = 1;
  /// Splits at one dimension.
  Split(llvm::ArrayRef<int64_t> shape, int64_t dim);
  int64_t at(int64_t o, int64_t i, int64_t n) const {
    return (o * size + i) * inner + n;
  }
};

} // namespace ingot::reference

#endif // INGOT_DIALECTS_REFERENCE_TENSOR_H
