// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Checks of the paths that the options name.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_TOOLS_INGOTC_CHECKS_CHECKPATHS_H
#define INGOT_TOOLS_INGOTC_CHECKS_CHECKPATHS_H

#include "tools/ingotc/options/CompilerOptions.h"

namespace ingot {

/// Nothing that is written may replace what is read, other outputs or devices,
/// and all of it can be written: this is known before the model is read.
/// `externalFiles` are the files beside the model that it reads, once they are
/// known. Throws a runtime::Error.
void checkPaths(const CompilerOptions &options,
                llvm::ArrayRef<std::string> externalFiles = {});

} // namespace ingot

#endif // INGOT_TOOLS_INGOTC_CHECKS_CHECKPATHS_H
