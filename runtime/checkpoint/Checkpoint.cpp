// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Checkpoints.
//
//===----------------------------------------------------------------------===//

#include "runtime/checkpoint/Checkpoint.h"

#include "runtime/checkpoint/CheckpointInfo.h"
#include "runtime/core/Error.h"
#include "runtime/core/files/Crc32.h"

#include <algorithm>
#include <cctype>
#include <fcntl.h>
#include <filesystem>
#include <stdio.h>
#include <unistd.h>
#include <vector>

using namespace ingot::runtime;
namespace fs = std::filesystem;

static constexpr const char *kStateName = "state.safetensors";
static constexpr const char *kInfoName = "checkpoint.json";
static constexpr const char *kConstantsName = "constants.safetensors";
static constexpr const char *kSpareName = "constants-spare.safetensors";
static constexpr const char *latestName = "latest";
static constexpr const char *kBestName = "best";
static constexpr std::string_view prefix = "step-";
static const std::string temporaryMark = ".tmp-", kOldMark = "-old";

static std::string getShardName(int64_t rank) {
  return "shard-" + std::to_string(rank) + ".safetensors";
}

/// The content of `latest`: the name, and a checksum, so that damage does not
/// name another checkpoint.
static std::string formatLatest(const std::string &name) {
  return name + "\ncrc32 " + std::to_string(computeCrc32(name)) + "\n";
}

/// The step in a checkpoint's name, or -1.
static int64_t parseStep(const std::string &name) {
  constexpr size_t maxDigits = 18;
  bool isName = name.starts_with(prefix) && name.size() > prefix.size() &&
                name.size() <= prefix.size() + maxDigits &&
                std::all_of(name.begin() + prefix.size(), name.end(),
                            [](unsigned char c) { return std::isdigit(c); });
  return isName ? std::stoll(name.substr(prefix.size())) : -1;
}

static bool areDigits(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return std::isdigit(c); });
}

/// Whether a process that was killed has left a file or folder of this name:
/// one that is given later, the mark, and the number of the process.
static bool isLeftover(const std::string &name) {
  size_t mark = name.rfind(temporaryMark);
  if (mark == std::string::npos)
    return false;
  std::string_view number = name;
  number.remove_prefix(mark + temporaryMark.size());
  if (number.ends_with(kOldMark))
    number.remove_suffix(kOldMark.size());
  std::string meant = name.substr(0, mark);
  return areDigits(number) && (parseStep(meant) >= 0 || meant == latestName ||
                               meant == kBestName || meant == ".probe");
}

static std::vector<std::string> listNames(const std::string &directory) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(directory, error), end;
       !error && entry != end; entry.increment(error))
    names.push_back(entry->path().filename());
  return names;
}

void ingot::runtime::removeLeftovers(const std::string &directory) {
  std::error_code ignored;
  for (const std::string &name : listNames(directory))
    if (isLeftover(name))
      fs::remove_all(fs::path(directory) / name, ignored);
}

/// The steps of the complete checkpoints in a folder, the newest first.
static std::vector<int64_t> findSteps(const std::string &directory) {
  std::vector<int64_t> steps;
  for (const std::string &name : listNames(directory))
    if (int64_t step = parseStep(name); step >= 0)
      steps.push_back(step);
  std::sort(steps.rbegin(), steps.rend());
  return steps;
}

static std::string getPath(const std::string &directory, int64_t step) {
  return directory + "/" + std::string(prefix) + std::to_string(step);
}

/// The step that a file such as `latest` names, or -1 if it is not there or
/// damaged.
static int64_t readName(const std::string &path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error))
    return -1;
  std::string content(MappedFile(path).getBytes());
  std::string name = content.substr(0, content.find('\n'));
  return content == formatLatest(name) ? parseStep(name) : -1;
}

/// Removes a checkpoint. Renaming first means that a folder with a checkpoint's
/// name is always complete. A folder that is none stays.
static void removeCheckpoint(const std::string &directory, int64_t step) {
  std::error_code ignored;
  fs::path path = getPath(directory, step), doomed = path;
  if (!fs::exists(path / kInfoName, ignored))
    return;
  doomed += temporaryMark + std::to_string(getpid());
  fs::rename(path, doomed, ignored);
  fs::remove_all(doomed, ignored);
}

std::string ingot::runtime::findNewest(const std::string &directory) {
  std::error_code ignored;
  for (int64_t step : findSteps(directory))
    if (std::string path = getPath(directory, step);
        fs::exists(path + "/" + kInfoName, ignored))
      return fs::path(path).filename();
  return "";
}

bool ingot::runtime::isInFolder(const std::string &path,
                                const std::string &directory) {
  std::error_code ignored;
  if (fs::equivalent(path, directory, ignored))
    return true;
  fs::path named = fs::path(path).lexically_normal();
  if (!named.has_filename())
    named = named.parent_path();
  std::string name = named.filename();
  bool isOne = parseStep(name) >= 0 || name == latestName || name == kBestName;
  return isOne && fs::equivalent(getDirectory(named), directory, ignored);
}

void ingot::runtime::removeCheckpoints(const std::string &directory) {
  std::error_code ignored;
  for (const char *name : {latestName, kBestName})
    fs::remove(directory + "/" + name, ignored);
  for (int64_t step : findSteps(directory))
    removeCheckpoint(directory, step);
}

static void prune(const std::string &directory, int64_t newest,
                  const Retention &retention) {
  removeLeftovers(directory);
  int64_t best = readName(directory + "/" + kBestName);
  int64_t others = std::max<int64_t>(retention.newest - 1, 0);
  for (int64_t step : findSteps(directory)) {
    if (step == newest || (step != best && others-- > 0) || step == best)
      continue;
    removeCheckpoint(directory, step);
  }
}

/// Renames a complete folder to its final name. A folder cannot replace one
/// that is not empty, so that an older one of the same step is exchanged with
/// it. At every moment the name is that of a complete checkpoint.
static bool giveName(const std::string &temporary, const std::string &final) {
  std::error_code ignored;
  if (!fs::exists(final, ignored))
    return rename(temporary.c_str(), final.c_str()) == 0;
  if (renameat2(AT_FDCWD, temporary.c_str(), AT_FDCWD, final.c_str(),
                RENAME_EXCHANGE) == 0)
    return true;
  // On file systems that cannot exchange names there is a moment without the
  // folder.
  std::string old = temporary + kOldMark;
  return rename(final.c_str(), old.c_str()) == 0 &&
         rename(temporary.c_str(), final.c_str()) == 0;
}

/// Writes a file of tensors; returns its checksum.
static uint32_t saveTensors(const std::string &path, const SafeTensors &state) {
  AtomicFile file(path);
  // The cache is of more use to what training reads.
  file.bypassCache();
  uint32_t crc = writeSafeTensors(file, state);
  file.commit();
  return crc;
}

/// Gives a file of states that do not change another name, if the checkpoint
/// in `folder` has it with this checksum.
static bool linkConstants(const std::string &folder, const char *name,
                          const std::string &path, uint32_t crc) {
  try {
    std::string info = folder + "/" + kInfoName;
    if (parseInfo(MappedFile(info).getBytes(), info).constantCrc != crc)
      return false;
    std::error_code error;
    fs::create_hard_link(folder + "/" + name, path, error);
    return !error;
  } catch (const Error &) {
    // That one is damaged, or has gone.
    return false;
  }
}

/// Writes the states that do not change, or links them to those of an earlier
/// checkpoint with the same bytes. There are two such files, so that this
/// checkpoint and the one before do not share one: the first save writes a
/// spare one for the second.
static uint32_t saveConstants(const std::string &directory,
                              const std::string &temporary,
                              const CheckpointContent &content) {
  std::string path = temporary + "/" + kConstantsName,
              spare = temporary + "/" + kSpareName;
  std::vector<int64_t> steps = findSteps(directory);
  std::erase(steps, content.info.step);
  if (content.constantsCrc && !steps.empty()) {
    uint32_t crc = *content.constantsCrc;
    std::string before = getPath(directory, steps[0]);
    if (steps.size() > 1 &&
        linkConstants(getPath(directory, steps[1]), kConstantsName, path, crc))
      return crc;
    if (linkConstants(before, kSpareName, path, crc)) {
      (void)linkConstants(before, kConstantsName, spare, crc);
      return crc;
    }
  }
  (void)saveTensors(spare, content.constants);
  return saveTensors(path, content.constants);
}

uint32_t ingot::runtime::saveShards(const std::string &folder, int64_t rank,
                                    const SafeTensors &shards) {
  return saveTensors(folder + "/" + getShardName(rank), shards);
}

static void writeName(const std::string &directory, const char *file,
                      const std::string &name) {
  AtomicFile named(directory + "/" + file, Links::Replace);
  named.write(formatLatest(name));
  named.commit();
}

NewCheckpoint::NewCheckpoint(const std::string &directory, int64_t step)
    : directory(directory), name(std::string(prefix) + std::to_string(step)),
      temporary(directory + "/" + name + temporaryMark +
                std::to_string(getpid())) {
  std::error_code ignored;
  fs::remove_all(temporary, ignored);
  try {
    makeFolder(temporary);
  } catch (const Error &problem) {
    throw failure(directory, problem.getWhat(), problem.getHint());
  }
}

NewCheckpoint::~NewCheckpoint() {
  std::error_code ignored;
  if (!isNamed)
    fs::remove_all(temporary, ignored);
}

void NewCheckpoint::write(const CheckpointContent &content) {
  stateCrc = saveTensors(temporary + "/" + kStateName, content.state);
  if (content.constants.tensors.empty())
    return;
  // What an attempt before this one has written or linked.
  std::error_code ignored;
  for (const char *file : {kConstantsName, kSpareName})
    fs::remove(temporary + "/" + file, ignored);
  constantsCrc = saveConstants(directory, temporary, content);
}

void NewCheckpoint::commit(const CheckpointInfo &info,
                           const Retention &retention,
                           std::vector<uint32_t> shardCrcs) {
  if (!isNamed) {
    CheckpointFile file;
    file.info = info;
    file.stateCrc = stateCrc;
    file.constantCrc = constantsCrc;
    file.shardCrcs = std::move(shardCrcs);
    AtomicFile infoFile(temporary + "/" + kInfoName);
    infoFile.write(formatInfo(file));
    infoFile.commit();
    std::string final = directory + "/" + name;
    if (!giveName(temporary, final))
      throw failure(final, "cannot write: " + describeErrno(),
                    "check the path and its permissions");
    isNamed = true;
  }
  syncDirectory(directory);
  writeName(directory, latestName, name);
  if (retention.isBest)
    writeName(directory, kBestName, name);
  prune(directory, info.step, retention);
}

std::optional<uint32_t>
ingot::runtime::saveCheckpoint(const std::string &directory,
                               const CheckpointContent &content,
                               const Retention &retention) {
  NewCheckpoint checkpoint(directory, content.info.step);
  checkpoint.write(content);
  checkpoint.commit(content.info, retention);
  return checkpoint.getConstantsCrc();
}

static Error nameless(const std::string &path) {
  return badInput(path, "damaged: it does not name a checkpoint",
                  "give --resume one of the folder's step-N");
}

/// The folder of the checkpoint that `path` stands for.
static std::string findCheckpoint(const std::string &path) {
  std::error_code error;
  if (fs::exists(path + "/" + kInfoName, error))
    return path;
  std::string file = fs::path(path).filename();
  if ((file == latestName || file == kBestName) &&
      fs::is_regular_file(path, error)) {
    int64_t step = readName(path);
    if (step < 0)
      throw nameless(path);
    return getPath(getDirectory(path), step);
  }
  std::string latest = path + "/" + latestName;
  bool hasLatest = !error && fs::exists(latest, error);
  if (error && error != std::errc::not_a_directory)
    throw badInput(path, "cannot be read: " + error.message(),
                   "give the folder that --save wrote");
  if (!hasLatest) {
    std::vector<int64_t> steps = findSteps(path);
    if (!steps.empty()) {
      std::string newest = getPath(path, steps.front());
      throw badInput(path,
                     "holds " + std::string(fs::path(newest).filename()) +
                         ", but no file '" + latestName + "' that names it",
                     "resume from " + newest);
    }
    throw badInput(path, "holds no checkpoint",
                   "give the folder that --save wrote");
  }
  std::string content(MappedFile(latest).getBytes());
  std::string name = content.substr(0, content.find('\n'));
  if (parseStep(name) < 0 || content != formatLatest(name))
    throw nameless(latest);
  return path + "/" + name;
}

namespace {
/// A checkpoint in memory, all of whose bytes are those that were saved.
class OpenCheckpoint {
public:
  explicit OpenCheckpoint(const std::string &path) : path(path) {
    std::string infoPath = path + "/" + kInfoName;
    CheckpointFile file = parseInfo(MappedFile(infoPath).getBytes(), infoPath);
    info = file.info;
    state.base = info.base;
    files.reserve(2 + file.shardCrcs.size());
    state.whole = open(kStateName, file.stateCrc);
    if (file.constantCrc)
      state.whole.tensors.merge(
          open(kConstantsName, *file.constantCrc).tensors);
    for (size_t rank = 0; rank < file.shardCrcs.size(); ++rank)
      state.shards.push_back(
          open(getShardName(static_cast<int64_t>(rank)), file.shardCrcs[rank]));
  }

  CheckpointInfo read(const StateReader &load) const {
    load(state, path + "/" + kStateName);
    return info;
  }

private:
  SafeTensors open(const std::string &name, uint32_t crc) {
    std::string filePath = path + "/" + name;
    const MappedFile &file = files.emplace_back(filePath);
    if (computeCrc32(file.getBytes()) != crc)
      throw badInput(filePath, "the checksum does not match",
                     "resume from another checkpoint of the folder");
    return readSafeTensors(file.getBytes(), filePath);
  }

  std::string path;
  CheckpointInfo info;
  std::vector<MappedFile> files;
  CheckpointState state;
};
} // namespace

CheckpointInfo ingot::runtime::loadCheckpoint(const std::string &directory,
                                              const StateReader &load) {
  return OpenCheckpoint(findCheckpoint(directory)).read(load);
}

CheckpointInfo ingot::runtime::loadNewestCheckpoint(
    const std::string &directory, const StateReader &load,
    const std::function<void(const Error &)> &warn,
    std::optional<int64_t> before) {
  std::optional<OpenCheckpoint> whole;
  std::optional<Error> first;
  auto attempt = [&](const std::function<std::string()> &find) {
    try {
      whole.emplace(find());
    } catch (const Error &problem) {
      if (first)
        warn(problem);
      else
        first = problem;
    }
    return whole.has_value();
  };
  int64_t limit = before.value_or(readName(directory + "/" + latestName));
  std::error_code error;
  bool hasName = fs::is_regular_file(directory + "/" + latestName, error);
  bool isFound = !before && attempt([&] { return findCheckpoint(directory); });
  if (!isFound && hasName)
    for (int64_t step : findSteps(directory))
      if ((limit < 0 || step < limit) &&
          attempt([&] { return getPath(directory, step); }))
        break;
  if (!whole && !first)
    throw badInput(directory, "holds no earlier checkpoint",
                   "give the folder that --save wrote");
  if (!whole)
    throw *first;
  if (first)
    warn(*first);
  return whole->read(load);
}
