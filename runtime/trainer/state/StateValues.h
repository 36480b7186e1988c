// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The values of states, however they are stored.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_TRAINER_STATE_STATEVALUES_H
#define INGOT_RUNTIME_TRAINER_STATE_STATEVALUES_H

#include "runtime/core/DType.h"
#include "runtime/trainer/loop/Session.h"

#include <functional>
#include <string_view>

namespace ingot::runtime {

/// Copies elements [first, first + count) of a state to or from memory of the
/// type, which the state's own converts to. Of a state in shards this rank
/// must have them.
void readValues(const Session &session, const StateSpec &spec, int64_t first,
                int64_t count, void *to, DType toType);
void writeValues(Session &session, const StateSpec &spec, int64_t first,
                 int64_t count, const void *from, DType fromType);

/// Calls `take` with all of the state's bytes, as elements of its type, a piece
/// at a time.
void readPieces(const Session &session, const StateSpec &spec,
                const std::function<void(std::string_view)> &take);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_TRAINER_STATE_STATEVALUES_H
