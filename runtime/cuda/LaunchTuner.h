// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// In how many blocks kernels are launched that compute the same in any number
// of them: tried in the first runs of a function, each of which is a step as
// others are.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CUDA_LAUNCHTUNER_H
#define INGOT_RUNTIME_CUDA_LAUNCHTUNER_H

#include "runtime/abi/Abi.h"
#include "runtime/cuda/Tuner.h"

#include <unordered_map>
#include <vector>

namespace ingot::runtime {

class LaunchTuner {
public:
  /// `code`: of the kernels, for choices to be found again by.
  LaunchTuner(Tuner &tuner, const Driver &driver, CUstream stream, CUdevice gpu,
              const char *code);
  ~LaunchTuner();

  /// Launches by `put(blocks)`.
  void launch(const ingot_grid_kernel &kernel,
              const std::function<void(int32_t)> &put);
  /// Whether the run has launches to be timed: wait for it, then.
  bool hasTrials() const { return !trials.empty(); }
  /// Reads what a run took that is over. Returns whether all of its launches
  /// have been chosen.
  bool finishRun();

private:
  struct Choice {
    std::string key;
    std::vector<int32_t> candidates;
    /// The least of each, as far as they were tried.
    std::vector<float> milliseconds;
    size_t tries = 0;
    /// Of `candidates`, once it is known.
    std::optional<size_t> fastest;
  };
  struct Trial {
    Choice *choice;
    size_t candidate;
    CUevent begin, end;
  };

  Choice makeChoice(const ingot_grid_kernel &kernel) const;
  void decide(Choice &choice);
  CUevent takeTimer();

  Tuner &tuner;
  const Driver &driver;
  CUstream stream;
  int multiprocessors = 0;
  uint64_t codeHash;
  std::unordered_map<const ingot_grid_kernel *, Choice> choices;
  std::vector<Trial> trials;
  std::vector<CUevent> timers;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CUDA_LAUNCHTUNER_H
