// SPDX-License-Identifier: Apache-2.0

#include "runtime/cuda/profile/EventTimes.h"

#include <chrono>

using namespace ingot::runtime;

EventTimes::EventTimes(const Driver &driver, CUstream stream,
                       std::string reason)
    : driver(driver), stream(stream), reason(std::move(reason)) {}

EventTimes::~EventTimes() {
  for (const TimedCall &call : timed)
    for (CUevent event : {call.begin, call.end})
      if (event)
        (void)driver.cuEventDestroy(event);
  for (CUevent event : free)
    (void)driver.cuEventDestroy(event);
}

std::string EventTimes::describe() const {
  return "times of calls one by one, by events" +
         (reason.empty() ? "" : ": " + reason);
}

/// Records an event at this point of the stream.
CUevent EventTimes::take() {
  CUevent event = nullptr;
  if (free.empty()) {
    driver.check(driver.cuEventCreate(&event, CU_EVENT_DEFAULT),
                 "making an event");
  } else {
    event = free.back();
    free.pop_back();
  }
  driver.check(driver.cuEventRecord(event, stream), "recording an event");
  return event;
}

void EventTimes::begin(int64_t kernel, int32_t) {
  timed.push_back({kernel, take(), nullptr});
}

void EventTimes::end() { timed.back().end = take(); }

bool EventTimes::collect(ingot_context &context) {
  using namespace std::chrono;
  if (timed.empty())
    return true;
  CUevent first = timed.front().begin, last = timed.back().end;
  auto elapsed = [&](CUevent from, CUevent to) {
    float milliseconds = 0;
    driver.check(driver.cuEventElapsedTime(&milliseconds, from, to),
                 "reading an event");
    return duration_cast<steady_clock::duration>(
        duration<float, std::milli>(milliseconds));
  };
  auto start = steady_clock::now() - elapsed(first, last);
  for (const TimedCall &call : timed) {
    if (context.events.size() < context.kMaxEvents)
      context.events.push_back({context.function, call.kernel,
                                start + elapsed(first, call.begin),
                                start + elapsed(first, call.end)});
    free.insert(free.end(), {call.begin, call.end});
  }
  timed.clear();
  return true;
}
