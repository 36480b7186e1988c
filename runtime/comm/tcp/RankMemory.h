// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The memory of another rank on this host, which systems let processes of one
// user read: data then moves in one copy, where sockets need two.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_COMM_TCP_RANKMEMORY_H
#define INGOT_RUNTIME_COMM_TCP_RANKMEMORY_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <sys/types.h>

namespace ingot::runtime {

/// A rank's words on its memory: its process, and where in it a number is
/// that was drawn. A process of that number on another host, or in another
/// container, does not have it there.
struct MemoryClaim {
  /// 0 for a rank whose memory is not to be read.
  uint64_t process = 0;
  uint64_t address = 0;
  std::array<uint64_t, 2> number = {};

  /// Makes the claim of this process. The number has to stay where it is until
  /// others have tried the claim.
  void claimOwn(const std::array<uint64_t, 2> &drawn);
  /// Whether this process can read the memory of the other one.
  bool holds() const;
};

/// Reads memory of a process. Returns whether all of it was read.
bool readMemory(pid_t process, uint64_t address, void *to, size_t bytes);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_COMM_TCP_RANKMEMORY_H
