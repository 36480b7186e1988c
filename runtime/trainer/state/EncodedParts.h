// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The parts of states that others have encoded.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_TRAINER_STATE_ENCODEDPARTS_H
#define INGOT_RUNTIME_TRAINER_STATE_ENCODEDPARTS_H

#include "runtime/quantization/BlockCodes.h"
#include "runtime/trainer/session/Session.h"

#include <vector>

namespace ingot::runtime {

inline const StateSpec &getPart(const Session &session, const StateSpec &spec,
                                size_t part) {
  return *session.getManifest().findState(spec.encoding->parts[part]);
}

/// Returns the memory of the parts of an encoded state.
inline quantization::Parts getParts(const Session &session,
                                    const StateSpec &spec) {
  auto getPlace = [&](size_t part) {
    return session.getPlace(getPart(session, spec, part));
  };
  return {reinterpret_cast<const uint8_t *>(getPlace(0)), getPlace(1),
          spec.encoding->parts.size() > 2
              ? reinterpret_cast<const float *>(getPlace(2))
              : nullptr};
}

/// Returns the transpose of a matrix.
inline std::vector<float> transposeMatrix(const float *from, int64_t rows,
                                          int64_t columns) {
  std::vector<float> to(rows * columns);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t k = 0; k < columns; ++k)
      to[k * rows + i] = from[i * columns + k];
  return to;
}

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_TRAINER_STATE_ENCODEDPARTS_H
