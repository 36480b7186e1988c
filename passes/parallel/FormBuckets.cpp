// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// FormBuckets: sums over ranks become collectives in flight, in buckets.
//
// Assumes a step with its optimizer, whose sums over ranks are `all_reduce`.
// Buckets in the order of the backward pass, and of at most 25 MiB, are those
// of Li et al., "PyTorch Distributed", 2020.
//
//===----------------------------------------------------------------------===//

#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/collective/BucketLayout.h"
#include "dialects/ingot/exchange/Mesh.h"
#include "dialects/ingot/ir/Signature.h"
#include "dialects/ingot/support/Remarks.h"
#include "dialects/ingot/target/Machine.h"
#include "mlir/Analysis/TopologicalSortUtils.h"
#include "passes/parallel/FlatUpdates.h"
#include "passes/parallel/ParameterReads.h"
#include "passes/parallel/Passes.h"

#include <cmath>
#include <map>
#include <vector>

namespace ingot {
#define GEN_PASS_DEF_FORMBUCKETS
#include "passes/parallel/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;

namespace {

struct Bucket {
  SmallVector<AllReduceOp> sums;
  int64_t bytes = 0;
};

/// Sums that may share buckets.
struct Group {
  SmallVector<AllReduceOp> statistics, whole, scattered;
};

struct FormBuckets : ingot::impl::FormBucketsBase<FormBuckets> {
  using FormBucketsBase::FormBucketsBase;

  void runOnOperation() override {
    func::FuncOp func = findFunction(getOperation(), kTrainStepName);
    if (!func)
      return;
    block = &func.getBody().front();
    axes = Mesh::of(func).getSampleAxes();
    shards.clear();
    formats.clear();
    count = 0;
    SmallVector<AllReduceOp> sums;
    for (Operation &op : *block)
      if (auto exchange = dyn_cast<Exchange>(op)) {
        // The step waits for these where they are (--ingot-lower-exchanges).
        constexpr auto data = static_cast<int64_t>(Axis::Data);
        if (!llvm::is_contained(exchange.getExchangeAxes(), data))
          continue;
        auto sum = dyn_cast<AllReduceOp>(op);
        bool isKnown = sum && isa<FloatType>(sum.getType().getElementType()) &&
                       exchange.getExchangeAxes() == ArrayRef(axes);
        if (!isKnown) {
          op.emitOpError("has no transport between ranks, who combine "
                         "floating-point numbers over the axes of samples");
          return signalPassFailure();
        }
        sums.push_back(sum);
      }
    if (zero == 0) {
      form(sums, nullptr);
    } else {
      FlatUpdates updates(func, sums);
      explain(updates);
      if (zero > 2)
        findFormats(func, updates);
      form(sums, &updates);
      form(updates.sumShards(shards), nullptr);
    }
    sort();
    formScalars();
    sort();
  }

private:
  void explain(const FlatUpdates &updates) {
    for (auto [sum, reason] : updates.getRejected())
      remark::missed(
          NameLoc::get(
              cast<AllReduceOp>(sum).getGradientOfAttr().getRootReference()),
          remarkOptions(getArgument(), "ShardedGradient"))
          << remark::reason("{0}", reason);
  }

  /// Finds the types in which ranks will gather each parameter: a bucket is
  /// gathered as a whole, in one type.
  void findFormats(func::FuncOp func, const FlatUpdates &updates) {
    ParameterReads reads(*block,
                         [&](Value value) { return updates.isShard(value); });
    Signature step(func);
    for (auto state : getOperation().getOps<StateOp>()) {
      auto symbol = FlatSymbolRefAttr::get(state.getSymNameAttr());
      Attribute parameter = state.getRole() == Role::LowCopy
                                ? Attribute(state.getOfAttr())
                                : symbol;
      BlockArgument argument = step.findArgument(symbol);
      if (argument && reads.isReadWhole(argument))
        formats[parameter].push_back(state.getTensorType().getElementType());
    }
  }

  /// Has every value computed before it is used.
  void sort() {
    bool isSorted = llvm::all_of(*block, [](Operation &op) {
      return llvm::all_of(op.getOperands(), [&](Value operand) {
        Operation *def = operand.getDefiningOp();
        return !def || def->isBeforeInBlock(&op);
      });
    });
    if (!isSorted)
      sortTopologically(block);
  }

  /// Puts sums that do not depend on each other into buckets.
  void form(ArrayRef<AllReduceOp> sums, const FlatUpdates *updates) {
    position.clear();
    for (Operation &op : *block)
      position[&op] = static_cast<int64_t>(position.size());
    llvm::SmallPtrSet<Operation *, 16> formed(llvm::from_range, sums);
    // The number of sums, one after another, that a value depends on.
    DenseMap<Value, unsigned> depth;
    std::map<unsigned, Group> groups;
    for (Operation &op : *block) {
      unsigned own = 0;
      for (Value operand : op.getOperands())
        own = std::max(own, depth.lookup(operand));
      if (formed.contains(&op)) {
        auto sum = cast<AllReduceOp>(op);
        // What the forward pass ends with has buckets of its own: they would
        // keep the memory for gradients through the whole backward pass.
        Group &group = groups[own];
        (!sum.getGradientOf()              ? group.statistics
         : updates && updates->isFlat(sum) ? group.scattered
                                           : group.whole)
            .push_back(sum);
        ++own;
      }
      if (own != 0)
        for (Value result : op.getResults())
          depth[result] = own;
    }
    for (auto &[number, group] : groups) {
      Operation *first = nullptr;
      for (const auto *list :
           {&group.statistics, &group.whole, &group.scattered})
        for (AllReduceOp sum : *list)
          if (!first || position.lookup(sum) < position.lookup(first))
            first = sum;
      for (const Bucket &bucket : fill(group.statistics))
        reduce<AllReduceStartOp, AllReduceWaitOp>(bucket, first);
      for (const Bucket &bucket : fill(group.whole))
        reduce<AllReduceStartOp, AllReduceWaitOp>(bucket, first);
      for (const Bucket &bucket : fill(group.scattered))
        reduce<ReduceScatterStartOp, ReduceScatterWaitOp>(bucket, first);
      for (const auto *list :
           {&group.statistics, &group.whole, &group.scattered})
        for (AllReduceOp sum : *list)
          sum.erase();
    }
  }

  /// Puts scalars that ranks along other axes add up, such as the squares of
  /// gradients in parts, into buckets: one latency instead of one for each.
  void formScalars() {
    llvm::MapVector<ArrayRef<int64_t>, SmallVector<AllReduceOp>> byAxes;
    for (auto sum : block->getOps<AllReduceOp>())
      if (sum.getType().getRank() == 0 &&
          isa<FloatType>(sum.getType().getElementType()))
        byAxes[sum.getAxes()].push_back(sum);
    for (auto &[over, sums] : byAxes)
      if (sums.size() > 1)
        form(sums, nullptr);
  }

  /// Bytes that a bucket should have, of `bytes` in all.
  int64_t chooseSize(int64_t bytes) {
    constexpr double mebi = 1 << 20, most = 25;
    if (bucketMb > 0)
      return static_cast<int64_t>(bucketMb * mebi);
    // A communication thread asleep notices the end of an operation this late.
    constexpr double pollSeconds = 200e-6;
    Machine machine = Machine::of(getOperation());
    double size = std::sqrt(static_cast<double>(bytes) * machine.linkBandwidth *
                            (machine.linkSeconds + pollSeconds));
    return static_cast<int64_t>(std::min(size, most * mebi));
  }

  /// Puts tensors into buckets in the order in which they are computed. A
  /// bucket is full when it has reached its size: small tensors are never
  /// sent on their own.
  SmallVector<Bucket> fill(SmallVector<AllReduceOp> sums) {
    llvm::stable_sort(sums, [&](AllReduceOp a, AllReduceOp b) {
      auto at = [&](AllReduceOp sum) {
        Operation *def = sum.getOperand().getDefiningOp();
        return def ? position.lookup(def) : -1;
      };
      return at(a) < at(b);
    });

    int64_t total = 0;
    for (AllReduceOp sum : sums)
      total += byteSize(sum.getType());
    const int64_t limit = chooseSize(total);
    SmallVector<Bucket> buckets;
    // The bucket with room for an element type, a way in which ranks combine
    // it, and one in which parameters are gathered.
    using Key = std::pair<unsigned, std::vector<const void *>>;
    std::map<Key, size_t> open;
    for (AllReduceOp sum : sums) {
      RankedTensorType type = sum.getType();
      Key key = {static_cast<unsigned>(sum.getKind()),
                 {type.getElementType().getAsOpaquePointer()}};
      if (Attribute parameter = sum.getGradientOfAttr())
        for (Type format : formats.lookup(parameter))
          key.second.push_back(format.getAsOpaquePointer());
      auto [it, isNew] = open.try_emplace(key, buckets.size());
      if (isNew || buckets[it->second].bytes >= limit) {
        it->second = buckets.size();
        buckets.emplace_back();
      }
      Bucket &bucket = buckets[it->second];
      bucket.sums.push_back(sum);
      bucket.bytes += byteSize(type);
    }
    return buckets;
  }

  /// Starts a bucket behind its last part, and waits for it at `wanted`, the
  /// first of the sums. One tensor is sent once, but in shards each parameter
  /// has a part of its own.
  template <typename Start, typename Wait>
  void reduce(const Bucket &bucket, Operation *wanted) {
    constexpr bool sharded = std::is_same_v<Start, ReduceScatterStartOp>;
    SmallVector<Value> parts;
    DenseMap<Value, unsigned> known;
    SmallVector<unsigned> partOf;
    for (AllReduceOp sum : bucket.sums) {
      auto [it, isNew] = known.try_emplace(sum.getOperand(), parts.size());
      partOf.push_back(sharded ? parts.size() : it->second);
      if (isNew || sharded)
        parts.push_back(sum.getOperand());
    }
    OpBuilder builder(wanted);
    if (parts.back().getDefiningOp())
      builder.setInsertionPointAfterValue(parts.back());
    Location loc =
        NameLoc::get(builder.getStringAttr("bucket " + Twine(count++)));
    TypeRange types = ValueRange(parts).getTypes();
    auto start = Start::create(builder, loc, parts);
    if constexpr (!sharded) {
      AllReduceOp sum = bucket.sums.front();
      start.setKind(sum.getKind());
      if (sum.getAxes() != ArrayRef(axes))
        start.setAxes(sum.getAxes());
    }
    if (start->isBeforeInBlock(wanted))
      builder.setInsertionPoint(wanted);
    auto wait = Wait::create(builder, loc, types, start.getBucket());
    BucketLayout layout = BucketLayout::of(types, sharded);
    for (auto [taken, part] : llvm::zip_equal(bucket.sums, partOf)) {
      AllReduceOp sum = taken;
      shards[sum] =
          ShardAttr::get(&getContext(), layout.offsets[part], layout.elements);
      sum.replaceAllUsesWith(wait.getParts()[part]);
    }
    ++numBuckets;
    remark::passed(loc, remarkOptions(getArgument(), "Bucket"))
        << remark::metric("tensors", parts.size())
        << remark::metric("bytes", bucket.bytes);
  }

  Block *block = nullptr;
  /// The axes along which ranks train on different samples.
  SmallVector<int64_t, 2> axes;
  size_t count = 0;
  DenseMap<Operation *, int64_t> position;
  /// The types in which each parameter is gathered.
  DenseMap<Attribute, SmallVector<Type, 2>> formats;
  /// Where ranks have shards of a sum, by the op that it was.
  DenseMap<Operation *, ShardAttr> shards;
};

} // namespace
