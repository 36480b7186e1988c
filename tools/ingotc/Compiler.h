// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// ingotc's work: from a model file to what the options ask for.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_TOOLS_INGOTC_COMPILER_H
#define INGOT_TOOLS_INGOTC_COMPILER_H

#include "tools/ingotc/CompilerOptions.h"

namespace ingot {

/// Compiles; returns the exit status. Diagnostics go to stderr. Throws
/// runtime::Error for what is no fault of the model.
int compile(CompilerOptions options);

} // namespace ingot

#endif // INGOT_TOOLS_INGOTC_COMPILER_H
