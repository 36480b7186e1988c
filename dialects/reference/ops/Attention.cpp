// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// Attention: docs/spec/attention.md.
//===----------------------------------------------------------------------===//

#include "dialects/reference/Registry.h"
#include "dialects/reference/ops/ReferencePhilox.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace ingot;
using namespace ingot::reference;

namespace {

/// Where a tensor [batch, rows, heads, columns] holds a row, its heads counted
/// from `first` on.
struct Rows {
  const Tensor &tensor;
  int64_t first = 0;
  int64_t at(int64_t batch, int64_t row, int64_t head) const {
    ArrayRef<int64_t> s = tensor.getShape();
    return ((batch * s[1] + row) * s[2] + first + head) * s[3];
  }
};

/// Weights that are dropped, by their position in [batch, heads, queries,
/// keys].
struct Dropout {
  /// Null: none are.
  const Tensor *seed, *step;
  double ratio;
  uint32_t stream;

  /// Returns the factor that dropout multiplies the weight by.
  double keep(int64_t position) const {
    if (!seed)
      return 1;
    double drawn =
        uniformAt(seed->integer(0), step->integer(0), stream, position);
    // Compared in f32, as `dropout` does.
    return drawn >= static_cast<float>(ratio) ? 1 / (1 - ratio) : 0;
  }
};

/// Operands that may be there, null where they are not.
struct Terms {
  const Tensor *bias = nullptr, *mask = nullptr, *lengths = nullptr;
  const Tensor *seed = nullptr, *step = nullptr;

  /// `first`: where they stand among the operands.
  template <typename Op> static Terms of(Op op, Operands in, size_t first) {
    Terms terms;
    auto take = [&](Value operand, const Tensor *&term) {
      if (operand)
        term = &in[first++];
    };
    take(op.getBias(), terms.bias);
    take(op.getMask(), terms.mask);
    take(op.getLengths(), terms.lengths);
    take(op.getSeed(), terms.seed);
    take(op.getStep(), terms.step);
    return terms;
  }
};

/// One query of one head, and what it sees.
struct Query {
  AttentionSizes sizes;
  double scale, softcap;
  int64_t left, right;
  Rows q, k, v;
  Terms terms;
  Dropout dropout;
  int64_t batch, head, query;

  int64_t keyHead() const { return head / (sizes.heads / sizes.keyHeads); }
  int64_t qRow() const { return q.at(batch, query, head); }
  int64_t kRow(int64_t key) const { return k.at(batch, key, keyHead()); }
  int64_t vRow(int64_t key) const { return v.at(batch, key, keyHead()); }

  /// Returns the element of a bias or mask, which repeats along dimensions of
  /// size 1.
  int64_t pairAt(const Tensor &tensor, int64_t key) const {
    ArrayRef<int64_t> s = tensor.getShape();
    int64_t at = s[0] == 1 ? 0 : batch;
    at = at * s[1] + (s[1] == 1 ? 0 : head);
    at = at * s[2] + (s[2] == 1 ? 0 : query);
    return at * s[3] + key;
  }

  /// Returns the derivative of the score without its bias by the product of
  /// query and key.
  double slope(double score) const {
    double capped = softcap != 0 ? score / softcap : 0;
    return scale * (1 - capped * capped);
  }
  double biasAt(int64_t key) const {
    return terms.bias ? terms.bias->real(pairAt(*terms.bias, key)) : 0;
  }
  double keep(int64_t key) const {
    int64_t row = (batch * sizes.heads + head) * sizes.queries + query;
    return dropout.keep(row * sizes.keys + key);
  }

  /// -infinity where the query may not look.
  double score(int64_t key) const {
    bool isAllowed =
        (left < 0 || key - query >= -left) &&
        (right < 0 || key - query <= right) &&
        (!terms.mask || terms.mask->integer(pairAt(*terms.mask, key))) &&
        (!terms.lengths || key < terms.lengths->integer(batch));
    if (!isAllowed)
      return -std::numeric_limits<double>::infinity();
    double sum = 0;
    for (int64_t i = 0; i < sizes.size; ++i)
      sum += q.tensor.real(qRow() + i) * k.tensor.real(kRow(key) + i);
    sum *= scale;
    if (softcap != 0)
      sum = softcap * std::tanh(sum / softcap);
    return sum + biasAt(key);
  }
};

} // namespace

static double softcapOf(AttentionOp op) {
  return op.getSoftcap().convertToDouble();
}
static double softcapOf(AttentionGradOp op) {
  return op.getSoftcap().convertToDouble();
}
template <typename Op> static double softcapOf(Op) { return 0; }

/// Queries, keys and values among tensors that are like the first operands.
template <typename Op, typename Tensors>
static std::array<Rows, 3> partsOf(Op op, const Tensors &tensors) {
  if constexpr (llvm::is_one_of<Op, PackedAttentionOp,
                                PackedAttentionGradOp>()) {
    auto [query, key, value] = op.getFirstHeads();
    return {Rows{tensors[0], query}, {tensors[0], key}, {tensors[0], value}};
  } else {
    return {Rows{tensors[0]}, {tensors[1]}, {tensors[2]}};
  }
}

/// Calls `visit` for each query of each head.
template <typename Op, typename Visit>
static void forEachQuery(Op op, Operands in, size_t firstOptional,
                         Visit visit) {
  std::array<Rows, 3> parts = partsOf(op, in);
  Terms terms = Terms::of(op, in, firstOptional);
  Dropout dropout = {terms.seed, terms.step, op.getRatio().convertToDouble(),
                     static_cast<uint32_t>(op.getStream())};
  AttentionSizes s = op.getSizes();
  for (int64_t b = 0; b < s.batch; ++b)
    for (int64_t h = 0; h < s.heads; ++h)
      for (int64_t t = 0; t < s.queries; ++t)
        visit(Query{s, op.getScale().convertToDouble(), softcapOf(op),
                    static_cast<int64_t>(op.getLeft()),
                    static_cast<int64_t>(op.getRight()), parts[0], parts[1],
                    parts[2], terms, dropout, b, h, t});
}

/// `first` is where what may be there stands among the operands.
template <typename Op, size_t first>
static void attention(Op op, Operands in, Results out) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  forEachQuery(op, in, first, [&](const Query &at) {
    const AttentionSizes &s = at.sizes;
    SmallVector<double> scores;
    double highest = -kInfinity, total = 0;
    for (int64_t j = 0; j < s.keys; ++j) {
      scores.push_back(at.score(j));
      if (std::isnan(scores.back()) || scores.back() > highest)
        highest = scores.back();
    }
    int64_t row = (at.batch * s.heads + at.head) * s.queries + at.query;
    if (highest == -kInfinity) {
      out[1].real(row) = kInfinity;
      return;
    }
    for (double &score : scores)
      total += score = std::exp(score - highest);
    out[1].real(row) = highest + std::log(total);
    for (int64_t j = 0; j < s.keys; ++j) {
      double weight = at.keep(j) * scores[j] / total;
      for (int64_t c = 0; c < s.valueSize; ++c)
        out[0].real(Rows{out[0]}.at(at.batch, at.query, at.head) + c) +=
            weight * at.v.tensor.real(at.vRow(j) + c);
    }
  });
}

template <typename Op, size_t first>
static void attentionGrad(Op op, Operands in, Results out) {
  const Tensor &output = in[first - 3], &lse = in[first - 2];
  const Tensor &cotangent = in[first - 1];
  // Gradients lie as what they are gradients of.
  size_t inKeys = out.size() == 1 ? 0 : 1, inValues = out.size() == 1 ? 0 : 2;
  forEachQuery(op, in, first, [&](const Query &at) {
    const AttentionSizes &s = at.sizes;
    int64_t row = (at.batch * s.heads + at.head) * s.queries + at.query;
    int64_t g = Rows{cotangent}.at(at.batch, at.query, at.head);
    double dot = 0;
    for (int64_t c = 0; c < s.valueSize; ++c)
      dot += cotangent.real(g + c) * output.real(g + c);
    for (int64_t j = 0; j < s.keys; ++j) {
      double score = at.score(j);
      if (score == -std::numeric_limits<double>::infinity())
        continue;
      double weight = std::exp(score - lse.real(row)), product = 0;
      double keep = at.keep(j);
      for (int64_t c = 0; c < s.valueSize; ++c) {
        product += cotangent.real(g + c) * at.v.tensor.real(at.vRow(j) + c);
        out[inValues].real(at.vRow(j) + c) +=
            keep * weight * cotangent.real(g + c);
      }
      double slope =
          weight * (keep * product - dot) * at.slope(score - at.biasAt(j));
      for (int64_t c = 0; c < s.size; ++c) {
        out[0].real(at.qRow() + c) += slope * at.k.tensor.real(at.kRow(j) + c);
        out[inKeys].real(at.kRow(j) + c) +=
            slope * at.q.tensor.real(at.qRow() + c);
      }
    }
  });
}

void ingot::reference::registerAttention(Registry &registry) {
  registry.add<AttentionOp>(attention<AttentionOp, 3>);
  registry.add<AttentionGradOp>(attentionGrad<AttentionGradOp, 6>);
  registry.add<PackedAttentionOp>(attention<PackedAttentionOp, 1>);
  registry.add<PackedAttentionGradOp>(attentionGrad<PackedAttentionGradOp, 4>);
}
