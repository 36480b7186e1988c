// SPDX-License-Identifier: Apache-2.0

#include "dialects/reference/Tensor.h"

#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

using namespace mlir;
using namespace ingot::reference;

static_assert(llvm::endianness::native == llvm::endianness::little,
              "raw data is read and written as it lies in memory");

/// More would be an accident: the interpreter takes 8 bytes per element.
static constexpr int64_t kMaxElements = int64_t(1) << 30;

llvm::Error ingot::reference::invalid(const llvm::Twine &text) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), text);
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

static double roundThrough(double value, const llvm::fltSemantics &semantics) {
  llvm::APFloat number(value);
  bool losesInfo;
  number.convert(semantics, llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  number.convert(llvm::APFloat::IEEEdouble(),
                 llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  return number.convertToDouble();
}

double ingot::reference::roundToFloat(double value, Type element) {
  if (element.isF64())
    return value;
  if (element.isF32())
    return static_cast<float>(value);
  const llvm::fltSemantics &semantics =
      cast<FloatType>(element).getFloatSemantics();
  // 8-bit types saturate.
  constexpr unsigned narrow = 8;
  if (element.getIntOrFloatBitWidth() == narrow) {
    double largest = llvm::APFloat::getLargest(semantics).convertToDouble();
    value = std::isnan(value) ? value : std::clamp(value, -largest, largest);
  }
  return roundThrough(value, semantics);
}

/// Returns the bits of an f32; for NaN those of the quiet one.
static uint32_t bitsOf(double value) {
  return std::isnan(value)
             ? 0x7fc00000
             : llvm::bit_cast<uint32_t>(static_cast<float>(value));
}

double ingot::reference::upperHalf(double value) {
  return llvm::bit_cast<float>((bitsOf(value) + 0x8000) & 0xffff0000);
}

int64_t ingot::reference::lowerHalf(double value) {
  return static_cast<int16_t>(bitsOf(value));
}

double ingot::reference::joinHalves(double upper, int64_t lower) {
  return llvm::bit_cast<float>(bitsOf(upper) + static_cast<uint32_t>(lower));
}

std::pair<int64_t, int64_t> ingot::reference::integerRange(Type element) {
  unsigned width = element.getIntOrFloatBitWidth();
  if (width == 1)
    return {0, 1};
  if (element.isUnsignedInteger())
    return {0, static_cast<int64_t>(~uint64_t(0) >> (64 - width))};
  int64_t highest = static_cast<int64_t>(~uint64_t(0) >> (64 - width) >> 1);
  return {-highest - 1, highest};
}

bool ingot::reference::isLess(int64_t a, int64_t b, Type element) {
  return element.isUnsignedInteger(64)
             ? static_cast<uint64_t>(a) < static_cast<uint64_t>(b)
             : a < b;
}

int64_t ingot::reference::wrapToInteger(int64_t value, Type element) {
  unsigned width = element.getIntOrFloatBitWidth();
  if (width == 64)
    return value;
  uint64_t low = static_cast<uint64_t>(value) & ((uint64_t(1) << width) - 1);
  if (width == 1 || element.isUnsignedInteger())
    return static_cast<int64_t>(low);
  return llvm::SignExtend64(low, width);
}

int64_t ingot::reference::truncateToInteger(double value, Type element) {
  if (std::isnan(value))
    return 0;
  if (element.isUnsignedInteger(64)) {
    if (value <= 0)
      return 0;
    return static_cast<int64_t>(value >= 0x1p64 ? ~uint64_t(0)
                                                : static_cast<uint64_t>(value));
  }
  auto [lowest, highest] = integerRange(element);
  // 2^63 is a double, the highest i64 is not.
  if (value >= static_cast<double>(highest))
    return highest;
  if (value <= static_cast<double>(lowest))
    return lowest;
  return static_cast<int64_t>(value);
}

//===----------------------------------------------------------------------===//
// Tensor
//===----------------------------------------------------------------------===//

Tensor::Tensor(RankedTensorType type)
    : type(type), count(type.getNumElements()),
      floating(isa<FloatType>(type.getElementType())) {
  if (floating)
    reals.resize(count);
  else
    integers.resize(count);
}

llvm::Error Tensor::checkType(RankedTensorType type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  Type element = type.getElementType();
  bool known = element.isF16() || element.isBF16() || element.isF32() ||
               element.isF64() || element.isInteger(1) ||
               element.isInteger(8) || element.isInteger(16) ||
               isa<Float8E4M3FNType, Float8E5M2Type>(element) ||
               element.isInteger(32) || element.isInteger(64);
  if (!known)
    return invalid("tensors of type " + text + " are not supported");
  if (!type.hasStaticShape())
    return invalid("type " + text + " has no static shape");
  int64_t count = 1;
  for (int64_t size : type.getShape())
    if (llvm::MulOverflow(count, size, count) || count > kMaxElements)
      return invalid("type " + text + " is too large for the interpreter");
  return llvm::Error::success();
}

/// Bytes of one element in raw data.
static int64_t bytesOf(Type element) {
  return llvm::divideCeil(element.getIntOrFloatBitWidth(), 8);
}

template <typename Word> static Word load(const char *bytes, int64_t i) {
  Word word;
  std::memcpy(&word, bytes + i * sizeof(Word), sizeof(Word));
  return word;
}

template <typename Word> static void store(char *bytes, int64_t i, Word word) {
  std::memcpy(bytes + i * sizeof(Word), &word, sizeof(Word));
}

llvm::Expected<Tensor> Tensor::fromRawData(RankedTensorType type,
                                           ArrayRef<char> bytes) {
  if (llvm::Error error = checkType(type))
    return std::move(error);
  Tensor tensor(type);
  Type element = type.getElementType();
  int64_t want = tensor.size() * bytesOf(element);
  if (static_cast<int64_t>(bytes.size()) != want)
    return invalid("raw data has " + llvm::Twine(bytes.size()) +
                   " bytes, expected " + llvm::Twine(want));
  const char *data = bytes.data();
  for (int64_t i = 0, e = tensor.size(); i < e; ++i) {
    if (element.isF64()) {
      tensor.reals[i] = load<double>(data, i);
    } else if (element.isF32()) {
      tensor.reals[i] = load<float>(data, i);
    } else if (tensor.floating) {
      llvm::APFloat number(cast<FloatType>(element).getFloatSemantics(),
                           bytesOf(element) == 1
                               ? llvm::APInt(8, load<uint8_t>(data, i))
                               : llvm::APInt(16, load<uint16_t>(data, i)));
      bool losesInfo;
      number.convert(llvm::APFloat::IEEEdouble(),
                     llvm::APFloat::rmNearestTiesToEven, &losesInfo);
      tensor.reals[i] = number.convertToDouble();
    } else if (element.isInteger(64)) {
      tensor.integers[i] = load<int64_t>(data, i);
    } else if (element.isInteger(32)) {
      tensor.integers[i] = wrapToInteger(load<int32_t>(data, i), element);
    } else if (element.isInteger(16)) {
      tensor.integers[i] = wrapToInteger(load<int16_t>(data, i), element);
    } else if (element.isInteger(1)) {
      tensor.integers[i] = data[i] != 0;
    } else {
      tensor.integers[i] = wrapToInteger(data[i], element);
    }
  }
  return tensor;
}

std::vector<char> Tensor::getRawData() const {
  Type element = getElementType();
  std::vector<char> bytes(count * bytesOf(element));
  char *data = bytes.data();
  for (int64_t i = 0; i < count; ++i) {
    if (element.isF64()) {
      store(data, i, reals[i]);
    } else if (element.isF32()) {
      store(data, i, static_cast<float>(reals[i]));
    } else if (floating) {
      llvm::APFloat number(reals[i]);
      bool losesInfo;
      number.convert(cast<FloatType>(element).getFloatSemantics(),
                     llvm::APFloat::rmNearestTiesToEven, &losesInfo);
      uint64_t bits = number.bitcastToAPInt().getZExtValue();
      if (bytesOf(element) == 1)
        store(data, i, static_cast<uint8_t>(bits));
      else
        store(data, i, static_cast<uint16_t>(bits));
    } else if (element.isInteger(64)) {
      store(data, i, integers[i]);
    } else if (element.isInteger(32)) {
      store(data, i, static_cast<int32_t>(integers[i]));
    } else if (element.isInteger(16)) {
      store(data, i, static_cast<int16_t>(integers[i]));
    } else {
      data[i] = static_cast<char>(integers[i]);
    }
  }
  return bytes;
}

llvm::Expected<Tensor> Tensor::fromAttribute(ElementsAttr attribute) {
  auto type = dyn_cast<RankedTensorType>(attribute.getType());
  if (!type)
    return invalid("the constant is not a ranked tensor");
  if (llvm::Error error = checkType(type))
    return std::move(error);
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(attribute)) {
    AsmResourceBlob *blob = resource.getRawHandle().getBlob();
    if (!blob)
      return invalid("the resource '" + resource.getRawHandle().getKey() +
                     "' has no data");
    return fromRawData(type, blob->getData());
  }
  auto dense = dyn_cast<DenseElementsAttr>(attribute);
  if (!dense)
    return invalid("constants of this kind are not supported");
  Tensor tensor(type);
  if (tensor.floating) {
    llvm::transform(dense.getValues<llvm::APFloat>(), tensor.reals.begin(),
                    [](llvm::APFloat number) {
                      bool losesInfo;
                      number.convert(llvm::APFloat::IEEEdouble(),
                                     llvm::APFloat::rmNearestTiesToEven,
                                     &losesInfo);
                      return number.convertToDouble();
                    });
  } else {
    Type element = type.getElementType();
    llvm::transform(dense.getValues<llvm::APInt>(), tensor.integers.begin(),
                    [&](const llvm::APInt &number) {
                      return wrapToInteger(number.getSExtValue(), element);
                    });
  }
  return tensor;
}

DenseElementsAttr Tensor::toAttribute() const {
  Type element = getElementType();
  if (floating) {
    const llvm::fltSemantics &semantics =
        cast<FloatType>(element).getFloatSemantics();
    SmallVector<llvm::APFloat> values;
    values.reserve(count);
    for (double value : reals) {
      bool losesInfo;
      values.emplace_back(value);
      values.back().convert(semantics, llvm::APFloat::rmNearestTiesToEven,
                            &losesInfo);
    }
    return DenseElementsAttr::get(type, values);
  }
  SmallVector<llvm::APInt> values;
  values.reserve(count);
  unsigned width = element.getIntOrFloatBitWidth();
  for (int64_t value : integers)
    values.emplace_back(width, static_cast<uint64_t>(value), /*isSigned=*/false,
                        /*implicitTrunc=*/true);
  return DenseElementsAttr::get(type, values);
}

void Tensor::roundToElementType() {
  Type element = getElementType();
  if (element.isF64() || element.isInteger(64))
    return;
  for (double &value : reals)
    value = roundToFloat(value, element);
  for (int64_t &value : integers)
    value = wrapToInteger(value, element);
}

Tensor Tensor::reshaped(RankedTensorType to) const {
  assert(to.getNumElements() == count && "reshape changes the size");
  Tensor result = *this;
  result.type = to;
  return result;
}

/// Returns the nearest value of the type, rounded once: by way of a double it
/// could be twice.
static double integerToFloat(int64_t value, Type from, Type element) {
  llvm::APFloat number(cast<FloatType>(element).getFloatSemantics());
  number.convertFromAPInt(llvm::APInt(64, static_cast<uint64_t>(value)),
                          /*IsSigned=*/!from.isUnsignedInteger(64),
                          llvm::APFloat::rmNearestTiesToEven);
  bool losesInfo;
  number.convert(llvm::APFloat::IEEEdouble(),
                 llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  return number.convertToDouble();
}

Tensor Tensor::converted(Type element) const {
  Tensor result(RankedTensorType::get(getShape(), element));
  for (int64_t i = 0; i < count; ++i) {
    if (result.floating)
      result.reals[i] =
          floating ? roundToFloat(reals[i], element)
                   : integerToFloat(integers[i], getElementType(), element);
    else if (element.isInteger(1))
      result.integers[i] = floating ? reals[i] != 0 : integers[i] != 0;
    else if (floating)
      result.integers[i] = truncateToInteger(reals[i], element);
    else
      result.integers[i] = wrapToInteger(integers[i], element);
  }
  return result;
}

void Tensor::print(llvm::raw_ostream &os) const {
  os << type << ' ';
  Index strides = rowMajorStrides(getShape());
  if (count == 0)
    os << "[]";
  for (int64_t i = 0; i < count; ++i) {
    if (i > 0)
      os << ", ";
    for (int64_t d = 0; d < getRank(); ++d)
      if (i % (strides[d] * getShape()[d]) == 0)
        os << '[';
    if (floating)
      os << llvm::format("%.9g", reals[i]);
    else if (getElementType().isUnsignedInteger())
      os << static_cast<uint64_t>(integers[i]);
    else
      os << integers[i];
    for (int64_t d = 0; d < getRank(); ++d)
      if ((i + 1) % (strides[d] * getShape()[d]) == 0)
        os << ']';
  }
}

double ingot::reference::distance(const Tensor &a, const Tensor &b) {
  double largest = 0;
  for (int64_t i = 0; i < a.size(); ++i) {
    double x = a.asReal(i), y = b.asReal(i);
    if (x == y || (std::isnan(x) && std::isnan(y)))
      continue;
    double scale = std::max({1.0, std::fabs(x), std::fabs(y)});
    double difference = std::fabs(x - y) / scale;
    if (!std::isfinite(x) || !std::isfinite(y))
      return std::numeric_limits<double>::infinity();
    largest = std::max(largest, difference);
  }
  return largest;
}

//===----------------------------------------------------------------------===//
// Indices
//===----------------------------------------------------------------------===//

Index ingot::reference::rowMajorStrides(ArrayRef<int64_t> shape) {
  Index strides(shape.size(), 1);
  for (int64_t d = static_cast<int64_t>(shape.size()) - 2; d >= 0; --d)
    strides[d] = strides[d + 1] * shape[d + 1];
  return strides;
}

Split::Split(ArrayRef<int64_t> shape, int64_t dim) : size(shape[dim]) {
  for (int64_t d = 0, e = shape.size(); d < e; ++d) {
    if (d < dim)
      outer *= shape[d];
    else if (d > dim)
      inner *= shape[d];
  }
}
