// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Tests of what every transport has to hold to. Runs in all ranks of a launch
// at the same time (mpirun -n N), or in one process alone.
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/Collectives.h"
#include "runtime/abi/Shard.h"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>
#include <vector>

using namespace ingot::runtime;

namespace {

/// The transport of all tests in this process: MPI starts once.
std::unique_ptr<Collectives> ranks;

int64_t rank() { return ranks->getRank(); }
int64_t size() { return ranks->getSize(); }

void complete(std::unique_ptr<Pending> operation) {
  while (!operation->test())
    std::this_thread::yield();
}

/// A number of its own for each rank and element, exact in every type.
double draw(int64_t rank, int64_t i) {
  return static_cast<double>((rank * 7 + i * 3) % 11 - 5);
}

std::vector<char> fill(int64_t rank, int64_t first, int64_t count, DType type) {
  std::vector<char> data(count * ingot::runtime::getSize(type));
  for (int64_t i = 0; i < count; ++i) {
    double value = draw(rank, first + i);
    auto whole = static_cast<int64_t>(value);
    char *to = data.data() + i * ingot::runtime::getSize(type);
    if (isFloat(type))
      convert(&value, DType::F64, to, type, 1);
    else if (type == DType::I64)
      std::memcpy(to, &whole, sizeof(whole));
    else {
      auto narrow = static_cast<int32_t>(whole);
      std::memcpy(to, &narrow, sizeof(narrow));
    }
  }
  return data;
}

double read(const std::vector<char> &data, int64_t i, DType type) {
  const char *from = data.data() + i * ingot::runtime::getSize(type);
  double value = 0;
  convert(from, type, &value, DType::F64, 1);
  return value;
}

double sumOf(int64_t i) {
  double sum = 0;
  for (int64_t r = 0; r < size(); ++r)
    sum += draw(r, i);
  return sum;
}

const DType types[] = {DType::F32, DType::F64, DType::BF16,
                       DType::F16, DType::I64, DType::I32};
/// The last one goes in several chunks on any number of ranks here.
const int64_t lengths[] = {0, 1, 3, 1000, 100003, 2500007};

TEST(Collectives, RanksAreNumbered) {
  EXPECT_EQ(size(), countLaunchedRanks());
  EXPECT_FALSE(ranks->describe().empty());
  std::vector<int64_t> all(size(), -1);
  int64_t own = rank();
  complete(ranks->startAllGather(&own, all.data(), sizeof(own)));
  for (int64_t r = 0; r < size(); ++r)
    EXPECT_EQ(all[r], r);
}

TEST(Collectives, AllReduce) {
  for (DType type : types)
    for (int64_t length : lengths) {
      std::vector<char> data = fill(rank(), 0, length, type);
      complete(ranks->startAllReduce(data.data(), length, type));
      for (int64_t i = 0; i < length; ++i)
        ASSERT_EQ(read(data, i, type), sumOf(i)) << getName(type) << " " << i;
    }
}

TEST(Collectives, ReduceScatter) {
  for (DType type : types)
    for (int64_t length : lengths) {
      std::vector<char> data = fill(rank(), 0, length, type);
      complete(ranks->startReduceScatter(data.data(), length, type));
      ElementRange own = getShard(length, rank(), size());
      for (int64_t i = own.begin; i < own.end; ++i)
        ASSERT_EQ(read(data, i, type), sumOf(i)) << getName(type) << " " << i;
    }
}

TEST(Collectives, GatherShards) {
  for (DType type : types)
    for (int64_t length : lengths) {
      std::vector<char> data = fill(rank(), 0, length, type);
      complete(ranks->startGatherShards(data.data(), length, type));
      for (int64_t r = 0; r < size(); ++r) {
        ElementRange shard = getShard(length, r, size());
        for (int64_t i = shard.begin; i < shard.end; ++i)
          ASSERT_EQ(read(data, i, type), draw(r, i))
              << getName(type) << " " << i;
      }
    }
}

TEST(Collectives, AllGather) {
  for (int64_t length : lengths) {
    std::vector<char> from = fill(rank(), 0, length, DType::F32);
    std::vector<char> to(from.size() * size());
    complete(ranks->startAllGather(from.data(), to.data(),
                                   static_cast<int64_t>(from.size())));
    for (int64_t r = 0; r < size(); ++r)
      for (int64_t i = 0; i < length; ++i)
        ASSERT_EQ(read(to, r * length + i, DType::F32), draw(r, i));
  }
}

TEST(Collectives, Broadcast) {
  for (int64_t root = 0; root < size(); ++root)
    for (int64_t length : lengths) {
      std::vector<char> data = fill(rank(), 0, length, DType::F32);
      complete(ranks->startBroadcast(data.data(),
                                     static_cast<int64_t>(data.size()), root));
      ASSERT_EQ(data, fill(root, 0, length, DType::F32));
    }
}

/// Started in one order, waited for in another.
TEST(Collectives, SeveralAtATime) {
  constexpr int64_t count = 8, length = 30011;
  std::vector<std::vector<char>> data;
  std::vector<std::unique_ptr<Pending>> pending;
  for (int64_t k = 0; k < count; ++k)
    data.push_back(fill(rank(), k, length, DType::F32));
  for (int64_t k = 0; k < count; ++k)
    pending.push_back(
        k % 3 == 2 ? ranks->startBroadcast(data[k].data(),
                                           static_cast<int64_t>(data[k].size()),
                                           k % size())
                   : ranks->startAllReduce(data[k].data(), length, DType::F32));
  for (int64_t k : {5, 0, 7, 2, 1, 6, 3, 4})
    complete(std::move(pending[k]));
  for (int64_t k = 0; k < count; ++k)
    for (int64_t i = 0; i < length; ++i)
      ASSERT_EQ(read(data[k], i, DType::F32),
                k % 3 == 2 ? draw(k % size(), k + i) : sumOf(k + i));
}

/// Sums that depend on the order they are added up in.
TEST(Collectives, SameBitsOnEveryRankAndEveryTime) {
  constexpr int64_t length = 50021;
  std::vector<float> values(length), first;
  for (int repeat = 0; repeat < 3; ++repeat) {
    for (int64_t i = 0; i < length; ++i)
      values[i] = 1.0f / static_cast<float>(3 + rank() * 977 + i);
    complete(ranks->startAllReduce(values.data(), length, DType::F32));
    if (repeat == 0)
      first = values;
    ASSERT_EQ(std::memcmp(first.data(), values.data(), length * sizeof(float)),
              0);
  }
  std::vector<float> ofFirst = values;
  complete(ranks->startBroadcast(ofFirst.data(), length * sizeof(float), 0));
  ASSERT_EQ(std::memcmp(ofFirst.data(), values.data(), length * sizeof(float)),
            0);
}

} // namespace

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  ranks = connectRanks(std::chrono::seconds(60),
                       [](const Error &) { std::abort(); });
  int status = RUN_ALL_TESTS();
  ranks->finish();
  return status;
}
