// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The wire between some of the ranks of another wire, which they share with
// others. Its messages have tags of their own.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_COMM_GROUPWIRE_H
#define INGOT_RUNTIME_COMM_GROUPWIRE_H

#include "runtime/comm/Wire.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

namespace ingot::runtime {

class GroupWire : public Wire {
public:
  /// `members` are ranks of `all`, its own among them, and the tags from
  /// `firstTag` belong to them.
  GroupWire(std::shared_ptr<Wire> all, std::vector<int64_t> members,
            int32_t firstTag)
      : Wire(std::find(members.begin(), members.end(), all->getRank()) -
                 members.begin(),
             static_cast<int64_t>(members.size())),
        all(std::move(all)), members(std::move(members)), firstTag(firstTag) {}

  std::string describe() const override { return all->describe(); }
  int64_t getNumber(int64_t rank) const override { return members[rank]; }

  Transfer send(int64_t to, int32_t tag, const void *data,
                int64_t bytes) override {
    return all->send(members[to], firstTag + tag, data, bytes);
  }
  Transfer receive(int64_t from, int32_t tag, void *data,
                   int64_t bytes) override {
    return all->receive(members[from], firstTag + tag, data, bytes);
  }
  bool test(Transfer transfer) override { return all->test(transfer); }
  int64_t giveUp() override { return all->giveUp(); }

private:
  std::shared_ptr<Wire> all;
  std::vector<int64_t> members;
  int32_t firstTag;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_COMM_GROUPWIRE_H
