// SPDX-License-Identifier: Apache-2.0

#include "runtime/trainer/session/ModuleMesh.h"

#include <algorithm>

using namespace ingot::runtime;

RankMesh ingot::runtime::getMesh(const Manifest &manifest,
                                 std::optional<int64_t> ranks) {
  RankMesh::Sizes sizes = {1, 1, 1, 1, 1};
  std::copy(manifest.mesh.begin(), manifest.mesh.end(), sizes.begin());
  constexpr size_t data = 1;
  int64_t fewest = 1;
  for (size_t axis = 0; axis < sizes.size(); ++axis)
    if (axis != data)
      fewest *= sizes[axis];
  return {sizes, ranks.value_or(fewest)};
}
