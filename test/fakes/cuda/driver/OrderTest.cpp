// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Tests of what the fake driver finds wrong (Order.h).
//
//===----------------------------------------------------------------------===//

#include "test/fakes/cuda/driver/CallOrder.h"
#include "test/fakes/cuda/driver/GraphAccesses.h"

#include <gtest/gtest.h>

using namespace fakes;

namespace {
constexpr int runs = 1, inputs = 2;
constexpr Region block = {1024, 256, /*isWritten=*/true};
constexpr Region half = {1152, 128, /*isWritten=*/false};
constexpr Region next = {1280, 64, /*isWritten=*/true};
constexpr Region pinned = {4096, 256, /*isWritten=*/true, /*isHost=*/true};

TEST(Order, FindsWhatNothingOrders) {
  Order order;
  EXPECT_TRUE(order.put(inputs, {block}));
  EXPECT_TRUE(order.put(inputs, {block})) << "one stream is in order";
  EXPECT_TRUE(order.put(runs, {next})) << "other memory";
  EXPECT_FALSE(order.put(runs, {half}));
}

TEST(Order, ReadersNeedNone) {
  Order order;
  EXPECT_TRUE(order.put(inputs, {half}));
  EXPECT_TRUE(order.put(runs, {half}));
  EXPECT_FALSE(order.put(inputs, {block}));
}

TEST(Order, EventsAndWaitsOrder) {
  Order order;
  order.put(inputs, {block});
  order.holdBack(runs, order.getMoment(inputs));
  EXPECT_TRUE(order.put(runs, {half}));
  // An event from before the reader says nothing of it.
  Moment early = order.getMoment(inputs);
  order.holdBack(inputs, early);
  EXPECT_FALSE(order.put(inputs, {block}));
  order.waitFor(order.getMoment(runs));
  order.waitFor(order.getMoment(inputs));
  EXPECT_TRUE(order.put(runs, {block}));
}

TEST(Order, OrderPassesFromStreamToStream) {
  Order order;
  order.put(inputs, {block});
  order.holdBack(runs, order.getMoment(inputs));
  order.put(runs, {next});
  order.holdBack(3, order.getMoment(runs));
  EXPECT_TRUE(order.put(3, {block}));
}

TEST(Order, HostsMemoryIsUsedAgainAfterAWaitOnly) {
  Order order;
  EXPECT_TRUE(order.put(inputs, {pinned}));
  EXPECT_FALSE(order.isIdle(pinned));
  // The stream's order does not tell the host when it may write.
  EXPECT_FALSE(order.put(inputs, {pinned}));
  Moment both = order.getMoment(inputs);
  EXPECT_FALSE(order.isPast(both));
  order.waitFor(both);
  EXPECT_TRUE(order.isPast(both));
  EXPECT_TRUE(order.isIdle(pinned));
  EXPECT_TRUE(order.put(inputs, {pinned}));
}

/// Two operations, the second of which comes after the first if `isOrdered`.
std::string findConflict(bool isOrdered, bool firstWrites, uint64_t second) {
  GraphAccesses accesses;
  size_t first = accesses.add({});
  accesses.getLog(first).add(4000, 200, firstWrites);
  // Order passes through operations in between.
  size_t between = isOrdered ? accesses.add({first}) : accesses.add({});
  size_t last = accesses.add({between});
  accesses.getLog(last).name = "kernel";
  accesses.getLog(last).add(second, 8, /*isWritten=*/false);
  return accesses.findConflict();
}

TEST(GraphAccesses, FindsBytesThatNothingOrders) {
  EXPECT_EQ(findConflict(/*isOrdered=*/true, /*firstWrites=*/true, 4096), "");
  EXPECT_EQ(findConflict(/*isOrdered=*/false, /*firstWrites=*/false, 4096), "")
      << "two readers";
  EXPECT_EQ(findConflict(/*isOrdered=*/false, /*firstWrites=*/true, 4200), "")
      << "the byte behind the last one";
  std::string conflict =
      findConflict(/*isOrdered=*/false, /*firstWrites=*/true, 4192);
  EXPECT_NE(conflict.find("operation 2 (kernel, reads)"), std::string::npos)
      << conflict;
  EXPECT_NE(conflict.find("4192"), std::string::npos) << conflict;
}
} // namespace
