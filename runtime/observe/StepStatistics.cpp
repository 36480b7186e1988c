// SPDX-License-Identifier: Apache-2.0

#include "runtime/observe/StepStatistics.h"

#include "runtime/core/libraries/JsonLibrary.h"
#include "runtime/core/text/JsonLine.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

using namespace ingot::runtime;

static double readProcessorSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  auto seconds = [](const timeval &time) {
    return static_cast<double>(time.tv_sec) +
           1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

int64_t ingot::runtime::readResidentBytes() {
  int descriptor = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (descriptor < 0)
    return 0;
  char text[128] = {};
  ssize_t size = read(descriptor, text, sizeof(text) - 1);
  close(descriptor);
  long long total = 0, resident = 0;
  if (size <= 0 || std::sscanf(text, "%lld %lld", &total, &resident) != 2)
    return 0;
  return resident * sysconf(_SC_PAGESIZE);
}

/// Returns the system's counts of this process; zeros where it has none.
static StorageUse readStorageUse() {
  int descriptor = open("/proc/self/io", O_RDONLY | O_CLOEXEC);
  if (descriptor < 0)
    return {};
  char text[512] = {};
  ssize_t size = read(descriptor, text, sizeof(text) - 1);
  close(descriptor);
  auto find = [&](const char *name) -> int64_t {
    const char *line = size > 0 ? std::strstr(text, name) : nullptr;
    return line ? std::atoll(line + std::strlen(name)) : 0;
  };
  return {find("\nread_bytes: "), find("\nwrite_bytes: ")};
}

StepStatistics::StepStatistics(ReadCommunication readCommunication)
    : readCommunication(std::move(readCommunication)),
      processorSeconds(readProcessorSeconds()),
      begin(std::chrono::steady_clock::now()), storage(readStorageUse()) {
  times.reserve(kWindow);
  if (this->readCommunication)
    communication = this->readCommunication();
}

void StepStatistics::add(double stepMs, double waitedMs,
                         const StepCost &added) {
  times.push_back(stepMs);
  totalMs += stepMs;
  dataMs += waitedMs;
  cost.tokens += added.tokens;
  cost.flops += added.flops;
  cost.boundMs += added.boundMs;
}

double ingot::runtime::getPercentile(const std::vector<double> &sorted,
                                     double part) {
  auto rank =
      static_cast<size_t>(std::ceil(part * static_cast<double>(sorted.size())));
  return sorted[std::clamp<size_t>(rank, 1, sorted.size()) - 1];
}

StepSummary StepStatistics::take() {
  StepSummary summary;
  if (times.empty())
    return summary;
  double total = totalMs;
  std::sort(times.begin(), times.end());
  double seconds = std::max(total * 1e-3, 1e-9);
  summary.steps = static_cast<int64_t>(times.size());
  summary.p50 = getPercentile(times, 0.5);
  summary.p90 = getPercentile(times, 0.9);
  summary.p99 = getPercentile(times, 0.99);
  summary.most = times.back();
  summary.dataShare = std::min(dataMs / std::max(total, 1e-6), 1.0);
  summary.rooflineShare = cost.boundMs / std::max(total, 1e-6);
  summary.tokensPerSecond = static_cast<double>(cost.tokens) / seconds;
  summary.gflops = cost.flops / seconds * 1e-9;
  // What the process uses, it uses between steps, too.
  auto end = std::chrono::steady_clock::now();
  double wall =
      std::max(std::chrono::duration<double>(end - begin).count(), 1e-9);
  begin = end;
  double now = readProcessorSeconds();
  summary.processors =
      std::min((now - processorSeconds) / wall,
               static_cast<double>(sysconf(_SC_NPROCESSORS_ONLN)));
  processorSeconds = now;
  summary.residentBytes = readResidentBytes();
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  // The system takes the peak from counters that it updates now and then.
  summary.peakResidentBytes =
      std::max<int64_t>(usage.ru_maxrss * 1024, summary.residentBytes);
  StorageUse used = readStorageUse();
  summary.readBytesPerSecond =
      static_cast<double>(used.read - storage.read) / wall;
  summary.writtenBytesPerSecond =
      static_cast<double>(used.written - storage.written) / wall;
  storage = used;
  if (readCommunication) {
    CommunicationUse sent = readCommunication();
    summary.exposedShare =
        std::min((sent.waitSeconds - communication.waitSeconds) / seconds, 1.0);
    summary.sentBytesPerSecond =
        static_cast<double>(sent.bytes - communication.bytes) / seconds;
    communication = sent;
  }
  times.clear();
  totalMs = dataMs = 0;
  cost = {};
  return summary;
}

std::string StepSummary::toJson() const {
  nlohmann::ordered_json json = {{"steps", steps},
                                 {"step_ms_p50", roundTo(p50, 3)},
                                 {"step_ms_p90", roundTo(p90, 3)},
                                 {"step_ms_p99", roundTo(p99, 3)},
                                 {"step_ms_max", roundTo(most, 3)},
                                 {"data_share", roundTo(dataShare, 4)},
                                 {"gflops", roundTo(gflops, 3)}};
  if (rooflineShare > 0)
    json["roofline_share"] = roundTo(rooflineShare, 4);
  if (tokensPerSecond > 0)
    json["tokens_per_s"] = roundTo(tokensPerSecond, 1);
  if (exposedShare)
    json["exposed_share"] = roundTo(*exposedShare, 4);
  if (sentBytesPerSecond)
    json["sent_bytes_per_s"] = std::llround(*sentBytesPerSecond);
  json["read_bytes_per_s"] = std::llround(readBytesPerSecond);
  json["written_bytes_per_s"] = std::llround(writtenBytesPerSecond);
  json["processors"] = roundTo(processors, 2);
  json["resident_bytes"] = residentBytes;
  json["peak_resident_bytes"] = peakResidentBytes;
  return formatJsonLine(json);
}
