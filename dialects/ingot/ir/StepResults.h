// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The names of results that are sums over samples.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_INGOT_IR_STEPRESULTS_H
#define INGOT_DIALECTS_INGOT_IR_STEPRESULTS_H

#include "llvm/ADT/StringRef.h"

namespace ingot {

/// The prefix of names of results that metrics are computed from.
inline constexpr llvm::StringLiteral kMetricPrefix = "metric.";

/// Whether a result of a training step with this name is a sum over the samples
/// of all micro-batches and ranks that metrics are computed from.
inline bool isMetricSum(llvm::StringRef name) {
  return name.starts_with(kMetricPrefix);
}

} // namespace ingot

#endif // INGOT_DIALECTS_INGOT_IR_STEPRESULTS_H
