// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Whether this CPU has the features that a module was compiled for.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CPU_FEATURES_H
#define INGOT_RUNTIME_CPU_FEATURES_H

#include <string>
#include <vector>

namespace ingot::runtime {

/// Returns those of `features` (LLVM's names) that this CPU or its operating
/// system lacks. Unknown names count as present, so that the names of a newer
/// compiler do not stop a trainer.
std::vector<std::string>
findMissingFeatures(const std::vector<std::string> &features);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CPU_FEATURES_H
