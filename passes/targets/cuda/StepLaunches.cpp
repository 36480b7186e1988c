#include "passes/targets/cuda/StepLaunches.h"

#include "dialects/ingot/builders/Builders.h"
#include "runtime/abi/Abi.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::codegen;

static int64_t align(int64_t bytes) {
  return static_cast<int64_t>(llvm::alignTo(bytes, INGOT_ALIGNMENT));
}

StepLaunches::StepLaunches(exec::StepOp step)
    : step(step), planned(static_cast<int64_t>(step.getArenaBytes())),
      reserved(planned), end(planned) {}

SmallVector<Value> StepLaunches::lend(OpBuilder &builder, Location loc,
                                      ArrayRef<MemRefType> types) {
  SmallVector<Value> buffers;
  int64_t place = reserved;
  for (MemRefType type : types) {
    place = align(place);
    buffers.push_back(
        exec::BufferOp::create(builder, loc, type, exec::Space::Arena, place));
    place += byteSize(type);
  }
  end = std::max(end, place);
  return buffers;
}

Value StepLaunches::reserve(OpBuilder &builder, Location loc, MemRefType type) {
  Value buffer = lend(builder, loc, type).front();
  reserved = end;
  return buffer;
}

void StepLaunches::finish() {
  if (end == planned)
    return;
  end = align(end);
  step.setArenaBytes(end);
  if (exec::MemoryAttr memory = step.getMemoryAttr())
    step.setMemoryAttr(exec::MemoryAttr::get(
        step.getContext(), memory.getPeak() + end - planned,
        memory.getWeights(), memory.getOptimizer(), memory.getGradient(),
        memory.getActivation(), memory.getWorkspace() + end - planned,
        memory.getCommunication()));
}

SymbolRefAttr StepLaunches::getSymbol(Builder &builder,
                                      const DeviceLaunch &grid) {
  MLIRContext *context = builder.getContext();
  return SymbolRefAttr::get(
      context, kDeviceModule,
      FlatSymbolRefAttr::get(context, grid.function.getValue()));
}

exec::LaunchGridOp StepLaunches::launch(OpBuilder &builder, Location loc,
                                        const DeviceLaunch &grid,
                                        ValueRange inputs, ValueRange outputs) {
  return exec::LaunchGridOp::create(
      builder, loc, getSymbol(builder, grid), inputs, outputs,
      /*flops=*/0, /*bytes=*/IntegerAttr(), grid.grid, kBlock, grid.shared,
      grid.anyGrid, /*extent=*/0,
      /*shard=*/ShardAttr());
}
