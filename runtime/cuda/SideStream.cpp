// SPDX-License-Identifier: Apache-2.0

#include "runtime/cuda/SideStream.h"

using namespace ingot::runtime;

SideStream::SideStream(const Driver &driver, CUstream main)
    : driver(driver), main(main),
      side(driver.makeStream(Driver::Priority::Lowest)) {}

SideStream::~SideStream() {
  for (const std::vector<CUevent> &events : {ready, done})
    for (CUevent event : events)
      (void)driver.cuEventDestroy(event);
  (void)driver.cuStreamDestroy(side);
}

CUevent SideStream::getEvent(std::vector<CUevent> &events, int32_t number) {
  while (static_cast<int32_t>(events.size()) <= number) {
    CUevent event = nullptr;
    driver.check(driver.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING),
                 "making an event");
    events.push_back(event);
  }
  return events[number];
}

void SideStream::start(int32_t number) {
  CUevent event = getEvent(ready, number);
  driver.check(driver.cuEventRecord(event, main), "recording an event");
  driver.check(driver.cuStreamWaitEvent(side, event, 0), "starting a region");
  isInside = true;
}

void SideStream::end(int32_t number) {
  isInside = false;
  driver.check(driver.cuEventRecord(getEvent(done, number), side),
               "recording an event");
}

void SideStream::wait(int32_t number) {
  if (number < waited)
    return;
  waited = number + 1;
  driver.check(driver.cuStreamWaitEvent(main, getEvent(done, number), 0),
               "waiting for a region");
}
