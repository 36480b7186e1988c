// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Looks at what each kernel writes: names the first that is not finite, and
// says how well values fit their element types.
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

/// What was seen of a tensor's elements.
struct ValueStatistics {
  int64_t elements = 0;
  /// NaN; infinite; zero; not zero but below the smallest normal number, so
  /// that digits are lost.
  int64_t nans = 0, infinite = 0, zeros = 0, subnormal = 0;
  /// Of the finite elements.
  double largest = 0;

  void add(const ValueStatistics &other);
};

/// Statistics of `count` floating-point elements.
ValueStatistics inspectValues(const void *data, DType type, int64_t count);

class Watch : public ingot_observer {
public:
  /// Gives the elements of an output, until the next call.
  using Reader = std::function<const char *(const KernelOutput &)>;

  /// With `keepsStatistics`, all outputs of all steps are added up.
  Watch(const Manifest &manifest, Reader read, bool keepsStatistics);

  /// Forgets what the last step had. If it went well, its kernels that wrote
  /// infinities (masks do) are not suspect in later ones.
  void startStep(bool lastWentWell);
  void called(int32_t function, int64_t kernel) override;

  /// True if a kernel of this step wrote a NaN.
  bool sawNan() const { return hasNan; }

  /// The first kernel of the step that wrote a value which is not finite.
  std::optional<std::string> describeCulprit() const;

  /// A table of outputs, those that fit their type worst first.
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
  /// By function, kernel and output.
  std::map<std::tuple<int32_t, int64_t, size_t>, ValueStatistics> seen;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_OBSERVE_WATCH_H
