// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// The epilogue of a generated matmul. The sums of a thread are spread over the
// tile in pairs. A warp therefore stages 32 columns of its 16 rows at a time in
// shared memory of its own, from which its lanes take elements next to each
// other.
//===----------------------------------------------------------------------===//

#include "dialects/ingot/builders/Builders.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "passes/codegen/RowSchedule.h"
#include "passes/targets/cuda/matmul/DeviceMatmul.h"

#include <numeric>

using namespace mlir;
using namespace ingot;
using namespace ingot::codegen;

static constexpr int64_t kFloatBytes = 4;

/// Stores the sums of chunk number `chunk`, one of `count` from `first` on.
/// Lane 4 r + c has, of each 8 columns, numbers 2 c and 2 c + 1 of the rows r
/// and r + 8 (PTX ISA, "Register Fragments for wgmma").
void DeviceMatmul::stageChunks(Value sums, Value chunk, int64_t first,
                               int64_t count, Value to) {
  ScalarEmitter e = scalars();
  if (count > 1) {
    int64_t half = count / 2;
    Value isBefore =
        e.compare(arith::CmpIPredicate::slt, chunk, e.index(first + half));
    auto fork =
        scf::IfOp::create(builder, loc, isBefore, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&fork.getThenRegion().front());
    stageChunks(sums, chunk, first, half, to);
    builder.setInsertionPointToStart(&fork.getElseRegion().front());
    stageChunks(sums, chunk, first + half, count - half, to);
    return;
  }
  constexpr int64_t perEight = 4, halfRows = MatmulPlan::kWarpRows / 2;
  auto pair = VectorType::get(2, builder.getF32Type());
  for (int64_t eight = 0; eight < MatmulPlan::kChunk / 8; ++eight)
    for (int64_t half = 0; half < 2; ++half) {
      int64_t sum =
          (first * MatmulPlan::kChunk / 8 + eight) * perEight + 2 * half;
      Value both = LLVM::PoisonOp::create(builder, loc, pair);
      for (int64_t i = 0; i < 2; ++i)
        both = LLVM::InsertElementOp::create(
            builder, loc, both,
            LLVM::ExtractValueOp::create(builder, loc, sums, sum + i), word(i));
      int64_t place = half * halfRows * MatmulPlan::kChunkStride + 8 * eight;
      LLVM::StoreOp::create(builder, loc, both,
                            at(to, word(place * kFloatBytes)),
                            /*alignment=*/2 * kFloatBytes);
    }
}

void DeviceMatmul::finishTile(const Tile &tile, Value sums) {
  ScalarEmitter e = scalars();
  Value thread = threadInBlock();
  Value lane = e.rem(thread, kWarp);
  // Among the warps that multiply.
  Value warp = e.sub(e.div(thread, kWarp), e.index(4));
  Value staged = at(arith::AddIOp::create(
      builder, loc, toWord(e.mul(warp, MatmulPlan::kStagingBytes)),
      word(plan.getStagingOffset())));
  Value position = e.add(e.mul(e.div(lane, 4), MatmulPlan::kChunkStride),
                         e.mul(e.rem(lane, 4), 2));
  Value mine = at(staged, toWord(e.mul(position, kFloatBytes)));
  int64_t chunks = plan.tileN / MatmulPlan::kChunk;
  Tile ofWarp = tile;
  ofWarp.row = e.add(tile.row, e.mul(warp, MatmulPlan::kWarpRows));
  forEach(e.index(0), e.index(chunks), 1, [&](Value chunk) {
    stageChunks(sums, chunk, 0, chunks, mine);
    syncWarp();
    emitElements(ofWarp, chunk, staged);
    // Before others overwrite what a lane reads.
    syncWarp();
  });
}

/// Computes the results for a staged chunk; `tile.row` is the warp's first row.
void DeviceMatmul::emitElements(const Tile &tile, Value chunk, Value staged) {
  ScalarEmitter e = scalars();
  // Elements next to each other that one lane computes.
  int64_t lanes = std::gcd<int64_t>(desc.n, 8);
  int64_t perRow = MatmulPlan::kChunk / lanes, rows = kWarp / perRow;
  Value lane = e.rem(threadInBlock(), kWarp);
  Value first = e.mul(e.rem(lane, perRow), lanes);
  Value column =
      e.add(tile.column, e.add(e.mul(chunk, MatmulPlan::kChunk), first));
  RowSpace space = {desc.batch * desc.m, desc.n};
  Type f32 = builder.getF32Type();
  Block *body = kernel ? &kernel.getBody().front() : nullptr;
  size_t numInputs = body ? body->getNumArguments() - 1 : 0;
  ValueRange all(buffers);
  ValueRange inputs = all.take_front(numInputs),
             outputs = all.drop_front(numInputs);
  forEach(e.index(0), e.index(MatmulPlan::kWarpRows / rows), 1, [&](Value i) {
    Value inWarp = e.add(e.mul(i, rows), e.div(lane, perRow));
    Value row = e.add(tile.row, inWarp);
    Value isThere =
        e.logicalAnd(e.inRange(row, desc.m), e.inRange(column, desc.n));
    onlyIf(isThere, [&] {
      Value from =
          at(staged,
             toWord(e.mul(e.add(e.mul(inWarp, MatmulPlan::kChunkStride), first),
                          kFloatBytes)));
      Value inBatch = e.add(e.mul(tile.batch, desc.m), row);
      Value start = e.add(e.mul(inBatch, desc.n), column);
      auto element = [&](int64_t number) -> Value {
        Value place = at(from, word(number * kFloatBytes));
        return LLVM::LoadOp::create(builder, loc, f32, place,
                                    number % lanes == 0 && lanes >= 4 ? 16 : 4);
      };
      // All accesses of a lane are to the same address and a constant: so are
      // they recognized as one of 16 bytes.
      auto findLanes = [&](Value buffer) -> Value {
        auto type = cast<MemRefType>(buffer.getType());
        auto layout = StridedLayoutAttr::get(builder.getContext(),
                                             ShapedType::kDynamic, {1});
        return memref::ReinterpretCastOp::create(
            builder, loc,
            MemRefType::get({lanes}, type.getElementType(), layout,
                            type.getMemorySpace()),
            buffer, OpFoldResult(start),
            ArrayRef<OpFoldResult>(builder.getIndexAttr(lanes)),
            ArrayRef<OpFoldResult>(builder.getIndexAttr(1)));
      };
      SmallVector<SmallVector<Value>> values;
      if (!body) {
        Type type = cast<MemRefType>(outputs[0].getType()).getElementType();
        for (int64_t number = 0; number < lanes; ++number)
          values.push_back({e.convertFloat(element(number), type)});
      } else {
        // Inputs that share the memory of results do not exist: the product is
        // in registers.
        SmallVector<Value> tensors = {outputs[0]};
        llvm::append_range(tensors, inputs);
        RowReads reads(space,
                       llvm::to_vector_of<Operation *>(llvm::make_pointer_range(
                           body->without_terminator())),
                       llvm::to_vector(body->getTerminator()->getOperands()));
        DenseMap<Value, Value> lanesOf;
        for (BlockArgument argument : body->getArguments().drop_front())
          if (tensorType(argument).getNumElements() ==
                  space.rows * space.length &&
              reads.isAligned(argument))
            lanesOf[argument] = findLanes(tensors[argument.getArgNumber()]);
        for (int64_t number = 0; number < lanes; ++number) {
          ElementEmitter emitter(kernel, builder, tensors);
          Value product = body->getArgument(0);
          // Rounded as in memory, so that the bits are those of a kernel after
          // the library's product.
          Value rounded = e.convertFloat(element(number),
                                         tensorType(product).getElementType());
          emitter.setSource(product, [=](ValueRange) { return rounded; });
          for (auto [argument, buffer] : lanesOf)
            emitter.setSource(
                argument, [=, this, buffer = buffer](ValueRange) -> Value {
                  return memref::LoadOp::create(builder, loc, buffer,
                                                scalars().index(number));
                });
          SmallVector<Value> &results = values.emplace_back();
          for (Value result : body->getTerminator()->getOperands())
            results.push_back(
                emitter.element(result, indexInRow(e, space, result, inBatch,
                                                   e.add(column, number))));
        }
      }
      for (auto [result, output] : llvm::enumerate(outputs)) {
        Value buffer = findLanes(output);
        for (auto [number, results] : llvm::enumerate(values))
          DeviceFunctionBuilder::store(results[result], buffer,
                                       e.index(static_cast<int64_t>(number)));
      }
    });
  });
}
