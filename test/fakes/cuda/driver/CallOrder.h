// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The ordering checker of the fake driver. Streams run concurrently with each
// other and with the host, except where events and waits order them. Finds
// accesses to the same memory that nothing orders, where a GPU would only
// sometimes go wrong.
//
// The GPU is as slow as possible: what the host has not waited for is not done.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_TEST_FAKES_CUDA_DRIVER_CALLORDER_H
#define INGOT_TEST_FAKES_CUDA_DRIVER_CALLORDER_H

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

namespace fakes {

/// A point in time: of each stream, how many operations are done by then.
class Moment {
public:
  void include(const Moment &other) {
    for (auto [stream, count] : other.counts)
      include(stream, count);
  }
  void include(int stream, uint64_t count) {
    uint64_t &known = counts[stream];
    known = std::max(known, count);
  }
  bool includes(int stream, uint64_t count) const {
    auto found = counts.find(stream);
    return found != counts.end() && found->second >= count;
  }
  bool includes(const Moment &other) const {
    return std::all_of(
        other.counts.begin(), other.counts.end(),
        [&](auto &entry) { return includes(entry.first, entry.second); });
  }

private:
  std::map<int, uint64_t> counts;
};

struct Region {
  uintptr_t begin = 0;
  size_t bytes = 0;
  bool isWritten = false;
  /// Memory that the host reads or writes, too, without telling anyone.
  bool isHost = false;

  bool operator==(const Region &) const = default;
  bool overlaps(const Region &other) const {
    return begin < other.begin + other.bytes && other.begin < begin + bytes;
  }
};

class Order {
public:
  /// Puts an operation into a stream. False if it could run at the same time as
  /// another one that it must not meet.
  bool put(int stream, const std::vector<Region> &regions) {
    Moment &before = streams[stream];
    before.include(host);
    uint64_t number = ++counts[stream];
    bool isOrdered = true;
    for (const Region &region : regions)
      for (const Access &other : accesses) {
        if (!region.overlaps(other.region))
          continue;
        if (region.isHost)
          isOrdered &= host.includes(other.stream, other.number);
        else if (region.isWritten || other.region.isWritten)
          isOrdered &= before.includes(other.stream, other.number);
      }
    before.include(stream, number);
    // What the host knows to be done meets nothing any more, and what meets an
    // operation meets the stream's later one as well.
    std::erase_if(accesses, [&](const Access &access) {
      return host.includes(access.stream, access.number) ||
             (access.stream == stream &&
              std::find(regions.begin(), regions.end(), access.region) !=
                  regions.end());
    });
    for (const Region &region : regions)
      accesses.push_back({region, stream, number});
    return isOrdered;
  }

  /// After all that the stream has by now.
  Moment getMoment(int stream) const {
    auto found = streams.find(stream);
    return found == streams.end() ? Moment() : found->second;
  }
  /// Orders everything that the stream gets from now on after the moment.
  void holdBack(int stream, const Moment &moment) {
    streams[stream].include(moment);
  }
  void waitFor(const Moment &moment) { host.include(moment); }
  bool isPast(const Moment &moment) const { return host.includes(moment); }
  /// Whether all operations on the memory are done.
  bool isIdle(const Region &region) const {
    return std::none_of(accesses.begin(), accesses.end(),
                        [&](const Access &access) {
                          return region.overlaps(access.region) &&
                                 !host.includes(access.stream, access.number);
                        });
  }

private:
  struct Access {
    Region region;
    int stream;
    uint64_t number;
  };
  std::map<int, Moment> streams;
  std::map<int, uint64_t> counts;
  Moment host;
  std::vector<Access> accesses;
};

} // namespace fakes

#endif // INGOT_TEST_FAKES_CUDA_DRIVER_CALLORDER_H
