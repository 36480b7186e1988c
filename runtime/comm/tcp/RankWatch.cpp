// SPDX-License-Identifier: Apache-2.0

#include "runtime/comm/tcp/RankWatch.h"

#include <algorithm>
#include <poll.h>

using namespace ingot::runtime;

RankWatch::RankWatch(int64_t rank, std::vector<Socket> sockets,
                     std::chrono::seconds limit)
    : rank(rank),
      interval(std::clamp<Clock::duration>(Clock::duration(limit) / 8,
                                           std::chrono::milliseconds(50),
                                           std::chrono::seconds(5))) {
  for (size_t i = 0; i < sockets.size(); ++i)
    if (sockets[i]) {
      Link &link = links.emplace_back();
      link.socket = std::move(sockets[i]);
      link.rank = static_cast<int64_t>(i);
    }
}

/// Words are so short that they are written whole, unless the other end has
/// read nothing for long.
void RankWatch::send(Link &link, Kind kind, int64_t about) {
  Word word{kind, static_cast<uint32_t>(about)};
  size_t count = sizeof(word);
  if (!link.hasLeft)
    (void)link.socket.write(&word, count);
}

void RankWatch::sendAll(Kind kind, int64_t about) {
  for (Link &link : links)
    send(link, kind, about);
}

void RankWatch::lose(int64_t which) {
  if (lost >= 0)
    return;
  lost = which;
  sendAll(Kind::Lost, which);
}

void RankWatch::hear(Link &link, const Word &word) {
  switch (word.kind) {
  case Kind::Lost:
    return lose(static_cast<int32_t>(word.rank));
  case Kind::Ask:
    asked = Clock::now();
    return send(link, Kind::Answer, rank);
  case Kind::Answer:
    link.hasAnswered = true;
    return;
  case Kind::Late:
    late = static_cast<int32_t>(word.rank);
    judged = Clock::now();
    return;
  case Kind::Bye:
    link.hasLeft = true;
    return;
  }
}

void RankWatch::read(Link &link) {
  while (!link.hasLeft) {
    size_t count = sizeof(link.word) - link.bytes;
    Flow flow = link.socket.read(
        reinterpret_cast<char *>(&link.word) + link.bytes, count);
    if (flow == Flow::Blocked)
      return;
    if (flow == Flow::Closed) {
      link.hasLeft = true;
      return lose(link.rank);
    }
    link.bytes += count;
    if (link.bytes < sizeof(link.word))
      continue;
    link.bytes = 0;
    hear(link, link.word);
  }
}

void RankWatch::ask(Clock::time_point now) {
  // Answers to a question from before the last progress say nothing.
  if (asked != Clock::time_point()) {
    auto silent =
        std::find_if(links.begin(), links.end(), [](const Link &link) {
          return !link.hasAnswered && !link.hasLeft;
        });
    late = silent == links.end() ? -1 : silent->rank;
    judged = now;
    sendAll(Kind::Late, late);
  }
  asked = now;
  for (Link &link : links) {
    link.hasAnswered = false;
    send(link, Kind::Ask, 0);
  }
}

void RankWatch::advance(Clock::time_point still) {
  for (Link &link : links)
    read(link);
  if (!isHub())
    return;
  Clock::time_point now = Clock::now();
  if (asked < still)
    asked = Clock::time_point();
  if (now - std::max(still, asked) > interval)
    ask(now);
}

bool RankWatch::isHubSilent(Clock::time_point still) const {
  return !isHub() && Clock::now() - std::max(asked, still) > 3 * interval;
}

int64_t RankWatch::blame(int64_t which, Clock::time_point still) {
  using namespace std::chrono_literals;
  // What the lost rank itself said last comes first.
  Clock::time_point until = Clock::now() + (isHub() ? 100ms : 1000ms);
  // Others have given up waiting for rank 0, which says nothing.
  if (isHubSilent(still)) {
    which = 0;
    until = Clock::now();
  }
  for (Link &link : links) {
    read(link);
    if (!isHub())
      send(link, Kind::Lost, which);
  }
  std::vector<pollfd> sockets;
  while (lost < 0 && Clock::now() < until) {
    sockets.clear();
    for (Link &link : links)
      if (!link.hasLeft)
        sockets.push_back({link.socket.get(), POLLIN, 0});
    (void)::poll(sockets.data(), sockets.size(), 10);
    for (Link &link : links)
      read(link);
  }
  lose(which);
  return lost;
}

int64_t RankWatch::giveUp() {
  for (Link &link : links)
    read(link);
  if (lost >= 0)
    return lost;
  Clock::time_point now = Clock::now();
  if (!isHub() && now - asked > 3 * interval)
    late = 0;
  else if (now - judged > 3 * interval)
    late = -1;
  if (late >= 0)
    lose(late);
  return late;
}

void RankWatch::finish() { sendAll(Kind::Bye, rank); }
