// SPDX-License-Identifier: Apache-2.0

#include "runtime/cuda/Tuner.h"

#include "runtime/core/Error.h"
#include "runtime/core/File.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>

using namespace ingot::runtime;

/// The first line of the file. Files without it are not read.
static constexpr std::string_view kHeader = "ingot tuned 1\n";

/// The default path of the file; empty if the user has no home folder.
static std::string getDefaultPath() {
  const char *cache = std::getenv("XDG_CACHE_HOME");
  const char *home = std::getenv("HOME");
  if (cache && *cache)
    return std::string(cache) + "/ingot/tuned.txt";
  return home && *home ? std::string(home) + "/.cache/ingot/tuned.txt" : "";
}

Tuner::Tuner(const Driver &driver, CUstream stream, std::string gpu,
             std::string path)
    : driver(driver), stream(stream), gpu(std::move(gpu)),
      path(path.empty() ? getDefaultPath() : std::move(path)) {
  std::replace(this->gpu.begin(), this->gpu.end(), '\t', ' ');
  driver.check(driver.cuEventCreate(&begin, CU_EVENT_DEFAULT),
               "making an event");
  driver.check(driver.cuEventCreate(&end, CU_EVENT_DEFAULT), "making an event");
  read();
}

Tuner::~Tuner() {
  for (CUevent event : {begin, end})
    if (event)
      (void)driver.cuEventDestroy(event);
}

/// Adds choices that are not known yet. A file that cannot be read, or damaged
/// lines, only cost measuring again.
void Tuner::read() {
  if (!std::filesystem::is_regular_file(path))
    return;
  try {
    MappedFile file(path);
    std::string_view text = file.getBytes();
    if (text.substr(0, kHeader.size()) != kHeader)
      return;
    text.remove_prefix(kHeader.size());
    while (!text.empty()) {
      std::string_view line = text.substr(0, text.find('\n'));
      text.remove_prefix(std::min(text.size(), line.size() + 1));
      size_t tab = line.rfind('\t');
      if (tab != std::string_view::npos)
        choices.emplace(line.substr(0, tab), line.substr(tab + 1));
    }
  } catch (const Error &) {
    return;
  }
}

std::optional<std::string> Tuner::find(const std::string &key) const {
  auto found = choices.find(gpu + '\t' + key);
  if (found == choices.end())
    return std::nullopt;
  return found->second;
}

void Tuner::keep(const std::string &key, const std::string &choice) {
  choices[gpu + '\t' + key] = choice;
  if (path.empty()) {
    problem = "HOME is not set";
    return;
  }
  // Other ranks and trainers write the file as well.
  read();
  try {
    std::error_code problem;
    if (std::string folder = getDirectory(path); !folder.empty())
      std::filesystem::create_directories(folder, problem);
    AtomicFile file(path);
    file.write(kHeader);
    for (const auto &[name, text] : choices)
      file.write(name + '\t' + text + '\n');
    file.commit();
  } catch (const Error &error) {
    problem = error.what();
  }
}

std::optional<float> Tuner::time(const std::function<bool()> &put) {
  // The first run loads code. The fastest of the others counts, because
  // interference only makes a run slower.
  constexpr int runs = 5;
  if (!put())
    return std::nullopt;
  std::optional<float> best;
  for (int i = 0; i < runs; ++i) {
    driver.check(driver.cuEventRecord(begin, stream), "recording an event");
    if (!put())
      return std::nullopt;
    driver.check(driver.cuEventRecord(end, stream), "recording an event");
    driver.check(driver.cuEventSynchronize(end), "timing on the GPU");
    float milliseconds = 0;
    driver.check(driver.cuEventElapsedTime(&milliseconds, begin, end),
                 "timing on the GPU");
    best = best ? std::min(*best, milliseconds) : milliseconds;
  }
  return best;
}

std::optional<size_t>
Tuner::findFastest(size_t count, const std::function<bool(size_t)> &put) {
  std::optional<size_t> fastest;
  float least = 0;
  for (size_t i = 0; i < count; ++i)
    if (std::optional<float> found = time([&] { return put(i); });
        found && (!fastest || *found < least)) {
      fastest = i;
      least = *found;
    }
  return fastest;
}
