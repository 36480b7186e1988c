// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The clock of profiles against the system's.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/TickClock.h"

#include <gtest/gtest.h>
#include <thread>

using namespace ingot::runtime;
using namespace std::chrono;

TEST(TickClock, IsThatOfTheSystem) {
  TickClock clock;
  // Before the start it is the system's.
  auto before = steady_clock::now(), now = clock.now();
  EXPECT_GE(now, before);
  clock.start();
  for (int i = 0; i < 20; ++i) {
    auto set = clock.set();
    std::this_thread::sleep_for(milliseconds(5));
    before = steady_clock::now();
    now = clock.now();
    auto after = steady_clock::now();
    // Off by less than the time to read it and a part of 10,000.
    EXPECT_GE(now, before - microseconds(1));
    EXPECT_LE(now, after + microseconds(1));
    EXPECT_GT(now, set);
  }
}

TEST(TickClock, NeverGoesBack) {
  TickClock clock;
  clock.start();
  auto last = clock.set();
  for (int i = 0; i < 100000; ++i) {
    auto now = clock.now();
    ASSERT_GE(now, last);
    last = now;
  }
}
