// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Groups of ranks along the axes of a mesh: who is in them, and their
// collectives, all under way at a time, between threads and over TCP.
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/Communicator.h"
#include "runtime/comm/WireCollectives.h"
#include "runtime/comm/tcp/TcpWire.h"
#include "runtime/core/Error.h"
#include "test/runtime/comm/LocalWire.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <thread>
#include <utility>

using namespace ingot::runtime;

namespace {

constexpr int32_t kAll =
    INGOT_PIPELINE | INGOT_DATA | INGOT_INNER | INGOT_CONTEXT | INGOT_TENSOR;

/// Calls `body` for all meshes of up to 8 ranks.
void forEachMesh(const std::function<void(const RankMesh &, int64_t)> &body) {
  for (int64_t ranks = 1; ranks <= 8; ++ranks)
    for (int64_t pipeline = 1; pipeline <= ranks; ++pipeline)
      for (int64_t inner = 1; inner <= ranks; ++inner)
        for (int64_t context = 1; context <= ranks; ++context)
          for (int64_t tensor = 1; tensor <= ranks; ++tensor)
            if (ranks % (pipeline * inner * context * tensor) == 0)
              body(RankMesh({pipeline, 0, inner, context, tensor}, ranks),
                   ranks);
}

TEST(RankMesh, GroupsAreClassesInTheOrderOfCoordinates) {
  int meshes = 0;
  forEachMesh([&](const RankMesh &mesh, int64_t ranks) {
    ++meshes;
    EXPECT_EQ(mesh.getGroup(0, kAll).size(), static_cast<size_t>(ranks));
    for (int32_t axes = 0; axes <= kAll; ++axes)
      for (int64_t rank = 0; rank < ranks; ++rank) {
        std::vector<int64_t> group = mesh.getGroup(rank, axes);
        EXPECT_TRUE(std::is_sorted(group.begin(), group.end()));
        EXPECT_TRUE(std::count(group.begin(), group.end(), rank) == 1);
        RankMesh::Sizes own = mesh.getCoordinates(rank);
        for (int64_t other = 0; other < ranks; ++other) {
          RankMesh::Sizes at = mesh.getCoordinates(other);
          bool isMember = true;
          for (size_t axis = 0; axis < RankMesh::kAxes; ++axis)
            isMember &= (axes >> axis & 1) != 0 || at[axis] == own[axis];
          EXPECT_EQ(std::count(group.begin(), group.end(), other), isMember);
        }
      }
  });
  EXPECT_EQ(meshes, 96);
}

TEST(RankMesh, SaysHowManyRanksFit) {
  try {
    RankMesh({1, 0, 1, 2, 2}, 6);
    FAIL();
  } catch (const Error &error) {
    EXPECT_EQ(error.getWhat(),
              "6 cannot be divided into groups of 4, which the trainer was "
              "compiled for");
  }
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

using Connect = std::function<std::unique_ptr<Wire>(int64_t rank)>;

/// Ends the run on ranks where `body` returns true.
void onRanks(const RankMesh &mesh, int64_t size, const Connect &connect,
             const std::function<bool(Communicator &)> &body) {
  std::vector<std::thread> threads;
  for (int64_t rank = 0; rank < size; ++rank)
    threads.emplace_back([&, rank] {
      try {
        Communicator ranks(std::make_unique<WireCollectives>(connect(rank)));
        ranks.setMesh(mesh);
        if (body(ranks))
          ranks.finish();
      } catch (const std::exception &error) {
        ADD_FAILURE() << "rank " << rank << ": " << error.what();
      }
    });
  for (std::thread &thread : threads)
    thread.join();
}

/// Sums and gathers over every group at once, small and in chunks, and waits
/// for them in an order of the rank's own.
bool exchangeAll(Communicator &ranks) {
  const RankMesh &mesh = ranks.getMesh();
  int64_t rank = ranks.getRank();
  struct Exchange {
    Communicator *group;
    std::vector<int64_t> members;
    std::vector<float> sums, all;
    std::vector<Communicator::Ticket> tickets;
  };
  std::vector<Exchange> exchanges;
  for (int round = 0; round < 3; ++round)
    for (int32_t axes = 0; axes <= kAll; ++axes)
      if ((axes & ~mesh.getAxes()) == 0) {
        Exchange &next = exchanges.emplace_back();
        next.group = &ranks.getGroup(axes);
        next.members = mesh.getGroup(rank, axes);
      }
  std::vector<std::vector<float>> own;
  for (size_t i = 0; i < exchanges.size(); ++i) {
    size_t length = i % 3 == 0 ? 70001 : i % 3 + 1;
    auto number = static_cast<float>(rank + 1);
    exchanges[i].sums.assign(length, number);
    exchanges[i].all.resize(length * exchanges[i].members.size());
    own.emplace_back(length, number);
  }
  for (size_t i = 0; i < exchanges.size(); ++i) {
    Exchange &next = exchanges[i];
    auto size = static_cast<int64_t>(next.members.size());
    EXPECT_EQ(next.group->getSize(), size);
    EXPECT_EQ(next.members[next.group->getRank()], rank);
    auto length = static_cast<int64_t>(own[i].size());
    next.tickets = {
        next.group->startAllReduce(next.sums.data(), length, DType::F32, "sum"),
        next.group->startAllGather(own[i].data(), next.all.data(), length * 4,
                                   "gather")};
  }
  std::rotate(exchanges.begin(),
              exchanges.begin() + rank % static_cast<int64_t>(exchanges.size()),
              exchanges.end());
  for (Exchange &next : exchanges) {
    for (Communicator::Ticket ticket : next.tickets)
      next.group->wait(ticket);
    float sum = 0;
    std::vector<float> all;
    size_t length = next.sums.size();
    for (int64_t member : next.members) {
      sum += static_cast<float>(member + 1);
      all.insert(all.end(), length, static_cast<float>(member + 1));
    }
    EXPECT_EQ(next.sums, std::vector<float>(length, sum));
    EXPECT_EQ(next.all, all);
  }
  return true;
}

TEST(Groups, ExchangeAtOnceBetweenThreads) {
  forEachMesh([&](const RankMesh &mesh, int64_t size) {
    if (size < 4)
      return;
    auto network = std::make_shared<LocalNetwork>();
    onRanks(
        mesh, size,
        [&](int64_t rank) {
          return std::make_unique<LocalWire>(rank, size, network);
        },
        exchangeAll);
  });
}

TEST(Groups, ExchangeAtOnceOverTcp) {
  for (RankMesh::Sizes sizes :
       {RankMesh::Sizes{1, 0, 1, 1, 2}, RankMesh::Sizes{1, 0, 1, 2, 2},
        RankMesh::Sizes{2, 0, 2, 1, 2}}) {
    constexpr int64_t size = 8;
    RankMesh mesh(sizes, size);
    int error = 0;
    uint16_t port = Socket::listen(0, error).getOwn().getPort();
    onRanks(
        mesh, size,
        [&](int64_t rank) {
          std::chrono::seconds limit(60);
          return std::make_unique<TcpWire>(
              meetByTcp({rank, size, "localhost", port, "", limit,
                         [](const std::string &) {}, true, mesh}),
              limit);
        },
        exchangeAll);
  }
}

/// Ranks of one sample exchange parts in each group of them, also over TCP,
/// where each rank is connected to some of the others only.
TEST(Groups, ExchangePartsOfASample) {
  constexpr int64_t size = 12, length = 70001;
  RankMesh mesh({1, 0, 1, 2, 3}, size);
  int error = 0;
  uint16_t port = Socket::listen(0, error).getOwn().getPort();
  onRanks(
      mesh, size,
      [&](int64_t rank) {
        std::chrono::seconds limit(60);
        return std::make_unique<TcpWire>(
            meetByTcp({rank, size, "localhost", port, "", limit,
                       [](const std::string &) {}, true, mesh}),
            limit);
      },
      [&](Communicator &ranks) {
        for (int32_t axes : {0 + INGOT_TENSOR, 0 + INGOT_CONTEXT,
                             INGOT_CONTEXT | INGOT_TENSOR}) {
          Communicator &group = ranks.getGroup(axes);
          std::vector<int64_t> members = mesh.getGroup(ranks.getRank(), axes);
          std::vector<float> from, moved, sums(length, 0), want;
          for (int64_t to = 0; to < group.getSize(); ++to)
            from.insert(from.end(), length,
                        static_cast<float>(100 * ranks.getRank() + to));
          moved.resize(from.size());
          float sum = 0;
          for (int64_t member : members) {
            auto value = static_cast<float>(100 * member + group.getRank());
            want.insert(want.end(), length, value);
            sum += value;
          }
          group.wait(group.startAllToAll(from.data(), moved.data(), length * 4,
                                         "moves"));
          EXPECT_TRUE(moved == want);
          group.wait(group.startReduceParts(from.data(), sums.data(), length,
                                            DType::F32, "sums",
                                            Reduction::Sum));
          EXPECT_EQ(sums, std::vector<float>(length, sum));
        }
        return true;
      });
}

/// Operations in a group count, and are named, as those of the rank.
TEST(Groups, HaveTheSettingsOfAllRanks) {
  RankMesh mesh({1, 0, 1, 1, 2}, 4);
  auto network = std::make_shared<LocalNetwork>();
  onRanks(
      mesh, 4,
      [&](int64_t rank) {
        return std::make_unique<LocalWire>(rank, 4, network);
      },
      [](Communicator &ranks) {
        ranks.setStep(7);
        ranks.setLimit(std::chrono::seconds(1));
        Communicator &tensor = ranks.getGroup(INGOT_TENSOR);
        EXPECT_EQ(tensor.getLimit(), std::chrono::seconds(1));
        float number = 1;
        tensor.allReduce(&number, 1, DType::F32, "sum");
        EXPECT_EQ(number, 2);
        EXPECT_EQ(ranks.getUse().bytes, 4);
        EXPECT_EQ(ranks.getEvents().back().step, 7);
        if (ranks.getRank() != 3)
          return true;
        try {
          tensor.allReduce(&number, 1, DType::F32, "sum");
          ADD_FAILURE();
        } catch (const Error &error) {
          EXPECT_EQ(error.getWhere(), "rank 3, step 7");
          EXPECT_EQ(error.getWhat(), "sum over tensor: has not ended for 1 s, "
                                     "it waits for rank 2");
        }
        return false;
      });
}

/// Calls `body` on threads for 4 ranks, along data and tensor.
void onFour(const std::function<void(Communicator &)> &body) {
  auto network = std::make_shared<LocalNetwork>();
  onRanks(
      RankMesh({1, 0, 1, 1, 2}, 4), 4,
      [&](int64_t rank) {
        return std::make_unique<LocalWire>(rank, 4, network);
      },
      [&](Communicator &ranks) {
        body(ranks);
        return true;
      });
}

/// The sum over one axis of what was summed over another, for several tensors
/// that do not wait for each other.
TEST(Groups, BeginAnOperationAfterAnother) {
  onFour([](Communicator &ranks) {
    Communicator &first = ranks.getGroup(INGOT_TENSOR),
                 &second = ranks.getGroup(INGOT_DATA);
    std::vector<std::vector<float>> tensors;
    std::vector<std::pair<Communicator::Ticket, Communicator::Ticket>> tickets;
    for (int i = 0; i < 8; ++i)
      tensors.emplace_back(i % 2 ? 3 : 70001,
                           static_cast<float>(ranks.getRank() + i));
    for (std::vector<float> &tensor : tensors) {
      auto length = static_cast<int64_t>(tensor.size());
      Communicator::Ticket inner =
          first.startAllReduce(tensor.data(), length, DType::F32, "inner");
      tickets.emplace_back(inner, second.startAllReduce(tensor.data(), length,
                                                        DType::F32, "outer",
                                                        Reduction::Sum, inner));
    }
    float other = 1;
    second.allReduce(&other, 1, DType::F32, "behind all");
    EXPECT_EQ(other, 2);
    for (size_t i = 0; i < tensors.size(); ++i) {
      first.wait(tickets[i].first);
      second.wait(tickets[i].second);
      EXPECT_EQ(tensors[i],
                std::vector<float>(tensors[i].size(), 6.0f + 4.0f * float(i)));
    }
  });
}

/// Sums of fractions, which depend on the order of additions.
std::vector<float> sumFractions(Communicator &ranks) {
  std::vector<float> all;
  for (int32_t axes : {kAll, 0 + INGOT_DATA, 0 + INGOT_TENSOR})
    for (int64_t length : {3, 70001}) {
      std::vector<float> data(static_cast<size_t>(length));
      for (int64_t i = 0; i < length; ++i)
        data[i] = 1.0f / static_cast<float>(3 + ranks.getRank() * 977 + i);
      ranks.getGroup(axes).allReduce(data.data(), length, DType::F32, "sum");
      all.insert(all.end(), data.begin(), data.end());
    }
  return all;
}

TEST(Groups, HaveTheSameBitsEveryTime) {
  onFour([](Communicator &ranks) {
    EXPECT_TRUE(sumFractions(ranks) == sumFractions(ranks));
  });
}

TEST(Groups, NameTheRanksOfTheRun) {
  onFour([](Communicator &ranks) {
    // Ranks 2 and 3 are the places 0 and 1.
    Communicator &group = ranks.getGroup(INGOT_TENSOR);
    int64_t first = ranks.getRank() / 2 * 2;
    EXPECT_EQ(group.getWorldRank(1), first + 1);
    int64_t number = ranks.getRank();
    group.broadcast(&number, sizeof(number), 1, "number");
    EXPECT_EQ(number, first + 1);
    EXPECT_EQ(group.agree(ranks.getRank(), "a number"), first + 1);
    std::string wanted = "rank " + std::to_string(first + 1) +
                         ": another option than rank " + std::to_string(first) +
                         "'s";
    for (bool isList : {false, true})
      try {
        if (isList)
          group.checkEqual({{"seed", 1}, {"option", group.getRank()}}, "");
        else
          group.checkEqual(group.getRank(), "option", "");
        ADD_FAILURE() << "no error";
      } catch (const Error &error) {
        EXPECT_EQ(error.getWhere() + ": " + error.getWhat(), wanted);
      }
    try {
      group.agree(0, group.getRank() == 0 ? "saving" : "an evaluation");
      ADD_FAILURE() << "no error";
    } catch (const Error &error) {
      EXPECT_EQ(error.getWhere(), "rank " + std::to_string(ranks.getRank()));
      EXPECT_NE(error.getWhat().find(
                    "rank " + std::to_string(first + 1 - group.getRank()) +
                    " is at another point"),
                std::string::npos)
          << error.getWhat();
    }
  });
}

TEST(Groups, JoinBucketsOverData) {
  onFour([](Communicator &ranks) {
    ranks.record();
    ranks.setJoining(1 << 20);
    Communicator &data = ranks.getGroup(INGOT_DATA),
                 &tensor = ranks.getGroup(INGOT_TENSOR);
    float a = 1, b = 2, c = 3;
    auto start = [](Communicator &group, float &value, const char *what) {
      return group.startBucketReduce(&value, 1, DType::F32, what);
    };
    Communicator::Ticket first = start(data, a, "a"),
                         other = start(tensor, c, "c"),
                         second = start(data, b, "b");
    tensor.wait(other);
    ranks.waitForAll();
    data.wait(second);
    data.wait(first);
    EXPECT_EQ(a, 2);
    EXPECT_EQ(b, 4);
    EXPECT_EQ(c, 6);
    std::vector<std::string> names;
    for (const CommunicationEvent &event : ranks.getEvents())
      names.push_back(event.what);
    std::sort(names.begin(), names.end());
    EXPECT_EQ(names, (std::vector<std::string>{"a and 1 more over data",
                                               "c over tensor"}));
    EXPECT_EQ(ranks.countBuckets(), std::pair(int64_t(2), int64_t(8)));
  });
}

TEST(Groups, WithoutAMeshAllAreAlongData) {
  Communicator alone(makeSelfCollectives());
  EXPECT_EQ(&alone.getGroup(INGOT_DATA), &alone);
  EXPECT_EQ(alone.getGroup(INGOT_TENSOR).getSize(), 1);
}

} // namespace
