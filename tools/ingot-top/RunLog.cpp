// SPDX-License-Identifier: Apache-2.0

#include "tools/ingot-top/RunLog.h"
#include "runtime/core/text/BoundedJson.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <ctime>
#include <fcntl.h>
#include <fstream>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

using namespace ingot;
using nlohmann::json;

RunLog::RunLog(RunLog &&other) noexcept
    : path(std::move(other.path)), rest(std::move(other.rest)),
      descriptor(std::exchange(other.descriptor, -1)), offset(other.offset),
      device(other.device), inode(other.inode), isFirst(other.isFirst),
      recent(std::move(other.recent)), last(std::move(other.last)),
      statistics(std::move(other.statistics)),
      evaluation(std::move(other.evaluation)), totalSteps(other.totalSteps),
      configured(other.configured) {}

RunLog::~RunLog() {
  if (descriptor >= 0)
    close(descriptor);
}

void RunLog::open() {
  // A pipe of that name does not keep us waiting.
  descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat status{};
  if (descriptor < 0 || fstat(descriptor, &status) != 0 ||
      !S_ISREG(status.st_mode)) {
    if (descriptor >= 0)
      close(std::exchange(descriptor, -1));
    return;
  }
  device = status.st_dev;
  inode = status.st_ino;
  rest.clear();
  // Enough for the lines that are kept and those with statistics.
  constexpr int64_t most = 512 * 1024;
  offset = isFirst ? std::max<int64_t>(0, status.st_size - most) : 0;
  // The first line is only a part of one, which is no JSON.
  isFirst = false;
}

void RunLog::update() {
  readConfiguration();
  struct stat status{};
  bool isThere = stat(path.c_str(), &status) == 0;
  if (descriptor >= 0) {
    // The end of a log that was put aside is still read.
    readMore();
    struct stat own{};
    bool isOther =
        isThere && (status.st_dev != device || status.st_ino != inode);
    bool isShorter = fstat(descriptor, &own) == 0 && own.st_size < offset;
    if (isShorter && !isOther) {
      recent.clear();
      offset = 0;
      rest.clear();
    }
    if (isOther)
      close(std::exchange(descriptor, -1));
  }
  if (descriptor < 0 && isThere)
    open();
  if (descriptor >= 0)
    readMore();
}

void RunLog::readMore() {
  char buffer[64 * 1024];
  while (true) {
    ssize_t size = pread(descriptor, buffer, sizeof(buffer), offset);
    if (size <= 0)
      break;
    offset += size;
    rest.append(buffer, static_cast<size_t>(size));
    size_t begin = 0;
    for (size_t end; (end = rest.find('\n', begin)) != std::string::npos;
         begin = end + 1)
      readLine(std::string_view(rest).substr(begin, end - begin));
    rest.erase(0, begin);
    // No line of a log is that long.
    constexpr size_t most = 1 << 20;
    if (rest.size() > most)
      rest.clear();
  }
}

static double getNumber(const json &line, const char *name) {
  auto found = line.find(name);
  return found != line.end() && found->is_number() ? found->get<double>()
                                                   : std::nan("");
}

void RunLog::readLine(std::string_view text) {
  json line = runtime::parseJson(text);
  if (!line.is_object() || !line.contains("step") ||
      !line["step"].is_number_unsigned() ||
      line["step"].get<uint64_t>() > uint64_t(INT64_MAX))
    return;
  auto step = line["step"].get<int64_t>();
  if (!line.contains("step_ms")) {
    evaluation = std::move(line);
    return;
  }
  // Steps that are taken again replace those before.
  while (!recent.empty() && recent.back().number >= step)
    recent.pop_back();
  recent.push_back({step, getNumber(line, "loss"), getNumber(line, "step_ms"),
                    getNumber(line, "elapsed_s")});
  if (recent.size() > kRecent)
    recent.pop_front();
  if (line.contains("stats") && line["stats"].is_object())
    statistics = line["stats"];
  last = std::move(line);
}

void RunLog::readConfiguration() {
  struct stat status{};
  std::string beside = path + ".toml";
  if (stat(beside.c_str(), &status) != 0 || !S_ISREG(status.st_mode) ||
      status.st_mtime == configured)
    return;
  configured = status.st_mtime;
  // The first line ends with `; N steps`, or `; 1 step`.
  std::ifstream file(beside);
  std::string line;
  std::getline(file, line);
  size_t begin = line.rfind("; ");
  totalSteps.reset();
  std::string_view suffix = line.ends_with(" step") ? " step" : " steps";
  if (begin == std::string::npos || !line.ends_with(suffix))
    return;
  int64_t steps = 0;
  const char *end = line.data() + line.size() - suffix.size();
  auto parsed = std::from_chars(line.data() + begin + 2, end, steps);
  if (parsed.ec == std::errc() && parsed.ptr == end && steps >= 0)
    totalSteps = steps;
}

double RunLog::getAge() const {
  struct stat status{};
  if (stat(path.c_str(), &status) != 0)
    return 0;
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<double>(now.tv_sec - status.st_mtim.tv_sec) +
         1e-9 * static_cast<double>(now.tv_nsec - status.st_mtim.tv_nsec);
}
