// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The ranges of values by which scales are chosen.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_TRAINER_QUANTIZE_RANGES_H
#define INGOT_RUNTIME_TRAINER_QUANTIZE_RANGES_H

#include <cstdint>
#include <vector>

namespace ingot::runtime {

/// A range of values that has 0 in it.
struct ValueRange {
  double low = 0, high = 0;

  /// Extends the range by values.
  void add(const float *values, int64_t count);
};

/// How many values of a range are in each of its parts, which are equal.
class RangeHistogram {
public:
  explicit RangeHistogram(ValueRange range);

  void add(const float *values, int64_t count);

  /// Returns the range without that share of the values, half of it at each
  /// end.
  ValueRange cut(double share) const;
  /// Returns the part of the range for which values that are rounded to that
  /// many steps have the least mean square error.
  ValueRange findLeastError(double steps) const;

private:
  double getCenter(size_t bin) const;

  ValueRange range;
  std::vector<int64_t> counts;
};

/// Returns the scale of a symmetric range, whose greatest code is given, with
/// the least mean square error of the values.
double findLeastErrorScale(const float *values, int64_t count, double greatest);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_TRAINER_QUANTIZE_RANGES_H
