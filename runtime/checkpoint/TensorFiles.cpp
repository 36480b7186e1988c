// SPDX-License-Identifier: Apache-2.0

#include "runtime/checkpoint/TensorFiles.h"

#include "runtime/core/Error.h"
#include "runtime/core/text/BoundedJson.h"

#include <filesystem>
#include <fmt/format.h>
#include <system_error>

using namespace ingot::runtime;
using nlohmann::ordered_json;

static constexpr std::string_view kSuffix = ".safetensors";
static constexpr std::string_view kIndexSuffix = ".index.json";

std::string ingot::runtime::getTensorIndexPath(const std::string &path) {
  return path + std::string(kIndexSuffix);
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

/// Divides tensors, in the order of their names, into files of at most `most`
/// bytes.
static std::vector<SafeTensors> divide(const SafeTensors &content,
                                       int64_t most) {
  std::vector<SafeTensors> parts;
  int64_t bytes = 0;
  for (const auto &[name, tensor] : content.tensors) {
    int64_t more = tensor.getBytes();
    if (parts.empty() || (bytes > 0 && more > 0 && more > most - bytes)) {
      parts.emplace_back().metadata = content.metadata;
      bytes = 0;
    }
    bytes += more;
    parts.back().tensors.emplace(name, tensor);
  }
  if (parts.empty())
    parts.push_back(content);
  return parts;
}

static void writeFile(const std::string &path, const SafeTensors &content) {
  AtomicFile file(path);
  writeSafeTensors(file, content);
  file.commit();
}

/// Removes a file that would be taken for what was written beside it.
static void removeOther(const std::string &path) {
  std::error_code error;
  if (std::filesystem::is_regular_file(path, error) &&
      !std::filesystem::remove(path, error))
    throw failure(path, "cannot be removed: " + error.message(),
                  "remove it: what was written is beside it");
}

void ingot::runtime::writeTensorFiles(const std::string &path,
                                      const SafeTensors &content,
                                      int64_t most) {
  std::vector<SafeTensors> parts = divide(content, most);
  if (parts.size() == 1) {
    writeFile(path, content);
    removeOther(getTensorIndexPath(path));
    return;
  }
  std::string stem = path;
  if (stem.ends_with(kSuffix))
    stem.resize(stem.size() - kSuffix.size());
  int64_t bytes = 0;
  ordered_json places = ordered_json::object();
  for (size_t i = 0; i < parts.size(); ++i) {
    std::string name =
        fmt::format("{}-{:05}-of-{:05}{}", stem, i + 1, parts.size(), kSuffix);
    writeFile(name, parts[i]);
    for (const auto &[tensor, view] : parts[i].tensors) {
      bytes += view.getBytes();
      places[tensor] = std::filesystem::path(name).filename().string();
    }
  }
  // The index makes them valid.
  AtomicFile index(getTensorIndexPath(path));
  ordered_json json = {{"metadata", {{"total_size", bytes}}},
                       {"weight_map", std::move(places)}};
  index.write(json.dump(2, ' ', false, ordered_json::error_handler_t::replace));
  index.write("\n");
  index.commit();
  removeOther(path);
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

/// Returns the file that is there for a path: itself, or its index.
static std::string findFile(const std::string &path) {
  std::error_code error;
  std::string index = getTensorIndexPath(path);
  if (!std::filesystem::exists(path, error) &&
      std::filesystem::exists(index, error))
    return index;
  return path;
}

static Error damagedIndex(const std::string &path, const std::string &what) {
  return badInput(path, what,
                  "write the files again, or copy all of them with the index");
}

/// Reads an index: the tensors of each file, which lies beside it.
static std::map<std::string, std::vector<std::string>>
readPlaces(const std::string &path) {
  MappedFile index(path);
  constexpr size_t mostBytes = 100'000'000;
  if (index.getBytes().size() > mostBytes)
    throw damagedIndex(path, "is larger than 100,000,000 bytes");
  nlohmann::json json = parseJson(index.getBytes());
  auto places = json.is_object() ? json.find("weight_map") : json.end();
  if (places == json.end() || !places->is_object())
    throw damagedIndex(
        path, "no object 'weight_map', which names the files of tensors");
  std::map<std::string, std::vector<std::string>> names;
  for (const auto &[tensor, file] : places->items()) {
    std::string name = file.is_string() ? file.get<std::string>() : "";
    // What others wrote may name no file outside of its folder.
    if (name.empty() || name == "." || name == ".." ||
        name.find('/') != std::string::npos ||
        name.find('\0') != std::string::npos)
      throw damagedIndex(path, "'" + tensor +
                                   "' has no name of a file beside the index");
    names[name].push_back(tensor);
  }
  return names;
}

std::vector<std::string> TensorFiles::list(const std::string &path) {
  std::string found = findFile(path);
  std::vector<std::string> paths = {found};
  if (found.ends_with(kIndexSuffix))
    for (const auto &[name, tensors] : readPlaces(found))
      paths.push_back(getDirectory(found) + "/" + name);
  return paths;
}

TensorFiles::TensorFiles(const std::string &path) {
  std::string found = findFile(path);
  if (found.ends_with(kIndexSuffix)) {
    readIndex(found);
    return;
  }
  files.emplace_back(found);
  content = readSafeTensors(files.back().getBytes(), found);
}

void TensorFiles::readIndex(const std::string &path) {
  for (const auto &[name, tensors] : readPlaces(path)) {
    std::string file = getDirectory(path) + "/" + name;
    files.emplace_back(file);
    SafeTensors part = readSafeTensors(files.back().getBytes(), file);
    for (const std::string &tensor : tensors) {
      auto found = part.tensors.find(tensor);
      if (found == part.tensors.end())
        throw damagedIndex(path, "'" + tensor + "' is not in " + name);
      content.tensors.insert(*found);
    }
  }
}
