// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The formulas of the losses, as PyTorch has them.
//
//===----------------------------------------------------------------------===//

#include "passes/autodiff/Losses.h"

#include "dialects/ingot/builders/Arithmetic.h"
#include <numeric>

using namespace mlir;
using namespace ingot;

/// The numbers as a constant of the element type.
static Value makeConstant(OpBuilder &builder, Location loc,
                          ArrayRef<double> numbers, Type element) {
  auto type =
      RankedTensorType::get({static_cast<int64_t>(numbers.size())}, element);
  SmallVector<APFloat> values;
  for (double number : numbers) {
    values.emplace_back(number);
    bool isInexact = false;
    values.back().convert(cast<FloatType>(element).getFloatSemantics(),
                          APFloat::rmNearestTiesToEven, &isInexact);
  }
  return ConstantOp::create(builder, loc, type,
                            DenseElementsAttr::get(type, values));
}

/// (1 - p)^exponent. A probability of 1 has a derivative, which is 0, for
/// exponents below 1 too.
static Value focalFactor(Arithmetic a, Value p, double exponent) {
  constexpr double least = 1e-20;
  Value rest = a.max(a.sub(1.0, p), least);
  if (exponent == 1)
    return rest;
  return exponent == 2 ? a.square(rest)
                       : a.pow(rest, a.constantLike(rest, exponent));
}

namespace {
/// The parts of one loss over an output.
struct TermBuilder {
  OpBuilder &builder;
  Location loc;
  Arithmetic a;
  const Loss &loss;
  Value output;
  Type element;

  TermBuilder(OpBuilder &builder, Location loc, const Loss &loss, Value output)
      : builder(builder), loc(loc), a(builder, loc), loss(loss), output(output),
        element(tensorType(output).getElementType()) {}

  LossTerms crossEntropy(Value labels);
  LossTerms negativeLogLikelihood(Value labels);
  Value spreadEvenly(Value lse);
  Value bceWithLogits(Value y);
  Value huber(Value error);
  Value kullbackLeibler(Value target);

private:
  void weigh(LossTerms &terms, Value labels);
};
} // namespace

/// The mean over the classes of the losses that they would have as labels, each
/// with its weight. As in PyTorch, the weights of a class are part of it.
Value TermBuilder::spreadEvenly(Value lse) {
  auto classes = static_cast<double>(tensorType(output).getDimSize(loss.axis));
  if (loss.weights.empty())
    return a.sub(lse, a.mul(a.sum(output, loss.axis), 1 / classes));
  Value weights = a.broadcast(makeConstant(builder, loc, loss.weights, element),
                              tensorType(output).getShape(), {loss.axis});
  double total = std::accumulate(loss.weights.begin(), loss.weights.end(), 0.0);
  return a.mul(
      a.sub(a.mul(lse, total), a.sum(a.mul(output, weights), loss.axis)),
      1 / classes);
}

/// Multiplies the losses by the weights of the labels' classes, if there are
/// some.
void TermBuilder::weigh(LossTerms &terms, Value labels) {
  if (loss.weights.empty())
    return;
  // The index that is ignored is clamped like any other.
  Value weights = GatherOp::create(
      builder, loc, withElement(tensorType(labels), element),
      makeConstant(builder, loc, loss.weights, element), labels, 0);
  terms.weights = a.select(terms.counted, weights, 0.0);
  terms.losses = a.mul(terms.losses, terms.weights);
}

LossTerms TermBuilder::crossEntropy(Value labels) {
  RankedTensorType type = withElement(tensorType(labels), element);
  auto op = CrossEntropyOp::create(builder, loc, TypeRange{type, type}, output,
                                   labels, loss.axis, loss.ignored);
  LossTerms terms;
  terms.losses = op.getLosses();
  terms.counted =
      a.compare(Predicate::NE, labels, static_cast<double>(loss.ignored));
  if (loss.focal != 0)
    terms.losses = a.mul(
        terms.losses, focalFactor(a, a.exp(a.neg(terms.losses)), loss.focal));
  weigh(terms, labels);
  if (loss.smoothing != 0)
    terms.losses =
        a.add(a.mul(terms.losses, 1 - loss.smoothing),
              a.select(terms.counted,
                       a.mul(spreadEvenly(op.getLse()), loss.smoothing), 0.0));
  return terms;
}

/// The output at the label, which is no class, or one that is left out, where
/// it is ignored.
LossTerms TermBuilder::negativeLogLikelihood(Value labels) {
  RankedTensorType type = tensorType(output);
  Value classes = a.iota(withElement(type, builder.getI64Type()), loss.axis);
  Value isLabel =
      a.compare(Predicate::EQ, classes,
                a.broadcastOver(labels, type.getShape(), {loss.axis}));
  LossTerms terms;
  terms.losses = a.neg(a.sum(a.select(isLabel, output, 0.0), {loss.axis}));
  terms.counted =
      a.compare(Predicate::NE, labels, static_cast<double>(loss.ignored));
  if (loss.ignored >= 0)
    terms.losses = a.select(terms.counted, terms.losses, 0.0);
  weigh(terms, labels);
  return terms;
}

/// With d the threshold and m = min(|e|, d): m^2 / 2 + d (|e| - m), so that an
/// infinite error has the derivative d.
Value TermBuilder::huber(Value error) {
  Value size = a.abs(error);
  Value square = a.min(size, loss.threshold);
  return a.add(a.mul(a.square(square), 0.5),
               a.mul(a.sub(size, square), loss.threshold));
}

/// t (log t - x), where 0 log 0 is 0. PyTorch's `batchmean` is the sum over the
/// first dimension's number of elements: terms are multiplied by the number of
/// elements of a sample, of which the mean is taken.
Value TermBuilder::kullbackLeibler(Value target) {
  Value entropy = a.select(a.compare(Predicate::EQ, target, 0.0), target,
                           a.mul(target, a.log(target)));
  RankedTensorType type = tensorType(output);
  int64_t samples = std::max<int64_t>(type.getDimSize(0), 1);
  return a.mul(a.sub(entropy, a.mul(target, output)),
               static_cast<double>(type.getNumElements() / samples));
}

/// max(x, 0) - x y + log(1 + exp(-|x|)): neither overflows nor cancels for y =
/// 0 and y = 1. The absolute value is a selection, not `abs`, so that the
/// derivative at x = 0, where logits often start, is 1/2 - y.
///
/// A weight w of positive labels makes it x (1 - y) + (1 + (w - 1) y)
/// (log(1 + exp(-|x|)) + max(-x, 0)).
Value TermBuilder::bceWithLogits(Value y) {
  Value x = output;
  Value minusAbs = a.select(a.compare(Predicate::GT, x, 0.0), a.neg(x), x);
  Value logTerm = a.log1p(a.exp(minusAbs));
  Value losses;
  if (loss.weights.empty()) {
    losses = a.add(a.sub(a.max(x, 0.0), a.mul(x, y)), logTerm);
  } else {
    SmallVector<double> more;
    for (double weight : loss.weights)
      more.push_back(weight - 1);
    Value factor;
    if (more.size() == 1) {
      factor = a.mul(y, more.front());
    } else {
      ArrayRef<int64_t> shape = tensorType(x).getShape();
      factor =
          a.mul(y, a.broadcast(makeConstant(builder, loc, more, element), shape,
                               {static_cast<int64_t>(shape.size()) - 1}));
    }
    losses =
        a.add(a.mul(x, a.sub(1.0, y)),
              a.mul(a.add(factor, 1.0), a.add(logTerm, a.max(a.neg(x), 0.0))));
  }
  if (loss.focal != 0) {
    // The probability of the label, p y + (1 - p) (1 - y).
    Value p = LogisticOp::create(builder, loc, x.getType(), x);
    Value right = a.add(a.mul(p, y), a.mul(a.sub(1.0, p), a.sub(1.0, y)));
    losses = a.mul(losses, focalFactor(a, right, loss.focal));
  }
  if (loss.alpha)
    losses =
        a.mul(losses, a.add(a.mul(y, 2 * *loss.alpha - 1), 1 - *loss.alpha));
  return losses;
}

LossTerms ingot::buildLossTerms(OpBuilder &builder, Location loc,
                                const Loss &loss, Value output, Value labels,
                                bool wantCorrect) {
  Arithmetic a(builder, loc);
  // Losses are sums of many small terms: 16-bit precision is not enough.
  Type element = tensorType(output).getElementType();
  if (cast<FloatType>(element).getWidth() < 32)
    element = builder.getF32Type();
  TermBuilder term(builder, loc, loss, a.cast(output, element));

  auto error = [&] { return a.sub(term.output, a.cast(labels, element)); };
  LossTerms terms;
  switch (loss.kind) {
  case Loss::CrossEntropy:
    terms = term.crossEntropy(labels);
    break;
  case Loss::NegativeLogLikelihood:
    terms = term.negativeLogLikelihood(labels);
    break;
  case Loss::MeanSquaredError:
    terms.losses = a.square(error());
    break;
  case Loss::AbsoluteError:
    terms.losses = a.abs(error());
    break;
  case Loss::Huber:
    terms.losses = term.huber(error());
    break;
  case Loss::SmoothAbsoluteError:
    terms.losses = loss.threshold == 0
                       ? a.abs(error())
                       : a.mul(term.huber(error()), 1 / loss.threshold);
    break;
  case Loss::KullbackLeibler:
    terms.losses = term.kullbackLeibler(a.cast(labels, element));
    break;
  case Loss::BceWithLogits:
    terms.losses = term.bceWithLogits(a.cast(labels, element));
    break;
  case Loss::Output:
    llvm_unreachable("an output that is the loss has no terms");
  }
  if (wantCorrect && loss.hasClasses()) {
    Value predicted = ArgMaxOp::create(builder, loc, labels.getType(),
                                       term.output, loss.axis);
    terms.correct = a.compare(Predicate::EQ, predicted, labels);
  }
  return terms;
}
