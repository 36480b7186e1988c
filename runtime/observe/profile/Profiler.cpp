// SPDX-License-Identifier: Apache-2.0

#include "runtime/observe/profile/Profile.h"

#include "runtime/observe/StepStatistics.h"

#include <algorithm>

using namespace ingot::runtime;

Profiler::Profiler(ingot_context &context, const ProfileSchedule &schedule)
    : context(context), schedule(schedule) {
  // The first steps of a profile are not those that memory is found for.
  constexpr size_t usual = size_t(1) << 16;
  context.events.resize(usual);
  context.events.clear();
  context.clock.start();
}

void Profiler::startStep() {
  using Phase = ProfileSchedule::Phase;
  // What a warm-up recorded is forgotten, and what came after the last step of
  // a window is kept.
  if (phase == Phase::Active)
    kept = context.events.size();
  else
    context.events.resize(std::min(kept, context.events.size()));
  phase = schedule.getPhase(count++);
  context.profiling = phase != Phase::Off;
  step = {};
  step.time.begin = context.clock.set();
}

void Profiler::addData(TimeSpan span) {
  if (isActive())
    step.data.push_back(span);
}

void Profiler::endStep(int64_t number) {
  if (!isActive())
    return;
  step.number = number;
  step.time.end = context.clock.now();
  // Steps may be much shorter than the system takes for an answer.
  constexpr auto interval = std::chrono::milliseconds(5);
  if (step.time.end - residentRead >= interval) {
    residentBytes = readResidentBytes();
    residentRead = step.time.end;
  }
  step.residentBytes = residentBytes;
  steps.push_back(std::move(step));
  kept = context.events.size();
  // The next step says whether the window goes on.
  if (schedule.getPhase(count) == ProfileSchedule::Phase::Off)
    context.profiling = false;
}

Profile Profiler::take() {
  context.profiling = false;
  if (count != 0 && !isActive())
    context.events.resize(std::min(kept, context.events.size()));
  return {std::move(context.events), std::move(context.eventNames),
          std::move(steps)};
}
