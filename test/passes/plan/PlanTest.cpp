// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Tests the links of clusters, replays of steps, estimates and the search.
//
//===----------------------------------------------------------------------===//

#include "passes/plan/Search.h"

#include "gtest/gtest.h"

using namespace ingot;

static Cluster readCluster(llvm::StringRef text) {
  return llvm::cantFail(Cluster::read(text));
}

static constexpr const char *kPerNode = R"({"ranks": [16], "levels": [
  {"ranks": 4, "latency_us": 1, "bandwidth_gbps": 800},
  {"latency_us": 10, "bandwidth_gbps": 80, "per": "node"}]})";
static constexpr const char *kPerRank = R"({"ranks": [16], "levels": [
  {"ranks": 4, "latency_us": 1, "bandwidth_gbps": 800},
  {"latency_us": 10, "bandwidth_gbps": 80}]})";
constexpr double kBytes = 4e9;

TEST(Cluster, TakesRingsInEachLevel) {
  Cluster cluster = readCluster(kPerNode);
  // 3/4 of the bytes at 1e11 bytes/s, and 3/4 at 1e10 on the node's link.
  double inside = 3 * (1e-6 + kBytes / 4 / 1e11);
  double between = 3 * (1e-5 + kBytes / 4 / 1e10);
  EXPECT_DOUBLE_EQ(cluster.getSeconds(Exchange::AllGather, kBytes, 4), inside);
  EXPECT_DOUBLE_EQ(cluster.getSeconds(Exchange::AllGather, kBytes, 16),
                   inside + between);
  EXPECT_DOUBLE_EQ(cluster.getSeconds(Exchange::AllReduce, kBytes, 16),
                   2 * (inside + between));
}

TEST(Cluster, SharesLinksOfNodesAmongGroups) {
  // Of four groups with a rank in each node, the node's link has all bytes.
  double one = 3 * (1e-5 + kBytes / 4 / 1e10);
  EXPECT_DOUBLE_EQ(readCluster(kPerRank).getSeconds(Exchange::AllGather, kBytes,
                                                    4, /*stride=*/4),
                   one);
  double four = 3 * (1e-5 + kBytes / 1e10);
  EXPECT_DOUBLE_EQ(readCluster(kPerNode).getSeconds(Exchange::AllGather, kBytes,
                                                    4, /*stride=*/4),
                   four);
}

TEST(Cluster, ReadsTwoLevelsAsNodes) {
  Cluster nodes = readCluster(R"({"ranks": [16], "ranks_per_node": 4,
    "inside": {"latency_us": 1, "bandwidth_gbps": 800},
    "between": {"latency_us": 10, "bandwidth_gbps": 80}})");
  for (int64_t ranks : {1, 3, 4, 12, 16})
    EXPECT_DOUBLE_EQ(
        nodes.getSeconds(Exchange::AllReduce, kBytes, ranks),
        readCluster(kPerNode).getSeconds(Exchange::AllReduce, kBytes, ranks));
}

/// A step of two calls of 2 and 4 ms with an exchange that the second overlaps.
static Trace makeTrace(double bytes, int blocks = 1) {
  Trace trace;
  for (int i = 0; i < blocks; ++i) {
    trace.step.push_back({TraceItem::Compute, 2e-3});
    TraceItem start{TraceItem::Start};
    start.axes = INGOT_DATA;
    start.exchange = Exchange::AllReduce;
    start.bytes = bytes;
    trace.step.push_back(start);
    trace.step.push_back({TraceItem::Compute, 4e-3});
    trace.step.push_back({TraceItem::Wait});
  }
  trace.peakBytes = 1000 * blocks;
  return trace;
}

TEST(Replay, OverlapsExchangesWithCalls) {
  Cluster cluster = readCluster(kPerRank);
  double bytes = 1e8;
  double seconds = cluster.getSeconds(Exchange::AllReduce, bytes, 16);
  RankPlan plan = replay(makeTrace(bytes), cluster, 16);
  EXPECT_DOUBLE_EQ(plan.exchangeSeconds, seconds);
  EXPECT_DOUBLE_EQ(plan.exposedSeconds, seconds - 4e-3);
  EXPECT_DOUBLE_EQ(plan.stepSeconds, 2e-3 + seconds);
  EXPECT_DOUBLE_EQ(replay(makeTrace(bytes), cluster, 1).stepSeconds, 6e-3);
}

TEST(Replay, WaitsForWhatTheNextCallNeeds) {
  Cluster cluster = readCluster(kPerRank);
  Trace trace = makeTrace(0);
  trace.group = 4;
  TraceItem sum{TraceItem::Exchange};
  sum.exchange = Exchange::AllReduce;
  sum.bytes = 1e8;
  sum.times = 3;
  trace.step.push_back(sum);
  double one = cluster.getSeconds(Exchange::AllReduce, 1e8, 4);
  RankPlan plan = replay(trace, cluster, 4);
  EXPECT_DOUBLE_EQ(plan.exposedSeconds, 3 * one);
  EXPECT_DOUBLE_EQ(plan.exchangedBytes, 3e8);
}

TEST(Replay, OverlapsExchangesOfRegions) {
  Cluster cluster = readCluster(kPerRank);
  double one = cluster.getSeconds(Exchange::AllReduce, 1e8, 4);
  for (double compute : {one / 4, 3 * one}) {
    Trace trace;
    trace.group = 4;
    TraceItem sum{TraceItem::Exchange};
    sum.exchange = Exchange::AllReduce;
    sum.bytes = 1e8;
    for (int64_t region : {0, 1}) {
      sum.region = region;
      trace.step.push_back(sum);
    }
    trace.step.push_back({TraceItem::Compute, compute});
    trace.step.push_back({TraceItem::RegionWait});
    trace.step.back().number = 1;
    RankPlan plan = replay(trace, cluster, 4);
    EXPECT_DOUBLE_EQ(plan.exchangeSeconds, 2 * one);
    EXPECT_DOUBLE_EQ(plan.stepSeconds, std::max(compute, 2 * one));
    EXPECT_DOUBLE_EQ(plan.exposedSeconds, plan.stepSeconds - compute);
  }
}

TEST(Replay, ScattersWithinGroupsAndAddsUpBetweenThem) {
  Cluster cluster = readCluster(kPerRank);
  Trace trace;
  trace.inner = 4;
  trace.shards = {{1 << 20, 0, 1 << 20, 32}};
  TraceItem start{TraceItem::Start};
  start.axes = INGOT_DATA | INGOT_INNER;
  start.bytes = 1e8;
  for (Exchange kind : {Exchange::ReduceScatter, Exchange::AllGather}) {
    start.exchange = kind;
    trace.step = {start};
    double want = cluster.getSeconds(kind, 1e8, 4);
    if (kind == Exchange::ReduceScatter)
      want += cluster.getSeconds(Exchange::AllReduce, 1e8 / 4, 4, /*stride=*/4);
    RankPlan plan = replay(trace, cluster, 16);
    EXPECT_DOUBLE_EQ(plan.exchangeSeconds, want);
    EXPECT_EQ(plan.memoryBytes, 1 << 20);
  }
}

TEST(Replay, RepeatsMicroBatches) {
  Cluster none;
  Trace trace;
  trace.step = {{TraceItem::Compute, 3e-3}};
  trace.micro = {{TraceItem::Compute, 2e-3}};
  trace.microBatches = 2;
  EXPECT_DOUBLE_EQ(replay(trace, none, 1).stepSeconds, 5e-3);
  ReplayScale scale{2, 3, 1};
  scale.microBatches = 4;
  EXPECT_DOUBLE_EQ(replay(trace, none, 1, scale).stepSeconds, 6e-3 + 3 * 6e-3);
}

TEST(Estimate, AddsBlocks) {
  Cluster cluster = readCluster(kPerRank);
  BlockTraces traces{makeTrace(1e8, 2), {}};
  traces.more.push_back({makeTrace(1e8, 4), (10 - 2) / 2.0});
  RankPlan all = replay(makeTrace(1e8, 10), cluster, 16);
  RankPlan sum = traces.replay(cluster, 16);
  EXPECT_NEAR(sum.stepSeconds, all.stepSeconds, 1e-12);
  EXPECT_EQ(sum.memoryBytes, all.memoryBytes);
}

/// The steps of layouts, whose memory is divided by stages of ZeRO and by what
/// is not kept, and which take longer then.
static std::optional<BlockTraces> compileLayout(const Layout &layout) {
  Trace trace = makeTrace(1e7);
  trace.group = layout.tensor;
  trace.inner = layout.inner;
  auto samples = static_cast<double>(layout.batch),
       kept = static_cast<double>(layout.kept) / 100;
  for (TraceItem &item : trace.step)
    item.seconds *=
        samples / static_cast<double>(layout.tensor) * (1.3 - 0.3 * kept);
  trace.peakBytes = static_cast<int64_t>((4000 + samples * 1000 * kept) /
                                         static_cast<double>(layout.tensor)) -
                    500 * layout.zero;
  trace.microBatches = layout.microBatches;
  if (layout.microBatches > 1)
    trace.micro = {{TraceItem::Compute, trace.step.front().seconds * 3}};
  return BlockTraces{trace, {}};
}

TEST(Search, EqualsExhaustiveSearch) {
  Cluster cluster = readCluster(kPerRank);
  SearchSpace space;
  space.ranks = 16;
  space.globalBatch = 128;
  space.tensor = {1, 2, 4};
  space.zero = {0, 1, 2, 3};
  space.kept = {100, 50, 1};
  Estimator estimator(cluster, compileLayout);
  for (double memory : {1e9, 6000.0, 3000.0, 1500.0}) {
    space.memoryBytes = memory;
    std::vector<double> all;
    for (int64_t tensor : space.tensor)
      for (unsigned zero : space.zero)
        for (int64_t inner : tensor < 4 && zero > 0
                                 ? std::vector<int64_t>{1, 4 / tensor}
                                 : std::vector<int64_t>{1})
          for (int64_t batch = 1; batch <= 32; batch *= 2) {
            int64_t samples = 128 / (16 / tensor);
            if (samples % batch != 0)
              continue;
            for (int64_t kept : space.kept) {
              Layout layout{16,    tensor, zero, batch, samples / batch,
                            inner, kept};
              std::optional<RankPlan> plan = estimator.estimate(layout);
              ASSERT_TRUE(plan);
              EXPECT_LE(estimator.getBound(layout), plan->stepSeconds + 1e-12);
              if (static_cast<double>(plan->memoryBytes) > memory)
                continue;
              all.push_back(plan->stepSeconds);
              break;
            }
          }
    std::sort(all.begin(), all.end());
    SearchResult result = search(space, cluster, estimator, 6);
    ASSERT_EQ(result.best.size(), std::min<size_t>(6, all.size()));
    for (size_t i = 0; i < result.best.size(); ++i)
      EXPECT_DOUBLE_EQ(result.best[i].estimate.stepSeconds, all[i]);
  }
}

TEST(Search, GoesOnBehindWhatIsKnown) {
  Cluster cluster = readCluster(kPerRank);
  SearchSpace space;
  space.ranks = 16;
  space.globalBatch = 16;
  space.memoryBytes = 1e9;
  space.batch = 1;
  space.inner = 1;
  space.tensor = {1};
  space.zero = {2};
  space.kept = {100, 1};
  Estimator estimator(cluster, compileLayout, /*samples=*/1);
  auto find = [&] { return search(space, cluster, estimator, 6).best; };
  ASSERT_EQ(find().size(), 1u);
  EXPECT_EQ(find().front().layout.kept, 100);
  space.tooLarge.insert(find().front().layout.describe());
  ASSERT_EQ(find().size(), 1u);
  EXPECT_EQ(find().front().layout.kept, 1);
  space.known.insert(find().front().layout.describe());
  EXPECT_TRUE(find().empty());
}

TEST(Search, KeepsRanksThatComputeTogetherInANode) {
  Cluster cluster = readCluster(kPerRank);
  EXPECT_EQ(SearchSpace::listTensorRanks(cluster, 16),
            (std::vector<int64_t>{1, 2, 4}));
  EXPECT_EQ(SearchSpace::listTensorRanks(cluster, 6),
            (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(SearchSpace::listInnerRanks(cluster, 16, 2),
            (std::vector<int64_t>{2}));
  EXPECT_TRUE(SearchSpace::listInnerRanks(cluster, 16, 4).empty());
}

TEST(Layout, IsWrittenAsOptions) {
  Layout layout{16, 4, 3, 2, 8};
  EXPECT_EQ(layout.getWords(),
            (std::vector<std::string>{"--mesh=tensor=4", "--zero=3",
                                      "--batch=2", "--grad-accumulation=8"}));
  EXPECT_EQ(Layout().getWords(),
            (std::vector<std::string>{"--data-parallel", "--batch=1"}));
  Layout hybrid{16, 1, 2, 1, 1, 4, 50};
  EXPECT_EQ(hybrid.getWords(),
            (std::vector<std::string>{"--mesh=inner=4", "--zero=2", "--batch=1",
                                      "--memory-budget=at-least:50%"}));
}
