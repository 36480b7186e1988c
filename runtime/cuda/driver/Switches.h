// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Designs that only a measurement on a GPU decides between, as environment
// variables: tools/gpu-check compares them in one run. What has been decided is
// removed from here.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CUDA_DRIVER_SWITCHES_H
#define INGOT_RUNTIME_CUDA_DRIVER_SWITCHES_H

#include <cstdlib>
#include <string>

namespace ingot::runtime {

struct Switches {
  /// INGOT_CUDA_STREAMS=1: regions run in their place, not beside other calls.
  bool hasOneStream = false;
  /// INGOT_CUDA_PRIORITIES=0: all streams have the same priority.
  bool hasPriorities = true;
  /// INGOT_CUDA_SIDE_MULTIPROCESSORS: how many matmuls in regions take; 0 for
  /// all.
  int sideMultiprocessors = 0;
  /// INGOT_CUDA_FAST_ACCUMULATION=forward or all: matmuls of 8-bit floats whose
  /// sums have fewer bits. What is a gradient has an operand of the other type.
  enum class Accumulation { Full, FastForward, Fast };
  Accumulation accumulation = Accumulation::Full;
  /// INGOT_TUNE_CANDIDATES: the algorithms of cuBLASLt that are measured.
  int candidates = 8;
  /// INGOT_TUNE_TIMES: the file that gets a line for each measured candidate.
  std::string tuneTimes;
  /// INGOT_NCCL_ALONE=1: one rank exchanges with itself.
  bool exchangesAlone = false;
};

/// Returns what the environment says.
inline const Switches &getSwitches() {
  static const Switches switches = [] {
    auto get = [](const char *name) {
      const char *text = std::getenv(name);
      return std::string(text ? text : "");
    };
    Switches read;
    read.hasOneStream = get("INGOT_CUDA_STREAMS") == "1";
    read.hasPriorities = get("INGOT_CUDA_PRIORITIES") != "0";
    read.sideMultiprocessors =
        std::atoi(get("INGOT_CUDA_SIDE_MULTIPROCESSORS").c_str());
    std::string fast = get("INGOT_CUDA_FAST_ACCUMULATION");
    if (fast == "all")
      read.accumulation = Switches::Accumulation::Fast;
    else if (fast == "forward")
      read.accumulation = Switches::Accumulation::FastForward;
    if (int most = std::atoi(get("INGOT_TUNE_CANDIDATES").c_str()); most > 0)
      read.candidates = most;
    read.tuneTimes = get("INGOT_TUNE_TIMES");
    read.exchangesAlone = get("INGOT_NCCL_ALONE") == "1";
    return read;
  }();
  return switches;
}

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CUDA_DRIVER_SWITCHES_H
