// SPDX-License-Identifier: Apache-2.0

#include "runtime/core/machine/ProcessorUse.h"

#include <algorithm>
#include <fmt/format.h>
#include <fstream>
#include <sys/resource.h>
#include <unistd.h>

using namespace ingot::runtime;

ProcessorUse ingot::runtime::readProcessorUse() {
  ProcessorUse use;
  for (int who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage usage{};
    getrusage(who, &usage);
    for (const timeval &time : {usage.ru_utime, usage.ru_stime})
      use.own += static_cast<double>(time.tv_sec) +
                 1e-6 * static_cast<double>(time.tv_usec);
  }
  // "cpu USER NICE SYSTEM IDLE IOWAIT IRQ ..." in ticks.
  std::ifstream processors("/proc/stat");
  std::string name;
  processors >> name;
  double ticks = 0, perSecond = static_cast<double>(sysconf(_SC_CLK_TCK));
  for (int i = 0; i < 8 && processors >> ticks; ++i) {
    use.all += ticks / perSecond;
    use.busy += i == 3 || i == 4 ? 0 : ticks / perSecond;
  }
  return use;
}

double ingot::runtime::getOthersShare(const ProcessorUse &from,
                                      const ProcessorUse &to) {
  double others = to.busy - from.busy - (to.own - from.own);
  return std::clamp(others / std::max(1e-9, to.all - from.all), 0.0, 1.0);
}

std::string ingot::runtime::describeOthers(double share) {
  return fmt::format("other processes took {:.0f}% of the machine",
                     100 * share);
}
