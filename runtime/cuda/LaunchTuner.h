// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Tunes the number of blocks of kernels that compute the same with any number
// of blocks. Candidates are measured in the first runs of a function, each of
// which is a step like any other, if that is asked for; otherwise only choices
// of earlier runs are taken.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CUDA_LAUNCHTUNER_H
#define INGOT_RUNTIME_CUDA_LAUNCHTUNER_H

#include "runtime/abi/Abi.h"
#include "runtime/cuda/libraries/Tuner.h"

#include <unordered_map>
#include <vector>

namespace ingot::runtime {

class LaunchTuner {
public:
  /// `code` is the text of the kernels, whose hash is part of the key of a
  /// choice.
  LaunchTuner(Tuner &tuner, const Driver &driver, CUstream stream, CUdevice gpu,
              const char *code, bool measures);
  ~LaunchTuner();

  /// Launches a kernel by calling `put(blocks)`.
  void launch(const ingot_grid_kernel &kernel,
              const std::function<void(int32_t)> &put);
  /// Whether launches without a choice are timed.
  bool isMeasuring() const { return measures; }
  /// Whether the run has launches that are timed: the caller has to wait for
  /// it.
  bool hasTrials() const { return !trials.empty(); }
  /// Reads the times of a run that has ended. Returns whether all of its
  /// launches have been chosen.
  bool finishRun();

private:
  struct Choice {
    std::string key;
    std::vector<int32_t> candidates;
    /// The least time of each candidate so far.
    std::vector<float> milliseconds;
    size_t tries = 0;
    /// The index of the fastest candidate, once it is known.
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
  bool measures;
  std::unordered_map<const ingot_grid_kernel *, Choice> choices;
  std::vector<Trial> trials;
  std::vector<CUevent> timers;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CUDA_LAUNCHTUNER_H
