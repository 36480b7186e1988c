#include "passes/schedule/Order.h"

#include "runtime/abi/Abi.h"
#include "llvm/Support/MathExtras.h"

#include <set>

using namespace llvm;
using namespace ingot;

OrderCost ingot::measureOrder(const StepGraph &graph,
                              ArrayRef<unsigned> order) {
  StepGraph::Lifetimes lifetimes = graph.getLifetimes(order);
  OrderCost cost;
  cost.peakBytes = peakLiveBytes(lifetimes.intervals, INGOT_ALIGNMENT);
  for (const Interval &interval : lifetimes.intervals)
    cost.area += interval.bytes * (interval.last - interval.first + 1);
  return cost;
}

namespace {

/// List scheduling in one direction: of the ready nodes, those that do not
/// make the live memory grow come first, the most shrinking one ahead, then the
/// others by rank.
class ListScheduler {
public:
  /// `negligible`: bytes that count as no growth.
  ListScheduler(const StepGraph &graph, ArrayRef<unsigned> order,
                int64_t negligible)
      : nodes(graph.getNodes()), buffers(graph.getBuffers()),
        rank(nodes.size()), pending(nodes.size()), negligible(negligible) {
    for (auto [i, node] : enumerate(order))
      rank[node] = static_cast<int64_t>(i);
  }
  virtual ~ListScheduler() = default;

protected:
  /// Growth, rank, node; growth is 0 for those that grow.
  using Entry = std::tuple<int64_t, int64_t, unsigned>;

  /// How much the live memory grows when the node runs next.
  virtual int64_t growth(unsigned node) const = 0;
  /// Nodes that become ready, or may grow less, after this one.
  virtual void advance(unsigned node) = 0;

  void addReady(unsigned node) {
    ready.insert({0, rank[node], node});
    refresh(node);
  }
  /// The node may have stopped to grow.
  void refresh(unsigned node) {
    Entry entry = {0, rank[node], node};
    if (!ready.contains(entry))
      return;
    int64_t bytes = growth(node);
    if (bytes > negligible)
      return;
    ready.erase(entry);
    shrinking.insert({bytes, rank[node], node});
  }
  SmallVector<unsigned> run() {
    SmallVector<unsigned> result;
    while (!shrinking.empty() || !ready.empty()) {
      std::set<Entry> &from = shrinking.empty() ? ready : shrinking;
      unsigned node = std::get<2>(*from.begin());
      from.erase(from.begin());
      result.push_back(node);
      advance(node);
    }
    return result;
  }

  ArrayRef<StepGraph::Node> nodes;
  ArrayRef<StepGraph::Buffer> buffers;
  SmallVector<int64_t> rank;
  SmallVector<unsigned> pending;

private:
  int64_t negligible;
  std::set<Entry> ready, shrinking;
};

class ForwardScheduler : ListScheduler {
public:
  ForwardScheduler(const StepGraph &graph, ArrayRef<unsigned> order,
                   int64_t negligible)
      : ListScheduler(graph, order, negligible) {
    for (const StepGraph::Buffer &buffer : buffers)
      remaining.push_back(buffer.readers.size());
    for (const StepGraph::Node &node : nodes)
      for (unsigned next : node.successors)
        ++pending[next];
    for (unsigned i = 0; i < nodes.size(); ++i)
      if (pending[i] == 0)
        addReady(i);
  }

  SmallVector<unsigned> schedule() { return run(); }

private:
  int64_t growth(unsigned node) const override {
    int64_t bytes = 0;
    for (unsigned buffer : nodes[node].writes)
      bytes += buffers[buffer].bytes;
    for (unsigned buffer : nodes[node].reads)
      if (remaining[buffer] == 1 && !buffers[buffer].isKept)
        bytes -= buffers[buffer].bytes;
    return bytes;
  }
  void advance(unsigned node) override {
    for (unsigned buffer : nodes[node].reads)
      if (--remaining[buffer] == 1)
        for (unsigned reader : buffers[buffer].readers)
          refresh(reader);
    for (unsigned next : nodes[node].successors)
      if (--pending[next] == 0)
        addReady(next);
  }

  /// Readers of each buffer that have not run.
  SmallVector<unsigned> remaining;
};

class BackwardScheduler : ListScheduler {
public:
  BackwardScheduler(const StepGraph &graph, ArrayRef<unsigned> order)
      : ListScheduler(graph, order, /*negligible=*/0),
        predecessors(nodes.size()) {
    for (int64_t &r : rank)
      r = -r;
    for (const StepGraph::Buffer &buffer : buffers)
      isLive.push_back(buffer.isKept);
    for (auto [i, node] : enumerate(nodes)) {
      pending[i] = node.successors.size();
      for (unsigned next : node.successors)
        predecessors[next].push_back(i);
    }
    for (unsigned i = 0; i < nodes.size(); ++i)
      if (pending[i] == 0)
        addReady(i);
  }

  SmallVector<unsigned> schedule() {
    SmallVector<unsigned> order = run();
    std::reverse(order.begin(), order.end());
    return order;
  }

private:
  int64_t growth(unsigned node) const override {
    int64_t bytes = 0;
    for (unsigned buffer : nodes[node].reads)
      if (!isLive[buffer])
        bytes += buffers[buffer].bytes;
    for (unsigned buffer : nodes[node].writes)
      bytes -= buffers[buffer].bytes;
    return bytes;
  }
  void advance(unsigned node) override {
    for (unsigned buffer : nodes[node].reads) {
      if (isLive[buffer])
        continue;
      isLive[buffer] = true;
      for (unsigned reader : buffers[buffer].readers)
        refresh(reader);
    }
    for (unsigned previous : predecessors[node])
      if (--pending[previous] == 0)
        addReady(previous);
  }

  SmallVector<SmallVector<unsigned, 4>> predecessors;
  /// Whether each buffer has a reader that comes later.
  SmallVector<bool> isLive;
};

} // namespace

SmallVector<unsigned> ingot::improveOrder(const StepGraph &graph,
                                          ArrayRef<unsigned> order) {
  SmallVector<unsigned> best(order);
  OrderCost cost = measureOrder(graph, best);
  auto attempt = [&](SmallVector<unsigned> candidate) {
    OrderCost other = measureOrder(graph, candidate);
    if (other >= cost)
      return;
    best = std::move(candidate);
    cost = other;
  };
  // Scalars that all updates wait for (of a step's number, say) do not hold
  // them up: what all such nodes take together is a small share of the peak.
  constexpr int64_t negligibleShare = 128;
  auto count = static_cast<int64_t>(order.size());
  int64_t negligible =
      count == 0 ? 0 : cost.peakBytes / (count * negligibleShare);
  attempt(ForwardScheduler(graph, best, negligible).schedule());
  attempt(BackwardScheduler(graph, best).schedule());
  return best;
}
