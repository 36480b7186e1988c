// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The error of a run that lost one of its ranks.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_COMM_LOSTRANK_H
#define INGOT_RUNTIME_COMM_LOSTRANK_H

#include "runtime/core/Error.h"

namespace ingot::runtime {

/// The exit status beside the others, for scripts that start such runs anew.
inline constexpr ExitCode kLostRank{4};

/// An error of a rank that another one does not answer (exit 4).
inline Error lostRank(const std::string &where, const std::string &what,
                      const std::string &hint) {
  return Error(kLostRank, where, what, hint);
}

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_COMM_LOSTRANK_H
