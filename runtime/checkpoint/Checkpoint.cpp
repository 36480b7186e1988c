//===----------------------------------------------------------------------===//
//
// Checkpoints.
//
//===----------------------------------------------------------------------===//

#include "runtime/checkpoint/Checkpoint.h"

#include "runtime/core/Error.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <unistd.h>
#include <vector>
#include <zlib.h>

using namespace ingot::runtime;
namespace fs = std::filesystem;

static constexpr const char *stateName = "state.safetensors";
static constexpr const char *infoName = "checkpoint.json";
static constexpr const char *latestName = "latest";
static constexpr std::string_view prefix = "step-";
static constexpr size_t kept = 2;

static uint32_t computeCrc(std::string_view bytes) {
  return static_cast<uint32_t>(
      crc32_z(0, reinterpret_cast<const Bytef *>(bytes.data()), bytes.size()));
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

static void prune(const std::string &directory, const std::string &newest) {
  std::vector<std::pair<int64_t, fs::path>> found;
  std::error_code ignored;
  for (const fs::directory_entry &entry :
       fs::directory_iterator(directory, ignored)) {
    std::string name = entry.path().filename();
    // Folders that a crash left unfinished carry another process's number.
    if (name.find(".tmp-") != std::string::npos && name.starts_with(prefix))
      fs::remove_all(entry.path(), ignored);
    else if (int64_t step = parseName(name); step >= 0 && name != newest)
      found.push_back({step, entry.path()});
  }
  std::sort(found.rbegin(), found.rend());
  for (size_t i = kept - 1; i < found.size(); ++i)
    fs::remove_all(found[i].second, ignored);
}

void ingot::runtime::saveCheckpoint(const std::string &directory,
                                    const CheckpointInfo &info,
                                    const SafeTensors &state) {
  std::error_code error;
  fs::create_directories(directory, error);
  std::string name = std::string(prefix) + std::to_string(info.step);
  std::string final = directory + "/" + name;
  std::string temporary = final + ".tmp-" + std::to_string(getpid());
  fs::remove_all(temporary, error);
  fs::create_directory(temporary, error);
  if (error)
    throw failure(directory, "cannot write: " + error.message(),
                  "check the path, its permissions and the free space");
  std::string statePath = temporary + "/" + stateName;
  {
    AtomicFile file(statePath);
    writeSafeTensors(file, state);
    file.commit();
  }
  nlohmann::ordered_json json = {
      {"format", 1},
      {"step", info.step},
      {"seed", info.seed},
      {"shuffle", info.shuffle},
      {"samples", info.samples},
      {"state_crc32", computeCrc(MappedFile(statePath).getBytes())}};
  {
    AtomicFile file(temporary + "/" + infoName);
    file.write(json.dump(1) + "\n");
    file.commit();
  }
  // A folder cannot replace one that is not empty; an old one of the same step
  // is of an earlier run, and `latest` must not name it while it goes.
  if (fs::exists(final)) {
    fs::remove(directory + "/" + latestName, error);
    syncDirectory(directory);
    fs::remove_all(final, error);
  }
  fs::rename(temporary, final, error);
  if (error) {
    std::error_code ignored;
    fs::remove_all(temporary, ignored);
    throw failure(final, "cannot write: " + error.message(),
                  "check the path and its permissions");
  }
  syncDirectory(directory);
  AtomicFile latest(directory + "/" + latestName);
  latest.write(name + "\n");
  latest.commit();
  prune(directory, name);
}

static std::string findCheckpoint(const std::string &directory) {
  if (fs::exists(directory + "/" + infoName))
    return directory;
  std::string latest = directory + "/" + latestName;
  if (!fs::exists(latest))
    throw badInput(directory, "holds no checkpoint",
                   "give the folder that --save wrote");
  std::string name(MappedFile(latest).getBytes());
  while (!name.empty() && std::isspace(static_cast<unsigned char>(name.back())))
    name.pop_back();
  if (parseName(name) < 0)
    throw badInput(latest, "does not name a checkpoint",
                   "give --resume one of the folder's step-N");
  return directory + "/" + name;
}

CheckpointInfo ingot::runtime::loadCheckpoint(
    const std::string &directory,
    const std::function<void(const SafeTensors &, const std::string &)> &load) {
  std::string path = findCheckpoint(directory);
  std::string infoPath = path + "/" + infoName;
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
  if (readCount("format") != 1)
    throw damaged("format");
  CheckpointInfo info;
  info.step = readCount("step");
  info.seed = readCount("seed");
  info.samples = readCount("samples");
  if (!json.contains("shuffle") || !json["shuffle"].is_boolean())
    throw damaged("shuffle");
  info.shuffle = json["shuffle"].get<bool>();

  std::string statePath = path + "/" + stateName;
  MappedFile stateFile(statePath);
  if (computeCrc(stateFile.getBytes()) != readCount("state_crc32"))
    throw badInput(statePath, "the checksum does not match",
                   "resume from another checkpoint of the folder");
  load(readSafeTensors(stateFile.getBytes(), statePath), statePath);
  return info;
}
