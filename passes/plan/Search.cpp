// SPDX-License-Identifier: Apache-2.0

#include "passes/plan/Search.h"

#include <algorithm>

using namespace ingot;

std::vector<int64_t> SearchSpace::listTensorRanks(const Cluster &cluster,
                                                  int64_t ranks) {
  std::vector<int64_t> found;
  int64_t most = cluster.levels.size() > 1 ? cluster.getRanksPerNode() : ranks;
  // More do not pay off over any link.
  constexpr int64_t usual = 16;
  for (int64_t tensor = 1; tensor <= std::min({most, ranks, usual}); ++tensor)
    if (ranks % tensor == 0 && most % tensor == 0)
      found.push_back(tensor);
  return found;
}

namespace {

class Searcher {
public:
  Searcher(const SearchSpace &space, const Estimator &estimator, size_t count)
      : space(space), estimator(estimator), count(count) {}

  SearchResult run() {
    for (int64_t tensor : space.tensor)
      for (unsigned zero : space.zero) {
        Layout layout;
        layout.ranks = space.ranks;
        layout.tensor = tensor;
        layout.zero = zero;
        tryBatches(layout);
      }
    return std::move(result);
  }

private:
  void tryBatches(Layout layout) {
    int64_t data = layout.getDataRanks();
    // Shards of one rank are whole.
    if (space.globalBatch % data != 0 || (layout.zero > 0 && data == 1))
      return;
    int64_t samples = space.globalBatch / data;
    for (int64_t batch = 1; batch <= samples; ++batch) {
      if (samples % batch != 0 || (space.batch > 0 && batch != space.batch))
        continue;
      layout.batch = batch;
      layout.microBatches = samples / batch;
      if (estimator.knows(layout))
        consider(layout);
    }
  }

  void consider(const Layout &layout) {
    ++result.compared;
    std::vector<Candidate> &best = result.best;
    // What fits is only asked for while nothing does.
    if (best.size() == count &&
        estimator.getBound(layout) >= best.back().estimate.stepSeconds)
      return;
    Candidate candidate{layout, estimator.estimate(layout), std::nullopt, {}};
    int64_t bytes = candidate.estimate.memoryBytes;
    if (!result.smallest || bytes < result.smallest->estimate.memoryBytes)
      result.smallest = candidate;
    if (static_cast<double>(bytes) > space.memoryBytes)
      return;
    ++result.fitting;
    auto at = std::upper_bound(best.begin(), best.end(), candidate,
                               [](const Candidate &a, const Candidate &b) {
                                 return a.estimate.stepSeconds <
                                        b.estimate.stepSeconds;
                               });
    best.insert(at, std::move(candidate));
    if (best.size() > count)
      best.pop_back();
  }

  const SearchSpace &space;
  const Estimator &estimator;
  size_t count;
  SearchResult result;
};

} // namespace

SearchResult ingot::search(const SearchSpace &space, const Estimator &estimator,
                           size_t count) {
  return Searcher(space, estimator, count).run();
}
