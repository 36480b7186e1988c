// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A wire between the ranks of a run: messages from one rank to another. The
// collectives above it (WireCollectives.h) are the same for every wire, with
// the same order of sums, so that runs over different wires have equal bits.
//
// A message belongs to the receive of the same tag and size that was posted
// first. Where none is posted yet, a wire may let the messages that its sender
// started later wait as well.
//
// The library of a wire has nothing but this header of Ingot's.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_COMM_WIRE_H
#define INGOT_RUNTIME_COMM_WIRE_H

#include <cstdint>
#include <string>

namespace ingot::runtime {

class Wire {
public:
  /// Names a transfer until it has ended.
  using Transfer = int32_t;

  virtual ~Wire() = default;

  int64_t getRank() const { return rank; }
  int64_t getSize() const { return size; }
  /// The number of a rank in the run, of which the wire may have only some.
  virtual int64_t getNumber(int64_t of) const { return of; }
  /// The wire's name for messages.
  virtual std::string describe() const = 0;

  // Between ranks that are neighbors of a ring or of a tree (Tree.h), or have
  // parts of the same tensors, with tags from 0 to 32767 and at most 1 GiB.
  // These functions throw std::runtime_error, and after that once more for
  // whatever is in flight.

  /// Starts to send: the memory may not change until the transfer has ended.
  virtual Transfer send(int64_t to, int32_t tag, const void *data,
                        int64_t bytes) = 0;
  /// Starts to receive a message of exactly `bytes`.
  virtual Transfer receive(int64_t from, int32_t tag, void *data,
                           int64_t bytes) = 0;
  /// Makes progress, and returns whether the transfer has ended.
  virtual bool test(Transfer transfer) = 0;

  /// Gives up waiting: returns the rank that does not answer and tells the
  /// others; -1 where the wire does not know.
  virtual int64_t giveUp() { return -1; }
  /// Ends a run that succeeded: nothing is in flight.
  virtual void finish() {}

protected:
  Wire(int64_t rank, int64_t size) : rank(rank), size(size) {}

private:
  int64_t rank, size;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_COMM_WIRE_H
