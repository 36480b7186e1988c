// SPDX-License-Identifier: Apache-2.0

#include "runtime/core/machine/Processors.h"

#include <cerrno>
#include <sched.h>

using namespace ingot::runtime;

namespace {

/// A set of processors as the operating system has it, of any size.
class Mask {
public:
  explicit Mask(int64_t count)
      : size(CPU_ALLOC_SIZE(count)), mask(CPU_ALLOC(count)) {
    if (mask)
      CPU_ZERO_S(size, mask);
  }
  ~Mask() { CPU_FREE(mask); }
  Mask(const Mask &) = delete;
  Mask &operator=(const Mask &) = delete;

  const size_t size;
  cpu_set_t *const mask;
};

} // namespace

const Processors &ingot::runtime::getAllowedProcessors() {
  static const Processors allowed = [] {
    Processors found;
    // The kernel refuses a mask that is too small for its processors.
    for (int64_t count = CPU_SETSIZE; count <= 1 << 20; count *= 2) {
      Mask mask(count);
      if (mask.mask && sched_getaffinity(0, mask.size, mask.mask) == 0) {
        for (int64_t cpu = 0; cpu < count; ++cpu)
          if (CPU_ISSET_S(cpu, mask.size, mask.mask))
            found.insert(cpu);
        break;
      }
      if (errno != EINVAL)
        break;
    }
    return found;
  }();
  return allowed;
}

void ingot::runtime::bindThread(const Processors &processors) {
  if (processors.empty())
    return;
  Mask mask(*processors.rbegin() + 1);
  if (!mask.mask)
    return;
  for (int64_t cpu : processors)
    CPU_SET_S(cpu, mask.size, mask.mask);
  // What cannot be bound runs where it is.
  (void)sched_setaffinity(0, mask.size, mask.mask);
}
