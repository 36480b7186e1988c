// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A profile of a run: a trace for Perfetto and chrome://tracing, and a table.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_OBSERVE_PROFILE_H
#define INGOT_RUNTIME_OBSERVE_PROFILE_H

#include "runtime/comm/Communicator.h"
#include "runtime/core/Context.h"
#include "runtime/core/Manifest.h"

#include <string>
#include <vector>

namespace ingot::runtime {

/// Writes the events as a Chrome trace, with collectives in addition to
/// kernels. Throws failure.
void writeTrace(const std::string &path, const Manifest &manifest,
                const std::vector<ingot_event> &events,
                const std::vector<CommunicationEvent> &collectives);

/// Makes a table of the kernels that took longest, with their time, its
/// fraction of the total, and their throughput.
std::string makeProfileTable(const Manifest &manifest,
                             const std::vector<ingot_event> &events);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_OBSERVE_PROFILE_H
