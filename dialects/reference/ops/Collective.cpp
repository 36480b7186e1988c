// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// Collectives: docs/spec/collective.md.
//===----------------------------------------------------------------------===//

#include "dialects/ingot/collective/BucketLayout.h"
#include "dialects/reference/RankExchange.h"
#include "llvm/ADT/STLExtras.h"

#include <array>
#include <cfloat>
#include <cmath>
#include <limits>
#include <numeric>
#include <tuple>

using namespace mlir;
using namespace ingot;
using namespace ingot::reference;

/// Puts parts into a bucket.
template <typename Op> static void start(Op op, Operands in, Results out) {
  BucketLayout layout = BucketLayout::of(cast<BucketEnd>(op.getOperation()));
  for (size_t part = 0; part < in.size(); ++part)
    for (int64_t i = 0; i < in[part].size(); ++i)
      out[0].real(layout.offsets[part] + i) = in[part].real(i);
}

/// Takes them out.
template <typename Op> static void wait(Op op, Operands in, Results out) {
  BucketLayout layout = BucketLayout::of(cast<BucketEnd>(op.getOperation()));
  for (size_t part = 0; part < out.size(); ++part)
    for (int64_t i = 0; i < out[part].size(); ++i)
      out[part].real(i) = in[0].real(layout.offsets[part] + i);
}

template <typename Op> static void pass(Op, Operands in, Results out) {
  for (size_t part = 0; part < out.size(); ++part)
    for (int64_t i = 0; i < out[part].size(); ++i)
      out[part].real(i) = in[part].real(i);
}

std::pair<int64_t, int64_t> ingot::reference::shardOf(int64_t of, int64_t rank,
                                                      int64_t ranks) {
  const int64_t unit = of % BucketLayout::kShardBlock == 0
                           ? BucketLayout::kShardBlock
                           : BucketLayout::kShardElements;
  int64_t units = (of + unit - 1) / unit;
  int64_t each = (units + ranks - 1) / ranks * unit;
  return {std::min(of, rank * each), std::min(of, (rank + 1) * each)};
}

void ingot::reference::copyShard(Tensor &to, const Tensor &from, int64_t first,
                                 int64_t of, int64_t rank, int64_t ranks,
                                 int64_t block) {
  auto [begin, end] = shardOf(of, rank, ranks);
  for (int64_t i = 0; i < from.size(); ++i)
    if (first + i * block >= begin && first + i * block < end)
      to.copy(i, from, i);
}

/// Returns the sum of squares over the elements of one of `ranks`.
static double squareSum(ShardSquareSumOp op, const Tensor &input, int64_t rank,
                        int64_t ranks) {
  auto first = static_cast<int64_t>(op.getFirst());
  auto [begin, end] = shardOf(static_cast<int64_t>(op.getOf()), rank, ranks);
  double sum = 0;
  for (int64_t i = std::max<int64_t>(0, begin - first);
       i < std::min(input.size(), end - first); ++i)
    sum += input.real(i) * input.real(i);
  return sum;
}

/// In f32, as the description has it.
static void compress(CompressOp op, Operands in, Results out) {
  const Tensor &x = in[0];
  if (op.getCompression() == CompressionFormat::TopK) {
    std::vector<int64_t> order(x.size());
    std::iota(order.begin(), order.end(), 0);
    // NaN first, of equal ones that of the smaller index.
    auto rank = [&](int64_t i) {
      double size = std::abs(x.real(i));
      bool isNan = std::isnan(size);
      return std::tuple(!isNan, isNan ? 0 : -size, i);
    };
    llvm::sort(order, [&](int64_t a, int64_t b) { return rank(a) < rank(b); });
    for (int64_t i = 0; i < static_cast<int64_t>(op.getK()); ++i)
      out[0].real(order[i]) = x.real(order[i]);
    return;
  }
  constexpr int64_t block = 256;
  for (int64_t first = 0; first < x.size(); first += block) {
    int64_t end = std::min(first + block, x.size());
    float largest = 0;
    for (int64_t i = first; i < end; ++i)
      if (float size = std::abs(static_cast<float>(x.real(i)));
          !(size <= largest) && !std::isnan(largest))
        largest = size;
    float scale = largest / 127;
    bool isFinite = std::isfinite(scale);
    for (int64_t i = first; i < end; ++i) {
      float inverse = scale >= FLT_MIN ? 1 / scale : 0;
      out[0].real(i) =
          isFinite
              ? std::nearbyint(static_cast<float>(x.real(i)) * inverse) * scale
              : std::numeric_limits<double>::quiet_NaN();
    }
  }
}

void ingot::reference::registerCollective(Registry &registry) {
  registry.add<AllReduceStartOp>(start<AllReduceStartOp>);
  registry.add<AllReduceWaitOp>(wait<AllReduceWaitOp>);
  registry.add<ReduceScatterStartOp>(start<ReduceScatterStartOp>);
  registry.add<ReduceScatterWaitOp>(wait<ReduceScatterWaitOp>);
  registry.add<AllGatherStartOp>(start<AllGatherStartOp>);
  registry.add<AllGatherWaitOp>(wait<AllGatherWaitOp>);
  registry.add<StateGatherStartOp>(pass<StateGatherStartOp>);
  registry.add<StateGatherWaitOp>(pass<StateGatherWaitOp>);
  registry.add<CompressOp>(compress);
  registry.add<ShardSquareSumOp>(
      [](ShardSquareSumOp op, Operands in, Results out) {
        out[0].real(0) = squareSum(op, in[0], /*rank=*/0, /*ranks=*/1);
      });
}

namespace {

/// The ranks among which a collective is, by their places, and their results.
struct Group {
  SmallVector<int64_t> members;
  SmallVector<Results> ranks;

  /// Returns their elements combined, in their order.
  Tensor combine(ReductionKind kind) const {
    Tensor all = ranks.front()[0];
    for (Results other : ArrayRef(ranks).drop_front())
      combineElements(kind, all, other[0]);
    return all;
  }
};

} // namespace

/// Calls `body(group)` for each group of ranks along axes.
template <typename Body>
static void forGroups(Operation *op, ArrayRef<int64_t> axes,
                      ArrayRef<Results> results, Body body) {
  auto count = static_cast<int64_t>(results.size());
  for (int64_t rank = 0; rank < count; ++rank) {
    SmallVector<int64_t> members = getGroup(op, axes, rank, count);
    if (members.front() != rank)
      continue;
    Group group = {members, {}};
    for (int64_t member : members)
      group.ranks.push_back(results[member]);
    body(group);
  }
}

ShardPlace ingot::reference::getShardPlace(Operation *op, int64_t rank,
                                           int64_t ranks) {
  SmallVector<int64_t> group =
      getGroup(op, Mesh::of(op).getShardAxis(), rank, ranks);
  return {llvm::find(group, rank) - group.begin(),
          static_cast<int64_t>(group.size())};
}

bool ingot::reference::knowsRanks(Operation *op) {
  auto norm = dyn_cast<BatchNormOp>(op);
  return isa<BucketEnd, Exchange, ShardSquareSumOp, StateGatherWaitOp>(op) ||
         (norm && norm.getOverRanks());
}

void ingot::reference::combineRanks(Operation *op, ArrayRef<Operands> operands,
                                    ArrayRef<Results> results) {
  auto ranks = static_cast<int64_t>(results.size());
  if (auto overAxes = dyn_cast<Exchange>(op))
    return exchange(overAxes, operands, results);
  Mesh mesh = Mesh::of(op);
  const int64_t shardAxis = mesh.getShardAxis();
  SmallVector<int64_t> axes(mesh.getSampleAxes());
  if (isa<AllReduceStartOp, ReduceScatterStartOp>(op)) {
    auto start = dyn_cast<AllReduceStartOp>(op);
    if (start && start.getAxes())
      axes.assign(start.getAxes()->begin(), start.getAxes()->end());
    forGroups(op, axes, results, [&](const Group &group) {
      Tensor all = group.combine(start ? start.getKind() : ReductionKind::Sum);
      for (Results rank : group.ranks)
        rank[0] = all;
    });
  }
  if (isa<ReduceScatterStartOp>(op))
    for (int64_t rank = 0; rank < ranks; ++rank) {
      Tensor &bucket = results[rank][0];
      ShardPlace at = getShardPlace(op, rank, ranks);
      auto [begin, end] = shardOf(bucket.size(), at.place, at.count);
      // What uses the others shows.
      for (int64_t i = 0; i < bucket.size(); ++i)
        if (i < begin || i >= end)
          bucket.real(i) = std::numeric_limits<double>::quiet_NaN();
    }
  if (isa<AllGatherStartOp>(op))
    forGroups(op, shardAxis, results, [&](const Group &group) {
      auto count = static_cast<int64_t>(group.ranks.size());
      Tensor all = group.ranks.front()[0];
      for (int64_t place = 0; place < count; ++place) {
        auto [begin, end] = shardOf(all.size(), place, count);
        for (int64_t i = begin; i < end; ++i)
          all.real(i) = group.ranks[place][0].real(i);
      }
      for (Results rank : group.ranks)
        rank[0] = all;
    });
  if (auto wait = dyn_cast<StateGatherWaitOp>(op))
    forGroups(op, shardAxis, results, [&](const Group &group) {
      auto count = static_cast<int64_t>(group.ranks.size());
      for (auto [part, first] : llvm::enumerate(wait.getFirsts())) {
        Tensor all = group.ranks.front()[part];
        for (int64_t place = 1; place < count; ++place)
          copyShard(all, group.ranks[place][part], first,
                    static_cast<int64_t>(wait.getOf()), place, count);
        for (Results rank : group.ranks)
          rank[part] = all;
      }
    });
  if (auto norm = dyn_cast<BatchNormOp>(op))
    forGroups(op, axes, results, [&](const Group &group) {
      SmallVector<Operands> own;
      for (int64_t member : group.members)
        own.push_back(operands[member]);
      normalizeBatches(norm, own, group.ranks);
      for (Results rank : group.ranks)
        for (Tensor &tensor : rank)
          tensor.roundToElementType();
    });
  if (auto sum = dyn_cast<ShardSquareSumOp>(op))
    for (int64_t rank = 0; rank < ranks; ++rank) {
      ShardPlace at = getShardPlace(op, rank, ranks);
      results[rank][0].real(0) =
          squareSum(sum, operands[rank][0], at.place, at.count);
    }
}
