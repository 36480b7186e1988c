// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// Functions, threads, loops, and kernels with their own loop nest.
//===----------------------------------------------------------------------===//

#include "passes/targets/cuda/kernels/DeviceKernel.h"

#include "dialects/ingot/builders/Builders.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "passes/targets/cuda/kernels/ReductionSplit.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::codegen;

/// With more blocks than this, a thread processes several elements.
static constexpr int64_t kMaxGrid = 1 << 16;

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

SmallVector<Type> DeviceKernelBuilder::inputTypes() {
  return llvm::map_to_vector(body.getArgumentTypes(), [](Type type) -> Type {
    return flatType(cast<RankedTensorType>(type));
  });
}

SmallVector<Type> DeviceKernelBuilder::resultTypes() {
  return llvm::map_to_vector(yield()->getOperandTypes(), [](Type type) -> Type {
    return flatType(cast<RankedTensorType>(type));
  });
}

void DeviceKernelBuilder::createFunction(StringRef suffix, TypeRange read,
                                         TypeRange written, bool hasAliases) {
  SmallVector<Type> types(read);
  llvm::append_range(types, written);
  startFunction(kernel.getSymName() + suffix, types, rangeUnit != 0);
  numRead = read.size();
  // Buffers overlap only where the schedule lets a result reuse memory, and
  // then only the result's buffer is accessed.
  for (auto i : llvm::seq<size_t>(buffers.size()))
    function.setArgAttr(i, "llvm.noalias", builder.getUnitAttr());
  if (hasAliases)
    for (auto [i, alias] : llvm::enumerate(kernel.getAliases()))
      if (alias >= 0)
        buffers[i] = buffers[numRead + alias];
}

//===----------------------------------------------------------------------===//
// Elements that a thread processes at a time
//===----------------------------------------------------------------------===//

SmallVector<DeviceKernelBuilder::Indices>
DeviceKernelBuilder::lanesAt(Value start, int64_t lanes,
                             ArrayRef<int64_t> shape) {
  ScalarEmitter e = scalars();
  SmallVector<Indices> result;
  Indices first = e.delinearize(start, shape);
  for (int64_t lane = 0; lane < lanes; ++lane) {
    if (linear) {
      result.push_back(e.delinearize(e.add(start, lane), shape));
      continue;
    }
    result.push_back(first);
    if (lane > 0)
      result.back().back() = e.add(first.back(), lane);
  }
  return result;
}

void DeviceKernelBuilder::emitLanes(ArrayRef<int64_t> shape, TypeRange types,
                                    int64_t perThread,
                                    llvm::function_ref<void(int64_t)> emit) {
  int64_t lanes = countLanes(types);
  linear = true;
  while (lanes > 1 && (perThread < lanes || product(shape) % lanes != 0 ||
                       rangeUnit % lanes != 0))
    lanes /= 2;
  emit(lanes);
  if (lanes == 1 || !takesIndicesApart(elementLoop))
    return;
  function.erase();
  linear = shape.back() % lanes != 0;
  emit(linear ? 1 : lanes);
}

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

std::pair<Value, Value> DeviceKernelBuilder::range(int64_t count,
                                                   int64_t lanes) {
  ScalarEmitter e = scalars();
  if (!takesRange)
    return {e.index(0), e.index(count / lanes)};
  auto [begin, end] = getBounds();
  return {e.div(begin, lanes), e.div(end, lanes)};
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

Value DeviceKernelBuilder::countThreads(int64_t grid) {
  return isPart ? scalars().index(grid * kBlock)
                : DeviceFunctionBuilder::countThreads();
}

/// Emits a loop in which a lane computes one element of every result.
DeviceKernel DeviceKernelBuilder::emitLoop() {
  // A matmul that is itself a result is stored already.
  SmallVector<unsigned> computed;
  for (OpOperand &result : yield()->getOpOperands())
    if (!isa<BlockArgument>(result.get()) ||
        kernel.getKind() != stringifyFusionKind(FusionKind::Epilogue))
      computed.push_back(result.getOperandNumber());
  ArrayRef<int64_t> shape =
      tensorType(yield()->getOperand(computed.front())).getShape();
  int64_t count = product(shape);
  SmallVector<Type> read = inputTypes(), written = resultTypes();
  SmallVector<Type> all(read);
  llvm::append_range(all, written);
  bool isLooped = llvm::any_of(body.without_terminator(), [](Operation &op) {
    auto scalar = dyn_cast<ScalarBody>(op);
    return scalar && scalar.isLooped();
  });
  if (!isLooped)
    if (std::optional<DeviceKernel> tiled = emitTiles())
      return *tiled;
  int64_t perThread = isLooped ? 1 : count / threads;
  DeviceLaunch launch;
  emitLanes(shape, all, perThread, [&](int64_t lanes) {
    int64_t items = count / lanes;
    int64_t grid = std::min<int64_t>(llvm::divideCeil(items, kBlock), kMaxGrid);
    createFunction("", read, written, /*hasAliases=*/true);
    ElementEmitter emitter = elements();
    auto [first, end] = range(count, lanes);
    forEach(scalars().add(first, thread()), end, countThreads(grid),
            [&](Value item) {
              SmallVector<Indices> places =
                  lanesAt(scalars().mul(item, lanes), lanes, shape);
              // All elements are computed before the first store, because
              // results may overwrite inputs.
              SmallVector<SmallVector<Value>> values;
              for (const Indices &at : places) {
                values.emplace_back();
                for (unsigned result : computed)
                  values.back().push_back(
                      emitter.element(yield()->getOperand(result), at));
              }
              for (auto [at, lane] : llvm::zip_equal(places, values)) {
                Value position = scalars().linearize(at, shape);
                for (auto [value, result] : llvm::zip_equal(lane, computed))
                  memref::StoreOp::create(builder, loc, value,
                                          outputs()[result], position);
              }
            });
    launch = finishFunction(grid, /*anyGrid=*/!isPart);
  });
  return {launch, std::nullopt, {}, rangeUnit != 0 ? count : 0};
}

/// Kernels with their own loop nest: one thread per iteration.
DeviceKernel DeviceKernelBuilder::emitCustom() {
  auto custom = cast<KernelBody>(body.front());
  if (auto scatter = dyn_cast<ScatterAddOp>(body.front()))
    return emitScatter(scatter);
  int64_t extent = custom.getParallelExtent();
  int64_t grid = std::min<int64_t>(llvm::divideCeil(extent, kBlock), kMaxGrid);
  createFunction("", inputTypes(), resultTypes(), /*hasAliases=*/true);
  forEach(thread(), scalars().index(extent), countThreads(grid), [&](Value i) {
    emitKernelBody(builder, loc, custom, buffers, i, scalars().add(i, 1));
  });
  return {finishFunction(grid, /*anyGrid=*/!isPart), std::nullopt, {}};
}

DeviceKernel DeviceKernelBuilder::build() {
  switch (*symbolizeFusionKind(kernel.getKind())) {
  case FusionKind::Custom:
    return emitCustom();
  case FusionKind::Loop:
  // After the matmul is in memory.
  case FusionKind::Epilogue:
    return emitLoop();
  case FusionKind::Reduction:
    break;
  case FusionKind::Row:
    return emitRows();
  case FusionKind::Group:
    return emitGroup();
  case FusionKind::Tile:
    return emitMatrix();
  }
  ReductionSpace space(yield()->getOperands());
  return space.foldsInnermost() ? emitAlong(space) : emitAcross(space);
}
