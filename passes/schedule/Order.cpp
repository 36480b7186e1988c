// SPDX-License-Identifier: Apache-2.0

#include "passes/schedule/Order.h"

#include "dialects/ingot/analysis/StateOnly.h"
#include "runtime/abi/Abi.h"
#include "llvm/Support/MathExtras.h"

#include <map>
#include <set>

using namespace llvm;
using namespace ingot;
using mlir::Operation;
using mlir::Value;

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

/// List scheduling in one direction: among the ready nodes, those that do not
/// increase the live memory come first, starting with the one that frees most,
/// then the others by rank.
class ListScheduler {
public:
  /// Creates a scheduler; `negligible` bytes do not count as growth.
  ListScheduler(const StepGraph &graph, ArrayRef<unsigned> order,
                int64_t negligible)
      : nodes(graph.getNodes()), buffers(graph.getBuffers()),
        rank(nodes.size()), pending(nodes.size()), negligible(negligible) {
    for (auto [i, node] : enumerate(order))
      rank[node] = static_cast<int64_t>(i);
  }
  virtual ~ListScheduler() = default;

protected:
  /// The ready nodes as growth, rank, node; growth is 0 for those that grow.
  using Entry = std::tuple<int64_t, int64_t, unsigned>;

  /// Returns by how much the live memory grows if the node runs next.
  virtual int64_t growth(unsigned node) const = 0;
  /// The nodes that become ready, or may grow less, after this one.
  virtual void advance(unsigned node) = 0;

  void addReady(unsigned node) {
    ready.insert({0, rank[node], node});
    refresh(node);
  }
  /// The node may not grow any more.
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

  /// The number of readers of each buffer that have not run.
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

/// Returns the position of the first node that writes into a bucket's memory.
static size_t findFirstWriter(const StepGraph &graph, Value bucket,
                              ArrayRef<size_t> place, size_t start) {
  std::optional<unsigned> number = graph.getBuffer(bucket);
  if (!number)
    return start;
  size_t first = start;
  for (const StepGraph::Buffer &buffer : graph.getBuffers())
    if (buffer.bucket == static_cast<int64_t>(*number) && buffer.writer >= 0)
      first = std::min(first, place[buffer.writer]);
  return first;
}

/// Returns the order with waits that end the lifetime of their bucket right
/// before the second bucket after theirs starts: one collective is always in
/// flight. Where parameters are gathered, memory is what matters: a bucket is
/// waited for before anything is written into the second one after it.
static SmallVector<unsigned> freeBuckets(const StepGraph &graph,
                                         ArrayRef<unsigned> order) {
  constexpr size_t underWay = 2;
  ArrayRef<StepGraph::Node> nodes = graph.getNodes();
  SmallVector<size_t> starts;
  DenseMap<Value, size_t> numbers;
  // The position of the last operation that comes before.
  SmallVector<size_t> after(nodes.size(), 0);
  // The waits by the position before which they are inserted.
  DenseMap<size_t, SmallVector<unsigned, 1>> moved;
  DenseSet<unsigned> isMoved;
  // The first position at which the memory of each bucket is written.
  SmallVector<size_t> written;
  SmallVector<size_t> place(nodes.size());
  for (auto [i, index] : enumerate(order))
    place[index] = i;
  bool savesMemory = any_of(nodes, [](const StepGraph::Node &node) {
    auto end = dyn_cast<BucketEnd>(node.op);
    return end && gathersStates(end);
  });
  for (auto [i, index] : enumerate(order)) {
    const StepGraph::Node &node = nodes[index];
    for (unsigned next : node.successors)
      after[next] = std::max(after[next], i + 1);
    auto end = dyn_cast<BucketEnd>(node.op);
    if (!end || end.isBlocking() || gathersStates(end))
      continue;
    if (end.getBucket().getDefiningOp() == node.op) {
      numbers[end.getBucket()] = starts.size();
      starts.push_back(i);
      written.push_back(
          savesMemory ? findFirstWriter(graph, end.getBucket(), place, i) : i);
      continue;
    }
    size_t later = numbers.lookup(end.getBucket()) + underWay;
    if (!node.writes.empty() || later >= starts.size() ||
        after[index] > starts[later])
      continue;
    moved[std::max(written[later], after[index])].push_back(index);
    isMoved.insert(index);
  }
  SmallVector<unsigned> result;
  for (auto [i, index] : enumerate(order)) {
    if (auto waits = moved.find(i); waits != moved.end())
      append_range(result, waits->second);
    if (!isMoved.contains(index))
      result.push_back(index);
  }
  return result;
}

/// Adds the buckets of states that a value waits for.
static void findGathers(Value value, std::set<int64_t> &buckets) {
  Operation *view = value.getDefiningOp();
  if (!view || !view->hasTrait<SameBytes>())
    return;
  if (auto wait = dyn_cast<StateGatherWaitOp>(view))
    buckets.insert(static_cast<int64_t>(wait.getBucket()));
  for (Value operand : view->getOperands())
    findGathers(operand, buckets);
}

/// Returns the order in which values derived from states only wait for a bucket
/// of these states no earlier than the first operation that needs one of them;
/// with `together`, no later either.
static SmallVector<unsigned> moveBehindWaits(const StepGraph &graph,
                                             ArrayRef<unsigned> order,
                                             bool together) {
  ArrayRef<StepGraph::Node> nodes = graph.getNodes();
  ArrayRef<StepGraph::Buffer> buffers = graph.getBuffers();
  DenseSet<Operation *> stateOnly =
      findStateOnlyOps(graph.getSignature().getFunction());
  // The buckets that each moved node waits for.
  std::map<unsigned, std::set<int64_t>> waits;
  SmallVector<size_t> place(nodes.size());
  for (auto [i, index] : enumerate(order)) {
    const StepGraph::Node &node = nodes[index];
    place[index] = i;
    bool isKept =
        node.writesState || node.successors.empty() ||
        any_of(node.writes, [&](unsigned to) { return buffers[to].isKept; });
    if (!stateOnly.contains(node.op) || isKept)
      continue;
    std::set<int64_t> found;
    for (Value operand : node.op->getOperands())
      findGathers(operand, found);
    for (unsigned buffer : node.reads)
      if (auto writer = waits.find(buffers[buffer].writer);
          writer != waits.end())
        found.insert(writer->second.begin(), writer->second.end());
    if (!found.empty())
      waits[index] = std::move(found);
  }
  if (waits.empty())
    return to_vector(order);
  // The position of the first successor. A value that waits for several buckets
  // reads values that wait for one: its position is determined first.
  auto findLimit = [&](unsigned index) {
    size_t limit = order.size();
    for (unsigned next : nodes[index].successors)
      limit = std::min(limit, place[next]);
    return limit;
  };
  for (unsigned index : reverse(order))
    if (auto found = waits.find(index);
        found != waits.end() && found->second.size() > 1)
      place[index] = findLimit(index);
  std::map<int64_t, size_t> placeOf;
  for (unsigned index : reverse(order)) {
    auto found = waits.find(index);
    if (found == waits.end() || found->second.size() > 1)
      continue;
    auto [bucket, isNew] =
        placeOf.try_emplace(*found->second.begin(), order.size());
    // Its readers in the bucket have the position of the bucket.
    for (unsigned next : nodes[index].successors)
      if (auto other = waits.find(next);
          other == waits.end() || other->second != found->second)
        bucket->second = std::min(bucket->second, place[next]);
  }
  for (auto [i, index] : enumerate(order))
    if (auto found = waits.find(index);
        found != waits.end() && found->second.size() == 1) {
      size_t first = placeOf.at(*found->second.begin());
      place[index] = together ? first : std::max(i, first);
    }
  // Among nodes at one position: what others need there, what waits for one
  // bucket, what waits for several, and the node that was there.
  enum Group : unsigned { Needed, One, Several, Own };
  SmallVector<Group> groups(nodes.size(), Own);
  for (auto [index, buckets] : waits)
    groups[index] = buckets.size() > 1 ? Several : One;
  for (unsigned index : reverse(order)) {
    if (groups[index] != Own)
      continue;
    for (unsigned next : nodes[index].successors)
      if (place[next] < place[index]) {
        place[index] = place[next];
        groups[index] = Needed;
      }
  }
  SmallVector<std::tuple<size_t, Group, size_t, unsigned>> keyed;
  for (auto [i, index] : enumerate(order))
    keyed.push_back({place[index], groups[index], i, index});
  sort(keyed);
  return map_to_vector(keyed, [](const auto &key) { return std::get<3>(key); });
}

/// Returns the order in which all values derived from states only are computed
/// together, so that they can be one kernel, if memory allows.
static SmallVector<unsigned> waitLate(const StepGraph &graph,
                                      ArrayRef<unsigned> order) {
  SmallVector<unsigned> late = moveBehindWaits(graph, order, /*together=*/true);
  if (ArrayRef(late) == order)
    return late;
  if (measureOrder(graph, late).peakBytes <=
      measureOrder(graph, order).peakBytes)
    return late;
  return moveBehindWaits(graph, order, /*together=*/false);
}

/// Returns the order in which every bucket starts as soon as its parts are
/// computed and, after everything else, bucket by bucket, the ops that wait for
/// them.
static SmallVector<unsigned> overlapBuckets(const StepGraph &graph,
                                            ArrayRef<unsigned> scheduled) {
  SmallVector<unsigned> order = waitLate(graph, scheduled);
  ArrayRef<StepGraph::Node> nodes = graph.getNodes();
  // One more than the number of the last bucket that a node depends on, in the
  // order of their starts; 0 if it depends on none.
  SmallVector<unsigned> needs(nodes.size(), 0);
  // The position of the last operation that comes before.
  SmallVector<size_t> after(nodes.size(), 0);
  DenseMap<Value, unsigned> numbers;
  for (auto [i, index] : enumerate(order)) {
    const StepGraph::Node &node = nodes[index];
    // What is gathered from states is needed by most of the step.
    auto end = dyn_cast<BucketEnd>(node.op);
    if (end && !end.isBlocking() && !gathersStates(end)) {
      Value bucket = end.getBucket();
      if (bucket.getDefiningOp() == node.op)
        numbers.try_emplace(bucket, numbers.size() + 1);
      else
        needs[index] = std::max(needs[index], numbers.lookup(bucket));
    }
    for (unsigned next : node.successors) {
      needs[next] = std::max(needs[next], needs[index]);
      after[next] = std::max(after[next], i + 1);
    }
  }
  if (numbers.empty())
    return order;
  // Starts are treated as if they were right after their operands.
  SmallVector<std::tuple<unsigned, size_t, bool, unsigned>> keyed;
  for (auto [i, index] : enumerate(order)) {
    bool isStart = numbers.contains(nodes[index].op->getNumResults() == 1
                                        ? nodes[index].op->getResult(0)
                                        : Value());
    keyed.push_back(
        {needs[index], isStart ? after[index] : i + 1, isStart, index});
  }
  stable_sort(keyed, [](const auto &a, const auto &b) {
    return std::tuple(std::get<0>(a), std::get<1>(a), std::get<2>(a)) <
           std::tuple(std::get<0>(b), std::get<1>(b), std::get<2>(b));
  });
  return freeBuckets(graph, map_to_vector(keyed, [](const auto &key) {
                       return std::get<3>(key);
                     }));
}

SmallVector<unsigned> ingot::improveOrder(const StepGraph &graph,
                                          ArrayRef<unsigned> order) {
  SmallVector<unsigned> best = overlapBuckets(graph, order);
  OrderCost cost = measureOrder(graph, best);
  auto attempt = [&](ArrayRef<unsigned> scheduled) {
    SmallVector<unsigned> candidate = overlapBuckets(graph, scheduled);
    OrderCost other = measureOrder(graph, candidate);
    if (other >= cost)
      return;
    best = std::move(candidate);
    cost = other;
  };
  // Scalars that all updates depend on (for example, on the step number) do not
  // delay them: all such nodes together take a small fraction of the peak.
  constexpr int64_t negligibleShare = 128;
  auto count = static_cast<int64_t>(order.size());
  int64_t negligible =
      count == 0 ? 0 : cost.peakBytes / (count * negligibleShare);
  attempt(ForwardScheduler(graph, best, negligible).schedule());
  attempt(BackwardScheduler(graph, best).schedule());
  return best;
}
