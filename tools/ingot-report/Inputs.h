// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The inputs of ingot-report: files of runs, which their content tells apart.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_TOOLS_INGOT_REPORT_INPUTS_H
#define INGOT_TOOLS_INGOT_REPORT_INPUTS_H

#include "runtime/core/libraries/JsonLibrary.h"

#include <string>
#include <vector>

namespace ingot {

/// The content of a file. Other files are of no use for a report.
enum class FileKind { Log, Trace, Diagnosis, CompilerReport, Remarks, Other };

/// Tells from its first bytes what a file is.
FileKind recognize(std::string_view bytes);

/// The files of a run; those it has none of are empty.
struct RunFiles {
  std::string name, log, trace, diagnosis, compilerReport, remarks;

  /// Returns the path of the files of this kind.
  std::string &get(FileKind kind);
};

/// Finds the runs that words of the command line name. A word is a folder, of
/// which all files that are of use are taken, or a file, which belongs to the
/// log before it. Throws badInput.
std::vector<RunFiles> findRuns(const std::vector<std::string> &words);

/// Returns the paths of all files of the runs.
std::vector<std::string> listFiles(const std::vector<RunFiles> &runs);

/// Reads all files of the runs: the object that pages show. Throws badInput.
nlohmann::ordered_json readRuns(const std::vector<RunFiles> &runs);

} // namespace ingot

#endif // INGOT_TOOLS_INGOT_REPORT_INPUTS_H
