// SPDX-License-Identifier: Apache-2.0

#include "dialects/ingot/support/ConstantFolding.h"

#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/support/Verification.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::detail;

DenseElementsAttr ingot::detail::foldable(Attribute constant) {
  auto elements = dyn_cast_or_null<DenseIntOrFPElementsAttr>(constant);
  // Folding may come before verification.
  if (!elements || !isAddressable(elements.getType()) ||
      elements.getNumElements() == 0)
    return nullptr;
  if (!elements.isSplat() && elements.getNumElements() > kFoldLimit)
    return nullptr;
  return elements;
}

static bool isFloat(DenseElementsAttr constant) {
  return isa<FloatType>(constant.getElementType());
}

bool ingot::detail::isZero(Attribute constant) {
  DenseElementsAttr elements = foldable(constant);
  if (!elements || !elements.isSplat())
    return false;
  return isFloat(elements) ? elements.getSplatValue<APFloat>().isZero()
                           : elements.getSplatValue<APInt>().isZero();
}

bool ingot::detail::isOne(Attribute constant) {
  DenseElementsAttr elements = foldable(constant);
  if (!elements || !elements.isSplat())
    return false;
  return isFloat(elements)
             ? elements.getSplatValue<APFloat>().isExactlyValue(1.0)
             : elements.getSplatValue<APInt>().isOne();
}

bool ingot::detail::isAllOnes(Attribute constant) {
  DenseElementsAttr elements = foldable(constant);
  return elements && elements.isSplat() && !isFloat(elements) &&
         elements.getSplatValue<APInt>().isAllOnes();
}

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

/// Applies a function to pairs of elements, once if both are splats.
template <typename T, typename Result, typename Function>
static DenseElementsAttr mapPairs(DenseElementsAttr lhs, DenseElementsAttr rhs,
                                  ShapedType type, Function function) {
  if (lhs.isSplat() && rhs.isSplat()) {
    Result value = function(lhs.getSplatValue<T>(), rhs.getSplatValue<T>());
    return DenseElementsAttr::get(type, ArrayRef<Result>(value));
  }
  SmallVector<Result> values;
  values.reserve(lhs.getNumElements());
  for (auto [a, b] : llvm::zip_equal(lhs.getValues<T>(), rhs.getValues<T>()))
    values.push_back(function(a, b));
  return DenseElementsAttr::get(type, values);
}

/// Returns whether both can be folded, and have one type. A splat of any size
/// can only be combined with splats or with constants within the limit.
static bool areFoldable(Attribute lhs, Attribute rhs) {
  DenseElementsAttr a = foldable(lhs), b = foldable(rhs);
  return a && b && a.getType() == b.getType();
}

DenseElementsAttr ingot::detail::foldBinary(Attribute lhs, Attribute rhs,
                                            FloatFunction onFloats,
                                            IntFunction onInts) {
  if (!areFoldable(lhs, rhs))
    return nullptr;
  auto a = cast<DenseElementsAttr>(lhs), b = cast<DenseElementsAttr>(rhs);
  if (isFloat(a))
    return mapPairs<APFloat, APFloat>(a, b, a.getType(), onFloats);
  bool isUnsigned = a.getElementType().isUnsignedInteger();
  return mapPairs<APInt, APInt>(a, b, a.getType(), [&](APInt x, APInt y) {
    return onInts(x, y, isUnsigned);
  });
}

DenseElementsAttr ingot::detail::foldCompare(
    Attribute lhs, Attribute rhs,
    function_ref<bool(const APFloat &, const APFloat &)> onFloats,
    function_ref<bool(const APInt &, const APInt &, bool)> onInts) {
  if (!areFoldable(lhs, rhs))
    return nullptr;
  auto a = cast<DenseElementsAttr>(lhs), b = cast<DenseElementsAttr>(rhs);
  ShapedType type = a.getType().clone(IntegerType::get(lhs.getContext(), 1));
  if (isFloat(a))
    return mapPairs<APFloat, APInt>(a, b, type,
                                    [&](const APFloat &x, const APFloat &y) {
                                      return APInt(1, onFloats(x, y));
                                    });
  // Booleans compare as 0 and 1.
  bool isUnsigned =
      a.getElementType().isUnsignedInteger() || a.getElementType().isInteger(1);
  return mapPairs<APInt, APInt>(a, b, type,
                                [&](const APInt &x, const APInt &y) {
                                  return APInt(1, onInts(x, y, isUnsigned));
                                });
}

DenseElementsAttr
ingot::detail::foldBits(Attribute lhs, Attribute rhs,
                        function_ref<APInt(const APInt &, const APInt &)> op) {
  if (!areFoldable(lhs, rhs))
    return nullptr;
  auto a = cast<DenseElementsAttr>(lhs), b = cast<DenseElementsAttr>(rhs);
  return mapPairs<APInt, APInt>(a, b, a.getType(), op);
}

template <typename T>
static DenseElementsAttr select(DenseElementsAttr condition,
                                DenseElementsAttr onTrue,
                                DenseElementsAttr onFalse) {
  SmallVector<T> values;
  values.reserve(condition.getNumElements());
  for (auto [c, a, b] :
       llvm::zip_equal(condition.getValues<bool>(), onTrue.getValues<T>(),
                       onFalse.getValues<T>()))
    values.push_back(c ? a : b);
  return DenseElementsAttr::get(onTrue.getType(), values);
}

DenseElementsAttr ingot::detail::foldSelect(Attribute condition,
                                            Attribute onTrue,
                                            Attribute onFalse) {
  DenseElementsAttr c = foldable(condition);
  if (!c || c.getNumElements() > kFoldLimit || !areFoldable(onTrue, onFalse))
    return nullptr;
  auto a = cast<DenseElementsAttr>(onTrue),
       b = cast<DenseElementsAttr>(onFalse);
  return isFloat(a) ? select<APFloat>(c, a, b) : select<APInt>(c, a, b);
}

//===----------------------------------------------------------------------===//
// cast
//===----------------------------------------------------------------------===//

namespace {
/// Converts single elements from one type to another.
class ElementCast {
public:
  ElementCast(Type from, Type to) : from(from), to(to) {}

  APFloat toFloat(APFloat value) const {
    bool losesInfo;
    value.convert(cast<FloatType>(to).getFloatSemantics(),
                  APFloat::rmNearestTiesToEven, &losesInfo);
    return value;
  }

  APFloat toFloat(const APInt &value) const {
    APFloat converted(cast<FloatType>(to).getFloatSemantics());
    converted.convertFromAPInt(value, isSigned(from),
                               APFloat::rmNearestTiesToEven);
    return converted;
  }

  APInt toInt(const APFloat &value) const {
    unsigned width = to.getIntOrFloatBitWidth();
    if (width == 1)
      return APInt(1, !value.isZero());
    // Values outside of the range become the nearest value of it; NaN becomes
    // 0.
    APSInt converted(width, !isSigned(to));
    bool isExact;
    value.convertToInteger(converted, APFloat::rmTowardZero, &isExact);
    return converted;
  }

  APInt toInt(const APInt &value) const {
    unsigned width = to.getIntOrFloatBitWidth();
    if (width == 1)
      return APInt(1, !value.isZero());
    return isSigned(from) ? value.sextOrTrunc(width) : value.zextOrTrunc(width);
  }

private:
  /// i1 is 0 or 1, other signless integers are signed.
  static bool isSigned(Type type) {
    return !type.isUnsignedInteger() && !type.isInteger(1);
  }

  Type from, to;
};
} // namespace

template <typename From, typename To, typename Function>
static DenseElementsAttr mapElements(DenseElementsAttr operand,
                                     RankedTensorType type, Function function) {
  if (operand.isSplat())
    return DenseElementsAttr::get(
        type, ArrayRef<To>(function(operand.getSplatValue<From>())));
  SmallVector<To> values;
  values.reserve(operand.getNumElements());
  for (const From &element : operand.getValues<From>())
    values.push_back(function(element));
  return DenseElementsAttr::get(type, values);
}

DenseElementsAttr ingot::detail::foldCast(Attribute operand,
                                          RankedTensorType result) {
  DenseElementsAttr elements = foldable(operand);
  if (!elements)
    return nullptr;
  ElementCast element(elements.getElementType(), result.getElementType());
  auto toFloat = [&](const auto &value) { return element.toFloat(value); };
  auto toInt = [&](const auto &value) { return element.toInt(value); };
  if (isa<FloatType>(result.getElementType()))
    return isFloat(elements)
               ? mapElements<APFloat, APFloat>(elements, result, toFloat)
               : mapElements<APInt, APFloat>(elements, result, toFloat);
  return isFloat(elements)
             ? mapElements<APFloat, APInt>(elements, result, toInt)
             : mapElements<APInt, APInt>(elements, result, toInt);
}

bool ingot::detail::isLosslessCast(Type from, Type to) {
  auto fromFloat = dyn_cast<FloatType>(from), toFloat = dyn_cast<FloatType>(to);
  if (fromFloat && toFloat)
    return APFloat::isRepresentableBy(fromFloat.getFloatSemantics(),
                                      toFloat.getFloatSemantics());
  if (fromFloat)
    return false;
  bool fromSigned = !from.isUnsignedInteger() && !from.isInteger(1);
  unsigned width = from.getIntOrFloatBitWidth();
  if (toFloat)
    return APFloat::semanticsPrecision(toFloat.getFloatSemantics()) >=
           width - fromSigned;
  bool toSigned = !to.isUnsignedInteger() && !to.isInteger(1);
  unsigned toWidth = to.getIntOrFloatBitWidth();
  if (fromSigned == toSigned)
    return toWidth >= width;
  return toSigned && toWidth > width;
}

//===----------------------------------------------------------------------===//
// Rearranging elements
//===----------------------------------------------------------------------===//

SmallVector<int64_t> ingot::detail::rowMajorSteps(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> steps(shape.size(), 1);
  for (int64_t i = static_cast<int64_t>(shape.size()) - 2; i >= 0; --i)
    steps[i] = steps[i + 1] * shape[i + 1];
  return steps;
}

/// Calls `visit` with base + the sum of index * step, for every index of the
/// shape in row-major order. No size is 0.
static void walk(ArrayRef<int64_t> shape, int64_t base, ArrayRef<int64_t> steps,
                 function_ref<void(int64_t)> visit) {
  SmallVector<int64_t> index(shape.size(), 0);
  while (true) {
    visit(base);
    int64_t dim = static_cast<int64_t>(shape.size()) - 1;
    for (; dim >= 0; --dim) {
      base += steps[dim];
      if (++index[dim] < shape[dim])
        break;
      base -= steps[dim] * shape[dim];
      index[dim] = 0;
    }
    if (dim < 0)
      return;
  }
}

template <typename T>
static DenseElementsAttr moveElements(DenseElementsAttr operand,
                                      RankedTensorType result,
                                      const ElementMove &move) {
  SmallVector<T> values;
  values.reserve(result.getNumElements());
  auto elements = operand.getValues<T>();
  walk(result.getShape(), move.base, move.steps,
       [&](int64_t i) { values.push_back(elements[i]); });
  return DenseElementsAttr::get(result, values);
}

DenseElementsAttr ingot::detail::foldMove(Attribute operand,
                                          RankedTensorType result,
                                          const ElementMove &move) {
  DenseElementsAttr elements = foldable(operand);
  if (!elements || !isAddressable(result) || result.getNumElements() == 0)
    return nullptr;
  if (elements.isSplat())
    return elements.resizeSplat(result);
  if (result.getNumElements() > kFoldLimit)
    return nullptr;
  return isFloat(elements) ? moveElements<APFloat>(elements, result, move)
                           : moveElements<APInt>(elements, result, move);
}

template <typename T>
static DenseElementsAttr pick(DenseElementsAttr operand,
                              RankedTensorType result,
                              ArrayRef<int64_t> source) {
  auto elements = operand.getValues<T>();
  auto values =
      llvm::map_to_vector(source, [&](int64_t i) -> T { return elements[i]; });
  return DenseElementsAttr::get(result, values);
}

DenseElementsAttr ingot::detail::foldPick(Attribute operand,
                                          RankedTensorType result,
                                          ArrayRef<int64_t> source) {
  DenseElementsAttr elements = foldable(operand);
  if (!elements || source.empty())
    return nullptr;
  return isFloat(elements) ? pick<APFloat>(elements, result, source)
                           : pick<APInt>(elements, result, source);
}

template <typename T>
static DenseElementsAttr place(RankedTensorType result, const T &value,
                               ArrayRef<Placement> placements) {
  SmallVector<T> values(result.getNumElements(), value);
  for (const Placement &placement : placements) {
    DenseElementsAttr elements = foldable(placement.constant);
    auto next = elements.getValues<T>().begin();
    walk(elements.getType().getShape(), placement.base, placement.steps,
         [&](int64_t i) { values[i] = *next++; });
  }
  return DenseElementsAttr::get(result, values);
}

DenseElementsAttr ingot::detail::foldPlace(RankedTensorType result,
                                           double value,
                                           ArrayRef<Placement> placements) {
  for (const Placement &placement : placements)
    if (!foldable(placement.constant))
      return nullptr;
  if (!isAddressable(result) || result.getNumElements() == 0 ||
      result.getNumElements() > kFoldLimit)
    return nullptr;
  Type element = result.getElementType();
  if (auto type = dyn_cast<FloatType>(element))
    return place<APFloat>(result, FloatAttr::get(type, value).getValue(),
                          placements);
  APInt integer(64, static_cast<uint64_t>(static_cast<int64_t>(value)));
  return place<APInt>(result, integer.trunc(element.getIntOrFloatBitWidth()),
                      placements);
}

//===----------------------------------------------------------------------===//
// reduce
//===----------------------------------------------------------------------===//

static APFloat combine(ReductionKind kind, APFloat a, const APFloat &b) {
  switch (kind) {
  case ReductionKind::Sum:
    a.add(b, APFloat::rmNearestTiesToEven);
    return a;
  case ReductionKind::Prod:
    a.multiply(b, APFloat::rmNearestTiesToEven);
    return a;
  case ReductionKind::Max:
    return llvm::maximum(a, b);
  case ReductionKind::Min:
    return llvm::minimum(a, b);
  }
  llvm_unreachable("unknown reduction");
}

static APInt combine(ReductionKind kind, APInt a, const APInt &b,
                     bool isUnsigned) {
  switch (kind) {
  case ReductionKind::Sum:
    return a + b;
  case ReductionKind::Prod:
    return a * b;
  case ReductionKind::Max:
    return isUnsigned ? llvm::APIntOps::umax(a, b) : llvm::APIntOps::smax(a, b);
  case ReductionKind::Min:
    return isUnsigned ? llvm::APIntOps::umin(a, b) : llvm::APIntOps::smin(a, b);
  }
  llvm_unreachable("unknown reduction");
}

/// Reduces the elements into one accumulator per result element. `prepare` and
/// `finish` convert to and from the accumulator's format.
template <typename T, typename Prepare, typename Combine, typename Finish>
static DenseElementsAttr reduce(DenseElementsAttr operand, RankedTensorType to,
                                ArrayRef<int64_t> steps, Prepare prepare,
                                Combine combine, Finish finish) {
  SmallVector<std::optional<T>> accumulators(to.getNumElements());
  auto next = operand.getValues<T>().begin();
  walk(operand.getType().getShape(), 0, steps, [&](int64_t i) {
    T element = prepare(*next++);
    accumulators[i] =
        accumulators[i] ? combine(*accumulators[i], element) : element;
  });
  SmallVector<T> values;
  for (std::optional<T> &accumulator : accumulators)
    values.push_back(finish(*accumulator));
  return DenseElementsAttr::get(to, values);
}

DenseElementsAttr ingot::detail::foldReduction(Attribute operand,
                                               ReductionKind kind,
                                               ArrayRef<int64_t> dims,
                                               RankedTensorType from,
                                               RankedTensorType to) {
  DenseElementsAttr elements = foldable(operand);
  if (!elements)
    return nullptr;
  // Splats of any size are folded where repeating an element changes nothing.
  bool idempotent = kind == ReductionKind::Max || kind == ReductionKind::Min ||
                    (kind == ReductionKind::Sum && isZero(operand)) ||
                    (kind == ReductionKind::Prod && isOne(operand));
  if (elements.isSplat() && idempotent)
    return elements.resizeSplat(to);
  if (from.getNumElements() > kFoldLimit)
    return nullptr;

  SmallVector<int64_t> kept = rowMajorSteps(to.getShape());
  SmallVector<int64_t> steps;
  for (int64_t i = 0, k = 0; i < from.getRank(); ++i)
    steps.push_back(llvm::is_contained(dims, i) ? 0 : kept[k++]);

  if (!isFloat(elements)) {
    bool isUnsigned = elements.getElementType().isUnsignedInteger();
    auto same = [](const APInt &value) { return value; };
    return reduce<APInt>(
        elements, to, steps, same,
        [&](const APInt &a, const APInt &b) {
          return combine(kind, a, b, isUnsigned);
        },
        same);
  }
  auto type = cast<FloatType>(elements.getElementType());
  // 16-bit elements are accumulated in f32.
  const llvm::fltSemantics &wide =
      type.getWidth() < 32 ? APFloat::IEEEsingle() : type.getFloatSemantics();
  auto convert = [](const llvm::fltSemantics &semantics) {
    return [&semantics](APFloat value) {
      bool losesInfo;
      value.convert(semantics, APFloat::rmNearestTiesToEven, &losesInfo);
      return value;
    };
  };
  return reduce<APFloat>(
      elements, to, steps, convert(wide),
      [&](const APFloat &a, const APFloat &b) { return combine(kind, a, b); },
      convert(type.getFloatSemantics()));
}
