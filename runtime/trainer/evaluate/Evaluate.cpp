// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Evaluation and prediction.
//
//===----------------------------------------------------------------------===//

#include "runtime/trainer/evaluate/Evaluate.h"

#include "runtime/comm/Communicator.h"
#include "runtime/core/Error.h"
#include "runtime/core/console/Console.h"
#include "runtime/trainer/evaluate/EvaluationMetrics.h"
#include "runtime/trainer/run/StopRequest.h"
#include "runtime/trainer/state/ShardedModel.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <numeric>
#include <vector>

using namespace ingot::runtime;

void ingot::runtime::forEachBatch(
    Session &session, const Function &function, const Dataset &data,
    const PassBatches &batches, const Options &options, int64_t rank,
    int64_t size, bool together,
    const std::function<bool(int64_t first, int64_t count)> &visit) {
  const std::vector<InputSpec> &inputs = function.spec->inputs;
  Feed feed(planPass(data, inputs, batches, rank, size), {&inputs},
            options.data, /*seed=*/0, /*isTraining=*/false,
            /*cancel=*/nullptr, options.report.diagnose.has_value());
  for (int64_t number = rank; number < batches.count; number += size) {
    int64_t count = batches.getSamples(number);
    feed.fill(function.inputs, session.prepareInputs());
    session.run(function, options.run.hyperparameters, count);
    if (!visit(batches.getFirst(number), count))
      return;
  }
  if (int64_t left = batches.count % size;
      together && left != 0 && rank >= left) {
    char *place = session.prepareInputs();
    for (const InputSpec &input : function.inputs)
      std::memset(place + input.offset, 0, input.getBytes());
    session.run(function, options.run.hyperparameters, /*validSamples=*/0);
  }
}

namespace {
/// The scalar outputs of an evaluation, summed over batches, and whether a
/// signal has cut it short.
struct EvaluationSums {
  explicit EvaluationSums(const FunctionSpec &function) {
    for (const TensorSpec &output : function.outputs)
      if (output.getElements() == 1 && !output.name.starts_with("metric."))
        names.push_back(output.name);
    values.resize(names.size() + 1);
  }

  double &isCut() { return values.back(); }
  bool areFinite() const {
    return std::all_of(values.begin(), values.end(),
                       [](double value) { return std::isfinite(value); });
  }

  void add(Session &session, const Results &results) {
    for (size_t i = 0; i < names.size(); ++i)
      values[i] += session.readScalar(results, names[i]);
  }

  std::optional<double> get(std::string_view name) const {
    auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end())
      return std::nullopt;
    return values[found - names.begin()];
  }

  /// The sum of the means of all terms.
  double getLoss() const {
    double loss = *get("loss_sum") / *get("loss_count");
    for (int term = 1; get(fmt::format("loss_sum.{}", term)); ++term)
      loss += *get(fmt::format("loss_sum.{}", term)) /
              *get(fmt::format("loss_count.{}", term));
    return loss;
  }

  /// Whether no label of a term counts, of which there is no mean.
  bool isEmpty() const {
    for (size_t i = 0; i < names.size(); ++i)
      if (names[i].starts_with("loss_count") && values[i] == 0)
        return true;
    return false;
  }

  std::optional<double> getAccuracy() const {
    if (!get("correct"))
      return std::nullopt;
    auto count = get("correct_count");
    return *get("correct") / (count ? *count : *get("loss_count"));
  }

  std::vector<std::string> names;
  std::vector<double> values;
};
} // namespace

/// Returns the batches that an evaluation takes of each data set: all, or those
/// of --eval-batches, of which each has its part.
static std::vector<PassBatches>
choosePasses(const Manifest &manifest, const Datasets &datasets,
             const std::vector<size_t> &variants, const DataOptions &options,
             Console &console) {
  std::vector<PassBatches> passes(datasets.size());
  int64_t all = 0;
  for (size_t i = 0; i < datasets.size(); ++i) {
    if (!datasets[i])
      continue;
    int64_t batch = manifest.getBatch(variants[i]);
    int64_t samples = datasets[i]->getSamples();
    if (!manifest.evaluatesParts())
      samples -= samples % batch;
    passes[i] = PassBatches(samples, batch);
    all += passes[i].count;
  }
  int64_t most = options.evalBatches.value_or(all);
  if (most >= all)
    return passes;
  console.noteOnce(fmt::format("evaluations take {} of {} batches "
                               "(--eval-batches)",
                               most, all));
  int64_t before = 0;
  for (PassBatches &pass : passes) {
    auto share = [&](int64_t batches) {
      return static_cast<int64_t>(static_cast<__int128>(batches) * most / all);
    };
    int64_t end = before + pass.count;
    pass.count = share(end) - share(before);
    before = end;
  }
  return passes;
}

/// Names the sample of a batch, if it is one, that makes the loss not finite.
static std::optional<std::string> findProblem(const Dataset &data,
                                              const Function &function,
                                              int64_t first, int64_t count) {
  std::vector<int64_t> samples(static_cast<size_t>(count));
  std::iota(samples.begin(), samples.end(), first);
  return data.findProblem(function.spec->inputs, samples);
}

/// Explains a loss that is not finite by the sample that was found, or by the
/// sums. Only rank 0 explains what no sample does.
static std::optional<Error>
explainNotFinite(double loss, const std::optional<std::string> &sample,
                 const EvaluationSums &sums, int64_t rank) {
  if (std::isfinite(loss) || (!sample && rank != 0))
    return std::nullopt;
  std::string what = "the loss is not finite";
  if (sample)
    return badInput("--eval-data", what + ": " + *sample,
                    "mend the data, or leave the sample out");
  if (sums.isEmpty())
    return badInput("--eval-data",
                    what + ": each label is one that the loss ignores",
                    "evaluate samples with labels that count");
  return failure("evaluation", what + ", though the samples are",
                 "the outputs have become too large: lower --lr, or evaluate "
                 "an earlier checkpoint");
}

std::optional<Evaluation>
ingot::runtime::evaluate(const RunContext &context, const Datasets &datasets,
                         const std::vector<size_t> &variants) {
  Session &session = context.session;
  const Options &options = context.options;
  Communicator &ranks = context.dataRanks;
  Console &console = context.console;
  const Manifest &manifest = session.getManifest();
  EvaluationSums sums(*session.findFunction("eval_step")->spec);
  EvaluationMetrics metrics(manifest);
  int64_t evaluated = 0, left = 0;
  std::optional<std::string> problem;
  const bool together = isModelInShards(session);
  std::vector<PassBatches> passes =
      choosePasses(manifest, datasets, variants, options.data, console);
  for (size_t i = 0; i < datasets.size(); ++i) {
    if (!datasets[i])
      continue;
    const Dataset &data = *datasets[i];
    const Function &function = *session.findFunction("eval_step", variants[i]);
    int64_t samples = passes[i].samples;
    evaluated += samples;
    left += data.getSamples() - samples;
    forEachBatch(session, function, data, passes[i], options, ranks.getRank(),
                 ranks.getSize(), together, [&](int64_t first, int64_t count) {
                   Results results = session.fetchResults(function);
                   bool wereFinite = sums.areFinite();
                   sums.add(session, results);
                   if (wereFinite && !sums.areFinite())
                     problem = findProblem(data, function, first, count);
                   metrics.add(session, results);
                   if (context.stop.getSignal())
                     sums.isCut() = 1;
                   // Other ranks would wait for the batches that are left.
                   return together || sums.isCut() == 0;
                 });
  }
  session.printNotes(console);
  for (const auto &data : datasets)
    if (data)
      data->printNotes(console);
  if (evaluated == 0)
    throw badInput("--eval-data",
                   fmt::format("{} samples, fewer than a batch of {}, and "
                               "this loss cannot mask padding",
                               left, manifest.batch),
                   "give more samples, or compile with a smaller --batch");
  if (left != 0)
    console.noteOnce(fmt::format(
        "evaluation leaves out the last {} samples: a loss that the graph "
        "computes cannot mask padding",
        left));
  ranks.allReduce(sums.values.data(), static_cast<int64_t>(sums.values.size()),
                  DType::F64, "sums of an evaluation");
  if (sums.isCut() != 0)
    return std::nullopt;
  metrics.addRanks(ranks);
  Evaluation result;
  double loss = sums.getLoss();
  result.metrics.push_back({"eval_loss", loss});
  if (auto accuracy = sums.getAccuracy())
    result.metrics.push_back({"eval_accuracy", *accuracy});
  metrics.finish(loss, result.metrics, result.tables);
  result.problem = explainNotFinite(loss, problem, sums, ranks.getRank());
  return result;
}

void ingot::runtime::predict(const RunContext &context,
                             const Datasets &datasets,
                             const std::vector<size_t> &variants,
                             const std::optional<std::string> &path) {
  Session &session = context.session;
  Console &console = context.console;
  size_t i = 0;
  while (!datasets[i])
    ++i;
  const Dataset &data = *datasets[i];
  const Function &function = *session.findFunction("predict", variants[i]);
  int64_t batch = session.getManifest().getBatch(variants[i]),
          samples = data.getSamples();
  struct Column {
    const TensorSpec *spec;
    int64_t rowBytes;
    std::string bytes;
  };
  std::vector<Column> columns;
  for (const TensorSpec &output : function.spec->outputs) {
    if (output.shape.empty() || output.shape[0] != batch) {
      console.noteOnce("output '" + output.name +
                       "' has no batch dimension: not in the predictions");
      continue;
    }
    Column &column = columns.emplace_back();
    column.spec = &output;
    column.rowBytes = output.getBytes() / batch;
    if (path)
      column.bytes.reserve(column.rowBytes * samples);
  }
  forEachBatch(session, function, data, PassBatches(samples, batch),
               context.options, /*rank=*/0, /*size=*/1, /*together=*/false,
               [&](int64_t /*first*/, int64_t count) {
                 if (!path)
                   return true;
                 for (Column &column : columns)
                   column.bytes.append(session.getOutput(*column.spec),
                                       column.rowBytes * count);
                 return true;
               });
  session.printNotes(console);
  if (!path)
    return;
  ZipWriter writer(*path);
  for (const Column &column : columns) {
    std::vector<int64_t> shape = column.spec->shape;
    shape[0] = samples;
    std::string header = makeNpyHeader(column.spec->dtype, shape);
    writer.begin(column.spec->name + ".npy",
                 header.size() + column.bytes.size());
    writer.write(header);
    writer.write(column.bytes);
    writer.end();
  }
  writer.commit();
}
