// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// ingotc's work: from a model file to what the options ask for.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_TOOLS_INGOTC_COMPILE_COMPILER_H
#define INGOT_TOOLS_INGOTC_COMPILE_COMPILER_H

#include "tools/ingotc/options/CompilerOptions.h"

namespace ingot {

/// Compiles with the batch that the options name; returns the exit status.
/// Diagnostics go to stderr. Throws runtime::Error for what is no fault of the
/// model.
int compile(CompilerOptions options);

/// The planned memory and time of a step.
struct Forecast {
  /// All planned memory at its highest.
  int64_t peakBytes = 0;
  /// The time of a step by the cost model, with all its micro-batches.
  double stepSeconds = 0;
};

/// Plans without writing anything; returns the exit status. Throws as
/// compile() does.
int forecast(CompilerOptions options, Forecast &result);

} // namespace ingot

#endif // INGOT_TOOLS_INGOTC_COMPILE_COMPILER_H
