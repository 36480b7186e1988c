// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Checks of the values of options, whose messages say what is expected.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CORE_COMMANDLINE_OPTIONCHECKS_H
#define INGOT_RUNTIME_CORE_COMMANDLINE_OPTIONCHECKS_H

#include "runtime/core/Error.h"

#include <CLI/CLI.hpp>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fmt/format.h>
#include <string>

namespace ingot::runtime {

/// The most MiB whose bytes are a number.
inline constexpr int64_t kMostMebibytes = INT64_MAX >> 20;

/// Parses a number that is the whole text and fits its type.
template <typename T> bool parseWhole(std::string_view text, T &value) {
  const char *end = text.data() + text.size();
  auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stop == end;
}

/// Makes a validator whose message says what is expected, without CLI11's
/// bounds.
inline CLI::Validator atLeast(int64_t least) {
  return CLI::Validator(
      [least](std::string &text) -> std::string {
        int64_t value = 0;
        if (parseWhole(text, value) && value >= least)
          return {};
        return fmt::format("'{}' is not an integer from {}", text, least);
      },
      "");
}

/// Accepts integers from `least` to `most`.
inline CLI::Validator isIntegerFrom(int64_t least, int64_t most) {
  return CLI::Validator(
      [least, most](std::string &text) -> std::string {
        int64_t value = 0;
        if (parseWhole(text, value) && value >= least && value <= most)
          return {};
        return fmt::format("'{}' is not an integer from {} to {}", text, least,
                           most);
      },
      "");
}

/// Accepts finite numbers from `least` to below `limit`.
inline CLI::Validator isNumberFrom(double least, double limit) {
  return CLI::Validator(
      [least, limit](std::string &text) -> std::string {
        double value = 0;
        if (parseWhole(text, value) && value >= least && value < limit)
          return {};
        return std::isinf(limit)
                   ? fmt::format("'{}' is not a number of at least {}", text,
                                 least)
                   : fmt::format("'{}' is not a number from {} to below {}",
                                 text, least, limit);
      },
      "");
}

/// Accepts files of configurations, of up to 1 MiB: a FIFO would be waited for,
/// and a device read for ever.
inline CLI::Validator isConfigurationFile() {
  return CLI::Validator(
      [](std::string &path) -> std::string {
        constexpr std::uintmax_t most = 1 << 20;
        std::error_code error;
        std::filesystem::file_status status =
            std::filesystem::status(path, error);
        if (!std::filesystem::exists(status))
          return fmt::format("{}: there is no such file", path);
        if (!std::filesystem::is_regular_file(status))
          return fmt::format("{}: not a regular file", path);
        if (std::filesystem::file_size(path, error) > most)
          return fmt::format("{}: larger than 1 MiB", path);
        return {};
      },
      "");
}

/// Throws usageError for `--option=` without a value, which mostly comes from
/// an unset variable of the shell: of a flag with a default, it would be that.
inline void refuseEmptyWords(int argc, const char *const *argv) {
  for (int i = 1; i < argc; ++i) {
    std::string_view word = argv[i];
    if (word == "--")
      return;
    if (word.starts_with("--") && word.find('=') == word.size() - 1)
      throw usageError(std::string(word.substr(0, word.size() - 1)),
                       "the value is empty",
                       "give a value, or leave the option out; a variable of "
                       "the shell may be unset");
  }
}

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CORE_COMMANDLINE_OPTIONCHECKS_H
