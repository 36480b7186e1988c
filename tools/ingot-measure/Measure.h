// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Measures the figures of a machine profile on this machine.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_TOOLS_INGOT_MEASURE_MEASURE_H
#define INGOT_TOOLS_INGOT_MEASURE_MEASURE_H

#include "dialects/ingot/target/Machine.h"

namespace ingot {

/// Measures throughputs with the threads that a trainer would use here
/// (OMP_NUM_THREADS, else the affinity mask); each figure is the best of
/// several short runs. Figures that are not measured (links between ranks) are
/// the built-in ones.
Machine measureMachine();

} // namespace ingot

#endif // INGOT_TOOLS_INGOT_MEASURE_MEASURE_H
