// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// A matmul for sm_90a: barriers, loads and products.
//
// Stages of operands form a ring. For each there are two barriers in shared
// memory (`mbarrier`): "full" completes a phase when both tiles have been
// loaded, "empty" when every warp that multiplies has read them. All agree on
// the order of stages and parts, so that a barrier is waited for by the parity
// of its phase.
//===----------------------------------------------------------------------===//

#include "passes/targets/cuda/matmul/DeviceMatmul.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::codegen;

static constexpr int64_t kWarpgroup = 128;
/// The elements of the span of a swizzle, 128 bytes, and what it repeats after:
/// eight rows of these.
static constexpr int64_t kSpan = 64, kSpanBytes = 128, kPatternBytes = 1024;
/// The part of the inner dimension that one instruction multiplies, and the
/// rows of the result that it computes.
static constexpr int64_t kInstructionK = 16, kInstructionM = 64;
static constexpr unsigned kSharedSpace = 3, kClusterSpace = 7;

DeviceMatmul::DeviceMatmul(const ingot_matmul_desc &desc, exec::KernelOp kernel,
                           const MatmulPlan &plan, gpu::GPUModuleOp module,
                           Location loc)
    : DeviceFunctionBuilder(module, loc), desc(desc), kernel(kernel),
      plan(plan),
      shared(LLVM::LLVMPointerType::get(module.getContext(), kSharedSpace)),
      generic(LLVM::LLVMPointerType::get(module.getContext())),
      parts(llvm::divideCeil(desc.k, plan.tileK)) {
  SmallVector<Type> sums(kInstructionM * plan.tileN / kWarpgroup,
                         builder.getF32Type());
  sumsType = LLVM::LLVMStructType::getLiteral(module.getContext(), sums);
}

//===----------------------------------------------------------------------===//
// Words and addresses
//===----------------------------------------------------------------------===//

Value DeviceMatmul::word(int64_t value) {
  return arith::ConstantIntOp::create(builder, loc, builder.getI32Type(),
                                      value);
}

Value DeviceMatmul::toWord(Value index) {
  return arith::IndexCastOp::create(builder, loc, builder.getI32Type(), index);
}

Value DeviceMatmul::at(Value pointer, Value bytes) {
  return LLVM::GEPOp::create(builder, loc, shared, builder.getI8Type(), pointer,
                             bytes);
}

Value DeviceMatmul::at(Value bytes) { return at(memory, bytes); }

Value DeviceMatmul::getBarrier(bool isFull, Value stage) {
  constexpr int64_t bytes = 8;
  int64_t first = plan.getBarrierOffset() + (isFull ? 0 : plan.stages * bytes);
  Value offset = arith::MulIOp::create(builder, loc, stage, word(bytes));
  return at(arith::AddIOp::create(builder, loc, offset, word(first)));
}

void DeviceMatmul::waitFor(Value barrier, Value parity) {
  OpBuilder::InsertionGuard guard(builder);
  auto loop = scf::WhileOp::create(builder, loc, TypeRange(), ValueRange());
  builder.createBlock(&loop.getBefore());
  Value isDone = NVVM::MBarrierTryWaitOp::create(
      builder, loc, builder.getI1Type(), barrier, parity, /*ticks=*/Value());
  Value again = arith::XOrIOp::create(
      builder, loc, isDone,
      arith::ConstantIntOp::create(builder, loc, builder.getI1Type(), 1));
  scf::ConditionOp::create(builder, loc, again, ValueRange());
  builder.createBlock(&loop.getAfter());
  scf::YieldOp::create(builder, loc);
}

void DeviceMatmul::syncWarp() {
  NVVM::SyncWarpOp::create(builder, loc, word(-1));
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

DeviceMatmul::Place DeviceMatmul::advance(Place place) {
  Value next = arith::AddIOp::create(builder, loc, place.stage, word(1));
  Value wraps = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                      next, word(plan.stages));
  Value other = arith::XOrIOp::create(builder, loc, place.parity, word(1));
  return {arith::SelectOp::create(builder, loc, wraps, word(0), next),
          arith::SelectOp::create(builder, loc, wraps, other, place.parity)};
}

/// Blocks that run at the same time have tiles of few rows and columns, whose
/// operands stay in the L2 cache: a column of `group` tiles after the other.
void DeviceMatmul::forEachTile(
    llvm::function_ref<Place(const Tile &, Place)> emitBody) {
  constexpr int64_t group = 8;
  ScalarEmitter e = scalars();
  int64_t rows = llvm::divideCeil(desc.m, plan.tileM);
  int64_t columns = llvm::divideCeil(desc.n, plan.tileN);
  Value step = gpu::GridDimOp::create(builder, loc, gpu::Dimension::x);
  auto loop =
      scf::ForOp::create(builder, loc, block(), e.index(plan.countTiles(desc)),
                         step, ValueRange{word(0), word(0)});
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  Value number = loop.getInductionVar();
  Value inBatch = e.rem(number, rows * columns);
  Value first = e.mul(e.div(inBatch, group * columns), group);
  Value inGroup = e.rem(inBatch, group * columns);
  // The last group may be lower.
  Value height = arith::MinUIOp::create(
      builder, loc, e.sub(e.index(rows), first), e.index(group));
  Value row =
      e.add(first, arith::RemUIOp::create(builder, loc, inGroup, height));
  Value column = arith::DivUIOp::create(builder, loc, inGroup, height);
  Tile tile = {e.div(number, rows * columns), e.mul(row, plan.tileM),
               e.mul(column, plan.tileN)};
  Place next = emitBody(
      tile, {loop.getRegionIterArgs()[0], loop.getRegionIterArgs()[1]});
  scf::YieldOp::create(builder, loc, ValueRange{next.stage, next.parity});
}

std::pair<DeviceMatmul::Place, Value> DeviceMatmul::forEachPart(
    int64_t first, Place place, Value carried,
    llvm::function_ref<Value(Value, Place, Value)> emitBody) {
  SmallVector<Value> initial = {place.stage, place.parity};
  if (carried)
    initial.push_back(carried);
  auto loop = scf::ForOp::create(builder, loc, word(first), word(parts),
                                 word(1), initial);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  Place here = {loop.getRegionIterArgs()[0], loop.getRegionIterArgs()[1]};
  Value next = emitBody(loop.getInductionVar(), here,
                        carried ? loop.getRegionIterArgs()[2] : Value());
  Place after = advance(here);
  SmallVector<Value> yielded = {after.stage, after.parity};
  if (carried)
    yielded.push_back(next);
  scf::YieldOp::create(builder, loc, yielded);
  return {{loop.getResult(0), loop.getResult(1)},
          carried ? loop.getResult(2) : Value()};
}

//===----------------------------------------------------------------------===//
// Loads
//===----------------------------------------------------------------------===//

void DeviceMatmul::initializeBarriers() {
  ScalarEmitter e = scalars();
  Value isFirst =
      e.compare(arith::CmpIPredicate::eq, threadInBlock(), e.index(0));
  onlyIf(isFirst, [&] {
    constexpr int64_t warps = 4 * MatmulPlan::kConsumers;
    for (int64_t stage = 0; stage < plan.stages; ++stage) {
      NVVM::MBarrierInitOp::create(builder, loc,
                                   getBarrier(/*isFull=*/true, word(stage)),
                                   word(1), /*predicate=*/Value());
      NVVM::MBarrierInitOp::create(builder, loc,
                                   getBarrier(/*isFull=*/false, word(stage)),
                                   word(warps), /*predicate=*/Value());
    }
    // Loads complete them through another proxy.
    NVVM::FenceMbarrierInitOp::create(builder, loc);
  });
  synchronizeBlock();
}

/// Loads a box of 64 elements of the innermost dimension.
void DeviceMatmul::load(unsigned map, Value to, Value barrier, Value inner,
                        Value outer, Value batch) {
  auto cluster = LLVM::LLVMPointerType::get(module.getContext(), kClusterSpace);
  Value place = LLVM::AddrSpaceCastOp::create(builder, loc, cluster, to);
  NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp::create(
      builder, loc, place, function.getArgument(map),
      ValueRange{inner, outer, batch}, barrier, /*im2colOffsets=*/ValueRange(),
      /*multicastMask=*/Value(), /*l2CacheHint=*/Value(),
      NVVM::TMALoadMode::TILE, /*isCTAOnly=*/false,
      /*group=*/NVVM::CTAGroupKindAttr(), /*predicate=*/Value());
}

/// Elements outside of the matrices become 0, and are counted as well.
void DeviceMatmul::produce() {
  forEachTile([&](const Tile &tile, Place start) {
    Value row = toWord(tile.row), column = toWord(tile.column);
    Value batch = toWord(tile.batch);
    auto emitBody = [&](Value part, Place place, Value) -> Value {
      // A phase before the first counts as complete.
      Value before = arith::XOrIOp::create(builder, loc, place.parity, word(1));
      waitFor(getBarrier(/*isFull=*/false, place.stage), before);
      Value full = getBarrier(/*isFull=*/true, place.stage);
      NVVM::MBarrierArriveExpectTxOp::create(
          builder, loc, /*res=*/Type(), full, word(plan.getStageBytes()),
          NVVM::MemScopeKind::CTA, /*relaxed=*/false, /*predicate=*/Value());
      Value depth = arith::MulIOp::create(builder, loc, part, word(plan.tileK));
      Value stage = at(arith::MulIOp::create(builder, loc, place.stage,
                                             word(plan.getStageBytes())));
      auto loadTile = [&](unsigned map, int64_t offset, Value begin,
                          int64_t length, bool isInnermost) {
        // Where the dimension is innermost, a box has 64 elements of it.
        constexpr int64_t boxBytes = kSpanBytes * kSpan;
        for (int64_t i = 0; i < (isInnermost ? length / kSpan : 1); ++i) {
          Value to = at(stage, word(offset + i * boxBytes));
          Value from =
              arith::AddIOp::create(builder, loc, begin, word(i * kSpan));
          load(map, to, full, isInnermost ? from : depth,
               isInnermost ? depth : begin, batch);
        }
      };
      loadTile(0, 0, row, plan.tileM, desc.transpose_a != 0);
      loadTile(1, plan.getLhsBytes(), column, plan.tileN,
               desc.transpose_b == 0);
      return {};
    };
    return forEachPart(/*first=*/0, start, Value(), emitBody).first;
  });
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// Returns the description of a matrix in shared memory with a swizzle of 128
/// bytes (PTX ISA, "Matrix Descriptor"). The strides are between parts of 64
/// elements along rows or columns of the result, where these are innermost, and
/// between eight rows of 128 bytes.
Value DeviceMatmul::describeShared(Value pointer, int64_t leading,
                                   int64_t stride) {
  constexpr int64_t unit = 16, leadingShift = 16, strideShift = 32;
  constexpr int64_t swizzle128 = int64_t(1) << 62;
  Type i64 = builder.getI64Type();
  Value address =
      LLVM::PtrToIntOp::create(builder, loc, builder.getI32Type(), pointer);
  // Shared memory ends before 2^18.
  Value low = arith::ShRUIOp::create(builder, loc, address, word(4));
  Value field = arith::ExtUIOp::create(builder, loc, i64, low);
  int64_t others = (leading / unit) << leadingShift |
                   (stride / unit) << strideShift | swizzle128;
  return arith::OrIOp::create(
      builder, loc, field,
      arith::ConstantIntOp::create(builder, loc, i64, others));
}

Value DeviceMatmul::multiply(Value sums, Place place, Value consumer) {
  Value stage = arith::MulIOp::create(builder, loc, place.stage,
                                      word(plan.getStageBytes()));
  // In either layout a warpgroup has half of the bytes.
  Value half =
      arith::MulIOp::create(builder, loc, consumer,
                            word(plan.getLhsBytes() / MatmulPlan::kConsumers));
  Value lhs = at(arith::AddIOp::create(builder, loc, stage, half));
  Value rhs =
      at(arith::AddIOp::create(builder, loc, stage, word(plan.getLhsBytes())));
  bool lhsIsDeep = desc.transpose_a == 0, rhsIsDeep = desc.transpose_b != 0;
  // Along the inner dimension: 32 bytes of a row, or 16 rows.
  auto step = [](bool isDeep) {
    return isDeep ? kInstructionK * MatmulPlan::kElementBytes
                  : kInstructionK * kSpanBytes;
  };
  auto type = desc.a_type == INGOT_BF16 ? NVVM::WGMMATypes::bf16
                                        : NVVM::WGMMATypes::f16;
  auto shape = NVVM::MMAShapeAttr::get(module.getContext(), kInstructionM,
                                       plan.tileN, kInstructionK);
  NVVM::WgmmaFenceAlignedOp::create(builder, loc);
  // Registers that are set to 0 would have to be so before the fence.
  bool isFirst = !sums;
  if (isFirst)
    sums = LLVM::PoisonOp::create(builder, loc, sumsType);
  for (int64_t k = 0; k < plan.tileK / kInstructionK; ++k) {
    Value a = describeShared(at(lhs, word(k * step(lhsIsDeep))),
                             kSpan * kSpanBytes, kPatternBytes);
    Value b = describeShared(at(rhs, word(k * step(rhsIsDeep))),
                             kSpan * kSpanBytes, kPatternBytes);
    sums = NVVM::WgmmaMmaAsyncOp::create(
        builder, loc, sumsType, sums, a, b, shape, type, type,
        NVVM::WGMMATypes::f32,
        isFirst && k == 0 ? NVVM::WGMMAScaleOut::zero
                          : NVVM::WGMMAScaleOut::one,
        NVVM::WGMMAScaleIn::one, NVVM::WGMMAScaleIn::one,
        lhsIsDeep ? NVVM::MMALayout::row : NVVM::MMALayout::col,
        rhsIsDeep ? NVVM::MMALayout::col : NVVM::MMALayout::row,
        NVVM::MMAIntOverflowAttr());
  }
  NVVM::WgmmaGroupSyncAlignedOp::create(builder, loc);
  // Only then may registers of the sums be moved, as the loop does, and the
  // stage be loaded again. The other warpgroup multiplies meanwhile.
  NVVM::WgmmaWaitGroupSyncOp::create(builder, loc, 0);
  return sums;
}

void DeviceMatmul::consume() {
  ScalarEmitter e = scalars();
  Value consumer =
      toWord(e.sub(e.div(threadInBlock(), kWarpgroup), e.index(1)));
  Value isLeader = e.compare(arith::CmpIPredicate::eq,
                             e.rem(threadInBlock(), kWarp), e.index(0));
  forEachTile([&](const Tile &tile, Place start) {
    auto emitBody = [&](Value, Place place, Value sums) -> Value {
      waitFor(getBarrier(/*isFull=*/true, place.stage), place.parity);
      Value next = multiply(sums, place, consumer);
      onlyIf(isLeader, [&] {
        NVVM::MBarrierArriveOp::create(
            builder, loc, /*res=*/Type(),
            getBarrier(/*isFull=*/false, place.stage), /*count=*/Value());
      });
      return next;
    };
    Value first = emitBody(Value(), start, Value());
    auto [place, sums] =
        forEachPart(/*first=*/1, advance(start), first, emitBody);
    finishTile(tile, sums);
    return place;
  });
}

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

DeviceLaunch DeviceMatmul::emit(const Twine &name, TypeRange inputs,
                                TypeRange outputs, int64_t mostBlocks) {
  constexpr StringLiteral memoryName = "matmul_memory";
  auto global = module.lookupSymbol<LLVM::GlobalOp>(memoryName);
  if (!global) {
    builder.setInsertionPointToStart(module.getBody());
    global = LLVM::GlobalOp::create(
        builder, module.getLoc(),
        LLVM::LLVMArrayType::get(builder.getI8Type(), 0), /*isConstant=*/false,
        LLVM::Linkage::External, memoryName, Attribute(), kPatternBytes,
        kSharedSpace);
  }
  constexpr size_t maps = 2;
  SmallVector<Type> types(maps, generic);
  llvm::append_range(types, inputs);
  llvm::append_range(types, outputs);
  startFunction(name, types, /*withRange=*/false);
  function->setAttr(kTensorMapsAttr, builder.getI64IntegerAttr(maps));
  // As many registers as one block can have.
  function->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(),
                    builder.getI32IntegerAttr(1));
  for (size_t i = maps; i < types.size(); ++i)
    function.setArgAttr(i, "llvm.noalias", builder.getUnitAttr());
  buffers.erase(buffers.begin(), buffers.begin() + maps);
  memory = LLVM::AddressOfOp::create(builder, loc, global);

  initializeBarriers();
  ScalarEmitter e = scalars();
  Value loads = e.compare(arith::CmpIPredicate::slt, threadInBlock(),
                          e.index(kWarpgroup));
  auto roles = scf::IfOp::create(builder, loc, loads, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(builder);
  // Registers of the warpgroup that loads go to those that multiply.
  constexpr uint32_t few = 40, many = 232;
  builder.setInsertionPointToStart(&roles.getThenRegion().front());
  NVVM::SetMaxRegisterOp::create(builder, loc, few,
                                 NVVM::SetMaxRegisterAction::decrease);
  onlyIf(e.compare(arith::CmpIPredicate::eq, threadInBlock(), e.index(0)),
         [&] { produce(); });
  builder.setInsertionPointToStart(&roles.getElseRegion().front());
  NVVM::SetMaxRegisterOp::create(builder, loc, many,
                                 NVVM::SetMaxRegisterAction::increase);
  consume();
  int64_t grid = std::min(mostBlocks, plan.countTiles(desc));
  return finishFunction(grid, /*anyGrid=*/true, MatmulPlan::kThreads);
}
