// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The products of warpgroups (wgmma.mma_async) of 16-bit matrices in shared
// memory with a swizzle of 128 bytes.
//
// The definition here: an element of the result is the accumulator plus the 16
// products of elements in order of the inner dimension, each a fused
// multiplication and addition in f32, rounded to the nearest. The PTX ISA
// leaves precision and order open.
//
// A product is computed when its warp waits for it; until then its registers
// may not be read or written, and the memory that it reads may not be written.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_TEST_FAKES_CUDA_PTX_ASYNC_PRODUCTS_H
#define INGOT_TEST_FAKES_CUDA_PTX_ASYNC_PRODUCTS_H

#include "test/fakes/cuda/ptx/Warp.h"
#include "test/fakes/cuda/ptx/async/AsyncMemory.h"

#include <array>

namespace fakes::ptx {

class Products {
public:
  Products(AsyncMemory &memory, uint32_t warps, uint32_t registerBytes)
      : memory(memory), warps(warps), registerBytes(registerBytes) {}
  void start();
  /// Throws Fault if a warp has not waited for its products, or warps of a
  /// warpgroup have computed different ones.
  void finish() const;

  /// Before and after an instruction of a warp. Throws Fault where it uses a
  /// register of a product under way.
  void check(uint32_t warp, const Instruction &instruction) const;
  void note(uint32_t warp, const Instruction &instruction);

  void fence(uint32_t warp);
  void issue(const Warp &warp, const AsyncCall &call, uint64_t lhs,
             uint64_t rhs, bool accumulates);
  void commit(uint32_t warp);
  /// Completes all groups but the last `pending` ones.
  void wait(const Warp &warp, int64_t pending);

private:
  struct Product {
    const AsyncCall *call;
    uint64_t lhs, rhs;
    bool accumulates;
    /// 0 before it is committed.
    uint64_t group = 0;
    AsyncMemory::Units units;
  };
  struct State {
    /// When each register was written last, in instructions, and whether it
    /// belongs to a product under way.
    std::vector<uint64_t> written;
    std::vector<uint8_t> isBusy;
    uint64_t time = 1, fenced = 0, groups = 0;
    std::vector<Product> products;
    /// The products so far.
    std::vector<std::array<uint64_t, 3>> history;
  };
  /// Registers are vectors of at least 64 bytes, except for predicates.
  static uint32_t number(const Operand &operand) { return operand.place / 64; }
  void compute(const Warp &warp, const Product &product) const;

  AsyncMemory &memory;
  uint32_t warps, registerBytes;
  std::vector<State> states;
};

} // namespace fakes::ptx

#endif // INGOT_TEST_FAKES_CUDA_PTX_ASYNC_PRODUCTS_H
