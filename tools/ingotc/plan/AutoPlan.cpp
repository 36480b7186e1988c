// SPDX-License-Identifier: Apache-2.0

#include "tools/ingotc/plan/AutoPlan.h"

#include "passes/plan/Explain.h"
#include "runtime/core/Error.h"
#include "tools/ingotc/compile/Compiler.h"
#include "tools/ingotc/plan/StepSampler.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace ingot;
using Words = std::vector<std::string>;

namespace {

class Planner {
public:
  explicit Planner(const CompilerOptions &given)
      : given(given), planning(*given.planning), cluster(*given.plan),
        sampler(planning.words) {}

  int run();

private:
  void findSpace();
  /// Compiles what estimates for these ranks that compute together are made of.
  /// Returns whether there is such a step; if not, `left` says why.
  bool sample(int64_t tensor, Estimator &estimator);
  /// Samples more and more ranks that compute together, until that makes steps
  /// slower. Returns whether there is any step.
  bool sampleAll(Estimator &estimator);
  void replayBest(SearchResult &result);
  bool isGiven(const char *option) const {
    return given.given.count(option) > 0;
  }
  /// The options of a layout but those that the command line has.
  Words getWords(const Layout &layout) const;

  const CompilerOptions &given;
  const Planning &planning;
  Cluster cluster;
  StepSampler sampler;
  SearchSpace space;
  StepSampler::Device device;
  std::string left;
};

} // namespace

Words Planner::getWords(const Layout &layout) const {
  Words words = layout.getWords();
  llvm::erase_if(words, [&](const std::string &word) {
    llvm::StringRef name = llvm::StringRef(word).drop_front(2).split('=').first;
    return isGiven(name.str().c_str());
  });
  return words;
}

void Planner::findSpace() {
  if (cluster.ranks.size() != 1)
    throw runtime::badInput(given.cluster,
                            "'ranks' must be one number for --auto",
                            "name the ranks to plan for, as in [64]");
  space.ranks = cluster.ranks.front();
  space.globalBatch = planning.globalBatch;
  space.memoryBytes = cluster.memoryBytes;
  if (space.memoryBytes == 0) {
    // Some of a GPU's memory is its driver's and its libraries'.
    constexpr double share = 0.95;
    space.memoryBytes = share * device.memoryBytes;
  }
  if (space.memoryBytes == 0)
    throw runtime::badInput(given.cluster,
                            "'memory_gb' must say how much memory a rank has",
                            "docs/cluster.md describes the file");
  space.tensor = SearchSpace::listTensorRanks(cluster, space.ranks);
  if (const auto &mesh = given.pipeline->mesh; !mesh.empty()) {
    space.tensor.clear();
    for (const AxisSize &axis : mesh)
      if (axis.axis == "tensor")
        space.tensor = {axis.ranks};
    if (space.tensor.empty())
      space.tensor = {1};
  }
  space.batch = given.import.batch.value_or(0);
  // The second stage takes less memory than the first, and no more time.
  space.zero = {0, 2, 3};
  if (isGiven("zero"))
    space.zero = {given.pipeline->zero};
  // What a budget leaves of a step of few blocks is another part of it than of
  // a step of many.
  if (isGiven("memory-budget"))
    left += "note: --memory-budget: what is computed again is that of a few "
            "blocks; memory and time of the whole model may be far from it\n";
}

bool Planner::sample(int64_t tensor, Estimator &estimator) {
  Layout layout;
  layout.ranks = space.ranks;
  layout.tensor = tensor;
  GroupTraces traces;
  traces.stage = space.zero.back();
  traces.samples = std::max<int64_t>(1, space.batch);
  auto compile = [&](unsigned zero, int64_t batch) {
    layout.zero = zero;
    layout.batch = batch;
    return sampler.compile(getWords(layout), StepSampler::kSmall);
  };
  try {
    // A batch that is given is that of both.
    traces.one = compile(traces.stage, 1);
    traces.two = compile(traces.stage, 2);
    for (unsigned zero : space.zero)
      traces.stages[zero] =
          zero == traces.stage ? traces.one : compile(zero, 1);
  } catch (const runtime::Error &error) {
    left += llvm::formatv("note: {0} ranks that compute a step together are "
                          "left out: {1}\n",
                          tensor, error.what());
    return false;
  }
  estimator.add(tensor, std::move(traces));
  return true;
}

bool Planner::sampleAll(Estimator &estimator) {
  bool isAny = false;
  std::optional<double> before;
  for (int64_t tensor : space.tensor) {
    if (!sample(tensor, estimator))
      continue;
    isAny = true;
    SearchSpace one = space;
    one.tensor = {tensor};
    SearchResult found = search(one, estimator, 1);
    if (found.best.empty())
      continue;
    // Exchanges grow with the ranks that compute together, and what they save
    // in memory and in other exchanges shrinks.
    double seconds = found.best.front().estimate.stepSeconds;
    constexpr double margin = 1.02;
    if (before && seconds > margin * *before)
      break;
    before = seconds;
  }
  return isAny;
}

void Planner::replayBest(SearchResult &result) {
  for (Candidate &candidate : result.best)
    try {
      BlockTraces traces =
          sampler.compile(getWords(candidate.layout), StepSampler::kLarge);
      candidate.replay =
          traces.replay(cluster, space.ranks, {1, 1, device.scale});
      if (static_cast<double>(candidate.replay->memoryBytes) >
          space.memoryBytes)
        candidate.problem = llvm::formatv(
            "takes {0:f2} GB when it is compiled",
            static_cast<double>(candidate.replay->memoryBytes) / 1e9);
    } catch (const runtime::Error &error) {
      candidate.problem = error.what();
    }
  llvm::stable_sort(result.best, [](const Candidate &a, const Candidate &b) {
    return std::pair(!a.problem.empty(), a.getPlan().stepSeconds) <
           std::pair(!b.problem.empty(), b.getPlan().stepSeconds);
  });
}

int Planner::run() {
  device = sampler.describeDevice(getWords(Layout()));
  findSpace();
  if (cluster.stepSeconds)
    throw runtime::badInput(given.cluster,
                            "'step_ms' is of one layout, and --auto compares "
                            "many",
                            "leave it out, and name the --machine");
  Estimator estimator(cluster, device.scale);
  if (!sampleAll(estimator)) {
    // Says why.
    Layout layout;
    layout.ranks = space.ranks;
    layout.tensor = space.tensor.front();
    layout.zero = space.zero.back();
    (void)sampler.compile(getWords(layout), StepSampler::kSmall);
  }
  constexpr size_t count = 6;
  SearchResult result = search(space, estimator, count);
  llvm::errs() << left;
  if (result.best.empty() && result.smallest)
    throw runtime::usageError(
        "--auto",
        llvm::formatv(
            "no layout of {0} ranks fits {1:f1} GB: {2} takes {3:f1} "
            "GB",
            space.ranks, space.memoryBytes / 1e9,
            result.smallest->layout.describe(),
            static_cast<double>(result.smallest->estimate.memoryBytes) / 1e9),
        "plan for more ranks, or ranks with more memory");
  if (result.best.empty())
    throw runtime::usageError(
        "--global-batch",
        llvm::formatv("{0} samples cannot be divided among {1} ranks",
                      space.globalBatch, space.ranks),
        "give a multiple of the ranks, and of --batch if it is given");
  replayBest(result);
  llvm::outs() << explain(result, space) << "\n";
  const Candidate &best = result.best.front();
  if (!best.problem.empty())
    throw runtime::failure("--auto", best.problem,
                           "plan for more ranks, or more memory");
  Words line = planning.words, chosen = getWords(best.layout);
  line.insert(line.end(), chosen.begin(), chosen.end());
  llvm::outs() << quoteForShell(line) << "\n";
  if (given.output.empty())
    return 0;
  CompilerOptions options = sampler.parse(chosen);
  options.output = given.output;
  return compile(options);
}

int ingot::planAutomatically(const CompilerOptions &options) {
  return Planner(options).run();
}
