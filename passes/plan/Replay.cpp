// SPDX-License-Identifier: Apache-2.0

#include "passes/plan/Replay.h"

#include "llvm/ADT/DenseMap.h"

#include <algorithm>
#include <map>

using namespace ingot;

void RankPlan::add(const RankPlan &other, double times) {
  stepSeconds += times * other.stepSeconds;
  computeSeconds += times * other.computeSeconds;
  exchangeSeconds += times * other.exchangeSeconds;
  exposedSeconds += times * other.exposedSeconds;
  hostSeconds += times * other.hostSeconds;
  exchangedBytes += times * other.exchangedBytes;
  memoryBytes +=
      static_cast<int64_t>(times * static_cast<double>(other.memoryBytes));
}

namespace {

/// The simulator of one step.
class Player {
public:
  Player(const Trace &trace, const Cluster &cluster, int64_t ranks,
         ReplayScale scale)
      : trace(trace), cluster(cluster), scale(scale),
        dataRanks(std::max<int64_t>(1, ranks / trace.group)),
        shardRanks(trace.getShardRanks(ranks)) {
    plan.ranks = ranks;
  }

  RankPlan play() {
    takeStep();
    // A step waits for the exchanges that the previous one has started.
    if (!ends.empty()) {
      startNext();
      takeStep();
    }
    plan.stepSeconds = now;
    plan.memoryBytes = trace.getBytes(shardRanks);
    return plan;
  }

private:
  void takeStep() {
    int64_t count =
        scale.microBatches > 0 ? scale.microBatches : trace.microBatches;
    for (int64_t i = 1; i < count; ++i)
      play(trace.micro, scale.micro);
    play(trace.step, scale.compute);
  }

  /// Exchanges that are in flight continue in the next step, which starts now.
  void startNext() {
    for (auto &[number, end] : ends)
      end -= now;
    linkFree -= now;
    now = 0;
    plan = RankPlan{plan.ranks};
  }

  void play(const std::vector<TraceItem> &items, double grown) {
    for (const TraceItem &item : items)
      switch (item.kind) {
      case TraceItem::Compute:
        compute(item, grown);
        break;
      case TraceItem::Start:
        begin(item);
        break;
      case TraceItem::Wait:
        finish(item.number);
        break;
      case TraceItem::Exchange:
        exchange(item);
        break;
      case TraceItem::RegionWait:
        waitForRegions(item.number);
      }
  }

  /// The ranks that exchange something, each the `stride`th.
  struct Members {
    int64_t ranks, stride;
  };

  /// Returns those that differ along axes; the others along data have the
  /// numbers between them.
  Members getMembers(int32_t axes) const {
    Members members{1, 1};
    auto add = [&](bool isMember, int64_t ranks) {
      if (isMember)
        members.ranks *= ranks;
      else if (members.ranks == 1)
        members.stride *= ranks;
    };
    add((axes & ~(INGOT_DATA | INGOT_INNER)) != 0, trace.group);
    add((axes & INGOT_INNER) != 0, std::min(trace.inner, dataRanks));
    add((axes & INGOT_DATA) != 0,
        std::max<int64_t>(1, dataRanks / trace.inner));
    return members;
  }

  /// Starts an exchange of a bucket. Where groups along `inner` have all shards
  /// among them, these gather and scatter, and scattered sums are added up over
  /// the groups.
  void begin(const TraceItem &item) {
    Exchange kind = item.isCompressed ? Exchange::AllGather : item.exchange;
    constexpr int32_t both = INGOT_DATA | INGOT_INNER;
    bool isOfShards =
        trace.inner > 1 && item.axes == both && kind != Exchange::AllReduce;
    send(item, kind, isOfShards ? INGOT_INNER : item.axes, item.bytes);
    if (isOfShards && kind == Exchange::ReduceScatter)
      send(item, Exchange::AllReduce, INGOT_DATA,
           item.bytes / static_cast<double>(trace.inner));
  }

  void send(const TraceItem &item, Exchange kind, int32_t axes, double bytes) {
    auto [ranks, stride] = getMembers(axes);
    if (ranks == 1)
      return;
    if (item.isCompressed)
      bytes *= static_cast<double>(ranks);
    double seconds = cluster.getSeconds(kind, bytes, ranks, stride);
    linkFree = std::max(now, linkFree) + seconds;
    count(seconds, bytes);
    double host = cluster.getHostSeconds(kind, bytes, ranks);
    plan.hostSeconds += host;
    now += host;
    ends[item.number] = linkFree;
  }

  void finish(int64_t number) {
    double wait = std::max(0.0, ends.lookup(number) - now);
    ends.erase(number);
    plan.exposedSeconds += wait;
    now += wait;
  }

  /// Others wait meanwhile, also for links that exchange something else.
  void exchange(const TraceItem &item) {
    double bytes = scale.exchange * item.bytes;
    auto [ranks, stride] = getMembers(item.axes);
    if (ranks == 1)
      return;
    double seconds =
        item.times * cluster.getSeconds(item.exchange, bytes, ranks, stride);
    double host =
        item.times * cluster.getHostSeconds(item.exchange, bytes, ranks);
    count(seconds, item.times * bytes);
    plan.hostSeconds += host;
    now += host;
    if (item.region >= 0) {
      linkFree = std::max(now, linkFree) + seconds;
      regionEnds[item.region] = linkFree;
      return;
    }
    plan.exposedSeconds += seconds;
    now += seconds;
  }

  void waitForRegions(int64_t last) {
    auto behind = regionEnds.upper_bound(last);
    double end = now;
    for (auto region = regionEnds.begin(); region != behind; ++region)
      end = std::max(end, region->second);
    regionEnds.erase(regionEnds.begin(), behind);
    plan.exposedSeconds += end - now;
    now = end;
  }

  void count(double seconds, double bytes) {
    plan.exchangeSeconds += seconds;
    plan.exchangedBytes += bytes;
  }

  void compute(const TraceItem &item, double grown) {
    double seconds = item.seconds;
    // Ranks share what is computed of a bucket in shards.
    if (item.isShared)
      seconds =
          trace.launchSeconds + std::max(0.0, seconds - trace.launchSeconds) /
                                    static_cast<double>(shardRanks);
    seconds *= item.times * scale.all * (item.isShared ? 1 : grown);
    now += seconds;
    plan.computeSeconds += seconds;
  }

  const Trace &trace;
  const Cluster &cluster;
  ReplayScale scale;
  int64_t dataRanks, shardRanks;
  RankPlan plan;
  double now = 0, linkFree = 0;
  /// The end times of the exchanges in flight, by number: of their function, or
  /// of states.
  llvm::DenseMap<int64_t, double> ends;
  /// The end times of the exchanges in flight in regions, by the region.
  std::map<int64_t, double> regionEnds;
};

} // namespace

RankPlan ingot::replay(const Trace &trace, const Cluster &cluster,
                       int64_t ranks, ReplayScale scale) {
  return Player(trace, cluster, ranks, scale).play();
}

double ingot::getMeasuredScale(const Trace &trace, const Cluster &cluster) {
  if (!cluster.stepSeconds)
    return 1;
  Cluster none;
  return *cluster.stepSeconds / replay(trace, none, trace.group).computeSeconds;
}
