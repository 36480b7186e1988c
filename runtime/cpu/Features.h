// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Whether this processor has what a module was compiled for.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CPU_FEATURES_H
#define INGOT_RUNTIME_CPU_FEATURES_H

#include <string>
#include <vector>

namespace ingot::runtime {

/// Those of `features` (LLVM's names) that code may use but this processor or
/// its operating system lacks. Names that nobody knows how to ask for count as
/// present, so that a newer compiler's names do not stop a trainer.
std::vector<std::string>
findMissingFeatures(const std::vector<std::string> &features);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CPU_FEATURES_H
