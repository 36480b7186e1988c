// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// Groups: one grid contains the blocks of all loops, concatenated. A block
// finds its loop by bisection.
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "passes/codegen/GroupParts.h"
#include "passes/targets/cuda/kernels/DeviceKernel.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::codegen;

namespace {

/// A loop's function, and its first block in the grid of the group.
struct Branch {
  gpu::GPUFuncOp function;
  SmallVector<Value> buffers;
  int64_t firstBlock;
};

/// Copies the code of a function to the insertion point of the builder, on the
/// buffers and blocks of the group.
void copyCode(const Branch &branch, Value block, OpBuilder &builder) {
  gpu::GPUFuncOp function = branch.function;
  Block &code = function.getBody().front();
  IRMapping within;
  within.map(code.getArguments(), branch.buffers);
  ScalarEmitter e{builder, function.getLoc()};
  for (Operation &op : code.without_terminator()) {
    if (isa<gpu::BlockIdOp>(op))
      within.map(op.getResult(0), e.sub(block, e.index(branch.firstBlock)));
    else
      builder.clone(op, within);
  }
}

void choose(ArrayRef<Branch> branches, Value block, OpBuilder &builder) {
  if (branches.size() == 1)
    return copyCode(branches.front(), block, builder);
  size_t half = branches.size() / 2;
  ScalarEmitter e{builder, block.getLoc()};
  Value isBefore = e.compare(arith::CmpIPredicate::slt, block,
                             e.index(branches[half].firstBlock));
  auto fork = scf::IfOp::create(builder, block.getLoc(), isBefore,
                                /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&fork.getThenRegion().front());
  choose(branches.take_front(half), block, builder);
  builder.setInsertionPointToStart(&fork.getElseRegion().front());
  choose(branches.drop_front(half), block, builder);
}

} // namespace

DeviceKernel DeviceKernelBuilder::emitGroup() {
  SmallVector<GroupPart> parts = outlineParts(kernel);
  // Together, the loops occupy the GPU.
  int64_t share = std::max<int64_t>(1, threads / parts.size());
  llvm::MapVector<exec::KernelOp, DeviceLaunch> built;
  for (GroupPart &part : parts)
    if (auto [it, isNew] = built.try_emplace(part.kernel); isNew)
      it->second =
          DeviceKernelBuilder(part.kernel, module, share).asPart().build().main;

  createFunction("", inputTypes(), resultTypes(), /*hasAliases=*/true);
  int64_t grid = 0;
  SmallVector<Branch> branches;
  for (GroupPart &part : parts) {
    const DeviceLaunch &launch = built.find(part.kernel)->second;
    Branch &branch = branches.emplace_back();
    branch.function =
        module.lookupSymbol<gpu::GPUFuncOp>(launch.function.getValue());
    for (unsigned buffer : part.buffers)
      branch.buffers.push_back(buffers[buffer]);
    branch.firstBlock = grid;
    grid += launch.grid;
  }
  choose(branches, block(), builder);
  for (auto &[part, launch] : built) {
    module.lookupSymbol<gpu::GPUFuncOp>(launch.function.getValue()).erase();
    part.erase();
  }
  return {finishFunction(grid), std::nullopt, {}};
}
