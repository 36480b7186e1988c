// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Runs as a table for a terminal.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_TOOLS_INGOT_TOP_RUNTABLE_H
#define INGOT_TOOLS_INGOT_TOP_RUNTABLE_H

#include "tools/ingot-top/RunLog.h"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace ingot {

/// A run and the name that it is shown by.
using NamedRun = std::pair<std::string, const RunLog *>;

/// Makes a table with a line for each run, of at most `width` characters; 0 for
/// any number. `color` is whether the terminal understands colors.
std::vector<std::string> makeTable(const std::vector<NamedRun> &runs,
                                   size_t width, bool color);

} // namespace ingot

#endif // INGOT_TOOLS_INGOT_TOP_RUNTABLE_H
