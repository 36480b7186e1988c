// SPDX-License-Identifier: Apache-2.0

#include "passes/schedule/streams/ExchangeOrder.h"

#include "dialects/ingot/exchange/ExchangeOps.h"
#include "dialects/ingot/target/Machine.h"
#include "passes/cost/Cost.h"

#include <algorithm>
#include <set>

using namespace mlir;
using namespace ingot;

NodeSeconds::NodeSeconds(const StepGraph &graph, const Machine &machine)
    : isExchange(graph.getNodes().size()) {
  for (auto [i, node] : llvm::enumerate(graph.getNodes())) {
    auto exchange = dyn_cast<Exchange>(node.op);
    if (!exchange) {
      seconds.push_back(estimateCost(node.op, machine).seconds);
      continue;
    }
    isExchange.set(static_cast<unsigned>(i));
    int64_t ranks = Mesh::of(node.op).getSize(exchange.getExchangeAxes());
    seconds.push_back(machine.getLinkSeconds(exchange.getSentBytes(ranks)));
  }
}

namespace {

/// The clocks of the two resources.
class Clocks {
public:
  Clocks(const StepGraph &graph, const NodeSeconds &times)
      : nodes(graph.getNodes()), times(times), ready(nodes.size(), 0) {}

  /// Returns whether a node would have to wait for an exchange.
  bool waits(unsigned node) const { return ready[node] > now; }

  void run(unsigned node) {
    double seconds = times.seconds[node];
    double end = 0;
    if (times.isExchange[node]) {
      link = std::max({link, now, ready[node]}) + seconds;
      played.exchange += seconds;
      end = link;
    } else {
      now = std::max(now, ready[node]) + seconds;
      played.compute += seconds;
      end = now;
    }
    for (unsigned next : nodes[node].successors)
      ready[next] = std::max(ready[next], end);
  }

  /// Waits for the link.
  void join() { now = std::max(now, link); }

  ExchangeTimes getTimes() const {
    ExchangeTimes all = played;
    all.step = std::max(now, link);
    return all;
  }

private:
  ArrayRef<StepGraph::Node> nodes;
  const NodeSeconds &times;
  /// When the operands of each node are there.
  SmallVector<double> ready;
  double now = 0, link = 0;
  ExchangeTimes played;
};

/// The nodes that are left, by their place in the order.
class Scheduler {
public:
  Scheduler(const StepGraph &graph, ArrayRef<unsigned> order,
            const NodeSeconds &times, size_t window)
      : nodes(graph.getNodes()), order(order), times(times), window(window),
        clocks(graph, times), pending(nodes.size(), 0) {
    for (auto [i, node] : llvm::enumerate(order)) {
      left.insert(i);
      for (unsigned next : nodes[node].successors)
        ++pending[next];
      for (std::set<size_t> *queue : getQueues(node))
        queue->insert(i);
    }
  }

  SmallVector<unsigned> run() {
    while (!left.empty()) {
      startExchanges();
      if (left.empty())
        break;
      take(choose());
    }
    return std::move(result);
  }

private:
  /// The orders that a node has to keep, since all ranks have to begin
  /// exchanges in one: that of exchanges, and that of sums in buckets. Bodies
  /// of loops may have some of both. An exchange may overtake the start of a
  /// bucket, which is the order of all ranks, too.
  SmallVector<std::set<size_t> *, 2> getQueues(unsigned node) {
    bool isLoop = isa<RepeatOp>(nodes[node].op);
    SmallVector<std::set<size_t> *, 2> queues;
    if (isLoop || times.isExchange[node])
      queues.push_back(&exchanges);
    if (isLoop || isa<BucketEnd>(nodes[node].op))
      queues.push_back(&buckets);
    return queues;
  }

  /// Whether nothing that has to come before the node is left.
  bool isReady(size_t at) {
    return pending[order[at]] == 0 &&
           llvm::all_of(getQueues(order[at]), [&](std::set<size_t> *queue) {
             return *queue->begin() == at;
           });
  }

  void startExchanges() {
    while (!exchanges.empty()) {
      size_t at = *exchanges.begin();
      if (!times.isExchange[order[at]] || !isReady(at) ||
          clocks.waits(order[at]))
        return;
      take(at);
    }
  }

  /// Returns the first node of the order, unless it waits for an exchange and
  /// another one need not.
  size_t choose() {
    size_t seen = 0, first = *left.begin();
    for (size_t at : left) {
      if (seen++ > window)
        break;
      if (isReady(at) && !clocks.waits(order[at]) &&
          (at == first || !isa<BucketEnd>(nodes[order[at]].op)))
        return at;
    }
    return first;
  }

  void take(size_t at) {
    unsigned node = order[at];
    left.erase(at);
    for (std::set<size_t> *queue : getQueues(node))
      queue->erase(at);
    clocks.run(node);
    for (unsigned next : nodes[node].successors)
      --pending[next];
    result.push_back(node);
  }

  ArrayRef<StepGraph::Node> nodes;
  ArrayRef<unsigned> order;
  const NodeSeconds &times;
  size_t window;
  Clocks clocks;
  SmallVector<unsigned> pending;
  /// Places in the order: of all nodes that are left, and of those that keep
  /// an order.
  std::set<size_t> left, exchanges, buckets;
  SmallVector<unsigned> result;
};

} // namespace

ExchangeTimes ingot::playExchanges(const StepGraph &graph,
                                   ArrayRef<unsigned> order,
                                   const NodeSeconds &times,
                                   const llvm::BitVector &inFlight) {
  Clocks clocks(graph, times);
  for (unsigned node : order) {
    clocks.run(node);
    if (times.isExchange[node] && !inFlight[node])
      clocks.join();
  }
  return clocks.getTimes();
}

SmallVector<unsigned> ingot::overlapExchanges(const StepGraph &graph,
                                              ArrayRef<unsigned> order,
                                              const NodeSeconds &times,
                                              size_t window) {
  return Scheduler(graph, order, times, window).run();
}
