// SPDX-License-Identifier: Apache-2.0

#include "runtime/trainer/state/EncodedStates.h"

#include "runtime/core/StateEncoding.h"
#include "runtime/quantization/BlockCodes.h"

#include <cstring>

using namespace ingot::runtime;
using namespace ingot;

static const StateSpec &getPart(const Session &session, const StateSpec &spec,
                                size_t part) {
  return *session.getManifest().findState(spec.encoding->parts[part]);
}

static void readEncoded(const Session &session, const StateSpec &spec,
                        int64_t first, int64_t count, float *to) {
  const quantization::Encoding encoding = getEncoding(*spec.encoding);
  auto getPlace = [&](size_t part) {
    return session.getPlace(getPart(session, spec, part));
  };
  const quantization::Parts parts = {
      reinterpret_cast<const uint8_t *>(getPlace(0)), getPlace(1),
      encoding.isDouble ? reinterpret_cast<const float *>(getPlace(2))
                        : nullptr};
  quantization::Decoder(encoding, parts, spec.getElements())
      .decode(first, count, to);
}

static void writeEncoded(Session &session, const StateSpec &spec,
                         const float *from) {
  const quantization::Encoding encoding = getEncoding(*spec.encoding);
  const quantization::Encoded encoded =
      quantization::encode(encoding, from, spec.getElements());
  auto write = [&](size_t part, const void *data) {
    const StateSpec &state = getPart(session, spec, part);
    char *place = session.getPlace(state);
    const auto bytes = static_cast<size_t>(state.getBytes());
    // What does not change stays in the weights.
    if (std::memcmp(place, data, bytes) == 0)
      return;
    session.makeOwn(state);
    std::memcpy(session.getPlace(state), data, bytes);
  };
  write(0, encoded.codes.data());
  write(1, encoded.scales.data());
  if (encoding.isDouble)
    write(2, encoded.nested.data());
}

const EncodedStates *ingot::runtime::ingot_encoded_states() {
  static constexpr EncodedStates states = {readEncoded, writeEncoded};
  return &states;
}
