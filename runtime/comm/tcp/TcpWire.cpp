// SPDX-License-Identifier: Apache-2.0

#include "runtime/comm/tcp/TcpWire.h"

#include <algorithm>
#include <stdexcept>
#include <thread>
#include <utility>

using namespace ingot::runtime;

/// Bytes below which a copy by the system costs less than the answer to an
/// offer.
static constexpr int64_t kLeastOffer = 16 << 10;

TcpWire::TcpWire(Connections connections, std::chrono::seconds limit)
    : Wire(connections.rank, connections.size), limit(limit),
      watch(connections.rank, std::move(connections.links), limit),
      moved(RankWatch::Clock::now()), watched(moved) {
  for (auto &[rank, neighbor] : connections.neighbors) {
    Peer &peer = peers[rank];
    peer.rank = rank;
    peer.socket = std::move(neighbor.socket);
    peer.process = neighbor.process;
    peer.isReader = neighbor.isReader;
  }
}

TcpWire::Peer &TcpWire::getPeer(int64_t rank) {
  if (!problem.empty())
    throw std::runtime_error(problem);
  // The time in which nothing was asked for is no silence.
  moved = RankWatch::Clock::now();
  return peers.at(rank);
}

TcpWire::Message TcpWire::start(Peer &peer, bool isSent, int32_t tag,
                                const void *data, int64_t bytes) {
  if (idle.empty()) {
    idle.push_back(static_cast<Transfer>(states.size()));
    states.emplace_back();
  }
  Message message;
  message.data = const_cast<char *>(static_cast<const char *>(data));
  message.transfer = idle.back();
  message.header = {Kind::Data, static_cast<uint32_t>(tag),
                    static_cast<uint32_t>(bytes),
                    static_cast<uint32_t>(message.transfer),
                    reinterpret_cast<uintptr_t>(data)};
  idle.pop_back();
  states[static_cast<size_t>(message.transfer)] = {&peer, isSent, false};
  return message;
}

Wire::Transfer TcpWire::send(int64_t to, int32_t tag, const void *data,
                             int64_t bytes) {
  Peer &peer = getPeer(to);
  Message message = start(peer, /*isSent=*/true, tag, data, bytes);
  if (peer.isReader && bytes >= kLeastOffer) {
    message.header.kind = Kind::Offer;
    ++peer.offered;
  }
  peer.outgoing.push_back(message);
  return message.transfer;
}

Wire::Transfer TcpWire::receive(int64_t from, int32_t tag, void *data,
                                int64_t bytes) {
  Peer &peer = getPeer(from);
  peer.posted.push_back(start(peer, /*isSent=*/false, tag, data, bytes));
  return peer.posted.back().transfer;
}

void TcpWire::fail(int64_t lost) {
  problem =
      lost == getRank()
          ? "the other ranks have given up waiting for this one"
          : "rank " + std::to_string(lost) +
                " is lost: it has ended, is stopped, or cannot be reached";
  throw std::runtime_error(problem);
}

bool TcpWire::readHeader(Peer &peer) {
  while (peer.headerBytes < sizeof(Header)) {
    size_t count = sizeof(Header) - peer.headerBytes;
    Flow flow = peer.socket.read(
        reinterpret_cast<char *>(&peer.header) + peer.headerBytes, count);
    if (flow == Flow::Closed)
      fail(watch.blame(peer.rank, moved));
    if (flow == Flow::Blocked)
      return false;
    peer.headerBytes += count;
  }
  return true;
}

TcpWire::Message *TcpWire::findPosted(Peer &peer, const Header &header) {
  auto found = std::find_if(
      peer.posted.begin(), peer.posted.end(),
      [&](const Message &message) { return message.header.tag == header.tag; });
  if (found == peer.posted.end())
    return nullptr;
  if (found->header.bytes != header.bytes) {
    problem = "rank " + std::to_string(peer.rank) + " sends " +
              std::to_string(header.bytes) + " bytes, not " +
              std::to_string(found->header.bytes) +
              ": it is at another point of the run";
    throw std::runtime_error(problem);
  }
  return &*found;
}

void TcpWire::complete(Peer &peer, Message &received) {
  moved = RankWatch::Clock::now();
  states[static_cast<size_t>(received.transfer)].isDone = true;
  peer.posted.erase(peer.posted.begin() + (&received - &peer.posted.front()));
}

bool TcpWire::readData(Peer &peer) {
  Message *found = findPosted(peer, peer.header);
  if (!found)
    return false;
  while (found->moved < found->header.bytes) {
    size_t count = found->header.bytes - found->moved;
    Flow flow = peer.socket.read(found->data + found->moved, count);
    if (flow == Flow::Closed)
      fail(watch.blame(peer.rank, moved));
    if (flow == Flow::Blocked)
      return false;
    found->moved += count;
    moved = RankWatch::Clock::now();
  }
  complete(peer, *found);
  return true;
}

bool TcpWire::take(Peer &peer, const Header &offer) {
  Message *found = findPosted(peer, offer);
  if (!found)
    return false;
  if (!readMemory(peer.process, offer.address, found->data, offer.bytes))
    fail(watch.blame(peer.rank, moved));
  complete(peer, *found);
  Message taken;
  taken.header = offer;
  taken.header.kind = Kind::Taken;
  peer.outgoing.push_back(taken);
  // The sender waits for it, and this rank may ask for nothing more.
  writeTo(peer);
  return true;
}

void TcpWire::endOffer(Peer &peer, const Header &taken) {
  if (taken.transfer >= states.size() || states[taken.transfer].peer != &peer ||
      !states[taken.transfer].isSent)
    fail(watch.blame(peer.rank, moved));
  states[taken.transfer].isDone = true;
  --peer.offered;
  moved = RankWatch::Clock::now();
}

void TcpWire::readFrom(Peer &peer) {
  for (size_t i = 0; i < peer.early.size();)
    if (take(peer, peer.early[i]))
      peer.early.erase(peer.early.begin() + static_cast<int64_t>(i));
    else
      ++i;
  while (!peer.posted.empty() || peer.offered > 0) {
    if (!readHeader(peer))
      return;
    switch (peer.header.kind) {
    case Kind::Data:
      if (!readData(peer))
        return;
      break;
    case Kind::Offer:
      if (!take(peer, peer.header))
        peer.early.push_back(peer.header);
      break;
    case Kind::Taken:
      endOffer(peer, peer.header);
      break;
    }
    peer.headerBytes = 0;
  }
}

void TcpWire::writeTo(Peer &peer) {
  while (!peer.outgoing.empty()) {
    Message &message = peer.outgoing.front();
    size_t total = message.header.getLength();
    while (message.moved < total) {
      size_t count = total - message.moved;
      Flow flow;
      if (message.moved < sizeof(Header))
        flow = peer.socket.write(
            reinterpret_cast<const char *>(&message.header) + message.moved,
            sizeof(Header) - message.moved, message.data,
            total - sizeof(Header), count);
      else
        flow = peer.socket.write(message.data + message.moved - sizeof(Header),
                                 count);
      if (flow == Flow::Closed)
        fail(watch.blame(peer.rank, moved));
      if (flow == Flow::Blocked)
        return;
      message.moved += count;
      moved = RankWatch::Clock::now();
    }
    if (message.header.kind == Kind::Data)
      states[static_cast<size_t>(message.transfer)].isDone = true;
    peer.outgoing.pop_front();
  }
}

void TcpWire::checkOthers() {
  constexpr auto interval = std::chrono::milliseconds(2);
  RankWatch::Clock::time_point now = RankWatch::Clock::now();
  if (now - watched < interval)
    return;
  watched = now;
  for (auto &[rank, peer] : peers)
    writeTo(peer);
  watch.advance(moved);
  if (watch.getLost() >= 0)
    fail(watch.getLost());
}

bool TcpWire::test(Transfer transfer) {
  if (!problem.empty())
    throw std::runtime_error(problem);
  State &state = states[static_cast<size_t>(transfer)];
  if (!state.isDone) {
    // Both: an offer ends with an answer, and answers may have been held up.
    writeTo(*state.peer);
    readFrom(*state.peer);
  }
  if (!state.isDone) {
    checkOthers();
    return false;
  }
  idle.push_back(transfer);
  return true;
}

void TcpWire::finish() {
  // Others wait for answers to their offers. Those that have ended do not.
  RankWatch::Clock::time_point until = RankWatch::Clock::now() + limit;
  for (auto &[rank, peer] : peers)
    try {
      for (writeTo(peer);
           !peer.outgoing.empty() && RankWatch::Clock::now() < until;
           writeTo(peer))
        std::this_thread::sleep_for(std::chrono::microseconds(100));
    } catch (const std::runtime_error &) {
    }
  watch.finish();
}
