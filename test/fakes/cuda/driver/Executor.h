// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The work of the software GPU: operations in streams, which run when the host
// waits for them, one at a time, in an order that the seed draws among those
// that streams, events and graphs allow. What only luck would order therefore
// comes in another order with another seed.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_TEST_FAKES_CUDA_DRIVER_EXECUTOR_H
#define INGOT_TEST_FAKES_CUDA_DRIVER_EXECUTOR_H

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace fakes {

/// Returns false while it waits for another rank: it is tried again.
using Work = std::function<bool()>;

/// Operations that come after each other. Without operations, before all.
using After = std::vector<uint64_t>;

/// Operations of a graph, each after others of it.
struct Node {
  After after;
  Work work;
  std::string name = {};
  /// The number by which tools know it.
  uint64_t id = 0;
};

class Executor {
public:
  explicit Executor(uint64_t seed) : random(seed), runsAhead(seed % 2 == 1) {}

  void submit(int stream, Work work) {
    tails[stream] = {add(tails[stream], std::move(work))};
  }
  /// Puts a graph into a stream, as one operation of it.
  void submit(int stream, const std::vector<Node> &nodes) {
    std::vector<uint64_t> ids;
    After all = tails[stream];
    for (const Node &node : nodes) {
      After after = node.after.empty() ? tails[stream] : After();
      for (uint64_t index : node.after)
        after.push_back(ids[index]);
      ids.push_back(add(after, node.work));
    }
    all.insert(all.end(), ids.begin(), ids.end());
    tails[stream] = {add(all, [] { return true; })};
  }

  /// After all that the stream has by now.
  After getTail(int stream) { return tails[stream]; }
  /// Orders everything that the stream gets from now on after `before` as well.
  void holdBack(int stream, const After &before) {
    After &tail = tails[stream];
    tail.insert(tail.end(), before.begin(), before.end());
  }
  bool isDone(const After &work) const {
    for (uint64_t id : work)
      if (pending.count(id))
        return false;
    return true;
  }
  /// Runs operations until these are done.
  void wait(const After &work) {
    while (!isDone(work))
      if (!runOne())
        std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  void waitForAll() {
    while (!pending.empty())
      if (!runOne())
        std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  /// A GPU may run ahead of the host's waits: with odd seeds this one does.
  void progress() {
    if (runsAhead && random() % 2 == 0)
      (void)runOne();
  }
  /// Gives up all work.
  void clear() {
    pending.clear();
    ready.clear();
  }

  /// Runs an operation that nothing holds back. Returns false if there is none
  /// but those that wait for other ranks.
  bool runOne() {
    std::vector<uint64_t> order(ready.begin(), ready.end());
    while (!order.empty()) {
      size_t at = random() % order.size();
      uint64_t id = order[at];
      order[at] = order.back();
      order.pop_back();
      // An operation that fails empties this object.
      if (!pending.at(id).work())
        continue;
      auto found = pending.find(id);
      if (found == pending.end())
        return true;
      ready.erase(id);
      for (uint64_t later : found->second.later)
        if (--pending.at(later).missing == 0)
          ready.insert(later);
      pending.erase(found);
      return true;
    }
    return false;
  }

private:
  struct Operation {
    Work work;
    size_t missing = 0;
    std::vector<uint64_t> later = {};
  };

  uint64_t add(const After &after, Work work) {
    uint64_t id = ++count;
    Operation &made = pending[id];
    made.work = std::move(work);
    for (uint64_t other : std::set<uint64_t>(after.begin(), after.end()))
      if (auto found = pending.find(other); found != pending.end()) {
        found->second.later.push_back(id);
        ++made.missing;
      }
    if (made.missing == 0)
      ready.insert(id);
    return id;
  }

  std::mt19937_64 random;
  bool runsAhead;
  uint64_t count = 0;
  std::map<uint64_t, Operation> pending;
  std::set<uint64_t> ready;
  std::map<int, After> tails;
};

} // namespace fakes

#endif // INGOT_TEST_FAKES_CUDA_DRIVER_EXECUTOR_H
