// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// ingotc --tune: of trainers that differ in their micro-batch, recomputation,
// precision and the chunks of their loss, the cost model chooses some, which
// are compiled and measured.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_TOOLS_INGOTC_TUNE_TRIALS_H
#define INGOT_TOOLS_INGOTC_TUNE_TRIALS_H

#include "tools/ingotc/options/CompilerOptions.h"

namespace ingot {

/// Prints a table of what was planned and measured, and the command line of the
/// fastest trainer, which `-o` writes. Returns the exit status. Throws
/// runtime::Error.
int tune(const CompilerOptions &options);

} // namespace ingot

#endif // INGOT_TOOLS_INGOTC_TUNE_TRIALS_H
