// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Who is lost: each rank keeps a connection to rank 0 beside those for data.
// Rank 0 says which rank was lost first, so that all name the same one; the
// ranks around it would name each other. A rank that waits is asked now and
// then, so that one that is stopped or cut off can be told from those that wait
// for it.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_COMM_TCP_RANKWATCH_H
#define INGOT_RUNTIME_COMM_TCP_RANKWATCH_H

#include "runtime/comm/tcp/Socket.h"

#include <chrono>
#include <vector>

namespace ingot::runtime {

class RankWatch {
public:
  using Clock = std::chrono::steady_clock;

  /// `links` are those to all other ranks on rank 0, in their order with an
  /// empty one for itself, and the one to rank 0 on others. A rank that waits
  /// for longer than a part of the limit is asked.
  RankWatch(int64_t rank, std::vector<Socket> links,
            std::chrono::seconds limit);

  /// Reads and answers what the others say. Nothing was sent or received since
  /// `still`, although this rank waits for something.
  void advance(Clock::time_point still);
  /// Returns the rank that was lost; -1 if none was.
  int64_t getLost() const { return lost; }
  /// The data connection to a rank ended: returns which rank was lost, after a
  /// short wait for what rank 0 says. This rank has waited since `still`.
  int64_t blame(int64_t rank, Clock::time_point still);
  /// This rank gives up waiting: returns who does not answer and tells the
  /// others; -1 if all do.
  int64_t giveUp();
  /// Tells the others that this rank ends as it should.
  void finish();

private:
  enum class Kind : uint32_t { Lost, Ask, Answer, Late, Bye };
  struct Word {
    Kind kind;
    uint32_t rank;
  };
  struct Link {
    Socket socket;
    int64_t rank = 0;
    bool hasLeft = false, hasAnswered = false;
    Word word{};
    size_t bytes = 0;
  };

  bool isHub() const { return rank == 0; }
  /// Whether rank 0 has asked nothing for so long that it does not answer.
  bool isHubSilent(Clock::time_point still) const;
  void send(Link &link, Kind kind, int64_t about);
  void sendAll(Kind kind, int64_t about);
  void read(Link &link);
  void hear(Link &link, const Word &word);
  void lose(int64_t which);
  void ask(Clock::time_point now);

  int64_t rank;
  std::vector<Link> links;
  Clock::duration interval;
  int64_t lost = -1, late = -1;
  /// When rank 0 asked last, and when it said last who is late.
  Clock::time_point asked{}, judged{};
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_COMM_TCP_RANKWATCH_H
