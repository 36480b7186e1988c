// SPDX-License-Identifier: Apache-2.0

#include "runtime/trainer/state/SavedElements.h"

#include "runtime/core/Error.h"
#include "runtime/core/Text.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

using namespace ingot::runtime;

bool ingot::runtime::isInShards(const Session &session, const StateSpec &spec) {
  return spec.partition ||
         ((spec.shard || spec.isOwn()) && session.getRanks() > 1);
}

void ingot::runtime::addShard(SafeTensors &shards, const Session &session,
                              const StateSpec &spec, const std::string &name,
                              const TensorView &held) {
  ElementRange range = session.getHeld(spec);
  if (range.getCount() == 0 || !session.isFirstHolder(spec))
    return;
  TensorView &view = shards.tensors[name] = held;
  view.shape = {range.getCount()};
  shards.metadata[name] =
      std::to_string(range.begin) +
      (spec.partition ? " " + session.getPlaces(spec).print() : "");
}

void ingot::runtime::readWhole(const Session &session, const StateSpec &spec,
                               const TensorView &tensor,
                               const TakeElements &take) {
  session.getPlaces(spec).forEach(
      session.getHeld(spec), [&](const PartPlaces::Run &run) {
        if (run.whole >= 0)
          take(run.first, run.count,
               tensor.data.data() + run.whole * getSize(tensor.dtype),
               tensor.dtype);
      });
}

namespace {

/// A piece of a state in a file of a rank: elements of its shard, part, or
/// both.
class SavedPiece {
public:
  /// Throws badInput unless it fits the state.
  SavedPiece(const StateSpec &spec, const TensorView &piece,
             const std::string &place, const std::string &where)
      : piece(piece) {
    char *end = nullptr;
    range.begin = std::strtoll(place.c_str(), &end, 10);
    std::optional<PartPlaces> part;
    if (*end == 0)
      part = PartPlaces::ofWhole(spec.getWholeElements());
    else if (*end == ' ')
      part = PartPlaces::parse(end + 1, spec.getWholeShape());
    int64_t count = piece.shape.size() == 1 ? piece.shape[0] : -1;
    if (!part || count < 0 || range.begin < 0 ||
        range.begin > part->getElements() - count ||
        (piece.dtype != spec.dtype &&
         !(isFloat(piece.dtype) && isFloat(spec.dtype))))
      throw badInput(where,
                     "a shard does not fit the model's " +
                         describeShape(spec.getWholeShape()),
                     "resume with a trainer of the same model and optimizer");
    range.end = range.begin + count;
    part->forEach(range, [&](const PartPlaces::Run &run) {
      if (run.whole >= 0)
        runs.push_back(run);
    });
    std::sort(runs.begin(), runs.end(),
              [](const auto &a, const auto &b) { return a.whole < b.whole; });
  }

  /// Calls `take` with those elements of a run of the state that are in the
  /// piece. Returns their number.
  int64_t read(const PartPlaces::Run &to, const TakeElements &take) const {
    auto next = std::partition_point(runs.begin(), runs.end(),
                                     [&](const PartPlaces::Run &run) {
                                       return run.whole + run.count <= to.whole;
                                     });
    int64_t taken = 0;
    for (; next != runs.end() && next->whole < to.whole + to.count; ++next) {
      int64_t begin = std::max(next->whole, to.whole);
      int64_t count =
          std::min(next->whole + next->count, to.whole + to.count) - begin;
      int64_t from = next->first - range.begin + begin - next->whole;
      take(to.first + begin - to.whole, count,
           piece.data.data() + from * getSize(piece.dtype), piece.dtype);
      taken += count;
    }
    return taken;
  }

private:
  const TensorView &piece;
  ElementRange range;
  /// In the order of the whole tensor.
  std::vector<PartPlaces::Run> runs;
};

} // namespace

bool ingot::runtime::readShards(const Session &session, const StateSpec &spec,
                                const std::string &name,
                                const std::vector<SafeTensors> &shards,
                                const std::string &where,
                                const TakeElements &take) {
  std::vector<SavedPiece> pieces;
  for (const SafeTensors &shard : shards) {
    auto tensor = shard.tensors.find(name);
    auto place = shard.metadata.find(name);
    if (tensor != shard.tensors.end() && place != shard.metadata.end())
      pieces.emplace_back(spec, tensor->second, place->second, where);
  }
  int64_t missing = 0;
  session.getPlaces(spec).forEach(session.getHeld(spec),
                                  [&](const PartPlaces::Run &run) {
                                    if (run.whole < 0)
                                      return;
                                    missing += run.count;
                                    for (const SavedPiece &piece : pieces)
                                      missing -= piece.read(run, take);
                                  });
  if (!pieces.empty() && missing != 0)
    throw badInput(where, "shards do not hold all elements",
                   "resume from another checkpoint of the folder");
  return !pieces.empty();
}
