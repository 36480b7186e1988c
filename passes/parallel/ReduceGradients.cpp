// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// ReduceGradients: gradients become sums over ranks, in buckets.
//
// Assumes a differentiated @train_step without an optimizer. Buckets in the
// order of the backward pass, and of at most 25 MiB, are those of Li et al.,
// "PyTorch Distributed", 2020.
//
//===----------------------------------------------------------------------===//

#include "dialects/ingot/builders/Arithmetic.h"
#include "dialects/ingot/ir/Diagnostics.h"
#include "dialects/ingot/ir/Signature.h"
#include "dialects/ingot/ir/StepResults.h"
#include "dialects/ingot/support/Remarks.h"
#include "dialects/ingot/target/Machine.h"
#include "passes/parallel/GradComm.h"
#include "passes/parallel/Passes.h"

#include <cmath>

namespace ingot {
#define GEN_PASS_DEF_REDUCEGRADIENTS
#include "passes/parallel/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;

namespace {

using Entry = ResultList::Entry;

struct Bucket {
  SmallVector<Entry *> entries;
  int64_t bytes = 0;
};

struct ReduceGradients : ingot::impl::ReduceGradientsBase<ReduceGradients> {
  using ReduceGradientsBase::ReduceGradientsBase;

  void runOnOperation() override {
    func::FuncOp func = findFunction(getOperation(), kTrainStepName);
    if (!func)
      return;
    Signature step(func);
    ResultList results = ResultList::of(step);
    if (!results.hasGradients())
      return;
    llvm::Expected<GradComm> how = GradComm::parse(gradComm);
    if (!how) {
      (void)emitUserError(&getContext(), how.takeError());
      return signalPassFailure();
    }
    Value ranks = addWeight(step, results);
    if (Type sent = how->getSentType(&getContext()))
      for (Entry &entry : results.entries)
        if (entry.gradient() &&
            tensorType(entry.value).getElementType().isF32())
          entry.value = castGradient(step, entry.value, sent);
    // What the forward pass ends with has buckets of its own: they would keep
    // the memory for gradients through the whole backward pass.
    SmallVector<Entry *> statistics, gradients;
    for (Entry &entry : results.entries)
      if (isReduced(step, entry))
        (entry.gradient() ? gradients : statistics).push_back(&entry);
    Entry weight{ranks, {}};
    statistics.push_back(&weight);
    size_t number = 0;
    for (const Bucket &bucket : fill(step, statistics))
      reduce<AllReduceStartOp, AllReduceWaitOp>(step, bucket, number++);
    for (const Bucket &bucket : fill(step, gradients))
      if (zero > 0)
        reduce<ReduceScatterStartOp, ReduceScatterWaitOp>(step, bucket,
                                                          number++);
      else
        reduce<AllReduceStartOp, AllReduceWaitOp>(step, bucket, number++);
    numBuckets += number;

    OpBuilder builder(step.getReturn());
    for (Entry &entry : results.entries) {
      if (!isReduced(step, entry))
        continue;
      if (!entry.state()) {
        if (FlatSymbolRefAttr parameter = entry.gradient())
          entry.value =
              Arithmetic(builder, entry.value.getLoc())
                  .cast(entry.value, tensorType(step.findArgument(parameter))
                                         .getElementType());
        continue;
      }
      Arithmetic a(builder, entry.value.getLoc());
      RankedTensorType type = tensorType(entry.value);
      Value count = a.cast(weight.value, type.getElementType());
      entry.value = a.div(entry.value, a.fill(count, type.getShape()));
    }
    results.apply(step);
  }

private:
  /// Makes sure that the step returns the loss's weight. Returns what each rank
  /// counts as: 1.
  Value addWeight(Signature step, ResultList &results) {
    unsigned loss = *step.findResult("loss");
    OpBuilder builder =
        OpBuilder::atBlockBegin(&step.getFunction().getBody().front());
    Arithmetic a(builder, results.entries[loss].value.getLoc());
    Value one = a.constantLike(results.entries[loss].value, 1.0);
    if (!step.findResult("loss_weight")) {
      ResultList weight;
      weight.addNamed("loss_weight", one);
      results.entries.insert(results.entries.begin() + loss + 1,
                             weight.entries.front());
    }
    return one;
  }

  /// Right behind the gradient, so that it is written in that type alone.
  static Value castGradient(Signature step, Value gradient, Type element) {
    OpBuilder builder(step.getReturn());
    if (gradient.getDefiningOp())
      builder.setInsertionPointAfterValue(gradient);
    return Arithmetic(builder, gradient.getLoc()).cast(gradient, element);
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

  bool isReduced(Signature step, const Entry &entry) {
    if (FlatSymbolRefAttr symbol = entry.state())
      return findState(getOperation(), symbol).getRole() == Role::Running &&
             isa<FloatType>(tensorType(entry.value).getElementType());
    if (entry.gradient())
      return true;
    auto name = entry.attributes.getAs<StringAttr>(kNameAttr);
    return name &&
           (name == "loss" || name == "loss_weight" || isMetricSum(name));
  }

  /// Puts tensors into buckets in the order in which they are computed. A
  /// bucket is full when it has reached its size: small tensors are never
  /// sent on their own.
  SmallVector<Bucket> fill(Signature step, SmallVector<Entry *> entries) {
    DenseMap<Operation *, int64_t> position;
    for (Operation &op : step.getFunction().getBody().front())
      position[&op] = position.size();
    llvm::stable_sort(entries, [&](Entry *a, Entry *b) {
      auto at = [&](Entry *entry) {
        Operation *def = entry->value.getDefiningOp();
        return def ? position.lookup(def) : -1;
      };
      return at(a) < at(b);
    });

    int64_t total = 0;
    for (Entry *entry : entries)
      total += byteSize(tensorType(entry->value));
    const int64_t limit = chooseSize(total);
    SmallVector<Bucket> buckets;
    // The bucket of each element type that has room.
    DenseMap<Type, size_t> open;
    for (Entry *entry : entries) {
      RankedTensorType type = tensorType(entry->value);
      auto [it, isNew] =
          open.try_emplace(type.getElementType(), buckets.size());
      if (isNew || buckets[it->second].bytes >= limit) {
        it->second = buckets.size();
        buckets.emplace_back();
      }
      Bucket &bucket = buckets[it->second];
      bucket.entries.push_back(entry);
      bucket.bytes += byteSize(type);
    }
    return buckets;
  }

  /// Entries become what the bucket's ranks have in common. One tensor is sent
  /// once, but in shards each parameter has a part of its own.
  template <typename Start, typename Wait>
  void reduce(Signature step, const Bucket &bucket, size_t number) {
    constexpr bool sharded = std::is_same_v<Start, ReduceScatterStartOp>;
    SmallVector<Value> parts;
    DenseMap<Value, unsigned> known;
    SmallVector<unsigned> partOf;
    for (Entry *entry : bucket.entries) {
      auto [it, isNew] = known.try_emplace(entry->value, parts.size());
      partOf.push_back(sharded ? parts.size() : it->second);
      if (isNew || sharded)
        parts.push_back(entry->value);
    }
    Value last = parts.back();
    OpBuilder builder(step.getReturn());
    if (last.getDefiningOp())
      builder.setInsertionPointAfterValue(last);
    Location loc =
        NameLoc::get(builder.getStringAttr("bucket " + Twine(number)));
    TypeRange types = ValueRange(parts).getTypes();
    auto start = Start::create(builder, loc, parts);
    builder.setInsertionPoint(step.getReturn());
    auto wait = Wait::create(builder, loc, types, start.getBucket());
    for (auto [entry, part] : llvm::zip_equal(bucket.entries, partOf))
      entry->value = wait.getParts()[part];
    remark::passed(loc, remarkOptions(getArgument(), "Bucket"))
        << remark::metric("tensors", parts.size())
        << remark::metric("bytes", bucket.bytes);
  }
};

} // namespace
