// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Checkpoints.
//
//===----------------------------------------------------------------------===//

#include "runtime/checkpoint/Checkpoint.h"

#include "runtime/core/Error.h"

#include <algorithm>
#include <cctype>
#include <fcntl.h>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <stdio.h>
#include <unistd.h>
#include <vector>

using namespace ingot::runtime;
namespace fs = std::filesystem;

static constexpr const char *kStateName = "state.safetensors";
static constexpr const char *kInfoName = "checkpoint.json";
static constexpr const char *latestName = "latest";
static constexpr std::string_view prefix = "step-";
static const std::string temporaryMark = ".tmp-";
static constexpr size_t kept = 2;

static std::string getShardName(int64_t rank) {
  return "shard-" + std::to_string(rank) + ".safetensors";
}

/// The content of checkpoint.json; a file with any other bytes is damaged.
/// Format 2 has shards, format 3 has settings and may have shards.
static std::string formatInfo(const CheckpointInfo &info, uint32_t stateCrc,
                              const std::vector<uint32_t> &shardCrcs) {
  int format = info.settings ? 3 : shardCrcs.empty() ? 1 : 2;
  nlohmann::ordered_json json = {
      {"format", format},        {"step", info.step},
      {"seed", info.seed},       {"shuffle", info.shuffle},
      {"samples", info.samples}, {"state_crc32", stateCrc}};
  if (!shardCrcs.empty())
    json["shards_crc32"] = shardCrcs;
  if (info.settings)
    json["settings"] = {{"hyperparameters", info.settings->hyperparameters},
                        {"schedule", info.settings->schedule},
                        {"warmup", info.settings->warmup},
                        {"total_steps", info.settings->totalSteps},
                        {"ranks", info.settings->ranks},
                        {"step_samples", info.settings->stepSamples}};
  if (info.settings && info.settings->position) {
    json["settings"]["epoch"] = info.settings->position->epoch;
    json["settings"]["epoch_sample"] = info.settings->position->sample;
  }
  json["crc32"] = computeCrc(json.dump());
  return json.dump(1) + "\n";
}

/// The content of `latest`: the name, and a checksum, so that damage does not
/// name another checkpoint.
static std::string formatLatest(const std::string &name) {
  return name + "\ncrc32 " + std::to_string(computeCrc(name)) + "\n";
}

/// The step in a checkpoint's name, or -1.
static int64_t parseName(const std::string &name) {
  constexpr size_t maxDigits = 18;
  bool isName = name.starts_with(prefix) && name.size() > prefix.size() &&
                name.size() <= prefix.size() + maxDigits &&
                std::all_of(name.begin() + prefix.size(), name.end(),
                            [](unsigned char c) { return std::isdigit(c); });
  return isName ? std::stoll(name.substr(prefix.size())) : -1;
}

void ingot::runtime::removeLeftovers(const std::string &directory) {
  std::error_code ignored;
  std::vector<fs::path> leftovers;
  for (const fs::directory_entry &entry :
       fs::directory_iterator(directory, ignored)) {
    std::string name = entry.path().filename();
    if (name.find(temporaryMark) != std::string::npos &&
        (name.starts_with(prefix) || name.starts_with(latestName) ||
         name.starts_with(".probe")))
      leftovers.push_back(entry.path());
  }
  for (const fs::path &path : leftovers)
    fs::remove_all(path, ignored);
}

static void prune(const std::string &directory, const std::string &newest) {
  removeLeftovers(directory);
  std::vector<std::pair<int64_t, fs::path>> found;
  std::error_code ignored;
  for (const fs::directory_entry &entry :
       fs::directory_iterator(directory, ignored)) {
    std::string name = entry.path().filename();
    if (int64_t step = parseName(name); step >= 0 && name != newest)
      found.push_back({step, entry.path()});
  }
  std::sort(found.rbegin(), found.rend());
  for (size_t i = kept - 1; i < found.size(); ++i) {
    // Renaming first means that a folder with a checkpoint's name is always
    // complete.
    fs::path doomed = found[i].second;
    doomed += temporaryMark + std::to_string(getpid());
    fs::rename(found[i].second, doomed, ignored);
    fs::remove_all(doomed, ignored);
  }
}

/// Renames a complete folder to its final name. A folder cannot replace one
/// that is not empty, so that an older one of the same step is exchanged with
/// it. At every moment the name is that of a complete checkpoint.
static bool giveName(const std::string &temporary, const std::string &final) {
  if (!fs::exists(final))
    return rename(temporary.c_str(), final.c_str()) == 0;
  if (renameat2(AT_FDCWD, temporary.c_str(), AT_FDCWD, final.c_str(),
                RENAME_EXCHANGE) == 0)
    return true;
  // On file systems that cannot exchange names there is a moment without the
  // folder.
  std::string old = temporary + "-old";
  return rename(final.c_str(), old.c_str()) == 0 &&
         rename(temporary.c_str(), final.c_str()) == 0;
}

/// Writes a file of tensors; returns its checksum.
static uint32_t saveTensors(const std::string &path, const SafeTensors &state) {
  {
    AtomicFile file(path);
    writeSafeTensors(file, state);
    file.commit();
  }
  return computeCrc(MappedFile(path).getBytes());
}

uint32_t ingot::runtime::saveShards(const std::string &folder, int64_t rank,
                                    const SafeTensors &shards) {
  return saveTensors(folder + "/" + getShardName(rank), shards);
}

void ingot::runtime::saveCheckpoint(const std::string &directory,
                                    const CheckpointInfo &info,
                                    const SafeTensors &state,
                                    const ShardWriter &writeShards) {
  std::string name = std::string(prefix) + std::to_string(info.step);
  std::string final = directory + "/" + name;
  std::string temporary = final + temporaryMark + std::to_string(getpid());
  std::error_code error;
  fs::remove_all(temporary, error);
  try {
    makeFolder(temporary);
  } catch (const Error &problem) {
    // The other ranks wait for the name.
    if (writeShards)
      (void)writeShards("");
    throw failure(directory, problem.getWhat(), problem.getHint());
  }
  try {
    // This comes first, because the other ranks wait for it.
    std::vector<uint32_t> shardCrcs;
    if (writeShards)
      shardCrcs = writeShards(temporary);
    uint32_t stateCrc = saveTensors(temporary + "/" + kStateName, state);
    AtomicFile file(temporary + "/" + kInfoName);
    file.write(formatInfo(info, stateCrc, shardCrcs));
    file.commit();
  } catch (const Error &) {
    fs::remove_all(temporary, error);
    throw;
  }
  if (!giveName(temporary, final)) {
    std::string reason = describeErrno();
    fs::remove_all(temporary, error);
    throw failure(final, "cannot write: " + reason,
                  "check the path and its permissions");
  }
  syncDirectory(directory);
  AtomicFile latest(directory + "/" + latestName);
  latest.write(formatLatest(name));
  latest.commit();
  prune(directory, name);
}

/// The newest folder that has a checkpoint's name, or "".
static std::string findNewest(const std::string &directory) {
  std::string newest;
  std::error_code ignored;
  for (const fs::directory_entry &entry :
       fs::directory_iterator(directory, ignored)) {
    std::string name = entry.path().filename();
    if (parseName(name) > (newest.empty() ? -1 : parseName(newest)))
      newest = name;
  }
  return newest;
}

static std::string findCheckpoint(const std::string &directory) {
  std::error_code error;
  if (fs::exists(directory + "/" + kInfoName, error))
    return directory;
  std::string latest = directory + "/" + latestName;
  bool hasLatest = !error && fs::exists(latest, error);
  if (error)
    throw badInput(directory, "cannot be read: " + error.message(),
                   "give the folder that --save wrote");
  if (!hasLatest) {
    std::string newest = findNewest(directory);
    if (!newest.empty())
      throw badInput(directory,
                     "holds " + newest + ", but no file '" + latestName +
                         "' that names it",
                     "resume from " + directory + "/" + newest);
    throw badInput(directory, "holds no checkpoint",
                   "give the folder that --save wrote");
  }
  std::string content(MappedFile(latest).getBytes());
  std::string name = content.substr(0, content.find('\n'));
  if (parseName(name) < 0 || content != formatLatest(name))
    throw badInput(latest, "damaged: it does not name a checkpoint",
                   "give --resume one of the folder's step-N");
  return directory + "/" + name;
}

/// Reads the settings of a run; nothing if one is missing or of another type.
static std::optional<RunSettings> readSettings(const nlohmann::json &json) {
  auto isCount = [&](const char *field) {
    return json.contains(field) && json[field].is_number_unsigned() &&
           json[field].get<uint64_t>() <= uint64_t(INT64_MAX);
  };
  bool isComplete = json.is_object() && json.contains("hyperparameters") &&
                    json["hyperparameters"].is_object() &&
                    json.contains("schedule") && json["schedule"].is_string() &&
                    isCount("warmup") && isCount("total_steps") &&
                    isCount("ranks") && isCount("step_samples");
  if (!isComplete)
    return std::nullopt;
  RunSettings settings;
  for (const auto &[name, value] : json["hyperparameters"].items()) {
    if (!value.is_number())
      return std::nullopt;
    settings.hyperparameters[name] = value.get<double>();
  }
  settings.schedule = json["schedule"].get<std::string>();
  settings.warmup = json["warmup"].get<int64_t>();
  settings.totalSteps = json["total_steps"].get<int64_t>();
  settings.ranks = json["ranks"].get<int64_t>();
  settings.stepSamples = json["step_samples"].get<int64_t>();
  if (isCount("epoch") && isCount("epoch_sample"))
    settings.position = {json["epoch"].get<int64_t>(),
                         json["epoch_sample"].get<int64_t>()};
  return settings;
}

CheckpointInfo ingot::runtime::loadCheckpoint(
    const std::string &directory,
    const std::function<void(const CheckpointState &, const std::string &)>
        &load) {
  std::string path = findCheckpoint(directory);
  std::string infoPath = path + "/" + kInfoName;
  MappedFile infoFile(infoPath);
  auto json = nlohmann::json::parse(infoFile.getBytes(), nullptr, false);
  auto damaged = [&](const std::string &field) {
    return badInput(infoPath, "the field '" + field + "' is missing or wrong",
                    "resume from another checkpoint of the folder");
  };
  auto readCount = [&](const char *field) {
    bool isCount = json.is_object() && json.contains(field) &&
                   json[field].is_number_unsigned() &&
                   json[field].get<uint64_t>() <= uint64_t(INT64_MAX);
    if (!isCount)
      throw damaged(field);
    return json[field].get<int64_t>();
  };
  int64_t format = readCount("format");
  if (format < 1 || format > 3)
    throw damaged("format");
  CheckpointInfo info;
  info.step = readCount("step");
  info.seed = readCount("seed");
  info.samples = readCount("samples");
  if (!json.contains("shuffle") || !json["shuffle"].is_boolean())
    throw damaged("shuffle");
  info.shuffle = json["shuffle"].get<bool>();

  int64_t stateCrc = readCount("state_crc32");
  std::vector<uint32_t> shardCrcs;
  if (format == 3) {
    if (json.contains("settings"))
      info.settings = readSettings(json["settings"]);
    if (!info.settings)
      throw damaged("settings");
  }
  if (format == 2 || json.contains("shards_crc32")) {
    if (!json.contains("shards_crc32") || !json["shards_crc32"].is_array())
      throw damaged("shards_crc32");
    for (const auto &crc : json["shards_crc32"])
      shardCrcs.push_back(crc.is_number_unsigned()
                              ? static_cast<uint32_t>(crc.get<uint64_t>())
                              : 0);
  }
  if (infoFile.getBytes() !=
      formatInfo(info, static_cast<uint32_t>(stateCrc), shardCrcs))
    throw badInput(infoPath, "the checksum does not match",
                   "resume from another checkpoint of the folder");

  std::vector<MappedFile> files;
  auto open = [&](const std::string &name, uint32_t crc) {
    std::string filePath = path + "/" + name;
    const MappedFile &file = files.emplace_back(filePath);
    if (computeCrc(file.getBytes()) != crc)
      throw badInput(filePath, "the checksum does not match",
                     "resume from another checkpoint of the folder");
    return readSafeTensors(file.getBytes(), filePath);
  };
  CheckpointState state;
  files.reserve(1 + shardCrcs.size());
  state.whole = open(kStateName, static_cast<uint32_t>(stateCrc));
  for (size_t rank = 0; rank < shardCrcs.size(); ++rank)
    state.shards.push_back(
        open(getShardName(static_cast<int64_t>(rank)), shardCrcs[rank]));
  load(state, path + "/" + kStateName);
  return info;
}
