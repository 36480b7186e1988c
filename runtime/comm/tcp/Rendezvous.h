// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// How ranks meet over TCP. Rank 0 listens; the others connect to it, and say
// who they are and where they listen. When all have come, rank 0 tells them the
// addresses and a number that it has drawn. Neighbors (Wire.h) then connect to
// each other, and show that number: what comes from another run, or is no rank
// at all, is refused. Those on one host try to read each other's memory.
//
// All messages, as those of RankWatch.h and TcpWire.h, are structs of
// little-endian numbers.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_COMM_TCP_RENDEZVOUS_H
#define INGOT_RUNTIME_COMM_TCP_RENDEZVOUS_H

#include "runtime/comm/RankMesh.h"
#include "runtime/comm/tcp/RankMemory.h"
#include "runtime/comm/tcp/Socket.h"

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace ingot::runtime {

/// Where and how long ranks meet.
struct Meeting {
  int64_t rank, size;
  /// Where rank 0 listens.
  std::string host;
  uint16_t port;
  /// The name of the run, which tells it from others at that port.
  std::string run;
  std::chrono::seconds limit;
  /// Prints a note of what is waited for.
  std::function<void(const std::string &)> note;
  /// Whether ranks on one host may read each other's memory.
  bool readsMemory = true;
  /// Ranks that are neighbors in a group along axes are connected too.
  RankMesh mesh = {};
};

/// A rank that this one exchanges data with.
struct Neighbor {
  Socket socket;
  /// The process whose memory this one can read; 0 where it cannot.
  pid_t process = 0;
  /// Whether that process can read the memory of this one.
  bool isReader = false;
};

/// The connections of a rank.
struct Connections {
  int64_t rank = 0, size = 1;
  /// The connections of RankWatch: to all other ranks on rank 0, and to rank 0
  /// on others.
  std::vector<Socket> links;
  /// The connections for data.
  std::map<int64_t, Neighbor> neighbors;
};

/// Connects this rank. Throws lostRank after the limit, and failure.
Connections meetByTcp(const Meeting &meeting);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_COMM_TCP_RENDEZVOUS_H
