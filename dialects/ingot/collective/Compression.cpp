// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// The decomposition of `compress`, where no library call executes it.
//===----------------------------------------------------------------------===//

#include "dialects/ingot/builders/Arithmetic.h"
#include "runtime/abi/Abi.h"
#include "llvm/Support/MathExtras.h"

#include <cfloat>

using namespace mlir;
using namespace ingot;

/// Returns the elements as integers with a scale for each block of elements.
static Value quantize(Arithmetic a, OpBuilder &builder, Value x) {
  constexpr int64_t size = INGOT_INT8_BLOCK;
  int64_t elements = tensorType(x).getNumElements();
  int64_t blocks = llvm::divideCeil(elements, size), left = blocks * size;
  Value padded = x;
  // Zeros do not change a scale.
  if (left != elements)
    padded = PadOp::create(builder, x.getLoc(), x, ArrayRef<int64_t>{0},
                           ArrayRef<int64_t>{left - elements},
                           ArrayRef<int64_t>{0}, llvm::APFloat(0.0));
  SmallVector<int64_t> shape = {blocks, size};
  padded = a.reshape(padded, shape);
  Value scale = a.div(a.maxOver(a.abs(padded), {1}), 127.0);
  Value isNormal = a.logicalAnd(a.compare(Predicate::GE, scale, FLT_MIN),
                                a.compare(Predicate::LE, scale, FLT_MAX));
  Value inverse = a.select(isNormal, a.div(1.0, scale), 0.0);
  Value numbers =
      RoundOp::create(builder, x.getLoc(), padded.getType(),
                      a.mul(padded, a.broadcastOver(inverse, shape, {1})));
  Value result =
      a.reshape(a.mul(numbers, a.broadcastOver(scale, shape, {1})), {left});
  return SliceOp::create(builder, x.getLoc(), result, ArrayRef<int64_t>{0},
                         ArrayRef<int64_t>{elements}, ArrayRef<int64_t>{1});
}

/// Returns the k elements that come first by magnitude, then by index. Both
/// form one number; the smallest number that is kept is determined from its
/// highest bits on, by counting how many are at least as large.
static Value keepLargest(Arithmetic a, OpBuilder &builder, Value x, int64_t k) {
  constexpr int64_t magnitudeBits = 31, bitsAtOnce = 4;
  int64_t elements = tensorType(x).getNumElements();
  Type i64 = builder.getI64Type();
  RankedTensorType keyType = withElement(tensorType(x), i64);
  int64_t indexBits = llvm::Log2_64_Ceil(elements);
  auto places = static_cast<double>(int64_t(1) << indexBits);
  Value magnitude = MagnitudeOp::create(
      builder, x.getLoc(), withElement(keyType, builder.getI32Type()), x);
  // Of equal magnitudes, the first is the largest.
  Value keys = a.add(a.mul(a.cast(magnitude, i64), places),
                     a.sub(places - 1, a.iota(keyType, /*dim=*/0)));

  Value least = a.constant(RankedTensorType::get({}, i64), 0);
  int64_t bits = magnitudeBits + indexBits;
  for (int64_t done = llvm::alignTo(bits, bitsAtOnce); done > 0;) {
    int64_t above = std::min(bits, done);
    done -= bitsAtOnce;
    Value digit;
    for (int64_t i = 1; i < int64_t(1) << (above - done); ++i) {
      Value candidate =
          a.add(least, static_cast<double>(static_cast<uint64_t>(i) << done));
      Value count = a.sumAll(a.cast(
          a.compare(Predicate::GE, keys, a.fill(candidate, {elements})), i64));
      Value isEnough =
          a.cast(a.compare(Predicate::GE, count, static_cast<double>(k)), i64);
      digit = digit ? a.add(digit, isEnough) : isEnough;
    }
    least = a.add(least, a.mul(digit, static_cast<double>(int64_t(1) << done)));
  }
  return a.select(a.compare(Predicate::GE, keys, a.fill(least, {elements})), x,
                  0.0);
}

SmallVector<Value> CompressOp::decompose(OpBuilder &builder) {
  Arithmetic a(builder, getLoc());
  RankedTensorType type = getType();
  Value x = a.reshape(getInput(), {type.getNumElements()});
  Value result = getCompression() == CompressionFormat::TopK
                     ? keepLargest(a, builder, x, static_cast<int64_t>(getK()))
                     : quantize(a, builder, x);
  return {a.reshape(result, type.getShape())};
}
