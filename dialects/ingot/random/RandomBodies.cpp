// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// Scalar code of Philox-4x32-10 for one element.
//===----------------------------------------------------------------------===//

#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/builders/Scalars.h"
#include "runtime/abi/Philox.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::abi::philox;

SmallVector<Value> RandomUniformOp::emitElements(OpBuilder &b, Location loc,
                                                 ValueRange indices,
                                                 ElementSource load) {
  ScalarEmitter e{b, loc};
  Type i32 = b.getI32Type(), i64 = b.getI64Type();
  auto word = [&](uint32_t value) -> Value {
    return arith::ConstantOp::create(
        b, loc, b.getI32IntegerAttr(static_cast<int32_t>(value)));
  };
  auto low = [&](Value wide) -> Value {
    return arith::TruncIOp::create(b, loc, i32, wide);
  };
  auto high = [&](Value wide) -> Value {
    Value shift = arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(32));
    return low(arith::ShRUIOp::create(b, loc, wide, shift));
  };
  auto exclusiveOr = [&](Value x, Value y) -> Value {
    return arith::XOrIOp::create(b, loc, x, y);
  };

  SmallVector<Value> first(tensorType(getSeed()).getRank(), e.index(0));
  Value seed = load(0, first);
  first.assign(tensorType(getStep()).getRank(), e.index(0));
  Value step = load(1, first);
  ArrayRef<int64_t> own = tensorType(getResult()).getShape();
  Value position = e.linearize(indices, getWhole().value_or(own));
  if (getFirst()) {
    first.assign(tensorType(getFirst()).getRank(), e.index(0));
    position = e.add(position, arith::IndexCastOp::create(
                                   b, loc, b.getIndexType(), load(2, first)));
  }
  Value lane = e.rem(position, 4);
  Value block = arith::IndexCastOp::create(b, loc, i64, e.div(position, 4));

  Value counter[4] = {low(block), high(block), low(step), word(getStream())};
  Value key[2] = {low(seed), high(seed)};
  Value multiplier[2] = {word(kMultipliers[0]), word(kMultipliers[1])};
  for (int round = 0; round < kRounds; ++round) {
    auto a = arith::MulUIExtendedOp::create(b, loc, multiplier[0], counter[0]);
    auto c = arith::MulUIExtendedOp::create(b, loc, multiplier[1], counter[2]);
    Value next[4] = {
        exclusiveOr(exclusiveOr(c.getHigh(), counter[1]), key[0]), c.getLow(),
        exclusiveOr(exclusiveOr(a.getHigh(), counter[3]), key[1]), a.getLow()};
    std::copy(next, next + 4, counter);
    key[0] = arith::AddIOp::create(b, loc, key[0], word(kKeySteps[0]));
    key[1] = arith::AddIOp::create(b, loc, key[1], word(kKeySteps[1]));
  }

  Value bits = counter[3];
  for (int i = 2; i >= 0; --i)
    bits = arith::SelectOp::create(
        b, loc, e.compare(arith::CmpIPredicate::eq, lane, e.index(i)),
        counter[i], bits);
  bits = arith::ShRUIOp::create(b, loc, bits, word(8));
  Type type = tensorType(getResult()).getElementType();
  Type wide = type.isF64() ? type : Type(b.getF32Type());
  Value fraction = arith::UIToFPOp::create(b, loc, wide, bits);
  fraction = arith::MulFOp::create(b, loc, fraction, e.constant(wide, 0x1p-24));
  return {e.convertFloat(fraction, type)};
}
