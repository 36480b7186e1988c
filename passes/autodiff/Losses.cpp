// SPDX-License-Identifier: Apache-2.0

#include "passes/autodiff/Losses.h"

#include "dialects/ingot/builders/Arithmetic.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>
#include <numeric>

using namespace mlir;
using namespace ingot;

/// PyTorch's index of labels that do not count.
static constexpr int64_t kIgnoreIndex = -100;

template <typename... Args>
static llvm::Error problem(const char *format, Args &&...args) {
  return llvm::createStringError(
      llvm::formatv(format, std::forward<Args>(args)...).str());
}

/// Reads a number that is not below `least`.
static llvm::Error readNumber(StringRef key, StringRef text, double least,
                              double &value) {
  if (!llvm::to_float(text, value) || !std::isfinite(value))
    return problem("'{0}' of {1} is not a number", text, key);
  if (value < least)
    return problem("{0} must not be below {1}, got {2}", key, least, text);
  return llvm::Error::success();
}

/// Reads one of the settings after the colon of a cross entropy or bce.
static llvm::Error readSetting(Loss &loss, StringRef setting) {
  auto [key, text] = setting.split('=');
  bool isCrossEntropy = loss.kind == Loss::CrossEntropy;
  if (isCrossEntropy && !setting.contains('=')) {
    loss.hasAxis = true;
    if (setting.getAsInteger(10, loss.axis))
      return problem("'{0}' is not an axis", setting);
    return llvm::Error::success();
  }
  if (key == "focal")
    return readNumber(key, text, 0, loss.focal);
  if (key == "smoothing" && isCrossEntropy) {
    if (llvm::Error error = readNumber(key, text, 0, loss.smoothing))
      return error;
    return loss.smoothing < 1
               ? llvm::Error::success()
               : problem("smoothing must be below 1, got {0}", text);
  }
  if (key == "alpha" && !isCrossEntropy) {
    double alpha = 0;
    if (llvm::Error error = readNumber(key, text, 0, alpha))
      return error;
    loss.alpha = alpha;
    return alpha <= 1 ? llvm::Error::success()
                      : problem("alpha must not be above 1, got {0}", text);
  }
  if (key == (isCrossEntropy ? "weights" : "pos-weight")) {
    SmallVector<StringRef> parts;
    text.split(parts, '/');
    loss.weights.clear();
    for (StringRef part : parts)
      if (llvm::Error error =
              readNumber(key, part, 0, loss.weights.emplace_back()))
        return error;
    return llvm::Error::success();
  }
  return problem("unknown setting '{0}', the loss has {1}", key,
                 isCrossEntropy ? "AXIS, smoothing, weights and focal"
                                : "focal, alpha and pos-weight");
}

llvm::Expected<Loss> Loss::parse(StringRef text) {
  Loss loss{Output};
  auto [factor, rest] = text.split('*');
  StringRef whole = text;
  if (rest.data() && !text.starts_with("output:")) {
    if (llvm::Error error =
            readNumber("the factor of a loss", factor, -HUGE_VAL, loss.factor))
      return error;
    text = rest;
  }
  auto [name, argument] = text.split(':');
  if (name == "output") {
    if (argument.empty())
      return problem("'output' without the name of an output");
    loss.output = argument.str();
    return loss;
  }
  bool hasOutput = text.contains('@');
  auto [head, output] = text.split('@');
  std::tie(name, argument) = head.split(':');
  bool hasArgument = name.size() != head.size();
  if (hasOutput && output.empty())
    return problem("'{0}' without the name of an output after '@'", whole);
  loss.output = output.str();
  if (name == "mse" && !hasArgument) {
    loss.kind = MeanSquaredError;
    return loss;
  }
  if (name != "cross-entropy" && name != "bce-with-logits")
    return problem("unknown loss '{0}'", whole);
  loss.kind = name == "cross-entropy" ? CrossEntropy : BceWithLogits;
  SmallVector<StringRef> settings;
  if (hasArgument)
    argument.split(settings, ',');
  for (StringRef setting : settings)
    if (llvm::Error error = readSetting(loss, setting))
      return error;
  if (loss.smoothing != 0 && loss.focal != 0)
    return problem("smoothing and focal exclude each other");
  if (loss.alpha && loss.focal == 0)
    return problem("alpha without focal");
  return loss;
}

llvm::Expected<std::vector<Loss>> Loss::parseSum(StringRef text) {
  // The names of outputs may have the sign themselves.
  SmallVector<StringRef> terms = {text};
  if (!text.starts_with("output:")) {
    terms.clear();
    text.split(terms, '+');
  }
  std::vector<Loss> losses;
  for (StringRef term : terms) {
    llvm::Expected<Loss> loss = parse(term.trim());
    if (!loss)
      return loss.takeError();
    losses.push_back(*loss);
  }
  return losses;
}

static std::string printNumber(double value) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.9g", value);
  return text;
}

std::string Loss::str() const {
  std::string text = factor == 1 ? "" : printNumber(factor) + "*";
  if (kind == Output)
    return text + "output:" + output;
  SmallVector<std::string> settings;
  if (kind == CrossEntropy)
    settings.push_back(std::to_string(axis));
  if (smoothing != 0)
    settings.push_back("smoothing=" + printNumber(smoothing));
  if (focal != 0)
    settings.push_back("focal=" + printNumber(focal));
  if (alpha)
    settings.push_back("alpha=" + printNumber(*alpha));
  if (!weights.empty())
    settings.push_back((kind == CrossEntropy ? "weights=" : "pos-weight=") +
                       llvm::join(llvm::map_range(weights, printNumber), "/"));
  text += kind == CrossEntropy       ? "cross-entropy"
          : kind == MeanSquaredError ? "mse"
                                     : "bce-with-logits";
  if (!settings.empty())
    text += ":" + llvm::join(settings, ",");
  return output.empty() ? text : text + "@" + output;
}

/// The axes in words, as in "1 and 2".
static std::string listAxes(ArrayRef<int64_t> axes) {
  std::string text;
  for (auto [i, axis] : llvm::enumerate(axes)) {
    if (i > 0)
      text += i + 1 == axes.size() ? " and " : ", ";
    text += std::to_string(axis);
  }
  return text;
}

llvm::Error Loss::inferAxis(RankedTensorType output,
                            ArrayRef<RankedTensorType> inputs) {
  int64_t rank = output.getRank();
  if (kind != CrossEntropy || hasAxis || rank <= 2)
    return llvm::Error::success();
  SmallVector<int64_t> fitting;
  for (int64_t candidate = 1; candidate < rank; ++candidate) {
    RankedTensorType labels = dropDims(output, candidate);
    bool fits = llvm::any_of(inputs, [&](RankedTensorType input) {
      return input.getShape() == labels.getShape() ||
             (input.getRank() == rank &&
              dropDims(input, candidate).getShape() == labels.getShape());
    });
    if (fits)
      fitting.push_back(candidate);
  }
  // Labels of one shape fit either axis, and would not tell them apart.
  if (fitting.empty() &&
      dropDims(output, 1).getShape() == dropDims(output, rank - 1).getShape())
    fitting = {1, rank - 1};
  if (fitting.size() > 1)
    return problem("the classes of the output {0} may be along axes {1}",
                   output, listAxes(fitting));
  axis = fitting.empty() ? rank - 1 : fitting.front();
  return llvm::Error::success();
}

llvm::Error Loss::resolve(RankedTensorType type) {
  if (!isa<FloatType>(type.getElementType()))
    return problem("the loss needs a floating-point output, not {0}", type);
  switch (kind) {
  case CrossEntropy:
    if (axis < -type.getRank() || axis >= type.getRank())
      return problem("axis {0} of the loss is not an axis of the output {1}",
                     axis, type);
    if (axis < 0)
      axis += type.getRank();
    if (axis == 0)
      return problem("axis 0 of the output {0} counts the samples, not classes",
                     type);
    if (type.getDimSize(axis) == 1)
      return problem("the output {0} has one class along axis {1}, so that the "
                     "loss is always 0",
                     type, axis);
    if (type.getDimSize(axis) == 0)
      return problem("the output {0} has no classes along axis {1}", type,
                     axis);
    if (!weights.empty() &&
        static_cast<int64_t>(weights.size()) != type.getDimSize(axis))
      return problem("the loss has {0} weights, and the output {1} has {2} "
                     "classes along axis {3}",
                     weights.size(), type, type.getDimSize(axis), axis);
    return llvm::Error::success();
  case BceWithLogits:
    if (weights.size() > 1 &&
        (type.getRank() == 0 ||
         static_cast<int64_t>(weights.size()) != type.getShape().back()))
      return problem("the loss has {0} weights, which the last axis of the "
                     "output {1} has not",
                     weights.size(), type);
    return llvm::Error::success();
  case Output:
    if (type.getNumElements() != 1)
      return problem("output '{0}' is not a scalar but {1}", output, type);
    return llvm::Error::success();
  default:
    return llvm::Error::success();
  }
}

RankedTensorType Loss::labelsType(RankedTensorType type) const {
  if (kind == CrossEntropy)
    return withElement(dropDims(type, axis),
                       IntegerType::get(type.getContext(), 64));
  return type;
}

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

  LossTerms crossEntropy(Value labels, bool wantCorrect);
  Value spreadEvenly(Value lse);
  Value bceWithLogits(Value y);
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

LossTerms TermBuilder::crossEntropy(Value labels, bool wantCorrect) {
  RankedTensorType type = withElement(tensorType(labels), element);
  auto op = CrossEntropyOp::create(builder, loc, TypeRange{type, type}, output,
                                   labels, loss.axis, kIgnoreIndex);
  LossTerms terms;
  terms.losses = op.getLosses();
  terms.counted =
      a.compare(Predicate::NE, labels, static_cast<double>(kIgnoreIndex));
  if (loss.focal != 0)
    terms.losses = a.mul(
        terms.losses, focalFactor(a, a.exp(a.neg(terms.losses)), loss.focal));
  if (!loss.weights.empty()) {
    // The index that is ignored is clamped like any other.
    Value weights = GatherOp::create(
        builder, loc, type, makeConstant(builder, loc, loss.weights, element),
        labels, 0);
    terms.weights = a.select(terms.counted, weights, 0.0);
    terms.losses = a.mul(terms.losses, terms.weights);
  }
  if (loss.smoothing != 0)
    terms.losses =
        a.add(a.mul(terms.losses, 1 - loss.smoothing),
              a.select(terms.counted,
                       a.mul(spreadEvenly(op.getLse()), loss.smoothing), 0.0));
  if (wantCorrect) {
    Value predicted =
        ArgMaxOp::create(builder, loc, labels.getType(), output, loss.axis);
    terms.correct = a.compare(Predicate::EQ, predicted, labels);
  }
  return terms;
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

  LossTerms terms;
  switch (loss.kind) {
  case Loss::CrossEntropy:
    return term.crossEntropy(labels, wantCorrect);
  case Loss::MeanSquaredError:
    terms.losses = a.square(a.sub(term.output, a.cast(labels, element)));
    return terms;
  case Loss::BceWithLogits:
    terms.losses = term.bceWithLogits(a.cast(labels, element));
    return terms;
  case Loss::Output:
    break;
  }
  llvm_unreachable("an output that is the loss has no terms");
}
