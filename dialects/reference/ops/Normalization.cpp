// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// Composites: docs/spec/normalization.md.
//===----------------------------------------------------------------------===//

#include "dialects/reference/Registry.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace ingot;
using namespace ingot::reference;

namespace {
/// Maximum and log of the sum of exponentials of one row.
struct RowSums {
  double highest = -std::numeric_limits<double>::infinity();
  double sum = 0;
  double lse() const { return highest + std::log(sum); }
};
} // namespace

static RowSums sumRow(const Tensor &x, const Split &split, int64_t o,
                      int64_t n) {
  RowSums row;
  for (int64_t i = 0; i < split.size; ++i) {
    double value = x.real(split.at(o, i, n));
    if (std::isnan(row.highest) || !(value <= row.highest))
      row.highest = std::isnan(row.highest) ? row.highest : value;
  }
  for (int64_t i = 0; i < split.size; ++i)
    row.sum += std::exp(x.real(split.at(o, i, n)) - row.highest);
  return row;
}

/// Calls `visit(outer, inner, row)` for each row along the dimension.
template <typename Visit>
static void forEachRow(const Tensor &x, const Split &split, Visit visit) {
  for (int64_t o = 0; o < split.outer; ++o)
    for (int64_t n = 0; n < split.inner; ++n)
      visit(o, n, sumRow(x, split, o, n));
}

static void softmax(SoftmaxOp op, Operands in, Results out) {
  Split split(in[0].getShape(), op.getDim());
  forEachRow(in[0], split, [&](int64_t o, int64_t n, const RowSums &row) {
    for (int64_t i = 0; i < split.size; ++i) {
      int64_t at = split.at(o, i, n);
      out[0].real(at) = std::exp(in[0].real(at) - row.highest) / row.sum;
    }
  });
}

static void logSoftmax(LogSoftmaxOp op, Operands in, Results out) {
  Split split(in[0].getShape(), op.getDim());
  forEachRow(in[0], split, [&](int64_t o, int64_t n, const RowSums &row) {
    for (int64_t i = 0; i < split.size; ++i) {
      int64_t at = split.at(o, i, n);
      out[0].real(at) = in[0].real(at) - row.highest - std::log(row.sum);
    }
  });
}

static llvm::Error crossEntropy(CrossEntropyOp op, Operands in, Results out) {
  const Tensor &logits = in[0], &labels = in[1];
  Split split(logits.getShape(), op.getDim());
  for (int64_t o = 0; o < split.outer; ++o)
    for (int64_t n = 0; n < split.inner; ++n) {
      double lse = sumRow(logits, split, o, n).lse();
      int64_t at = o * split.inner + n, label = labels.integer(at);
      out[1].real(at) = lse;
      if (label == static_cast<int64_t>(op.getIgnoreIndex()))
        continue;
      if (label < 0 || label >= split.size)
        return invalid("label " + llvm::Twine(label) + " is not in [0, " +
                       llvm::Twine(split.size) + ")");
      out[0].real(at) = lse - logits.real(split.at(o, label, n));
    }
  return llvm::Error::success();
}

/// Number of elements from dimension `dim` on.
static int64_t innerSize(const Tensor &x, int64_t dim) {
  int64_t size = 1;
  for (int64_t extent : x.getShape().drop_front(dim))
    size *= extent;
  return size;
}

static void layerNorm(LayerNormOp op, Operands in, Results out) {
  const Tensor &x = in[0], &scale = in[1];
  double epsilon = op.getEpsilon().convertToDouble();
  int64_t size = innerSize(x, op.getDim());
  for (int64_t row = 0; row < out[1].size(); ++row) {
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < size; ++i)
      sum += x.real(row * size + i);
    double mean = sum / size;
    for (int64_t i = 0; i < size; ++i)
      squares += std::pow(x.real(row * size + i) - mean, 2);
    double rstd = 1 / std::sqrt(squares / size + epsilon);
    for (int64_t i = 0; i < size; ++i)
      out[0].real(row * size + i) =
          (x.real(row * size + i) - mean) * rstd * scale.real(i) +
          (op.getBias() ? in[2].real(i) : 0);
    out[1].real(row) = mean;
    out[2].real(row) = rstd;
  }
}

static void rmsNorm(RmsNormOp op, Operands in, Results out) {
  const Tensor &x = in[0], &scale = in[1];
  double epsilon = op.getEpsilon().convertToDouble();
  int64_t size = innerSize(x, op.getDim());
  for (int64_t row = 0; row < out[1].size(); ++row) {
    double squares = 0;
    for (int64_t i = 0; i < size; ++i)
      squares += std::pow(x.real(row * size + i), 2);
    double rstd = 1 / std::sqrt(squares / size + epsilon);
    for (int64_t i = 0; i < size; ++i)
      out[0].real(row * size + i) =
          x.real(row * size + i) * rstd * scale.real(i);
    out[1].real(row) = rstd;
  }
}

void ingot::reference::normalizeBatches(BatchNormOp op, ArrayRef<Operands> in,
                                        ArrayRef<Results> out) {
  double epsilon = op.getEpsilon().convertToDouble();
  double momentum = op.getMomentum().convertToDouble();
  Split split(in[0][0].getShape(), 1);
  double count = split.outer * split.inner * static_cast<double>(in.size());
  for (int64_t c = 0; c < split.size; ++c) {
    auto forEach = [&](auto visit) {
      for (size_t batch = 0; batch < in.size(); ++batch)
        for (int64_t o = 0; o < split.outer; ++o)
          for (int64_t n = 0; n < split.inner; ++n)
            visit(batch, split.at(o, c, n));
    };
    double sum = 0, squares = 0;
    forEach([&](size_t batch, int64_t i) { sum += in[batch][0].real(i); });
    double mean = sum / count;
    forEach([&](size_t batch, int64_t i) {
      squares += std::pow(in[batch][0].real(i) - mean, 2);
    });
    double rstd = 1 / std::sqrt(squares / count + epsilon);
    forEach([&](size_t batch, int64_t i) {
      out[batch][0].real(i) =
          (in[batch][0].real(i) - mean) * rstd * in[batch][1].real(c) +
          in[batch][2].real(c);
    });
    double variance = squares / (op.getUnbiased() ? count - 1 : count);
    for (auto [operands, results] : llvm::zip_equal(in, out)) {
      auto blend = [&](const Tensor &running, double value) {
        return running.real(c) * momentum + value * (1 - momentum);
      };
      results[1].real(c) = blend(operands[3], mean);
      results[2].real(c) = blend(operands[4], variance);
      results[3].real(c) = mean;
      results[4].real(c) = rstd;
    }
  }
}

static void batchNorm(BatchNormOp op, Operands in, Results out) {
  normalizeBatches(op, in, out);
}

void ingot::reference::registerNormalization(Registry &registry) {
  registry.add<SoftmaxOp>(softmax);
  registry.add<LogSoftmaxOp>(logSoftmax);
  registry.add<CrossEntropyOp>(crossEntropy);
  registry.add<LayerNormOp>(layerNorm);
  registry.add<RmsNormOp>(rmsNorm);
  registry.add<BatchNormOp>(batchNorm);
}
