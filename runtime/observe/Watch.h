// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Inspects the values that each kernel writes: names the first output that is
// not finite, and reports how well values fit their element types.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_OBSERVE_WATCH_H
#define INGOT_RUNTIME_OBSERVE_WATCH_H

#include "runtime/core/Context.h"
#include "runtime/core/Manifest.h"

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace ingot::runtime {

/// Statistics of a tensor's elements.
struct ValueStatistics {
  int64_t elements = 0;
  /// The number of elements that are NaN, infinite, zero, or subnormal: not
  /// zero but below the smallest normal number, so that digits are lost.
  int64_t nans = 0, infinite = 0, zeros = 0, subnormal = 0;
  /// The largest magnitude of the finite elements.
  double largest = 0;

  void add(const ValueStatistics &other);
};

/// Computes the statistics of `count` floating-point elements.
ValueStatistics inspectValues(const void *data, DType type, int64_t count);

class Watch : public ingot_observer {
public:
  /// Returns the elements of an output, which are valid until the next call.
  using Reader = std::function<const char *(const KernelOutput &)>;

  /// With `keepsStatistics`, statistics of all outputs are accumulated over all
  /// steps.
  Watch(const Manifest &manifest, Reader read, bool keepsStatistics);

  /// Starts a step. If the last one succeeded, its kernels that wrote
  /// infinities, as those of masks do, are not suspects in later steps.
  void startStep(bool lastWentWell);
  void called(int32_t function, int64_t kernel) override;

  /// Whether a kernel of this step wrote a NaN.
  bool sawNan() const { return hasNan; }

  /// Describes the first kernel of the step that wrote a value that is not
  /// finite.
  std::optional<std::string> describeCulprit() const;

  /// Makes a table of outputs, in which those that fit their type worst come
  /// first.
  std::string makeTable() const;

private:
  struct Culprit {
    const KernelSpec *kernel;
    ValueStatistics statistics;
  };
  const Manifest &manifest;
  Reader read;
  bool keepsStatistics;
  std::optional<Culprit> culprit;
  bool hasNan = false;
  using Key = std::pair<int32_t, int64_t>;
  std::set<Key> infinite, trusted;
  /// Statistics by function, kernel and output.
  std::map<std::tuple<int32_t, int64_t, size_t>, ValueStatistics> seen;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_OBSERVE_WATCH_H
