// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The stream of regions that run concurrently with the other calls of a
// function (ingot_side_start), in recordings: events are the edges of the
// graph.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CUDA_SIDESTREAM_H
#define INGOT_RUNTIME_CUDA_SIDESTREAM_H

#include "runtime/cuda/driver/Driver.h"

#include <vector>

namespace ingot::runtime {

class SideStream {
public:
  /// Makes a stream of the lowest priority, whose kernels take the
  /// multiprocessors that those of `main`, which has the highest, leave.
  /// Throws failure.
  SideStream(const Driver &driver, CUstream main);
  ~SideStream();

  /// Begins another recording.
  void reset() { waited = 0; }
  /// Starts a region after all that `main` holds now. Regions have the numbers
  /// 0, 1 and so on.
  void start(int32_t number);
  /// Ends the region.
  void end(int32_t number);
  /// Makes what `main` gets from now on wait for the region.
  void wait(int32_t number);
  /// The stream of the region that has started and not ended; otherwise `main`.
  CUstream getCurrent() const { return isInside ? side : main; }

private:
  CUevent getEvent(std::vector<CUevent> &events, int32_t number);

  const Driver &driver;
  CUstream main, side;
  /// By region: what comes before it is done, and it is done.
  std::vector<CUevent> ready, done;
  /// The regions that the main stream has waited for.
  int32_t waited = 0;
  bool isInside = false;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CUDA_SIDESTREAM_H
