// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// How the learning rate changes over a run.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_TRAINER_SCHEDULE_SCHEDULE_H
#define INGOT_RUNTIME_TRAINER_SCHEDULE_SCHEDULE_H

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ingot::runtime {

enum class ScheduleKind {
  Constant,
  Cosine,
  Linear,
  Polynomial,
  Step,
  Wsd,
  OneCycle,
  CosineRestarts,
  InverseSquareRoot,
  Plateau
};

/// A schedule as --schedule names it, with the numbers behind its name.
struct ScheduleShape {
  ScheduleKind kind = ScheduleKind::Constant;
  /// The exponent of a polynomial.
  double power = 1;
  /// `step`: the factor, applied every `marks[0]` steps, or after each of
  /// several marks.
  double gamma = 0.1;
  std::vector<int64_t> marks = {};
  /// `wsd`: the part of the run over which the rate decays.
  double decay = 0.2;
  /// `cosine-restarts`: the steps until the first restart, and the factor by
  /// which each period is longer than the one before.
  int64_t period = 1, growth = 1;
  /// `inverse-sqrt`: the steps after the warm-up in which the rate falls to
  /// 1/sqrt(2); 0 for those of the warm-up, or 10,000 without one.
  int64_t timescale = 0;
  /// `plateau`: the factor, and the evaluations without progress that do not
  /// make the rate fall yet.
  double factor = 0.1;
  int64_t patience = 10;
  /// `one-cycle`: the rate starts at 1/start of its highest, and ends at 1/end
  /// of the start.
  double start = 25, end = 1e4;

  /// Parses the argument of --schedule. Throws std::invalid_argument that says
  /// what is wrong.
  static ScheduleShape parse(std::string_view text);
  /// Returns the shape in the syntax of `parse`.
  std::string str() const;
  /// Whether rates depend on the number of steps of the run.
  bool followsLength() const;
  bool operator==(const ScheduleShape &other) const = default;
};

/// The names of all schedules with their arguments, for --help.
std::string listSchedules();

struct Schedule {
  ScheduleShape shape;
  /// The number of steps over which the rate grows linearly to the full rate;
  /// in one-cycle, the number of steps before the rate is highest.
  int64_t warmup = 0;
  /// The number of steps of the whole run; the step after it would have the
  /// lowest rate.
  int64_t total = 0;
  /// The lowest factor, at which the rate ends, as a part of the full rate.
  double least = 0;

  /// Returns the factor of the learning rate in step `step`, counted from 1.
  double getFactor(int64_t step) const;
  /// Whether the factor is the same for all steps from `step` on. That of
  /// plateaus changes between steps, after evaluations (see Plateau).
  bool isConstantFrom(int64_t step) const {
    return (shape.kind == ScheduleKind::Constant ||
            shape.kind == ScheduleKind::Plateau) &&
           step > warmup;
  }

private:
  double getOneCycleFactor(int64_t step) const;
  double getRestartProgress(int64_t done) const;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_TRAINER_SCHEDULE_SCHEDULE_H
