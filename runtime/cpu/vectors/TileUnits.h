// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The tile units of a CPU (AMX).
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CPU_VECTORS_TILEUNITS_H
#define INGOT_RUNTIME_CPU_VECTORS_TILEUNITS_H

namespace ingot::runtime {

/// Whether this CPU has tile units, and the operating system grants this
/// process their registers.
bool hasTileUnits();

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CPU_VECTORS_TILEUNITS_H
