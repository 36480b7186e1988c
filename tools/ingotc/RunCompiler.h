// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Does what a command line of ingotc asks for.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_TOOLS_INGOTC_RUNCOMPILER_H
#define INGOT_TOOLS_INGOTC_RUNCOMPILER_H

#include "tools/ingotc/options/CompilerOptions.h"

namespace ingot {

/// Tries candidates (--tune), finds the batch (--fit), prints the pipeline or
/// compiles; returns the exit status. Diagnostics go to stderr. Throws
/// runtime::Error for what is no fault of the model.
int runCompiler(CompilerOptions options);

} // namespace ingot

#endif // INGOT_TOOLS_INGOTC_RUNCOMPILER_H
