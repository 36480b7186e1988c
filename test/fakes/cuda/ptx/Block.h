// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Runs a kernel. Blocks run one after the other in an order drawn from the
// seed. The warps of a block take turns of random length, each in lockstep:
// lanes that went different ways run the earliest of their places first, so
// that they meet again. Barriers and shuffles follow the rules of the PTX ISA.
//
// Memory accesses outside of live allocations, misaligned ones, reads of shared
// memory that nothing has written, and accesses of several warps that no
// barrier orders end the kernel with a Fault.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_TEST_FAKES_CUDA_PTX_BLOCK_H
#define INGOT_TEST_FAKES_CUDA_PTX_BLOCK_H

#include "test/fakes/cuda/ptx/AccessLog.h"
#include "test/fakes/cuda/ptx/Races.h"
#include "test/fakes/cuda/ptx/Warp.h"
#include "test/fakes/cuda/ptx/async/Products.h"

#include <random>

namespace fakes::ptx {

/// A live allocation on the GPU.
struct Allocation {
  uint64_t begin, end;
};

struct Launch {
  const Module &module;
  const Function &function;
  uint32_t blocks, threads;
  /// The values of the parameters.
  std::vector<uint8_t> parameters;
  /// Sorted.
  std::vector<Allocation> allocations;
  uint64_t seed;
  /// Whether accesses of several warps are compared with each other, at twice
  /// the time.
  bool findsRaces;
  /// Bytes of shared memory, besides what the kernel declares.
  uint32_t dynamicBytes = 0;
  /// Where accesses of global memory are noted; null for nowhere.
  AccessLog *log = nullptr;
};

/// Throws Fault.
void runKernel(const Launch &launch);

class Block {
public:
  Block(const Launch &launch, Races *races);
  void run(uint32_t number, std::mt19937_64 &random);

  const Launch &getLaunch() const { return launch; }
  uint32_t getNumber() const { return number; }

  AsyncMemory &getAsync() { return *async; }
  Products &getProducts() { return *products; }
  /// Whether all of these bytes are parameters.
  bool isParameter(uint64_t address, uint64_t bytes) const;
  /// Where parameters are in memory.
  uint64_t getParameters() const;

  /// Returns where `bytes` of each lane are: addresses of global memory, or
  /// places in shared memory. Throws Fault where an access breaks a rule.
  void checkGlobal(const Warp &warp, const uint64_t *addresses, uint32_t bytes,
                   Races::Access access);
  uint8_t *checkShared(const Warp &warp, const uint64_t *places, uint32_t bytes,
                       bool isWritten);
  /// Makes places in each lane's local memory addresses.
  void checkLocal(const Warp &warp, uint64_t *places, uint32_t bytes);

private:
  /// Lanes at the same place, which wait there for others if they are parked.
  struct Front {
    uint32_t place, lanes;
    bool isParked = false;
  };
  struct State {
    Warp warp;
    /// Sorted by place, all different.
    std::vector<Front> fronts;
    bool atBarrier = false;
    /// The events that there had been when it waited in vain; ~0 if it does
    /// not.
    uint64_t stalledAt = ~uint64_t(0);
    bool isDone() const { return fronts.empty(); }
  };

  /// Runs at most about `most` instructions; fewer up to a barrier or the end.
  void step(State &state, int64_t most);
  /// Runs lanes until they part, meet others or wait. Returns how many
  /// instructions they ran.
  int64_t run(State &state, Front front, int64_t most);
  /// Whether the lanes are all that take part in a barrier or a shuffle.
  static bool isComplete(const State &state, const Instruction &instruction,
                         uint32_t active);
  static void put(State &state, Front front);

  const Launch &launch;
  Races *races;
  uint32_t number = 0;
  /// How many barriers the block has passed.
  uint32_t epoch = 0;
  std::vector<uint8_t> registers, shared, local;
  /// The parameters, at an alignment that tensor maps need.
  std::vector<uint8_t> parameters;
  /// Null unless something runs concurrently with the instructions.
  std::unique_ptr<AsyncMemory> async;
  std::unique_ptr<Products> products;
  /// For each byte of shared memory, whether it has been written.
  std::vector<uint8_t> written;
  std::vector<State> states;
  /// The allocation of the last access.
  Allocation last = {};
};

} // namespace fakes::ptx

#endif // INGOT_TEST_FAKES_CUDA_PTX_BLOCK_H
