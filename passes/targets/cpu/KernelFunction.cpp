// SPDX-License-Identifier: Apache-2.0

#include "passes/targets/cpu/KernelFunction.h"

#include "dialects/ingot/builders/Builders.h"
#include "passes/codegen/ElementEmitter.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::codegen;

void KernelFunction::createFunction(unsigned ranges) {
  SmallVector<Type> types;
  auto append = [&](Type type) {
    types.push_back(flatType(cast<RankedTensorType>(type)));
  };
  llvm::for_each(body.getArgumentTypes(), append);
  llvm::for_each(yield()->getOperandTypes(), append);
  size_t numBuffers = types.size();
  types.append(2 * ranges, builder.getIndexType());

  builder.setInsertionPoint(kernel);
  function = func::FuncOp::create(builder, loc, kernel.getSymName(),
                                  builder.getFunctionType(types, {}));
  function.setPrivate();
  // Buffers overlap only where the schedule lets a result reuse memory.
  for (unsigned i = 0; i < numBuffers; ++i) {
    // An input that shares a result's memory is read through the result's
    // pointer.
    if (i >= numInputs() || kernel.getAliases()[i] < 0)
      function.setArgAttr(i, "llvm.noalias", builder.getUnitAttr());
  }
  Block *entry = function.addEntryBlock();
  buffers.assign(entry->args_begin(), entry->args_begin() + numBuffers);
  begin = entry->getArgument(numBuffers);
  end = entry->getArgument(numBuffers + 1);
  if (ranges > 1) {
    begin2 = entry->getArgument(numBuffers + 2);
    end2 = entry->getArgument(numBuffers + 3);
  }
  for (auto [i, alias] : llvm::enumerate(kernel.getAliases()))
    if (alias >= 0)
      buffers[i] = buffers[numInputs() + alias];
  builder.setInsertionPointToStart(entry);
}

void KernelFunction::finishFunction() {
  builder.setInsertionPointToEnd(&function.getBody().front());
  func::ReturnOp::create(builder, loc);
}
