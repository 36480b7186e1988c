// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Finds what limits a run from measurements of some steps: causes with their
// evidence, and what to change, by the gain that can be expected.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_OBSERVE_DIAGNOSE_DIAGNOSIS_H
#define INGOT_RUNTIME_OBSERVE_DIAGNOSE_DIAGNOSIS_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ingot::runtime {

/// Measurements of some steps of one rank, as averages of a step where nothing
/// else is said. Times are in milliseconds.
struct Evidence {
  int64_t steps = 0, batch = 0, ranks = 1;
  /// From the start of a step to that of the next; its parts follow.
  double step = 0;
  double data = 0, forward = 0, backward = 0, optimizer = 0;
  /// Waits for collectives, and the part of it in which another rank had not
  /// started yet.
  double communication = 0, synchronization = 0;
  double saving = 0;
  /// Time of the step outside of kernels, and what remains.
  double launch = 0, rest = 0;

  /// The threads that make batches, the time that they spend on a batch, and
  /// their processor time in it.
  int64_t workers = 0;
  double decode = 0, decodeProcessor = 0;
  /// The part of it in which they waited for a core, if the system counts it.
  std::optional<double> decodeDelay;
  /// The time of a step that was tried with more of these threads; 0 if none
  /// was.
  int64_t triedWorkers = 0;
  double triedStep = 0;
  /// Between two checkpoints, in steps; 0 without checkpoints.
  int64_t saveEvery = 0;
  /// The bytes that a rank sends, and the time that collectives were in flight.
  double sentBytes = 0, link = 0;

  /// The threads of kernels, 0 on a GPU, and the cores that they may use.
  int64_t threads = 0, cores = 1;
  /// The part of the machine's processor time that other processes took.
  double others = 0;
  /// Pages that were read back from a disk, and the part of the time in which
  /// processes of this machine waited for memory.
  double majorFaults = 0, memoryStall = 0;
  /// The part of the time of kernels in those that took less than a fifth of
  /// the least time by the machine profile, or more than 20 times that.
  double impossible = 0, slow = 0;
  /// The kernel that takes the most time of those.
  std::string kernel;

  double getKernels() const { return forward + backward + optimizer; }
};

enum class Cause {
  SlowStorage,
  SlowDecoding,
  SlowLink,
  UnequalRanks,
  SmallBatch,
  TooManyThreads,
  FrequentSaves,
  WrongMachineProfile,
  MemoryPressure
};

/// Whether the threads that make batches wait for storage rather than compute;
/// nothing if the time of steps that wait for data is not theirs.
std::optional<bool> waitsForStorage(const Evidence &evidence);

/// The number of threads with which steps of `least` ms would not wait for
/// data, as far as cores help.
int64_t adviseWorkers(const Evidence &evidence, double least, bool isStorage);

/// Returns the name of a cause for users.
const char *getName(Cause cause);

/// An option of the trainer to change, or of ingotc.
struct Advice {
  /// The option as it is written on a command line or, with `isVariable`,
  /// before it.
  std::string option, value;
  bool isVariable = false;
  /// Whether the model has to be compiled again.
  bool isForCompiler = false;
};

struct Finding {
  Cause cause;
  /// The measurement, in a sentence.
  std::string evidence;
  std::vector<Advice> advice;
  /// The part of the time of a sample that is saved if the advice is followed,
  /// from 0 to 1; nothing if it cannot be predicted.
  std::optional<double> gain;
  /// If it cannot: the part of the time that the cause takes.
  double stake = 0;
};

/// The findings, the largest expected gain first, or what is at stake where no
/// gain can be expected; none if there is nothing to gain.
std::vector<Finding> diagnose(const Evidence &evidence);

/// Describes where the time goes, and the findings, in lines.
std::string describeDiagnosis(const Evidence &evidence,
                              const std::vector<Finding> &findings);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_OBSERVE_DIAGNOSE_DIAGNOSIS_H
