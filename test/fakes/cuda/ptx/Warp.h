// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The registers and lanes of a warp, and what its instructions reach.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_TEST_FAKES_CUDA_PTX_WARP_H
#define INGOT_TEST_FAKES_CUDA_PTX_WARP_H

#include "test/fakes/cuda/ptx/Program.h"

#include <cstring>
#include <stdexcept>

namespace fakes::ptx {

/// An error that ends a kernel, as the driver reports it.
struct Fault : std::runtime_error {
  enum Kind { Misaligned, IllegalAddress, LaunchFailed };
  Fault(Kind kind, const std::string &message)
      : runtime_error(message), kind(kind) {}
  Kind kind;
};

class Block;

/// The registers that the hardware sets.
enum Special : int64_t { TidX, NtidX, CtaidX, NctaidX, LaneId };

class Warp {
public:
  Warp(Block &block, uint8_t *registers, const uint8_t *constants)
      : block(block), registers(registers), constants(constants) {}

  template <typename T> T *write(const Operand &operand) const {
    return reinterpret_cast<T *>(registers + operand.place);
  }
  template <typename T> const T *read(const Operand &operand) const {
    const uint8_t *base = operand.isConstant ? constants : registers;
    return reinterpret_cast<const T *>(base + operand.place);
  }
  uint32_t readPredicate(const Operand &operand) const {
    return *read<uint32_t>(operand);
  }
  void writePredicate(const Operand &operand, uint32_t value) const {
    uint32_t *to = write<uint32_t>(operand);
    *to = (*to & ~active) | (value & active);
  }
  /// Writes the active lanes of a result.
  template <typename T>
  void writeLanes(const Operand &operand, const T *values) const {
    T *to = write<T>(operand);
    if (active == allLanes) {
      std::memcpy(to, values, sizeof(T) * lanes);
      return;
    }
    for (int lane = 0; lane < lanes; ++lane)
      to[lane] = active >> lane & 1 ? values[lane] : to[lane];
  }

  Block &block;
  uint8_t *registers;
  const uint8_t *constants;
  /// The lanes that the current instruction runs in.
  uint32_t active = 0;
  /// The lanes that have not exited.
  uint32_t alive = 0;
  /// The lanes whose last addition carried (CC.CF).
  uint32_t carry = 0;
  /// Whether the last instruction waits in vain, and is to be run again.
  bool isStalled = false, isRepeated = false;
  /// The number of the first lane's thread.
  uint32_t firstThread = 0;
};

} // namespace fakes::ptx

#endif // INGOT_TEST_FAKES_CUDA_PTX_WARP_H
