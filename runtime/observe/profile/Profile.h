// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A profile of a run: a trace for Perfetto and chrome://tracing, and a table.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_OBSERVE_PROFILE_PROFILE_H
#define INGOT_RUNTIME_OBSERVE_PROFILE_PROFILE_H

#include "runtime/comm/Communicator.h"
#include "runtime/core/Context.h"
#include "runtime/core/Manifest.h"
#include "runtime/observe/profile/ProfileSchedule.h"

#include <chrono>
#include <string>
#include <vector>

namespace ingot::runtime {

/// A span of time.
struct TimeSpan {
  std::chrono::steady_clock::time_point begin, end;

  double getMicroseconds() const {
    return std::chrono::duration<double, std::micro>(end - begin).count();
  }
};

/// A step of the profile, from the moment it asks for data.
struct ProfiledStep {
  /// The number of the step in the run, from 1.
  int64_t number = 0;
  TimeSpan time;
  /// The waits for the batches of the step.
  std::vector<TimeSpan> data;
  int64_t residentBytes = 0;
};

/// The recorded events of a run.
struct Profile {
  std::vector<ingot_event> events;
  /// The names that events refer to.
  std::vector<std::string> names;
  std::vector<ProfiledStep> steps;
};

/// Follows the schedule through a run.
class Profiler {
public:
  Profiler(ingot_context &context, const ProfileSchedule &schedule);
  Profiler(const Profiler &) = delete;
  Profiler &operator=(const Profiler &) = delete;
  ~Profiler() { context.profiling = false; }

  /// Starts a step, in which events are recorded if it is its turn.
  void startStep();
  /// Adds a wait for data to the step.
  void addData(TimeSpan span);
  /// Ends the step with that number.
  void endStep(int64_t number);
  /// Records nothing from now on.
  void finish() { context.profiling = false; }
  /// Whether events are being kept.
  bool isActive() const { return phase == ProfileSchedule::Phase::Active; }
  /// Returns what has been recorded, once.
  Profile take();

private:
  ingot_context &context;
  ProfileSchedule schedule;
  ProfileSchedule::Phase phase = ProfileSchedule::Phase::Off;
  /// The steps that were started.
  int64_t count = 0;
  ProfiledStep step;
  /// The resident memory, and when it was read.
  int64_t residentBytes = 0;
  std::chrono::steady_clock::time_point residentRead;
  std::vector<ProfiledStep> steps;
  /// The events to keep of those recorded so far.
  size_t kept = 0;
};

/// The device that ran a profiled program, and how that was timed if not by the
/// host's clock.
struct ProfiledDevice {
  std::string description, times;
};

/// Writes the profile as a Chrome trace: tracks for steps, waits for data,
/// kernels and collectives, flows between them, and counters of memory. Throws
/// failure.
void writeTrace(const std::string &path, const Manifest &manifest,
                const ProfiledDevice &device, const Profile &profile,
                const std::vector<CommunicationEvent> &collectives);

/// Makes tables of the parts of the step and of the kernels that took longest.
std::string makeProfileTable(const Manifest &manifest, const Profile &profile);

/// Returns the kernel of an event; null if the manifest does not list it.
const KernelSpec *findKernel(const Manifest &manifest,
                             const ingot_event &event);

/// Returns the name of the kernel or function of an event.
std::string getEventName(const Manifest &manifest, const ingot_event &event);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_OBSERVE_PROFILE_PROFILE_H
