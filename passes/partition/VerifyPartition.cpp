// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// VerifyPartition: checks that the function of a rank is that of all ranks
// together.
//
// Assumes the module that ApplyPartitions leaves with `keep-global`.
//
//===----------------------------------------------------------------------===//

#include "dialects/ingot/exchange/Mesh.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/partition/Passes.h"
#include "passes/partition/Validator.h"

namespace ingot {
#define GEN_PASS_DEF_VERIFYPARTITION
#include "passes/partition/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;

namespace {

struct VerifyPartition : ingot::impl::VerifyPartitionBase<VerifyPartition> {
  using VerifyPartitionBase::VerifyPartitionBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    std::optional<Axis> found = symbolizeAxis(axis);
    int64_t parts = found ? Mesh::of(module).getSize(*found) : Mesh::kAny;
    if (parts == Mesh::kAny) {
      module.emitError("'") << axis << "' is not an axis of the mesh";
      return signalPassFailure();
    }
    for (auto global :
         llvm::make_early_inc_range(module.getOps<func::FuncOp>())) {
      StringRef name = global.getName();
      if (!name.consume_back(kGlobalSuffix))
        continue;
      auto local = module.lookupSymbol<func::FuncOp>(name);
      if (!local) {
        global.emitError("no rank has a function @") << name;
        return signalPassFailure();
      }
      Validator validator(global, local, static_cast<int64_t>(*found), parts);
      if (failed(validator.run()))
        return signalPassFailure();
      numValues += validator.getFound();
      global.erase();
    }
  }
};

} // namespace
