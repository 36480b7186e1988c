// SPDX-License-Identifier: Apache-2.0

#include "runtime/trainer/state/ShardedModel.h"

#include "runtime/checkpoint/TensorFiles.h"
#include "runtime/comm/Communicator.h"
#include "runtime/core/files/Crc32.h"
#include "runtime/trainer/state/StateValues.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <vector>

using namespace ingot::runtime;

bool ingot::runtime::isModelInShards(const Session &session) {
  const std::vector<StateSpec> &states = session.getManifest().states;
  return std::any_of(states.begin(), states.end(), [&](const StateSpec &spec) {
    return spec.isModel() &&
           (spec.partition || (spec.shard && session.getRanks() > 1));
  });
}

void ingot::runtime::compareWeights(const Session &session, Communicator &ranks,
                                    const std::string &path) {
  if (path.empty() || !isModelInShards(session))
    return;
  std::array<char, 1 << 16> piece;
  uint32_t crc = 0;
  for (const std::string &name : TensorFiles::list(path)) {
    std::ifstream file(name, std::ios::binary);
    while (file.read(piece.data(), piece.size()), file.gcount() > 0)
      crc =
          computeCrc32({piece.data(), static_cast<size_t>(file.gcount())}, crc);
  }
  ranks.checkEqual(crc, "file of --init", "give all ranks the same weights");
}

void ingot::runtime::gatherModel(Session &session, Communicator &ranks) {
  // Elements of each rank that are in flight.
  constexpr int64_t most = 1 << 20;
  const int64_t size = ranks.getSize(), rank = ranks.getRank();
  const RankMesh &mesh = ranks.getMesh();
  for (const StateSpec &spec : session.getManifest().states) {
    if (!spec.isModel() || (!spec.shard && !spec.partition))
      continue;
    // What each rank sends; nothing where an earlier one has the same.
    std::vector<ElementRange> held;
    int64_t largest = 0;
    for (int64_t i = 0; i < size; ++i) {
      held.push_back(session.isFirstHolder(spec, i)
                         ? spec.getHeld(mesh.getPlace(i, mesh.getShardAxis()),
                                        mesh.getSize(mesh.getShardAxis()))
                         : ElementRange());
      largest = std::max(largest, held.back().getCount());
    }
    const int64_t bytes = getSize(spec.dtype);
    Block gathered;
    char *whole = nullptr;
    if (rank == 0) {
      gathered = Block(spec.getWholeElements() * bytes,
                       "the whole of a state in shards");
      whole = gathered.getData();
    }
    std::vector<char> part, all;
    for (int64_t at = 0; at < largest; at += most) {
      int64_t each = std::min(most, largest - at);
      auto count = [&](const ElementRange &range) {
        return std::clamp<int64_t>(range.getCount() - at, 0, each);
      };
      part.assign(each * bytes, 0);
      all.resize(part.size() * size);
      if (int64_t some = count(held[rank]))
        readValues(session, spec, held[rank].begin + at, some, part.data(),
                   spec.dtype);
      ranks.allGather(part.data(), all.data(), each * bytes,
                      "weights to export");
      for (int64_t i = 0; whole && i < size; ++i) {
        int64_t some = count(held[i]), first = held[i].begin + at;
        const char *from = all.data() + i * each * bytes;
        session.getPlaces(spec, i).forEach(
            {first, first + some}, [&](const PartPlaces::Run &run) {
              if (run.whole >= 0)
                std::memcpy(whole + run.whole * bytes,
                            from + (run.first - first) * bytes,
                            run.count * bytes);
            });
      }
    }
    if (whole)
      session.setWhole(spec, std::move(gathered));
  }
}
