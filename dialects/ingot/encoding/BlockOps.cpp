// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Ops on blocks of elements, from which encodings of states are composed;
// constraints are those of docs/spec/encoding.md.
//
//===----------------------------------------------------------------------===//

#include "dialects/ingot/builders/Arithmetic.h"
#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/builders/Scalars.h"
#include "dialects/ingot/encoding/EncodingOps.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace ingot;
using quantization::DynamicCode;
using quantization::Encoding;

//===----------------------------------------------------------------------===//
// Encoding and decoding
//===----------------------------------------------------------------------===//

template <typename T>
static Value makeTable(OpBuilder &builder, Location loc, Type element,
                       ArrayRef<T> values) {
  auto type =
      RankedTensorType::get({static_cast<int64_t>(values.size())}, element);
  return ConstantOp::create(builder, loc, type,
                            DenseElementsAttr::get(type, values));
}

Value ingot::decodeBlocks(OpBuilder &builder, Location loc,
                          const Encoding &encoding, Value codes, Value scales) {
  Type f32 = builder.getF32Type();
  Value numbers =
      makeTable<float>(builder, loc, f32, DynamicCode::of(encoding).numbers);
  return DecodeBlocksOp::create(
      builder, loc, RankedTensorType::get(tensorType(codes).getShape(), f32),
      codes, numbers, scales, getKindName(encoding), encoding.block);
}

std::pair<Value, Value> ingot::encodeBlocks(OpBuilder &builder, Location loc,
                                            const Encoding &encoding,
                                            Value values) {
  Arithmetic a(builder, loc);
  RankedTensorType type = tensorType(values);
  Type f32 = builder.getF32Type();
  Type byte = builder.getIntegerType(8, /*isSigned=*/false);
  auto scaleType =
      RankedTensorType::get({encoding.countScales(type.getNumElements())}, f32);
  Value most =
      BlockMaxOp::create(builder, loc, scaleType, values, encoding.block);
  Value scales = a.select(a.compare(Predicate::EQ, most, 0.0), 1.0, most);
  const DynamicCode &code = DynamicCode::of(encoding);
  Value cells = makeTable<uint8_t>(builder, loc, byte, code.cells);
  Value middles = makeTable<float>(builder, loc, f32, code.middles);
  Value codes = EncodeBlocksOp::create(
      builder, loc, RankedTensorType::get(type.getShape(), byte), values, cells,
      middles, scales, getKindName(encoding), encoding.block);
  return {codes, scales};
}

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

/// C5, C6: the sizes of blocks and of what they have in common.
static LogicalResult verifyBlocks(Operation *op, int64_t block, Type elements,
                                  Value scales) {
  int64_t count = cast<RankedTensorType>(elements).getNumElements();
  if (block < 1 || block > Encoding::kMostBlock)
    return op->emitOpError("C5: a block must have 1 to ")
           << Encoding::kMostBlock << " elements, got " << block;
  RankedTensorType want = RankedTensorType::get(
      {(count + block - 1) / block}, Float32Type::get(op->getContext()));
  if (scales.getType() != want)
    return op->emitOpError("C6: what blocks of ")
           << count << " elements have in common must be " << want << ", got "
           << scales.getType();
  return success();
}

/// C7, C8: what an encoding or decoding of dynamic codes has.
static LogicalResult verifyCode(Operation *op, StringRef kind, Type codes,
                                Type values) {
  std::optional<Encoding> encoding = parseEncoding(kind, /*block=*/2, false);
  if (!encoding || !encoding->isDynamic())
    return op->emitOpError("C7: \"") << kind << "\" is no dynamic code";
  if (cast<RankedTensorType>(codes).getShape() !=
      cast<RankedTensorType>(values).getShape())
    return op->emitOpError("C8: codes and numbers must have one shape, got ")
           << codes << " and " << values;
  return success();
}

static LogicalResult verifyTable(Operation *op, Value table, int64_t size) {
  if (tensorType(table).getShape() == ArrayRef<int64_t>(size))
    return success();
  return op->emitOpError("C9: the table must have ")
         << size << " elements, got " << table.getType();
}

LogicalResult DecodeBlocksOp::verify() {
  if (failed(verifyCode(*this, getKind(), getCodes().getType(), getType())) ||
      failed(verifyBlocks(*this, getBlock(), getType(), getScales())))
    return failure();
  return verifyTable(*this, getNumbers(), 256);
}

LogicalResult BlockMaxOp::verify() {
  return verifyBlocks(*this, getBlock(), getOperand().getType(), getResult());
}

LogicalResult EncodeBlocksOp::verify() {
  if (failed(verifyCode(*this, getKind(), getType(), getOperand().getType())) ||
      failed(verifyBlocks(*this, getBlock(), getType(), getScales())) ||
      failed(verifyTable(*this, getCells(), DynamicCode::kCells)))
    return failure();
  return verifyTable(*this, getMiddles(), 256);
}

//===----------------------------------------------------------------------===//
// Interfaces
//===----------------------------------------------------------------------===//

int64_t DecodeBlocksOp::getBlockSize() { return getBlock(); }
Value DecodeBlocksOp::getElements() { return getResult(); }
bool DecodeBlocksOp::isPerBlock(Value value) { return value == getScales(); }
bool DecodeBlocksOp::isTable(Value value) { return value == getNumbers(); }

int64_t BlockMaxOp::getBlockSize() { return getBlock(); }
Value BlockMaxOp::getElements() { return getOperand(); }
bool BlockMaxOp::isPerBlock(Value value) { return value == getResult(); }
bool BlockMaxOp::isTable(Value) { return false; }

int64_t EncodeBlocksOp::getBlockSize() { return getBlock(); }
Value EncodeBlocksOp::getElements() { return getResult(); }
bool EncodeBlocksOp::isPerBlock(Value value) { return value == getScales(); }
bool EncodeBlocksOp::isTable(Value value) {
  return value == getCells() || value == getMiddles();
}

Precision DecodeBlocksOp::getPrecisionRole() { return Precision::Keep; }
Precision BlockMaxOp::getPrecisionRole() { return Precision::Keep; }
Precision EncodeBlocksOp::getPrecisionRole() { return Precision::Keep; }

int64_t DecodeBlocksOp::getFlops() { return 4 * getType().getNumElements(); }
int64_t BlockMaxOp::getFlops() {
  return tensorType(getOperand()).getNumElements();
}
int64_t EncodeBlocksOp::getFlops() { return 16 * getType().getNumElements(); }

bool DecodeBlocksOp::readsPointwise(unsigned operand) { return operand == 0; }
bool EncodeBlocksOp::readsPointwise(unsigned operand) { return operand == 0; }

//===----------------------------------------------------------------------===//
// Bodies
//===----------------------------------------------------------------------===//

/// Returns the index of the block of an element.
static SmallVector<Value> findBlock(const ScalarEmitter &e, ValueRange indices,
                                    Type elements, int64_t block) {
  return {
      e.div(e.linearize(indices, cast<RankedTensorType>(elements).getShape()),
            block)};
}

SmallVector<Value> DecodeBlocksOp::emitElements(OpBuilder &b, Location loc,
                                                ValueRange indices,
                                                ElementSource load) {
  ScalarEmitter e{b, loc};
  Value code =
      arith::IndexCastUIOp::create(b, loc, b.getIndexType(), load(0, indices));
  Value number = load(1, code);
  Value scale = load(2, findBlock(e, indices, getType(), getBlock()));
  return {arith::MulFOp::create(b, loc, number, scale)};
}

SmallVector<Value> EncodeBlocksOp::emitElements(OpBuilder &b, Location loc,
                                                ValueRange indices,
                                                ElementSource load) {
  ScalarEmitter e{b, loc};
  const DynamicCode &code =
      DynamicCode::of(*parseEncoding(getKind(), /*block=*/2, false));
  Type i32 = b.getI32Type();
  auto number = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(value));
  };
  Value scale = load(3, findBlock(e, indices, getType(), getBlock()));
  Value x = arith::DivFOp::create(b, loc, load(0, indices), scale);
  Value bits = arith::BitcastOp::create(b, loc, i32, x);
  Value magnitude = arith::AndIOp::create(b, loc, bits, number(0x7fffffff));
  constexpr int bias = 127, fraction = 23;
  const int first =
      ((bias - DynamicCode::kExponents) << fraction) >> code.getShift();
  const int ofSign = code.getCellsOfSign();
  Value cell = arith::SubIOp::create(
      b, loc,
      arith::ShRUIOp::create(b, loc, magnitude, number(code.getShift())),
      number(first));
  cell = arith::MaxSIOp::create(b, loc, cell, number(0));
  cell = arith::MinSIOp::create(b, loc, cell, number(ofSign));
  Value isNegative =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, bits, number(0));
  Value below = number(0);
  if (code.isSigned)
    below = arith::AddIOp::create(
        b, loc, arith::MinSIOp::create(b, loc, cell, number(ofSign - 1)),
        number(ofSign + 1));
  cell = arith::SelectOp::create(b, loc, isNegative, below, cell);
  auto at = [&](Value value) -> Value {
    return arith::IndexCastUIOp::create(b, loc, b.getIndexType(), value);
  };
  Value least = arith::ExtUIOp::create(b, loc, i32, load(1, at(cell)));
  Value middle = load(2, at(least));
  Value isAbove =
      arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OGT, x, middle);
  Value found = arith::AddIOp::create(
      b, loc, least, arith::ExtUIOp::create(b, loc, i32, isAbove));
  Value isNumber =
      arith::CmpFOp::create(b, loc, arith::CmpFPredicate::ORD, x, x);
  found = arith::SelectOp::create(b, loc, isNumber, found, number(0));
  return {arith::TruncIOp::create(b, loc, b.getI8Type(), found)};
}

bool BlockMaxOp::isLooped() { return true; }

/// It reduces no dimension: blocks are none.
ArrayRef<int64_t> BlockMaxOp::getReducedDims() { return {}; }

Value BlockMaxOp::emitIdentity(OpBuilder &b, Location loc) {
  return ScalarEmitter{b, loc}.constant(b.getF32Type(), 0);
}

Value BlockMaxOp::emitCombine(OpBuilder &b, Location loc, Value accumulator,
                              Value element) {
  // Either zero may be returned of zeros of both signs.
  return arith::MaximumFOp::create(b, loc, accumulator,
                                   math::AbsFOp::create(b, loc, element),
                                   arith::FastMathFlags::nsz);
}

SmallVector<Value> BlockMaxOp::emitElements(OpBuilder &b, Location loc,
                                            ValueRange indices,
                                            ElementSource load) {
  ScalarEmitter e{b, loc};
  ArrayRef<int64_t> shape = tensorType(getOperand()).getShape();
  int64_t elements = tensorType(getOperand()).getNumElements();
  const int64_t block = getBlockSize();
  Value first = e.mul(indices[0], block);
  return e.loops(
      {block}, {emitIdentity(b, loc)},
      [&](const ScalarEmitter &e, ValueRange at,
          ValueRange carried) -> SmallVector<Value> {
        // The last block repeats its last element where it is shorter.
        Value position = e.add(first, at[0]);
        if (elements % block != 0)
          position =
              arith::MinSIOp::create(e.b, loc, position, e.index(elements - 1));
        return {emitCombine(e.b, loc, carried[0],
                            load(0, e.delinearize(position, shape)))};
      });
}
