// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The checkpoints of a run that are there when its report is made.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/File.h"
#include "runtime/core/commandline/ConfigFile.h"
#include "tools/ingot-report/RunFiles.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>
#include <sstream>
#include <vector>

using namespace ingot;
using namespace ingot::runtime;
using nlohmann::ordered_json;
namespace fs = std::filesystem;

/// Returns the value of --save in a configuration; empty without one.
static std::string findSaveOption(std::string_view configuration) {
  std::istringstream text{std::string(configuration)};
  try {
    for (const CLI::ConfigItem &item : ConfigReader().from_config(text))
      if (item.name == "save" && item.inputs.size() == 1)
        return item.inputs.front();
  } catch (const CLI::ParseError &) {
    // Somebody has written in it.
  }
  return "";
}

/// Returns the folder that a run has saved to: as it was named, from here or
/// from the log, or else beside the log, where a run was moved.
static fs::path findFolder(const fs::path &saved, const fs::path &log) {
  fs::path beside = log.parent_path();
  fs::path name = (saved / "").parent_path().filename();
  std::error_code ignored;
  for (const fs::path &folder : {saved, beside / saved, beside / name})
    if (fs::is_directory(folder, ignored))
      return folder;
  return {};
}

/// Returns the step of a checkpoint's folder, `step-N`, or nothing.
static std::optional<int64_t> readStep(const std::string &name) {
  constexpr std::string_view start = "step-";
  int64_t step = 0;
  const char *begin = name.data() + start.size(),
             *end = name.data() + name.size();
  if (!name.starts_with(start))
    return std::nullopt;
  auto parsed = std::from_chars(begin, end, step);
  if (parsed.ec != std::errc() || parsed.ptr != end || step < 0)
    return std::nullopt;
  return step;
}

/// Returns the checkpoint that a file of the folder names, `latest` or `best`.
static std::optional<int64_t> readMark(const fs::path &path) {
  std::error_code ignored;
  constexpr uintmax_t most = 256;
  if (!fs::is_regular_file(path, ignored) ||
      fs::file_size(path, ignored) > most)
    return std::nullopt;
  MappedFile file(path.string());
  std::string_view text = file.getBytes();
  return readStep(std::string(text.substr(0, text.find('\n'))));
}

ordered_json ingot::readCheckpoints(std::string_view configuration,
                                    const std::string &log) {
  std::string saved = findSaveOption(configuration);
  fs::path folder = saved.empty() ? fs::path() : findFolder(saved, log);
  if (folder.empty())
    return nullptr;
  std::vector<int64_t> steps;
  std::error_code problem;
  for (fs::directory_iterator entry(folder, problem), end;
       !problem && entry != end; entry.increment(problem)) {
    std::error_code ignored;
    if (auto step = readStep(entry->path().filename().string());
        step && fs::is_regular_file(entry->path() / "checkpoint.json", ignored))
      steps.push_back(*step);
  }
  if (steps.empty())
    return nullptr;
  std::sort(steps.begin(), steps.end());
  ordered_json checkpoints = {{"folder", folder.lexically_normal().string()},
                              {"steps", steps}};
  for (const char *mark : {"latest", "best"})
    if (auto step = readMark(folder / mark))
      checkpoints[mark] = *step;
  return checkpoints;
}
