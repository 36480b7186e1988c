// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The library calls of the host's CPU, which runtime/cpu executes.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_TARGETS_CPU_CPUCALLS_H
#define INGOT_PASSES_TARGETS_CPU_CPUCALLS_H

#include "dialects/ingot/target/Machine.h"
#include "dialects/ingot/target/TargetCalls.h"

namespace ingot {

class CpuCalls : public TargetCalls {
public:
  explicit CpuCalls(const Machine &machine) : machine(machine) {}

  /// Computes getSupport() from machine figures only.
  static LibrarySupport getSupport(LibraryCall call, const Machine &machine);

  LibrarySupport getSupport(LibraryCall call) const override {
    return getSupport(call, machine);
  }
  bool hasAttention(mlir::Type) const override { return true; }
  bool prefersChannelsLast(LibraryCall call) const override;

private:
  const Machine &machine;
};

} // namespace ingot

#endif // INGOT_PASSES_TARGETS_CPU_CPUCALLS_H
