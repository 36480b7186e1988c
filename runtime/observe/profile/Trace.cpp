// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A profile in the JSON format of Chrome's tracing.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/File.h"
#include "runtime/core/libraries/JsonLibrary.h"
#include "runtime/observe/profile/Profile.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

using namespace ingot::runtime;
using nlohmann::ordered_json;
using Time = std::chrono::steady_clock::time_point;

const KernelSpec *ingot::runtime::findKernel(const Manifest &manifest,
                                             const ingot_event &event) {
  const FunctionSpec &function = manifest.functions[event.function];
  if (event.kernel < 0 ||
      event.kernel >= static_cast<int64_t>(function.kernels.size()))
    return nullptr;
  return &function.kernels[event.kernel];
}

std::string ingot::runtime::getEventName(const Manifest &manifest,
                                         const ingot_event &event) {
  if (event.kernel < 0)
    return manifest.getSymbol(manifest.functions[event.function]);
  const KernelSpec *kernel = findKernel(manifest, event);
  return kernel ? kernel->name : "kernel " + std::to_string(event.kernel);
}

namespace {

/// The tracks of a rank, in the order in which viewers show them; collectives
/// that overlap have more tracks after the last.
enum Track { Kernels, Steps, Data, Beside, Exchanges, Communication };

/// The track of each queue of a device.
constexpr Track kQueues[] = {Kernels, Beside, Exchanges};

/// Writes the events of one trace.
class TraceWriter {
public:
  TraceWriter(AtomicFile &file, const Manifest &manifest,
              const Profile &profile);

  void writeNames(size_t communicationTracks);
  void writeSteps();
  void writeKernels();
  void writeCollectives(const std::vector<CommunicationEvent> &collectives);

private:
  void write(const ordered_json &item);
  void writeSlice(Track track, const std::string &name, const std::string &kind,
                  TimeSpan span, ordered_json args, size_t lane = 0);
  void writeFlow(const char *phase, const char *name, int64_t id, size_t track,
                 Time at);
  void writeCounter(const char *name, Time at, double mebibytes);
  double getTime(Time time) const;

  AtomicFile &file;
  const Manifest &manifest;
  const Profile &profile;
  std::set<Track> used;
  Time start = Time::max();
  bool isFirst = true;
  int64_t flows = 0;
};

} // namespace

TraceWriter::TraceWriter(AtomicFile &file, const Manifest &manifest,
                         const Profile &profile)
    : file(file), manifest(manifest), profile(profile) {
  // A function's event comes after those within it, so that the first event in
  // the list is not the first to begin.
  for (const ingot_event &event : profile.events)
    start = std::min(start, event.begin);
  for (const ProfiledStep &step : profile.steps)
    start = std::min(start, step.time.begin);
}

void TraceWriter::write(const ordered_json &item) {
  file.write((isFirst ? "" : ",\n") +
             item.dump(-1, ' ', false, ordered_json::error_handler_t::replace));
  isFirst = false;
}

/// Microseconds with three digits: clocks have no more.
static double roundToNanoseconds(double microseconds) {
  return std::round(microseconds * 1e3) * 1e-3;
}

double TraceWriter::getTime(Time time) const {
  return roundToNanoseconds(
      std::chrono::duration<double, std::micro>(time - start).count());
}

void TraceWriter::writeSlice(Track track, const std::string &name,
                             const std::string &kind, TimeSpan span,
                             ordered_json args, size_t lane) {
  write({{"name", name},
         {"cat", kind},
         {"ph", "X"},
         {"pid", 0},
         {"tid", track + lane},
         {"ts", getTime(span.begin)},
         {"dur", roundToNanoseconds(span.getMicroseconds())},
         {"args", std::move(args)}});
}

void TraceWriter::writeFlow(const char *phase, const char *name, int64_t id,
                            size_t track, Time at) {
  ordered_json item = {{"name", name},     {"cat", "flow"}, {"ph", phase},
                       {"id", id},         {"pid", 0},      {"tid", track},
                       {"ts", getTime(at)}};
  // The slice that encloses the end, not the one that begins after it.
  if (*phase == 'f')
    item["bp"] = "e";
  write(item);
}

void TraceWriter::writeCounter(const char *name, Time at, double mebibytes) {
  write({{"name", name},
         {"ph", "C"},
         {"pid", 0},
         {"ts", getTime(at)},
         {"args", {{"MiB", mebibytes}}}});
}

void TraceWriter::writeNames(size_t communicationTracks) {
  auto name = [&](const char *what, int64_t track, const std::string &text) {
    write({{"name", what},
           {"ph", "M"},
           {"pid", 0},
           {"tid", track},
           {"args", {{"name", text}}}});
  };
  auto nameTrack = [&](int64_t track, const std::string &text) {
    name("thread_name", track, text);
    write({{"name", "thread_sort_index"},
           {"ph", "M"},
           {"pid", 0},
           {"tid", track},
           // Steps are above their kernels.
           {"args", {{"sort_index", track == Kernels ? Data : track}}}});
  };
  name("process_name", 0, manifest.model);
  nameTrack(Kernels, "kernels");
  nameTrack(Steps, "steps");
  nameTrack(Data, "waits for data");
  if (used.count(Beside))
    nameTrack(Beside, "kernels beside the others");
  if (used.count(Exchanges))
    nameTrack(Exchanges, "exchanges on the device");
  for (size_t i = 0; i < communicationTracks; ++i)
    nameTrack(static_cast<int64_t>(Communication + i),
              i == 0 ? "collectives" : "collectives " + std::to_string(i + 1));
}

void TraceWriter::writeSteps() {
  std::vector<Time> functions;
  for (const ingot_event &event : profile.events)
    if (event.kernel < 0)
      functions.push_back(event.begin);
  std::sort(functions.begin(), functions.end());
  for (const ProfiledStep &step : profile.steps) {
    writeSlice(Steps, "step " + std::to_string(step.number), "step", step.time,
               {{"step", step.number}});
    writeCounter("resident memory", step.time.end,
                 static_cast<double>(step.residentBytes) / (1 << 20));
    for (const TimeSpan &wait : step.data) {
      writeSlice(Data, "wait for data", "data", wait, {{"step", step.number}});
      // The function that takes the batch.
      auto taker =
          std::lower_bound(functions.begin(), functions.end(), wait.end);
      if (taker == functions.end() || *taker >= step.time.end)
        continue;
      writeFlow("s", "batch", ++flows, Data, wait.begin);
      writeFlow("f", "batch", flows, Kernels, *taker);
    }
  }
}

/// The bytes of the arena that are in use while each kernel runs.
static std::vector<int64_t> getUse(const FunctionSpec &function) {
  std::vector<int64_t> changes(function.kernels.size() + 1);
  auto count = static_cast<int64_t>(function.kernels.size());
  for (const ArenaInterval &interval : function.intervals) {
    changes[std::min(interval.first, count)] += interval.bytes;
    changes[std::clamp<int64_t>(interval.last + 1, 0, count)] -= interval.bytes;
  }
  for (size_t i = 1; i < changes.size(); ++i)
    changes[i] += changes[i - 1];
  changes.pop_back();
  return changes;
}

void TraceWriter::writeKernels() {
  std::map<int32_t, std::vector<int64_t>> uses;
  int64_t last = -1;
  for (const ingot_event &event : profile.events) {
    const FunctionSpec &function = manifest.functions[event.function];
    const KernelSpec *kernel = findKernel(manifest, event);
    ordered_json args = {{"function", manifest.getSymbol(function)}};
    if (kernel) {
      args.update({{"kernel", event.kernel},
                   {"onnx_nodes", kernel->onnxNodes},
                   {"bytes", kernel->bytes},
                   {"flops", kernel->flops},
                   {"at_least_us", kernel->boundMicroseconds}});
      if (!kernel->part.empty())
        args["part"] = kernel->part;
      if (event.name >= 0)
        args["device_function"] = profile.names[event.name];
    }
    Track track = kQueues[event.queue];
    used.insert(track);
    writeSlice(track, getEventName(manifest, event),
               kernel ? kernel->kind : "function", {event.begin, event.end},
               std::move(args));
    auto [use, isNew] = uses.try_emplace(event.function);
    if (isNew)
      use->second = getUse(function);
    if (kernel && use->second[event.kernel] != last) {
      last = use->second[event.kernel];
      writeCounter("arena in use", event.begin,
                   static_cast<double>(last) / (1 << 20));
    }
  }
}

/// The runs of kernels that are collectives, by the name of the bucket.
static std::map<std::string, std::vector<TimeSpan>>
findWaits(const Manifest &manifest, const Profile &profile) {
  std::map<std::string, std::vector<TimeSpan>> waits;
  for (const ingot_event &event : profile.events) {
    const KernelSpec *kernel = findKernel(manifest, event);
    if (kernel && kernel->kind == "collective" && !kernel->onnxNodes.empty())
      waits[kernel->onnxNodes.back()].push_back({event.begin, event.end});
  }
  return waits;
}

void TraceWriter::writeCollectives(
    const std::vector<CommunicationEvent> &collectives) {
  auto waits = findWaits(manifest, profile);
  std::set<int64_t> steps;
  for (const ProfiledStep &step : profile.steps)
    steps.insert(step.number);
  // Collectives that overlap have separate tracks.
  std::vector<Time> tracks(1);
  for (const CommunicationEvent &event : collectives) {
    if (event.begin < start || event.end == Time() ||
        (!steps.empty() && !steps.count(event.step)))
      continue;
    size_t lane = 0;
    while (lane < tracks.size() && tracks[lane] > event.begin)
      ++lane;
    tracks.resize(std::max(tracks.size(), lane + 1));
    tracks[lane] = event.end;
    writeSlice(Communication, event.what, "communication",
               {event.begin, event.end},
               {{"step", event.step}, {"bytes", event.bytes}}, lane);
    // From the kernel that asked for it to the one that waits for it.
    auto found = std::find_if(waits.begin(), waits.end(), [&](auto &entry) {
      return event.what.ends_with(" " + entry.first);
    });
    if (found == waits.end())
      continue;
    auto wait = std::find_if(
        found->second.begin(), found->second.end(),
        [&](const TimeSpan &span) { return span.begin > event.asked; });
    writeFlow("s", "exchange", ++flows, Kernels, event.asked);
    bool isWaited = wait != found->second.end();
    writeFlow(isWaited ? "t" : "f", "exchange", flows, Communication + lane,
              event.begin);
    if (isWaited)
      writeFlow("f", "exchange", flows, Kernels, wait->end);
  }
  writeNames(tracks.size());
}

void ingot::runtime::writeTrace(
    const std::string &path, const Manifest &manifest,
    const ProfiledDevice &device, const Profile &profile,
    const std::vector<CommunicationEvent> &collectives) {
  AtomicFile file(path);
  ordered_json about = {{"model", manifest.model},
                        {"producer", manifest.producer},
                        {"device", device.description}};
  if (!device.times.empty())
    about["times"] = device.times;
  file.write(
      "{\"displayTimeUnit\": \"ms\", \"otherData\": " +
      about.dump(-1, ' ', false, ordered_json::error_handler_t::replace) +
      ", \"traceEvents\": [\n");
  TraceWriter writer(file, manifest, profile);
  writer.writeKernels();
  writer.writeSteps();
  writer.writeCollectives(collectives);
  file.write("\n]}\n");
  file.commit();
}
