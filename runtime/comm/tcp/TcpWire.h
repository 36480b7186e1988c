// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The wire over TCP: one connection between neighbors, on which messages follow
// one another, each after a header.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_COMM_TCP_TCPWIRE_H
#define INGOT_RUNTIME_COMM_TCP_TCPWIRE_H

#include "runtime/comm/Wire.h"
#include "runtime/comm/tcp/RankWatch.h"
#include "runtime/comm/tcp/Rendezvous.h"

#include <deque>

namespace ingot::runtime {

class TcpWire : public Wire {
public:
  /// Messages that do not move for a part of the limit make ranks ask who is
  /// still there.
  TcpWire(Connections connections, std::chrono::seconds limit);

  std::string describe() const override { return "TCP"; }
  Transfer send(int64_t to, int32_t tag, const void *data,
                int64_t bytes) override;
  Transfer receive(int64_t from, int32_t tag, void *data,
                   int64_t bytes) override;
  bool test(Transfer transfer) override;
  int64_t giveUp() override { return watch.giveUp(); }
  void finish() override { watch.finish(); }

private:
  struct Header {
    uint32_t tag, bytes;
  };
  struct Message {
    Header header{};
    char *data = nullptr;
    /// The bytes that were sent or received, those of the header included when
    /// they are sent.
    size_t moved = 0;
    Transfer transfer = 0;
  };
  struct Peer {
    int64_t rank = 0;
    Socket socket;
    std::deque<Message> outgoing, posted;
    /// The header of the message that comes in, and the bytes of it that are
    /// there.
    Header header{};
    size_t headerBytes = 0;
  };
  struct State {
    Peer *peer = nullptr;
    bool isSent = false, isDone = false;
  };

  Peer &getPeer(int64_t rank);
  Transfer start(std::deque<Message> &queue, Peer &peer, bool isSent,
                 int32_t tag, const void *data, int64_t bytes);
  void readFrom(Peer &peer);
  void writeTo(Peer &peer);
  void checkOthers();
  [[noreturn]] void fail(int64_t lost);

  std::map<int64_t, Peer> peers;
  std::vector<State> states;
  std::vector<Transfer> idle;
  RankWatch watch;
  /// When bytes moved last, and when the watch was asked.
  RankWatch::Clock::time_point moved, watched;
  /// The problem that ended the wire; empty before.
  std::string problem;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_COMM_TCP_TCPWIRE_H
