// SPDX-License-Identifier: Apache-2.0

#include "runtime/trainer/loop/StopAgreement.h"

#include "runtime/trainer/save/Saver.h"

#include <utility>

using namespace ingot::runtime;

bool StopAgreement::shouldStop(Saver *saver, bool isLast) {
  if (ranks.getSize() == 1)
    return stop.getSignal() != 0;
  ranks.wait(std::exchange(exchange, 0));
  bool stops = sums.stops != 0;
  if (auto ended = std::exchange(stage, std::nullopt);
      ended && sums.writers == 0)
    saver->endStage(*ended);
  if (stops || isLast)
    return stops;
  if (saver)
    stage = saver->getStage();
  sums = {stop.getSignal() ? 1 : 0, stage && saver->isBusy() ? 1 : 0};
  exchange =
      ranks.startAllReduce(&sums, 2, DType::I32, "agreement on the next step");
  return false;
}
