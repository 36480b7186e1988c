// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A transport: operations that all ranks of a run do together. Each rank starts
// the same operations in the same order; several may be under way at a time,
// and they may end in any order. Called by one thread at a time
// (Communicator.h).
//
// What an operation computes has the same bits on every rank, and from run to
// run with the same number of ranks.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_COMM_COLLECTIVES_H
#define INGOT_RUNTIME_COMM_COLLECTIVES_H

#include "runtime/core/DType.h"

#include <memory>
#include <string>

namespace ingot::runtime {

/// An operation under way. Its memory is the operation's until it has ended,
/// and it has to end before this is destroyed.
class Pending {
public:
  virtual ~Pending() = default;
  /// True once it has ended; makes progress. Throws std::runtime_error.
  virtual bool test() = 0;
};

class Collectives {
public:
  virtual ~Collectives() = default;

  int64_t getRank() const { return rank; }
  int64_t getSize() const { return size; }
  /// The end of a run that went well: no collective comes after. Without it
  /// the launcher ends the other ranks.
  virtual void finish() {}
  /// "mpi", "self": for messages and --inspect.
  virtual std::string describe() const = 0;

  /// data = sum over ranks. Types are f32, f64, bf16, f16, i64 and i32; half
  /// precision is rounded after each addition.
  virtual std::unique_ptr<Pending> startAllReduce(void *data, int64_t elements,
                                                  DType type) = 0;

  /// This rank's shard (abi/Shard.h) of data = sum over ranks; its other
  /// elements have no meaning afterwards.
  virtual std::unique_ptr<Pending>
  startReduceScatter(void *data, int64_t elements, DType type) = 0;

  /// Every shard of data = that of the rank that has it.
  virtual std::unique_ptr<Pending>
  startGatherShards(void *data, int64_t elements, DType type) = 0;

  /// `to` gets `bytes` from every rank, in the order of ranks. `from` is no
  /// part of `to`.
  virtual std::unique_ptr<Pending> startAllGather(const void *from, void *to,
                                                  int64_t bytes) = 0;

  /// data = that of rank `root`.
  virtual std::unique_ptr<Pending> startBroadcast(void *data, int64_t bytes,
                                                  int64_t root) = 0;

protected:
  Collectives(int64_t rank, int64_t size) : rank(rank), size(size) {}

private:
  int64_t rank, size;
};

/// One rank alone.
std::unique_ptr<Collectives> makeSelfCollectives();

/// The number of ranks that the launcher (mpirun, srun) has started, 1 without
/// one. Throws usageError for torchrun's.
int64_t countLaunchedRanks();

/// The ranks of this run: alone, or over MPI, which is loaded then. Throws
/// failure where MPI is missing.
std::unique_ptr<Collectives> connectRanks();

} // namespace ingot::runtime

/// What the library of a transport defines: a new object, or null with a
/// message of at most `capacity` bytes.
extern "C" ingot::runtime::Collectives *ingot_connect_mpi(char *message,
                                                          int64_t capacity);

#endif // INGOT_RUNTIME_COMM_COLLECTIVES_H
