// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The values of states, independent of how they are stored.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_TRAINER_STATE_STATEVALUES_H
#define INGOT_RUNTIME_TRAINER_STATE_STATEVALUES_H

#include "runtime/core/DType.h"
#include "runtime/trainer/session/Session.h"

#include <functional>
#include <string_view>

namespace ingot::runtime {

/// Copies elements [first, first + count) of a state to or from memory of
/// another type, and converts them. This rank must hold these elements of a
/// sharded state. Elements are those of its part of a state in parts, or of
/// all, once there are all (Session::setWhole).
void readValues(const Session &session, const StateSpec &spec, int64_t first,
                int64_t count, void *to, DType toType);
void writeValues(Session &session, const StateSpec &spec, int64_t first,
                 int64_t count, const void *from, DType fromType);

/// Calls `take` with all bytes of a state, as elements of its type, one piece
/// after the other.
void readPieces(const Session &session, const StateSpec &spec,
                const std::function<void(std::string_view)> &take);

/// Calls `take` with the f32 values of which `upper` and `lower` are the halves
/// (splitHalves), one piece after the other.
void joinPieces(const char *upper, const char *lower, int64_t elements,
                const std::function<void(std::string_view)> &take);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_TRAINER_STATE_STATEVALUES_H
