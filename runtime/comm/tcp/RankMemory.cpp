// SPDX-License-Identifier: Apache-2.0

#include "runtime/comm/tcp/RankMemory.h"

#include <cerrno>
#include <sys/uio.h>
#include <unistd.h>

using namespace ingot::runtime;

void MemoryClaim::claimOwn(const std::array<uint64_t, 2> &drawn) {
  process = static_cast<uint64_t>(getpid());
  address = reinterpret_cast<uintptr_t>(drawn.data());
  number = drawn;
}

bool MemoryClaim::holds() const {
  std::array<uint64_t, 2> found = {};
  return process != 0 &&
         readMemory(static_cast<pid_t>(process), address, found.data(),
                    sizeof(found)) &&
         found == number;
}

bool ingot::runtime::readMemory(pid_t process, uint64_t address, void *to,
                                size_t bytes) {
  char *next = static_cast<char *>(to);
  while (bytes > 0) {
    iovec here{next, bytes}, there{reinterpret_cast<void *>(address), bytes};
    ssize_t count = process_vm_readv(process, &here, 1, &there, 1, 0);
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      return false;
    next += count;
    address += static_cast<uint64_t>(count);
    bytes -= static_cast<size_t>(count);
  }
  return true;
}
