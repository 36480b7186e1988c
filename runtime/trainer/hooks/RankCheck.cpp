// SPDX-License-Identifier: Apache-2.0

#include "runtime/trainer/hooks/RankCheck.h"

#include "runtime/comm/Communicator.h"
#include "runtime/core/Error.h"
#include "runtime/core/files/Crc32.h"
#include "runtime/trainer/session/Session.h"
#include "runtime/trainer/state/LiveValues.h"

#include <algorithm>

using namespace ingot::runtime;

/// Whether ranks that hold the same elements of such a state have the same
/// values after a step: seeds, sums over micro-batches and residuals are a
/// rank's own, no step writes frozen weights, and a state in halves or codes is
/// others.
static bool isCommon(const StateSpec &spec) {
  if (!spec.halves.empty() || spec.home == StateHome::Encoded)
    return false;
  switch (spec.role) {
  case StateRole::Parameter:
  case StateRole::Running:
  case StateRole::Moment:
  case StateRole::Step:
  case StateRole::LossScale:
  case StateRole::LowCopy:
  case StateRole::LowerHalf:
  case StateRole::Basis:
  case StateRole::Magnitudes:
    return true;
  default:
    return false;
  }
}

/// Whether a kernel is known to write a state in the block of states.
static bool writes(const KernelSpec &kernel, const StateSpec &spec) {
  return kernel.stateWrites &&
         std::any_of(kernel.stateWrites->begin(), kernel.stateWrites->end(),
                     [&](const StateRange &range) {
                       return range.offset < spec.offset + spec.getBytes() &&
                              spec.offset < range.offset + range.bytes;
                     });
}

RankCheck::RankCheck(const RunContext &context, int64_t every)
    : context(context), every(every) {
  const Manifest &manifest = context.getManifest();
  const FunctionSpec &step = *manifest.findFunction("train_step", 0);
  for (const StateSpec &spec : manifest.states) {
    if (!isCommon(spec))
      continue;
    Checked checked = {&spec, step.kernels.size()};
    for (size_t i = 0; i < step.kernels.size(); ++i)
      if (!spec.shard && writes(step.kernels[i], spec))
        checked.kernel = i;
    states.push_back(checked);
  }
  std::stable_sort(
      states.begin(), states.end(),
      [](const Checked &a, const Checked &b) { return a.kernel < b.kernel; });
}

uint32_t RankCheck::computeChecksum(const StateSpec &spec) const {
  LiveValues values(context.session, spec);
  auto [begin, end] = values.getHeld();
  uint32_t crc = 0;
  for (int64_t first = begin; first < end; first += LiveValues::kPiece) {
    int64_t count = std::min(LiveValues::kPiece, end - first);
    crc = computeCrc32({values.get(first, count, spec.dtype),
                        static_cast<size_t>(count * getSize(spec.dtype))},
                       crc);
  }
  return crc;
}

int64_t RankCheck::findFirst(const StateSpec &spec, int64_t rank) const {
  const RankMesh &mesh = context.ranks.getMesh();
  int32_t axes = spec.getSplitAxes();
  if (spec.shard)
    axes |= mesh.getShardAxis();
  return mesh.getGroup(rank, mesh.getAxes() & ~axes).front();
}

void RankCheck::endStep(int64_t number, double) {
  if (!inspects(number))
    return;
  std::vector<uint32_t> own;
  own.reserve(states.size());
  for (const Checked &checked : states)
    own.push_back(computeChecksum(*checked.spec));
  const auto ranks = context.ranks.getSize();
  std::vector<uint32_t> all(own.size() * static_cast<size_t>(ranks));
  context.ranks.allGather(own.data(), all.data(),
                          static_cast<int64_t>(own.size() * sizeof(uint32_t)),
                          "the checksums of --check-ranks");
  const FunctionSpec &step =
      *context.getManifest().findFunction("train_step", 0);
  for (size_t i = 0; i < states.size(); ++i)
    for (int64_t rank = 0; rank < ranks; ++rank) {
      int64_t first = findFirst(*states[i].spec, rank);
      auto get = [&](int64_t of) {
        return all[static_cast<size_t>(of) * own.size() + i];
      };
      if (get(rank) == get(first))
        continue;
      std::string writer;
      if (states[i].kernel < step.kernels.size())
        writer = ", which " + step.kernels[states[i].kernel].name + " writes";
      throw failure("--check-ranks, step " + std::to_string(number),
                    "rank " + std::to_string(rank) + " has another '" +
                        states[i].spec->name + "' than rank " +
                        std::to_string(first) + writer,
                    "check the machine of that rank, and that all have the "
                    "same processors and libraries; the states before it in "
                    "the step are equal");
    }
}
