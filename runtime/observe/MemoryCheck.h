// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Checks the plan of the arena while a step runs: memory in which no tensor is
// live holds a pattern that is NaN in every floating-point type. A kernel that
// writes outside of its tensors breaks the pattern, and one that reads a tensor
// before or after its lifetime reads NaN.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_OBSERVE_MEMORYCHECK_H
#define INGOT_RUNTIME_OBSERVE_MEMORYCHECK_H

#include "runtime/core/Context.h"
#include "runtime/core/Manifest.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ingot::runtime {

class MemoryCheck : public ingot_observer {
public:
  /// `arena` is where the manifest's offsets start.
  MemoryCheck(const Manifest &manifest, char *arena)
      : manifest(manifest), arena(arena) {}

  /// Called before a function runs, when its inputs are in the arena.
  void start(const FunctionSpec &function);
  void called(int32_t function, int64_t kernel) override;

  /// The first kernel that wrote to memory in which no tensor is live.
  const std::optional<std::string> &getProblem() const { return problem; }

private:
  using Range = std::pair<int64_t, int64_t>;

  /// The ranges in which no tensor is live while kernel `kernel` runs; with
  /// `outlives`, neither then nor directly after it.
  std::vector<Range> findFree(const FunctionSpec &function, int64_t kernel,
                              bool outlives) const;

  const Manifest &manifest;
  char *arena;
  std::optional<std::string> problem;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_OBSERVE_MEMORYCHECK_H
