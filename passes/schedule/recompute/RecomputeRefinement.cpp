// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Finds plans that take less time at an equal peak, by local search around the
// sequence.
//
//===----------------------------------------------------------------------===//

#include "passes/schedule/recompute/RecomputeSearch.h"

using namespace mlir;
using namespace ingot;

/// Returns the number of plans to try: a function of the graph only, so that
/// the result does not depend on the budget; none in a graph that is so large
/// that its layers are alike and each chain is a small part of the peak.
int64_t RecomputeSearch::countAttempts() const {
  constexpr int64_t effort = 200'000, mostNodes = 400;
  auto nodes = static_cast<int64_t>(graph.getNodes().size());
  return nodes > mostNodes ? 0 : effort / (nodes + 1);
}

/// Searches at the peak of each plan so far, starting with the best that fits
/// there.
void RecomputeSearch::refine() {
  int64_t attempts = countAttempts();
  for (size_t i = 0, count = tried.size(); i < count; ++i) {
    int64_t limit = tried[i].liveBytes;
    const Tried *best = &tried[i];
    for (const Tried &other : tried)
      if (other.liveBytes <= limit && other.seconds < best->seconds)
        best = &other;
    again = best->again;
    auto share = attempts / static_cast<int64_t>(count - i), left = share;
    exchange(limit, left);
    attempts -= share - left;
    remember(makePlan());
  }
}

/// Drops one buffer or none, recomputes a chain at the resulting peak and
/// others until `bytes` suffice, and drops recomputations that are not needed
/// with them, as long as that takes less time.
void RecomputeSearch::exchange(int64_t bytes, int64_t &attempts) {
  constexpr double least = 1e-6;
  constexpr size_t mostChains = 8;
  drop(bytes, attempts);
  for (bool improved = true; improved;) {
    improved = false;
    llvm::BitVector best = again;
    double seconds = getSeconds() * (1 - least);
    SmallVector<std::optional<unsigned>> without = {std::nullopt};
    llvm::append_range(without, listDearest());
    for (std::optional<unsigned> buffer : without) {
      if (improved || attempts <= 0)
        break;
      if (buffer)
        again.reset(*buffer);
      prune();
      llvm::BitVector base = again;
      SmallVector<Chain> chains = listChains(makePlan());
      --attempts;
      for (const Chain &chain : ArrayRef(chains).take_front(mostChains)) {
        if (buffer && llvm::is_contained(chain.buffers, *buffer))
          continue;
        for (unsigned added : chain.buffers)
          again.set(added);
        improved = complete(bytes, buffer, seconds, attempts);
        if (improved)
          break;
        again = base;
      }
      if (!improved)
        again = best;
    }
  }
}

/// Recomputes chains without the buffer until `bytes` suffice, and drops
/// recomputations that are not needed. Returns false if that takes as many
/// seconds.
bool RecomputeSearch::complete(int64_t bytes, std::optional<unsigned> without,
                               double seconds, int64_t &attempts) {
  while (attempts > 0) {
    RecomputePlan plan = makePlan();
    --attempts;
    if (plan.liveBytes <= bytes) {
      drop(bytes, attempts);
      return getSeconds() < seconds;
    }
    SmallVector<Chain> chains = listChains(plan);
    const Chain *next = llvm::find_if(chains, [&](const Chain &chain) {
      return !without || !llvm::is_contained(chain.buffers, *without);
    });
    if (next == chains.end())
      return false;
    for (unsigned added : next->buffers)
      again.set(added);
  }
  return false;
}

/// Drops recomputations that `bytes` do not require, the most expensive first.
void RecomputeSearch::drop(int64_t bytes, int64_t &attempts) {
  for (unsigned buffer : listDearest()) {
    if (attempts <= 0)
      break;
    if (!again.test(buffer))
      continue;
    again.reset(buffer);
    --attempts;
    if (makePlan().liveBytes > bytes)
      again.set(buffer);
    else
      prune();
  }
}

/// Drops recomputations without late readers.
void RecomputeSearch::prune() {
  for (unsigned buffer = again.size(); buffer-- > 0;)
    if (again.test(buffer) && !required.test(buffer) &&
        !graph.isReadLate(buffer, cut) &&
        llvm::none_of(users[buffer],
                      [&](unsigned user) { return again.test(user); }))
      again.reset(buffer);
}
