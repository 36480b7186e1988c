// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// What is evicted is chosen as in Belady, "A study of replacement algorithms
// for a virtual-storage computer", 1966.
//===----------------------------------------------------------------------===//

#include "passes/schedule/GatherPlacement.h"

#include "dialects/ingot/analysis/StateOnly.h"
#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/support/Views.h"
#include "llvm/ADT/MapVector.h"

#include <algorithm>
#include <limits>

using namespace mlir;
using namespace ingot;

namespace {

/// Chooses when buckets are in memory.
class Residence {
public:
  Residence(ArrayRef<GatheredBucket> buckets, int64_t room)
      : buckets(buckets), room(room), current(buckets.size()) {}

  /// Returns the stays in the order of their first readers.
  std::vector<GatherStay> choose();

private:
  static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

  int64_t findNext(size_t bucket, int64_t after) const {
    const std::vector<int64_t> &readers = buckets[bucket].readers;
    auto next = std::upper_bound(readers.begin(), readers.end(), after);
    return next == readers.end() ? kNever : *next;
  }
  void makeRoom(int64_t bytes, int64_t position);

  ArrayRef<GatheredBucket> buckets;
  int64_t room;
  std::vector<GatherStay> stays;
  /// The number of the stay of each bucket that is in memory.
  std::vector<std::optional<size_t>> current;
  int64_t used = 0;
  /// The position from which on what has been evicted is not read any more.
  int64_t freeFrom = 0;
};

} // namespace

/// Evicts the buckets that are needed last, of those that are not needed any
/// more the one that was read first.
void Residence::makeRoom(int64_t bytes, int64_t position) {
  while (used + bytes > room) {
    std::optional<size_t> victim;
    auto rank = [&](size_t bucket) {
      return std::pair(findNext(bucket, position),
                       -stays[*current[bucket]].last);
    };
    for (size_t i = 0; i < buckets.size(); ++i)
      if (current[i] && !buckets[i].isSmall &&
          stays[*current[i]].last < position &&
          (!victim || rank(i) > rank(*victim)))
        victim = i;
    // Readers of several buckets need all of them.
    if (!victim)
      return;
    freeFrom = std::max(freeFrom, stays[*current[*victim]].last + 1);
    used -= buckets[*victim].bytes;
    current[*victim].reset();
  }
}

std::vector<GatherStay> Residence::choose() {
  std::vector<std::pair<int64_t, size_t>> reads;
  for (auto [number, bucket] : llvm::enumerate(buckets))
    for (int64_t position : bucket.readers)
      reads.push_back({position, number});
  llvm::sort(reads);
  for (size_t i = 0; i < reads.size();) {
    int64_t position = reads[i].first;
    size_t end = i;
    while (end < reads.size() && reads[end].first == position)
      ++end;
    // What is there already is not evicted for the others.
    for (size_t k = i; k < end; ++k)
      if (std::optional<size_t> stay = current[reads[k].second])
        stays[*stay].last = position;
    for (; i < end; ++i) {
      size_t bucket = reads[i].second;
      if (current[bucket])
        continue;
      if (!buckets[bucket].isSmall) {
        makeRoom(buckets[bucket].bytes, position);
        used += buckets[bucket].bytes;
      }
      current[bucket] = stays.size();
      // In the order of readers, which is that of the link.
      int64_t before = stays.empty() ? 0 : stays.back().start;
      stays.push_back({bucket, std::min(std::max(before, freeFrom), position),
                       position, position});
    }
  }
  return stays;
}

static bool isGather(Operation &op) {
  auto end = dyn_cast<BucketEnd>(op);
  return end && gathersStates(end);
}

/// Returns the buckets, each of which is gathered once.
static std::vector<GatheredBucket> findBuckets(func::FuncOp func) {
  llvm::MapVector<Attribute, GatheredBucket> found;
  for (auto start :
       llvm::make_early_inc_range(func.getOps<AllGatherStartOp>())) {
    if (!gathersStates(cast<BucketEnd>(*start)))
      continue;
    auto wait = cast<AllGatherWaitOp>(*start.getBucket().user_begin());
    SmallVector<int64_t> parts;
    for (Value part : start.getParts())
      parts.push_back(cast<BlockArgument>(resolveViews(part)).getArgNumber());
    auto [known, isNew] =
        found.insert({DenseI64ArrayAttr::get(func.getContext(), parts),
                      {start,
                       wait,
                       start.getLoc(),
                       byteSize(tensorType(start.getBucket())),
                       false,
                       {}}});
    if (isNew)
      continue;
    wait.replaceAllUsesWith(known->second.wait.getParts());
    wait.erase();
    start.erase();
  }
  std::vector<GatheredBucket> buckets;
  for (auto &[key, bucket] : found)
    buckets.push_back(bucket);
  return buckets;
}

/// Has the smallest buckets stay, as long as all of them together are small
/// beside the largest.
static void markSmall(MutableArrayRef<GatheredBucket> buckets,
                      int64_t largest) {
  constexpr int64_t smallShare = 16, allShare = 4;
  SmallVector<GatheredBucket *> bySize;
  for (GatheredBucket &bucket : buckets)
    bySize.push_back(&bucket);
  llvm::stable_sort(bySize, [](GatheredBucket *a, GatheredBucket *b) {
    return a->bytes < b->bytes;
  });
  int64_t all = 0;
  for (GatheredBucket *bucket : bySize) {
    all += bucket->bytes;
    bucket->isSmall =
        bucket->bytes * smallShare < largest && all * allShare < largest;
  }
}

/// Returns the value, with views of the results of `old` being views of those
/// of `now`.
static Value view(Value value, AllGatherWaitOp old, AllGatherWaitOp now,
                  Operation *reader) {
  Operation *def = value.getDefiningOp();
  if (def == old)
    return now->getResult(cast<OpResult>(value).getResultNumber());
  if (!def || !def->hasTrait<SameBytes>())
    return value;
  SmallVector<Value> operands =
      llvm::map_to_vector(def->getOperands(), [&](Value operand) {
        return view(operand, old, now, reader);
      });
  if (llvm::equal(operands, def->getOperands()))
    return value;
  OpBuilder builder(reader);
  Operation *copy = builder.clone(*def);
  copy->setOperands(operands);
  return copy->getResult(cast<OpResult>(value).getResultNumber());
}

/// Erases the views of an op's results, which nothing reads any more.
static void eraseViews(Operation *op) {
  for (Operation *user : llvm::make_early_inc_range(op->getUsers())) {
    eraseViews(user);
    user->erase();
  }
}

size_t GatherPlacement::countBuckets(func::FuncOp function) {
  return findBuckets(function).size();
}

void GatherPlacement::place(func::FuncOp func, size_t count) {
  found = findBuckets(func);
  SmallVector<Operation *> ops;
  DenseMap<Operation *, int64_t> position;
  for (Operation &op : func.getBody().front()) {
    if (op.hasTrait<SameBytes>() || isGather(op))
      continue;
    position[&op] = static_cast<int64_t>(ops.size());
    ops.push_back(&op);
  }
  int64_t largest = 0;
  for (GatheredBucket &bucket : found) {
    for (Value part : bucket.wait.getParts())
      forEachUseThroughViews(part, [&](OpOperand &use) {
        bucket.readers.push_back(position.lookup(use.getOwner()));
      });
    llvm::sort(bucket.readers);
    bucket.readers.erase(llvm::unique(bucket.readers), bucket.readers.end());
    largest = std::max(largest, bucket.bytes);
  }
  markSmall(found, largest);
  room = count;
  stays = Residence(found, static_cast<int64_t>(count) * largest).choose();
  write(ops);
}

/// Gathers each bucket for its stays, of which `ops` are the positions.
void GatherPlacement::write(ArrayRef<Operation *> ops) {
  SmallVector<Value> inFlight;
  for (const GatherStay &stay : stays) {
    AllGatherStartOp start = found[stay.bucket].start;
    OpBuilder builder(ops[stay.start]);
    inFlight.push_back(
        AllGatherStartOp::create(builder, start.getLoc(), start.getParts())
            .getBucket());
  }
  for (auto [stay, bucket] : llvm::zip_equal(stays, inFlight)) {
    AllGatherWaitOp old = found[stay.bucket].wait;
    OpBuilder builder(ops[stay.first]);
    auto wait = AllGatherWaitOp::create(builder, old.getLoc(),
                                        old.getResultTypes(), bucket);
    for (int64_t reader : found[stay.bucket].readers)
      if (stay.first <= reader && reader <= stay.last)
        for (OpOperand &operand : ops[reader]->getOpOperands())
          operand.set(view(operand.get(), old, wait, ops[reader]));
  }
  for (const GatheredBucket &bucket : found) {
    AllGatherWaitOp wait = bucket.wait;
    eraseViews(wait);
    wait.erase();
    AllGatherStartOp start = bucket.start;
    start.erase();
  }
}
