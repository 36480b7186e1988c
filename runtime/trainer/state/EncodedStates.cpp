// SPDX-License-Identifier: Apache-2.0

#include "runtime/trainer/state/EncodedStates.h"

#include "runtime/core/StateEncoding.h"
#include "runtime/quantization/BlockCodes.h"
#include "runtime/trainer/state/EncodedParts.h"

#include <cstring>

using namespace ingot::runtime;
using namespace ingot;

static void readEncoded(const Session &session, const StateSpec &spec,
                        int64_t first, int64_t count, float *to) {
  const quantization::Decoder decoder(
      getEncoding(*spec.encoding), getParts(session, spec), spec.getElements());
  if (!spec.encoding->transposed)
    return decoder.decode(first, count, to);
  const int64_t rows = spec.shape[0], columns = spec.shape[1];
  for (int64_t i = first; i < first + count; ++i)
    *to++ = decoder.decodeOne(i % columns * rows + i / columns);
}

static void writeEncoded(Session &session, const StateSpec &spec,
                         const float *from) {
  const quantization::Encoding encoding = getEncoding(*spec.encoding);
  std::vector<float> transposed;
  if (spec.encoding->transposed) {
    transposed = transposeMatrix(from, spec.shape[0], spec.shape[1]);
    from = transposed.data();
  }
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
  if (encoding.hasNested())
    write(2, encoded.nested.data());
}

const EncodedStates *ingot::runtime::ingot_encoded_states() {
  static constexpr EncodedStates states = {readEncoded, writeEncoded};
  return &states;
}
