// SPDX-License-Identifier: Apache-2.0

#include "runtime/trainer/state/Snapshot.h"

#include "runtime/core/Device.h"
#include "runtime/trainer/state/StateValues.h"

#include <algorithm>
#include <cstring>

using namespace ingot::runtime;

void ingot::runtime::copyAll(const Session &session,
                             const std::vector<CopyRange> &ranges) {
  constexpr int64_t most = int64_t(1) << 20;
  std::vector<CopyRange> pieces;
  for (const CopyRange &range : ranges)
    for (int64_t at = 0; at < range.bytes; at += most)
      pieces.push_back(
          {range.to + at, range.from + at, std::min(most, range.bytes - at)});
  session.getDevice().forEach(
      static_cast<int64_t>(pieces.size()), [&](int64_t i) {
        std::memcpy(pieces[i].to, pieces[i].from,
                    static_cast<size_t>(pieces[i].bytes));
      });
}

void Snapshot::take(const Session &session, SafeTensors &tensors) {
  const Manifest &manifest = session.getManifest();
  auto align = [](int64_t bytes) { return (bytes + 63) / 64 * 64; };
  int64_t size = 0;
  for (const auto &[name, tensor] : tensors.tensors)
    size += align(tensor.getBytes());
  if (static_cast<int64_t>(block.getSize()) < size)
    block = Block(size, "the copy of the state for checkpoints");
  std::vector<CopyRange> ranges;
  char *next = block.getData();
  auto place = [&](const char *from, int64_t bytes) {
    char *to = next;
    ranges.push_back({to, from, bytes});
    next += bytes;
    return to;
  };
  for (auto &[name, tensor] : tensors.tensors) {
    next = block.getData() + align(next - block.getData());
    int64_t bytes = tensor.getBytes();
    if (!tensor.pieces) {
      tensor.data = {place(tensor.data.data(), bytes),
                     static_cast<size_t>(bytes)};
      continue;
    }
    // A split master: its halves are copied, and joined when they are written.
    const StateSpec &spec = *manifest.findState(name);
    const StateSpec &high = *manifest.findState(spec.halves[0]);
    const StateSpec &low = *manifest.findState(spec.halves[1]);
    int64_t elements = spec.getElements();
    const char *upper = place(session.getPlace(high), high.getBytes());
    const char *lower = place(session.getPlace(low), low.getBytes());
    tensor.pieces = [=](const TensorView::Sink &take) {
      joinPieces(upper, lower, elements, take);
    };
  }
  copyAll(session, ranges);
}
