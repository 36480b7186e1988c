#include "passes/targets/cuda/StepLaunches.h"

#include "dialects/ingot/builders/Builders.h"
#include "runtime/abi/Abi.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::codegen;

static int64_t align(int64_t bytes) {
  return static_cast<int64_t>(llvm::alignTo(bytes, INGOT_ALIGNMENT));
}

StepLaunches::StepLaunches(func::FuncOp step)
    : step(step),
      planned(step->getAttrOfType<IntegerAttr>("exec.arena_bytes").getInt()),
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
  Builder b(step.getContext());
  end = align(end);
  step->setAttr("exec.arena_bytes", b.getI64IntegerAttr(end));
  auto memory = step->getAttrOfType<DictionaryAttr>("exec.memory");
  if (!memory)
    return;
  NamedAttrList parts(memory);
  for (StringRef part : {"peak_bytes", "workspace_bytes"})
    parts.set(part,
              b.getI64IntegerAttr(memory.getAs<IntegerAttr>(part).getInt() +
                                  end - planned));
  step->setAttr("exec.memory", parts.getDictionary(b.getContext()));
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
