// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// ApplyPartitions: each rank computes its parts of tensors.
//
// Assumes a step with its optimizer, and no fusions.
//
//===----------------------------------------------------------------------===//

#include "dialects/ingot/exchange/ExchangeOps.h"
#include "dialects/ingot/ir/Signature.h"
#include "dialects/ingot/partition/Partition.h"
#include "dialects/ingot/support/Remarks.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/partition/Partitioner.h"
#include "passes/partition/Passes.h"
#include "passes/partition/Validator.h"

namespace ingot {
#define GEN_PASS_DEF_APPLYPARTITIONS
#include "passes/partition/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;

namespace {

struct ApplyPartitions : ingot::impl::ApplyPartitionsBase<ApplyPartitions> {
  using ApplyPartitionsBase::ApplyPartitionsBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    std::optional<Axis> found = symbolizeAxis(axis);
    if (!found) {
      module.emitError("'") << axis << "' is not an axis of ranks";
      return signalPassFailure();
    }
    int64_t parts = Mesh::of(module).getSize(*found);
    if (parts == Mesh::kAny) {
      module.emitError("partitions need the number of ranks along ") << axis;
      return signalPassFailure();
    }
    if (parts == 1)
      return;
    Partitioner partitioner(
        *found, parts,
        [&](Operation *exchange, Operation *reader, double bytes) {
          report(exchange, reader, bytes);
        });
    if (failed(adoptPartitions(module, *found, parts)))
      return signalPassFailure();
    for (auto state : module.getOps<StateOp>())
      numStates += state->hasAttr(kPartitionAttr);
    for (auto function :
         llvm::make_early_inc_range(module.getOps<func::FuncOp>())) {
      if (function.isExternal() || !isSplit(function))
        continue;
      if (keepGlobal)
        keep(function);
      int64_t flops = getContractionFlops(function);
      if (failed(partitioner.apply(function)))
        return signalPassFailure();
      if (function.getName() == kTrainStepName)
        reportContractions(function, flops, partitioner);
      // What is in parts has the types of parts.
      for (unsigned i = 0, e = function.getNumArguments(); i < e; ++i)
        function.removeArgAttr(i, kPartitionAttr);
      for (unsigned i = 0, e = function.getNumResults(); i < e; ++i)
        function.removeResultAttr(
            i, StringAttr::get(&getContext(), kPartitionAttr));
    }
  }

private:
  /// Leaves a copy for --ingot-verify-partition.
  static void keep(func::FuncOp function) {
    OpBuilder builder(function);
    auto copy = cast<func::FuncOp>(builder.clone(*function));
    copy.setName((function.getName() + kGlobalSuffix).str());
    copy.setPrivate();
  }

  /// Gives states without a partition that which their new values are computed
  /// in, in the order in which they follow from each other: moments that of
  /// their parameter's gradient, running statistics that of their channels.
  static LogicalResult adoptPartitions(ModuleOp module, Axis axis,
                                       int64_t parts) {
    func::FuncOp step = findFunction(module, kTrainStepName);
    if (!step || !isSplit(step))
      return success();
    SymbolTable symbols(module);
    for (bool hasChanged = true; hasChanged;) {
      hasChanged = false;
      Partitioner partitioner(axis, parts,
                              [](Operation *, Operation *, double) {});
      auto trial = cast<func::FuncOp>(step->clone());
      symbols.insert(trial);
      LogicalResult result = partitioner.apply(trial);
      symbols.erase(trial);
      if (failed(result))
        return failure();
      for (auto [i, placement] : llvm::enumerate(partitioner.getComputed())) {
        FlatSymbolRefAttr symbol =
            Signature(step).resultState(static_cast<unsigned>(i));
        auto state =
            symbol ? symbols.lookup<StateOp>(symbol.getAttr()) : StateOp();
        if (!state || placement.kind != Placement::Split ||
            state->hasAttr(kPartitionAttr))
          continue;
        state->setAttr(
            kPartitionAttr,
            describePartition(placement, axis, state.getTensorType()));
        hasChanged = true;
      }
    }
    return success();
  }

  /// Returns whether a function takes or returns parts, and does not yet.
  static bool isSplit(func::FuncOp function) {
    if (function.getName().ends_with(kGlobalSuffix))
      return false;
    for (unsigned i = 0, e = function.getNumArguments(); i < e; ++i)
      if (getArgumentPartition(function, i))
        return !isApplied(function, i);
    for (unsigned i = 0, e = function.getNumResults(); i < e; ++i)
      if (getResultPartition(function, i))
        return true;
    return false;
  }

  static bool isApplied(func::FuncOp function, unsigned argument) {
    FlatSymbolRefAttr symbol = Signature(function).argumentState(argument);
    auto state =
        symbol ? SymbolTable::lookupNearestSymbolFrom<StateOp>(function, symbol)
               : StateOp();
    return state && state.getType() != function.getArgumentTypes()[argument];
  }

  static int64_t getContractionFlops(func::FuncOp function) {
    int64_t flops = 0;
    for (auto op : function.getBody().front().getOps<CostModel>())
      if (isContraction(op))
        flops += op.getFlops();
    return flops;
  }

  /// Says what of the contractions of all ranks together, of `whole` flops, a
  /// rank computes.
  void reportContractions(func::FuncOp step, int64_t whole,
                          const Partitioner &partitioner) {
    auto options = remarkOptions(getArgument(), "Contractions");
    remark::analysis(step.getLoc(), options)
        << remark::metric("flops", whole)
        << remark::metric("rank_flops", getContractionFlops(step));
    for (auto [op, reason] : partitioner.getWholeContractions())
      remark::missed(op->getLoc(), options)
          << remark::metric("flops", cast<CostModel>(op).getFlops())
          << remark::reason("{0}", reason);
  }

  void report(Operation *exchange, Operation *reader, double bytes) {
    if (isa<PartOp>(exchange))
      return;
    ++numExchanges;
    remark::analysis(exchange->getLoc(),
                     remarkOptions(getArgument(), "Exchange"))
        << remark::metric("exchange", exchange->getName().stripDialect())
        << remark::metric("axis", StringRef(axis))
        << remark::metric("bytes", static_cast<int64_t>(bytes))
        << remark::metric("reader", reader->getName().stripDialect());
  }
};

} // namespace
