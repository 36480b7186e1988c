// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Which matmuls have a generated kernel, and with which tiles (header private
// to this target). docs/design/gpu/own-matmuls.md explains the kernel.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_TARGETS_CUDA_MATMUL_MATMULPLAN_H
#define INGOT_PASSES_TARGETS_CUDA_MATMUL_MATMULPLAN_H

#include "dialects/ingot/target/Machine.h"
#include "runtime/abi/Abi.h"

namespace ingot::codegen {

/// The part of a matmul that a block computes at a time, and the memory that it
/// does that in.
struct MatmulPlan {
  /// The tile of the result: two warpgroups have half of the rows each.
  int64_t tileM = 128, tileN = 256;
  /// The part of the inner dimension in a stage: 128 bytes, the span of the
  /// swizzle.
  int64_t tileK = 64;
  /// The stages of operands in shared memory.
  int64_t stages = 4;

  static constexpr int64_t kElementBytes = 2;
  static constexpr int64_t kConsumers = 2;
  /// The threads of a block: a warpgroup that loads, and those that multiply.
  static constexpr int64_t kThreads = 128 * (1 + kConsumers);
  /// The columns of the result that a warp stages at a time for the epilogue,
  /// and the f32 numbers of a staged row: 8 more, for different banks.
  static constexpr int64_t kChunk = 32, kChunkStride = kChunk + 8;
  /// The rows of the result that a warp has.
  static constexpr int64_t kWarpRows = 16;

  int64_t getLhsBytes() const { return tileM * tileK * kElementBytes; }
  int64_t getRhsBytes() const { return tileN * tileK * kElementBytes; }
  int64_t getStageBytes() const { return getLhsBytes() + getRhsBytes(); }
  /// Where the staged results of warps are in shared memory, behind the stages.
  int64_t getStagingOffset() const { return stages * getStageBytes(); }
  static constexpr int64_t kStagingBytes = kWarpRows * kChunkStride * 4;
  /// Where the barriers are: one for each stage that is full, then one for each
  /// that is empty.
  int64_t getBarrierOffset() const {
    constexpr int64_t warps = 4 * kConsumers;
    return getStagingOffset() + warps * kStagingBytes;
  }
  int64_t getSharedBytes() const {
    constexpr int64_t barrier = 8;
    return getBarrierOffset() + 2 * stages * barrier;
  }
  int64_t countTiles(const ingot_matmul_desc &desc) const;

  /// Returns why there is no generated kernel; empty if there is one.
  static llvm::StringRef refuse(const ingot_matmul_desc &desc,
                                llvm::StringRef arch);
  /// Returns the plan with which the machine is fastest.
  static MatmulPlan choose(const ingot_matmul_desc &desc,
                           const Machine &machine);
};

} // namespace ingot::codegen

#endif // INGOT_PASSES_TARGETS_CUDA_MATMUL_MATMULPLAN_H
