// SPDX-License-Identifier: Apache-2.0

#include "runtime/trainer/options/Configuration.h"

#include "runtime/core/File.h"
#include "runtime/core/commandline/ConfigFile.h"

#include <ctime>
#include <fmt/format.h>

using namespace ingot::runtime;

/// How the second line begins.
static constexpr std::string_view kStarted = "# started ";

bool ingot::runtime::isConfiguration(std::string_view begin) {
  size_t end = begin.find('\n');
  return begin.starts_with("# ") && end != std::string_view::npos &&
         begin.substr(end + 1).starts_with(kStarted);
}

void ingot::runtime::writeConfiguration(const std::string &path,
                                        const std::string &header,
                                        const OptionWords &options) {
  char time[64] = "";
  std::time_t now = std::time(nullptr);
  std::tm parts{};
  if (gmtime_r(&now, &parts))
    (void)std::strftime(time, sizeof(time), "%Y-%m-%dT%H:%M:%SZ", &parts);
  AtomicFile file(path, Links::Replace);
  file.write(fmt::format("# {}\n{}{}\n", header, kStarted, time));
  file.write(formatConfiguration(options));
  file.commit();
}
