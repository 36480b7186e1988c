// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The samples of a run, for training and for evaluation, and the order in which
// steps take them.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_TRAINER_INPUT_RUNDATA_H
#define INGOT_RUNTIME_TRAINER_INPUT_RUNDATA_H

#include "runtime/data/Sampler.h"
#include "runtime/data/dataset/VariantData.h"
#include "runtime/trainer/input/Feed.h"
#include "runtime/trainer/run/RunContext.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace ingot::runtime {

class SampleStream;
class StreamOrder;

class RunData {
public:
  /// Opens the files of --data and --eval-data. What `start` says of the order
  /// of samples is followed, and left out of it where these samples cannot.
  /// Throws badInput and usageError.
  RunData(const RunContext &context, RunStart &start);
  ~RunData();

  /// The samples of the variants that are used; empty without --data and
  /// --eval-data.
  const Datasets &getTraining() const { return training; }
  const Datasets &getEvaluation() const { return evaluation; }
  /// The variants that are used, one for all that differ in the batch alone.
  const std::vector<size_t> &getVariants() const { return variants; }
  /// Whether there are samples with all that an evaluation needs.
  bool canEvaluate() const { return hasLabels; }
  /// The order of the training samples; null without them.
  Sampler *getSampler() const { return sampler ? &*sampler : nullptr; }
  /// The order of samples that come through a pipe; null for others.
  const StreamOrder *getStream() const { return order.get(); }
  /// Whether the run ends where its samples do.
  bool isEndless() const;
  /// The names of the classes of folders of pictures; empty for other data.
  const ClassNames &getClasses() const { return classes; }

  /// Returns the number of samples; those that come through a pipe are not
  /// counted.
  int64_t countTraining() const { return stream ? 0 : count(training); }
  int64_t countEvaluation() const { return count(evaluation); }
  /// Returns the micro-batches of a step on all ranks.
  int64_t getStepParts() const;
  /// Returns the samples of the largest step.
  int64_t getStepSamples() const;
  /// Returns which of the data sets a step takes its samples of.
  size_t getGroup(int64_t step) const;
  /// Names what is wrong with the samples of a step; nothing if all are right.
  std::optional<std::string> findProblem(int64_t step) const;

  /// Starts to make the batches of the steps from `step` up to `end`; null
  /// without training samples.
  std::unique_ptr<Feed> makeFeed(int64_t step, int64_t end) const;

private:
  void openTraining();
  void openEvaluation();
  /// Opens the samples of the files, by variant of the function.
  Datasets open(const DataFiles &files, const Function &function);
  /// Chooses the variants of functions of that name that take samples.
  std::vector<DataVariant> choose(const std::string &function);
  /// Finds out which classes the folders of pictures have, and whether they are
  /// those of the checkpoint.
  void findClasses(const DataFiles &files, const std::string &option);
  void sample(const DataFiles &files);
  void sampleStream();
  const std::vector<InputSpec> &getInputs(size_t variant) const;
  static int64_t count(const Datasets &data);

  RunContext context;
  RunStart &start;
  ClassNames classes;
  /// The pictures of --cache; null without it.
  std::shared_ptr<PictureCache> cache;
  std::vector<size_t> variants;
  Datasets training, evaluation;
  /// Samples that come through a pipe, and the order in which steps take them;
  /// null for files.
  std::shared_ptr<SampleStream> stream;
  std::unique_ptr<StreamOrder> order;
  /// It keeps the order of the epoch that it was asked for last.
  mutable std::optional<Sampler> sampler;
  bool hasLabels = false;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_TRAINER_INPUT_RUNDATA_H
