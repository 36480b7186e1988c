// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The log of a run, read while a trainer writes it.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_TOOLS_INGOT_TOP_RUNLOG_H
#define INGOT_TOOLS_INGOT_TOP_RUNLOG_H

#include "runtime/core/libraries/JsonLibrary.h"

#include <cstdint>
#include <deque>
#include <optional>
#include <string>

namespace ingot {

/// Reads what is new in a log. A log that has grown too large becomes
/// `path`.1 and begins anew, and a run that goes back removes lines.
class RunLog {
public:
  explicit RunLog(std::string path) : path(std::move(path)) {}
  RunLog(RunLog &&other) noexcept;
  RunLog &operator=(RunLog &&other) = delete;
  ~RunLog();

  /// Reads the lines since the last call, of a long log at first only the last
  /// ones. Does nothing if there is no such file now.
  void update();

  const std::string &getPath() const { return path; }
  bool isEmpty() const { return recent.empty() && evaluation.is_null(); }

  /// A step of the log.
  struct Step {
    int64_t number = 0;
    double loss = 0, milliseconds = 0, elapsed = 0;
  };
  /// The last steps, in order.
  const std::deque<Step> &getRecent() const { return recent; }
  /// The last lines of a step, with `stats`, and of an evaluation; null without
  /// one.
  const nlohmann::json &getLast() const { return last; }
  const nlohmann::json &getStatistics() const { return statistics; }
  const nlohmann::json &getEvaluation() const { return evaluation; }
  /// The number of steps of the run, of which the file beside the log tells.
  std::optional<int64_t> getTotalSteps() const { return totalSteps; }
  /// The seconds since the log was written to.
  double getAge() const;

  /// The steps that are kept.
  static constexpr size_t kRecent = 200;

private:
  void open();
  void readMore();
  void readLine(std::string_view line);
  void readConfiguration();

  std::string path, rest;
  int descriptor = -1;
  int64_t offset = 0;
  uint64_t device = 0, inode = 0;
  bool isFirst = true;
  std::deque<Step> recent;
  nlohmann::json last, statistics, evaluation;
  std::optional<int64_t> totalSteps;
  int64_t configured = -1;
};

} // namespace ingot

#endif // INGOT_TOOLS_INGOT_TOP_RUNLOG_H
