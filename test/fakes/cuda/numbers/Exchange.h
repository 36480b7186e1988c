// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Exchanges between the processes of ranks through shared memory, for the fake
// of NCCL. The k-th exchange of every rank is one operation: if the ranks call
// different ones, each says so and waits for ever, as NCCL does.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_TEST_FAKES_CUDA_NUMBERS_EXCHANGE_H
#define INGOT_TEST_FAKES_CUDA_NUMBERS_EXCHANGE_H

#include <cstdint>
#include <memory>
#include <string>

namespace fakes {

/// The arguments that all ranks pass alike.
struct ExchangeKind {
  enum Name : int64_t {
    AllReduce,
    ReduceScatter,
    AllGather,
    Reduce,
    Broadcast,
    AllToAll,
    /// A window, whose elements are bytes.
    Window
  };
  Name name;
  int64_t elements, type, root;
  /// Where registered memory that all ranks access is in its block; -1 of other
  /// memory.
  int64_t place = -1;
  /// How numbers are combined: an ncclRedOp_t, 0 for sums.
  int64_t operation = 0;

  bool operator==(const ExchangeKind &) const = default;
};

class Exchange {
public:
  /// Meets the other ranks under a name. Waits for them.
  Exchange(const std::string &name, int rank, int ranks);
  ~Exchange();
  /// Returns a name that no other process uses.
  static std::string makeName();
  /// Returns the bytes of an element of an ncclDataType_t.
  static int64_t getSize(int64_t type);

  /// A call of one rank; every rank runs its calls in the same order.
  struct Call {
    ExchangeKind kind;
    const void *from;
    void *to;
    /// Whether the rank has shown what it gives.
    bool isGiven = false;
  };
  /// Returns false while it waits for others.
  bool run(Call &call);
  /// Ends calls that wait, without a result.
  void abort() { isAborted = true; }

private:
  struct Seat;
  Seat &getSeat(int rank) const;
  char *getData(int rank) const;
  void receive(const Call &call) const;

  int rank, ranks;
  int64_t count = 0;
  bool isAborted = false, hasComplained = false;
  char *memory = nullptr;
};

} // namespace fakes

#endif // INGOT_TEST_FAKES_CUDA_NUMBERS_EXCHANGE_H
