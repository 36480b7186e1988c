// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// The selection between the loops of `group` kernels: a range of the group's
// units becomes ranges of its loops' iterations.
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "passes/targets/cpu/KernelFunction.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::codegen;

namespace {

/// The number of units of work that justify waking a thread: units of all loops
/// take about the same time, so that threads get equal amounts of work.
constexpr int64_t kUnitsPerThread = 8;

class GroupEmitter : KernelFunction {
public:
  using KernelFunction::KernelFunction;

  Extent run(ArrayRef<GroupPart> parts, ArrayRef<Extent> extents);

private:
  void call(const GroupPart &part, Value from, Value to);
};

/// Calls the loop for a range of iterations; does nothing if the range is
/// empty.
void GroupEmitter::call(const GroupPart &part, Value from, Value to) {
  auto branch = scf::IfOp::create(
      builder, loc, scalars().compare(arith::CmpIPredicate::slt, from, to),
      /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&branch.getThenRegion().front());
  exec::KernelOp called = part.kernel;
  SmallVector<Value> arguments;
  for (unsigned buffer : part.buffers)
    arguments.push_back(buffers[buffer]);
  arguments.append({from, to});
  func::CallOp::create(builder, loc, called.getSymName(), TypeRange(),
                       arguments);
}

Extent GroupEmitter::run(ArrayRef<GroupPart> parts, ArrayRef<Extent> extents) {
  createFunction();
  ScalarEmitter e = scalars();
  auto clamp = [&](Value value, int64_t most) -> Value {
    value = arith::MaxSIOp::create(builder, loc, value, e.index(0));
    return arith::MinSIOp::create(builder, loc, value, e.index(most));
  };
  int64_t first = 0;
  for (auto [part, extent] : llvm::zip_equal(parts, extents)) {
    int64_t unit = std::max<int64_t>(1, extent.grain / kUnitsPerThread);
    int64_t units = llvm::divideCeil(extent.iterations, unit);
    auto iteration = [&](Value at) {
      Value inPart = e.sub(at, e.index(first));
      return clamp(e.mul(clamp(inPart, units), unit), extent.iterations);
    };
    call(part, iteration(begin), iteration(end));
    first += units;
  }
  finishFunction();
  return {first, kUnitsPerThread};
}

} // namespace

Extent codegen::emitGroup(exec::KernelOp kernel, ArrayRef<GroupPart> parts,
                          ArrayRef<Extent> extents) {
  return GroupEmitter(kernel).run(parts, extents);
}
