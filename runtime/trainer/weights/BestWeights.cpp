// SPDX-License-Identifier: Apache-2.0

#include "runtime/trainer/weights/BestWeights.h"

#include "runtime/trainer/state/LiveValues.h"
#include "runtime/trainer/state/State.h"
#include "runtime/trainer/state/StateValues.h"

#include <algorithm>
#include <cstring>

using namespace ingot::runtime;

BestWeights::BestWeights(Session &session) : session(session) {
  int64_t bytes = 0;
  for (const StateSpec &spec : session.getManifest().states) {
    if (spec.role != StateRole::Parameter && spec.role != StateRole::Running)
      continue;
    states.push_back({&spec, nullptr});
    bytes += spec.getAlignedBytes();
  }
  block = Block(bytes, "the weights of the best evaluation");
  char *next = block.getData();
  for (Kept &kept : states) {
    kept.values = next;
    next += kept.spec->getAlignedBytes();
  }
}

void BestWeights::keep(int64_t number) {
  constexpr int64_t most = LiveValues::kPiece;
  for (const auto &[spec, values] : states) {
    LiveValues reader(session, *spec);
    auto [begin, end] = reader.getHeld();
    int64_t size = getSize(spec->dtype);
    for (int64_t i = begin; i < end; i += most) {
      int64_t count = std::min(most, end - i);
      std::memcpy(values + i * size, reader.get(i, count, spec->dtype),
                  count * size);
    }
  }
  step = number;
}

void BestWeights::restore() {
  // Gives the states of a device a place on the host.
  session.fetchState();
  for (const auto &[spec, values] : states) {
    ElementRange held = session.getHeld(*spec);
    writeValues(session, *spec, held.begin, held.getCount(),
                values + held.begin * getSize(spec->dtype), spec->dtype);
  }
  refreshCopies(session);
  session.storeState();
}
