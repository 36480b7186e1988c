// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The base of operations over a wire. Large data is sent in chunks, of which a
// few are in flight, so that one is sent while another is added, and
// what is added is still in the cache.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_COMM_WIREOPERATION_H
#define INGOT_RUNTIME_COMM_WIREOPERATION_H

#include "runtime/comm/Collectives.h"
#include "runtime/comm/Wire.h"

#include <array>

namespace ingot::runtime {

/// The bytes of a chunk, and the most chunks in flight in each direction.
inline constexpr int64_t kChunkBytes = 512 << 10;
inline constexpr int64_t kWindow = 3;

class WireOperation : public Pending {
public:
  std::string giveUp() override {
    if (int64_t late = wire.giveUp(); late >= 0)
      return "rank " + std::to_string(late) + " does not answer";
    return "it waits for rank " + std::to_string(wire.getNumber(getAwaited()));
  }

protected:
  /// `tag` belongs to this operation only, and is the same on all ranks.
  WireOperation(Wire &wire, int32_t tag) : wire(wire), tag(tag) {}

  /// The rank whose message, or whose readiness for one, comes next.
  virtual int64_t getAwaited() const = 0;

  /// Messages in one direction, which end in the order in which they start.
  class Lane {
  public:
    int64_t getStarted() const { return started; }
    int64_t getDone() const { return done; }
    bool hasRoom() const { return started < done + kWindow; }
    void add(Wire::Transfer transfer) {
      window[started++ % kWindow] = transfer;
    }
    /// Returns whether the oldest message has ended now.
    bool advance(Wire &wire) {
      if (done == started || !wire.test(window[done % kWindow]))
        return false;
      ++done;
      return true;
    }

  private:
    int64_t started = 0, done = 0;
    std::array<Wire::Transfer, kWindow> window{};
  };

  Wire &wire;
  const int32_t tag;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_COMM_WIREOPERATION_H
