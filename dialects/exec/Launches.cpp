// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// Kernels and their launches.
//===----------------------------------------------------------------------===//

#include "dialects/exec/CallSupport.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::exec;

//===----------------------------------------------------------------------===//
// kernel
//===----------------------------------------------------------------------===//

LogicalResult KernelOp::verifyRegions() {
  Block &body = getBody().front();
  if (body.empty() || body.back().getName().getStringRef() != "ingot.yield")
    return emitOpError("must end with ingot.yield");
  if (getAliases().size() != body.getNumArguments())
    return emitOpError("names aliases of ")
           << getAliases().size() << " inputs, the body has "
           << body.getNumArguments();
  int64_t results = body.back().getNumOperands();
  for (auto [argument, alias] :
       llvm::zip_equal(body.getArguments(), getAliases())) {
    if (alias < -1 || alias >= results)
      return emitOpError("input ")
             << argument.getArgNumber() << " shares memory with result "
             << alias << " of " << results;
    if (alias < 0)
      continue;
    auto type = cast<ShapedType>(argument.getType());
    auto result = cast<ShapedType>(body.back().getOperand(alias).getType());
    if (type.getElementType() != result.getElementType() ||
        type.getNumElements() != result.getNumElements())
      return emitOpError("input ")
             << argument.getArgNumber() << " shares memory with result "
             << alias << " of another type";
  }
  return success();
}

LogicalResult exec::verifyKernel(Operation *call,
                                 SymbolTableCollection &symbols,
                                 FlatSymbolRefAttr name, size_t inputs,
                                 size_t outputs) {
  auto kernel = symbols.lookupNearestSymbolFrom<KernelOp>(call, name);
  // After code generation the kernel is a function.
  if (!kernel)
    return symbols.lookupNearestSymbolFrom(call, name)
               ? success()
               : call->emitOpError("no kernel named ") << name;
  Block &body = kernel.getBody().front();
  if (body.getNumArguments() != inputs ||
      body.getTerminator()->getNumOperands() != outputs)
    return call->emitOpError("passes ")
           << inputs << " inputs and " << outputs << " outputs, kernel takes "
           << body.getNumArguments() << " and "
           << body.getTerminator()->getNumOperands();
  return success();
}

LogicalResult exec::verifyGridKernel(Operation *call,
                                     SymbolTableCollection &symbols,
                                     SymbolRefAttr name, size_t buffers,
                                     size_t others) {
  // After code generation kernels are bytes.
  auto kernel =
      symbols.lookupNearestSymbolFrom<FunctionOpInterface>(call, name);
  if (kernel && kernel.getNumArguments() != buffers + others)
    return call->emitOpError("passes ")
           << buffers << " buffers, kernel takes " << kernel.getNumArguments();
  return success();
}

LogicalResult exec::verifyGrid(Operation *call, int64_t grid, int64_t block) {
  constexpr int64_t maxGrid = (int64_t(1) << 31) - 1, maxBlock = 1024;
  if (grid < 1 || grid > maxGrid || block < 1 || block > maxBlock)
    return call->emitOpError("launches ")
           << grid << " blocks of " << block << " threads";
  return success();
}

//===----------------------------------------------------------------------===//
// launch
//===----------------------------------------------------------------------===//

LogicalResult LaunchOp::verify() {
  if (getOutputs().empty())
    return emitOpError("writes nothing");
  return success();
}

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyKernel(*this, symbols, getKernelAttr(), getInputs().size(),
                      getOutputs().size());
}

const abi::Entry &LaunchOp::getAbiEntry() {
  return *abi::findEntry("ingot_launch");
}
SmallVector<Value> LaunchOp::getTable() {
  return llvm::to_vector(getOperands());
}
bool LaunchOp::writesWhole(Value) { return !getShard(); }
int64_t LaunchOp::getCallFlops() { return getFlops(); }
int64_t LaunchOp::getCallBytes() {
  return getBytes().value_or(bufferBytes(getOperands()));
}

Descriptor LaunchOp::getDescriptor(int64_t index) {
  ingot_kernel desc = {};
  desc.extent = static_cast<int64_t>(getExtent());
  desc.grain = static_cast<int64_t>(getGrain());
  if (ShardAttr shard = getShardAttr()) {
    desc.shard_first = shard.getFirst();
    desc.shard_of = shard.getOf();
  }
  desc.index = index;
  Descriptor descriptor(desc);
  descriptor.setCode(offsetof(ingot_kernel, body), getKernelAttr().getAttr(),
                     /*indices=*/2);
  return descriptor;
}

void LaunchOp::getEffects(Effects &effects) {
  addEffects(*this, getInputs().size(), effects);
}

//===----------------------------------------------------------------------===//
// launch_grid
//===----------------------------------------------------------------------===//

ingot_grid_kernel exec::describeGrid(GridAttr launch, size_t buffers) {
  ingot_grid_kernel desc = {};
  desc.buffers = static_cast<int32_t>(buffers);
  if (!launch)
    return desc;
  desc.grid = static_cast<int32_t>(launch.getGrid());
  desc.block = static_cast<int32_t>(launch.getBlock());
  desc.shared_bytes = static_cast<int32_t>(launch.getShared());
  return desc;
}

LogicalResult LaunchGridOp::verify() {
  if (failed(verifyGrid(*this, static_cast<int64_t>(getGrid()),
                        static_cast<int64_t>(getBlock()))))
    return failure();
  if (getShard() && getExtent() == 0)
    return emitOpError("runs the rank's shard of no extent");
  return success();
}

LogicalResult LaunchGridOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyGridKernel(*this, symbols, getKernelAttr(), getNumOperands(),
                          /*others=*/getExtent() != 0 ? 2 : 0);
}

const abi::Entry &LaunchGridOp::getAbiEntry() {
  return *abi::findEntry("ingot_launch_grid");
}
SmallVector<Value> LaunchGridOp::getTable() {
  return llvm::to_vector(getOperands());
}
bool LaunchGridOp::writesWhole(Value) { return !getShard(); }
int64_t LaunchGridOp::getCallFlops() { return getFlops(); }
int64_t LaunchGridOp::getCallBytes() {
  return getBytes().value_or(bufferBytes(getOperands()));
}

Descriptor LaunchGridOp::getDescriptor(int64_t index) {
  auto launch = GridAttr::get(
      getContext(), getKernelAttr(), static_cast<int64_t>(getGrid()),
      static_cast<int64_t>(getBlock()), static_cast<int64_t>(getShared()));
  ingot_grid_kernel desc = describeGrid(launch, getNumOperands());
  desc.any_grid = getAnyGrid();
  desc.extent = static_cast<int64_t>(getExtent());
  if (ShardAttr shard = getShardAttr()) {
    desc.shard_first = shard.getFirst();
    desc.shard_of = shard.getOf();
  }
  desc.index = index;
  Descriptor descriptor(desc);
  StringAttr kernel = getKernelAttr().getLeafReference();
  descriptor.setName(offsetof(ingot_grid_kernel, name), kernel);
  descriptor.setCode(offsetof(ingot_grid_kernel, emulated), kernel,
                     /*indices=*/2);
  return descriptor;
}

void LaunchGridOp::getEffects(Effects &effects) {
  addEffects(*this, getInputs().size(), effects);
}
