// SPDX-License-Identifier: Apache-2.0

#include "passes/autodiff/Metrics.h"

#include "dialects/ingot/builders/Arithmetic.h"
#include "dialects/ingot/ir/Signature.h"
#include "dialects/ingot/ir/StepResults.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/FormatVariadic.h"
#include <limits>

using namespace mlir;
using namespace ingot;

/// The prefix of names of metrics of training steps.
static constexpr StringLiteral kTrainingPrefix = "train-";

namespace {

/// Outputs and labels as tables with a row for each sample that counts, or for
/// each label of a class.
struct Table {
  Arithmetic a;
  OpBuilder &builder;
  Location loc;
  ResultList &results;
  /// The logits of classes or columns, or the values predicted: [rows, columns]
  /// in f32 or f64.
  Value scores;
  /// Classes, and the likeliest class of distributions: [rows]; other labels:
  /// [rows, columns].
  Value labels;
  /// The mask of the rows that count: [rows]; null if all do.
  Value counted;

  Table(OpBuilder &builder, Location loc, const MetricOperands &operands,
        ResultList &results);

  int64_t rows() const { return tensorType(scores).getDimSize(0); }
  int64_t columns() const { return tensorType(scores).getDimSize(1); }

  /// 1 or 0 in f32 for the elements of a mask.
  Value ones(Value mask) { return a.cast(mask, builder.getF32Type()); }
  /// The mask, where the row counts.
  Value ifCounted(Value mask) {
    if (!counted)
      return mask;
    Value rowCounts = counted;
    if (tensorType(mask).getRank() == 2)
      rowCounts = a.broadcastOver(counted, tensorType(mask).getShape(), {1});
    return a.logicalAnd(mask, rowCounts);
  }
  /// A row of a matrix for each row's class: 1 in the column of the class, 0
  /// in others and where the row does not count.
  Value oneHot(Value classes) {
    RankedTensorType type =
        withElement(tensorType(scores), builder.getI64Type());
    Value hit = a.compare(Predicate::EQ, a.iota(type, 1),
                          a.broadcastOver(classes, type.getShape(), {1}));
    return ones(ifCounted(hit));
  }
  void add(const Twine &name, Value value) {
    results.addNamed((kMetricPrefix + name).str(), value);
  }
};

/// Adds what a metric needs to the results.
using Build = void (*)(Table &table, StringRef name);

struct MetricKind {
  StringLiteral name;
  /// In the order of Loss::Labels; null where labels of that kind have no such
  /// metric.
  Build builds[4];
  /// Whether the values that a metric is computed from are sums, and the metric
  /// is one number, so that it can be that of a training step.
  bool ofSteps = true;

  Build getBuild(const Loss &loss) const {
    return loss.kind == Loss::Output
               ? nullptr
               : builds[static_cast<size_t>(loss.getLabels())];
  }
};

} // namespace

/// The output with the classes in the last dimension.
static Value moveLast(OpBuilder &builder, Location loc, Value value,
                      int64_t axis) {
  RankedTensorType type = tensorType(value);
  SmallVector<int64_t> permutation, shape;
  for (int64_t i = 0; i < type.getRank(); ++i)
    if (i != axis)
      permutation.push_back(i);
  permutation.push_back(axis);
  for (int64_t i : permutation)
    shape.push_back(type.getDimSize(i));
  if (axis == type.getRank() - 1)
    return value;
  return TransposeOp::create(
      builder, loc, RankedTensorType::get(shape, type.getElementType()), value,
      permutation);
}

Table::Table(OpBuilder &builder, Location loc, const MetricOperands &operands,
             ResultList &results)
    : a(builder, loc), builder(builder), loc(loc), results(results) {
  Value output = operands.output;
  if (cast<FloatType>(tensorType(output).getElementType()).getWidth() < 32)
    output = a.cast(output, builder.getF32Type());
  bool hasClasses = operands.loss.hasClasses();
  bool hasDistributions =
      operands.loss.getLabels() == Loss::Labels::Distributions;
  if (hasClasses)
    output = moveLast(builder, loc, output, operands.loss.axis);
  ArrayRef<int64_t> shape = tensorType(output).getShape();
  int64_t elements = tensorType(output).getNumElements();
  int64_t rows =
      hasClasses || hasDistributions ? elements / shape.back() : shape.front();
  scores = a.reshape(output, {rows, elements / rows});
  if (hasClasses) {
    labels = a.reshape(operands.labels, {rows});
    counted = operands.counted ? a.reshape(operands.counted, {rows}) : Value();
    return;
  }
  labels = a.cast(a.reshape(operands.labels, {rows, elements / rows}),
                  tensorType(scores).getElementType());
  if (hasDistributions)
    labels = ArgMaxOp::create(
        builder, loc, RankedTensorType::get({rows}, builder.getI64Type()),
        labels, 1);
  if (!operands.counted)
    return;
  // All columns of a row count, or none.
  Value all = a.reshape(operands.counted, {rows, elements / rows});
  Value first = SliceOp::create(
      builder, loc, RankedTensorType::get({rows, 1}, builder.getI1Type()), all,
      ArrayRef<int64_t>{0, 0}, ArrayRef<int64_t>{rows, 1},
      ArrayRef<int64_t>{1, 1});
  counted = a.reshape(first, {rows});
}

//===----------------------------------------------------------------------===//
// Classes
//===----------------------------------------------------------------------===//

/// Counts labels by class and predicted class.
static void countConfusions(Table &table, StringRef) {
  if (llvm::any_of(table.results.entries, [](const ResultList::Entry &entry) {
        auto name = entry.attributes.getAs<StringAttr>(kNameAttr);
        return name && name.getValue() == (kMetricPrefix + "confusion").str();
      }))
    return;
  Value predicted = ArgMaxOp::create(table.builder, table.loc,
                                     table.labels.getType(), table.scores, 1);
  auto type = RankedTensorType::get({table.columns(), table.columns()},
                                    table.builder.getF32Type());
  table.add("confusion",
            MatmulOp::create(table.builder, table.loc, type,
                             table.oneHot(table.labels),
                             table.oneHot(predicted), /*transpose_lhs=*/true,
                             /*transpose_rhs=*/false));
}

/// Counts rows whose likeliest class is that of the labels.
static void countLikeliest(Table &table, StringRef) {
  Value predicted = ArgMaxOp::create(table.builder, table.loc,
                                     table.labels.getType(), table.scores, 1);
  Value hit = table.a.compare(Predicate::EQ, predicted, table.labels);
  table.add("right", table.a.sumAll(table.ones(table.ifCounted(hit))));
}

/// Counts labels whose score is one of the K largest. Of equal scores that of
/// the later class comes first, as in scikit-learn.
static void countTop(Table &table, StringRef name) {
  int64_t most = 0;
  (void)!name.drop_front(3).getAsInteger(10, most);
  Arithmetic a = table.a;
  ArrayRef<int64_t> shape = tensorType(table.scores).getShape();
  RankedTensorType indexType =
      withElement(tensorType(table.scores), table.builder.getI64Type());
  Value index = a.iota(indexType, 1);
  Value label = a.broadcastOver(table.labels, shape, {1});
  Value score =
      a.maxOver(a.select(a.compare(Predicate::EQ, index, label), table.scores,
                         -std::numeric_limits<double>::infinity()),
                int64_t(1));
  score = a.broadcastOver(score, shape, {1});
  Value before = a.add(
      table.ones(a.compare(Predicate::GT, table.scores, score)),
      table.ones(a.logicalAnd(a.compare(Predicate::EQ, table.scores, score),
                              a.compare(Predicate::GT, index, label))));
  Value hit = a.compare(Predicate::LT, a.sum(before, int64_t(1)),
                        static_cast<double>(most));
  table.add(name, a.sumAll(table.ones(table.ifCounted(hit))));
}

/// Keeps the probabilities of classes, and the labels; -1 where none counts.
static void keepProbabilities(Table &table, StringRef) {
  Arithmetic a = table.a;
  Value labels = table.labels;
  if (table.counted)
    labels = a.select(table.counted, labels, -1.0);
  Type f64 = table.builder.getF64Type();
  Value scores = a.cast(table.scores, f64);
  table.add("rows.scores", SoftmaxOp::create(table.builder, table.loc,
                                             scores.getType(), scores, 1));
  table.add("rows.labels", a.cast(labels, f64));
}

//===----------------------------------------------------------------------===//
// Probabilities
//===----------------------------------------------------------------------===//

static Value isPositive(Table &table) {
  return table.a.compare(Predicate::GT, table.scores, 0.0);
}

static Value isLabeled(Table &table) {
  return table.a.compare(Predicate::GT, table.labels, 0.5);
}

/// Counts right positives, predicted positives and labeled positives of each
/// column.
static void countPositives(Table &table, StringRef) {
  Value predicted = isPositive(table), labeled = isLabeled(table);
  Value right = table.a.logicalAnd(predicted, labeled);
  for (auto [name, mask] :
       {std::pair("right_positives", right), std::pair("positives", predicted),
        std::pair("labeled_positives", labeled)})
    table.add(name, table.a.sum(table.ones(table.ifCounted(mask)), int64_t(0)));
}

/// Counts rows all of whose columns are predicted as labeled.
static void countRight(Table &table, StringRef) {
  Arithmetic a = table.a;
  Value same = a.compare(Predicate::EQ, table.ones(isPositive(table)),
                         table.ones(isLabeled(table)));
  Value all = a.compare(Predicate::EQ, a.sum(table.ones(same), int64_t(1)),
                        static_cast<double>(table.columns()));
  table.add("right", a.sumAll(table.ones(table.ifCounted(all))));
}

/// Keeps logits, which are in the order of probabilities, and labels.
static void keepLogits(Table &table, StringRef) {
  Arithmetic a = table.a;
  Value labels = table.ones(isLabeled(table));
  if (table.counted)
    labels = a.select(
        a.broadcastOver(table.counted, tensorType(labels).getShape(), {1}),
        labels, -1.0);
  Type f64 = table.builder.getF64Type();
  table.add("rows.scores", a.cast(table.scores, f64));
  table.add("rows.labels", a.cast(labels, f64));
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// The sum over the rows that count, by column, in f64: sums of squares of
/// labels far from zero would lose the variance in f32.
static Value sumColumns(Table &table, Value values) {
  if (table.counted)
    values =
        table.a.select(table.a.broadcastOver(
                           table.counted, tensorType(values).getShape(), {1}),
                       values, 0.0);
  return table.a.sum(values, int64_t(0));
}

static void sumErrors(Table &table, StringRef) {
  Arithmetic a = table.a;
  Value error = a.cast(a.abs(a.sub(table.scores, table.labels)),
                       table.builder.getF64Type());
  table.add("absolute_errors", sumColumns(table, error));
}

static void sumSquares(Table &table, StringRef) {
  Arithmetic a = table.a;
  Type f64 = table.builder.getF64Type();
  Value labels = a.cast(table.labels, f64);
  Value error = a.sub(a.cast(table.scores, f64), labels);
  table.add("labels", sumColumns(table, labels));
  table.add("squared_labels", sumColumns(table, a.square(labels)));
  table.add("squared_errors", sumColumns(table, a.square(error)));
}

//===----------------------------------------------------------------------===//
// The metrics
//===----------------------------------------------------------------------===//

/// For what is made of the loss.
static void addNothing(Table &, StringRef) {}

static constexpr MetricKind kMetrics[] = {
    {"accuracy", {countLikeliest, countLikeliest, countRight, nullptr}},
    {"top", {countTop, countTop, nullptr, nullptr}},
    {"f1", {countConfusions, countConfusions, countPositives, nullptr}},
    {"auc",
     {keepProbabilities, keepProbabilities, keepLogits, nullptr},
     /*ofSteps=*/false},
    {"confusion",
     {countConfusions, countConfusions, nullptr, nullptr},
     /*ofSteps=*/false},
    {"perplexity", {addNothing, nullptr, nullptr, nullptr}},
    {"mae", {nullptr, nullptr, nullptr, sumErrors}},
    {"r2", {nullptr, nullptr, nullptr, sumSquares}}};

/// Returns the metric of the name, null if there is none. That of `top5` is
/// `top`.
static const MetricKind *findMetric(StringRef name) {
  int64_t count = 0;
  if (name.consume_front("top") &&
      (name.getAsInteger(10, count) || count < 1 || count > 1 << 20))
    return nullptr;
  for (const MetricKind &kind : kMetrics)
    if (kind.name == (count ? StringRef("top") : name))
      return &kind;
  return nullptr;
}

/// Lists the metrics that there are where a model is trained with the loss.
static std::string listMetrics(const Loss &loss, bool ofSteps) {
  std::string known;
  for (const MetricKind &kind : kMetrics)
    if (kind.getBuild(loss) && (!ofSteps || kind.ofSteps))
      known += (known.empty() ? "" : ", ") +
               (ofSteps ? kTrainingPrefix : StringLiteral("")).str() +
               kind.name.str() + (kind.name == "top" ? "K" : "");
  return known;
}

llvm::Expected<MetricNames> ingot::parseMetrics(StringRef text,
                                                const Loss &loss) {
  SmallVector<StringRef> names;
  text.split(names, ',', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  MetricNames metrics;
  for (StringRef name : names) {
    StringRef metric = name = name.trim();
    bool ofSteps = metric.consume_front(kTrainingPrefix);
    const MetricKind *kind = findMetric(metric);
    if (kind && kind->getBuild(loss) && (!ofSteps || kind->ofSteps)) {
      auto &list = ofSteps ? metrics.training : metrics.evaluation;
      if (!llvm::is_contained(list, metric))
        list.push_back(metric.str());
      continue;
    }
    std::string known = listMetrics(loss, ofSteps);
    return llvm::createStringError(
        llvm::formatv("'{0}' is no metric of {1}{2}: {3}", name,
                      ofSteps ? "training steps with " : "", loss.str(),
                      known.empty() ? "it has none" : "it has " + known)
            .str());
  }
  return metrics;
}

static void buildMetrics(Table &table, ArrayRef<std::string> metrics,
                         const Loss &loss) {
  for (const std::string &name : metrics)
    findMetric(name)->getBuild(loss)(table, name);
  Value rows = table.counted
                   ? table.a.sumAll(table.ones(table.counted))
                   : table.a.constant(
                         RankedTensorType::get({}, table.builder.getF32Type()),
                         static_cast<double>(table.rows()));
  table.add("rows", rows);
}

void ingot::buildEvaluationMetrics(OpBuilder &builder, Location loc,
                                   ArrayRef<std::string> metrics,
                                   const MetricOperands &operands,
                                   ResultList &results) {
  if (metrics.empty())
    return;
  Table table(builder, loc, operands, results);
  // Evaluations count right classes beside the loss, whatever the metrics.
  bool hasAccuracy = operands.loss.hasClasses();
  buildMetrics(table,
               llvm::filter_to_vector(metrics,
                                      [&](const std::string &name) {
                                        return !hasAccuracy ||
                                               name != "accuracy";
                                      }),
               operands.loss);
}

void ingot::buildTrainingMetrics(OpBuilder &builder, Location loc,
                                 ArrayRef<std::string> metrics,
                                 const MetricOperands &operands,
                                 ResultList &results) {
  // Without sums, a metric is made of the loss.
  if (llvm::all_of(metrics, [&](const std::string &name) {
        return findMetric(name)->getBuild(operands.loss) == addNothing;
      }))
    return;
  Table table(builder, loc, operands, results);
  buildMetrics(table, metrics, operands.loss);
}
