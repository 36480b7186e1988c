// SPDX-License-Identifier: Apache-2.0

#include "passes/schedule/graph/LibraryCalls.h"

#include "dialects/exec/Exec.h"
#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/ir/CallDescriptor.h"
#include "dialects/ingot/ir/Dialect.h"
#include "dialects/ingot/support/Remarks.h"

using namespace mlir;
using namespace ingot;

CallDescriptor ingot::describeCall(LibraryCall op, const Target &target) {
  CallDescriptor descriptor = CallDescriptor::of(op);
  if (!descriptor.getType().find("math"))
    return descriptor;
  LibrarySupport support = target.getCalls().getSupport(op);
  descriptor.setInteger("math", support.math);
  if (!support.mathReason.empty())
    remark::analysis(op->getLoc(), remarkOptions("ingot-place-steps", "Math"))
        << remark::reason("{0}", support.mathReason);
  return descriptor;
}

/// Creates a buffer for a part of a placed tensor.
static Value createPart(OpBuilder &builder, Location loc, Value whole,
                        const CallBuffer &part) {
  auto place = whole.getDefiningOp<exec::BufferOp>();
  Type element = cast<MemRefType>(whole.getType()).getElementType();
  auto layout = StridedLayoutAttr::get(builder.getContext(), 0, part.strides);
  return exec::BufferOp::create(
      builder, loc, MemRefType::get(part.shape, element, layout),
      place.getSpace(),
      place.getOffset() + part.offset * element.getIntOrFloatBitWidth() / 8);
}

void ingot::createLibraryCall(LibraryCall op, const CallDescriptor &descriptor,
                              ValueRange inputs, ValueRange outputs,
                              exec::ScratchAttr scratch, OpBuilder &builder) {
  DenseMap<Value, Value> memory;
  for (auto [operand, input] : llvm::zip_equal(op->getOperands(), inputs))
    memory[operand] = input;
  for (auto [result, output] : llvm::zip_equal(op->getResults(), outputs))
    memory[result] = output;
  SmallVector<Value> buffers;
  for (const CallBuffer &buffer : op.getCallBuffers()) {
    Value whole = buffer.value ? memory.lookup(buffer.value) : Value();
    buffers.push_back(buffer.isPart()
                          ? createPart(builder, op.getLoc(), whole, buffer)
                          : whole);
  }
  // An entry point without scratch memory is replaced by kernels.
  const abi::Entry *entry = abi::findEntry(op.getEntry());
  bool takesScratch = llvm::any_of(
      entry->buffers, [](const auto &buffer) { return buffer.isScratch; });
  if (takesScratch && scratch)
    buffers.push_back(createScratch(builder, op.getLoc(), scratch));
  auto cost = dyn_cast<CostModel>(op.getOperation());
  auto call = exec::CallOp::create(builder, op.getLoc(), op.getEntry(), buffers,
                                   descriptor, cost ? cost.getFlops() : 0);
  if (!takesScratch)
    call.setScratchAttr(scratch);
}

Value ingot::createScratch(OpBuilder &builder, Location loc,
                           exec::ScratchAttr scratch) {
  if (!scratch)
    return {};
  auto type = MemRefType::get({scratch.getBytes()}, builder.getI8Type());
  return exec::BufferOp::create(builder, loc, type, exec::Space::Arena,
                                scratch.getOffset());
}

void ingot::createBucketCall(LibraryCall end, Value bucket, int64_t number,
                             exec::ScratchAttr scratch, OpBuilder &builder) {
  CallDescriptor descriptor = CallDescriptor::of(end);
  descriptor.setInteger("number", number);
  auto call = exec::CallOp::create(builder, end.getLoc(), end.getEntry(),
                                   bucket, descriptor);
  call.setScratchAttr(scratch);
}

void ingot::createCopy(OpBuilder &builder, Location loc, Value from, Value to,
                       ShardAttr shard) {
  auto type = cast<MemRefType>(from.getType());
  ingot_copy_desc desc = {};
  desc.bytes = byteSize(type);
  desc.element_bytes = llvm::divideCeil(type.getElementTypeBitWidth(), 8);
  if (shard) {
    desc.shard_first = shard.getFirst();
    desc.shard_of = shard.getOf();
  }
  exec::CallOp::create(builder, loc, "ingot_copy", {from, to}, desc);
}

void ingot::createEpilogueCall(LibraryCall anchor,
                               const CallDescriptor &descriptor,
                               ValueRange operands,
                               const EpilogueKernel &kernel, Value scratch,
                               OpBuilder &builder) {
  exec::MatmulEpilogueOp::create(
      builder, anchor.getLoc(), operands[0], operands[1],
      operands.drop_front(2), kernel.name, kernel.inputs, kernel.outputs,
      kernel.extra, kernel.extraInputs, kernel.extraOutput, kernel.product,
      scratch, exec::DescAttr::get(builder.getContext(), descriptor),
      kernel.flops, kernel.library);
}
