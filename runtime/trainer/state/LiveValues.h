// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Reads the values of a state between two steps, wherever they are.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_TRAINER_STATE_LIVEVALUES_H
#define INGOT_RUNTIME_TRAINER_STATE_LIVEVALUES_H

#include "runtime/trainer/session/Session.h"

#include <array>
#include <string>

namespace ingot::runtime {

class LiveValues {
public:
  /// The most elements that are read together.
  static constexpr int64_t kPiece = 4096;

  /// Valid until the next step, and the next read of a device's memory.
  LiveValues(Session &session, const StateSpec &spec);
  LiveValues(const LiveValues &) = delete;
  LiveValues &operator=(const LiveValues &) = delete;

  /// The elements that this rank holds.
  ElementRange getHeld() const { return held; }
  /// Returns the values of a piece as `dtype`, valid until the next call.
  const char *get(int64_t first, int64_t count, DType dtype);

private:
  const StateSpec &spec;
  ElementRange held;
  /// The first element that is held, or the lower halves of all.
  const char *data = nullptr, *lower = nullptr;
  std::string upper;
  std::array<float, kPiece> joined;
  std::array<double, kPiece> converted;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_TRAINER_STATE_LIVEVALUES_H
