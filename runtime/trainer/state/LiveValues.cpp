// SPDX-License-Identifier: Apache-2.0

#include "runtime/trainer/state/LiveValues.h"

#include <utility>

using namespace ingot::runtime;

LiveValues::LiveValues(Session &session, const StateSpec &spec)
    : spec(spec), held(session.getHeld(spec)) {
  auto read = [&](const StateSpec &state) {
    if (state.home == StateHome::File)
      return std::as_const(session).getPlace(state);
    return session.read(
        {state.dtype, Space::State, state.offset, state.getElements()});
  };
  if (spec.shard) {
    data = session.readShard(spec);
  } else if (spec.halves.empty()) {
    data = read(spec);
  } else {
    // The second call may reuse the memory of the first.
    const Manifest &manifest = session.getManifest();
    upper.assign(read(*manifest.findState(spec.halves[0])),
                 spec.getElements() * getSize(DType::BF16));
    lower = read(*manifest.findState(spec.halves[1]));
  }
}

const char *LiveValues::get(int64_t first, int64_t count, DType dtype) {
  const char *from;
  if (lower) {
    joinHalves(upper.data() + first * getSize(DType::BF16),
               lower + first * getSize(DType::I16), joined.data(), count);
    from = reinterpret_cast<const char *>(joined.data());
  } else {
    from = data + (first - held.begin) * getSize(spec.dtype);
  }
  if (dtype == spec.dtype)
    return from;
  convert(from, spec.dtype, converted.data(), dtype, count);
  return reinterpret_cast<const char *>(converted.data());
}
