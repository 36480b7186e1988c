// SPDX-License-Identifier: Apache-2.0

#include "passes/autodiff/Losses.h"

#include "dialects/ingot/builders/Builders.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace mlir;
using namespace ingot;

namespace {
/// Properties of a kind of loss.
struct KnownLoss {
  StringLiteral name;
  Loss::Labels labels;
  /// The settings after the colon, as help writes them.
  StringLiteral settings;
};
} // namespace

/// In the order of Loss::Kind; `output` is the last.
static constexpr KnownLoss kLosses[] = {
    {"cross-entropy", Loss::Labels::Classes,
     "AXIS, ignore, smoothing, weights and focal"},
    {"nll", Loss::Labels::Classes, "AXIS, ignore and weights"},
    {"mse", Loss::Labels::Values, ""},
    {"l1", Loss::Labels::Values, ""},
    {"huber", Loss::Labels::Values, "DELTA"},
    {"smooth-l1", Loss::Labels::Values, "BETA"},
    {"kl-div", Loss::Labels::Distributions, ""},
    {"bce-with-logits", Loss::Labels::Probabilities,
     "focal, alpha and pos-weight"},
    {"output", Loss::Labels::None, ""}};

/// Other names of the same losses, without what `simplify` leaves out.
static constexpr std::pair<StringLiteral, Loss::Kind> kAliases[] = {
    {"ce", Loss::CrossEntropy},
    {"softmaxcrossentropy", Loss::CrossEntropy},
    {"negativeloglikelihood", Loss::NegativeLogLikelihood},
    {"meansquarederror", Loss::MeanSquaredError},
    {"mae", Loss::AbsoluteError},
    {"meanabsoluteerror", Loss::AbsoluteError},
    {"kl", Loss::KullbackLeibler},
    {"kldivergence", Loss::KullbackLeibler},
    {"binarycrossentropywithlogits", Loss::BceWithLogits}};

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

/// The name without what spellings differ in: capitals, hyphens, and the word
/// "loss" at the end, as in CrossEntropyLoss, cross_entropy and cross-entropy.
static std::string simplify(StringRef name) {
  std::string plain = name.lower();
  llvm::erase_if(plain, [](char c) { return c == '-' || c == '_'; });
  StringRef text = plain;
  text.consume_back("loss");
  return text.str();
}

/// Returns the kind of loss that the name means.
static std::optional<Loss::Kind> findKind(StringRef name) {
  std::string plain = simplify(name);
  for (auto [i, known] : llvm::enumerate(ArrayRef(kLosses).drop_back()))
    if (simplify(known.name) == plain)
      return static_cast<Loss::Kind>(i);
  for (auto [alias, kind] : kAliases)
    if (alias == plain)
      return kind;
  return std::nullopt;
}

/// Reads one of the settings after the colon.
static llvm::Error readSetting(Loss &loss, StringRef setting) {
  auto [key, text] = setting.split('=');
  bool isCrossEntropy = loss.kind == Loss::CrossEntropy;
  bool isBce = loss.kind == Loss::BceWithLogits;
  bool isHuber = loss.kind == Loss::Huber;
  if ((isHuber || loss.kind == Loss::SmoothAbsoluteError) &&
      !setting.contains('=')) {
    StringRef name = isHuber ? "DELTA" : "BETA";
    if (llvm::Error error = readNumber(name, setting, 0, loss.threshold))
      return error;
    return isHuber && loss.threshold == 0
               ? problem("DELTA must be above 0, got {0}", setting)
               : llvm::Error::success();
  }
  if (loss.hasClasses() && !setting.contains('=')) {
    loss.hasAxis = true;
    if (setting.getAsInteger(10, loss.axis))
      return problem("'{0}' is not an axis", setting);
    return llvm::Error::success();
  }
  if (loss.hasClasses() && key == "ignore") {
    // Labels are compared as numbers that doubles have.
    constexpr int64_t most = int64_t(1) << 53;
    if (text.getAsInteger(10, loss.ignored) || loss.ignored > most ||
        loss.ignored < -most)
      return problem("'{0}' of ignore is not an integer", text);
    return llvm::Error::success();
  }
  if (key == "focal" && (isCrossEntropy || isBce))
    return readNumber(key, text, 0, loss.focal);
  if (key == "smoothing" && isCrossEntropy) {
    if (llvm::Error error = readNumber(key, text, 0, loss.smoothing))
      return error;
    return loss.smoothing < 1
               ? llvm::Error::success()
               : problem("smoothing must be below 1, got {0}", text);
  }
  if (key == "alpha" && isBce) {
    double alpha = 0;
    if (llvm::Error error = readNumber(key, text, 0, alpha))
      return error;
    loss.alpha = alpha;
    return alpha <= 1 ? llvm::Error::success()
                      : problem("alpha must not be above 1, got {0}", text);
  }
  if ((key == "weights" && loss.hasClasses()) ||
      (key == "pos-weight" && isBce)) {
    SmallVector<StringRef> parts;
    text.split(parts, '/');
    loss.weights.clear();
    for (StringRef part : parts)
      if (llvm::Error error =
              readNumber(key, part, 0, loss.weights.emplace_back()))
        return error;
    return llvm::Error::success();
  }
  StringRef known = kLosses[loss.kind].settings;
  return problem("unknown setting '{0}', the loss has {1}", key,
                 known.empty() ? "none" : known);
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
  std::optional<Kind> kind = findKind(name);
  if (!kind) {
    std::string plain = simplify(name);
    bool isOfProbabilities = plain == "bce" || plain == "binarycrossentropy";
    return problem("unknown loss '{0}'{1}", whole,
                   isOfProbabilities ? ": bce-with-logits takes the output "
                                       "before the sigmoid"
                                     : "");
  }
  loss.kind = *kind;
  SmallVector<StringRef> settings;
  // Either sign is between settings, as in `cross-entropy:1:ignore=255`.
  std::string plain = argument.str();
  std::replace(plain.begin(), plain.end(), ':', ',');
  if (hasArgument)
    StringRef(plain).split(settings, ',');
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

std::string Loss::listNames() {
  return "cross-entropy[:AXIS], nll[:AXIS], mse, l1, smooth-l1[:BETA], "
         "huber[:DELTA], kl-div, bce-with-logits or output:NAME";
}

StringRef Loss::getName() const { return kLosses[kind].name; }

Loss::Labels Loss::getLabels() const { return kLosses[kind].labels; }

std::string Loss::str() const {
  std::string text = factor == 1 ? "" : printNumber(factor) + "*";
  if (kind == Output)
    return text + "output:" + output;
  SmallVector<std::string> settings;
  if (hasClasses())
    settings.push_back(std::to_string(axis));
  if (kind == Huber || kind == SmoothAbsoluteError)
    settings.push_back(printNumber(threshold));
  if (hasClasses() && ignored != kIgnoredLabel)
    settings.push_back("ignore=" + std::to_string(ignored));
  if (smoothing != 0)
    settings.push_back("smoothing=" + printNumber(smoothing));
  if (focal != 0)
    settings.push_back("focal=" + printNumber(focal));
  if (alpha)
    settings.push_back("alpha=" + printNumber(*alpha));
  if (!weights.empty())
    settings.push_back((hasClasses() ? "weights=" : "pos-weight=") +
                       llvm::join(llvm::map_range(weights, printNumber), "/"));
  text += getName();
  if (!settings.empty())
    text += ":" + llvm::join(settings, ",");
  return output.empty() ? text : text + "@" + output;
}

LossTermAttr Loss::describe(MLIRContext *context, StringRef labels) const {
  bool isOfGraph = kind == Output;
  auto weight = factor == 1 ? FloatAttr()
                            : FloatAttr::get(Float64Type::get(context), factor);
  bool areProbabilities = getLabels() == Labels::Probabilities ||
                          getLabels() == Labels::Distributions;
  return LossTermAttr::get(context, getName(), weight, output,
                           isOfGraph ? StringRef() : labels,
                           hasClasses() ? std::optional(axis) : std::nullopt,
                           areProbabilities, isOfGraph);
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
  if (!hasClasses() || hasAxis || rank <= 2)
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
  case NegativeLogLikelihood:
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
  case KullbackLeibler:
    if (type.getRank() == 0)
      return problem("the output {0} has no distributions", type);
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
  if (hasClasses())
    return withElement(dropDims(type, axis),
                       IntegerType::get(type.getContext(), 64));
  return type;
}
