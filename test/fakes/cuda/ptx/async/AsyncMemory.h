// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Work that runs concurrently with the instructions of a block: barriers in
// shared memory (mbarrier), loads of tensors (cp.async.bulk.tensor) and
// products of warpgroups (wgmma), with what orders them.
//
// A clock says how far each warp, and each barrier's phases, have come where
// something knows of them. An arrival adds the warp's clock to the barrier's,
// and a successful wait the other way round. What was loaded may be read by
// those that know of the phase that the load completes. Shared memory that a
// product reads may be written again by those that know that the product's
// warp has waited for it. Anything else is a Fault.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_TEST_FAKES_CUDA_PTX_ASYNC_ASYNCMEMORY_H
#define INGOT_TEST_FAKES_CUDA_PTX_ASYNC_ASYNCMEMORY_H

#include "test/fakes/cuda/ptx/Program.h"
#include "test/fakes/cuda/ptx/Races.h"
#include "test/fakes/cuda/ptx/async/TensorMap.h"

#include <array>
#include <map>
#include <random>
#include <vector>

namespace fakes::ptx {

struct Launch;

class AsyncMemory {
public:
  /// `shared` is the block's memory, `written` says of each byte whether it has
  /// been written.
  AsyncMemory(const Launch &launch, std::vector<uint8_t> &shared,
              std::vector<uint8_t> &written, Races *races);
  /// Begins a block.
  void start(uint32_t block);
  /// Throws Fault if something is under way.
  void finish() const;

  /// An ordinary access of a warp to shared memory.
  void access(uint32_t warp, uint64_t place, uint32_t bytes, bool isWritten);
  /// A barrier of all threads.
  void joinAll();
  /// fence.proxy.async and fence.mbarrier_init: what the warp has written, and
  /// the barriers that it has initialized, are there for loads and products.
  void fenceProxy(uint32_t warp);

  void initialize(uint32_t warp, uint64_t barrier, uint32_t count);
  void arrive(uint32_t warp, uint64_t barrier, uint32_t count);
  void expect(uint64_t barrier, uint32_t bytes);
  /// Whether the phase of that parity is complete; then the warp knows of it.
  bool tryWait(uint32_t warp, uint64_t barrier, uint32_t parity);

  void load(uint32_t warp, uint64_t to, const TensorMap &map,
            const std::array<int32_t, TensorMap::mostDims> &at,
            uint64_t barrier);
  bool hasLoads() const { return !loads.empty(); }
  /// Completes one of the loads under way.
  void completeLoad(std::mt19937_64 &random);

  /// A part of a matrix in shared memory, by units of 16 bytes.
  using Units = std::vector<uint32_t>;
  static constexpr uint32_t unitBytes = 16;
  /// The warp begins to read those units: throws Fault if something has not
  /// been loaded as far as it knows.
  void beginReads(uint32_t warp, const Units &units);
  void endReads(uint32_t warp, const Units &units);
  const uint8_t *getShared() const { return shared.data(); }

  /// Returns the number of events that can end a wait: phases that complete,
  /// loads, and registers that become free.
  uint64_t countEvents() const { return events; }

  /// Changes the registers of a warp's threads; false if there are not enough
  /// yet.
  bool setRegisters(uint32_t warp, uint32_t count, bool increases);

private:
  using Clock = std::vector<uint32_t>;
  struct Barrier {
    uint32_t count = 0, pending = 0, phase = 0, component = 0;
    int64_t bytes = 0;
    uint32_t initializer = 0;
    bool isFenced = false;
    Clock arriving, completed;
  };
  struct Load {
    TensorMap map;
    std::array<int32_t, TensorMap::mostDims> at;
    uint64_t to, barrier;
    uint32_t warp;
    Clock clock;
  };
  /// The state of 16 bytes: who wrote last and when, and whether ordinary
  /// stores did that loads and products do not see yet.
  struct Unit {
    uint32_t component = 0, time = 0;
    bool isUnfenced = false, isLoading = false;
    /// The products that read it now.
    uint16_t reads = 0;
  };

  static void merge(Clock &into, const Clock &from);
  Barrier &find(uint64_t place);
  void completeIfDone(Barrier &barrier);
  void copy(const Load &load);
  uint32_t &lastRead(uint32_t unit, uint32_t warp) {
    return lastReads[unit * warps + warp];
  }

  const Launch &launch;
  std::vector<uint8_t> &shared, &written;
  Races *races;
  uint32_t block = 0, warps;
  /// The bytes of shared memory.
  uint64_t size;
  uint64_t events = 0;
  std::vector<Clock> clocks;
  std::map<uint64_t, Barrier> barriers;
  std::vector<Load> loads;
  std::vector<Unit> units;
  std::vector<uint32_t> lastReads;
  /// The units that each warp has written since its last fence.
  std::vector<std::vector<uint32_t>> unfenced;
  std::vector<uint32_t> registers;
};

} // namespace fakes::ptx

#endif // INGOT_TEST_FAKES_CUDA_PTX_ASYNC_ASYNCMEMORY_H
