// SPDX-License-Identifier: Apache-2.0

#include "runtime/comm/tcp/TcpWire.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

using namespace ingot::runtime;

TcpWire::TcpWire(Connections connections, std::chrono::seconds limit)
    : Wire(connections.rank, connections.size),
      watch(connections.rank, std::move(connections.links), limit),
      moved(RankWatch::Clock::now()), watched(moved) {
  for (auto &[rank, socket] : connections.neighbors) {
    Peer &peer = peers[rank];
    peer.rank = rank;
    peer.socket = std::move(socket);
  }
}

TcpWire::Peer &TcpWire::getPeer(int64_t rank) {
  if (!problem.empty())
    throw std::runtime_error(problem);
  return peers.at(rank);
}

Wire::Transfer TcpWire::start(std::deque<Message> &queue, Peer &peer,
                              bool isSent, int32_t tag, const void *data,
                              int64_t bytes) {
  if (idle.empty()) {
    idle.push_back(static_cast<Transfer>(states.size()));
    states.emplace_back();
  }
  Message message;
  message.header = {static_cast<uint32_t>(tag), static_cast<uint32_t>(bytes)};
  message.data = const_cast<char *>(static_cast<const char *>(data));
  message.transfer = idle.back();
  idle.pop_back();
  states[static_cast<size_t>(message.transfer)] = {&peer, isSent, false};
  queue.push_back(message);
  return message.transfer;
}

Wire::Transfer TcpWire::send(int64_t to, int32_t tag, const void *data,
                             int64_t bytes) {
  Peer &peer = getPeer(to);
  // The time in which nothing was asked for is no silence.
  moved = RankWatch::Clock::now();
  return start(peer.outgoing, peer, /*isSent=*/true, tag, data, bytes);
}

Wire::Transfer TcpWire::receive(int64_t from, int32_t tag, void *data,
                                int64_t bytes) {
  Peer &peer = getPeer(from);
  moved = RankWatch::Clock::now();
  return start(peer.posted, peer, /*isSent=*/false, tag, data, bytes);
}

void TcpWire::fail(int64_t lost) {
  problem =
      lost == getRank()
          ? "the other ranks have given up waiting for this one"
          : "rank " + std::to_string(lost) +
                " is lost: it has ended, is stopped, or cannot be reached";
  throw std::runtime_error(problem);
}

void TcpWire::readFrom(Peer &peer) {
  while (!peer.posted.empty()) {
    if (peer.headerBytes < sizeof(Header)) {
      size_t count = sizeof(Header) - peer.headerBytes;
      Flow flow = peer.socket.read(
          reinterpret_cast<char *>(&peer.header) + peer.headerBytes, count);
      if (flow == Flow::Closed)
        fail(watch.blame(peer.rank, moved));
      if (flow == Flow::Blocked)
        return;
      peer.headerBytes += count;
      continue;
    }
    auto found = std::find_if(peer.posted.begin(), peer.posted.end(),
                              [&](const Message &message) {
                                return message.header.tag == peer.header.tag;
                              });
    // Its operation has not been started here yet.
    if (found == peer.posted.end())
      return;
    if (found->header.bytes != peer.header.bytes) {
      problem = "rank " + std::to_string(peer.rank) + " sends " +
                std::to_string(peer.header.bytes) + " bytes, not " +
                std::to_string(found->header.bytes) +
                ": it is at another point of the run";
      throw std::runtime_error(problem);
    }
    while (found->moved < found->header.bytes) {
      size_t count = found->header.bytes - found->moved;
      Flow flow = peer.socket.read(found->data + found->moved, count);
      if (flow == Flow::Closed)
        fail(watch.blame(peer.rank, moved));
      if (flow == Flow::Blocked)
        return;
      found->moved += count;
      moved = RankWatch::Clock::now();
    }
    states[static_cast<size_t>(found->transfer)].isDone = true;
    peer.posted.erase(found);
    peer.headerBytes = 0;
  }
}

void TcpWire::writeTo(Peer &peer) {
  while (!peer.outgoing.empty()) {
    Message &message = peer.outgoing.front();
    size_t total = sizeof(Header) + message.header.bytes;
    while (message.moved < total) {
      size_t count = total - message.moved;
      Flow flow;
      if (message.moved < sizeof(Header))
        flow = peer.socket.write(
            reinterpret_cast<const char *>(&message.header) + message.moved,
            sizeof(Header) - message.moved, message.data, message.header.bytes,
            count);
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
  watch.advance(moved);
  if (watch.getLost() >= 0)
    fail(watch.getLost());
}

bool TcpWire::test(Transfer transfer) {
  if (!problem.empty())
    throw std::runtime_error(problem);
  State &state = states[static_cast<size_t>(transfer)];
  if (!state.isDone)
    state.isSent ? writeTo(*state.peer) : readFrom(*state.peer);
  if (!state.isDone) {
    checkOthers();
    return false;
  }
  idle.push_back(transfer);
  return true;
}
