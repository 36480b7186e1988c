// SPDX-License-Identifier: Apache-2.0

#include "passes/plan/Search.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <limits>

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

std::vector<int64_t> SearchSpace::listInnerRanks(const Cluster &cluster,
                                                 int64_t ranks,
                                                 int64_t tensor) {
  std::vector<int64_t> found;
  for (const LinkLevel &level : cluster.levels)
    if (level.ranks < ranks && level.ranks > tensor &&
        level.ranks % tensor == 0 && ranks % level.ranks == 0)
      found.push_back(level.ranks / tensor);
  return found;
}

namespace {

class Searcher {
public:
  Searcher(const SearchSpace &space, const Cluster &cluster,
           Estimator &estimator, size_t count)
      : space(space), cluster(cluster), estimator(estimator), count(count) {}

  SearchResult run() {
    double before = std::numeric_limits<double>::infinity();
    for (int64_t tensor : space.tensor) {
      least = std::numeric_limits<double>::infinity();
      for (unsigned zero : space.zero)
        tryInner({space.ranks, tensor, zero});
      // Exchanges grow with the ranks that compute together, and what they save
      // in memory and in other exchanges shrinks.
      constexpr double margin = 1.02;
      if (result.best.size() == count && least > margin * before)
        break;
      before = std::min(before, least);
    }
    return std::move(result);
  }

private:
  void tryInner(Layout layout) {
    // Shards of one rank are whole.
    if (layout.zero > 0 && layout.getDataRanks() == 1)
      return;
    std::vector<int64_t> all = {1};
    if (space.inner > 0)
      all = {space.inner};
    else if (layout.zero > 0)
      llvm::append_range(all, SearchSpace::listInnerRanks(cluster, space.ranks,
                                                          layout.tensor));
    for (int64_t inner : all) {
      if (layout.getDataRanks() % inner != 0)
        continue;
      layout.inner = inner;
      tryBatches(layout);
    }
  }

  void tryBatches(Layout layout) {
    int64_t data = layout.getDataRanks();
    if (space.globalBatch % data != 0)
      return;
    int64_t samples = space.globalBatch / data;
    for (int64_t batch = 1; batch <= samples; ++batch) {
      if (samples % batch != 0 || (space.batch > 0 && batch != space.batch))
        continue;
      layout.batch = batch;
      layout.microBatches = samples / batch;
      consider(layout);
    }
  }

  void consider(Layout layout) {
    ++result.compared;
    // What fits is only asked for while nothing does.
    if (result.best.size() == count &&
        estimator.getBound(layout) >= result.best.back().estimate.stepSeconds)
      return;
    for (int64_t kept : space.kept) {
      layout.kept = kept;
      std::string name = layout.describe();
      if (space.known.count(name))
        return;
      if (space.tooLarge.count(name))
        continue;
      std::optional<RankPlan> estimate = estimator.estimate(layout);
      if (!estimate)
        return;
      Candidate candidate{layout, *estimate, std::nullopt, {}};
      least = std::min(least, estimate->stepSeconds);
      if (!result.smallest ||
          estimate->memoryBytes < result.smallest->estimate.memoryBytes)
        result.smallest = candidate;
      if (static_cast<double>(estimate->memoryBytes) > space.memoryBytes)
        continue;
      add(std::move(candidate));
      return;
    }
  }

  void add(Candidate candidate) {
    ++result.fitting;
    std::vector<Candidate> &best = result.best;
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
  const Cluster &cluster;
  Estimator &estimator;
  size_t count;
  /// The least time with as many ranks that compute together as are tried.
  double least = 0;
  SearchResult result;
};

} // namespace

SearchResult ingot::search(const SearchSpace &space, const Cluster &cluster,
                           Estimator &estimator, size_t count) {
  return Searcher(space, cluster, estimator, count).run();
}
