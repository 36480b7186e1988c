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

/// Returns a time and a rate, as seconds and bytes per second.
static Expected<Link> readLink(const json::Object &root, StringRef name,
                               StringRef time = "latency_us") {
  const json::Object *object = root.getObject(name);
  if (!object)
    return makeError("'" + name + "' must be an object");
  std::string where = (name + ".").str();
  if (Error error = checkFields(*object, where, {time, "bandwidth_gbps"}))
    return std::move(error);
  Expected<double> latency = readNumber(*object, where, time);
  if (!latency)
    return latency.takeError();
  Expected<double> bandwidth = readNumber(*object, where, "bandwidth_gbps");
  if (!bandwidth)
    return bandwidth.takeError();
  return Link{*latency * 1e-6, *bandwidth * 1e9 / 8};
}

Expected<Cluster> Cluster::read(StringRef text) {
  Expected<json::Value> value = parseJson(text);
  if (!value)
    return value.takeError();
  const json::Object *root = value->getAsObject();
  if (!root)
    return makeError("must be one object");
  if (Error error = checkFields(
          *root, "",
          {"ranks", "ranks_per_node", "inside", "between", "host", "step_ms"}))
    return std::move(error);
  Cluster cluster;
  constexpr int64_t most = int64_t(1) << 20;
  auto isCount = [&](std::optional<int64_t> count) {
    return count && *count > 0 && *count <= most;
  };
  const json::Array *ranks = root->getArray("ranks");
  if (!ranks || ranks->empty())
    return makeError("'ranks' must be a list of numbers of ranks");
  for (const json::Value &count : *ranks) {
    if (!isCount(count.getAsInteger()))
      return makeError("'ranks' must be numbers from 1 to 1048576");
    cluster.ranks.push_back(*count.getAsInteger());
  }
  if (root->get("ranks_per_node")) {
    if (!isCount(root->getInteger("ranks_per_node")))
      return makeError("'ranks_per_node' must be a number from 1 to 1048576");
    cluster.ranksPerNode = *root->getInteger("ranks_per_node");
  }
  Expected<Link> between = readLink(*root, "between");
  if (!between)
    return between.takeError();
  cluster.inside = cluster.between = *between;
  if (root->get("inside")) {
    Expected<Link> inside = readLink(*root, "inside");
    if (!inside)
      return inside.takeError();
    cluster.inside = *inside;
  } else if (cluster.ranksPerNode > 1) {
    return makeError("'inside' must say how ranks of a node are linked");
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

double Cluster::getSeconds(Exchange exchange, double bytes,
                           int64_t count) const {
  int64_t inNode = std::min(count, ranksPerNode);
  int64_t nodes = divideCeil(count, ranksPerNode);
  // A node's link carries the data that its ranks exchange with other nodes,
  // which are all bytes.
  double half = getRingSeconds(inside, bytes, inNode) +
                getRingSeconds(between, bytes, nodes);
  double tree = getTreeSeconds(inside, bytes, inNode) +
                getTreeSeconds(between, bytes, nodes);
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
