// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The built-in figures of CPUs. Apart from the target, for the program that
// measures a machine: it has no passes.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_TARGETS_CPU_CPUMACHINE_H
#define INGOT_PASSES_TARGETS_CPU_CPUMACHINE_H

#include "dialects/ingot/target/Machine.h"

#include <string>

namespace ingot {

/// Returns the figures for a CPU with the features (LLVM's names).
Machine describeProcessor(llvm::ArrayRef<std::string> features,
                          unsigned threads);

} // namespace ingot

#endif // INGOT_PASSES_TARGETS_CPU_CPUMACHINE_H
