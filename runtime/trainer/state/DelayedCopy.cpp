// SPDX-License-Identifier: Apache-2.0

#include "runtime/trainer/state/DelayedCopy.h"

#include "runtime/core/Device.h"
#include "runtime/core/machine/Threads.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

using namespace ingot::runtime;

/// The size of a piece that is copied at a time. A kernel waits for one such
/// piece at most while another thread copies it.
static constexpr int64_t kPieceBytes = int64_t(1) << 20;

void ingot::runtime::copyPastCaches(char *to, const char *from, int64_t bytes) {
#ifdef __SSE2__
  constexpr int64_t line = 64, vector = sizeof(__m128i);
  auto misplaced = static_cast<int64_t>(reinterpret_cast<uintptr_t>(to) % line);
  int64_t head = std::min(bytes, (line - misplaced) % line);
  std::memcpy(to, from, static_cast<size_t>(head));
  int64_t at = head;
  for (; at + line <= bytes; at += line)
    for (int64_t i = at; i < at + line; i += vector)
      _mm_stream_si128(
          reinterpret_cast<__m128i *>(to + i),
          _mm_loadu_si128(reinterpret_cast<const __m128i *>(from + i)));
  std::memcpy(to + at, from + at, static_cast<size_t>(bytes - at));
  // Another thread reads the copy once it is said to be done.
  _mm_sfence();
#else
  std::memcpy(to, from, static_cast<size_t>(bytes));
#endif
}

DelayedCopy::DelayedCopy(Session &session) : session(session) {}

DelayedCopy::~DelayedCopy() {
  if (thread.joinable())
    thread.join();
  if (session.getContext().gate == this)
    session.getContext().gate = nullptr;
}

bool DelayedCopy::knowsWrites() const {
  const Manifest &manifest = session.getManifest();
  // Collectives write shards, and whole parameters from them, between kernels.
  if (!session.getDevice().getTraits().runsInCalls || manifest.hasShards())
    return false;
  for (const FunctionSpec &function : manifest.functions)
    for (const KernelSpec &kernel : function.kernels)
      if (!kernel.stateWrites)
        return false;
  return true;
}

std::pair<size_t, size_t> DelayedCopy::findPieces(const char *from,
                                                  int64_t bytes) const {
  auto first = std::partition_point(
      pieces.begin(), pieces.end(),
      [&](const Piece &piece) { return piece.from + piece.bytes <= from; });
  auto last =
      std::partition_point(first, pieces.end(), [&](const Piece &piece) {
        return piece.from < from + bytes;
      });
  return {first - pieces.begin(), last - pieces.begin()};
}

void DelayedCopy::split(const std::vector<CopyRange> &ranges) {
  pieces.clear();
  for (const CopyRange &range : ranges)
    for (int64_t at = 0; at < range.bytes; at += kPieceBytes)
      pieces.push_back({range.to + at, range.from + at,
                        std::min(kPieceBytes, range.bytes - at)});
  std::sort(pieces.begin(), pieces.end(), [](const Piece &a, const Piece &b) {
    return std::less<>()(a.from, b.from);
  });
  stages = std::make_unique<std::atomic<int>[]>(pieces.size());
  left = static_cast<int64_t>(pieces.size());

  std::vector<size_t> writers(pieces.size(),
                              std::numeric_limits<size_t>::max());
  const FunctionSpec *step = session.getManifest().findFunction("train_step");
  for (size_t kernel = 0; step && kernel < step->kernels.size(); ++kernel)
    for (const StateRange &range : step->kernels[kernel].stateWrites.value_or(
             std::vector<StateRange>())) {
      auto [first, last] =
          findPieces(session.getStates() + range.offset, range.bytes);
      for (size_t i = first; i < last; ++i)
        writers[i] = std::min(writers[i], kernel);
    }
  order.resize(pieces.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return writers[a] < writers[b]; });
}

void DelayedCopy::copy(size_t piece) {
  int expected = Pending;
  if (!stages[piece].compare_exchange_strong(expected, Taken))
    return;
  const Piece &one = pieces[piece];
  copyPastCaches(one.to, one.from, one.bytes);
  stages[piece] = Copied;
  if (--left == 0)
    left.notify_all();
}

void DelayedCopy::runThread() {
  for (size_t piece : order)
    copy(piece);
}

void DelayedCopy::start(const std::vector<CopyRange> &ranges) {
  if (thread.joinable())
    thread.join();
  split(ranges);
  if (!knowsWrites() || !startThread(thread, [this] { runThread(); })) {
    finish();
    return;
  }
  session.getContext().gate = this;
}

void DelayedCopy::copyAndWait(const std::vector<size_t> &wanted) {
  session.getDevice().forEach(static_cast<int64_t>(wanted.size()),
                              [&](int64_t i) { copy(wanted[i]); });
  for (size_t piece : wanted)
    while (stages[piece] != Copied)
      std::this_thread::yield();
}

void DelayedCopy::finish() {
  if (left != 0)
    copyAndWait(order);
  if (session.getContext().gate == this)
    session.getContext().gate = nullptr;
}

void DelayedCopy::wait() const {
  for (int64_t now = left; now != 0; now = left)
    left.wait(now);
}

void DelayedCopy::enter(int32_t function, int64_t kernel) {
  if (left == 0) {
    session.getContext().gate = nullptr;
    return;
  }
  const FunctionSpec &spec = session.getManifest().functions[function];
  if (kernel < 0 || kernel >= static_cast<int64_t>(spec.kernels.size()))
    return;
  std::vector<size_t> wanted;
  for (const StateRange &range : *spec.kernels[kernel].stateWrites) {
    auto [first, last] =
        findPieces(session.getStates() + range.offset, range.bytes);
    for (size_t i = first; i < last; ++i)
      if (stages[i] != Copied)
        wanted.push_back(i);
  }
  if (!wanted.empty())
    copyAndWait(wanted);
}
