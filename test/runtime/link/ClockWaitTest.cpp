// SPDX-License-Identifier: Apache-2.0

// Waits as trainers wait with a C library before 2.30, which this machine need
// not have.

#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <pthread.h>
#include <thread>

extern "C" int ingot_wait_by_day(pthread_cond_t *condition,
                                 pthread_mutex_t *mutex, clockid_t clock,
                                 const timespec *until);

namespace {

struct Condition {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
  bool isSet = false;

  /// Waits for at most so long; returns the status of the last wait.
  int wait(clockid_t clock, int64_t nanoseconds) {
    timespec until;
    clock_gettime(clock, &until);
    int64_t sum = until.tv_nsec + nanoseconds;
    until.tv_sec += sum / 1000000000;
    until.tv_nsec = sum % 1000000000;
    int status = 0;
    pthread_mutex_lock(&mutex);
    while (!isSet && status == 0)
      status = ingot_wait_by_day(&condition, &mutex, clock, &until);
    pthread_mutex_unlock(&mutex);
    return status;
  }
  void set() {
    pthread_mutex_lock(&mutex);
    isSet = true;
    pthread_cond_signal(&condition);
    pthread_mutex_unlock(&mutex);
  }
};

// Waits of most of a second carry into the seconds for most times of a clock.
TEST(ClockWait, EndsAtTheTimeOfEitherClock) {
  for (clockid_t clock : {CLOCK_MONOTONIC, CLOCK_REALTIME})
    for (int64_t milliseconds : {0, 20, 700}) {
      Condition condition;
      auto start = std::chrono::steady_clock::now();
      EXPECT_EQ(condition.wait(clock, milliseconds * 1000000), ETIMEDOUT);
      auto took = std::chrono::steady_clock::now() - start;
      EXPECT_GE(took, std::chrono::milliseconds(milliseconds - 1));
    }
}

TEST(ClockWait, EndsWithTheCondition) {
  Condition condition;
  std::thread other([&] { condition.set(); });
  EXPECT_EQ(condition.wait(CLOCK_MONOTONIC, int64_t(3600) * 1000000000), 0);
  other.join();
}

} // namespace
