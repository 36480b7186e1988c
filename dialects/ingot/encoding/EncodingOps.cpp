// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Verification, gradients and costs of ops on encoded tensors; constraints are
// those of docs/spec/encoding.md.
//
//===----------------------------------------------------------------------===//

#include "dialects/ingot/encoding/EncodingOps.h"
#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/ir/CallDescriptor.h"
#include "dialects/ingot/ir/Extensions.h"
#include "dialects/ingot/support/Verification.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace ingot;

#include "dialects/ingot/encoding/EncodingInterface.cpp.inc"

#define GET_OP_CLASSES
#include "dialects/ingot/encoding/Encoding.cpp.inc"

void ingot::addEncodings(Dialect &dialect) {
  RegisteredOperationName::insert<DecodedMatmulOp>(dialect);
  RegisteredOperationName::insert<DecodeBlocksOp>(dialect);
  RegisteredOperationName::insert<BlockMaxOp>(dialect);
  RegisteredOperationName::insert<EncodeBlocksOp>(dialect);
}

//===----------------------------------------------------------------------===//
// Encodings
//===----------------------------------------------------------------------===//

SmallVector<RankedTensorType>
ingot::getPartTypes(MLIRContext *context,
                    const quantization::Encoding &encoding, int64_t elements) {
  Builder b(context);
  Type byte = b.getIntegerType(8, /*isSigned=*/false);
  SmallVector<RankedTensorType> types = {
      RankedTensorType::get({encoding.getCodeBytes(elements)}, byte),
      RankedTensorType::get({encoding.countScales(elements)},
                            encoding.isDouble ? byte : b.getF32Type())};
  if (encoding.hasNested())
    types.push_back(RankedTensorType::get({encoding.countNested(elements)},
                                          b.getF32Type()));
  return types;
}

//===----------------------------------------------------------------------===//
// decoded_matmul
//===----------------------------------------------------------------------===//

SmallVector<int64_t, 2> DecodedMatmulOp::getStoredShape() {
  int64_t k = tensorType(getLhs()).getDimSize(1);
  int64_t n = tensorType(getResult()).getDimSize(1);
  if (getTransposeRhs())
    std::swap(k, n);
  return {k, n};
}

LogicalResult DecodedMatmulOp::verify() {
  RankedTensorType lhs = tensorType(getLhs()), result = tensorType(getResult());
  if (lhs.getRank() != 2 || result.getRank() != 2 ||
      lhs.getDimSize(0) != result.getDimSize(0))
    return emitOpError("C1: lhs and the result must be matrices of as many "
                       "rows, got ")
           << lhs << " and " << result;
  if (result.getElementType() != lhs.getElementType() &&
      !result.getElementType().isF32())
    return emitOpError("C2: the result must have the element type of lhs, or "
                       "f32, got ")
           << result;
  std::optional<quantization::Encoding> encoding =
      parseEncoding(getKind(), getBlock(), static_cast<bool>(getNested()));
  if (!encoding || encoding->isDynamic())
    return emitOpError("C3: there is no encoding \"")
           << getKind() << "\" of blocks of " << getBlock()
           << (getNested() ? " of three parts" : "");
  SmallVector<int64_t, 2> shape = getStoredShape();
  SmallVector<RankedTensorType> want =
      getPartTypes(getContext(), *encoding, shape[0] * shape[1]);
  for (auto [part, type] : llvm::zip_equal(
           getOperands().drop_front().take_front(want.size()), want))
    if (part.getType() != type)
      return emitOpError("C4: parts of ")
             << shape[0] << " x " << shape[1] << " numbers must be " << type
             << ", got " << part.getType();
  return success();
}

/// dA = G B', where B' is stored as B is.
LogicalResult
DecodedMatmulOp::buildVjp(OpBuilder &builder, ArrayRef<Value> cotangents,
                          const llvm::BitVector &needed,
                          MutableArrayRef<Value> operandCotangents) {
  if (!needed[0])
    return success();
  Value g = castTo(builder, getLoc(), cotangents[0],
                   tensorType(getLhs()).getElementType());
  operandCotangents[0] = DecodedMatmulOp::create(
      builder, getLoc(), getLhs().getType(), g, getCodes(), getScales(),
      getNested(), !getTransposeRhs(), getKind(), getBlock());
  return success();
}

Precision DecodedMatmulOp::getPrecisionRole() { return Precision::Low; }
bool DecodedMatmulOp::canKeepResult() { return true; }
bool DecodedMatmulOp::isStatistic(Value value) {
  return value == getScales() || value == getNested();
}

int64_t DecodedMatmulOp::getFlops() {
  SmallVector<int64_t, 2> shape = getStoredShape();
  return 2 * tensorType(getLhs()).getDimSize(0) * shape[0] * shape[1];
}

//===----------------------------------------------------------------------===//
// Its library call
//===----------------------------------------------------------------------===//

StringRef DecodedMatmulOp::getEntry() { return "ingot_decoded_matmul"; }

void DecodedMatmulOp::describeCall(CallDescriptor &descriptor) {
  ingot_decoded_matmul_desc desc = {};
  desc.m = tensorType(getLhs()).getDimSize(0);
  desc.k = tensorType(getLhs()).getDimSize(1);
  desc.n = tensorType(getResult()).getDimSize(1);
  desc.block = getBlock();
  desc.transpose_b = getTransposeRhs();
  desc.encoding =
      parseEncoding(getKind(), getBlock(), /*hasNested=*/false)->kind;
  desc.a_type = getAbiType(tensorType(getLhs()).getElementType());
  desc.c_type = getAbiType(tensorType(getResult()).getElementType());
  descriptor = desc;
}

SmallVector<CallBuffer> DecodedMatmulOp::getCallBuffers() {
  return {
      {getLhs()}, {getCodes()}, {getScales()}, {getNested()}, {getResult()}};
}
