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
#include <map>
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
  constexpr int64_t unit = BucketLayout::kShardElements;
  int64_t units = (of + unit - 1) / unit;
  int64_t each = (units + ranks - 1) / ranks * unit;
  return {std::min(of, rank * each), std::min(of, (rank + 1) * each)};
}

void ingot::reference::copyShard(Tensor &to, const Tensor &from, int64_t first,
                                 int64_t of, int64_t rank, int64_t ranks) {
  auto [begin, end] = shardOf(of, rank, ranks);
  for (int64_t i = std::max<int64_t>(0, begin - first);
       i < std::min(from.size(), end - first); ++i)
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

/// Returns the elements of all ranks combined, in the order of the ranks.
static Tensor combineAll(ReductionKind kind, ArrayRef<Results> results) {
  Tensor all = results.front()[0];
  for (Results other : results.drop_front())
    combineElements(kind, all, other[0]);
  return all;
}

bool ingot::reference::knowsRanks(Operation *op) {
  auto norm = dyn_cast<BatchNormOp>(op);
  return isa<BucketEnd, Exchange, ShardSquareSumOp, StateGatherWaitOp>(op) ||
         (norm && norm.getOverRanks());
}

/// Combines the results of an op over ranks along `data`.
static void combineData(Operation *op, ArrayRef<Operands> operands,
                        ArrayRef<Results> results) {
  auto ranks = static_cast<int64_t>(results.size());
  if (isa<AllReduceStartOp, ReduceScatterStartOp>(op)) {
    auto start = dyn_cast<AllReduceStartOp>(op);
    Tensor all =
        combineAll(start ? start.getKind() : ReductionKind::Sum, results);
    for (Results rank : results)
      rank[0] = all;
  }
  if (isa<ReduceScatterStartOp>(op))
    for (int64_t rank = 0; rank < ranks; ++rank) {
      Tensor &bucket = results[rank][0];
      auto [begin, end] = shardOf(bucket.size(), rank, ranks);
      // What uses the others shows.
      for (int64_t i = 0; i < bucket.size(); ++i)
        if (i < begin || i >= end)
          bucket.real(i) = std::numeric_limits<double>::quiet_NaN();
    }
  if (isa<AllGatherStartOp>(op)) {
    Tensor all = results.front()[0];
    for (int64_t rank = 0; rank < ranks; ++rank) {
      auto [begin, end] = shardOf(all.size(), rank, ranks);
      for (int64_t i = begin; i < end; ++i)
        all.real(i) = results[rank][0].real(i);
    }
    for (Results rank : results)
      rank[0] = all;
  }
  if (auto wait = dyn_cast<StateGatherWaitOp>(op))
    for (auto [part, first] : llvm::enumerate(wait.getFirsts())) {
      Tensor all = results.front()[part];
      for (int64_t rank = 1; rank < ranks; ++rank)
        copyShard(all, results[rank][part], first,
                  static_cast<int64_t>(wait.getOf()), rank, ranks);
      for (Results rank : results)
        rank[part] = all;
    }
  if (auto norm = dyn_cast<BatchNormOp>(op)) {
    normalizeBatches(norm, operands, results);
    for (Results rank : results)
      for (Tensor &tensor : rank)
        tensor.roundToElementType();
  }
  if (auto sum = dyn_cast<ShardSquareSumOp>(op))
    for (int64_t rank = 0; rank < ranks; ++rank)
      results[rank][0].real(0) = squareSum(sum, operands[rank][0], rank, ranks);
}

void ingot::reference::combineRanks(Operation *op, ArrayRef<Operands> operands,
                                    ArrayRef<Results> results) {
  if (auto overAxes = dyn_cast<Exchange>(op))
    return exchange(overAxes, operands, results);
  // Ranks that have parts of one tensor each have a group along data.
  Mesh mesh = Mesh::of(op);
  std::map<std::array<int64_t, kNumAxes>, SmallVector<size_t>> groups;
  for (size_t rank = 0; rank < results.size(); ++rank) {
    auto at = mesh.getCoordinates(static_cast<int64_t>(rank),
                                  static_cast<int64_t>(results.size()));
    at[static_cast<size_t>(Axis::Data)] = 0;
    groups[at].push_back(rank);
  }
  for (auto &[at, members] : groups) {
    SmallVector<Operands> groupOperands;
    SmallVector<Results> groupResults;
    for (size_t rank : members) {
      groupOperands.push_back(operands[rank]);
      groupResults.push_back(results[rank]);
    }
    combineData(op, groupOperands, groupResults);
  }
}
