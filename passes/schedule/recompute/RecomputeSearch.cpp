// SPDX-License-Identifier: Apache-2.0

#include "passes/schedule/recompute/RecomputeSearch.h"

#include "passes/schedule/Order.h"
#include "runtime/abi/Abi.h"

using namespace mlir;
using namespace ingot;

RecomputeSearch::RecomputeSearch(const StepGraph &graph, unsigned cut,
                                 ArrayRef<RecomputeRecipe> recipes,
                                 llvm::BitVector allowed, llvm::BitVector again)
    : graph(graph), cut(cut), recipes(recipes), allowed(std::move(allowed)),
      required(again), again(std::move(again)),
      base(improveOrder(graph, graph.getProgramOrder())),
      users(recipes.size()) {
  for (auto [i, recipe] : llvm::enumerate(recipes))
    for (unsigned read : recipe.reads)
      users[read].push_back(i);
}

double RecomputeSearch::getSeconds() const {
  double sum = 0;
  for (unsigned buffer : again.set_bits())
    sum += recipes[buffer].seconds;
  return sum;
}

/// Returns the live bytes near the peak, summed over all instants: if there are
/// several maxima, lowering one of them is progress.
static int64_t measureExcess(const RecomputePlan &plan) {
  constexpr int64_t nearShare = 20;
  int64_t limit = plan.liveBytes - plan.liveBytes / nearShare;
  SmallVector<int64_t> change(plan.order.size() + 3, 0);
  for (const Interval &interval : plan.lifetimes.intervals) {
    change[interval.first] += interval.bytes;
    change[interval.last + 1] -= interval.bytes;
  }
  int64_t live = 0, excess = 0;
  for (int64_t bytes : change) {
    live += bytes;
    excess += std::max<int64_t>(0, live - limit);
  }
  return excess;
}

RecomputePlan RecomputeSearch::makePlan() const {
  RecomputePlan plan{graph.withRecomputed(again, cut), {}, {}};
  plan.order = improveOrder(plan.graph, plan.graph.getLazyOrder(base));
  plan.lifetimes = plan.graph.getLifetimes(plan.order);
  plan.liveBytes =
      peakLiveBytes(plan.lifetimes.intervals, INGOT_ALIGNMENT, &plan.peak);
  plan.excess = measureExcess(plan);
  return plan;
}

static void pack(RecomputePlan &plan) {
  plan.arenaBytes = packIntervals(plan.lifetimes.intervals, INGOT_ALIGNMENT);
}

std::optional<RecomputePlan> RecomputeSearch::find(int64_t bytes) {
  RecomputePlan plan = makePlan();
  bool refines = countAttempts() > 0;
  do {
    // No arena is smaller than the live bytes.
    if (plan.liveBytes <= bytes && (tried.empty() || !refines)) {
      pack(plan);
      if (plan.arenaBytes <= bytes)
        return trim(std::move(plan), bytes);
    }
    remember(plan);
  } while (extend(plan));
  if (!refines)
    return std::nullopt;
  refine();
  return findCheapest(bytes);
}

void RecomputeSearch::remember(const RecomputePlan &plan) {
  tried.push_back({getSeconds(), plan.liveBytes, again});
}

/// Returns the plan that takes the least time among those found so far that
/// fit.
std::optional<RecomputePlan> RecomputeSearch::findCheapest(int64_t bytes) {
  llvm::stable_sort(tried, [](const Tried &a, const Tried &b) {
    return a.seconds < b.seconds;
  });
  for (const Tried &attempt : tried) {
    if (attempt.liveBytes > bytes)
      continue;
    again = attempt.again;
    RecomputePlan plan = makePlan();
    pack(plan);
    if (plan.arenaBytes <= bytes)
      return trim(std::move(plan), bytes);
  }
  return std::nullopt;
}

RecomputePlan RecomputeSearch::findSmallest() {
  llvm::stable_sort(tried, [](const Tried &a, const Tried &b) {
    return a.liveBytes < b.liveBytes;
  });
  std::optional<RecomputePlan> smallest;
  llvm::BitVector chosen;
  for (const Tried &attempt : tried) {
    if (smallest && attempt.liveBytes >= smallest->arenaBytes)
      break;
    again = attempt.again;
    RecomputePlan plan = makePlan();
    pack(plan);
    if (!smallest || plan.arenaBytes < smallest->arenaBytes) {
      smallest.emplace(std::move(plan));
      chosen = attempt.again;
    }
  }
  again = chosen;
  return std::move(*smallest);
}

void RecomputeSearch::findLifetimes(const RecomputePlan &plan) {
  ArrayRef<StepGraph::Node> nodes = plan.graph.getNodes();
  ArrayRef<StepGraph::Buffer> buffers = plan.graph.getBuffers();
  auto end = static_cast<int64_t>(nodes.size());
  SmallVector<int64_t> at(nodes.size());
  for (auto [i, node] : llvm::enumerate(plan.order))
    at[node] = static_cast<int64_t>(i);
  written.assign(graph.getBuffers().size(), 0);
  lastEarly = lastRead = written;
  firstLate.assign(graph.getBuffers().size(), end);
  for (auto [i, buffer] : llvm::enumerate(graph.getBuffers())) {
    if (buffer.writer >= 0)
      written[i] = lastEarly[i] = lastRead[i] = at[buffer.writer];
    if (buffer.isKept)
      lastEarly[i] = lastRead[i] = end;
    for (unsigned reader : buffers[i].readers) {
      lastRead[i] = std::max(lastRead[i], at[reader]);
      if (reader <= cut)
        lastEarly[i] = std::max(lastEarly[i], at[reader]);
      else
        firstLate[i] = std::min(firstLate[i], at[reader]);
    }
  }
}

/// Returns true if a buffer takes memory at the peak only for later readers.
bool RecomputeSearch::livesAcross(unsigned buffer, int64_t peak) const {
  return lastEarly[buffer] < peak && peak < firstLate[buffer] &&
         peak <= lastRead[buffer];
}

/// Returns the buffer and those that have to be recomputed with it, because the
/// operands of its computation are not live any more; none if that frees no
/// memory.
std::optional<RecomputeSearch::Chain>
RecomputeSearch::findChain(unsigned buffer, int64_t peak) const {
  ArrayRef<StepGraph::Buffer> buffers = graph.getBuffers();
  // Keeping an operand that is this much smaller is better than recomputing it.
  constexpr int64_t smallShare = 8;
  constexpr size_t maxBuffers = 64;
  Chain chain;
  chain.buffers.push_back(buffer);
  int64_t saved = 0;
  double time = 0;
  for (size_t i = 0; i < chain.buffers.size(); ++i) {
    unsigned current = chain.buffers[i];
    time += recipes[current].seconds;
    if (livesAcross(current, peak))
      saved += buffers[current].bytes;
    auto add = [&](unsigned other) {
      if (!again.test(other) && !llvm::is_contained(chain.buffers, other))
        chain.buffers.push_back(other);
    };
    for (unsigned sibling : recipes[current].siblings)
      add(sibling);
    for (unsigned read : recipes[current].reads) {
      if (buffers[read].writer < 0 || lastRead[read] >= peak ||
          again.test(read) || llvm::is_contained(chain.buffers, read))
        continue;
      bool isSmall = buffers[read].bytes <= buffers[current].bytes / smallShare;
      if (allowed.test(read) && !isSmall && chain.buffers.size() < maxBuffers)
        add(read);
      else
        saved -= buffers[read].bytes;
    }
  }
  if (saved <= 0)
    return std::nullopt;
  chain.saved = saved;
  chain.score = time / static_cast<double>(saved);
  addRelatives(chain, time, peak);
  return chain;
}

/// Adds further results of the chain's operations that cost little more:
/// queries, keys and values are parts of one matmul.
void RecomputeSearch::addRelatives(Chain &chain, double time,
                                   int64_t peak) const {
  ArrayRef<StepGraph::Buffer> buffers = graph.getBuffers();
  auto isThere = [&](unsigned read) {
    return buffers[read].writer < 0 || lastRead[read] >= peak ||
           again.test(read) || llvm::is_contained(chain.buffers, read);
  };
  for (size_t i = 0; i < chain.buffers.size(); ++i) {
    if (livesAcross(chain.buffers[i], peak))
      continue;
    for (unsigned other : users[chain.buffers[i]]) {
      int64_t bytes = buffers[other].bytes;
      if (!allowed.test(other) || again.test(other) ||
          llvm::is_contained(chain.buffers, other) ||
          !livesAcross(other, peak) ||
          recipes[other].seconds >= chain.score * static_cast<double>(bytes) ||
          !recipes[other].siblings.empty() ||
          !llvm::all_of(recipes[other].reads, isThere))
        continue;
      chain.buffers.push_back(other);
      chain.saved += bytes;
      time += recipes[other].seconds;
      chain.score = time / static_cast<double>(chain.saved);
    }
  }
}

/// Returns the chains whose recomputation frees memory at the peak of the plan,
/// the best first.
SmallVector<RecomputeSearch::Chain>
RecomputeSearch::listChains(const RecomputePlan &plan) {
  findLifetimes(plan);
  SmallVector<Chain> chains;
  for (unsigned buffer : allowed.set_bits())
    if (!again.test(buffer) && livesAcross(buffer, plan.peak))
      if (std::optional<Chain> chain = findChain(buffer, plan.peak))
        chains.push_back(std::move(*chain));
  llvm::stable_sort(
      chains, [](const Chain &a, const Chain &b) { return a.score < b.score; });
  return chains;
}

/// Recomputes more chains, such that the peak is lower. Returns false if there
/// are none.
bool RecomputeSearch::extend(RecomputePlan &plan) {
  SmallVector<Chain> chains = listChains(plan);
  auto attempt = [&](ArrayRef<Chain> added) {
    llvm::BitVector before = again;
    for (const Chain &chain : added)
      for (unsigned buffer : chain.buffers)
        again.set(buffer);
    RecomputePlan next = makePlan();
    bool isBetter = std::pair(next.liveBytes, next.excess) <
                    std::pair(plan.liveBytes, plan.excess);
    if (isBetter)
      plan = std::move(next);
    else
      again = std::move(before);
    return isBetter;
  };

  // The best one, and others that are as good, such as those of equal layers:
  // large graphs need few rounds, small ones one round per chain.
  constexpr int64_t roundShare = 128;
  constexpr double asGood = 1.001;
  size_t equal = 0;
  for (int64_t saved = 0; equal < chains.size(); ++equal) {
    const Chain &chain = chains[equal];
    if (equal > 0 && (chain.score > chains[0].score * asGood ||
                      saved + chain.saved > plan.liveBytes / roundShare))
      break;
    saved += chain.saved;
  }
  if (equal > 1 && attempt(ArrayRef(chains).take_front(equal)))
    return true;
  // Recomputing a chain may need more memory than it frees here.
  constexpr size_t maxSingle = 32, maxTogether = 16;
  for (const Chain &chain : ArrayRef(chains).take_front(maxSingle))
    if (attempt(chain))
      return true;
  for (size_t count = 2; count <= maxTogether; count *= 2)
    if (count <= chains.size() && attempt(ArrayRef(chains).take_front(count)))
      return true;
  return false;
}

/// Returns the recomputations that are not needed, by time per byte: the most
/// time that the remaining budget saves.
SmallVector<unsigned> RecomputeSearch::listDearest() const {
  ArrayRef<StepGraph::Buffer> buffers = graph.getBuffers();
  SmallVector<unsigned> candidates;
  for (unsigned buffer : again.set_bits())
    if (!required.test(buffer))
      candidates.push_back(buffer);
  llvm::stable_sort(candidates, [&](unsigned a, unsigned b) {
    return recipes[a].seconds * static_cast<double>(buffers[b].bytes) >
           recipes[b].seconds * static_cast<double>(buffers[a].bytes);
  });
  return candidates;
}

/// Drops recomputations that the budget does not require, the most expensive
/// first.
RecomputePlan RecomputeSearch::trim(RecomputePlan plan, int64_t bytes) {
  constexpr size_t maxAttempts = 48;
  SmallVector<unsigned> candidates = listDearest();
  if (candidates.size() > maxAttempts)
    candidates.resize(maxAttempts);
  // Packing takes longer than everything else: usually, only the last plan is
  // packed.
  SmallVector<unsigned> dropped;
  int64_t liveBytes = plan.liveBytes;
  for (unsigned buffer : candidates) {
    again.reset(buffer);
    int64_t without = makePlan().liveBytes;
    if (liveBytes <= without && without <= bytes) {
      liveBytes = without;
      dropped.push_back(buffer);
    } else {
      again.set(buffer);
    }
  }
  while (!dropped.empty()) {
    RecomputePlan trimmed = makePlan();
    pack(trimmed);
    if (plan.arenaBytes <= trimmed.arenaBytes && trimmed.arenaBytes <= bytes)
      return trimmed;
    again.set(dropped.pop_back_val());
  }
  return plan;
}
