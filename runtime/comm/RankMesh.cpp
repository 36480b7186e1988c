// SPDX-License-Identifier: Apache-2.0

#include "runtime/comm/RankMesh.h"

#include "runtime/core/Error.h"

#include <string>

using namespace ingot::runtime;

/// The place of `data` in the order of axes.
static constexpr size_t kData = 1;
static_assert(INGOT_DATA == 1 << kData && INGOT_TENSOR == 1 << 4);

RankMesh::RankMesh(Sizes given, int64_t ranks) : sizes(given) {
  sizes[kData] = 1;
  int64_t others = 1;
  for (int64_t size : sizes)
    others *= size;
  if (ranks % others != 0)
    throw badInput(
        "the number of ranks",
        std::to_string(ranks) + " cannot be divided into groups of " +
            std::to_string(others) + ", which the trainer was compiled for",
        "start " + std::to_string(others) + ", " + std::to_string(2 * others) +
            " or another multiple of " + std::to_string(others));
  sizes[kData] = ranks / others;
}

RankMesh::Sizes RankMesh::getStrides() const {
  Sizes strides;
  int64_t stride = 1;
  for (size_t axis = kAxes; axis-- > 0; stride *= sizes[axis])
    strides[axis] = stride;
  return strides;
}

RankMesh::Sizes RankMesh::getCoordinates(int64_t rank) const {
  Sizes strides = getStrides(), coordinates;
  for (size_t axis = 0; axis < kAxes; ++axis)
    coordinates[axis] = rank / strides[axis] % sizes[axis];
  return coordinates;
}

std::vector<int64_t> RankMesh::getGroup(int64_t rank, int32_t axes) const {
  Sizes strides = getStrides(), own = getCoordinates(rank);
  std::vector<int64_t> group = {rank};
  for (size_t axis = 0; axis < kAxes; ++axis) {
    if ((axes >> axis & 1) == 0)
      continue;
    std::vector<int64_t> wider;
    for (int64_t member : group)
      for (int64_t at = 0; at < sizes[axis]; ++at)
        wider.push_back(member + (at - own[axis]) * strides[axis]);
    group = std::move(wider);
  }
  return group;
}

int64_t RankMesh::getSize(int32_t axes) const {
  int64_t size = 1;
  for (size_t axis = 0; axis < kAxes; ++axis)
    if ((axes >> axis & 1) != 0)
      size *= sizes[axis];
  return size;
}

int64_t RankMesh::getPlace(int64_t rank, int32_t axes) const {
  Sizes own = getCoordinates(rank);
  int64_t place = 0;
  for (size_t axis = 0; axis < kAxes; ++axis)
    if ((axes >> axis & 1) != 0)
      place = place * sizes[axis] + own[axis];
  return place;
}

int32_t RankMesh::getAxes() const {
  int32_t axes = 0;
  for (size_t axis = 0; axis < kAxes; ++axis)
    if (sizes[axis] > 1)
      axes |= 1 << axis;
  return axes;
}

std::string RankMesh::getNames(int32_t axes) const {
  static constexpr const char *kNames[] = {"pipeline", "data", "inner",
                                           "context", "tensor"};
  std::string text;
  for (size_t axis = 0; axis < kAxes; ++axis)
    if ((axes & getAxes()) >> axis & 1)
      text += (text.empty() ? "" : " and ") + std::string(kNames[axis]);
  return text;
}
