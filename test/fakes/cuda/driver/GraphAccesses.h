// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Finds operations of a graph that access the same byte, at least one of them
// to write, and that no path of edges orders: a GPU may run them in either
// order, or at once.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_TEST_FAKES_CUDA_DRIVER_GRAPHACCESSES_H
#define INGOT_TEST_FAKES_CUDA_DRIVER_GRAPHACCESSES_H

#include "test/fakes/cuda/ptx/AccessLog.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace fakes {

class GraphAccesses {
public:
  /// Adds an operation that comes after others, which are known by the number
  /// that this returned for them.
  size_t add(const std::vector<uint64_t> &after) {
    std::vector<bool> before(logs.size());
    for (uint64_t other : after) {
      before[other] = true;
      for (size_t i = 0; i < other; ++i)
        before[i] = before[i] || earlier[other][i];
    }
    earlier.push_back(std::move(before));
    logs.emplace_back();
    return logs.size() - 1;
  }

  AccessLog &getLog(size_t operation) { return logs[operation]; }

  /// Returns the first conflict in memory, or "".
  std::string findConflict() const {
    struct Access {
      AccessLog::Span span;
      size_t operation;
    };
    std::vector<Access> accesses;
    for (size_t i = 0; i < logs.size(); ++i)
      for (const AccessLog::Span &span : logs[i].list())
        accesses.push_back({span, i});
    std::sort(accesses.begin(), accesses.end(),
              [](const Access &a, const Access &b) {
                return a.span.begin < b.span.begin;
              });
    std::vector<const Access *> open;
    for (const Access &access : accesses) {
      std::erase_if(open, [&](const Access *other) {
        return other->span.end <= access.span.begin;
      });
      for (const Access *other : open)
        if ((access.span.isWritten || other->span.isWritten) &&
            !isOrdered(access.operation, other->operation))
          return describe(access.span.begin, access.operation,
                          access.span.isWritten, other->operation,
                          other->span.isWritten);
      open.push_back(&access);
    }
    return "";
  }

private:
  bool isOrdered(size_t a, size_t b) const {
    return a == b || earlier[std::max(a, b)][std::min(a, b)];
  }

  std::string describe(uint64_t address, size_t a, bool aWrites, size_t b,
                       bool bWrites) const {
    auto name = [&](size_t operation, bool writes) {
      return "operation " + std::to_string(operation) + " (" +
             logs[operation].name + ", " + (writes ? "writes" : "reads") + ")";
    };
    return name(a, aWrites) + " and " + name(b, bWrites) +
           " access the byte at " + std::to_string(address) +
           ", and nothing orders them";
  }

  std::vector<AccessLog> logs;
  /// For each operation, whether those before it in the list come before it.
  std::vector<std::vector<bool>> earlier;
};

} // namespace fakes

#endif // INGOT_TEST_FAKES_CUDA_DRIVER_GRAPHACCESSES_H
