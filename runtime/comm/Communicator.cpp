// SPDX-License-Identifier: Apache-2.0

#include "runtime/comm/Communicator.h"

#include "runtime/core/Error.h"
#include "runtime/core/File.h"
#include "runtime/core/files/Crc32.h"
#include "runtime/core/libraries/JsonLibrary.h"
#include "runtime/core/machine/Threads.h"
#include "runtime/core/text/JsonLine.h"

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <utility>

using namespace ingot::runtime;

using Clock = std::chrono::steady_clock;

struct Communicator::Operation {
  CommunicationEvent event;
  /// The transport of the group, which the thread may need for longer.
  std::shared_ptr<Collectives> transport;
  std::function<std::unique_ptr<Pending>(Collectives &)> begin;
  /// The operation that ends before this one begins; 0 for none.
  Ticket after = 0;
  std::unique_ptr<Pending> pending;
  bool isDone = false;
  std::string error;
  /// The caller gives up waiting, and what the transport says to that.
  bool isGivenUp = false;
  std::optional<std::string> reason;
};

/// Buckets that are summed over ranks together.
struct Communicator::Joint {
  struct Part {
    char *data;
    int64_t bytes;
  };
  std::vector<Part> parts;
  DType type;
  int64_t bytes = 0;
  std::string what;
  Ticket ticket = 0;
  bool isStarted = false, isDone = false;
};

struct Communicator::Stream {
  void run();
  /// Starts and polls operations; returns whether any started or ended.
  bool advance(std::unique_lock<std::mutex> &lock);
  void end(Operation &operation);
  /// Removes the first operation from the queue that can begin, and returns it;
  /// 0 if there is none.
  Ticket takeNext();

  std::mutex mutex;
  /// Signals to the thread, and from it.
  std::condition_variable asked, ended;
  std::map<Ticket, Operation> operations;
  /// Operations that wait for the transport, and operations in flight.
  std::deque<Ticket> queue;
  std::vector<Ticket> active;
  std::deque<CommunicationEvent> events;
  size_t mostEvents = 64;
  Ticket last = 0;
  bool isClosing = false, isAbandoned = false;
};

//===----------------------------------------------------------------------===//
// The thread
//===----------------------------------------------------------------------===//

void Communicator::Stream::end(Operation &operation) {
  operation.isDone = true;
  operation.event.end = Clock::now();
  operation.pending.reset();
  events.push_back(operation.event);
  if (events.size() > mostEvents)
    events.pop_front();
}

Communicator::Ticket Communicator::Stream::takeNext() {
  // The groups whose next operation waits for another one.
  std::vector<const Collectives *> held;
  for (auto at = queue.begin(); at != queue.end(); ++at) {
    const Operation &operation = operations.at(*at);
    const Collectives *group = operation.transport.get();
    auto before = operations.find(operation.after);
    if (std::find(held.begin(), held.end(), group) != held.end())
      continue;
    if (before == operations.end() || before->second.isDone) {
      Ticket ticket = *at;
      queue.erase(at);
      return ticket;
    }
    held.push_back(group);
  }
  return 0;
}

bool Communicator::Stream::advance(std::unique_lock<std::mutex> &lock) {
  auto guarded = [&](Operation &operation, auto call) {
    // References into the map stay valid, because only waits erase operations,
    // after their end.
    lock.unlock();
    std::string error;
    bool isOver = false;
    try {
      isOver = call(operation);
    } catch (const std::exception &problem) {
      error = problem.what();
      isOver = true;
    }
    lock.lock();
    operation.error = error;
    return isOver;
  };
  bool any = false;
  while (!isAbandoned) {
    Ticket ticket = takeNext();
    if (ticket == 0)
      break;
    Operation &operation = operations.at(ticket);
    operation.event.begin = Clock::now();
    bool failed = guarded(operation, [&](Operation &started) {
      started.pending = started.begin(*started.transport);
      return false;
    });
    if (failed) {
      end(operation);
      ended.notify_all();
    } else {
      active.push_back(ticket);
    }
    any = true;
  }
  for (size_t i = 0; i < active.size() && !isAbandoned;) {
    Operation &operation = operations.at(active[i]);
    bool isGivenUp = operation.isGivenUp && !operation.reason;
    std::string reason;
    if (!guarded(operation, [&](Operation &polled) {
          if (polled.pending->test())
            return true;
          if (isGivenUp)
            reason = polled.pending->giveUp();
          return false;
        })) {
      if (isGivenUp) {
        operation.reason = reason;
        ended.notify_all();
      }
      ++i;
      continue;
    }
    active.erase(active.begin() + static_cast<int64_t>(i));
    end(operation);
    ended.notify_all();
    any = true;
  }
  return any;
}

void Communicator::Stream::run() {
  constexpr auto shortest = std::chrono::microseconds(20);
  constexpr auto longest = std::chrono::microseconds(200);
  auto pause = shortest;
  std::unique_lock lock(mutex);
  while (!isAbandoned) {
    if (queue.empty() && active.empty()) {
      if (isClosing)
        return;
      asked.wait(lock);
      continue;
    }
    if (advance(lock)) {
      pause = shortest;
      continue;
    }
    // A new operation ends the pause.
    asked.wait_for(lock, pause);
    pause = std::min(2 * pause, longest);
  }
}

//===----------------------------------------------------------------------===//
// The threads that compute
//===----------------------------------------------------------------------===//

Communicator::Communicator(std::unique_ptr<Collectives> given)
    : rank(given->getRank()), size(given->getSize()), world(*this),
      transport(std::move(given)), stream(std::make_shared<Stream>()) {
  if (size > 1 && !startThread(thread, [stream = stream] { stream->run(); }))
    throw lackOfThreads();
}

Communicator::Communicator(Communicator &world,
                           std::unique_ptr<Collectives> given, int32_t axes)
    : rank(given->getRank()), size(given->getSize()), world(world),
      members(world.mesh.getGroup(world.rank, axes)),
      isOverSamples((axes & RankMesh::kSampleAxes) != 0),
      names(" over " + world.mesh.getNames(axes)), transport(std::move(given)),
      stream(world.stream) {}

Communicator &Communicator::getGroup(int32_t axes) {
  if (&world != this)
    return world.getGroup(axes);
  const bool hasMesh = mesh.getAxes() != 0;
  axes &= hasMesh ? mesh.getAxes() : INGOT_DATA;
  if (axes == (hasMesh ? mesh.getAxes() : INGOT_DATA))
    return *this;
  std::unique_ptr<Communicator> &group = groups[axes];
  if (!group)
    group.reset(new Communicator(
        *this,
        axes == 0 ? makeSelfCollectives()
                  : transport->makeGroup(mesh.getGroup(rank, axes), axes),
        axes));
  return *group;
}

Communicator::~Communicator() {
  if (!thread.joinable())
    return;
  {
    std::lock_guard lock(stream->mutex);
    stream->isAbandoned = true;
  }
  stream->asked.notify_one();
  // The thread may be stuck in the transport.
  thread.detach();
}

std::string Communicator::describe() const { return transport->describe(); }

Communicator::Ticket Communicator::start(
    std::string what, int64_t bytes,
    std::function<std::unique_ptr<Pending>(Collectives &)> begin,
    Ticket after) {
  CommunicationEvent event;
  event.what = std::move(what) + names;
  event.bytes = bytes;
  event.step = world.step;
  event.asked = Clock::now();
  world.use.bytes += bytes;
  Ticket ticket;
  {
    std::lock_guard lock(stream->mutex);
    ticket = ++stream->last;
    Operation &operation = stream->operations[ticket];
    operation.event = std::move(event);
    operation.transport = transport;
    operation.begin = std::move(begin);
    operation.after = after;
    stream->queue.push_back(ticket);
  }
  stream->asked.notify_one();
  return ticket;
}

Error Communicator::describe(const Operation &operation,
                             const std::string &problem,
                             const std::string &hint) const {
  std::string where = "rank " + std::to_string(world.rank) + ", step " +
                      std::to_string(operation.event.step);
  return lostRank(where, operation.event.what + ": " + problem, hint);
}

Communicator::Ticket Communicator::startBucketReduce(void *data,
                                                     int64_t elements,
                                                     DType type,
                                                     std::string what) {
  int64_t bytes = elements * ::getSize(type);
  if (isOverSamples) {
    ++world.bucketCount;
    world.bucketBytes += bytes;
  }
  if (world.joining == 0 || size == 1 || !isOverSamples)
    return startAllReduce(data, elements, type, std::move(what));
  if (open && open->type != type)
    startJoint();
  if (!open) {
    open = std::make_shared<Joint>();
    open->type = type;
    open->what = std::move(what);
  }
  open->parts.push_back({static_cast<char *>(data), bytes});
  open->bytes += bytes;
  Ticket ticket;
  {
    std::lock_guard lock(stream->mutex);
    ticket = ++stream->last;
  }
  joined[ticket] = open;
  if (open->bytes >= world.joining)
    startJoint();
  return ticket;
}

void Communicator::startJoint() {
  Joint &joint = *std::exchange(open, nullptr);
  Joint::Part &first = joint.parts[0];
  char *data = first.data;
  if (joint.parts.size() > 1) {
    Block &memory = joinedMemory[data];
    if (static_cast<int64_t>(memory.getSize()) < joint.bytes)
      memory = Block(joint.bytes, "buckets that are joined");
    data = memory.getData();
    char *to = data;
    for (const Joint::Part &part : joint.parts) {
      std::memcpy(to, part.data, static_cast<size_t>(part.bytes));
      to += part.bytes;
    }
    joint.what += " and " + std::to_string(joint.parts.size() - 1) + " more";
  }
  joint.isStarted = true;
  joint.ticket = startAllReduce(data, joint.bytes / ::getSize(joint.type),
                                joint.type, joint.what);
}

void Communicator::finishJoint(Joint &joint) {
  if (!joint.isStarted)
    startJoint();
  if (std::exchange(joint.isDone, true))
    return;
  wait(joint.ticket);
  if (joint.parts.size() == 1)
    return;
  const char *from = joinedMemory[joint.parts[0].data].getData();
  for (const Joint::Part &part : joint.parts) {
    std::memcpy(part.data, from, static_cast<size_t>(part.bytes));
    from += part.bytes;
  }
}

void Communicator::wait(Ticket ticket) { wait(ticket, getLimit()); }

void Communicator::wait(Ticket ticket, std::chrono::seconds most) {
  if (ticket == 0)
    return;
  if (auto found = joined.find(ticket); found != joined.end()) {
    std::shared_ptr<Joint> joint = std::move(found->second);
    joined.erase(found);
    finishJoint(*joint);
    return;
  }
  Clock::time_point begin = Clock::now();
  std::unique_lock lock(stream->mutex);
  waitForEnd(lock, stream->operations.at(ticket), most);
  stream->operations.erase(ticket);
  world.use.waitSeconds +=
      std::chrono::duration<double>(Clock::now() - begin).count();
}

void Communicator::waitForAll() {
  for (const auto &[axes, group] : groups)
    if (group->open)
      group->startJoint();
  if (open)
    startJoint();
  std::unique_lock lock(stream->mutex);
  for (auto &[ticket, operation] : stream->operations)
    waitForEnd(lock, operation, getLimit());
}

/// The time that a launcher gives ranks before it ends them.
static constexpr auto kGrace = std::chrono::milliseconds(400);

std::string
Communicator::heedInterruption(std::optional<Clock::time_point> &since,
                               const std::string &what) {
  Interruption &interruption = world.interruption;
  const char *signal = interruption.query ? interruption.query() : nullptr;
  Clock::time_point now = Clock::now();
  if (signal && !since)
    since = now;
  if (!since || now - *since <= kGrace)
    return "";
  std::string problem = what + " were in flight when the run was ended (" +
                        (signal ? signal : "a signal") + ")";
  if (now - *since > interruption.patience)
    return problem;
  if (interruption.warn && !std::exchange(interruption.hasWarned, true))
    interruption.warn(failure(
        "rank " + std::to_string(world.rank) + ", step " +
            std::to_string(world.step),
        problem, "see the messages of other ranks and of the launcher"));
  return "";
}

void Communicator::waitForEnd(std::unique_lock<std::mutex> &lock,
                              Operation &operation, std::chrono::seconds most) {
  constexpr auto interval = std::chrono::milliseconds(50);
  Interruption &interruption = world.interruption;
  Clock::time_point start = Clock::now();
  std::optional<Clock::time_point> interrupted;
  while (!operation.isDone) {
    stream->ended.wait_for(lock, interval);
    Clock::time_point now = Clock::now();
    const char *signal = interruption.query ? interruption.query() : nullptr;
    if (signal && !interrupted)
      interrupted = now;
    if (operation.isDone)
      break;
    if (interrupted && now - *interrupted > kGrace) {
      Error error = describe(
          operation,
          std::string("was in flight when the run was ended (") + signal + ")",
          "see the messages of other ranks and of the launcher");
      if (now - *interrupted > interruption.patience)
        throw error;
      if (interruption.warn && !std::exchange(interruption.hasWarned, true)) {
        lock.unlock();
        interruption.warn(error);
        lock.lock();
      }
    }
    if (now - start > most) {
      // The thread may be stuck in the transport.
      operation.isGivenUp = true;
      stream->ended.wait_for(lock, std::chrono::milliseconds(1500), [&] {
        return operation.isDone || operation.reason;
      });
      if (operation.isDone)
        break;
      std::string reason = operation.reason.value_or("");
      throw describe(
          operation,
          "has not ended for " + std::to_string(most.count()) + " s" +
              (reason.empty() ? "" : ", " + reason),
          "see which rank stopped or is slow; --comm-timeout sets the limit");
    }
  }
  if (!operation.error.empty())
    throw describe(operation, operation.error,
                   "see the messages of other ranks, and the network");
}

Communicator::Ticket Communicator::startInPlace(InPlace operation, void *data,
                                                int64_t elements, DType type,
                                                std::string what) {
  if (size == 1)
    return 0;
  int64_t bytes = elements * ::getSize(type);
  return start(std::move(what), bytes, [=](Collectives &transport) {
    return (transport.*operation)(data, elements, type);
  });
}

Communicator::Ticket Communicator::startAllReduce(void *data, int64_t elements,
                                                  DType type, std::string what,
                                                  Reduction reduction,
                                                  Ticket after) {
  if (size == 1)
    return 0;
  return start(
      std::move(what), elements * ::getSize(type),
      [=](Collectives &transport) {
        return transport.startAllReduce(data, elements, type, reduction);
      },
      after);
}

Communicator::Ticket Communicator::startReduceScatter(void *data,
                                                      int64_t elements,
                                                      DType type,
                                                      std::string what) {
  return startInPlace(&Collectives::startReduceScatter, data, elements, type,
                      std::move(what));
}

Communicator::Ticket Communicator::startGatherShards(void *data,
                                                     int64_t elements,
                                                     DType type,
                                                     std::string what) {
  return startInPlace(&Collectives::startGatherShards, data, elements, type,
                      std::move(what));
}

void Communicator::allReduce(void *data, int64_t elements, DType type,
                             const std::string &what) {
  wait(startAllReduce(data, elements, type, what));
}

Communicator::Ticket Communicator::startReduceParts(const void *from, void *to,
                                                    int64_t elements,
                                                    DType type,
                                                    std::string what,
                                                    Reduction reduction) {
  const int64_t bytes = elements * ::getSize(type);
  if (size == 1) {
    std::memcpy(to, from, bytes);
    return 0;
  }
  return start(std::move(what), bytes * size, [=](Collectives &transport) {
    return transport.startReduceParts(from, to, elements, type, reduction);
  });
}

Communicator::Ticket Communicator::startAllToAll(const void *from, void *to,
                                                 int64_t bytes,
                                                 std::string what) {
  if (size == 1) {
    std::memcpy(to, from, bytes);
    return 0;
  }
  return start(std::move(what), bytes * size, [=](Collectives &transport) {
    return transport.startAllToAll(from, to, bytes);
  });
}

void Communicator::allGather(const void *from, void *to, int64_t bytes,
                             const std::string &what) {
  wait(startAllGather(from, to, bytes, what));
}

Communicator::Ticket Communicator::startAllGather(const void *from, void *to,
                                                  int64_t bytes,
                                                  std::string what) {
  if (size == 1) {
    std::memcpy(to, from, bytes);
    return 0;
  }
  return start(std::move(what), bytes, [=](Collectives &transport) {
    return transport.startAllGather(from, to, bytes);
  });
}

void Communicator::broadcast(void *data, int64_t bytes, int64_t root,
                             const std::string &what) {
  if (size > 1)
    wait(start(what, bytes, [=](Collectives &transport) {
      return transport.startBroadcast(data, bytes, root);
    }));
}

std::vector<int64_t> Communicator::gatherWords(std::vector<int64_t> own,
                                               const std::string &what,
                                               std::chrono::seconds most) {
  if (size == 1)
    return own;
  // Held by the operation, which may still be in flight when the wait for it
  // has failed.
  struct Memory {
    std::vector<int64_t> own, all;
  };
  auto memory = std::make_shared<Memory>();
  memory->all.resize(own.size() * static_cast<size_t>(size));
  memory->own = std::move(own);
  auto bytes = static_cast<int64_t>(memory->own.size() * sizeof(int64_t));
  wait(start(what, bytes,
             [memory, bytes](Collectives &transport) {
               return transport.startAllGather(memory->own.data(),
                                               memory->all.data(), bytes);
             }),
       most);
  return std::move(memory->all);
}

Error Communicator::differ(int64_t place, const std::string &what,
                           const std::string &hint) const {
  return failure("rank " + std::to_string(getWorldRank(place)),
                 "another " + what + " than rank " +
                     std::to_string(getWorldRank(0)) + "'s",
                 hint);
}

void Communicator::checkEqual(int64_t value, const std::string &what,
                              const std::string &hint) {
  std::vector<int64_t> all =
      gatherWords({value}, "comparison of the " + what, getLimit());
  for (int64_t other = 1; other < size; ++other)
    if (all[other] != all[0])
      throw differ(other, what, hint);
}

void Communicator::checkEqual(const std::vector<NamedValue> &values,
                              const std::string &hint) {
  std::vector<int64_t> own;
  for (const NamedValue &value : values)
    own.push_back(value.second);
  std::vector<int64_t> all =
      gatherWords(std::move(own), "comparison of the options", getLimit());
  for (size_t i = values.size(); i < all.size(); ++i)
    if (size_t option = i % values.size(); all[i] != all[option])
      throw differ(static_cast<int64_t>(i / values.size()),
                   values[option].first, hint);
}

int64_t Communicator::agree(int64_t value, const std::string &what,
                            Lateness lateness) {
  // Ranks that have come to different points of the run would take each other's
  // word for something else.
  int64_t subject = computeCrc32(what);
  std::vector<int64_t> all = gatherWords({value, subject}, what,
                                         lateness == Lateness::Writing
                                             ? std::max(getLimit(), kPatience)
                                             : getLimit());
  for (int64_t other = 0; other < size; ++other) {
    if (all[2 * other + 1] != subject)
      throw failure("rank " + std::to_string(world.rank),
                    what + ": rank " + std::to_string(getWorldRank(other)) +
                        " is at another point of the run",
                    "give all ranks the same options, and data of as many "
                    "samples");
    value = std::max(value, all[2 * other]);
  }
  return value;
}

void Communicator::finish() {
  if (!thread.joinable())
    return;
  {
    std::lock_guard lock(stream->mutex);
    stream->isClosing = true;
  }
  stream->asked.notify_one();
  thread.join();
  transport->finish();
}

void Communicator::record() {
  std::lock_guard lock(stream->mutex);
  stream->mostEvents = size_t(1) << 20;
  stream->events.clear();
}

std::vector<CommunicationEvent> Communicator::getEvents() const {
  std::lock_guard lock(stream->mutex);
  std::vector<CommunicationEvent> all(stream->events.begin(),
                                      stream->events.end());
  for (const auto &[ticket, operation] : stream->operations)
    if (!operation.isDone)
      all.push_back(operation.event);
  return all;
}

void Communicator::writeEvents(const std::string &path) const {
  std::vector<CommunicationEvent> events = getEvents();
  AtomicFile file(path);
  for (const CommunicationEvent &event : events) {
    nlohmann::ordered_json line = {{"rank", world.rank},
                                   {"step", event.step},
                                   {"what", event.what},
                                   {"bytes", event.bytes}};
    auto addTime = [&](const char *name, CommunicationEvent::Time when) {
      std::chrono::duration<double, std::milli> since =
          when - events.front().asked;
      if (when != CommunicationEvent::Time())
        line[name] = roundTo(since.count(), 6);
    };
    addTime("asked_ms", event.asked);
    addTime("begin_ms", event.begin);
    addTime("end_ms", event.end);
    file.write(formatJsonLine(line) + "\n");
  }
  file.commit();
}
