// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Histograms of tensors, in buckets of a fixed relative width.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_OBSERVE_TENSORBOARD_HISTOGRAM_H
#define INGOT_RUNTIME_OBSERVE_TENSORBOARD_HISTOGRAM_H

#include <cstdint>
#include <vector>

namespace ingot::runtime {

/// Eight buckets for each power of two and sign, so that gradients of any size
/// have a shape.
class Histogram {
public:
  Histogram() : counts(2 * kBuckets) {}

  void add(const float *values, int64_t count);

  /// The elements, of which `getFinite()` are in the buckets.
  int64_t getElements() const { return elements; }
  int64_t getFinite() const { return finite; }
  int64_t getZeros() const { return zeros; }
  /// Elements that are not zero but so small that digits are lost.
  int64_t getSubnormal() const { return subnormal; }
  /// Returns the smallest of the finite elements; zero if there are none.
  double getMin() const { return finite == 0 ? 0 : smallest; }
  double getMax() const { return finite == 0 ? 0 : largest; }
  double getSum() const { return sum; }
  double getSquareSum() const { return squares; }
  double getNorm() const;

  /// The upper ends of the buckets from the lowest to the highest value, and
  /// how many elements are in each. Neighbors without elements are one bucket.
  struct Buckets {
    std::vector<double> limits, counts;
  };
  Buckets getBuckets() const;

private:
  /// The upper 11 bits of a positive float: exponent and three digits.
  static constexpr int64_t kBuckets = int64_t(1) << 11;
  static constexpr int kShift = 20;

  /// The counts of buckets; buckets of negative numbers come first, in reverse.
  std::vector<int64_t> counts;
  int64_t elements = 0, finite = 0, zeros = 0, subnormal = 0;
  double smallest = 0, largest = 0, sum = 0, squares = 0;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_OBSERVE_TENSORBOARD_HISTOGRAM_H
