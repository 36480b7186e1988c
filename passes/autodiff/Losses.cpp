// SPDX-License-Identifier: Apache-2.0

#include "passes/autodiff/Losses.h"

#include "dialects/ingot/builders/Arithmetic.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace ingot;

/// PyTorch's index of labels that do not count.
static constexpr int64_t kIgnoreIndex = -100;

template <typename... Args>
static llvm::Error problem(const char *format, Args &&...args) {
  return llvm::createStringError(
      llvm::formatv(format, std::forward<Args>(args)...).str());
}

llvm::Expected<Loss> Loss::parse(StringRef text) {
  auto [name, argument] = text.split(':');
  bool hasArgument = name.size() != text.size();
  if (name == "cross-entropy") {
    Loss loss{CrossEntropy};
    loss.hasAxis = hasArgument;
    if (hasArgument && argument.getAsInteger(10, loss.axis))
      return problem("'{0}' is not an axis", argument);
    return loss;
  }
  if (name == "output") {
    if (argument.empty())
      return problem("'output' without the name of an output");
    return Loss{Output, -1, /*hasAxis=*/false, argument.str()};
  }
  if (!hasArgument && name == "mse")
    return Loss{MeanSquaredError};
  if (!hasArgument && name == "bce-with-logits")
    return Loss{BceWithLogits};
  return problem("unknown loss '{0}'", text);
}

std::string Loss::str() const {
  switch (kind) {
  case CrossEntropy:
    return llvm::formatv("cross-entropy:{0}", axis).str();
  case MeanSquaredError:
    return "mse";
  case BceWithLogits:
    return "bce-with-logits";
  case Output:
    return "output:" + output;
  }
  llvm_unreachable("every kind returns");
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

/// max(x, 0) - x y + log(1 + exp(-|x|)): neither overflows nor cancels for y =
/// 0 and y = 1. The absolute value is a selection, not `abs`, so that the
/// derivative at x = 0, where logits often start, is 1/2 - y.
static Value bceWithLogits(Arithmetic a, Value x, Value y) {
  Value minusAbs = a.select(a.compare(Predicate::GT, x, 0.0), a.neg(x), x);
  return a.add(a.sub(a.max(x, 0.0), a.mul(x, y)), a.log1p(a.exp(minusAbs)));
}

LossTerms ingot::buildLossTerms(OpBuilder &builder, Location loc,
                                const Loss &loss, Value output, Value labels,
                                bool wantCorrect) {
  Arithmetic a(builder, loc);
  // Losses are sums of many small terms: 16-bit precision is not enough.
  Type element = tensorType(output).getElementType();
  if (cast<FloatType>(element).getWidth() < 32)
    element = builder.getF32Type();
  output = a.cast(output, element);

  LossTerms terms;
  switch (loss.kind) {
  case Loss::CrossEntropy: {
    RankedTensorType type = withElement(tensorType(labels), element);
    auto op = CrossEntropyOp::create(builder, loc, TypeRange{type, type},
                                     output, labels, loss.axis, kIgnoreIndex);
    terms.losses = op.getLosses();
    terms.counted =
        a.compare(Predicate::NE, labels, static_cast<double>(kIgnoreIndex));
    if (wantCorrect) {
      Value predicted =
          ArgMaxOp::create(builder, loc, labels.getType(), output, loss.axis);
      terms.correct = a.compare(Predicate::EQ, predicted, labels);
    }
    return terms;
  }
  case Loss::MeanSquaredError:
    terms.losses = a.square(a.sub(output, a.cast(labels, element)));
    return terms;
  case Loss::BceWithLogits:
    terms.losses = bceWithLogits(a, output, a.cast(labels, element));
    return terms;
  case Loss::Output:
    break;
  }
  llvm_unreachable("an output that is the loss has no terms");
}
