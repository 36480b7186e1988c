// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The time and the memory of a step in any layout, from a few steps that were
// compiled: of a model with two numbers of blocks, with and without
// micro-batches, of a sample and of two of them.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_PLAN_ESTIMATE_H
#define INGOT_PASSES_PLAN_ESTIMATE_H

#include "passes/plan/Layout.h"
#include "passes/plan/Replay.h"

#include <functional>
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
  /// Returns what Trace::getComputeSeconds() is of all blocks: of calls whose
  /// work ranks do not share, of the last micro-batch or of one before it.
  double getComputeSeconds(bool isMicro) const;
};

class Estimator {
public:
  /// Compiles the steps of a layout; nothing if that is not possible.
  using Compile =
      std::function<std::optional<BlockTraces>(const Layout &layout)>;

  /// `samples`: those of the micro-batches of steps that are compiled; 0 for
  /// one, and two to see what a further one adds.
  Estimator(const Cluster &cluster, Compile compile, int64_t samples = 0)
      : cluster(cluster), compile(std::move(compile)), given(samples) {}

  /// Returns the estimate for a layout; nothing if it cannot be compiled.
  std::optional<RankPlan> estimate(const Layout &layout);
  /// Returns less time than the step of a layout takes: that of its calls, and
  /// of what ranks that compute it together exchange.
  double getBound(Layout layout);

private:
  /// The time and memory that micro-batches of a layout take beyond those of
  /// the steps that were compiled.
  struct Growth {
    double seconds = 0, bytes = 0;
  };
  std::optional<Growth> getGrowth(const Layout &layout);
  /// Returns how the layout's step differs from the one that is compiled for
  /// it.
  std::optional<ReplayScale> getScale(const Layout &layout);
  /// Returns steps of the layout, with that many samples and with micro-batches
  /// if it has some. They are compiled once.
  const BlockTraces *sample(Layout layout, int64_t samples);
  int64_t getSamples() const { return given > 0 ? given : 1; }

  const Cluster &cluster;
  Compile compile;
  int64_t given;
  std::map<std::string, std::optional<BlockTraces>> traces;
};

} // namespace ingot

#endif // INGOT_PASSES_PLAN_ESTIMATE_H
