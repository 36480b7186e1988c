// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// Loops for `epilogue` kernels: over rows and columns of a library call's
// result that are complete, and still in the cache.
//===----------------------------------------------------------------------===//

#include "dialects/ingot/builders/Builders.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "passes/codegen/ElementEmitter.h"
#include "passes/codegen/RowSchedule.h"
#include "passes/targets/cpu/KernelFunction.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::codegen;

namespace {

class EpilogueEmitter : KernelFunction {
public:
  using KernelFunction::KernelFunction;

  void run();

private:
  void emitElement(ElementEmitter &emitter, const RowSpace &space, Value row,
                   Value column);
  /// Prefetches the next row of a buffer. The rows of a call are short pieces
  /// far apart, which hardware prefetchers do not detect.
  void prefetch(Value buffer, bool isWrite, const RowSpace &space, Value row);
};

void EpilogueEmitter::prefetch(Value buffer, bool isWrite,
                               const RowSpace &space, Value row) {
  constexpr unsigned lineBits = 64 * 8;
  unsigned bits = cast<MemRefType>(buffer.getType()).getElementTypeBitWidth();
  Value one = scalars().index(1);
  Value last = arith::SubIOp::create(builder, loc, end, one);
  Value next =
      arith::MinSIOp::create(builder, loc, scalars().add(row, one), last);
  Value start = scalars().mul(next, space.length);
  auto lines = scf::ForOp::create(builder, loc, begin2, end2,
                                  scalars().index(lineBits / bits));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(lines.getBody());
  memref::PrefetchOp::create(builder, loc, buffer,
                             scalars().add(start, lines.getInductionVar()),
                             isWrite, /*localityHint=*/3, /*isDataCache=*/true);
}

void EpilogueEmitter::emitElement(ElementEmitter &emitter,
                                  const RowSpace &space, Value row,
                                  Value column) {
  // All elements are computed before the first store, because the matmul's
  // result is in the memory of a result.
  SmallVector<Value> elements;
  for (Value result : yield()->getOperands())
    elements.push_back(emitter.element(
        result, indexInRow(scalars(), space, result, row, column)));
  Value position = scalars().add(scalars().mul(row, space.length), column);
  Value product = body.getArgument(0);
  for (auto [i, result] : llvm::enumerate(yield()->getOperands()))
    if (result != product)
      memref::StoreOp::create(builder, loc, elements[i], outputs()[i],
                              position);
}

void EpilogueEmitter::run() {
  createFunction(/*ranges=*/2);
  auto product = cast<RankedTensorType>(body.getArgument(0).getType());
  RowSpace space = {llvm::product_of(product.getShape().drop_back()),
                    product.getShape().back()};
  RowReads reads(space,
                 llvm::to_vector_of<Operation *>(
                     llvm::make_pointer_range(body.without_terminator())),
                 llvm::to_vector(yield()->getOperands()));
  auto rows = scf::ForOp::create(builder, loc, begin, end, scalars().index(1));
  builder.setInsertionPointToStart(rows.getBody());
  Value row = rows.getInductionVar();
  ElementEmitter emitter(kernel, builder, inputs());
  SmallVector<std::pair<Value, Value>> aligned;
  for (auto [argument, buffer] : llvm::zip_equal(body.getArguments(), inputs()))
    if (tensorType(argument).getNumElements() == product.getNumElements() &&
        reads.isAligned(argument))
      aligned.emplace_back(argument, buffer);
  for (auto [argument, buffer] : aligned)
    if (argument != body.getArgument(0))
      prefetch(buffer, /*isWrite=*/false, space, row);
  for (auto [result, buffer] :
       llvm::zip_equal(yield()->getOperands(), outputs()))
    // The matmul has just been written.
    if (result != body.getArgument(0) && buffer != inputs().front())
      prefetch(buffer, /*isWrite=*/true, space, row);

  auto columns =
      scf::ForOp::create(builder, loc, begin2, end2, scalars().index(1));
  builder.setInsertionPointToStart(columns.getBody());
  Value column = columns.getInductionVar();
  // Whatever its shape, no index is delinearized.
  Value position = scalars().add(scalars().mul(row, space.length), column);
  for (auto [argument, buffer] : aligned)
    emitter.setSource(argument, [&, buffer = buffer](ValueRange) -> Value {
      return memref::LoadOp::create(builder, loc, buffer, position);
    });
  emitElement(emitter, space, row, column);
  finishFunction();
}

} // namespace

void codegen::emitEpilogue(exec::KernelOp kernel) {
  EpilogueEmitter(kernel).run();
}
