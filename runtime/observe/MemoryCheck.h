// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Checks the plan of the arena while a step runs: memory that nothing lives in
// holds a pattern, NaN in every floating-point type. What a kernel writes
// outside of its tensors breaks the pattern; what it reads of a tensor that is
// not there yet or any more is NaN.
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

  /// Before a function runs, with its inputs in place.
  void start(const FunctionSpec &function);
  void called(int32_t function, int64_t kernel) override;

  /// The first kernel that wrote where nothing lives.
  const std::optional<std::string> &getProblem() const { return problem; }

private:
  using Range = std::pair<int64_t, int64_t>;

  /// Where nothing lives while kernel `kernel` runs; with `outlives`, neither
  /// then nor after it.
  std::vector<Range> findFree(const FunctionSpec &function, int64_t kernel,
                              bool outlives) const;

  const Manifest &manifest;
  char *arena;
  std::optional<std::string> problem;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_OBSERVE_MEMORYCHECK_H
