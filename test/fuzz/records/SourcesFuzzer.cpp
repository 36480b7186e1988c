// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Any bytes as words of --data: lists, ranges, patterns, weights, classes.
// Each line before the first zero byte is a word; what follows is the file
// that @list names.
//
//===----------------------------------------------------------------------===//

#include "test/fuzz/readers/Fuzzer.h"
#include "test/fuzz/records/Folder.h"

#include "runtime/core/Error.h"
#include "runtime/data/Mixture.h"
#include "runtime/data/files/Sources.h"
#include "runtime/data/readers/ClassNames.h"

#include <cctype>
#include <cstdlib>
#include <filesystem>

using namespace ingot;
using namespace ingot::runtime;

/// Words lead nowhere but to the folder of the target and its folder `dir`,
/// and ranges are short: long ones say nothing new, only slowly.
static bool isTame(std::string_view bytes) {
  constexpr size_t mostDigits = 3, widest = 18;
  size_t digits = 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (bytes[i] == '/' && (i < 3 || bytes.substr(i - 3, 3) != "dir"))
      return false;
    digits =
        std::isdigit(static_cast<unsigned char>(bytes[i])) ? digits + 1 : 0;
    if (digits > mostDigits && digits < widest)
      return false;
  }
  constexpr size_t mostBytes = 4096;
  return bytes.size() <= mostBytes;
}

/// Takes samples of an epoch, each of which has to be there.
static void mix(const std::vector<double> &weights, bool shuffle) {
  std::vector<int64_t> sizes;
  int64_t samples = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    sizes.push_back(1 + static_cast<int64_t>(i * 7919 % 100));
    samples += sizes.back();
  }
  Mixture mixture(sizes, weights, shuffle, /*seed=*/1);
  for (int64_t epoch : {int64_t(0), int64_t(1), int64_t(1) << 40})
    for (int64_t i = 0; i < mixture.getEpochSamples(); ++i)
      if (int64_t at = mixture.getSample(epoch, i); at < 0 || at >= samples)
        std::abort();
}

void ingot::fuzz::read(std::string_view bytes) {
  if (!isTame(bytes))
    return;
  enterFolder();
  static const bool isFilled = [] {
    std::filesystem::create_directories("dir/circle");
    std::filesystem::create_directories("dir/square");
    for (const char *name : {"a.bin", "b.bin", "x0.npz", "x1.npz",
                             "dir/circle/0.png", "dir/square/0.png"})
      writeFile(name, "content");
    return true;
  }();
  (void)isFilled;
  std::string_view lines = takePart(bytes);
  writeFile("list", bytes);
  std::vector<std::string> words;
  while (!lines.empty()) {
    std::string_view word = lines.substr(0, lines.find('\n'));
    lines.remove_prefix(std::min(lines.size(), word.size() + 1));
    words.emplace_back(word);
  }
  try {
    DataFiles found = findFiles(words, "--data");
    touch(describeClasses(readClasses(found.files)));
    if (!found.weights.empty()) {
      if (found.weights.size() != words.size())
        std::abort();
      mix(found.weights, /*shuffle=*/true);
      mix(found.weights, /*shuffle=*/false);
    }
  } catch (const Error &error) {
    if (error.getCode() != ExitCode::Usage || error.getHint().empty())
      throw;
  }
}
