#include "passes/codegen/cpu/KernelFunction.h"

#include "passes/codegen/ElementEmitter.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::codegen;

void KernelFunction::createFunction() {
  SmallVector<Type> types;
  auto append = [&](Type type) {
    types.push_back(flatType(cast<RankedTensorType>(type)));
  };
  llvm::for_each(body.getArgumentTypes(), append);
  llvm::for_each(yield()->getOperandTypes(), append);
  types.append(2, builder.getIndexType());

  builder.setInsertionPoint(kernel);
  function = func::FuncOp::create(builder, loc, kernel.getSymName(),
                                  builder.getFunctionType(types, {}));
  function.setPrivate();
  // Buffers overlap only where the schedule says so.
  for (unsigned i = 0; i < types.size() - 2; ++i) {
    // An input that shares a result's memory is read through the result's
    // pointer.
    if (i >= numInputs() || kernel.getAliases()[i] < 0)
      function.setArgAttr(i, "llvm.noalias", builder.getUnitAttr());
  }
  Block *entry = function.addEntryBlock();
  buffers.assign(entry->args_begin(), entry->args_end() - 2);
  begin = entry->getArgument(types.size() - 2);
  end = entry->getArgument(types.size() - 1);
  for (auto [i, alias] : llvm::enumerate(kernel.getAliases()))
    if (alias >= 0)
      buffers[i] = buffers[numInputs() + alias];
  builder.setInsertionPointToStart(entry);
}

void KernelFunction::finishFunction() {
  builder.setInsertionPointToEnd(&function.getBody().front());
  func::ReturnOp::create(builder, loc);
}
