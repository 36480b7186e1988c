// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// When the calls of profiled runs ran on the GPU.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CUDA_PROFILE_CALLTIMES_H
#define INGOT_RUNTIME_CUDA_PROFILE_CALLTIMES_H

#include "runtime/core/Context.h"

#include <string>

namespace ingot::runtime {

/// Measures calls of entry points. Calls do not nest.
class CallTimes {
public:
  virtual ~CallTimes() = default;

  /// Whether the calls of a graph that is launched are seen, and not only those
  /// that are launched one by one.
  virtual bool seesGraphs() const = 0;
  /// Says how times are taken.
  virtual std::string describe() const = 0;
  /// Begins and ends a call, whose work goes to that queue (ingot_event).
  virtual void begin(int64_t kernel, int32_t queue) = 0;
  virtual void end() = 0;
  /// Adds the calls of the run that has ended to the events of the context if
  /// it is profiled, and forgets them. Returns false if the run had calls that
  /// nothing is known of. Throws failure.
  virtual bool collect(ingot_context &context) = 0;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CUDA_PROFILE_CALLTIMES_H
