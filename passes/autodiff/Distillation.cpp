// SPDX-License-Identifier: Apache-2.0

#include "passes/autodiff/Distillation.h"

#include "dialects/ingot/builders/Arithmetic.h"
#include "dialects/ingot/distillation/DistillationOps.h"
#include "dialects/ingot/ir/Diagnostics.h"
#include "dialects/ingot/ir/StepResults.h"
#include "dialects/ingot/ir/Teacher.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace ingot;

SmallVector<Value> ingot::pairedResults(Signature signature) {
  SmallVector<Value> values;
  for (unsigned i = 0; i < signature.getReturn()->getNumOperands(); ++i)
    if (isPaired(signature.resultName(i)))
      values.push_back(signature.getReturn()->getOperand(i));
  return values;
}

FailureOr<std::optional<Distillation>>
Distillation::choose(Signature forward, const DistillRule &rule,
                     const Loss &loss, unsigned output, bool isSum) {
  MLIRContext *context = forward.getFunction().getContext();
  Distillation result;
  result.teacher = findFunction(
      forward.getFunction()->getParentOfType<ModuleOp>(), kTeacherName);
  if (!result.teacher)
    return std::optional<Distillation>();
  result.rule = rule;
  result.hasWeights = !loss.weights.empty() || isSum;
  result.hasPairs = !pairedResults(forward).empty();
  result.axis = loss.axis;
  if (rule.alpha == 0)
    return std::optional(result);
  if (!loss.hasClasses())
    return emitOptionError(context, "distill",
                           "the loss " + loss.str() +
                               " has no classes, whose probabilities the "
                               "teacher would give",
                           "choose --loss cross-entropy, or compare values "
                           "with alpha=0,pairs=STUDENT:TEACHER");
  Signature from(result.teacher);
  StringRef name = forward.resultName(output);
  result.logits = from.findResult(name);
  unsigned outputs =
      from.getReturn()->getNumOperands() - pairedResults(from).size();
  if (!result.logits && output < outputs)
    result.logits = output;
  if (!result.logits)
    return emitOptionError(context, "teacher",
                           "it has no output '" + name + "'",
                           "export it with an output of the student's name");
  auto typeOf = [](Signature signature, unsigned result) {
    return tensorType(signature.getReturn()->getOperand(result));
  };
  RankedTensorType want = typeOf(forward, output);
  RankedTensorType got = typeOf(from, *result.logits);
  if (want.getShape() != got.getShape() ||
      !isa<FloatType>(got.getElementType())) {
    std::string what;
    llvm::raw_string_ostream(what)
        << "its output '" << from.resultName(*result.logits) << "' is " << got
        << ", the student's '" << name << "' is " << want;
    return emitOptionError(context, "teacher", what,
                           "train a student with the classes of the teacher, "
                           "in the same order");
  }
  return std::optional(result);
}

SmallVector<std::string> Distillation::listMetrics() const {
  SmallVector<std::string> names = {"hard_loss"};
  if (logits)
    names.push_back("distill_loss");
  if (hasPairs)
    names.push_back("pair_loss");
  return names;
}

/// Returns the results of the teacher. It comes before the model: while it runs
/// nothing else is in memory.
ResultList Distillation::inlineTeacher(Signature step) const {
  Signature from(teacher);
  Block &body = *from.getReturn()->getBlock();
  IRMapping mapping;
  SmallVector<Signature::State> states;
  SmallVector<BlockArgument> readers;
  for (BlockArgument argument : body.getArguments()) {
    unsigned i = argument.getArgNumber();
    if (FlatSymbolRefAttr symbol = from.argumentState(i)) {
      states.push_back({symbol, argument.getType()});
      readers.push_back(argument);
      continue;
    }
    for (unsigned k = 0; k < step.numInputs(); ++k)
      if (step.argumentName(k) == from.argumentName(i))
        mapping.map(argument, step.getFunction().getArgument(k));
  }
  for (auto [reader, added] : llvm::zip_equal(readers, step.addStates(states)))
    mapping.map(reader, added);
  OpBuilder builder =
      OpBuilder::atBlockBegin(&step.getFunction().getBody().front());
  for (Operation &op : body.without_terminator())
    builder.clone(op, mapping);
  ResultList results = ResultList::of(from);
  for (ResultList::Entry &entry : results.entries)
    entry.value = mapping.lookup(entry.value);
  return results;
}

static Value scalarF32(Arithmetic a, Value value) {
  return a.cast(a.reshape(value, {}), Float32Type::get(value.getContext()));
}

/// The type of sums of values: f32, or f64 for f64.
static Type sumType(Value value) {
  Type element = tensorType(value).getElementType();
  return element.isF64() ? element : Float32Type::get(value.getContext());
}

Value Distillation::add(Signature step, OpBuilder &builder, Location loc,
                        const Hard &hard, ArrayRef<Value> paired,
                        ResultList &sums) const {
  Arithmetic a(builder, loc);
  ResultList given = inlineTeacher(step);
  SmallVector<Value> taught;
  for (const ResultList::Entry &entry : given.entries)
    if (isPaired(entry.attributes.getAs<StringAttr>(kNameAttr).getValue()))
      taught.push_back(entry.value);
  // Means over micro-batches and ranks.
  auto addMetric = [&](StringRef name, Value mean) {
    Value count = hard.weight ? scalarF32(a, hard.weight)
                              : a.constantLike(scalarF32(a, mean), 1.0);
    sums.addNamed((kMetricPrefix + name).str(), scalarF32(a, mean));
    sums.addNamed((kMetricPrefix + name + ".count").str(), count);
  };

  addMetric("hard_loss", hard.loss);
  Value whole = a.mul(a.reshape(hard.loss, {}), 1 - rule.alpha);
  auto addTerm = [&](Value term, double factor) {
    whole = a.add(
        whole, a.mul(a.cast(term, tensorType(whole).getElementType()), factor));
  };
  if (logits) {
    Type element = sumType(hard.output);
    Value output = a.cast(hard.output, element);
    RankedTensorType rows = dropDims(tensorType(output), axis);
    auto divergence = SoftmaxDivergenceOp::create(
        builder, loc, TypeRange{rows, rows, rows}, output,
        a.cast(given.entries[*logits].value, element), axis,
        llvm::APFloat(rule.temperature));
    Value losses = divergence.getLosses();
    if (hard.counted)
      losses = a.select(hard.counted, losses, 0.0);
    Value mean = a.sumAll(losses);
    if (hard.counted && !hard.weight)
      mean = a.div(mean, a.sumAll(a.cast(hard.counted, element)));
    else
      mean = a.div(mean, static_cast<double>(rows.getNumElements()));
    mean = a.mul(mean, rule.temperature * rule.temperature);
    addMetric("distill_loss", mean);
    addTerm(mean, rule.alpha);
  }
  Value ofPairs;
  for (auto [student, teacher] : llvm::zip_equal(paired, taught)) {
    Type element = sumType(student);
    Value squares =
        a.square(a.sub(a.cast(student, element), a.cast(teacher, element)));
    Value mean = scalarF32(
        a, a.div(a.sumAll(squares),
                 static_cast<double>(tensorType(squares).getNumElements())));
    ofPairs = ofPairs ? a.add(ofPairs, mean) : mean;
  }
  if (ofPairs) {
    addMetric("pair_loss", ofPairs);
    addTerm(ofPairs, rule.pairWeight);
  }
  return whole;
}
