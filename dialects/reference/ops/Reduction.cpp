// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// Reductions: docs/spec/reduction.md.
//===----------------------------------------------------------------------===//

#include "dialects/reference/Registry.h"

#include <cmath>
#include <limits>
#include <vector>

using namespace mlir;
using namespace ingot;
using namespace ingot::reference;

/// Starts every result element at the value of a reduction over nothing.
static void fillWithIdentity(ReductionKind kind, Tensor &result) {
  double infinity = std::numeric_limits<double>::infinity();
  for (int64_t i = 0, e = result.size(); i < e; ++i) {
    if (result.isFloat()) {
      result.real(i) = kind == ReductionKind::Sum    ? 0
                       : kind == ReductionKind::Prod ? 1
                       : kind == ReductionKind::Max  ? -infinity
                                                     : infinity;
    } else {
      auto [lowest, highest] = integerRange(result.getElementType());
      result.integer(i) = kind == ReductionKind::Sum    ? 0
                          : kind == ReductionKind::Prod ? 1
                          : kind == ReductionKind::Max  ? lowest
                                                        : highest;
    }
  }
}

static double combine(ReductionKind kind, double sum, double x) {
  switch (kind) {
  case ReductionKind::Sum:
    return sum + x;
  case ReductionKind::Prod:
    return sum * x;
  case ReductionKind::Max:
    return std::isnan(sum) || sum >= x ? sum : x;
  case ReductionKind::Min:
    return std::isnan(sum) || sum <= x ? sum : x;
  }
  llvm_unreachable("unknown reduction");
}

static int64_t combine(ReductionKind kind, int64_t sum, int64_t x,
                       Type element) {
  switch (kind) {
  case ReductionKind::Sum:
    return static_cast<int64_t>(static_cast<uint64_t>(sum) +
                                static_cast<uint64_t>(x));
  case ReductionKind::Prod:
    return static_cast<int64_t>(static_cast<uint64_t>(sum) *
                                static_cast<uint64_t>(x));
  case ReductionKind::Max:
    return isLess(sum, x, element) ? x : sum;
  case ReductionKind::Min:
    return isLess(x, sum, element) ? x : sum;
  }
  llvm_unreachable("unknown reduction");
}

static void reduce(ReduceOp op, Operands in, Results out) {
  ReductionKind kind = op.getKind();
  fillWithIdentity(kind, out[0]);
  // Strides of the result in the operand's dimensions; 0 where they disappear.
  Index kept = rowMajorStrides(out[0].getShape()), strides;
  size_t next = 0;
  for (int64_t d = 0; d < in[0].getRank(); ++d)
    strides.push_back(llvm::is_contained(op.getDims(), d) ? 0 : kept[next++]);
  forEachIndex(in[0].getShape(), [&](ArrayRef<int64_t> index, int64_t i) {
    int64_t to = dot(index, strides);
    if (out[0].isFloat())
      out[0].real(to) = combine(kind, out[0].real(to), in[0].real(i));
    else
      out[0].integer(to) = combine(kind, out[0].integer(to), in[0].integer(i),
                                   out[0].getElementType());
  });
}

/// The mean first, then the squares of differences from it.
static void squaredDeviations(SquaredDeviationsOp op, Operands in,
                              Results out) {
  Index kept = rowMajorStrides(out[0].getShape()), strides;
  size_t next = 0;
  for (int64_t d = 0; d < in[0].getRank(); ++d)
    strides.push_back(llvm::is_contained(op.getDims(), d) ? 0 : kept[next++]);
  std::vector<double> sums(out[0].size(), 0), counts(out[0].size(), 0);
  forEachIndex(in[0].getShape(), [&](ArrayRef<int64_t> index, int64_t i) {
    sums[dot(index, strides)] += in[0].real(i);
    counts[dot(index, strides)] += 1;
  });
  for (int64_t i = 0, e = out[0].size(); i < e; ++i)
    out[0].real(i) = 0;
  forEachIndex(in[0].getShape(), [&](ArrayRef<int64_t> index, int64_t i) {
    int64_t to = dot(index, strides);
    double difference = in[0].real(i) - sums[to] / counts[to];
    out[0].real(to) += difference * difference;
  });
}

static llvm::Error argmax(ArgMaxOp op, Operands in, Results out) {
  Split from(in[0].getShape(), op.getDim());
  if (from.size == 0)
    return invalid("the largest of no elements");
  for (int64_t o = 0; o < from.outer; ++o)
    for (int64_t n = 0; n < from.inner; ++n) {
      int64_t best = 0;
      for (int64_t i = 1; i < from.size; ++i) {
        int64_t a = from.at(o, best, n), b = from.at(o, i, n);
        bool larger = in[0].isFloat()
                          ? !std::isnan(in[0].real(a)) &&
                                !(in[0].real(b) <= in[0].real(a))
                          : isLess(in[0].integer(a), in[0].integer(b),
                                   in[0].getElementType());
        if (larger)
          best = i;
      }
      out[0].integer(o * from.inner + n) = best;
    }
  return llvm::Error::success();
}

void ingot::reference::registerReduction(Registry &registry) {
  registry.add<ReduceOp>(reduce);
  registry.add<SquaredDeviationsOp>(squaredDeviations);
  registry.add<ArgMaxOp>(argmax);
}
