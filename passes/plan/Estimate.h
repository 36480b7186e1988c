// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The time and the memory of a step in any layout, from a few steps that were
// compiled: of a model with two numbers of blocks, a sample, and two of them.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_PLAN_ESTIMATE_H
#define INGOT_PASSES_PLAN_ESTIMATE_H

#include "passes/plan/Layout.h"
#include "passes/plan/Replay.h"

#include <array>
#include <map>
#include <optional>

namespace ingot {

/// Steps of a model with some of its blocks. What one more block of a kind adds
/// is added for each that the model has.
struct BlockTraces {
  Trace few;
  struct More {
    Trace trace;
    /// The blocks that the model has beyond `few`, by those that `trace` has.
    double times = 0;
  };
  std::vector<More> more;

  RankPlan replay(const Cluster &cluster, int64_t ranks,
                  ReplayScale scale = {}) const;
  /// Return what Trace::getComputeSeconds() and Trace::parameterBytes are of
  /// all blocks.
  double getComputeSeconds(bool isShared) const;
  double getParameterBytes() const;

private:
  template <typename Get> double sum(Get get) const;
};

/// The steps that were compiled for one number of ranks that compute together.
struct GroupTraces {
  /// The samples of these steps' micro-batches.
  int64_t samples = 1;
  /// By stage of ZeRO.
  std::array<std::optional<BlockTraces>, 4> stages;
  /// The stage that the following were compiled for, with as many samples and
  /// twice as many.
  unsigned stage = 0;
  BlockTraces one, two;
};

class Estimator {
public:
  /// `scale`: how long calls take by the model of the machine that knows most,
  /// as a multiple of their bounds.
  Estimator(const Cluster &cluster, double scale)
      : cluster(cluster), scale(scale) {}

  void add(int64_t tensor, GroupTraces traces) {
    groups[tensor] = std::move(traces);
  }
  /// Whether steps were compiled from which the layout's can be estimated.
  bool knows(const Layout &layout) const;
  /// Returns the estimate for a layout that it knows.
  RankPlan estimate(const Layout &layout) const;
  /// Returns less time than the step of a layout takes.
  double getBound(const Layout &layout) const;

private:
  /// The time of calls of a micro-batch, as it is in the layout and as it was
  /// compiled, that of the update, and the memory that the layout's batch takes
  /// beyond what was compiled.
  struct Work {
    double seconds, first, updateSeconds, extraBytes;
  };
  Work getWork(const Layout &layout) const;
  /// The samples of a micro-batch, by those of the steps that were compiled.
  double getTimes(const Layout &layout) const;

  const Cluster &cluster;
  double scale;
  std::map<int64_t, GroupTraces> groups;
};

} // namespace ingot

#endif // INGOT_PASSES_PLAN_ESTIMATE_H
