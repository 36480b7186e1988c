// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A block from each rank to each other one: a rank sends to the ones behind it
// and receives from the ones before it, the nearest first, so that no rank
// receives from many at a time.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_COMM_ALLTOALL_H
#define INGOT_RUNTIME_COMM_ALLTOALL_H

#include "runtime/comm/WireOperation.h"

namespace ingot::runtime {

class AllToAll : public WireOperation {
public:
  /// `from` and `to` have a block of `bytes` for each rank.
  AllToAll(Wire &wire, int32_t tag, const void *from, void *to, int64_t bytes);

  bool test() override;

private:
  /// A part of the block of another rank.
  struct Message {
    int64_t other, first, bytes;
  };
  Message getMessage(int64_t index, int64_t direction) const;
  bool advance();
  int64_t getAwaited() const override;

  const char *from;
  char *to;
  int64_t bytes, chunks, messages;
  Lane receives, sends;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_COMM_ALLTOALL_H
