// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// ShardUpdates: each rank updates its shard of the parameters.
//
// Assumes gradients that were reduce-scattered, and an optimizer whose updates
// are elementwise: Rajbhandari et al., "ZeRO: Memory Optimizations Toward
// Training Trillion Parameter Models", 2020. Parameters that ranks have shards
// of are gathered before they are read, as in Zhao et al., "PyTorch FSDP:
// Experiences on Scaling Fully Sharded Data Parallel", 2023.
//
//===----------------------------------------------------------------------===//

#include "dialects/ingot/analysis/Shards.h"
#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/collective/BucketLayout.h"
#include "dialects/ingot/ir/Signature.h"
#include "dialects/ingot/ir/States.h"
#include "dialects/ingot/support/Remarks.h"
#include "passes/parallel/ParameterReads.h"
#include "passes/parallel/Passes.h"

namespace ingot {
#define GEN_PASS_DEF_SHARDUPDATES
#include "passes/parallel/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;

using Entry = ResultList::Entry;

namespace {

struct ShardUpdates : ingot::impl::ShardUpdatesBase<ShardUpdates> {
  using ShardUpdatesBase::ShardUpdatesBase;

  void runOnOperation() override {
    func::FuncOp func = findFunction(getOperation(), kTrainStepName);
    if (!func)
      return;
    FailureOr<Shards> shards = Shards::of(func);
    if (failed(shards))
      return signalPassFailure();
    if (shards->empty())
      return;
    Signature step(func);
    ResultList results = ResultList::of(step);
    // The parameters by their positions in the buckets of gradients.
    llvm::MapVector<Operation *, std::map<int64_t, Entry *>> buckets;
    // What functions may have to gather.
    Gathers gathers;
    for (Entry &entry : results.entries) {
      ShardAttr shard = shards->lookup(entry.value);
      if (!shard || !entry.state())
        continue;
      StateOp state = findState(getOperation(), entry.state());
      if (state.getRole() == Role::Parameter) {
        Operation *bucket = findBucket(entry.value, shard, *shards);
        if (!buckets[bucket].try_emplace(shard.getFirst(), &entry).second) {
          bucket->emitOpError(
              "two parameters have the same offset in a bucket");
          return signalPassFailure();
        }
      } else {
        state.setShardAttr(shard);
        ++numStates;
      }
      bool isRead = state.getRole() == Role::Parameter ||
                    state.getRole() == Role::LowCopy;
      if (parameters && isRead) {
        state.setShardAttr(shard);
        gathers[{findBucket(entry.value, shard, *shards),
                 state.getTensorType().getElementType()}]
            .emplace(shard.getFirst(), state);
      }
    }
    size_t number = 0;
    for (auto &[bucket, entries] : buckets) {
      if (parameters)
        numParameters += entries.size();
      else if (failed(gather(step, cast<ReduceScatterWaitOp>(bucket), entries,
                             number++)))
        return signalPassFailure();
    }
    // Entries are referred to after all are known.
    ResultList kept;
    if (gradients)
      for (auto &[bucket, entries] : buckets)
        keepGradients(cast<ReduceScatterWaitOp>(bucket), entries, kept);
    results.entries.append(kept.entries);
    results.apply(step);
    for (auto other : getOperation().getOps<func::FuncOp>())
      if (!other.isDeclaration() &&
          failed(gatherReads(other, gathers, [&](Value value) {
            return shards->lookup(value) != ShardAttr();
          })))
        return signalPassFailure();
  }

private:
  /// States by their positions in a bucket, by the bucket of their gradients
  /// and by element type.
  using Gathers =
      llvm::MapVector<std::pair<Operation *, Type>, std::map<int64_t, StateOp>>;

  /// All-gathers each bucket of states of which the function needs more than
  /// the rank's shard, where it needs it first.
  LogicalResult gatherReads(func::FuncOp function, const Gathers &gathers,
                            llvm::function_ref<bool(Value)> isSharded) {
    Signature signature(function);
    Block &block = function.getBody().front();
    DenseMap<Attribute, BlockArgument> arguments = signature.mapStates();
    auto find = [&](StateOp state) {
      return arguments.lookup(FlatSymbolRefAttr::get(state.getSymNameAttr()));
    };
    ParameterReads reads(block, isSharded);
    SmallVector<Value> sharded;
    for (const auto &[key, states] : gathers)
      for (auto [first, state] : states)
        if (BlockArgument argument = find(state))
          sharded.push_back(argument);
    reads.separate(sharded);
    for (auto [number, group] : llvm::enumerate(gathers)) {
      SmallVector<OpOperand *> uses;
      Operation *wanted = nullptr;
      for (auto [first, state] : group.second)
        if (BlockArgument argument = find(state))
          for (OpOperand &use : argument.getUses())
            if (reads.isReadWhole(use)) {
              uses.push_back(&use);
              if (!wanted || use.getOwner()->isBeforeInBlock(wanted))
                wanted = use.getOwner();
            }
      if (uses.empty())
        continue;
      SmallVector<Value> parts;
      DenseMap<Value, unsigned> partOf;
      for (auto [first, state] : group.second) {
        BlockArgument argument = find(state);
        if (!argument)
          argument =
              signature.addState(FlatSymbolRefAttr::get(state.getSymNameAttr()),
                                 state.getTensorType());
        partOf[argument] = parts.size();
        parts.push_back(argument);
      }
      OpBuilder builder(wanted);
      Location loc =
          NameLoc::get(builder.getStringAttr("parameters " + Twine(number)));
      TypeRange types = ValueRange(parts).getTypes();
      BucketLayout layout = BucketLayout::of(types, /*sharded=*/true);
      for (auto [offset, place] :
           llvm::zip_equal(layout.offsets, group.second)) {
        StateOp state = place.second;
        if (state.getShardAttr() !=
            ShardAttr::get(&getContext(), offset, layout.elements))
          return function.emitOpError("a bucket of gradients has parameters "
                                      "that are not gathered in one type: ")
                 << state.getSymName();
      }
      auto start = AllGatherStartOp::create(builder, loc, parts);
      auto wait =
          AllGatherWaitOp::create(builder, loc, types, start.getBucket());
      for (OpOperand *use : uses)
        use->set(wait.getParts()[partOf.lookup(use->get())]);
      remark::passed(loc, remarkOptions(getArgument(), "GatheredParameters"))
          << remark::metric("function", function.getName())
          << remark::metric("tensors", parts.size())
          << remark::metric("elements", layout.elements);
    }
    return success();
  }

  /// Returns the reduce-scatter that a value is computed from.
  static Operation *findBucket(Value value, ShardAttr shard,
                               const Shards &shards) {
    SmallVector<Value> work = {value};
    llvm::SmallPtrSet<Operation *, 16> seen;
    while (!work.empty()) {
      Operation *def = work.pop_back_val().getDefiningOp();
      if (!def || !seen.insert(def).second)
        continue;
      if (isa<ReduceScatterWaitOp>(def))
        return def;
      for (Value operand : def->getOperands())
        if (shards.lookup(operand) == shard)
          work.push_back(operand);
    }
    llvm_unreachable("a shard comes from a reduce-scatter");
  }

  /// All-gathers the new values of a bucket's parameters.
  LogicalResult gather(Signature step, ReduceScatterWaitOp sums,
                       const std::map<int64_t, Entry *> &entries,
                       size_t number) {
    SmallVector<Value> parts;
    for (auto [first, entry] : entries)
      parts.push_back(entry->value);
    OpBuilder builder(step.getReturn());
    Location loc =
        NameLoc::get(builder.getStringAttr("parameters " + Twine(number)));
    TypeRange types = ValueRange(parts).getTypes();
    BucketLayout layout = BucketLayout::of(types, /*sharded=*/true);
    if (parts.size() != sums.getParts().size() ||
        layout.elements != tensorType(sums.getBucket()).getNumElements())
      return sums.emitOpError(
          "a part of the bucket is not a parameter's gradient");
    auto start = AllGatherStartOp::create(builder, loc, parts);
    auto wait = AllGatherWaitOp::create(builder, loc, types, start.getBucket());
    for (auto [entry, part] : llvm::zip_equal(entries, wait.getParts()))
      entry.second->value = part;
    numParameters += parts.size();
    remark::passed(loc, remarkOptions(getArgument(), "ShardedUpdates"))
        << remark::metric("tensors", parts.size())
        << remark::metric("elements", layout.elements);
    return success();
  }

  /// Turns the rank's shard of the sums into states.
  void keepGradients(ReduceScatterWaitOp sums,
                     const std::map<int64_t, Entry *> &entries,
                     ResultList &results) {
    StateAdder states(getOperation());
    int64_t elements = tensorType(sums.getBucket()).getNumElements();
    for (auto [entry, part] : llvm::zip_equal(entries, sums.getParts())) {
      FlatSymbolRefAttr symbol =
          states.add((entry.second->state().getValue() + "/gradient").str(),
                     Role::Accumulator, tensorType(part));
      findState(getOperation(), symbol)
          .setShardAttr(ShardAttr::get(&getContext(), entry.first, elements));
      results.addState(symbol, part);
      ++numStates;
    }
  }
};

} // namespace
