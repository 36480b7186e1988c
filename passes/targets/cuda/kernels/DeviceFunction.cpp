// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// Builds GPU functions: functions, threads and loops.
//===----------------------------------------------------------------------===//

#include "passes/targets/cuda/kernels/DeviceFunction.h"

#include "dialects/ingot/builders/Builders.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::codegen;

void DeviceFunctionBuilder::startFunction(const Twine &name, TypeRange given,
                                          bool withRange) {
  builder.setInsertionPointToEnd(module.getBody());
  SmallVector<Type> types(given);
  takesRange = withRange;
  if (takesRange)
    types.append(2, builder.getI64Type());
  function = gpu::GPUFuncOp::create(
      builder, loc, name.str(), builder.getFunctionType(types, {}), TypeRange(),
      TypeRange(),
      builder.getNamedAttr(gpu::GPUDialect::getKernelFuncAttrName(),
                           builder.getUnitAttr()));
  Block &entry = function.getBody().front();
  buffers.assign(entry.args_begin(), entry.args_begin() + given.size());
  elementLoop = nullptr;
  builder.setInsertionPointToStart(&entry);
}

DeviceLaunch DeviceFunctionBuilder::finishFunction(int64_t grid, bool anyGrid,
                                                   int64_t block) {
  builder.setInsertionPointToEnd(&function.getBody().front());
  gpu::ReturnOp::create(builder, loc);
  function.setKnownBlockSizeAttr(
      builder.getDenseI32ArrayAttr({static_cast<int32_t>(block), 1, 1}));
  if (!anyGrid)
    function.setKnownGridSizeAttr(
        builder.getDenseI32ArrayAttr({static_cast<int32_t>(grid), 1, 1}));
  int64_t shared = 0;
  for (BlockArgument memory : function.getWorkgroupAttributions())
    shared += byteSize(cast<MemRefType>(memory.getType()));
  return {function.getNameAttr(), grid, block, shared, anyGrid};
}

Value DeviceFunctionBuilder::threadInBlock() {
  return gpu::ThreadIdOp::create(builder, loc, gpu::Dimension::x);
}

Value DeviceFunctionBuilder::block() {
  return gpu::BlockIdOp::create(builder, loc, gpu::Dimension::x);
}

Value DeviceFunctionBuilder::thread() {
  ScalarEmitter e = scalars();
  return e.add(e.mul(block(), kBlock), threadInBlock());
}

Value DeviceFunctionBuilder::countThreads() {
  return scalars().mul(gpu::GridDimOp::create(builder, loc, gpu::Dimension::x),
                       kBlock);
}

Value DeviceFunctionBuilder::addShared(int64_t count, Type type) {
  auto memory = gpu::AddressSpaceAttr::get(builder.getContext(),
                                           gpu::AddressSpace::Workgroup);
  return function.addWorkgroupAttribution(
      MemRefType::get({count}, type, MemRefLayoutAttrInterface(), memory), loc);
}

void DeviceFunctionBuilder::synchronizeBlock() {
  gpu::BarrierOp::create(builder, loc);
}

std::pair<Value, Value> DeviceFunctionBuilder::getBounds() {
  auto get = [&](size_t end) -> Value {
    return arith::IndexCastOp::create(
        builder, loc, builder.getIndexType(),
        function.getArgument(static_cast<unsigned>(buffers.size() + end)));
  };
  Value begin = get(0);
  return {begin, get(1)};
}

Value DeviceFunctionBuilder::load(Value buffer, ValueRange at) {
  return memref::LoadOp::create(builder, loc, buffer, at);
}

void DeviceFunctionBuilder::store(Value value, Value buffer, ValueRange at) {
  memref::StoreOp::create(builder, loc, value, buffer, at);
}

/// Splits values into parts of 32 bits, the width of the hardware's shuffles.
Value DeviceFunctionBuilder::shuffleXor(Value value, int64_t distance) {
  ScalarEmitter e = scalars();
  Type type = value.getType(), i32 = builder.getI32Type();
  auto exchange = [&](Value part) -> Value {
    return gpu::ShuffleOp::create(builder, loc, part, e.constant(i32, distance),
                                  e.constant(i32, kWarp), gpu::ShuffleMode::XOR)
        .getShuffleResult();
  };
  unsigned width = type.getIntOrFloatBitWidth();
  if (width == 32)
    return exchange(value);
  Type bits = builder.getIntegerType(width);
  if (type != bits)
    value = arith::BitcastOp::create(builder, loc, bits, value);
  Value result;
  if (width < 32) {
    result = exchange(arith::ExtUIOp::create(builder, loc, i32, value));
    result = arith::TruncIOp::create(builder, loc, bits, result);
  } else {
    Value half = e.constant(bits, 32);
    Value low = arith::TruncIOp::create(builder, loc, i32, value);
    Value high = arith::TruncIOp::create(
        builder, loc, i32, arith::ShRUIOp::create(builder, loc, value, half));
    low = arith::ExtUIOp::create(builder, loc, bits, exchange(low));
    high = arith::ExtUIOp::create(builder, loc, bits, exchange(high));
    high = arith::ShLIOp::create(builder, loc, high, half);
    result = arith::OrIOp::create(builder, loc, low, high);
  }
  return type == bits
             ? result
             : Value(arith::BitcastOp::create(builder, loc, type, result));
}

/// Lanes add up those that differ from them in one bit, one bit after the
/// other; what came before a lane is in the groups with that bit off.
std::pair<Value, Value> DeviceFunctionBuilder::sumBlock(Value value,
                                                        Value shared) {
  using I = arith::CmpIPredicate;
  ScalarEmitter e = scalars();
  Type i32 = builder.getI32Type();
  auto word = [&](int64_t number) { return e.constant(i32, number); };
  auto addWords = [&](Value a, Value b) -> Value {
    return arith::AddIOp::create(builder, loc, a, b);
  };
  Value inBlock = threadInBlock(), warp = e.div(inBlock, kWarp);
  Value lane =
      arith::IndexCastUIOp::create(builder, loc, i32, e.rem(inBlock, kWarp));
  Value sum = value, before = word(0);
  for (int64_t distance = 1; distance < kWarp; distance *= 2) {
    Value other = shuffleXor(sum, distance);
    Value isSecond = e.compare(
        I::ne, arith::AndIOp::create(builder, loc, lane, word(distance)),
        word(0));
    before = addWords(before, arith::SelectOp::create(builder, loc, isSecond,
                                                      other, word(0)));
    sum = addWords(sum, other);
  }
  // Others may still read what this replaces.
  synchronizeBlock();
  onlyIf(e.compare(I::eq, lane, word(0)), [&] { store(sum, shared, warp); });
  synchronizeBlock();
  Value all = word(0);
  for (int64_t i = 0; i < kBlock / kWarp; ++i) {
    Value part = load(shared, e.index(i));
    Value isBefore = e.compare(I::sgt, warp, e.index(i));
    before = addWords(
        before, arith::SelectOp::create(builder, loc, isBefore, part, word(0)));
    all = addWords(all, part);
  }
  return {all, before};
}

void DeviceFunctionBuilder::forEach(Value from, Value to, Value step,
                                    llvm::function_ref<void(Value)> emitBody) {
  OpBuilder::InsertionGuard guard(builder);
  auto loop = scf::ForOp::create(builder, loc, from, to, step);
  builder.setInsertionPointToStart(loop.getBody());
  elementLoop = loop;
  emitBody(loop.getInductionVar());
}

static LLVM::LoopAnnotationAttr unrolledBy(int64_t count, OpBuilder &builder) {
  auto unroll = LLVM::LoopUnrollAttr::get(
      builder.getContext(), /*disable=*/{}, builder.getI32IntegerAttr(count),
      /*runtimeDisable=*/{}, /*full=*/{}, /*followupUnrolled=*/{},
      /*followupRemainder=*/{}, /*followupAll=*/{});
  return LLVM::LoopAnnotationAttr::get(builder.getContext(), {}, {}, {}, unroll,
                                       {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
                                       {});
}

SmallVector<Value> DeviceFunctionBuilder::fold(
    Value from, Value to, int64_t step, ValueRange initial,
    llvm::function_ref<SmallVector<Value>(Value, ValueRange)> emitBody,
    int64_t unroll) {
  auto loop = scf::ForOp::create(builder, loc, from, to, scalars().index(step),
                                 initial);
  if (unroll > 1)
    loop->setAttr(LLVM::LoopAnnotationAttr::getMnemonic(),
                  unrolledBy(unroll, builder));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  elementLoop = loop;
  SmallVector<Value> next =
      emitBody(loop.getInductionVar(), loop.getRegionIterArgs());
  // A loop without sums has its terminator already.
  if (!next.empty())
    scf::YieldOp::create(builder, loc, next);
  return llvm::to_vector_of<Value>(loop.getResults());
}

void DeviceFunctionBuilder::onlyIf(Value condition,
                                   llvm::function_ref<void()> emitBody) {
  auto branch = scf::IfOp::create(builder, loc, condition,
                                  /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&branch.getThenRegion().front());
  emitBody();
}
