// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Values of states that others have encoded. Programs link these functions by
// name (-u ingot_encoded_states): trainers without such states do without, and
// that function is null there.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_TRAINER_STATE_ENCODEDSTATES_H
#define INGOT_RUNTIME_TRAINER_STATE_ENCODEDSTATES_H

#include "runtime/trainer/session/Session.h"

namespace ingot::runtime {

/// The functions of encoded states.
struct EncodedStates {
  /// Decodes elements [first, first + count).
  void (*read)(const Session &session, const StateSpec &spec, int64_t first,
               int64_t count, float *to);
  /// Encodes all elements, which are in f32, into the parts.
  void (*write)(Session &session, const StateSpec &spec, const float *from);
};

extern "C" {
/// Returns what is linked.
__attribute__((weak)) const EncodedStates *ingot_encoded_states();
}

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_TRAINER_STATE_ENCODEDSTATES_H
