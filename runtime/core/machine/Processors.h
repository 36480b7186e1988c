// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The processors that threads may run on.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CORE_MACHINE_PROCESSORS_H
#define INGOT_RUNTIME_CORE_MACHINE_PROCESSORS_H

#include <cstdint>
#include <set>

namespace ingot::runtime {

/// Processors by their numbers in the operating system.
using Processors = std::set<int64_t>;

/// The processors that this process may run on, as it was at the first call:
/// threads may be bound later.
const Processors &getAllowedProcessors();

/// Binds the calling thread to processors. Threads that it starts inherit them.
void bindThread(const Processors &processors);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CORE_MACHINE_PROCESSORS_H
