// SPDX-License-Identifier: Apache-2.0

#include "passes/cost/Cluster.h"

#include "dialects/ingot/support/InputFile.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cmath>

using namespace llvm;
using namespace ingot;

static Error makeError(const Twine &text) {
  return createStringError(inconvertibleErrorCode(), text);
}

static Error checkFields(const json::Object &object, StringRef where,
                         ArrayRef<StringRef> known) {
  for (const auto &field : object)
    if (!is_contained(known, StringRef(field.first)))
      return makeError("unknown field '" + where +
                       StringRef(field.first).str() + "'");
  return Error::success();
}

/// Returns a positive number, in the field's unit.
static Expected<double> readNumber(const json::Object &object, StringRef where,
                                   StringRef name) {
  std::optional<double> number = object.getNumber(name);
  if (!number || !(*number > 0) || !std::isfinite(*number))
    return makeError("'" + where + name + "' must be a positive number");
  if (!isModerate(*number))
    return makeError("'" + where + name + "' must be from 1e-30 to 1e30");
  return *number;
}

/// Returns the time and the rate of an object whose fields are called
/// `where...`, as seconds and bytes per second. It may have other fields.
static Expected<Link> readLink(const json::Object *object,
                               const std::string &where, StringRef time,
                               ArrayRef<StringRef> others) {
  SmallVector<StringRef> known = {time, "bandwidth_gbps"};
  llvm::append_range(known, others);
  if (Error error = checkFields(*object, where, known))
    return std::move(error);
  Expected<double> latency = readNumber(*object, where, time);
  if (!latency)
    return latency.takeError();
  Expected<double> bandwidth = readNumber(*object, where, "bandwidth_gbps");
  if (!bandwidth)
    return bandwidth.takeError();
  return Link{*latency * 1e-6, *bandwidth * 1e9 / 8};
}

/// Returns the time and the rate of a field, as seconds and bytes per second.
static Expected<Link> readLink(const json::Object &root, StringRef name,
                               StringRef time = "latency_us",
                               ArrayRef<StringRef> others = {}) {
  const json::Object *object = root.getObject(name);
  if (!object)
    return makeError("'" + name + "' must be an object");
  return readLink(object, (name + ".").str(), time, others);
}

constexpr int64_t kMostRanks = int64_t(1) << 20;

static bool isCount(std::optional<int64_t> count) {
  return count && *count > 0 && *count <= kMostRanks;
}

/// Returns whether each rank has a link of its own.
static Expected<bool> readPer(const json::Object &object,
                              const std::string &where, bool isPerRank) {
  const json::Value *per = object.get("per");
  if (!per)
    return isPerRank;
  std::optional<StringRef> text = per->getAsString();
  if (!text || (*text != "rank" && *text != "node"))
    return makeError("'" + where + "per' must be \"rank\" or \"node\"");
  return *text == "rank";
}

/// Reads `levels`: the ranks of each but the last are a multiple of those of
/// the one before.
static Error readLevels(const json::Array &array,
                        SmallVectorImpl<LinkLevel> &levels) {
  if (array.empty())
    return makeError("'levels' must be a list of links");
  int64_t before = 1;
  for (auto [i, value] : enumerate(array)) {
    std::string name = ("levels[" + Twine(i) + "]").str(), where = name + ".";
    const json::Object *object = value.getAsObject();
    if (!object)
      return makeError("'" + name + "' must be an object");
    Expected<Link> link =
        readLink(object, where, "latency_us", {"ranks", "per"});
    if (!link)
      return link.takeError();
    LinkLevel &level = levels.emplace_back();
    level.link = *link;
    bool isLast = i + 1 == array.size();
    if (isLast && object->get("ranks"))
      return makeError("'" + where +
                       "ranks' is not for the last level, which links all");
    if (!isLast) {
      std::optional<int64_t> ranks = object->getInteger("ranks");
      if (!isCount(ranks) || *ranks % before != 0 || *ranks == before)
        return makeError("'" + where + "ranks' must be a multiple of the " +
                         Twine(before) + " of the level below");
      before = level.ranks = *ranks;
    }
    Expected<bool> isPerRank = readPer(*object, where, /*isPerRank=*/true);
    if (!isPerRank)
      return isPerRank.takeError();
    level.isPerRank = *isPerRank;
  }
  return Error::success();
}

/// Reads `ranks_per_node`, `inside` and `between`: two levels.
static Error readNodes(const json::Object &root,
                       SmallVectorImpl<LinkLevel> &levels) {
  int64_t ranksPerNode = 1;
  if (root.get("ranks_per_node")) {
    if (!isCount(root.getInteger("ranks_per_node")))
      return makeError("'ranks_per_node' must be a number from 1 to 1048576");
    ranksPerNode = *root.getInteger("ranks_per_node");
  }
  Expected<Link> between = readLink(root, "between", "latency_us", {"per"});
  if (!between)
    return between.takeError();
  Expected<bool> isPerRank =
      readPer(*root.getObject("between"), "between.", /*isPerRank=*/false);
  if (!isPerRank)
    return isPerRank.takeError();
  if (root.get("inside")) {
    Expected<Link> inside = readLink(root, "inside");
    if (!inside)
      return inside.takeError();
    levels.push_back({*inside, ranksPerNode});
  } else if (ranksPerNode > 1) {
    return makeError("'inside' must say how ranks of a node are linked");
  }
  levels.push_back({*between, std::numeric_limits<int64_t>::max(), *isPerRank});
  return Error::success();
}

Expected<Cluster> Cluster::read(StringRef text) {
  Expected<json::Value> value = parseJson(text);
  if (!value)
    return value.takeError();
  const json::Object *root = value->getAsObject();
  if (!root)
    return makeError("must be one object");
  if (Error error = checkFields(*root, "",
                                {"ranks", "ranks_per_node", "inside", "between",
                                 "levels", "memory_gb", "host", "step_ms"}))
    return std::move(error);
  Cluster cluster;
  const json::Array *ranks = root->getArray("ranks");
  if (!ranks || ranks->empty())
    return makeError("'ranks' must be a list of numbers of ranks");
  for (const json::Value &count : *ranks) {
    if (!isCount(count.getAsInteger()))
      return makeError("'ranks' must be numbers from 1 to 1048576");
    cluster.ranks.push_back(*count.getAsInteger());
  }
  if (root->get("levels")) {
    for (StringRef other : {"ranks_per_node", "inside", "between"})
      if (root->get(other))
        return makeError("'levels' and '" + other + "' exclude each other");
    const json::Array *levels = root->getArray("levels");
    if (!levels)
      return makeError("'levels' must be a list of links");
    if (Error error = readLevels(*levels, cluster.levels))
      return std::move(error);
  } else if (Error error = readNodes(*root, cluster.levels)) {
    return std::move(error);
  }
  if (root->get("memory_gb")) {
    Expected<double> memory = readNumber(*root, "", "memory_gb");
    if (!memory)
      return memory.takeError();
    cluster.memoryBytes = *memory * 1e9;
  }
  if (root->get("host")) {
    Expected<Link> host = readLink(*root, "host", "exchange_us");
    if (!host)
      return host.takeError();
    cluster.host = HostWork{host->seconds, host->bandwidth};
  }
  if (root->get("step_ms")) {
    Expected<double> step = readNumber(*root, "", "step_ms");
    if (!step)
      return step.takeError();
    cluster.stepSeconds = *step * 1e-3;
  }
  return cluster;
}

/// Returns the time of half an all-reduce around a ring: each of `count` ranks
/// forwards all parts except its own.
static double getRingSeconds(Link link, double bytes, int64_t count) {
  auto others = static_cast<double>(count - 1);
  return others *
         (link.seconds + bytes / static_cast<double>(count) / link.bandwidth);
}

/// Returns the time of half an all-reduce, up or down a binary tree, with all
/// bytes at each level.
static double getTreeSeconds(Link link, double bytes, int64_t count) {
  return Log2_64_Ceil(static_cast<uint64_t>(count)) *
         (link.seconds + bytes / link.bandwidth);
}

double Cluster::getSeconds(Exchange exchange, double bytes, int64_t count,
                           int64_t stride) const {
  double half = 0, tree = 0;
  // All ranks of a unit of the level below, and those of them that take part.
  int64_t unit = 1, inUnit = 1;
  for (const LinkLevel &level : levels) {
    int64_t members = level.ranks == std::numeric_limits<int64_t>::max()
                          ? count
                          : std::clamp<int64_t>(level.ranks / stride, 1, count);
    int64_t units = divideCeil(members, inUnit);
    // A ring for each rank of a unit. Of a shared link, all of them have a
    // part, and so have the rings of other groups.
    double rings = level.isPerRank ? 1 : static_cast<double>(unit);
    double carried = bytes * rings / static_cast<double>(inUnit);
    half += getRingSeconds(level.link, carried, units);
    tree += getTreeSeconds(level.link, carried, units);
    unit = level.ranks;
    inUnit = members;
  }
  half = std::min(half, tree);
  return exchange == Exchange::AllReduce ? 2 * half : half;
}

double Cluster::getHostSeconds(Exchange exchange, double bytes,
                               int64_t count) const {
  if (!host || count == 1)
    return 0;
  double others = static_cast<double>(count - 1) / static_cast<double>(count);
  double moved = 2 * others * bytes;
  if (exchange == Exchange::AllReduce)
    moved *= 2;
  return host->seconds + moved / host->bandwidth;
}
