// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The trace of a profile, summed over its steps.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Error.h"
#include "runtime/core/File.h"
#include "runtime/core/text/BoundedJson.h"
#include "tools/ingot-report/RunFiles.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

using namespace ingot;
using namespace ingot::runtime;
using nlohmann::ordered_json;

namespace {

/// The calls of a kernel.
struct Kernel {
  std::string name, part, kind;
  ordered_json nodes = ordered_json::array();
  double bytes = 0, flops = 0, bound = 0;
  std::vector<double> times;
};

/// Adds up the events of a trace.
class TraceReader {
public:
  void add(const ordered_json &event);
  bool isEmpty() const { return steps.empty() && kernels.empty(); }
  ordered_json toJson();

private:
  /// The function, and the index of the kernel in it: names of kernels occur
  /// again.
  using Key = std::pair<std::string, int64_t>;

  std::map<Key, Kernel> kernels;
  std::vector<Key> order;
  std::vector<double> steps;
  double functions = 0, data = 0;
  /// When the first step began and ended, and the arena in use.
  double firstBegin = -1, firstEnd = 0;
  std::vector<std::pair<double, double>> arena;
};

} // namespace

static double getNumber(const ordered_json &object, const char *name) {
  auto found = object.find(name);
  return found != object.end() && found->is_number() ? found->get<double>() : 0;
}

static std::string getText(const ordered_json &object, const char *name) {
  auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>()
                                                     : "";
}

/// The nearest rank, as the table of the trainer has it.
static double getPercentile(const std::vector<double> &sorted, double part) {
  auto rank =
      static_cast<size_t>(std::ceil(part * static_cast<double>(sorted.size())));
  return sorted[std::clamp<size_t>(rank, 1, sorted.size()) - 1];
}

void TraceReader::add(const ordered_json &event) {
  std::string phase = getText(event, "ph"), kind = getText(event, "cat");
  double begin = getNumber(event, "ts"), time = getNumber(event, "dur");
  static const ordered_json nothing = ordered_json::object();
  auto found = event.find("args");
  const ordered_json &args =
      found != event.end() && found->is_object() ? *found : nothing;
  if (phase == "C" && getText(event, "name") == "arena in use")
    arena.emplace_back(begin, getNumber(args, "MiB"));
  if (phase != "X")
    return;
  if (kind == "step") {
    steps.push_back(time);
    if (firstBegin < 0 || begin < firstBegin) {
      firstBegin = begin;
      firstEnd = begin + time;
    }
  } else if (kind == "data") {
    data += time;
  } else if (kind == "function") {
    functions += time;
  } else if (kind != "communication") {
    auto number = args.find("kernel");
    Key key{getText(args, "function"),
            number != args.end() && number->is_number_integer()
                ? number->get<int64_t>()
                : 0};
    auto [entry, isNew] = kernels.try_emplace(key);
    Kernel &kernel = entry->second;
    kernel.times.push_back(time);
    if (!isNew)
      return;
    order.push_back(key);
    kernel.name = getText(event, "name");
    kernel.part = getText(args, "part");
    kernel.kind = kind;
    if (args.contains("onnx_nodes"))
      kernel.nodes = args["onnx_nodes"];
    kernel.bytes = getNumber(args, "bytes");
    kernel.flops = getNumber(args, "flops");
    kernel.bound = getNumber(args, "at_least_us");
  }
}

ordered_json TraceReader::toJson() {
  auto count = static_cast<double>(std::max<size_t>(steps.size(), 1));
  std::map<std::string, double> parts;
  double inKernels = 0;
  ordered_json rows = ordered_json::array();
  for (const Key &key : order) {
    Kernel &kernel = kernels[key];
    std::sort(kernel.times.begin(), kernel.times.end());
    double total = 0;
    for (double time : kernel.times)
      total += time;
    inKernels += total;
    parts[kernel.part.empty() ? "other kernels" : kernel.part] += total;
    rows.push_back({{"function", key.first},
                    {"kernel", key.second},
                    {"name", kernel.name},
                    {"part", kernel.part},
                    {"kind", kernel.kind},
                    {"onnx_nodes", kernel.nodes},
                    {"calls", kernel.times.size()},
                    {"total_us", total},
                    {"p50_us", getPercentile(kernel.times, 0.5)},
                    {"p90_us", getPercentile(kernel.times, 0.9)},
                    {"p99_us", getPercentile(kernel.times, 0.99)},
                    {"bytes", kernel.bytes},
                    {"flops", kernel.flops},
                    {"bound_us", kernel.bound}});
  }
  double total = 0;
  for (double time : steps)
    total += time;
  std::sort(steps.begin(), steps.end());
  ordered_json breakdown = ordered_json::array();
  auto addPart = [&](const char *name, double time) {
    if (time > 0)
      breakdown.push_back({{"name", name}, {"ms", time / count * 1e-3}});
  };
  for (const char *name :
       {"forward", "backward", "optimizer", "communication", "other kernels"})
    addPart(name, parts[name]);
  addPart("between kernels", std::max(0.0, functions - inKernels));
  addPart("waits for data", data);
  addPart("rest of the step", std::max(0.0, total - functions - data));
  ordered_json json = {{"steps", steps.size()},
                       {"parts", std::move(breakdown)},
                       {"kernels", std::move(rows)}};
  if (!steps.empty())
    json["step_ms"] = {{"mean", total / count * 1e-3},
                       {"p50", getPercentile(steps, 0.5) * 1e-3},
                       {"p90", getPercentile(steps, 0.9) * 1e-3},
                       {"p99", getPercentile(steps, 0.99) * 1e-3}};
  ordered_json memory = ordered_json::array();
  for (auto [time, mebibytes] : arena)
    if (time >= firstBegin && time <= firstEnd)
      memory.push_back({(time - firstBegin) * 1e-3, mebibytes});
  json["arena"] = std::move(memory);
  return json;
}

ordered_json ingot::readTrace(const std::string &path) {
  MappedFile file(path);
  TraceReader reader;
  // Traces are large: an event is dropped once it is counted.
  auto take = [&](int depth, ordered_json::parse_event_t event,
                  ordered_json &value) {
    constexpr int eventDepth = 2;
    if (event != ordered_json::parse_event_t::object_end || depth != eventDepth)
      return true;
    reader.add(value);
    return false;
  };
  auto json = isTooDeep(file.getBytes())
                  ? ordered_json()
                  : ordered_json::parse(file.getBytes(), take,
                                        /*allow_exceptions=*/false);
  if (!json.is_object() || reader.isEmpty())
    throw badInput(path, "is no trace of a trainer, or is damaged",
                   "give what --profile of a trainer wrote");
  ordered_json profile = reader.toJson();
  profile["file"] = path;
  if (json.contains("otherData") && json["otherData"].is_object())
    for (const auto &[name, value] : json["otherData"].items())
      if (value.is_string())
        profile[name] = value;
  return profile;
}
