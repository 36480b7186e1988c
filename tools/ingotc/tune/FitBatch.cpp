// SPDX-License-Identifier: Apache-2.0

#include "tools/ingotc/tune/FitBatch.h"

#include "tools/ingotc/compile/Compiler.h"

#include <limits>

using namespace ingot;

int ingot::findBatch(CompilerOptions options, int64_t &fits,
                     int64_t &peakBytes) {
  int64_t tooLarge = std::numeric_limits<int64_t>::max();
  constexpr int64_t maxBatch = int64_t(1) << 24;
  for (int64_t batch = 1; fits < maxBatch && fits + 1 < tooLarge;) {
    options.import.batch = batch;
    Forecast plan;
    if (int status = forecast(options, plan))
      return status;
    int64_t peak = plan.peakBytes;
    if (peak <= *options.fitBytes)
      fits = batch;
    else
      tooLarge = batch;
    if (batch == fits || fits == 0)
      peakBytes = peak;
    batch = tooLarge > maxBatch ? 2 * batch : fits + (tooLarge - fits) / 2;
  }
  return 0;
}
