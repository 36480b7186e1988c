// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Reads each kind of file for a report.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_TOOLS_INGOT_REPORT_RUNFILES_H
#define INGOT_TOOLS_INGOT_REPORT_RUNFILES_H

#include "runtime/core/libraries/JsonLibrary.h"

#include <string>
#include <string_view>

namespace ingot {

/// Reads the log of a run, with the part of it that was put aside as `path`.1,
/// and the configuration beside it: its metrics as series over the steps, which
/// have a bounded number of points. Throws badInput.
nlohmann::ordered_json readLog(const std::string &path);

/// Returns the checkpoints that are in the folder of --save which a
/// configuration names: `folder`, `steps`, and the steps of `latest` and
/// `best`. Null without any. `log` is the path of the run's log.
nlohmann::ordered_json readCheckpoints(std::string_view configuration,
                                       const std::string &log);

/// Reads the trace of --profile: the parts of the step, the kernels, and the
/// memory over one step. Throws badInput.
nlohmann::ordered_json readTrace(const std::string &path);

/// Reads what --remarks of the compiler wrote. Throws badInput.
nlohmann::ordered_json readRemarks(const std::string &path);

} // namespace ingot

#endif // INGOT_TOOLS_INGOT_REPORT_RUNFILES_H
