// SPDX-License-Identifier: Apache-2.0

#include "runtime/core/TickClock.h"

#include <type_traits>
#ifdef __x86_64__
#include <cpuid.h>
#endif

using namespace ingot::runtime;

#ifdef __x86_64__
/// Whether the counter runs at one rate, whatever the processor's clock does
/// and while it sleeps.
static bool hasInvariantCounter() {
  constexpr unsigned leaf = 0x80000007, invariant = 1U << 8;
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(leaf, &a, &b, &c, &d) != 0 && (d & invariant) != 0;
}

void TickClock::start() {
  static_assert(std::is_same_v<Clock::period, std::nano>);
  if (!hasInvariantCounter())
    return;
  constexpr auto least = std::chrono::milliseconds(2);
  startTime = Clock::now();
  startTicks = __rdtsc();
  while (Clock::now() - startTime < least) {
  }
  (void)set();
}

TickClock::Clock::time_point TickClock::set() {
  Clock::time_point time = Clock::now();
  uint64_t ticks = __rdtsc();
  if (startTicks == 0 || ticks <= startTicks)
    return time;
  // The longer ago the start, the better is the rate known.
  rate = static_cast<uint64_t>(
      (static_cast<unsigned __int128>((time - startTime).count()) << kShift) /
      (ticks - startTicks));
  setTime = time;
  setTicks = ticks;
  return time;
}
#else
void TickClock::start() {}

TickClock::Clock::time_point TickClock::set() { return Clock::now(); }
#endif
