// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// DeferGathers: what ranks collect at the end of a step, the next one waits
// for.
//
// Assumes whole steps, of kernels: what reads a state reads it as an argument.
// Gathers behind the forward pass, in the order in which it needs them, are
// those of Zhao et al., "PyTorch FSDP: Experiences on Scaling Fully Sharded
// Data Parallel", 2023, moved over the border between steps.
//
//===----------------------------------------------------------------------===//

#include "dialects/ingot/analysis/StateOnly.h"
#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/collective/BucketLayout.h"
#include "dialects/ingot/ir/Signature.h"
#include "dialects/ingot/support/Remarks.h"
#include "dialects/ingot/support/Views.h"
#include "passes/parallel/Passes.h"
#include "llvm/ADT/MapVector.h"

namespace ingot {
#define GEN_PASS_DEF_DEFERGATHERS
#include "passes/parallel/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;

namespace {

/// States that are all-gathered together, by all functions that write them.
struct Bucket {
  SmallVector<FlatSymbolRefAttr> states;
  SmallVector<AllGatherWaitOp> waits;
  /// The position where the first function that writes them needs one of them
  /// first.
  int64_t neededAt = 0;
  /// The reason why the all-gather has to complete in the same step; empty if
  /// there is none.
  std::string problem;
};

/// The position where each function needs its values first.
class FirstUses {
public:
  explicit FirstUses(func::FuncOp function)
      : stateOnly(findStateOnlyOps(function)) {
    for (Operation &op : function.getBody().front())
      position[&op] = static_cast<int64_t>(position.size());
  }

  /// Returns the position of the first op that reads the value, through views;
  /// for a value that is derived from states only, that of its first reader,
  /// since the schedule delays it.
  int64_t find(Value value) const {
    int64_t first = std::numeric_limits<int64_t>::max();
    forEachUseThroughViews(value, [&](OpOperand &use) {
      Operation *user = use.getOwner();
      if (!stateOnly.contains(user))
        first = std::min(first, position.lookup(user));
      else
        for (Value result : user->getResults())
          first = std::min(first, find(result));
    });
    return first;
  }

private:
  llvm::DenseSet<Operation *> stateOnly;
  DenseMap<Operation *, int64_t> position;
};

struct DeferGathers : ingot::impl::DeferGathersBase<DeferGathers> {
  using DeferGathersBase::DeferGathersBase;

  void runOnOperation() override {
    SmallVector<func::FuncOp> functions;
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (!func.isDeclaration())
        functions.push_back(func);
    SmallVector<Bucket> deferred;
    for (auto &[states, bucket] : findBuckets(functions)) {
      auto options = remarkOptions(getArgument(), "DeferredGather");
      Location loc = bucket.waits.front().getLoc();
      if (!bucket.problem.empty()) {
        remark::missed(loc, options) << remark::reason(
            "{0}: the step waits for the bucket", bucket.problem);
        continue;
      }
      remark::passed(loc, options)
          << remark::metric("tensors", bucket.states.size())
          << remark::metric("bytes", byteSize(tensorType(
                                         bucket.waits.front().getBucket())));
      deferred.push_back(bucket);
    }
    llvm::stable_sort(deferred, [](const Bucket &a, const Bucket &b) {
      return a.neededAt < b.neededAt;
    });
    for (auto [number, bucket] : llvm::enumerate(deferred))
      defer(bucket, static_cast<int64_t>(number), functions);
    numDeferred += deferred.size();
  }

private:
  using Buckets = llvm::MapVector<Attribute, Bucket>;

  Buckets findBuckets(ArrayRef<func::FuncOp> functions) {
    Buckets buckets;
    // The bucket of each state, by the list of the bucket's states.
    DenseMap<Attribute, Attribute> bucketOf;
    for (func::FuncOp func : functions) {
      FirstUses uses(func);
      for (auto wait : func.getOps<AllGatherWaitOp>()) {
        if (gathersStates(cast<BucketEnd>(*wait)))
          continue;
        Bucket found = inspect(Signature(func), uses, wait);
        SmallVector<Attribute> list(found.states.begin(), found.states.end());
        auto key = ArrayAttr::get(&getContext(), list);
        auto [it, isNew] = buckets.insert({key, found});
        if (!isNew)
          it->second.waits.push_back(wait);
        for (FlatSymbolRefAttr state : found.states)
          if (state)
            bucketOf[state] = key;
      }
    }
    // Readers would not wait for the writes of other functions.
    for (func::FuncOp func : functions) {
      Signature signature(func);
      for (OpOperand &result : signature.getReturn()->getOpOperands()) {
        FlatSymbolRefAttr state =
            signature.resultState(result.getOperandNumber());
        Attribute key = state ? bucketOf.lookup(state) : Attribute();
        if (!key)
          continue;
        Bucket &bucket = buckets.find(key)->second;
        auto wait = result.get().getDefiningOp<AllGatherWaitOp>();
        if (!llvm::is_contained(bucket.waits, wait) && bucket.problem.empty())
          bucket.problem = "functions write its states in different ways";
      }
    }
    return buckets;
  }

  /// Returns the states that the parts of a bucket become.
  Bucket inspect(Signature step, const FirstUses &uses, AllGatherWaitOp wait) {
    Bucket bucket;
    bucket.waits.push_back(wait);
    bucket.neededAt = std::numeric_limits<int64_t>::max();
    for (Value part : wait.getParts()) {
      FlatSymbolRefAttr symbol;
      for (OpOperand &use : part.getUses()) {
        if (use.getOwner() == step.getReturn())
          symbol = step.resultState(use.getOperandNumber());
        else
          bucket.problem = "the step itself reads the new values";
      }
      bucket.states.push_back(symbol);
      StateOp state = symbol ? findState(getOperation(), symbol) : StateOp();
      if (!state || state.getRole() != Role::Parameter || !part.hasOneUse()) {
        if (bucket.problem.empty())
          bucket.problem =
              "a part of the bucket is not the new value of a parameter";
      } else if (BlockArgument current = step.findArgument(symbol)) {
        bucket.neededAt = std::min(bucket.neededAt, uses.find(current));
      }
    }
    return bucket;
  }

  void defer(const Bucket &bucket, int64_t number,
             ArrayRef<func::FuncOp> functions) {
    BucketLayout layout =
        BucketLayout::of(cast<BucketEnd>(*bucket.waits.front()));
    DenseMap<Attribute, int64_t> firsts;
    for (auto [state, first] : llvm::zip_equal(bucket.states, layout.offsets)) {
      firsts[state] = first;
      findState(getOperation(), state)
          .setGatheredAttr(
              GatheredAttr::get(&getContext(), number, first, layout.elements));
    }
    for (AllGatherWaitOp wait : bucket.waits) {
      auto start = wait.getBucket().getDefiningOp<AllGatherStartOp>();
      Operation *end = wait->getBlock()->getTerminator();
      OpBuilder builder(end);
      auto later =
          StateGatherStartOp::create(builder, start.getLoc(), start.getParts(),
                                     number, layout.offsets, layout.elements);
      wait.replaceAllUsesWith(later.getResults());
      wait.erase();
      start.erase();
    }
    Location loc = NameLoc::get(
        StringAttr::get(&getContext(), "parameters " + Twine(number)));
    for (func::FuncOp func : functions) {
      SmallVector<Value> arguments;
      SmallVector<int64_t> places;
      for (FlatSymbolRefAttr state : bucket.states) {
        BlockArgument argument = Signature(func).findArgument(state);
        if (!argument || argument.use_empty())
          continue;
        arguments.push_back(argument);
        places.push_back(firsts.lookup(state));
      }
      if (arguments.empty())
        continue;
      OpBuilder builder = OpBuilder::atBlockBegin(&func.getBody().front());
      auto wait = StateGatherWaitOp::create(builder, loc, arguments, number,
                                            places, layout.elements);
      for (auto [argument, value] :
           llvm::zip_equal(arguments, wait.getResults()))
        argument.replaceAllUsesExcept(value, wait);
    }
  }
};

} // namespace
