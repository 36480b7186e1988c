// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// What steps cost, measured in every run: percentiles of their time, the part
// that waits for data, throughput against the roofline, and memory.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_OBSERVE_STEPSTATISTICS_H
#define INGOT_RUNTIME_OBSERVE_STEPSTATISTICS_H

#include <cstdint>
#include <string>
#include <vector>

namespace ingot::runtime {

/// What is known of a step before it runs.
struct StepCost {
  /// Tokens of all ranks, without padding where that is known; 0 where samples
  /// are no sequences.
  int64_t tokens = 0;
  double flops = 0;
  /// The least time on the machine it was compiled for; 0 if unknown.
  double boundMs = 0;
};

/// A summary of the steps of a window.
struct StepSummary {
  int64_t steps = 0;
  double p50 = 0, p90 = 0, p99 = 0, most = 0;
  /// Parts of the time of all steps, from 0 to 1.
  double dataShare = 0, rooflineShare = 0;
  double tokensPerSecond = 0, gflops = 0;
  /// Processors in use on average, and the process's resident memory.
  double processors = 0;
  int64_t residentBytes = 0, peakResidentBytes = 0;

  /// Formats the summary as a JSON object.
  std::string toJson() const;
};

class StepStatistics {
public:
  StepStatistics();

  /// Adds a step of which `dataMs` was spent waiting for data.
  void add(double stepMs, double dataMs, const StepCost &cost = {});
  /// Whether there is enough for a summary.
  bool isFull() const { return static_cast<int64_t>(times.size()) >= kWindow; }
  /// Whether there is enough for one at the end of an epoch, of which some have
  /// one step.
  bool isWorthwhile() const {
    return static_cast<int64_t>(times.size()) >= kWindow / 10;
  }
  bool isEmpty() const { return times.empty(); }
  /// Summarizes the steps since the last call and starts a new window.
  StepSummary take();

  /// The steps of a window, unless an epoch ends before.
  static constexpr int64_t kWindow = 100;

private:
  /// What all steps cost.
  StepCost cost;
  std::vector<double> times;
  double dataMs = 0, processorSeconds = 0;
};

/// The nearest rank: the smallest time that `part` of the times, which are
/// sorted, do not exceed.
double getPercentile(const std::vector<double> &sorted, double part);

/// Returns the resident memory of this process, in bytes; 0 if unknown.
int64_t readResidentBytes();

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_OBSERVE_STEPSTATISTICS_H
