// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Times of calls that are launched one by one, by an event before and one after
// each of them.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CUDA_PROFILE_EVENTTIMES_H
#define INGOT_RUNTIME_CUDA_PROFILE_EVENTTIMES_H

#include "runtime/cuda/driver/Driver.h"
#include "runtime/cuda/profile/CallTimes.h"

#include <vector>

namespace ingot::runtime {

class EventTimes : public CallTimes {
public:
  /// Times what is enqueued in `stream`. `reason` says why not by a better
  /// clock.
  EventTimes(const Driver &driver, CUstream stream, std::string reason);
  ~EventTimes() override;

  bool seesGraphs() const override { return false; }
  std::string describe() const override;
  void begin(int64_t kernel, int32_t queue) override;
  void end() override;
  bool collect(ingot_context &context) override;

private:
  CUevent take();

  const Driver &driver;
  CUstream stream;
  std::string reason;
  struct TimedCall {
    int64_t kernel;
    CUevent begin, end;
  };
  std::vector<TimedCall> timed;
  std::vector<CUevent> free;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CUDA_PROFILE_EVENTTIMES_H
