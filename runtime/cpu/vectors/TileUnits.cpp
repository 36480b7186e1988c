// SPDX-License-Identifier: Apache-2.0

#include "runtime/cpu/vectors/TileUnits.h"

#include "runtime/core/machine/Features.h"

#include <sys/syscall.h>
#include <unistd.h>

bool ingot::runtime::hasTileUnits() {
#ifdef __x86_64__
  // The operating system grants tile registers on request.
  constexpr long requestPermission = 0x1023, tileData = 18;
  static const bool can =
      getCpuLevel() == abi::CpuLevel::Amx &&
      syscall(SYS_arch_prctl, requestPermission, tileData) == 0;
  return can;
#else
  return false;
#endif
}
