// SPDX-License-Identifier: Apache-2.0

#include "frontends/onnx/ops/quantization/Observe.h"
#include "dialects/ingot/builders/Arithmetic.h"

#include <cmath>

using namespace mlir;
using namespace ingot;
using namespace ingot::onnx_import;

/// The share that an average of ranges takes of that of a step.
static constexpr double kShare = 0.01;
/// Ranges become this much smaller, so that the greatest code stays in the
/// range of a clipping before it in spite of rounding.
static constexpr double kShrink = 1 - 0x1p-22;

/// The greatest magnitude of the values that have each of the scales.
static Value findMagnitudes(Node &node, const Quantizer &quantizer, Value x) {
  Value magnitudes = node.unary<AbsOp>(x);
  Shape shape(tensorType(x).getShape());
  SmallVector<int64_t> reduced;
  if (quantizer.axis && quantizer.block > 1) {
    int64_t axis = *quantizer.axis,
            blocks = (shape[axis] + quantizer.block - 1) / quantizer.block;
    Shape low(shape.size(), 0), high(shape.size(), 0);
    high[axis] = blocks * quantizer.block - shape[axis];
    magnitudes = node.pad(magnitudes, low, high, 0);
    shape[axis] = blocks;
    shape.insert(shape.begin() + axis + 1, quantizer.block);
    magnitudes = node.reshape(magnitudes, shape);
    reduced.push_back(axis + 1);
  } else {
    for (int64_t i = 0; i < static_cast<int64_t>(shape.size()); ++i)
      if (i != quantizer.axis)
        reduced.push_back(i);
  }
  return node.reduce(ReductionKind::Max, magnitudes, reduced, /*keep=*/false);
}

/// Updates the average of the range, and the scale and zero point for it.
static void observeRange(Node &node, const Quantizer &quantizer, Value x) {
  Arithmetic a(node.b, node.loc);
  auto dims = Arithmetic::allDims(x);
  // Codes have one for 0.
  Value low = a.min(node.reduce(ReductionKind::Min, x, dims, false), 0.0),
        high = a.max(node.reduce(ReductionKind::Max, x, dims, false), 0.0);
  Value knownLow = node.graph.statistic(quantizer.getLow()),
        knownHigh = node.graph.statistic(quantizer.getHigh());
  Value isFirst = a.logicalAnd(a.compare(Predicate::EQ, knownLow, 0.0),
                               a.compare(Predicate::EQ, knownHigh, 0.0));
  auto average = [&](Value known, Value seen) {
    return a.select(isFirst, seen,
                    a.add(known, a.mul(a.sub(seen, known), kShare)));
  };
  low = average(knownLow, low);
  high = average(knownHigh, high);
  double steps = quantizer.greatest - quantizer.least;
  Value scale =
      a.max(a.mul(a.sub(high, low), kShrink / steps), Quantizer::kLeastScale);
  Value zero =
      a.min(a.max(node.unary<RoundOp>(a.div(a.neg(low), scale)), 0.0), steps);
  node.graph.update(quantizer.getLow(), low);
  node.graph.update(quantizer.getHigh(), high);
  node.graph.update(quantizer.scale, scale);
  node.graph.update(quantizer.zeroPoint,
                    node.cast(zero, node.type(2).getElementType()));
}

void onnx_import::observe(Node &node, const Quantizer &quantizer, Value x) {
  if (node.getProto().output(0) != quantizer.codes)
    return;
  node.graph.observe(quantizer.scale, x);
  if (quantizer.isLearned)
    return;
  if (quantizer.isAffine)
    return observeRange(node, quantizer, x);
  Arithmetic a(node.b, node.loc);
  Value scale =
      a.max(a.mul(findMagnitudes(node, quantizer, x), 1 / quantizer.greatest),
            Quantizer::kLeastScale);
  node.graph.update(quantizer.scale, node.reshape(scale, node.shape(1)));
}

Value onnx_import::readScale(Node &node, const Quantizer &quantizer, Value x) {
  Value scale = node.cast(node.in(1), node.b.getF32Type());
  if (!quantizer.isLearned)
    return scale;
  auto values = static_cast<double>(tensorType(x).getNumElements()) /
                static_cast<double>(tensorType(scale).getNumElements());
  Value weaker =
      node.binary<MulOp>(scale, 1 / std::sqrt(values * quantizer.greatest));
  return StraightThroughOp::create(node.b, node.loc, scale.getType(), weaker,
                                   scale);
}
