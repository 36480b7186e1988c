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
  /// Compiles what estimates for a layout are made of; if that is not possible,
  /// `notes` say why.
  std::optional<BlockTraces> sample(const Layout &layout);
  /// Compiles a layout with more of its blocks, and replays it.
  void replay(Candidate &candidate);
  /// Compiles the best layouts, and goes on until as many as are asked for fit
  /// as they are compiled. Returns those that do, the best first, or else those
  /// that were tried.
  SearchResult findBest(Estimator &estimator);
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
  std::set<std::string> notes;
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
    space.memoryBytes = share * sampler.getDeviceBytes(getWords(Layout()));
  }
  if (space.memoryBytes == 0)
    throw runtime::badInput(given.cluster,
                            "'memory_gb' must say how much memory a rank has",
                            "docs/cluster.md describes the file");
  space.tensor = SearchSpace::listTensorRanks(cluster, space.ranks);
  const auto &mesh = given.pipeline->mesh;
  if (!mesh.empty() || isGiven("data-parallel")) {
    space.tensor = {1};
    space.inner = 1;
    for (const AxisSize &axis : mesh)
      if (axis.axis == "tensor")
        space.tensor = {axis.ranks};
      else if (axis.axis == "inner")
        space.inner = axis.ranks;
  }
  space.batch = given.import.batch.value_or(0);
  // The second stage takes less memory than the first, and no more time.
  space.zero = {0, 2, 3};
  if (isGiven("zero"))
    space.zero = {given.pipeline->zero};
  // What a budget leaves of a step of few blocks is another part of it than of
  // a step of many.
  if (isGiven("memory-budget"))
    notes.insert("--memory-budget: what is computed again is that of a few "
                 "blocks; memory and time of the whole model may be far from "
                 "it");
  else
    space.kept = {Layout::kKeepsAll, 50, 1};
}

std::optional<BlockTraces> Planner::sample(const Layout &layout) {
  // What is computed again near the loss is another part of few blocks.
  bool keepsAll = layout.kept == Layout::kKeepsAll;
  try {
    return sampler.compile(getWords(layout), keepsAll ? StepSampler::kSmall
                                                      : StepSampler::kLarge);
  } catch (const runtime::Error &error) {
    notes.insert(llvm::formatv("{0} ranks that compute a step together are "
                               "left out: {1}",
                               layout.tensor, error.what()));
    return std::nullopt;
  }
}

void Planner::replay(Candidate &candidate) {
  try {
    candidate.replay =
        sampler.compile(getWords(candidate.layout), StepSampler::kLarge)
            .replay(cluster, space.ranks);
    auto bytes = static_cast<double>(candidate.replay->memoryBytes);
    if (bytes > space.memoryBytes)
      candidate.problem =
          llvm::formatv("takes {0:f2} GB when it is compiled", bytes / 1e9);
  } catch (const runtime::Error &error) {
    candidate.problem = error.what();
  }
}

SearchResult Planner::findBest(Estimator &estimator) {
  constexpr size_t count = 6, most = 24;
  SearchResult all = search(space, cluster, estimator, count);
  std::vector<Candidate> fitting, others, next = std::move(all.best);
  while (!next.empty()) {
    for (Candidate &candidate : next) {
      replay(candidate);
      bool fits = candidate.problem.empty();
      (fits ? space.known : space.tooLarge).insert(candidate.layout.describe());
      (fits ? fitting : others).push_back(std::move(candidate));
    }
    next.clear();
    if (fitting.size() < count && fitting.size() + others.size() < most)
      next = search(space, cluster, estimator, count - fitting.size()).best;
  }
  llvm::stable_sort(fitting, [](const Candidate &a, const Candidate &b) {
    return a.getPlan().stepSeconds < b.getPlan().stepSeconds;
  });
  all.best = std::move(fitting.empty() ? others : fitting);
  return all;
}

int Planner::run() {
  findSpace();
  if (cluster.stepSeconds)
    throw runtime::badInput(given.cluster,
                            "'step_ms' is of one layout, and --auto compares "
                            "many",
                            "leave it out, and name the --machine");
  Estimator estimator(
      cluster, [this](const Layout &layout) { return sample(layout); },
      space.batch);
  SearchResult result = findBest(estimator);
  for (const std::string &note : notes)
    llvm::errs() << "note: " << note << "\n";
  if (result.compared > 0 && !result.smallest) {
    // Says why.
    Layout layout;
    layout.ranks = space.ranks;
    layout.tensor = space.tensor.front();
    layout.zero = space.zero.back();
    (void)sampler.compile(getWords(layout), StepSampler::kSmall);
  }
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
