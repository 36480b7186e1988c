// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Copies states while the next step runs: a thread copies one piece after the
// other, and a kernel that is about to write a piece waits until it is copied.
// The forward and the backward pass write no parameters, so that the copy is
// usually done when the first update begins.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_TRAINER_STATE_DELAYEDCOPY_H
#define INGOT_RUNTIME_TRAINER_STATE_DELAYEDCOPY_H

#include "runtime/core/Context.h"
#include "runtime/trainer/session/Session.h"

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

namespace ingot::runtime {

/// Bytes to be copied.
struct CopyRange {
  char *to;
  const char *from;
  int64_t bytes;
};

class DelayedCopy : public ingot_gate {
public:
  explicit DelayedCopy(Session &session);
  DelayedCopy(const DelayedCopy &) = delete;
  DelayedCopy &operator=(const DelayedCopy &) = delete;
  /// Waits for the copy.
  ~DelayedCopy() override;

  /// Starts to copy ranges, which do not overlap. Until the copy is done, only
  /// kernels may write what it reads. Copies at once where it is not known what
  /// kernels write. The last copy must be done.
  void start(const std::vector<CopyRange> &ranges);
  /// Copies what is left with all threads. Called by the thread that runs
  /// steps, before anything but a kernel writes.
  void finish();
  /// Waits until the copy is done, in any thread.
  void wait() const;

  /// Lets a kernel begin once what it writes is copied.
  void enter(int32_t function, int64_t kernel) override;

private:
  enum : int { Pending, Taken, Copied };
  struct Piece {
    char *to;
    const char *from;
    int64_t bytes;
  };
  bool knowsWrites() const;
  void split(const std::vector<CopyRange> &ranges);
  /// Returns the pieces that overlap a range.
  std::pair<size_t, size_t> findPieces(const char *from, int64_t bytes) const;
  /// Copies a piece unless another thread does.
  void copy(size_t piece);
  void copyAndWait(const std::vector<size_t> &wanted);
  void runThread();

  Session &session;
  /// In the order of their sources.
  std::vector<Piece> pieces;
  std::unique_ptr<std::atomic<int>[]> stages;
  /// The pieces in the order in which a step writes them.
  std::vector<size_t> order;
  std::atomic<int64_t> left = 0;
  std::thread thread;
};

/// Copies without leaving the copy in the caches, which belong to the step.
void copyPastCaches(char *to, const char *from, int64_t bytes);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_TRAINER_STATE_DELAYEDCOPY_H
