// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The communication stream of a rank: a thread that runs collectives while the
// others compute. Operations start in the order in which they are requested,
// and proceed concurrently. All ranks request the same ones in the same order.
//
// A communicator is that of all ranks, or of a group along axes of their mesh.
// Those of a rank share the thread, and what is set, counted and recorded.
//
// The thread polls between short sleeps instead of waiting inside the
// transport, because the threads that compute need its core.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_COMM_COMMUNICATOR_H
#define INGOT_RUNTIME_COMM_COMMUNICATOR_H

#include "runtime/comm/Collectives.h"
#include "runtime/comm/RankMesh.h"
#include "runtime/core/Memory.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace ingot::runtime {

class Error;

/// One operation, for traces and error messages.
struct CommunicationEvent {
  using Time = std::chrono::steady_clock::time_point;

  std::string what;
  /// The training step that requested it, from 1; 0 before the first.
  int64_t step = 0;
  int64_t bytes = 0;
  /// When it was requested, handed to the transport, and done; zero before.
  Time asked, begin, end;
};

class Communicator {
public:
  /// Names an operation until it is waited for; 0 with one rank.
  using Ticket = uint64_t;

  explicit Communicator(std::unique_ptr<Collectives> transport);
  /// Abandons operations in flight, if there are any: the run has failed then.
  ~Communicator();

  /// The place in the group, and the number of its ranks.
  int64_t getRank() const { return rank; }
  int64_t getSize() const { return size; }
  /// Returns the number in the run of a rank of the group.
  int64_t getWorldRank(int64_t place) const {
    return members.empty() ? place : members[static_cast<size_t>(place)];
  }
  /// Sets the mesh of all ranks, along which they have groups, before the first
  /// operation. Without it, all are along `data`.
  void setMesh(const RankMesh &given) { mesh = given; }
  const RankMesh &getMesh() const { return world.mesh; }
  /// Returns the group of ranks along axes (bits of ingot_axis), which lives as
  /// long as that of all ranks, and is it where the axes are all of the mesh.
  Communicator &getGroup(int32_t axes);
  std::string describe() const;

  /// Starts to combine `data` over ranks, in place. `what` names the operation
  /// in messages: "all-reduce of bucket 3". It begins once that of `after` has
  /// ended, which may be of another group; later ones of this group wait for it
  /// to begin, so that they have one order on all ranks.
  Ticket startAllReduce(void *data, int64_t elements, DType type,
                        std::string what, Reduction reduction = Reduction::Sum,
                        Ticket after = 0);
  /// Starts the all-reduce of a bucket of gradients, which may be joined with
  /// the next ones (setJoining).
  Ticket startBucketReduce(void *data, int64_t elements, DType type,
                           std::string what);
  /// Starts a reduce-scatter, in which each rank receives its shard of the sums
  /// (abi/Shard.h), or an all-gather of the ranks' shards, in place.
  Ticket startReduceScatter(void *data, int64_t elements, DType type,
                            std::string what);
  Ticket startGatherShards(void *data, int64_t elements, DType type,
                           std::string what);
  /// Starts an all-gather: `to` receives `bytes` from every rank, in the order
  /// of ranks.
  Ticket startAllGather(const void *from, void *to, int64_t bytes,
                        std::string what);
  /// Starts to combine the ranks' data, which have a part of `elements` for
  /// each rank: `to` receives the rank's part of the result.
  Ticket startReduceParts(const void *from, void *to, int64_t elements,
                          DType type, std::string what, Reduction reduction);
  /// Starts an exchange of parts of `bytes`: `to` receives the rank's part of
  /// the data of each rank, in the order of ranks.
  Ticket startAllToAll(const void *from, void *to, int64_t bytes,
                       std::string what);
  /// Waits for an operation of this group. Throws failure, naming rank, step
  /// and operation, if it does not end within the limit, if it fails, or if the
  /// run is being ended.
  void wait(Ticket ticket);
  /// Waits for all operations in flight, those of groups included, each of
  /// which can still be waited for. For that of all ranks.
  void waitForAll();

  // Operations that have ended when these functions return.
  void allReduce(void *data, int64_t elements, DType type,
                 const std::string &what);
  void allGather(const void *from, void *to, int64_t bytes,
                 const std::string &what);
  /// Sets data to that of rank `root`.
  void broadcast(void *data, int64_t bytes, int64_t root,
                 const std::string &what);
  /// Throws failure where a rank's value is not the first one's.
  void checkEqual(int64_t value, const std::string &what,
                  const std::string &hint);
  /// Checks that several values, which errors name, are equal on all ranks.
  using NamedValue = std::pair<std::string, int64_t>;
  void checkEqual(const std::vector<NamedValue> &values,
                  const std::string &hint);

  /// How long ranks wait for each other to agree: the limit, or `kPatience`
  /// where one of them may be writing files.
  enum class Lateness { Limited, Writing };
  /// Returns the largest of the ranks' values. Throws failure if one of them
  /// agrees on something else, or has not come in that time.
  int64_t agree(int64_t value, const std::string &what,
                Lateness lateness = Lateness::Limited);
  static constexpr std::chrono::seconds kPatience = std::chrono::hours(24);

  /// Ends a run that succeeded: no operation is in flight.
  void finish();

  /// Sets how long a wait may take.
  void setLimit(std::chrono::seconds seconds) { world.limit = seconds; }
  std::chrono::seconds getLimit() const { return world.limit; }
  /// Sets how buckets over data are joined from now on, the same way on all
  /// ranks: those that follow one another are sent as one once they have that
  /// many bytes together, or one of them is waited for. 0 sends each by itself.
  /// May be called when none is in flight.
  void setJoining(int64_t bytes) { world.joining = bytes; }
  /// The buckets over data that were started so far, and their bytes.
  std::pair<int64_t, int64_t> countBuckets() const {
    return {world.bucketCount, world.bucketBytes};
  }
  /// Sets the training step that operations from now on belong to.
  void setStep(int64_t number) { world.step = number; }
  /// Sets a query for the name of a signal that asks to end the run, or null. A
  /// launcher that ends a run because a rank has died sends one, and kills the
  /// other ranks soon after. Hence a wait that goes on then calls `warn` once,
  /// with words on what it waits for. It goes on for `patience` at most, in
  /// which ranks that were asked as well end their step.
  void setInterruption(
      std::function<const char *()> query,
      std::function<void(const Error &)> warn = {},
      std::chrono::milliseconds patience = std::chrono::seconds(60)) {
    world.interruption = {std::move(query), std::move(warn), patience};
  }

  /// Bounds a wait for other ranks that the caller does itself, such as one for
  /// a device: the caller polls this function, and keeps in `since` when the
  /// signal came. Warns once as waits for operations do. Returns the problem
  /// once the patience after a signal is used up, before that an empty string.
  std::string
  heedInterruption(std::optional<std::chrono::steady_clock::time_point> &since,
                   const std::string &what);

  /// The cost of operations so far.
  struct Use {
    /// The time that callers waited for operations.
    double waitSeconds = 0;
    /// The bytes that this rank handed to the transport.
    int64_t bytes = 0;
  };
  const Use &getUse() const { return world.use; }

  /// Keeps all operations that end from now on, for profiles.
  void record();
  /// The operations that were kept; without record(), the last ones.
  std::vector<CommunicationEvent> getEvents() const;
  /// Writes the same as lines of JSON, with times in ms since the first. Throws
  /// failure.
  void writeEvents(const std::string &path) const;

private:
  struct Operation;
  struct Stream;
  struct Joint;

  /// The group along axes of those of `world`.
  Communicator(Communicator &world, std::unique_ptr<Collectives> transport,
               int32_t axes);

  using InPlace = std::unique_ptr<Pending> (Collectives::*)(void *, int64_t,
                                                            DType);
  Ticket startInPlace(InPlace operation, void *data, int64_t elements,
                      DType type, std::string what);
  Ticket start(std::string what, int64_t bytes,
               std::function<std::unique_ptr<Pending>(Collectives &)> begin,
               Ticket after = 0);
  /// Starts the exchange of the buckets that were joined last.
  void startJoint();
  /// Waits for the exchange that a bucket is part of.
  void finishJoint(Joint &joint);
  void wait(Ticket ticket, std::chrono::seconds most);
  void waitForEnd(std::unique_lock<std::mutex> &lock, Operation &operation,
                  std::chrono::seconds most);
  /// Returns the words of all ranks, one rank's after the other's.
  std::vector<int64_t> gatherWords(std::vector<int64_t> own,
                                   const std::string &what,
                                   std::chrono::seconds most);
  /// The error of a rank of the group whose value is not the first one's.
  Error differ(int64_t place, const std::string &what,
               const std::string &hint) const;
  Error describe(const Operation &operation, const std::string &problem,
                 const std::string &hint) const;

  int64_t rank, size;
  /// The communicator of all ranks, which may be this one. What the groups of a
  /// rank share is there.
  Communicator &world;
  /// The ranks of a group; empty for all ranks.
  std::vector<int64_t> members;
  /// Whether buckets of gradients are summed over the group.
  bool isOverSamples = true;
  /// The axes of a group, as names of operations end: " over tensor".
  std::string names;
  RankMesh mesh;
  std::map<int32_t, std::unique_ptr<Communicator>> groups;
  /// The transport of this group.
  std::shared_ptr<Collectives> transport;

  int64_t step = 0;
  std::chrono::seconds limit{600};
  struct Interruption {
    std::function<const char *()> query;
    std::function<void(const Error &)> warn;
    std::chrono::milliseconds patience;
    bool hasWarned = false;
  };
  Interruption interruption;
  Use use;
  int64_t joining = 0, bucketCount = 0, bucketBytes = 0;
  /// Buckets that more may be joined with, and the exchange of each that was
  /// joined.
  std::shared_ptr<Joint> open;
  std::map<Ticket, std::shared_ptr<Joint>> joined;
  /// Memory for joined buckets, by the address of the first.
  std::map<const void *, Block> joinedMemory;
  /// Shared with the thread, which may outlive a run that failed.
  std::shared_ptr<Stream> stream;
  std::thread thread;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_COMM_COMMUNICATOR_H
