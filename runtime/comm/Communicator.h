// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The communication stream of a rank: a thread that runs collectives while the
// others compute. Operations start in the order in which they are asked for,
// and go on side by side. All ranks ask for the same ones in the same order.
//
// The thread polls between short sleeps instead of waiting inside the
// transport: who computes needs the processor.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_COMM_COMMUNICATOR_H
#define INGOT_RUNTIME_COMM_COMMUNICATOR_H

#include "runtime/comm/Collectives.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace ingot::runtime {

/// One operation as traces and messages know it.
struct CommunicationEvent {
  using Time = std::chrono::steady_clock::time_point;

  std::string what;
  /// The training step that asked for it, from 1; 0 before the first.
  int64_t step = 0;
  int64_t bytes = 0;
  /// Asked for, handed to the transport, and over; zero where it is not.
  Time asked, begin, end;
};

class Communicator {
public:
  /// Names an operation until it is waited for; 0 for a rank alone.
  using Ticket = uint64_t;

  explicit Communicator(std::unique_ptr<Collectives> transport);
  /// Leaves operations that are under way, if any: the run has failed.
  ~Communicator();

  int64_t getRank() const { return rank; }
  int64_t getSize() const { return size; }
  std::string describe() const;

  /// `data`, in place, is added up over ranks until the wait. `what` is for
  /// messages: "all-reduce of bucket 3".
  Ticket startAllReduce(void *data, int64_t elements, DType type,
                        std::string what);
  /// The same for sums of which each rank gets its shard (abi/Shard.h), and
  /// for a bucket of which each rank has its shard at first.
  Ticket startReduceScatter(void *data, int64_t elements, DType type,
                            std::string what);
  Ticket startGatherShards(void *data, int64_t elements, DType type,
                           std::string what);
  /// `to` gets `bytes` from every rank, in the order of ranks.
  Ticket startAllGather(const void *from, void *to, int64_t bytes,
                        std::string what);
  /// Throws failure, naming rank, step and operation, if the operation does not
  /// end within the limit, fails, or if the run is being ended.
  void wait(Ticket ticket);
  /// The same for all that is under way; it can still be waited for.
  void waitForAll();

  void allReduce(void *data, int64_t elements, DType type,
                 const std::string &what);
  void allGather(const void *from, void *to, int64_t bytes,
                 const std::string &what);
  /// data = that of rank `root`.
  void broadcast(void *data, int64_t bytes, int64_t root,
                 const std::string &what);
  /// Throws failure on the ranks whose value is not rank 0's.
  void checkEqual(int64_t value, const std::string &what,
                  const std::string &hint);

  /// The end of a run that went well: no operation is under way.
  void finish();

  /// How long a wait may take.
  void setLimit(std::chrono::seconds seconds) { limit = seconds; }
  std::chrono::seconds getLimit() const { return limit; }
  /// What operations from now on belong to.
  void setStep(int64_t number) { step = number; }
  /// The name of a signal that asks to end the run, or null: it ends waits that
  /// no rank will answer.
  void setInterruption(std::function<const char *()> query) {
    interruption = std::move(query);
  }

  /// All operations that end are kept from now on, for profiles.
  void record();
  /// Those that were kept; without record(), the last ones.
  std::vector<CommunicationEvent> getEvents() const;
  /// Writes them as lines of JSON, times in ms since the first. Throws failure.
  void writeEvents(const std::string &path) const;

private:
  struct Operation;
  struct Stream;

  using InPlace = std::unique_ptr<Pending> (Collectives::*)(void *, int64_t,
                                                            DType);
  Ticket startInPlace(InPlace operation, void *data, int64_t elements,
                      DType type, std::string what);
  Ticket start(std::string what, int64_t bytes,
               std::function<std::unique_ptr<Pending>(Collectives &)> begin);
  void waitForEnd(std::unique_lock<std::mutex> &lock,
                  const Operation &operation);
  [[noreturn]] void fail(const Operation &operation, const std::string &problem,
                         const std::string &hint);

  int64_t rank, size, step = 0;
  std::chrono::seconds limit{600};
  std::function<const char *()> interruption;
  /// Shared with the thread, which may outlive a run that failed.
  std::shared_ptr<Stream> stream;
  std::thread thread;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_COMM_COMMUNICATOR_H
