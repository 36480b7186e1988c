// SPDX-License-Identifier: Apache-2.0

#include "runtime/comm/tcp/Rendezvous.h"

#include "runtime/comm/Tree.h"
#include "runtime/core/Error.h"
#include "runtime/core/File.h"
#include "runtime/core/files/Crc32.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <numeric>
#include <poll.h>
#include <set>
#include <sys/random.h>
#include <thread>

using namespace ingot::runtime;

using Clock = std::chrono::steady_clock;

namespace {

/// The first message of a connection. Its version changes with any message.
struct Greeting {
  static constexpr uint64_t kMagic = 0x32706374'746f676eULL;
  static constexpr uint32_t kJoins = 1, kLinks = 2;

  uint64_t magic = kMagic;
  /// The sum of the run's name, or the number that rank 0 drew.
  uint64_t run = 0;
  uint32_t purpose = 0, rank = 0, size = 0, port = 0;
};

/// Rank 0's message to one that joins.
struct Reply {
  enum Kind : uint32_t {
    /// The rank in `number` is the first that has not come yet.
    Missing,
    /// All have come; the addresses follow.
    Welcome,
    /// All are connected with their neighbors.
    Ready,
    /// Refusals. `number` is the size of rank 0's run.
    OtherRun,
    OtherSize,
    Twice,
    /// The rank in `number` was lost, or has not come in time.
    Lost,
    Late,
  };
  Kind kind;
  uint32_t number;
  uint64_t run;
};

struct Entry {
  Address::Bytes bytes;
  uint32_t port, unused;
};

/// One end of a meeting.
class Host {
public:
  explicit Host(const Meeting &meeting)
      : meeting(meeting), until(Clock::now() + meeting.limit),
        noteAt(Clock::now() + std::chrono::seconds(5)) {}

  Connections meet();

private:
  /// Someone who has connected and not said all yet.
  struct Guest {
    Socket socket;
    Greeting greeting;
    size_t bytes = 0;
    Clock::time_point since;
  };

  std::string getWhere() const {
    return "rank " + std::to_string(meeting.rank);
  }
  std::string getMaster() const {
    return "rank 0 at " + meeting.host + ":" + std::to_string(meeting.port);
  }
  Error makeLate(const std::string &whom, const std::string &why) const;
  Error makeLost(int64_t which) const;
  /// Says once what is waited for, after some seconds.
  void noteWait(const std::string &what);

  /// Sets bytes to random ones.
  void draw(void *bytes, size_t count) const;
  void listen(uint16_t port);
  /// Waits for somebody who connects, or for words of those that are there.
  void pause(const std::vector<Socket> &others);
  /// Returns those whose greeting has come. Drops what greets otherwise.
  std::vector<Guest> greet();

  [[noreturn]] void loseAtStart(size_t which);
  void receiveAll();
  bool admit(Guest &guest);
  int64_t findMissing() const;

  void join();
  /// One try. Returns whether rank 0 has welcomed this one.
  bool tryJoin(const Address &address);
  void readReplies(bool &isWelcome);

  void connectNeighbors();
  /// Finds out which neighbors read each other's memory.
  void tryMemory();
  /// Throws unless a message was moved: the neighbor has ended, or is late.
  void expectMoved(int64_t other, bool isMoved);
  /// Throws if one of the others has ended. Rank 0 counts who is ready.
  void checkLinks();
  void awaitAll();
  /// Reads all of a message. Returns false if its sender ends.
  bool readAll(const Socket &socket, void *to, size_t bytes);
  bool writeAll(const Socket &socket, const void *from, size_t bytes);
  /// Calls `move` for what is left until all has been moved, and waits for the
  /// event of poll() in between.
  template <typename Move>
  bool moveAll(const Socket &socket, short event, size_t bytes, Move move);

  const Meeting &meeting;
  Clock::time_point until, noteAt;
  Socket listener;
  std::deque<Guest> guests;
  std::vector<Socket> links;
  std::vector<Entry> entries;
  uint64_t drawn = 0;
  std::map<int64_t, Neighbor> neighbors;
  /// How many others are connected with their neighbors.
  int64_t ready = 0;
  /// Why rank 0 was not reached, and who has not come.
  std::string obstacle;
  int64_t missing = -1;
};

} // namespace

static uint64_t getKey(const Meeting &meeting) {
  return computeCrc32(meeting.run);
}

Error Host::makeLate(const std::string &whom, const std::string &why) const {
  return lostRank(getWhere(),
                  "has waited " + std::to_string(meeting.limit.count()) +
                      " s for " + whom + " to start" +
                      (why.empty() ? "" : ": " + why),
                  "see which rank does not run this trainer, or only prints "
                  "something, and whether the hosts reach each other; "
                  "--comm-timeout sets the limit");
}

Error Host::makeLost(int64_t which) const {
  return lostRank(
      getWhere(),
      "rank " + std::to_string(which) +
          " has ended while the ranks were starting" +
          (missing > 0 ? ", before rank " + std::to_string(missing) + " came"
                       : ""),
      "see its own message");
}

void Host::noteWait(const std::string &what) {
  if (Clock::now() < noteAt)
    return;
  noteAt = Clock::time_point::max();
  meeting.note(getWhere() + " waits for " + what);
}

static int getMilliseconds(Clock::duration most) {
  using namespace std::chrono;
  auto count = duration_cast<milliseconds>(most).count();
  return static_cast<int>(std::clamp<int64_t>(count, 0, 1000));
}

template <typename Move>
bool Host::moveAll(const Socket &socket, short event, size_t bytes, Move move) {
  size_t done = 0;
  while (done < bytes) {
    size_t count = bytes - done;
    Flow flow = move(done, count);
    Clock::time_point now = Clock::now();
    if (flow == Flow::Closed || (flow == Flow::Blocked && now > until))
      return false;
    if (flow == Flow::Blocked) {
      pollfd ready{socket.get(), event, 0};
      (void)::poll(&ready, 1, getMilliseconds(until - now));
    }
    done += count;
  }
  return true;
}

bool Host::readAll(const Socket &socket, void *to, size_t bytes) {
  return moveAll(socket, POLLIN, bytes, [&](size_t done, size_t &count) {
    return socket.read(static_cast<char *>(to) + done, count);
  });
}

bool Host::writeAll(const Socket &socket, const void *from, size_t bytes) {
  return moveAll(socket, POLLOUT, bytes, [&](size_t done, size_t &count) {
    return socket.write(static_cast<const char *>(from) + done, count);
  });
}

//===----------------------------------------------------------------------===//
// Those who connect
//===----------------------------------------------------------------------===//

void Host::listen(uint16_t port) {
  // The rank 0 of a run that was started anew may still be ending.
  Clock::time_point last =
      std::min(until, Clock::now() + std::chrono::seconds(10));
  int error = 0;
  while (!(listener = Socket::listen(port, error))) {
    if (error != EADDRINUSE || Clock::now() > last)
      throw failure(
          getWhere(),
          "cannot listen at port " + std::to_string(port) + ": " +
              std::strerror(error),
          "give another MASTER_PORT: ranks meet at the port after it");
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

void Host::draw(void *bytes, size_t count) const {
  // std::random_device needs a newer C library.
  if (getentropy(bytes, count) != 0)
    throw failure(getWhere(), "cannot draw a number: " + describeErrno(),
                  "check that the system has random numbers");
}

void Host::pause(const std::vector<Socket> &others) {
  std::vector<pollfd> sockets = {{listener.get(), POLLIN, 0}};
  for (const Guest &guest : guests)
    sockets.push_back({guest.socket.get(), POLLIN, 0});
  for (const Socket &other : others)
    if (other)
      sockets.push_back({other.get(), POLLIN, 0});
  (void)::poll(sockets.data(), sockets.size(),
               std::min(200, getMilliseconds(until - Clock::now())));
}

std::vector<Host::Guest> Host::greet() {
  constexpr size_t mostGuests = 256;
  constexpr auto patience = std::chrono::seconds(10);
  while (Socket socket = listener.accept()) {
    // Who says nothing must not keep others out.
    if (guests.size() == mostGuests)
      guests.pop_front();
    guests.emplace_back().socket = std::move(socket);
    guests.back().since = Clock::now();
  }
  std::vector<Guest> ready;
  std::deque<Guest> waiting;
  for (Guest &guest : guests) {
    size_t count = sizeof(Greeting) - guest.bytes;
    Flow flow = guest.socket.read(
        reinterpret_cast<char *>(&guest.greeting) + guest.bytes, count);
    guest.bytes += count;
    bool isRank = guest.bytes < sizeof(guest.greeting.magic) ||
                  guest.greeting.magic == Greeting::kMagic;
    if (flow == Flow::Closed || !isRank ||
        Clock::now() - guest.since > patience)
      continue;
    (guest.bytes == sizeof(Greeting) ? ready.emplace_back()
                                     : waiting.emplace_back()) =
        std::move(guest);
  }
  guests = std::move(waiting);
  return ready;
}

//===----------------------------------------------------------------------===//
// Rank 0
//===----------------------------------------------------------------------===//

static void reply(const Socket &socket, Reply::Kind kind, int64_t number,
                  uint64_t run = 0) {
  Reply message{kind, static_cast<uint32_t>(number), run};
  size_t count = sizeof(message);
  (void)socket.write(&message, count);
}

static void replyAll(const std::vector<Socket> &links, Reply::Kind kind,
                     int64_t number) {
  for (const Socket &link : links)
    if (link)
      reply(link, kind, number);
}

void Host::loseAtStart(size_t which) {
  auto lost = static_cast<int64_t>(which);
  links[which].close();
  replyAll(links, Reply::Lost, lost);
  throw makeLost(lost);
}

/// Lets a rank in, or refuses it. Returns whether it has come.
bool Host::admit(Guest &guest) {
  const Greeting &greeting = guest.greeting;
  Reply::Kind kind = Reply::Welcome;
  if (greeting.purpose != Greeting::kJoins || greeting.run != getKey(meeting))
    kind = Reply::OtherRun;
  else if (greeting.size != static_cast<uint64_t>(meeting.size))
    kind = Reply::OtherSize;
  else if (greeting.rank == 0 || greeting.rank >= greeting.size ||
           links[greeting.rank])
    kind = Reply::Twice;
  if (kind != Reply::Welcome) {
    reply(guest.socket, kind, meeting.size);
    meeting.note(
        getWhere() + " has refused " + guest.socket.getPeer().str() +
        (kind == Reply::OtherRun ? ", which is of another run"
         : kind == Reply::OtherSize
             ? ", whose number of ranks is " + std::to_string(greeting.size)
             : ", which calls itself rank " + std::to_string(greeting.rank) +
                   " as well"));
    return false;
  }
  guest.socket.tune();
  entries[greeting.rank] = {guest.socket.getPeer().getBytes(), greeting.port,
                            0};
  links[greeting.rank] = std::move(guest.socket);
  return true;
}

int64_t Host::findMissing() const {
  for (size_t i = 1; i < links.size(); ++i)
    if (!links[i])
      return static_cast<int64_t>(i);
  return -1;
}

void Host::receiveAll() {
  links.resize(static_cast<size_t>(meeting.size));
  entries.resize(static_cast<size_t>(meeting.size));
  listen(meeting.port);
  while ((missing = findMissing()) >= 0) {
    pause(links);
    bool hasCome = false;
    for (Guest &guest : greet())
      hasCome |= admit(guest);
    if (hasCome)
      replyAll(links, Reply::Missing, findMissing());
    checkLinks();
    std::string whom = "rank " + std::to_string(findMissing());
    noteWait(whom + " at port " + std::to_string(meeting.port));
    if (findMissing() >= 0 && Clock::now() > until) {
      replyAll(links, Reply::Late, findMissing());
      throw makeLate(whom, "");
    }
  }
  draw(&drawn, sizeof(drawn));
  for (size_t i = 1; i < links.size(); ++i) {
    Reply welcome{Reply::Welcome, 0, drawn};
    if (!writeAll(links[i], &welcome, sizeof(welcome)) ||
        !writeAll(links[i], entries.data(), entries.size() * sizeof(Entry)))
      loseAtStart(i);
  }
}

//===----------------------------------------------------------------------===//
// The other ranks
//===----------------------------------------------------------------------===//

/// Reads what rank 0 says until it welcomes this rank, or refuses it.
void Host::readReplies(bool &isWelcome) {
  const Socket &link = links[0];
  while (true) {
    Reply said{};
    if (!readAll(link, &said, sizeof(said))) {
      if (Clock::now() <= until)
        obstacle = "its connection was closed";
      return;
    }
    switch (said.kind) {
    case Reply::Missing:
      // Rank 0 has the first word on who has not come.
      if (missing < 0)
        until = std::max(until, Clock::now()) + std::chrono::seconds(2);
      missing = static_cast<int32_t>(said.number);
      obstacle.clear();
      continue;
    case Reply::Welcome:
      drawn = said.run;
      entries.resize(static_cast<size_t>(meeting.size));
      isWelcome = readAll(link, entries.data(), entries.size() * sizeof(Entry));
      return;
    case Reply::OtherRun:
      obstacle = "it is of another run";
      return;
    case Reply::OtherSize:
      obstacle = "its WORLD_SIZE is " + std::to_string(said.number) + ", not " +
                 std::to_string(meeting.size);
      return;
    case Reply::Ready:
      break;
    case Reply::Twice:
      obstacle =
          "another process has come as rank " + std::to_string(meeting.rank);
      return;
    case Reply::Lost:
      throw makeLost(static_cast<int64_t>(said.number));
    case Reply::Late:
      throw makeLate("rank " + std::to_string(said.number), "");
    }
    obstacle = "it is no trainer of this version";
    return;
  }
}

bool Host::tryJoin(const Address &address) {
  int patience = getMilliseconds(until - Clock::now());
  Socket socket = Socket::connect(address, std::max(1, patience), obstacle);
  if (!socket)
    return false;
  socket.tune();
  Greeting greeting;
  greeting.run = getKey(meeting);
  greeting.purpose = Greeting::kJoins;
  greeting.rank = static_cast<uint32_t>(meeting.rank);
  greeting.size = static_cast<uint32_t>(meeting.size);
  greeting.port = listener.getOwn().getPort();
  if (!writeAll(socket, &greeting, sizeof(greeting))) {
    obstacle = "its connection was closed";
    return false;
  }
  links[0] = std::move(socket);
  bool isWelcome = false;
  readReplies(isWelcome);
  return isWelcome;
}

void Host::join() {
  links.resize(1);
  listen(0);
  auto pause = std::chrono::milliseconds(20);
  while (true) {
    std::string problem;
    std::vector<Address> addresses =
        Address::resolve(meeting.host, meeting.port, problem);
    if (addresses.empty())
      obstacle = problem;
    for (const Address &address : addresses)
      if (tryJoin(address))
        return;
    if (Clock::now() > until)
      throw makeLate(missing > 0 ? "rank " + std::to_string(missing)
                                 : getMaster(),
                     obstacle);
    noteWait(getMaster() + ": " + obstacle);
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, std::chrono::milliseconds(500));
  }
}

//===----------------------------------------------------------------------===//
// Neighbors
//===----------------------------------------------------------------------===//

/// Adds the neighbors of a rank in the ring and in the tree of a group.
static void addNeighbors(int64_t rank, const std::vector<int64_t> &group,
                         std::set<int64_t> &neighbors) {
  auto size = static_cast<int64_t>(group.size());
  int64_t own = std::find(group.begin(), group.end(), rank) - group.begin();
  TreePlace place(own, size);
  std::vector<int64_t> places = {(own + 1) % size, (own + size - 1) % size};
  if (place.parent >= 0)
    places.push_back(place.parent);
  for (const TreePlace::Child &child : place.children)
    places.push_back(child.rank);
  for (int64_t other : places)
    if (other != own)
      neighbors.insert(group[other]);
}

/// Returns the ranks that a rank exchanges messages with.
static std::set<int64_t> findNeighbors(const Meeting &meeting) {
  std::set<int64_t> neighbors;
  std::vector<int64_t> world(static_cast<size_t>(meeting.size));
  std::iota(world.begin(), world.end(), 0);
  addNeighbors(meeting.rank, world, neighbors);
  for (int32_t axes = 1; axes < meeting.mesh.getAxes(); ++axes)
    if ((axes & ~meeting.mesh.getAxes()) == 0)
      addNeighbors(meeting.rank, meeting.mesh.getGroup(meeting.rank, axes),
                   neighbors);
  // Those of one sample exchange parts with each other.
  for (int64_t other :
       meeting.mesh.getGroup(meeting.rank, meeting.mesh.getAxes() &
                                               (INGOT_CONTEXT | INGOT_TENSOR)))
    if (other != meeting.rank)
      neighbors.insert(other);
  return neighbors;
}

void Host::connectNeighbors() {
  std::set<int64_t> all = findNeighbors(meeting);
  Greeting greeting;
  greeting.run = drawn;
  greeting.purpose = Greeting::kLinks;
  greeting.rank = static_cast<uint32_t>(meeting.rank);
  greeting.size = static_cast<uint32_t>(meeting.size);
  for (int64_t other : all) {
    if (other >= meeting.rank)
      continue;
    const Entry &entry = entries[static_cast<size_t>(other)];
    // Rank 0, and what it reaches by its loopback, are on the host at the other
    // end of the link.
    Address address(entry.bytes, static_cast<uint16_t>(entry.port));
    if (other == 0)
      address = links[0].getPeer();
    else if (address.isLoopback())
      address = links[0].getPeer().withPort(address.getPort());
    std::string problem;
    Socket socket = Socket::connect(
        address, getMilliseconds(until - Clock::now()), problem);
    if (!socket || !writeAll(socket, &greeting, sizeof(greeting)))
      throw lostRank(getWhere(),
                     "cannot reach rank " + std::to_string(other) + " at " +
                         address.str() + ": " + problem,
                     "let the hosts of the ranks connect to each other at any "
                     "port");
    socket.tune();
    neighbors[other].socket = std::move(socket);
  }
  while (neighbors.size() < all.size()) {
    pause(links);
    checkLinks();
    for (Guest &guest : greet()) {
      const Greeting &said = guest.greeting;
      bool isExpected = said.purpose == Greeting::kLinks && said.run == drawn &&
                        all.count(said.rank) && !neighbors.count(said.rank);
      if (!isExpected) {
        reply(guest.socket, Reply::OtherRun, meeting.size);
        continue;
      }
      guest.socket.tune();
      neighbors[said.rank].socket = std::move(guest.socket);
    }
    if (Clock::now() > until)
      for (int64_t other : all)
        if (!neighbors.count(other))
          throw makeLate("rank " + std::to_string(other),
                         "it has not connected");
  }
}

void Host::expectMoved(int64_t other, bool isMoved) {
  if (!isMoved)
    throw Clock::now() > until ? makeLate("rank " + std::to_string(other), "")
                               : makeLost(other);
}

void Host::tryMemory() {
  std::array<uint64_t, 2> number;
  draw(number.data(), sizeof(number));
  MemoryClaim own;
  if (meeting.readsMemory)
    own.claimOwn(number);
  for (auto &[other, neighbor] : neighbors)
    expectMoved(other, writeAll(neighbor.socket, &own, sizeof(own)));
  for (auto &[other, neighbor] : neighbors) {
    MemoryClaim claim;
    expectMoved(other, readAll(neighbor.socket, &claim, sizeof(claim)));
    bool canRead = meeting.readsMemory && claim.holds();
    neighbor.process = canRead ? static_cast<pid_t>(claim.process) : 0;
    expectMoved(other, writeAll(neighbor.socket, &canRead, sizeof(canRead)));
  }
  for (auto &[other, neighbor] : neighbors)
    expectMoved(other, readAll(neighbor.socket, &neighbor.isReader,
                               sizeof(neighbor.isReader)));
}

void Host::checkLinks() {
  for (size_t i = 0; i < links.size(); ++i) {
    if (!links[i])
      continue;
    if (meeting.rank == 0) {
      // One byte says that a rank is ready.
      char byte;
      size_t count = 1;
      Flow flow = links[i].read(&byte, count);
      if (flow == Flow::Closed)
        loseAtStart(i);
      ready += flow == Flow::Moved;
      continue;
    }
    Reply said{};
    size_t count = sizeof(said);
    Flow flow = links[i].peek(&said, count);
    if (flow == Flow::Closed)
      throw makeLost(0);
    if (flow == Flow::Moved && count == sizeof(said) &&
        said.kind == Reply::Lost)
      throw makeLost(static_cast<int64_t>(said.number));
  }
}

/// Waits until all are connected, so that whoever ends before is named.
void Host::awaitAll() {
  if (meeting.rank == 0) {
    while (ready + 1 < meeting.size) {
      if (Clock::now() > until)
        throw makeLate("all ranks", "some have not connected");
      pause(links);
      checkLinks();
    }
    replyAll(links, Reply::Ready, 0);
    return;
  }
  char byte = 1;
  Reply said{};
  if (!writeAll(links[0], &byte, 1) || !readAll(links[0], &said, sizeof(said)))
    throw Clock::now() > until ? makeLate("all ranks", "") : makeLost(0);
  if (said.kind == Reply::Lost)
    throw makeLost(static_cast<int64_t>(said.number));
}

Connections Host::meet() {
  if (meeting.rank == 0)
    receiveAll();
  else
    join();
  connectNeighbors();
  tryMemory();
  awaitAll();
  return {meeting.rank, meeting.size, std::move(links), std::move(neighbors)};
}

Connections ingot::runtime::meetByTcp(const Meeting &meeting) {
  return Host(meeting).meet();
}
