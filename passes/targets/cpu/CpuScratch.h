// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The machine figures on which the scratch memory of library calls depends.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_TARGETS_CPU_CPUSCRATCH_H
#define INGOT_PASSES_TARGETS_CPU_CPUSCRATCH_H

#include "dialects/ingot/target/Machine.h"
#include "runtime/cpu/plan/ConvolutionAlgorithms.h"

namespace ingot {

inline cpu::ScratchMachine getScratchMachine(const Machine &machine) {
  cpu::ScratchMachine scratch;
  scratch.threads = static_cast<int64_t>(machine.threads);
  scratch.tilesHalves = machine.tilesHalves != 0;
  scratch.tilesF32 = machine.tilesF32 != 0;
  return scratch;
}

} // namespace ingot

#endif // INGOT_PASSES_TARGETS_CPU_CPUSCRATCH_H
