// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The wire over TCP: one connection between neighbors, on which messages follow
// one another, each after a header. Ranks that can read each other's memory
// send the headers of large messages alone: the receiver reads the data from
// the sender's memory, and says so.
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
  void finish() override;

private:
  /// A message whose data follows, one whose data is in the sender's memory,
  /// and the receiver's word that it has read such data.
  enum class Kind : uint32_t { Data, Offer, Taken };
  struct Header {
    Kind kind;
    uint32_t tag, bytes;
    /// The transfer and the address of an offer, on the sender.
    uint32_t transfer;
    uint64_t address;

    /// The bytes of the message on the connection.
    size_t getLength() const {
      return sizeof(Header) + (kind == Kind::Data ? bytes : 0);
    }
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
    /// Who reads whose memory, as Neighbor says.
    pid_t process = 0;
    bool isReader = false;
    std::deque<Message> outgoing;
    std::vector<Message> posted;
    /// Offers of the other rank whose receive has not been started yet, and the
    /// number of those of this one that have not been taken.
    std::deque<Header> early;
    int64_t offered = 0;
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
  Message start(Peer &peer, bool isSent, int32_t tag, const void *data,
                int64_t bytes);
  void readFrom(Peer &peer);
  /// Reads all of the next header. Returns false if it has not come yet.
  bool readHeader(Peer &peer);
  /// Reads the data of a message that follows its header. Returns false if some
  /// of it has not come yet, or its receive has not been started.
  bool readData(Peer &peer);
  /// Returns the message that a header belongs to; null if its receive has not
  /// been started. Throws if it has another size.
  Message *findPosted(Peer &peer, const Header &header);
  void complete(Peer &peer, Message &received);
  /// Takes an offer. Returns false if its receive has not been started.
  bool take(Peer &peer, const Header &offer);
  /// An offer of this rank has been taken.
  void endOffer(Peer &peer, const Header &taken);
  void writeTo(Peer &peer);
  void checkOthers();
  [[noreturn]] void fail(int64_t lost);

  std::map<int64_t, Peer> peers;
  std::vector<State> states;
  std::vector<Transfer> idle;
  std::chrono::seconds limit;
  RankWatch watch;
  /// When bytes moved last, and when the watch was asked.
  RankWatch::Clock::time_point moved, watched;
  /// The problem that ended the wire; empty before.
  std::string problem;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_COMM_TCP_TCPWIRE_H
