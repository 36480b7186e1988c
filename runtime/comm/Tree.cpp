// SPDX-License-Identifier: Apache-2.0

#include "runtime/comm/Tree.h"

#include "runtime/comm/Reductions.h"

#include <algorithm>

using namespace ingot::runtime;

TreePlace::TreePlace(int64_t rank, int64_t size) {
  for (int64_t bit = 1; bit < size; bit *= 2) {
    if (rank & bit) {
      parent = rank - bit;
      return;
    }
    if (int64_t child = rank + bit; child < size)
      children.push_back({child, std::min(bit, size - child)});
  }
}

Tree::Tree(Wire &wire, int32_t tag, const Operand &operand)
    : WireOperation(wire, tag), place(wire.getRank(), wire.getSize()),
      data(operand.data),
      bytes(operand.elements * ingot::runtime::getSize(operand.type)),
      blockBytes(0), elements(operand.elements), type(operand.type),
      reduction(operand.reduction),
      staging(place.children.size() * static_cast<size_t>(bytes)) {
  for (size_t i = 0; i < place.children.size(); ++i)
    transfers.push_back(
        wire.receive(place.children[i].rank, tag,
                     staging.data() + i * static_cast<size_t>(bytes), bytes));
}

Tree::Tree(Wire &wire, int32_t tag, char *blocks, int64_t bytes)
    : WireOperation(wire, tag), place(wire.getRank(), wire.getSize()),
      data(blocks), bytes(bytes * wire.getSize()), blockBytes(bytes) {
  for (const TreePlace::Child &child : place.children)
    transfers.push_back(wire.receive(
        child.rank, tag, blocks + child.rank * bytes, child.count * bytes));
}

int64_t Tree::getAwaited() const {
  bool isAbove = phase == Phase::ToParent || phase == Phase::FromParent;
  return isAbove || done == place.children.size() ? place.parent
                                                  : place.children[done].rank;
}

/// Returns whether there is more to do at once.
bool Tree::advance() {
  for (; done < transfers.size(); ++done) {
    if (!wire.test(transfers[done]))
      return false;
    if (phase == Phase::FromChildren && blockBytes == 0)
      combineElements(staging.data() + done * static_cast<size_t>(bytes), data,
                      elements, type, reduction);
  }
  transfers.clear();
  done = 0;
  switch (phase) {
  case Phase::FromChildren:
    phase = place.parent < 0 ? Phase::ToChildren : Phase::ToParent;
    break;
  case Phase::ToParent:
    phase = Phase::FromParent;
    break;
  case Phase::FromParent:
    phase = Phase::ToChildren;
    break;
  case Phase::ToChildren:
  case Phase::Done:
    phase = Phase::Done;
    return false;
  }
  int64_t rank = wire.getRank();
  if (phase == Phase::ToParent) {
    // A rank's own block and those of the ranks below it follow one another.
    int64_t count = 1;
    for (const TreePlace::Child &child : place.children)
      count += child.count;
    transfers.push_back(
        wire.send(place.parent, tag, data + rank * blockBytes,
                  blockBytes == 0 ? bytes : count * blockBytes));
  } else if (phase == Phase::FromParent) {
    transfers.push_back(wire.receive(place.parent, tag, data, bytes));
  } else {
    for (const TreePlace::Child &child : place.children)
      transfers.push_back(wire.send(child.rank, tag, data, bytes));
  }
  return true;
}

bool Tree::test() {
  while (advance()) {
  }
  return phase == Phase::Done;
}
