// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A wire between threads of a test. When a message moves is drawn: operations
// must not depend on it.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_TEST_RUNTIME_COMM_LOCALWIRE_H
#define INGOT_TEST_RUNTIME_COMM_LOCALWIRE_H

#include "runtime/comm/Wire.h"

#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <stdexcept>
#include <tuple>
#include <vector>

namespace ingot::runtime {

/// The messages on the way, by sender, receiver and tag.
struct LocalNetwork {
  std::mutex mutex;
  std::map<std::tuple<int64_t, int64_t, int32_t>, std::deque<std::vector<char>>>
      messages;
};

class LocalWire : public Wire {
public:
  LocalWire(int64_t rank, int64_t size, std::shared_ptr<LocalNetwork> network)
      : Wire(rank, size), network(std::move(network)),
        draw(static_cast<unsigned>(rank)) {}

  std::string describe() const override { return "threads"; }

  Transfer send(int64_t to, int32_t tag, const void *data,
                int64_t bytes) override {
    return start({getRank(), to, tag, static_cast<const char *>(data), nullptr,
                  static_cast<size_t>(bytes)});
  }
  Transfer receive(int64_t from, int32_t tag, void *data,
                   int64_t bytes) override {
    return start({from, getRank(), tag, nullptr, static_cast<char *>(data),
                  static_cast<size_t>(bytes)});
  }
  bool test(Transfer transfer) override {
    if (draw() % 2)
      return false;
    // Messages of a tag keep their order.
    const Message &message = transfers.at(transfer);
    for (auto &[other, before] : transfers)
      if (other < transfer && before.getKey() == message.getKey())
        return false;
    std::lock_guard lock(network->mutex);
    auto &queue = network->messages[message.getKey()];
    if (message.sender == getRank()) {
      queue.emplace_back(message.source, message.source + message.bytes);
    } else {
      if (queue.empty())
        return false;
      if (queue.front().size() != message.bytes)
        throw std::runtime_error("a message of another size");
      if (message.bytes)
        std::memcpy(message.to, queue.front().data(), message.bytes);
      queue.pop_front();
    }
    transfers.erase(transfer);
    return true;
  }

private:
  struct Message {
    int64_t sender, receiver;
    int32_t tag;
    const char *source;
    char *to;
    size_t bytes;
    std::tuple<int64_t, int64_t, int32_t> getKey() const {
      return {sender, receiver, tag};
    }
  };

  Transfer start(const Message &message) {
    transfers[last] = message;
    return last++;
  }

  std::shared_ptr<LocalNetwork> network;
  std::mt19937 draw;
  std::map<Transfer, Message> transfers;
  Transfer last = 0;
};

} // namespace ingot::runtime

#endif // INGOT_TEST_RUNTIME_COMM_LOCALWIRE_H
