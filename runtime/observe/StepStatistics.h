// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The cost of steps, measured in every run: percentiles of their time, the part
// that waits for data, throughput against the roofline, and memory.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_OBSERVE_STEPSTATISTICS_H
#define INGOT_RUNTIME_OBSERVE_STEPSTATISTICS_H

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace ingot::runtime {

/// The cost of a step, as far as it is known before the step runs.
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
  /// Bytes per second that the process read from storage and wrote to it.
  double readBytesPerSecond = 0, writtenBytesPerSecond = 0;
  /// The part of the time that waited for collectives, and the bytes per second
  /// that this rank sent by them; none with one rank.
  std::optional<double> exposedShare, sentBytesPerSecond;

  /// Formats the summary as a JSON object.
  std::string toJson() const;
};

/// The bytes that a process read from storage and wrote to it.
struct StorageUse {
  int64_t read = 0, written = 0;
};

/// The cost of collectives since the run began.
struct CommunicationUse {
  double waitSeconds = 0;
  int64_t bytes = 0;
};

class StepStatistics {
public:
  /// Reads what collectives cost so far.
  using ReadCommunication = std::function<CommunicationUse()>;

  /// `readCommunication` is null with one rank.
  explicit StepStatistics(ReadCommunication readCommunication = nullptr);

  /// Adds a step of which `dataMs` was spent waiting for data.
  void add(double stepMs, double dataMs, const StepCost &cost = {});
  /// Whether there is enough for a summary. What it asks the system for takes
  /// as long as a short step.
  bool isFull() const { return hasPart(1); }
  /// Whether there is enough for one at the end of an epoch, of which some have
  /// one step.
  bool isWorthwhile() const { return hasPart(10); }
  bool isEmpty() const { return times.empty(); }
  /// Summarizes the steps since the last call and starts a new window.
  StepSummary take();

  /// The fewest steps of a window, and the least time that they take, unless an
  /// epoch ends before.
  static constexpr int64_t kWindow = 100;
  static constexpr double kLeastMs = 50;

private:
  bool hasPart(int64_t divisor) const {
    return static_cast<int64_t>(times.size()) >= kWindow / divisor &&
           totalMs >= kLeastMs / static_cast<double>(divisor);
  }

  /// The cost of all steps.
  StepCost cost;
  ReadCommunication readCommunication;
  std::vector<double> times;
  double totalMs = 0, dataMs = 0, processorSeconds = 0;
  /// The beginning of the window, which has more than its steps: evaluations,
  /// checkpoints.
  std::chrono::steady_clock::time_point begin;
  StorageUse storage;
  CommunicationUse communication;
};

/// The nearest rank: the smallest time that `part` of the times, which are
/// sorted, do not exceed.
double getPercentile(const std::vector<double> &sorted, double part);

/// Returns the resident memory of this process, in bytes; 0 if unknown.
int64_t readResidentBytes();

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_OBSERVE_STEPSTATISTICS_H
