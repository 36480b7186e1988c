// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// The dialect and buffers.
//===----------------------------------------------------------------------===//

#include "dialects/exec/CallSupport.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::exec;

#include "dialects/exec/Exec.cpp.inc"
#include "dialects/exec/ExecEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/exec/ExecAttributes.cpp.inc"
#include "dialects/exec/ExecInterfaces.cpp.inc"

void ExecDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/exec/ExecAttributes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/exec/ExecOps.cpp.inc"
      >();
}

int64_t exec::bufferBytes(ValueRange buffers) {
  int64_t bytes = 0;
  for (Type type : buffers.getTypes())
    bytes += byteSize(cast<ShapedType>(type));
  return bytes;
}

void exec::addEffects(Operation *op, unsigned reads, Effects &effects) {
  for (OpOperand &operand : op->getOpOperands()) {
    if (operand.getOperandNumber() < reads)
      effects.emplace_back(MemoryEffects::Read::get(), &operand);
    else
      effects.emplace_back(MemoryEffects::Write::get(), &operand);
  }
}

LogicalResult BufferOp::verify() {
  auto offset = static_cast<int64_t>(getOffset());
  // The buffer is an address or a tensor.
  int64_t alignment =
      getSpace() == Space::Shard ? sizeof(void *) : INGOT_ALIGNMENT;
  if (offset < 0 || offset % alignment != 0)
    return emitOpError("offset must be a multiple of ")
           << alignment << ", got " << offset;
  ArrayRef<int64_t> strides = getStrides().value_or(ArrayRef<int64_t>());
  size_t loops = 0;
  for (Operation *op = (*this)->getParentOp(); isa_and_present<RepeatOp>(op);
       op = op->getParentOp())
    ++loops;
  if (strides.size() > loops)
    return emitOpError("has ")
           << strides.size() << " strides in " << loops << " loops";
  for (int64_t stride : strides)
    if (stride % alignment != 0)
      return emitOpError("strides must be multiples of ")
             << alignment << ", got " << stride;
  return success();
}
