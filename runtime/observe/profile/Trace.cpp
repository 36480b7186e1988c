// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A profile of a run.
//
//===----------------------------------------------------------------------===//

#include "runtime/observe/Profile.h"

#include "runtime/core/File.h"
#include "runtime/core/text/Text.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>

using namespace ingot::runtime;

/// Returns the kernel of an event; null if the manifest does not list it.
static const KernelSpec *findKernel(const Manifest &manifest,
                                    const ingot_event &event) {
  const FunctionSpec &function = manifest.functions[event.function];
  if (event.kernel < 0 ||
      event.kernel >= static_cast<int64_t>(function.kernels.size()))
    return nullptr;
  return &function.kernels[event.kernel];
}

static std::string getEventName(const Manifest &manifest,
                                const ingot_event &event) {
  if (event.kernel < 0)
    return manifest.getSymbol(manifest.functions[event.function]);
  const KernelSpec *kernel = findKernel(manifest, event);
  return kernel ? kernel->name : "kernel " + std::to_string(event.kernel);
}

static double getMicroseconds(std::chrono::steady_clock::duration duration) {
  return std::chrono::duration<double, std::micro>(duration).count();
}

void ingot::runtime::writeTrace(
    const std::string &path, const Manifest &manifest,
    const std::vector<ingot_event> &events,
    const std::vector<CommunicationEvent> &collectives) {
  AtomicFile file(path);
  file.write("{\"displayTimeUnit\": \"ms\", \"traceEvents\": [\n");
  // A function's event comes after those within it, so that the first event in
  // the list is not the first to begin.
  auto start = std::chrono::steady_clock::time_point::max();
  for (const ingot_event &event : events)
    start = std::min(start, event.begin);
  bool isFirst = true;
  auto write = [&](const nlohmann::ordered_json &item) {
    file.write(
        (isFirst ? "" : ",\n") +
        item.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    isFirst = false;
  };
  for (const ingot_event &event : events) {
    const KernelSpec *kernel = findKernel(manifest, event);
    nlohmann::ordered_json item = {
        {"name", getEventName(manifest, event)},
        {"cat", kernel ? kernel->kind : "function"},
        {"ph", "X"},
        {"pid", 0},
        {"tid", 0},
        {"ts", getMicroseconds(event.begin - start)},
        {"dur", getMicroseconds(event.end - event.begin)}};
    item["args"] = {
        {"function", manifest.getSymbol(manifest.functions[event.function])}};
    if (kernel)
      item["args"].update({{"onnx_nodes", kernel->onnxNodes},
                           {"bytes", kernel->bytes},
                           {"flops", kernel->flops}});
    write(item);
  }
  // Collectives that overlap have separate tracks.
  std::vector<CommunicationEvent::Time> tracks;
  for (const CommunicationEvent &event : collectives) {
    if (event.begin < start || event.end == CommunicationEvent::Time())
      continue;
    size_t track = 0;
    while (track < tracks.size() && tracks[track] > event.begin)
      ++track;
    tracks.resize(std::max(tracks.size(), track + 1));
    tracks[track] = event.end;
    write({{"name", event.what},
           {"cat", "communication"},
           {"ph", "X"},
           {"pid", 0},
           {"tid", 1 + track},
           {"ts", getMicroseconds(event.begin - start)},
           {"dur", getMicroseconds(event.end - event.begin)},
           {"args", {{"step", event.step}, {"bytes", event.bytes}}}});
  }
  file.write("\n]}\n");
  file.commit();
}

std::string
ingot::runtime::makeProfileTable(const Manifest &manifest,
                                 const std::vector<ingot_event> &events) {
  struct Row {
    ingot_event event;
    int64_t calls = 0;
    double microseconds = 0;
  };
  std::map<std::pair<int32_t, int64_t>, Row> rows;
  double total = 0;
  for (const ingot_event &event : events) {
    if (event.kernel < 0)
      continue;
    Row &row = rows[{event.function, event.kernel}];
    double microseconds = getMicroseconds(event.end - event.begin);
    row.event = event;
    ++row.calls;
    row.microseconds += microseconds;
    total += microseconds;
  }
  std::vector<Row> sorted;
  for (const auto &[key, row] : rows)
    sorted.push_back(row);
  std::sort(sorted.begin(), sorted.end(),
            [](auto &a, auto &b) { return a.microseconds > b.microseconds; });

  constexpr size_t maxRows = 30;
  std::string text = fmt::format(
      "{:>10} {:>6} {:>7} {:>10} {:>8} {:>8} {:>7}  {}\n", "total ms", "share",
      "calls", "us/call", "GB/s", "GFLOP/s", "of best", "kernel");
  for (size_t i = 0; i < std::min(sorted.size(), maxRows); ++i) {
    const Row &row = sorted[i];
    const KernelSpec *kernel = findKernel(manifest, row.event);
    double seconds = std::max(row.microseconds, 1e-3) * 1e-6;
    double calls = static_cast<double>(row.calls);
    double bytes = kernel ? static_cast<double>(kernel->bytes) : 0;
    double flops = kernel ? static_cast<double>(kernel->flops) : 0;
    // The least time by the roofline model, as a fraction of the time taken.
    double best = kernel ? kernel->boundMicroseconds : 0;
    text += fmt::format(
        "{:>10.2f} {:>5.1f}% {:>7} {:>10.1f} {:>8.2f} {:>8.2f} {:>6.0f}%  "
        "{}.{}\n",
        row.microseconds * 1e-3, 100 * row.microseconds / std::max(total, 1e-9),
        row.calls, row.microseconds / calls, bytes * calls / seconds * 1e-9,
        flops * calls / seconds * 1e-9, best * calls / seconds * 1e-4,
        manifest.getSymbol(manifest.functions[row.event.function]),
        describeName(getEventName(manifest, row.event)));
  }
  if (sorted.size() > maxRows)
    text += fmt::format("... and {} more\n", sorted.size() - maxRows);
  if (events.size() >= ingot_context::kMaxEvents)
    text += fmt::format("the profile ends after {} events\n", events.size());
  return text;
}
