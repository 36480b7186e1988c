// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The time of spans of a microsecond or less. Reading the processor's counter
// takes a third of what the system's clock takes, twice for each kernel of a
// profile.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CORE_TICKCLOCK_H
#define INGOT_RUNTIME_CORE_TICKCLOCK_H

#include <chrono>
#include <cstdint>
#ifdef __x86_64__
#include <x86intrin.h>
#endif

namespace ingot::runtime {

class TickClock {
public:
  using Clock = std::chrono::steady_clock;

  /// Learns the rate of the counter, which takes some milliseconds. Without a
  /// counter of one rate, the clock is the system's.
  void start();
  /// Sets the clock by the system's and returns the time: between two calls it
  /// is off by less than a part of 10,000 of the time since the first.
  Clock::time_point set();
  /// Returns the time.
  Clock::time_point now() const {
#ifdef __x86_64__
    if (rate != 0)
      return setTime + Clock::duration(static_cast<int64_t>(
                           static_cast<unsigned __int128>(
                               static_cast<uint64_t>(__rdtsc()) - setTicks) *
                               rate >>
                           kShift));
#endif
    return Clock::now();
  }

private:
  static constexpr int kShift = 32;

  /// Nanoseconds of 2^32 ticks; 0 without a counter.
  uint64_t rate = 0;
  uint64_t startTicks = 0, setTicks = 0;
  Clock::time_point startTime, setTime;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CORE_TICKCLOCK_H
