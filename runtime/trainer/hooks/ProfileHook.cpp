// SPDX-License-Identifier: Apache-2.0

#include "runtime/trainer/hooks/ProfileHook.h"

#include "runtime/comm/Communicator.h"
#include "runtime/core/console/Console.h"
#include "runtime/trainer/run/Outcome.h"
#include "runtime/trainer/run/RunPlan.h"

#include <fmt/format.h>

using namespace ingot::runtime;

static ProfileSchedule makeSchedule(const RunContext &context,
                                    const RunPlan &plan) {
  const ObserveOptions &options = context.options.observe;
  ProfileSchedule schedule =
      options.profileSchedule.value_or(ProfileSchedule());
  if (!options.profileSchedule &&
      context.session.getDevice().getTraits().preparesInFirstRun &&
      plan.getTotal() - plan.getStep() > 1)
    schedule.warmup = 1;
  return schedule;
}

ProfileHook::ProfileHook(const RunContext &context, const RunPlan &plan)
    : context(context),
      profiler(context.session.getContext(), makeSchedule(context, plan)) {
  const std::optional<ProfileSchedule> &schedule =
      context.options.observe.profileSchedule;
  int64_t steps = plan.getTotal() - plan.getStep();
  if (schedule && steps <= schedule->wait + schedule->warmup)
    context.console.noteOnce(fmt::format(
        "no step is profiled: --profile-steps begins after {} steps, and the "
        "run takes {}",
        schedule->wait + schedule->warmup, steps));
  context.session.prepareProfile();
}

void ProfileHook::report(const Print &print) {
  context.outcome.attempt([&] {
    const Device &device = context.session.getDevice();
    const Manifest &manifest = context.getManifest();
    Profile profile = profiler.take();
    std::string times = device.describeTimes();
    writeTrace(*context.options.observe.profile, manifest,
               {device.describe(), times}, profile, context.ranks.getEvents());
    print(device.describe() + "\n" + times + (times.empty() ? "" : "\n") +
          makeProfileTable(manifest, profile));
  });
}
