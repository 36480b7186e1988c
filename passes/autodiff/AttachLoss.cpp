// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// AttachLoss: @forward becomes @train_step, @eval_step and @predict.
//
// Assumes the module conventions of the dialect: data inputs before states,
// outputs before updated states.
//
//===----------------------------------------------------------------------===//

#include "passes/autodiff/Passes.h"

#include "dialects/ingot/builders/Arithmetic.h"
#include "dialects/ingot/ir/Diagnostics.h"
#include "dialects/ingot/ir/InputAttributes.h"
#include "dialects/ingot/ir/Quantizers.h"
#include "dialects/ingot/ir/Signature.h"
#include "dialects/ingot/ir/Teacher.h"
#include "dialects/ingot/support/InferenceForms.h"
#include "dialects/ingot/support/Remarks.h"
#include "passes/autodiff/Distillation.h"
#include "passes/autodiff/Losses.h"
#include "passes/autodiff/Metrics.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"

namespace ingot {
#define GEN_PASS_DEF_ATTACHLOSS
#include "passes/autodiff/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;

/// The name and the kind of the input that says which samples of an evaluation
/// count.
static constexpr StringLiteral kValidName = "valid";

/// Returns the hint of errors about a loss that cannot be used.
static std::string getLossHint() {
  return "choose with --loss " + Loss::listNames() +
         "; any other loss goes into the module, as an output that "
         "output:NAME names";
}

namespace {
/// The loss, and the result of @forward that it is computed from.
struct LossOfResult {
  Loss loss;
  unsigned result;
};

using Terms = SmallVector<LossOfResult>;

struct AttachLoss : public ingot::impl::AttachLossBase<AttachLoss> {
  using AttachLossBase::AttachLossBase;

  void runOnOperation() override;

private:
  /// Returns the terms of the loss.
  FailureOr<Terms> chooseLoss(Signature forward);
  FailureOr<LossOfResult> chooseResult(Signature forward, Loss term,
                                       ArrayRef<unsigned> outputs);
  LogicalResult chooseMetrics(const Loss &first);
  LogicalResult chooseDistillation(Signature forward, const Terms &terms);
  LogicalResult checkLabels(Signature forward, const Terms &terms);
  /// Creates the functions beside a @train_step that was imported with its
  /// backward pass.
  LogicalResult completeImported(func::FuncOp train, func::FuncOp forward);
  void buildTrainStep(Signature step, const Terms &terms);
  void buildEvalStep(Signature step, const Terms &terms,
                     StringRef labelsName = "");
  void evaluateTerm(Signature step, const LossOfResult &term, unsigned number,
                    Value output, StringRef labelsName, ResultList &results);

  MetricNames wanted;
  std::optional<Distillation> distillation;
};
} // namespace

//===----------------------------------------------------------------------===//
// The choice of the loss
//===----------------------------------------------------------------------===//

/// Says which axis was taken for that of the classes, where users of other
/// frameworks may expect another one.
static void noteAxis(MLIRContext *context, const Loss &loss, StringRef output,
                     RankedTensorType type) {
  if (!loss.hasClasses() || loss.hasAxis || type.getRank() <= 2)
    return;
  Location where = NameLoc::get(StringAttr::get(context, "--loss"));
  context->getDiagEngine().emit(where, DiagnosticSeverity::Note)
      << loss.getName() << " over axis " << loss.axis << " of '" << output
      << "': " << type << " has labels " << loss.labelsType(type) << "; "
      << loss.getName() << ":AXIS names another one";
}

/// The types of the inputs that hold data.
static SmallVector<RankedTensorType> dataTypes(Signature forward) {
  SmallVector<RankedTensorType> types;
  for (unsigned i = 0; i < forward.numInputs(); ++i)
    if (forward.argumentKind(i) == "data")
      types.push_back(tensorType(forward.getFunction().getArgument(i)));
  return types;
}

/// Returns the hint of errors about a loss that exists, but not for this
/// output.
static std::string hintFor(const Loss &loss, RankedTensorType type) {
  if (!loss.hasClasses() || !isa<FloatType>(type.getElementType()))
    return getLossHint();
  std::string name = loss.getName().str();
  if (type.getRank() < 2)
    return name + " takes an output [samples, classes]";
  if (type.getRank() > 2 && !loss.hasAxis)
    return "choose with --loss " + name + ":AXIS: PyTorch's is " + name +
           ":1, that of tokens " + name + ":" +
           std::to_string(type.getRank() - 1);
  if (type.getDimSize(1) == 1)
    return "use bce-with-logits for one logit per sample";
  return "choose an axis of at least two classes with --loss " + name + ":AXIS";
}

/// The results that are the model's outputs, not updated states.
static SmallVector<unsigned> modelOutputs(Signature forward) {
  SmallVector<unsigned> outputs;
  for (unsigned i = 0; i < forward.getReturn()->getNumOperands(); ++i)
    if (!forward.resultState(i) && !isPaired(forward.resultName(i)) &&
        !forward.getFunction().getResultAttr(i, kObservedAttr))
      outputs.push_back(i);
  return outputs;
}

/// Whether a loss can be an output of the type itself.
static bool isLossType(RankedTensorType type) {
  return isa<FloatType>(type.getElementType()) && type.getNumElements() == 1;
}

static std::string quotedNames(Signature forward, ArrayRef<unsigned> outputs) {
  std::string names;
  llvm::raw_string_ostream os(names);
  llvm::interleaveComma(outputs, os, [&](unsigned output) {
    os << "'" << forward.resultName(output) << "'";
  });
  return names;
}

FailureOr<Terms> AttachLoss::chooseLoss(Signature forward) {
  Location loc = forward.getFunction().getLoc();
  auto emitLossError = [&](const Twine &what, const Twine &hint) {
    return emitOptionError(&getContext(), "loss", what, hint);
  };
  SmallVector<unsigned> outputs = modelOutputs(forward);
  if (outputs.empty())
    return emitUserError(
        loc, "the model has no output",
        "give the model an output from which the loss is computed");
  auto typeOf = [&](unsigned output) {
    return tensorType(forward.getReturn()->getOperand(output));
  };

  if (loss.empty()) {
    Loss chosen{Loss::Output};
    unsigned result = outputs.front();
    RankedTensorType type = typeOf(result);
    if (outputs.size() != 1 || !isLossType(type)) {
      SmallVector<unsigned> scalars = llvm::filter_to_vector(
          outputs, [&](unsigned output) { return isLossType(typeOf(output)); });
      return scalars.empty()
                 ? emitLossError("no loss is given and the model does not "
                                 "compute one: its outputs are " +
                                     quotedNames(forward, outputs),
                                 getLossHint())
                 : emitLossError("no loss is given, and several outputs could "
                                 "be meant: " +
                                     quotedNames(forward, outputs),
                                 "choose --loss output:" +
                                     forward.resultName(scalars.front()) +
                                     (scalars.size() > 1
                                          ? ", or another scalar output"
                                          : "") +
                                     ", or a loss of the first output: " +
                                     Loss::listNames());
    }
    chosen.output = forward.resultName(result).str();
    return Terms{{chosen, result}};
  }
  llvm::Expected<std::vector<Loss>> parsed = Loss::parseSum(loss);
  if (!parsed)
    return emitLossError(llvm::toString(parsed.takeError()), getLossHint());
  Terms terms;
  for (const Loss &term : *parsed) {
    FailureOr<LossOfResult> chosen = chooseResult(forward, term, outputs);
    if (failed(chosen))
      return failure();
    terms.push_back(*chosen);
  }
  return terms;
}

FailureOr<LossOfResult> AttachLoss::chooseResult(Signature forward, Loss term,
                                                 ArrayRef<unsigned> outputs) {
  unsigned result = outputs.front();
  if (!term.output.empty()) {
    auto named = llvm::find_if(outputs, [&](unsigned output) {
      return forward.resultName(output) == term.output;
    });
    if (named == outputs.end())
      return emitOptionError(&getContext(), "loss",
                             "the model has no output '" + term.output + "'",
                             "its outputs are " +
                                 quotedNames(forward, outputs));
    result = *named;
  }
  RankedTensorType type = tensorType(forward.getReturn()->getOperand(result));
  llvm::Error error = term.inferAxis(type, dataTypes(forward));
  if (!error)
    error = term.resolve(type);
  if (error)
    return emitOptionError(&getContext(), "loss",
                           llvm::toString(std::move(error)),
                           hintFor(term, type));
  noteAxis(&getContext(), term, forward.resultName(result), type);
  return LossOfResult{term, result};
}

/// Metrics are those of the first term.
LogicalResult AttachLoss::chooseMetrics(const Loss &first) {
  llvm::Expected<MetricNames> parsed = parseMetrics(metrics, first);
  if (!parsed)
    return emitOptionError(&getContext(), "metrics",
                           llvm::toString(parsed.takeError()),
                           "leave out what the loss has not");
  wanted = std::move(*parsed);
  Builder builder(&getContext());
  for (auto [name, list] : {std::pair(kMetricsAttr, &wanted.evaluation),
                            std::pair(kTrainMetricsAttr, &wanted.training)})
    if (!list->empty())
      getOperation()->setAttr(
          name, builder.getStrArrayAttr(llvm::to_vector_of<StringRef>(*list)));
  return success();
}

/// A model learns from its teacher where it has classes.
LogicalResult AttachLoss::chooseDistillation(Signature forward,
                                             const Terms &terms) {
  auto hasClasses = [](const LossOfResult &term) {
    return term.loss.hasClasses();
  };
  const auto *found = llvm::find_if(terms, hasClasses);
  const LossOfResult &term = found == terms.end() ? terms.front() : *found;
  auto chosen = Distillation::choose(forward, distill, term.loss, term.result,
                                     /*isSum=*/terms.size() > 1);
  if (failed(chosen))
    return failure();
  distillation = *chosen;
  if (!distillation)
    return success();
  SmallVector<StringRef> names = llvm::to_vector_of<StringRef>(wanted.training);
  SmallVector<std::string> more = distillation->listMetrics();
  llvm::append_range(names, more);
  getOperation()->setAttr(kTrainMetricsAttr,
                          Builder(&getContext()).getStrArrayAttr(names));
  return success();
}

/// Labels are inputs of their own; terms may share them.
LogicalResult AttachLoss::checkLabels(Signature forward, const Terms &terms) {
  llvm::StringMap<RankedTensorType> types;
  for (const LossOfResult &term : terms) {
    if (term.loss.kind == Loss::Output)
      continue;
    std::string name = term.loss.labelsName();
    for (unsigned i = 0; i < forward.numInputs(); ++i)
      if (forward.argumentName(i) == name)
        return emitUserError(forward.getFunction().getLoc(),
                             "the model has an input '" + name + "' of its own",
                             "name the output that is the loss: --loss "
                             "output:NAME");
    RankedTensorType type = term.loss.labelsType(
        tensorType(forward.getReturn()->getOperand(term.result)));
    RankedTensorType &known = types[name];
    if (known && known != type)
      return emitOptionError(&getContext(), "loss",
                             "two terms take other labels from one input '" +
                                 name + "'",
                             "name their outputs, as in mse@OUTPUT: the labels "
                             "are labels_OUTPUT then");
    known = type;
  }
  return success();
}

static std::string describe(ArrayRef<LossOfResult> terms) {
  return llvm::join(
      llvm::map_range(terms,
                      [](const LossOfResult &term) { return term.loss.str(); }),
      "+");
}

/// States the loss on the module, for people and for the trainer. `labels` is
/// the name of the labels, if that is not what the loss calls them.
static void stateLoss(ModuleOp module, ArrayRef<LossOfResult> terms,
                      StringRef labels = "") {
  Builder builder(module.getContext());
  module->setAttr(kLossAttr, builder.getStringAttr(describe(terms)));
  auto described =
      llvm::map_to_vector(terms, [&](const LossOfResult &term) -> Attribute {
        return term.loss.describe(module.getContext(),
                                  labels.empty() ? term.loss.labelsName()
                                                 : labels.str());
      });
  module->setAttr(kLossTermsAttr, builder.getArrayAttr(described));
}

//===----------------------------------------------------------------------===//
// The functions
//===----------------------------------------------------------------------===//

static Signature cloneForward(func::FuncOp forward, StringRef name) {
  OpBuilder builder(forward);
  auto clone = cast<func::FuncOp>(builder.clone(*forward));
  clone.setName(name);
  return Signature(clone);
}

/// The input that the model's output is compared with. The trainer checks
/// labels of classes before it uses them.
static Value addLabels(Signature step, const Loss &loss,
                       RankedTensorType output, StringRef name) {
  for (unsigned i = 0; i < step.numInputs(); ++i)
    if (step.argumentName(i) == name && step.argumentKind(i) == "labels")
      return step.getFunction().getArgument(i);
  BlockArgument labels = step.addInput(name, "labels", loss.labelsType(output));
  if (loss.hasClasses()) {
    Builder builder(labels.getContext());
    step.getFunction().setArgAttr(
        labels.getArgNumber(), kClassesAttr,
        builder.getI64IntegerAttr(output.getDimSize(loss.axis)));
    step.getFunction().setArgAttr(labels.getArgNumber(), kIgnoredAttr,
                                  builder.getI64IntegerAttr(loss.ignored));
  }
  return labels;
}

static Value scalarF32(Arithmetic a, Value value) {
  return a.cast(a.reshape(value, {}), Float32Type::get(value.getContext()));
}

void AttachLoss::buildTrainStep(Signature step, const Terms &terms) {
  Operation *terminator = step.getReturn();
  OpBuilder builder(terminator);
  Location loc = NameLoc::get(builder.getStringAttr("loss"));
  Arithmetic a(builder, loc);
  // One weight serves one mean: those of a sum are of each micro-batch and
  // rank.
  bool returnsWeight = weigh && terms.size() == 1 &&
                       (!distillation || distillation->sharesMean());

  Value whole, weight;
  ResultList sums;
  SmallVector<Value> paired = pairedResults(step);
  Distillation::Hard hard;
  for (const LossOfResult &term : terms) {
    Value mean = terminator->getOperand(term.result);
    if (term.loss.kind != Loss::Output) {
      Value labels =
          addLabels(step, term.loss, tensorType(mean), term.loss.labelsName());
      LossTerms parts = buildLossTerms(builder, loc, term.loss, mean, labels,
                                       /*wantCorrect=*/false);
      if (&term == terms.begin())
        buildTrainingMetrics(builder, loc, wanted.training,
                             {term.loss, mean, labels, parts.counted}, sums);
      if (term.loss.hasClasses() && !hard.output)
        std::tie(hard.output, hard.counted) = std::pair(mean, parts.counted);
      Value total = a.sumAll(parts.losses);
      Type element = tensorType(total).getElementType();
      auto elements =
          static_cast<double>(tensorType(parts.losses).getNumElements());
      Value count;
      if (parts.weights)
        count = a.sumAll(parts.weights);
      else if (parts.counted)
        count = a.sumAll(a.cast(parts.counted, element));
      if (count && returnsWeight) {
        weight = a.div(count, elements);
        count = {};
      }
      // No element that counts gives 0 / 0, as in PyTorch.
      mean = count ? a.div(total, count) : a.div(total, elements);
    }
    if (terms.size() > 1)
      mean = scalarF32(a, mean);
    if (term.loss.factor != 1)
      mean = a.mul(mean, term.loss.factor);
    whole = whole ? a.add(whole, mean) : mean;
  }
  if (distillation) {
    hard.loss = whole;
    hard.weight = weight;
    whole = distillation->add(step, builder, loc, hard, paired, sums);
  }

  ResultList results;
  results.addNamed("loss", scalarF32(a, whole));
  if (weight)
    results.addNamed("loss_weight", tensorType(weight).getElementType().isF64()
                                        ? a.reshape(weight, {})
                                        : scalarF32(a, weight));
  results.entries.append(sums.entries);
  for (const ResultList::Entry &entry : ResultList::of(step).entries)
    if (entry.state())
      results.add(entry.value, entry.attributes);
  results.apply(step);
  step.eraseUnused();
}

/// Which elements of a tensor of the labels' type belong to samples below
/// `valid`; null if the first dimension does not count samples.
static Value belowValid(Arithmetic a, RankedTensorType type, Value valid,
                        std::optional<int64_t> batch) {
  if (type.getRank() == 0)
    return {};
  // Rows of several per sample, such as tokens, follow each other.
  int64_t rows = type.getDimSize(0), perSample = 1;
  if (batch && *batch > 0) {
    if (rows % *batch != 0)
      return {};
    perSample = rows / *batch;
  }
  RankedTensorType indexType =
      withElement(type, tensorType(valid).getElementType());
  Value sample = a.iota(indexType, 0);
  if (perSample > 1)
    sample = a.div(sample, perSample);
  return a.compare(Predicate::LT, sample, a.fill(valid, type.getShape()));
}

/// Adds the sums of a term over the samples that are valid, and for the first
/// term what metrics need.
void AttachLoss::evaluateTerm(Signature step, const LossOfResult &term,
                              unsigned number, Value output,
                              StringRef labelsName, ResultList &results) {
  OpBuilder builder(step.getReturn());
  Location loc = NameLoc::get(builder.getStringAttr("loss"));
  Arithmetic a(builder, loc);
  auto scalarType = RankedTensorType::get({}, builder.getF32Type());
  std::string suffix = number == 0 ? "" : "." + std::to_string(number);
  auto addSums = [&](Value sum, Value count) {
    if (term.loss.factor != 1)
      sum = a.mul(sum, term.loss.factor);
    results.addNamed("loss_sum" + suffix, sum);
    results.addNamed("loss_count" + suffix, count);
  };
  if (term.loss.kind == Loss::Output)
    return addSums(scalarF32(a, output), a.constant(scalarType, 1.0));

  Value labels = addLabels(
      step, term.loss, tensorType(output),
      labelsName.empty() ? StringRef(term.loss.labelsName()) : labelsName);
  Value valid = step.getFunction().getArgument(*step.findInput(kValidName));
  RankedTensorType labelsType = tensorType(labels);
  LossTerms terms = buildLossTerms(builder, loc, term.loss, output, labels,
                                   /*wantCorrect=*/number == 0);
  auto batch = getOperation()->getAttrOfType<IntegerAttr>(kBatchAttr);
  Value counts =
      belowValid(a, labelsType, valid,
                 batch ? std::optional(batch.getInt()) : std::nullopt);
  if (counts && terms.counted)
    counts = a.logicalAnd(counts, terms.counted);
  else if (!counts)
    counts = terms.counted;

  auto count = [&](Value mask) {
    return a.sumAll(a.cast(mask, builder.getF32Type()));
  };
  Value losses = counts ? a.select(counts, terms.losses, 0.0) : terms.losses;
  Value labelCount = counts
                         ? count(counts)
                         : a.constant(scalarType, labelsType.getNumElements());
  Value lossCount = labelCount;
  if (terms.weights)
    lossCount =
        scalarF32(a, a.sumAll(counts ? a.select(counts, terms.weights, 0.0)
                                     : terms.weights));
  addSums(scalarF32(a, a.sumAll(losses)), lossCount);
  if (terms.correct)
    results.addNamed("correct", count(a.logicalAnd(terms.correct, counts)));
  if (terms.correct && terms.weights)
    results.addNamed("correct_count", labelCount);
  if (number == 0)
    buildEvaluationMetrics(builder, loc, wanted.evaluation,
                           {term.loss, output, labels, counts}, results);
}

void AttachLoss::buildEvalStep(Signature step, const Terms &terms,
                               StringRef labelsName) {
  useInferenceForms(step.getFunction());
  Operation *terminator = step.getReturn();
  OpBuilder builder(terminator);
  // The inputs in the order labels, then the number of valid samples.
  for (const LossOfResult &term : terms)
    if (term.loss.kind != Loss::Output)
      addLabels(
          step, term.loss, tensorType(terminator->getOperand(term.result)),
          labelsName.empty() ? StringRef(term.loss.labelsName()) : labelsName);
  (void)step.addInput(kValidName, kValidName,
                      RankedTensorType::get({}, builder.getI64Type()));
  ResultList results;
  for (auto [number, term] : llvm::enumerate(terms))
    evaluateTerm(step, term, number, terminator->getOperand(term.result),
                 labelsName, results);
  results.apply(step);
  step.eraseUnused();
}

/// Only the model's outputs, in their inference form.
static void buildPredict(Signature predict) {
  useInferenceForms(predict.getFunction());
  ResultList results;
  for (unsigned output : modelOutputs(predict))
    results.entries.push_back(ResultList::of(predict).entries[output]);
  results.apply(predict);
  predict.eraseUnused();
}

/// Only what is quantized, in its inference form.
static void buildObserve(Signature observe) {
  useInferenceForms(observe.getFunction());
  ResultList results;
  for (const ResultList::Entry &entry : ResultList::of(observe).entries)
    if (auto scale = entry.attributes.getAs<StringAttr>(kObservedAttr))
      results.addNamed(scale, entry.value);
  results.apply(observe);
  observe.eraseUnused();
}

/// Erases the inputs of data that the function does not read.
static void eraseUnusedData(Signature signature) {
  func::FuncOp func = signature.getFunction();
  for (unsigned i = func.getNumArguments(); i-- > 0;)
    if (!signature.argumentState(i) && func.getArgument(i).use_empty())
      (void)func.eraseArgument(i);
}

/// The step without what only trains: the loss, which is the only result.
static func::FuncOp cloneLoss(func::FuncOp train) {
  Signature forward = cloneForward(train, kForwardName);
  ResultList results;
  ResultList all = ResultList::of(forward);
  results.add(all.entries.front().value, all.entries.front().attributes);
  results.apply(forward);
  forward.eraseUnused();
  if (std::optional<unsigned> start = forward.findInput(kCotangentKind))
    (void)forward.getFunction().eraseArgument(*start);
  return forward.getFunction();
}

LogicalResult AttachLoss::completeImported(func::FuncOp train,
                                           func::FuncOp forward) {
  ModuleOp module = getOperation();
  if (!loss.empty())
    return emitOptionError(&getContext(), "loss",
                           "the training model computes its own loss",
                           "leave the option out");
  // Without an evaluation model, the loss of the training step is evaluated.
  bool isLossAlone = !forward;
  if (isLossAlone)
    forward = cloneLoss(train);
  Signature signature(forward);
  auto given = module->getAttrOfType<StringAttr>(kLossAttr);
  std::string name = given && !isLossAlone ? given.str() : "output:loss";
  llvm::Expected<Loss> parsed = Loss::parse(name);
  if (!parsed)
    return emitUserError(train.getLoc(), llvm::toString(parsed.takeError()),
                         getLossHint());
  LossOfResult chosen{*parsed, modelOutputs(signature).front()};
  if (parsed->kind == Loss::Output)
    if (std::optional<unsigned> named = signature.findResult(parsed->output))
      chosen.result = *named;
  Value output = signature.getReturn()->getOperand(chosen.result);
  if (llvm::Error error = chosen.loss.resolve(tensorType(output)))
    return emitUserError(train.getLoc(), llvm::toString(std::move(error)),
                         getLossHint());

  std::string labels = "labels";
  Signature trained(train);
  if (std::optional<unsigned> index = trained.findInput("labels"))
    labels = trained.argumentName(*index).str();
  // What the graph reads as labels, the loss brings itself.
  if (chosen.loss.kind != Loss::Output)
    eraseUnusedData(signature);
  if (failed(chooseMetrics(chosen.loss)))
    return failure();
  if (!wanted.training.empty())
    return emitOptionError(&getContext(), "metrics",
                           "the training step of the model is complete: "
                           "nothing else is computed in it",
                           "leave out what begins with train-");
  buildEvalStep(cloneForward(forward, kEvalStepName), Terms{chosen}, labels);
  Signature predict = cloneForward(forward, kPredictName);
  if (chosen.loss.kind == Loss::Output && modelOutputs(predict).size() > 1) {
    ResultList all = ResultList::of(predict);
    all.entries.erase(all.entries.begin() + chosen.result);
    all.apply(predict);
  }
  buildPredict(predict);
  eraseUnusedData(predict);
  stateLoss(module, chosen, labels);
  remark::passed(forward.getLoc(), remarkOptions(getArgument(), "Loss"))
      << remark::metric("loss", chosen.loss.str())
      << remark::metric("output", signature.resultName(chosen.result));
  forward.erase();
  return success();
}

void AttachLoss::runOnOperation() {
  ModuleOp module = getOperation();
  func::FuncOp forward = findFunction(module, kForwardName);
  if (func::FuncOp train = findFunction(module, kTrainStepName)) {
    // A step that is complete stays as it is.
    bool isComplete = findFunction(module, kEvalStepName) ||
                      !ResultList::of(Signature(train)).hasGradients();
    if (!isComplete && failed(completeImported(train, forward)))
      signalPassFailure();
    return;
  }
  if (!forward) {
    (void)emitUserError(module.getLoc(), "the module has no function @forward",
                        "import a model, or name its function @forward");
    return signalPassFailure();
  }
  FailureOr<Terms> terms = chooseLoss(Signature(forward));
  if (failed(terms) || failed(checkLabels(Signature(forward), *terms)) ||
      failed(chooseMetrics(terms->front().loss)) ||
      failed(chooseDistillation(Signature(forward), *terms)) ||
      failed(Signature(forward).checkIsFree(kValidName)))
    return signalPassFailure();

  buildTrainStep(cloneForward(forward, kTrainStepName), *terms);
  buildEvalStep(cloneForward(forward, kEvalStepName), *terms);
  buildPredict(cloneForward(forward, kPredictName));
  if (module->hasAttr(kQuantizersAttr))
    buildObserve(cloneForward(forward, kObserveName));
  if (distillation)
    distillation->eraseTeacher();
  stateLoss(module, *terms);
  remark::passed(forward.getLoc(), remarkOptions(getArgument(), "Loss"))
      << remark::metric("loss", describe(*terms))
      << remark::metric("output",
                        Signature(forward).resultName(terms->front().result));
  forward.erase();
}
