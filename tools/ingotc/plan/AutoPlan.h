// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Implements --auto: finds the options with which many ranks train a model
// fastest.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_TOOLS_INGOTC_PLAN_AUTOPLAN_H
#define INGOT_TOOLS_INGOTC_PLAN_AUTOPLAN_H

#include "tools/ingotc/options/CompilerOptions.h"

namespace ingot {

/// Prints a table of the best layouts, why the others are slower, and the
/// command line of the best one, which `-o` compiles. Returns the exit status.
/// Throws runtime::Error.
int planAutomatically(const CompilerOptions &options);

} // namespace ingot

#endif // INGOT_TOOLS_INGOTC_PLAN_AUTOPLAN_H
