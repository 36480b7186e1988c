// SPDX-License-Identifier: Apache-2.0

#include "runtime/trainer/session/FiledStates.h"

#include "runtime/core/LostFiles.h"

#include <cstring>

using namespace ingot::runtime;

void FiledStates::copy(const StateSpec &spec, const char *data) {
  Block block(spec.getBytes(), "frozen weights");
  std::memcpy(block.getData(), data, spec.getBytes());
  blocks[&spec] = std::move(block);
}

const char *FiledStates::getPlace(const StateSpec &spec) const {
  auto block = blocks.find(&spec);
  return block == blocks.end() ? places.at(&spec) : block->second.getData();
}

void FiledStates::makeOwn(const StateSpec &spec, char *mapped) {
  if (!contain(spec))
    return;
  if (spec.home == StateHome::Mapped)
    makeWritable(mapped, spec.getBytes());
  else if (blocks.count(&spec) == 0)
    copy(spec, getPlace(spec));
  own.insert(&spec);
}

void FiledStates::checkFile() const {
  if (weights && haveLostFiles())
    checkMappedFile(file);
}

void FiledStates::forget() {
  own.clear();
  blocks.clear();
  places.clear();
  weights.reset();
}
