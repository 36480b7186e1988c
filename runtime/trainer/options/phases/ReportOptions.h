// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The options of programs that report something and exit.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_TRAINER_OPTIONS_PHASES_REPORTOPTIONS_H
#define INGOT_RUNTIME_TRAINER_OPTIONS_PHASES_REPORTOPTIONS_H

#include <cstdint>
#include <optional>

namespace CLI {
class App;
}

namespace ingot::runtime {

/// The forms in which a plan is printed.
enum class InspectForm { Text, Json };
/// The use of a diagnosis: it is printed, or its advice is tried, too.
enum class DiagnosisForm { Report, Apply, Json };

struct ReportOptions {
  std::optional<InspectForm> inspect;
  /// The ranks that the plan is for; as few as a run can have if not given.
  std::optional<int64_t> ranks;
  std::optional<DiagnosisForm> diagnose;

  /// Adds the options to the table.
  void bind(CLI::App &app);
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_TRAINER_OPTIONS_PHASES_REPORTOPTIONS_H
