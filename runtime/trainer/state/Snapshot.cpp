// SPDX-License-Identifier: Apache-2.0

#include "runtime/trainer/state/Snapshot.h"

#include "runtime/abi/Align.h"
#include "runtime/core/machine/Threads.h"
#include "runtime/trainer/state/StateValues.h"

using namespace ingot::runtime;
namespace abi = ingot::abi;

/// Copies begin on cache lines.
static constexpr int64_t kAlignment = 64;

static int64_t countBytes(Snapshot::Sets sets) {
  int64_t size = 0;
  for (const SafeTensors *set : sets)
    for (const auto &[name, tensor] : set->tensors)
      size += abi::alignTo(tensor.getBytes(), kAlignment);
  return size;
}

Snapshot::~Snapshot() { joinToucher(); }

void Snapshot::joinToucher() {
  if (toucher.joinable())
    toucher.join();
}

void Snapshot::prepare(Sets sets, int64_t more) {
  joinToucher();
  block =
      Block(countBytes(sets) + more, "the copy of the state for checkpoints");
  // Without a thread, the first copy takes longer.
  (void)startThread(toucher, [this] { block.touch(); });
}

void Snapshot::take(Sets sets) {
  const Manifest &manifest = session.getManifest();
  joinToucher();
  int64_t size = countBytes(sets);
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
  auto placeTensor = [&](const std::string &name, TensorView &tensor) {
    next = block.getData() + abi::alignTo(next - block.getData(), kAlignment);
    int64_t bytes = tensor.getBytes();
    if (!tensor.pieces) {
      tensor.data = {place(tensor.data.data(), bytes),
                     static_cast<size_t>(bytes)};
      return;
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
  };
  for (SafeTensors *set : sets)
    for (auto &[name, tensor] : set->tensors)
      placeTensor(name, tensor);
  copy.start(ranges);
}
