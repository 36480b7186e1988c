// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Compares what ranks must have in common (--check-ranks): after some steps,
// the checksum of each state with that of the first rank that holds the same
// elements of it. Ranks differ where a machine computes or stores wrongly, has
// another processor, or where an exchange was left out.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_TRAINER_HOOKS_RANKCHECK_H
#define INGOT_RUNTIME_TRAINER_HOOKS_RANKCHECK_H

#include "runtime/core/Manifest.h"
#include "runtime/trainer/hooks/StepHook.h"
#include "runtime/trainer/run/RunContext.h"

#include <cstdint>
#include <string>
#include <vector>

namespace ingot::runtime {

class RankCheck : public StepHook {
public:
  RankCheck(const RunContext &context, int64_t every);

  bool inspects(int64_t number) const override { return number % every == 0; }
  /// Throws failure, on all ranks, if ranks differ: naming the state that the
  /// step wrote first, and the kernel that did.
  void endStep(int64_t number, double rate) override;

private:
  /// A state that the step writes, and the last kernel that does.
  struct Checked {
    const StateSpec *spec;
    size_t kernel;
  };
  uint32_t computeChecksum(const StateSpec &spec) const;
  /// Returns the first rank that holds the same elements of a state as a rank.
  int64_t findFirst(const StateSpec &spec, int64_t rank) const;

  RunContext context;
  int64_t every;
  /// In the order in which they are written.
  std::vector<Checked> states;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_TRAINER_HOOKS_RANKCHECK_H
