// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Tests of what every transport has to hold to: over a wire between threads,
// over TCP between threads, and over what connects this process with others
// (mpirun -n N), in all of which it runs at the same time.
//
//===----------------------------------------------------------------------===//

#include "runtime/abi/Shard.h"
#include "runtime/comm/WireCollectives.h"
#include "runtime/comm/launch/ConnectRanks.h"
#include "runtime/comm/tcp/TcpWire.h"
#include "runtime/core/Error.h"
#include "test/runtime/comm/LocalWire.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <numeric>
#include <ostream>
#include <thread>
#include <vector>

using namespace ingot::runtime;

namespace {

//===----------------------------------------------------------------------===//
// Ranks
//===----------------------------------------------------------------------===//

/// The transport of this process: MPI starts once.
std::unique_ptr<Collectives> launched;

/// TCP with and without reading the memory of other ranks.
enum class Kind { Launched, Threads, Tcp, Sockets };

struct Setting {
  Kind kind;
  /// 0 for as many as were launched.
  int64_t size;
};

void PrintTo(const Setting &setting, std::ostream *out) {
  *out << setting.size << " ranks";
}

/// Calls `body` with the collectives of each rank, in a thread of its own.
void onRanks(const std::function<std::unique_ptr<Wire>(int64_t)> &connect,
             int64_t size, const std::function<void(Collectives &)> &body) {
  std::vector<std::thread> threads;
  for (int64_t rank = 0; rank < size; ++rank)
    threads.emplace_back([&, rank] {
      try {
        WireCollectives ranks(connect(rank));
        body(ranks);
        ranks.finish();
      } catch (const std::exception &error) {
        ADD_FAILURE() << "rank " << rank << ": " << error.what();
      }
    });
  for (std::thread &thread : threads)
    thread.join();
}

void onThreads(int64_t size, const std::function<void(Collectives &)> &body) {
  auto network = std::make_shared<LocalNetwork>();
  onRanks(
      [&](int64_t rank) {
        return std::make_unique<LocalWire>(rank, size, network);
      },
      size, body);
}

void onTcp(int64_t size, bool readsMemory,
           const std::function<void(Collectives &)> &body) {
  int error = 0;
  uint16_t port = Socket::listen(0, error).getOwn().getPort();
  onRanks(
      [&](int64_t rank) {
        std::chrono::seconds limit(60);
        return std::make_unique<TcpWire>(
            meetByTcp({rank, size, "localhost", port, "", limit,
                       [](const std::string &) {}, readsMemory}),
            limit);
      },
      size, body);
}

struct Transports : testing::TestWithParam<Setting> {
  static void onAll(const std::function<void(Collectives &)> &body) {
    switch (GetParam().kind) {
    case Kind::Launched:
      return body(*launched);
    case Kind::Threads:
      return onThreads(GetParam().size, body);
    case Kind::Tcp:
    case Kind::Sockets:
      return onTcp(GetParam().size, GetParam().kind == Kind::Tcp, body);
    }
  }
};

//===----------------------------------------------------------------------===//
// Data
//===----------------------------------------------------------------------===//

void complete(std::unique_ptr<Pending> operation) {
  while (!operation->test())
    std::this_thread::yield();
}

/// Writes numbers as elements of a type.
template <typename Draw>
std::vector<char> write(int64_t count, DType type, Draw drawElement) {
  std::vector<double> values(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i)
    values[i] = drawElement(i);
  std::vector<char> data(count * ingot::runtime::getSize(type));
  if (isFloat(type)) {
    convert(values.data(), DType::F64, data.data(), type, count);
  } else {
    for (int64_t i = 0; i < count; ++i) {
      auto whole = static_cast<int64_t>(values[i]);
      auto narrow = static_cast<int32_t>(whole);
      if (type == DType::I64)
        std::memcpy(data.data() + i * 8, &whole, sizeof(whole));
      else
        std::memcpy(data.data() + i * 4, &narrow, sizeof(narrow));
    }
  }
  return data;
}

/// A number of its own for each rank and element, exact in every type.
double draw(int64_t rank, int64_t i) {
  return static_cast<double>((rank * 7 + i * 3) % 11 - 5);
}

std::vector<char> fill(int64_t rank, int64_t first, int64_t count, DType type) {
  return write(count, type, [&](int64_t i) { return draw(rank, first + i); });
}

/// The sums over all ranks of what fill() returns.
std::vector<char> fillSums(int64_t size, int64_t first, int64_t count,
                           DType type) {
  return write(count, type, [&](int64_t i) {
    double sum = 0;
    for (int64_t rank = 0; rank < size; ++rank)
      sum += draw(rank, first + i);
    return sum;
  });
}

const DType types[] = {DType::F32, DType::F64, DType::BF16,
                       DType::F16, DType::I64, DType::I32};
/// The last one goes in several chunks on any number of ranks here.
const int64_t lengths[] = {0, 1, 3, 1000, 50021, 700001};

/// Calls `body` for each type and length; the longest in one type.
void forEachBuffer(const std::function<void(int64_t, DType)> &body) {
  for (DType type : types)
    for (int64_t length : lengths)
      if (length < 100000 || type == DType::F32)
        body(length, type);
}

/// Compares elements [begin, end).
void expectEqual(const std::vector<char> &got, const std::vector<char> &want,
                 int64_t begin, int64_t end, DType type) {
  int64_t size = ingot::runtime::getSize(type);
  ASSERT_EQ(got.size(), want.size());
  if (end > begin)
    EXPECT_EQ(std::memcmp(got.data() + begin * size, want.data() + begin * size,
                          (end - begin) * size),
              0)
        << getName(type) << " " << end;
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

TEST_P(Transports, RanksAreNumbered) {
  onAll([](Collectives &ranks) {
    // Over MPI it is the launcher's.
    std::string wire = ranks.describe();
    EXPECT_FALSE(wire.empty());
    if (GetParam().kind == Kind::Launched && std::getenv("PMI_SIZE"))
      EXPECT_TRUE(wire.starts_with("MPI (MPICH Version ")) << wire;
    if (GetParam().kind == Kind::Launched &&
        std::getenv("OMPI_COMM_WORLD_SIZE"))
      EXPECT_TRUE(wire.starts_with("MPI (Open MPI ")) << wire;
    std::vector<int64_t> all(ranks.getSize(), -1);
    int64_t own = ranks.getRank();
    complete(ranks.startAllGather(&own, all.data(), sizeof(own)));
    for (int64_t r = 0; r < ranks.getSize(); ++r)
      EXPECT_EQ(all[r], r);
  });
}

TEST_P(Transports, AllReduce) {
  onAll([](Collectives &ranks) {
    forEachBuffer([&](int64_t length, DType type) {
      std::vector<char> data = fill(ranks.getRank(), 0, length, type);
      complete(ranks.startAllReduce(data.data(), length, type, Reduction::Sum));
      expectEqual(data, fillSums(ranks.getSize(), 0, length, type), 0, length,
                  type);
    });
  });
}

/// NaN is the largest and the smallest of all, as the last rank's first number.
TEST_P(Transports, LargestAndSmallest) {
  onAll([](Collectives &ranks) {
    for (Reduction reduction : {Reduction::Max, Reduction::Min})
      forEachBuffer([&](int64_t length, DType type) {
        bool hasNan = isFloat(type);
        auto get = [&](int64_t rank, int64_t i) {
          return hasNan && i == 0 && rank == ranks.getSize() - 1
                     ? std::numeric_limits<double>::quiet_NaN()
                     : draw(rank, i);
        };
        std::vector<char> data = write(
            length, type, [&](int64_t i) { return get(ranks.getRank(), i); });
        complete(ranks.startAllReduce(data.data(), length, type, reduction));
        std::vector<char> want = write(length, type, [&](int64_t i) {
          double result = get(0, i);
          for (int64_t rank = 1; rank < ranks.getSize(); ++rank) {
            double other = get(rank, i);
            result = std::isnan(result) || std::isnan(other) ? result + other
                     : reduction == Reduction::Max ? std::max(result, other)
                                                   : std::min(result, other);
          }
          return result;
        });
        expectEqual(data, want, 0, length, type);
      });
  });
}

TEST_P(Transports, ReduceScatter) {
  onAll([](Collectives &ranks) {
    forEachBuffer([&](int64_t length, DType type) {
      std::vector<char> data = fill(ranks.getRank(), 0, length, type);
      complete(ranks.startReduceScatter(data.data(), length, type));
      ElementRange own = getShard(length, ranks.getRank(), ranks.getSize());
      expectEqual(data, fillSums(ranks.getSize(), 0, length, type), own.begin,
                  own.end, type);
    });
  });
}

TEST_P(Transports, GatherShards) {
  onAll([](Collectives &ranks) {
    forEachBuffer([&](int64_t length, DType type) {
      std::vector<char> data = fill(ranks.getRank(), 0, length, type);
      complete(ranks.startGatherShards(data.data(), length, type));
      for (int64_t r = 0; r < ranks.getSize(); ++r) {
        ElementRange shard = getShard(length, r, ranks.getSize());
        expectEqual(data, fill(r, 0, length, type), shard.begin, shard.end,
                    type);
      }
    });
  });
}

TEST_P(Transports, AllGather) {
  onAll([](Collectives &ranks) {
    for (int64_t length : lengths) {
      std::vector<char> from = fill(ranks.getRank(), 0, length, DType::F32);
      std::vector<char> to(from.size() * ranks.getSize()), want;
      complete(ranks.startAllGather(from.data(), to.data(),
                                    static_cast<int64_t>(from.size())));
      for (int64_t r = 0; r < ranks.getSize(); ++r) {
        std::vector<char> block = fill(r, 0, length, DType::F32);
        want.insert(want.end(), block.begin(), block.end());
      }
      EXPECT_TRUE(to == want) << length;
    }
  });
}

/// The input stays as it is.
TEST_P(Transports, ReduceParts) {
  onAll([](Collectives &ranks) {
    if (ranks.getSize() == 1)
      return;
    for (Reduction reduction : {Reduction::Sum, Reduction::Max})
      forEachBuffer([&](int64_t length, DType type) {
        int64_t size = ranks.getSize(), own = ranks.getRank() * length;
        std::vector<char> from = fill(ranks.getRank(), 0, length * size, type);
        std::vector<char> to(length * ingot::runtime::getSize(type));
        complete(ranks.startReduceParts(from.data(), to.data(), length, type,
                                        reduction));
        EXPECT_TRUE(from == fill(ranks.getRank(), 0, length * size, type));
        std::vector<char> want = write(length, type, [&](int64_t i) {
          double result = draw(0, own + i);
          for (int64_t rank = 1; rank < size; ++rank)
            result = reduction == Reduction::Sum
                         ? result + draw(rank, own + i)
                         : std::max(result, draw(rank, own + i));
          return result;
        });
        expectEqual(to, want, 0, length, type);
      });
  });
}

TEST_P(Transports, Broadcast) {
  onAll([](Collectives &ranks) {
    for (int64_t root = 0; root < ranks.getSize(); ++root)
      for (int64_t length : lengths) {
        std::vector<char> data = fill(ranks.getRank(), 0, length, DType::F32);
        complete(ranks.startBroadcast(data.data(),
                                      static_cast<int64_t>(data.size()), root));
        EXPECT_TRUE(data == fill(root, 0, length, DType::F32)) << length;
      }
  });
}

/// Started in one order, waited for in another.
TEST_P(Transports, SeveralAtATime) {
  onAll([](Collectives &ranks) {
    constexpr int64_t count = 8, length = 30011;
    int64_t size = ranks.getSize();
    std::vector<std::vector<char>> data;
    std::vector<std::unique_ptr<Pending>> pending;
    for (int64_t k = 0; k < count; ++k)
      data.push_back(fill(ranks.getRank(), k, length, DType::F32));
    for (int64_t k = 0; k < count; ++k) {
      auto bytes = static_cast<int64_t>(data[k].size());
      pending.push_back(
          k % 3 == 2 ? ranks.startBroadcast(data[k].data(), bytes, k % size)
                     : ranks.startAllReduce(data[k].data(), length, DType::F32,
                                            Reduction::Sum));
    }
    for (int64_t k : {5, 0, 7, 2, 1, 6, 3, 4})
      complete(std::move(pending[k]));
    for (int64_t k = 0; k < count; ++k)
      EXPECT_TRUE(data[k] == (k % 3 == 2
                                  ? fill(k % size, k, length, DType::F32)
                                  : fillSums(size, k, length, DType::F32)))
          << k;
  });
}

/// The groups of a rank that are tested: one of two halves of the ranks, and
/// one of those with even or odd numbers.
std::vector<std::vector<int64_t>> findGroups(int64_t rank, int64_t size) {
  std::vector<std::vector<int64_t>> groups(2);
  for (int64_t other = 0; other < size; ++other) {
    if (other * 2 / size == rank * 2 / size)
      groups[0].push_back(other);
    if (other % 2 == rank % 2)
      groups[1].push_back(other);
  }
  return groups;
}

/// Whose ranks are all connected; GroupsTest.cpp has those over TCP.
struct AnyGroups : Transports {};

/// Sums of all ranks and of groups in turn.
TEST_P(AnyGroups, AtATime) {
  onAll([](Collectives &ranks) {
    int64_t size = ranks.getSize(), rank = ranks.getRank();
    std::vector<std::vector<int64_t>> members = findGroups(rank, size);
    members.emplace_back(static_cast<size_t>(size));
    std::iota(members.back().begin(), members.back().end(), 0);
    constexpr int64_t length = 100003;
    std::vector<std::unique_ptr<Collectives>> groups;
    std::vector<std::vector<char>> data(9), want;
    std::vector<std::unique_ptr<Pending>> pending;
    for (size_t i : {0, 1}) {
      groups.push_back(members[i].size() == 1
                           ? makeSelfCollectives()
                           : ranks.makeGroup(members[i], i ? 31 : 1));
    }
    for (int64_t k = 0; k < 9; ++k) {
      data[k] = fill(rank, k, length, DType::F32);
      Collectives &group = k % 3 == 2 ? ranks : *groups[k % 3];
      pending.push_back(group.startAllReduce(data[k].data(), length, DType::F32,
                                             Reduction::Sum));
      want.push_back(write(length, DType::F32, [&](int64_t i) {
        double sum = 0;
        for (int64_t other : members[k % 3])
          sum += draw(other, k + i);
        return sum;
      }));
    }
    // Operations progress only when they are tested: all of them.
    for (bool isOver = false; !isOver;) {
      isOver = true;
      for (int64_t k : {5, 0, 7, 2, 8, 1, 6, 3, 4})
        if (pending[k] && pending[k]->test())
          pending[k] = nullptr;
        else if (pending[k])
          isOver = false;
    }
    EXPECT_TRUE(data == want);
  });
}

TEST_P(AnyGroups, AllToAll) {
  onAll([](Collectives &ranks) {
    int64_t size = ranks.getSize(), rank = ranks.getRank();
    if (size == 1)
      return;
    for (int64_t length : lengths) {
      std::vector<char> from = fill(rank, 0, length * size, DType::F32);
      std::vector<char> to(from.size()), want;
      complete(ranks.startAllToAll(from.data(), to.data(), length * 4));
      for (int64_t r = 0; r < size; ++r) {
        std::vector<char> block = fill(r, rank * length, length, DType::F32);
        want.insert(want.end(), block.begin(), block.end());
      }
      EXPECT_TRUE(to == want) << length;
    }
  });
}

/// A wire that counts the bytes that a rank sends.
class CountingWire : public LocalWire {
public:
  CountingWire(int64_t rank, int64_t size,
               std::shared_ptr<LocalNetwork> network, int64_t &sent)
      : LocalWire(rank, size, std::move(network)), sent(sent) {}
  Transfer send(int64_t to, int32_t tag, const void *data,
                int64_t bytes) override {
    sent += bytes;
    return LocalWire::send(to, tag, data, bytes);
  }

private:
  int64_t &sent;
};

/// A rank sends each of the others its part, and no more.
TEST(BytesSent, AreThoseOfTheOtherRanks) {
  for (int64_t size : {2, 3, 4})
    for (int64_t length : {7, 300007})
      for (bool sums : {true, false}) {
        std::vector<int64_t> sent(static_cast<size_t>(size), 0);
        auto network = std::make_shared<LocalNetwork>();
        onRanks(
            [&](int64_t rank) {
              return std::make_unique<CountingWire>(rank, size, network,
                                                    sent[rank]);
            },
            size,
            [&](Collectives &ranks) {
              std::vector<float> from(length * size), to(length * size);
              complete(sums ? ranks.startReduceParts(from.data(), to.data(),
                                                     length, DType::F32,
                                                     Reduction::Sum)
                            : ranks.startAllToAll(from.data(), to.data(),
                                                  length * 4));
            });
        EXPECT_EQ(sent, std::vector<int64_t>(static_cast<size_t>(size),
                                             (size - 1) * length * 4));
      }
}

//===----------------------------------------------------------------------===//
// Bits
//===----------------------------------------------------------------------===//

/// Fractions, whose sums depend on the order of additions.
std::vector<char> fillFractions(int64_t rank, int64_t count, DType type) {
  return write(count, type, [&](int64_t i) {
    return 1.0 / static_cast<double>(3 + rank * 977 + i % 10007);
  });
}

/// All sums of a rank, one after the other: small ones and large ones.
std::vector<char> sumFractions(Collectives &ranks) {
  std::vector<char> all;
  for (DType type : {DType::F32, DType::F64, DType::BF16, DType::F16})
    for (int64_t length : {1, 1000, 100003}) {
      std::vector<char> data = fillFractions(ranks.getRank(), length, type);
      complete(ranks.startAllReduce(data.data(), length, type, Reduction::Sum));
      all.insert(all.end(), data.begin(), data.end());
      data = fillFractions(ranks.getRank(), length, type);
      complete(ranks.startReduceScatter(data.data(), length, type));
      ElementRange own = getShard(length, ranks.getRank(), ranks.getSize());
      int64_t size = ingot::runtime::getSize(type);
      // The other shards have no meaning: rank 0's is everybody's.
      std::vector<char> first(getShard(length, 0, ranks.getSize()).end * size);
      if (ranks.getRank() == 0)
        std::memcpy(first.data(), data.data(), own.end * size);
      complete(ranks.startBroadcast(first.data(),
                                    static_cast<int64_t>(first.size()), 0));
      all.insert(all.end(), first.begin(), first.end());
    }
  return all;
}

TEST_P(Transports, SameBitsOnEveryRankEveryTimeAndEveryWire) {
  onAll([](Collectives &ranks) {
    std::vector<char> sums = sumFractions(ranks), others;
    EXPECT_TRUE(sums == sumFractions(ranks)) << "from time to time";
    std::vector<char> first = sums;
    complete(ranks.startBroadcast(first.data(),
                                  static_cast<int64_t>(first.size()), 0));
    EXPECT_TRUE(sums == first) << "from rank to rank";
    if (ranks.getRank() != 0)
      return;
    onThreads(ranks.getSize(), [&](Collectives &threads) {
      std::vector<char> got = sumFractions(threads);
      if (threads.getRank() == 0)
        others = std::move(got);
    });
    EXPECT_TRUE(sums == others) << "from wire to wire";
  });
}

/// The sum of a shard begins at the rank after its owner; that of small data
/// goes up the tree.
TEST(CollectivesOrder, IsThatOfTheRing) {
  constexpr int64_t size = 3, length = 100003;
  onThreads(size, [&](Collectives &ranks) {
    std::vector<float> data(length);
    auto get = [](int64_t rank, int64_t i) {
      return 1.0f / static_cast<float>(3 + rank * 977 + i);
    };
    for (int64_t i = 0; i < length; ++i)
      data[i] = get(ranks.getRank(), i);
    complete(
        ranks.startAllReduce(data.data(), length, DType::F32, Reduction::Sum));
    for (int64_t of = 0; of < size; ++of) {
      ElementRange shard = getShard(length, of, size);
      for (int64_t i = shard.begin; i < shard.end; ++i)
        ASSERT_EQ(data[i], get((of + 1) % size, i) + get((of + 2) % size, i) +
                               get(of, i));
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Launched, Transports,
                         testing::Values(Setting{Kind::Launched, 0}));
INSTANTIATE_TEST_SUITE_P(Launched, AnyGroups,
                         testing::Values(Setting{Kind::Launched, 0}));
INSTANTIATE_TEST_SUITE_P(Threads, AnyGroups,
                         testing::Values(Setting{Kind::Threads, 2},
                                         Setting{Kind::Threads, 3},
                                         Setting{Kind::Threads, 5}));
INSTANTIATE_TEST_SUITE_P(Threads, Transports,
                         testing::Values(Setting{Kind::Threads, 2},
                                         Setting{Kind::Threads, 3},
                                         Setting{Kind::Threads, 4},
                                         Setting{Kind::Threads, 5}));
INSTANTIATE_TEST_SUITE_P(Tcp, Transports,
                         testing::Values(Setting{Kind::Tcp, 2},
                                         Setting{Kind::Tcp, 3},
                                         Setting{Kind::Tcp, 4},
                                         Setting{Kind::Tcp, 5}));
INSTANTIATE_TEST_SUITE_P(Sockets, Transports,
                         testing::Values(Setting{Kind::Sockets, 2},
                                         Setting{Kind::Sockets, 3},
                                         Setting{Kind::Sockets, 4},
                                         Setting{Kind::Sockets, 5}));

} // namespace

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  try {
    std::optional<Launch> launch = findLaunch();
    StartSettings settings{std::chrono::seconds(60), [](const std::string &) {},
                           [](const Error &) { std::abort(); }};
    launched = launch ? std::unique_ptr<Collectives>(
                            ingot_connect_ranks(*launch, settings))
                      : makeSelfCollectives();
  } catch (const Error &error) {
    std::fprintf(stderr, "%s", error.format().c_str());
    return 1;
  }
  int status = RUN_ALL_TESTS();
  launched->finish();
  return status;
}
