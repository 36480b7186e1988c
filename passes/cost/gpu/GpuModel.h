// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The time of kernels and library calls on a GPU: rooflines, quantized to
// waves of tiles or blocks over the multiprocessors, plus latencies.
// docs/design/gpu/model.md explains the formulas.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_COST_GPU_GPUMODEL_H
#define INGOT_PASSES_COST_GPU_GPUMODEL_H

#include "dialects/ingot/target/Machine.h"
#include "runtime/abi/Abi.h"

namespace ingot::gpu_model {

/// Bytes that are read from and written to the GPU's memory, and those that its
/// L2 cache serves, which include the former.
struct Traffic {
  double memory = 0, cache = 0;

  static Traffic ofMemory(double bytes) { return {bytes, bytes}; }
};

/// The resource that limits the time of a node of a step.
enum class Limit { Launch, Compute, Memory, Cache, Latency };
llvm::StringRef getName(Limit limit);

struct NodeTime {
  /// The time of the node if nothing else runs, with its launch.
  double seconds = 0;
  Limit limit = Limit::Launch;
  /// Operations of matmuls, convolutions and attention, masked ones excluded;
  /// 0 for kernels.
  double flops = 0;
  /// The time of its launch, and what it takes of the GPU afterwards: shares of
  /// multiprocessors and of the rates of memory and cache.
  double launchSeconds = 0, multiprocessors = 0, memory = 0, cache = 0;
};

/// A matmul of matrices [m, k] and [k, n], `batch` times.
struct Matmul {
  double batch = 1, m = 0, n = 0, k = 0;
  int32_t type = INGOT_BF16;
  bool isTf32 = false;
};

enum class ConvolutionPart { Forward, InputGradient, FilterGradient };

struct Attention {
  double batch = 1, heads = 1, queries = 0, keys = 0, size = 0, valueSize = 0;
  /// Whether a query attends to itself and the keys before it only.
  bool isCausal = false;
  bool isGradient = false;
  /// Whether the gradient sums in a fixed order.
  bool isOrdered = false;
  int32_t type = INGOT_BF16;
};

/// The work of one thread of a generated kernel, on average.
struct KernelWork {
  double blocks = 1, threadsPerBlock = 256, sharedBytes = 0;
  /// Instructions, and how often a thread waits for memory before it can go on.
  double instructions = 0, waits = 1;
};

class GpuModel {
public:
  /// `isSustained`: the GPU has worked for long, and its clock is that which
  /// its power limit allows.
  explicit GpuModel(const Machine &machine, bool isSustained = true)
      : machine(machine), gpu(machine.getGpu()),
        clock(isSustained && gpu.sustainedShare > 0 ? gpu.sustainedShare : 1) {}

  const Machine &getMachine() const { return machine; }
  NodeTime getMatmul(const Matmul &matmul, Traffic traffic) const;
  /// Returns the time of a matmul by a generated kernel with tiles of that
  /// size. What its epilogue moves is not hidden behind products.
  NodeTime getGeneratedMatmul(const Matmul &matmul, double tileM, double tileN,
                              Traffic operands, Traffic epilogue) const;
  /// Returns the time of a convolution as the matmul that it is.
  NodeTime getConvolution(const ingot_conv_desc &desc, ConvolutionPart part,
                          Traffic traffic) const;
  NodeTime getAttention(const Attention &attention, Traffic traffic) const;
  NodeTime getKernel(const KernelWork &work, Traffic traffic) const;
  /// Returns the share of a kernel's blocks that run at the same time.
  double getShareInFlight(const KernelWork &work) const;
  /// Returns the time of an exchange of `bytes` with other ranks.
  NodeTime getExchange(double bytes) const;
  /// Returns how fast two nodes run at the same time, as a share of the speed
  /// of each alone: both slow down alike.
  double getSpeedTogether(const NodeTime &a, const NodeTime &b) const;
  /// Returns the operations per second of the data sheet for matmuls.
  double getPeak(int32_t type, bool isTf32) const;

private:
  /// Returns how many blocks of a kernel a multiprocessor runs at once.
  static double countResident(const KernelWork &work);
  /// The time of multiprocessors until the last one is done, and on average.
  struct ComputeTime {
    double seconds = 0, busy = 0;
  };
  NodeTime finish(ComputeTime compute, Limit limit, Traffic traffic) const;
  ComputeTime getTileTime(const Matmul &matmul, double rate) const;

  const Machine &machine;
  GpuMachine gpu;
  /// The clock of tensor cores as a share of the one that rates are for.
  double clock;
};

} // namespace ingot::gpu_model

#endif // INGOT_PASSES_COST_GPU_GPUMODEL_H
