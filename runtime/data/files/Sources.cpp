// SPDX-License-Identifier: Apache-2.0

#include "runtime/data/files/Sources.h"

#include "runtime/core/Error.h"
#include "runtime/core/File.h"
#include "runtime/core/text/ByteOrderMark.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <glob.h>

using namespace ingot::runtime;

namespace fs = std::filesystem;

/// Lists within lists beyond this are a cycle.
static constexpr int kMostLists = 8;
/// More ranges in one word are somebody's joke.
static constexpr int64_t kMostRanges = 8;
/// Every star of a pattern may take the time of all others.
static constexpr int kMostStars = 16;
/// The digits of a number of 64 bits.
static constexpr size_t kMostDigits = 19;
/// More files are a mistake in a pattern.
static constexpr int64_t kMostFiles = 1000000;

namespace {

class Finder {
public:
  Finder(const std::string &option, DataFiles &result)
      : option(option), result(result) {}

  void addWord(std::string word) {
    DataFile file;
    std::optional<double> weight;
    while (!exists(word) && takeSuffix(word, file, weight)) {
    }
    if (weight)
      result.weights.push_back(*weight);
    file.source = source++;
    add(word, file, 0);
  }

  void check() const {
    if (!result.weights.empty() && result.weights.size() != source)
      throw usageError(option, "some files have a weight, and others none",
                       "give each a weight, as in a.bin:0.7 b.bin:0.3");
  }

private:
  static bool exists(const std::string &path) {
    std::error_code ignored;
    return fs::exists(path, ignored);
  }

  /// Removes `:TYPE` or `:WEIGHT` from the end of a word.
  bool takeSuffix(std::string &word, DataFile &file,
                  std::optional<double> &weight) const {
    size_t colon = word.rfind(':');
    if (colon == std::string::npos || colon == 0)
      return false;
    std::string suffix = word.substr(colon + 1);
    if (auto type = parseName<DType>(suffix); type && !file.tokens) {
      if (isFloat(*type) || *type == DType::Bool)
        throw usageError(option, "tokens are no " + suffix,
                         "use u8, u16, u32, i32 or i64");
      file.tokens = type;
    } else {
      double value = 0;
      const char *end = suffix.data() + suffix.size();
      auto parsed = std::from_chars(suffix.data(), end, value);
      if (suffix.empty() || parsed.ec != std::errc() || parsed.ptr != end ||
          weight)
        return false;
      if (!std::isfinite(value) || value <= 0)
        throw usageError(option, "the weight " + suffix + " is not above 0",
                         "leave a file without weight out");
      weight = value;
    }
    word.resize(colon);
    return true;
  }

  void add(const std::string &word, const DataFile &file, int lists,
           int64_t ranges = 0) {
    if (static_cast<int64_t>(result.files.size()) > kMostFiles)
      throw badInput(option, "more than 1000000 files", "check the pattern");
    if (!exists(word)) {
      if (word.starts_with("@")) {
        addList(word.substr(1), file, lists);
        return;
      }
      if (size_t open = word.find('{');
          ranges < kMostRanges && addRange(word, open, file, lists, ranges))
        return;
      if (word.find_first_of("*?[") != std::string::npos) {
        if (std::count(word.begin(), word.end(), '*') > kMostStars)
          throw badInput(option, "'" + word + "' has too many stars",
                         "use a shorter pattern, or a list of files");
        addMatches(word, file, lists);
        return;
      }
    } else if (std::error_code ignored; fs::is_directory(word, ignored)) {
      addFolder(word, file);
      return;
    }
    // One that is not there is named when it is opened.
    DataFile &added = result.files.emplace_back(file);
    added.path = word;
  }

  void addList(const std::string &path, const DataFile &file, int lists) {
    if (lists == kMostLists)
      throw badInput(path, "lists name each other", "name files in lists");
    MappedFile list(path);
    std::string_view text = skipByteOrderMark(list.getBytes());
    fs::path folder = fs::path(path).parent_path();
    size_t before = result.files.size();
    while (!text.empty()) {
      size_t end = std::min(text.find('\n'), text.size());
      std::string_view line = text.substr(0, end);
      text.remove_prefix(std::min(end + 1, text.size()));
      size_t first = line.find_first_not_of(" \t\r");
      if (first == std::string_view::npos || line[first] == '#')
        continue;
      line = line.substr(first, line.find_last_not_of(" \t\r") + 1 - first);
      fs::path name(line);
      add(name.is_absolute() ? name.string() : (folder / name).string(), file,
          lists + 1);
    }
    if (result.files.size() == before)
      throw badInput(path, "the list names no files",
                     "write the path of a file on each line");
  }

  /// Adds the words of a range such as {000..127}.
  bool addRange(const std::string &word, size_t open, const DataFile &file,
                int lists, int64_t ranges) {
    size_t dots = word.find("..", open == std::string::npos ? 0 : open);
    size_t close = word.find('}', open == std::string::npos ? 0 : open);
    if (open == std::string::npos || dots == std::string::npos ||
        close == std::string::npos || dots > close)
      return false;
    std::string low = word.substr(open + 1, dots - open - 1);
    std::string high = word.substr(dots + 2, close - dots - 2);
    int64_t first = 0, last = 0;
    if (!parse(low, first) || !parse(high, last) || last < first ||
        last - first > kMostFiles || low.size() > kMostDigits)
      return false;
    for (int64_t i = 0; i <= last - first; ++i) {
      std::string number = std::to_string(first + i);
      if (number.size() < low.size())
        number.insert(0, low.size() - number.size(), '0');
      add(word.substr(0, open) + number + word.substr(close + 1), file, lists,
          ranges + 1);
    }
    return true;
  }

  static bool parse(const std::string &text, int64_t &value) {
    const char *end = text.data() + text.size();
    auto parsed = std::from_chars(text.data(), end, value);
    return !text.empty() && parsed.ec == std::errc() && parsed.ptr == end &&
           value >= 0;
  }

  void addMatches(const std::string &pattern, const DataFile &file, int lists) {
    glob_t found{};
    int status = glob(pattern.c_str(), 0, nullptr, &found);
    std::vector<std::string> paths(found.gl_pathv,
                                   found.gl_pathv + found.gl_pathc);
    globfree(&found);
    if (status != 0 || paths.empty())
      throw badInput(option, "no file matches '" + pattern + "'",
                     "check the pattern, and the folder that it starts from");
    for (const std::string &path : paths)
      add(path, file, lists);
  }

  /// Adds the shards in a folder. One without any is a folder of pictures.
  void addFolder(const std::string &folder, const DataFile &file) {
    std::vector<std::string> shards;
    std::error_code error, ignored;
    for (fs::directory_iterator entry(folder, error), end;
         !error && entry != end; entry.increment(error)) {
      std::string name = entry->path().filename().string();
      if (entry->is_regular_file(ignored) && isShard(name))
        shards.push_back(name);
    }
    std::sort(shards.begin(), shards.end());
    if (shards.empty()) {
      result.files.emplace_back(file).path = folder;
      return;
    }
    for (const std::string &name : shards)
      result.files.emplace_back(file).path = (fs::path(folder) / name).string();
  }

  static bool isShard(std::string name) {
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return std::tolower(c); });
    for (const char *ending : {".zst", ".gz"})
      if (name.ends_with(ending))
        name.resize(name.size() - std::strlen(ending));
    for (const char *ending :
         {".arrow", ".parquet", ".tar", ".tgz", ".npz", ".npy", ".jsonl",
          ".ndjson", ".bin", ".csv", ".tsv"})
      if (name.ends_with(ending))
        return true;
    return false;
  }

  const std::string &option;
  DataFiles &result;
  size_t source = 0;
};

} // namespace

DataFiles ingot::runtime::findFiles(const std::vector<std::string> &words,
                                    const std::string &option) {
  DataFiles result;
  Finder finder(option, result);
  for (const std::string &word : words)
    finder.addWord(word);
  finder.check();
  return result;
}
