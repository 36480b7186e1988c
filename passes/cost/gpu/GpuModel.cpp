// SPDX-License-Identifier: Apache-2.0

#include "passes/cost/gpu/GpuModel.h"

#include <cmath>
#include <limits>

using namespace ingot;
using namespace ingot::gpu_model;

llvm::StringRef gpu_model::getName(Limit limit) {
  switch (limit) {
  case Limit::Launch:
    return "launch";
  case Limit::Compute:
    return "compute";
  case Limit::Memory:
    return "memory";
  case Limit::Cache:
    return "cache";
  case Limit::Latency:
    return "latency";
  }
  llvm_unreachable("all limits have names");
}

/// Returns the larger of the compute time and the time of the traffic, plus a
/// launch.
NodeTime GpuModel::finish(ComputeTime compute, Limit limit,
                          Traffic traffic) const {
  NodeTime time;
  double longest = 0;
  auto take = [&](double seconds, Limit kind) {
    if (seconds <= longest)
      return;
    longest = seconds;
    time.limit = kind;
  };
  double cacheSeconds = traffic.cache / machine.cacheBandwidth,
         memorySeconds = traffic.memory / machine.memoryBandwidth;
  take(compute.seconds, limit);
  take(cacheSeconds, Limit::Cache);
  take(memorySeconds, Limit::Memory);
  if (longest < machine.launchSeconds)
    time.limit = Limit::Launch;
  time.seconds = machine.launchSeconds + longest;
  time.launchSeconds = machine.launchSeconds;
  if (longest == 0)
    return time;
  // Some multiprocessors move data as fast as all do.
  time.multiprocessors =
      std::max(compute.busy, gpu.streamingShare * memorySeconds) / longest;
  time.memory = memorySeconds / longest;
  time.cache = cacheSeconds / longest;
  return time;
}

//===----------------------------------------------------------------------===//
// Matmuls and convolutions
//===----------------------------------------------------------------------===//

namespace {
/// A tile of the result that one block computes, and its rate as a share of
/// that of the largest one: smaller tiles read more operands per operation.
struct Tile {
  double m, n, share;
};
} // namespace

static constexpr Tile kTiles[] = {
    {256, 128, 1.0}, {128, 256, 1.0}, {128, 192, 0.97}, {128, 128, 0.92},
    {128, 64, 0.75}, {64, 128, 0.75}, {64, 64, 0.55},
};

/// Parts of the inner dimension that different blocks sum.
static constexpr double kSplits[] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32};
/// A part has at least as many columns.
static constexpr double kLeastDepth = 256;
/// The share of `tile_seconds` that each further tile of a multiprocessor
/// costs: the next tile's operands are loaded while the last one's result is
/// written.
static constexpr double kNextTile = 0.25;

static double divideUp(double a, double b) { return std::ceil(a / b); }

static double getElementBytes(int32_t type) {
  switch (type) {
  case INGOT_F64:
    return 8;
  case INGOT_F32:
    return 4;
  case INGOT_F8E4M3:
  case INGOT_F8E5M2:
    return 1;
  default:
    return 2;
  }
}

GpuModel::ComputeTime GpuModel::getTileTime(const Matmul &matmul,
                                            double rate) const {
  double perMultiprocessor = rate * clock / gpu.multiprocessors;
  ComputeTime best = {std::numeric_limits<double>::infinity(), 0};
  for (const Tile &tile : kTiles)
    for (double splits : kSplits) {
      if (splits > 1 && matmul.k < splits * kLeastDepth)
        break;
      double tiles = matmul.batch * divideUp(matmul.m, tile.m) *
                     divideUp(matmul.n, tile.n) * splits;
      double waves = divideUp(tiles, gpu.multiprocessors);
      double seconds = waves * 2 * tile.m * tile.n *
                           divideUp(matmul.k, splits) /
                           (perMultiprocessor * tile.share) +
                       gpu.tileSeconds * (1 + kNextTile * (waves - 1));
      // Partial sums are written and read again.
      if (splits > 1)
        seconds += 2 * 4 * splits * matmul.batch * matmul.m * matmul.n /
                   machine.cacheBandwidth;
      if (seconds < best.seconds)
        best = {seconds, seconds * tiles / (waves * gpu.multiprocessors)};
    }
  return best;
}

static double getMatmulRate(const Machine &machine, int32_t type, bool isTf32) {
  switch (type) {
  case INGOT_F64:
    return machine.matmulF64;
  case INGOT_BF16:
    return machine.matmulBf16;
  case INGOT_F16:
    return machine.matmulF16;
  case INGOT_F8E4M3:
  case INGOT_F8E5M2:
    return machine.matmulF8;
  default:
    return isTf32 ? machine.getGpu().matmulTf32 : machine.matmulF32;
  }
}

NodeTime GpuModel::getMatmul(const Matmul &matmul, Traffic traffic) const {
  double rate = getMatmulRate(machine, matmul.type, matmul.isTf32);
  // Rows that do not begin at 16 bytes are loaded in pieces (cuBLAS, "Tensor
  // Core Usage"); the factor is an estimate.
  double unit = 16 / getElementBytes(matmul.type);
  bool isAligned =
      std::fmod(matmul.n, unit) == 0 && std::fmod(matmul.k, unit) == 0;
  constexpr double unalignedShare = 0.5;
  if (!isAligned && matmul.type != INGOT_F64)
    rate *= unalignedShare;
  NodeTime time = finish(getTileTime(matmul, rate), Limit::Compute, traffic);
  time.flops = 2 * matmul.batch * matmul.m * matmul.n * matmul.k;
  return time;
}

NodeTime GpuModel::getGeneratedMatmul(const Matmul &matmul, double tileM,
                                      double tileN, Traffic operands,
                                      Traffic epilogue) const {
  double rate = getMatmulRate(machine, matmul.type, /*isTf32=*/false) * clock *
                gpu.generatedMatmulShare / gpu.multiprocessors;
  // Narrower tiles read more operands per operation, as those of the library.
  double share = 1;
  for (const Tile &tile : kTiles)
    if (tile.m == tileM && tile.n == tileN)
      share = tile.share;
  double tiles =
      matmul.batch * divideUp(matmul.m, tileM) * divideUp(matmul.n, tileN);
  double waves = divideUp(tiles, gpu.multiprocessors);
  double seconds = waves * 2 * tileM * tileN * matmul.k / (rate * share) +
                   gpu.tileSeconds * (1 + kNextTile * (waves - 1));
  double busy = seconds * tiles / (waves * gpu.multiprocessors);
  NodeTime time = finish({seconds, busy}, Limit::Compute, operands);
  time.seconds += std::max(epilogue.memory / machine.memoryBandwidth,
                           epilogue.cache / machine.cacheBandwidth);
  time.flops = 2 * matmul.batch * matmul.m * matmul.n * matmul.k;
  return time;
}

NodeTime GpuModel::getConvolution(const ingot_conv_desc &desc,
                                  ConvolutionPart part, Traffic traffic) const {
  auto multiply = [&](const int64_t *sizes) {
    double product = 1;
    for (int64_t i = 0; i < desc.spatial_rank; ++i)
      product *= static_cast<double>(sizes[i]);
    return product;
  };
  auto groups = static_cast<double>(desc.groups);
  double in = static_cast<double>(desc.in_channels) / groups,
         out = static_cast<double>(desc.out_channels) / groups,
         taps = multiply(desc.kernel);
  double inputs = static_cast<double>(desc.batch) * multiply(desc.in),
         outputs = static_cast<double>(desc.batch) * multiply(desc.out);
  // Tensor cores take 8 channels at least.
  constexpr double leastChannels = 8;
  double paddedIn = std::max(in, leastChannels);
  Matmul matmul;
  matmul.batch = groups;
  matmul.type = desc.type;
  matmul.isTf32 = desc.math == INGOT_MATH_TF32;
  switch (part) {
  case ConvolutionPart::Forward:
    matmul.m = outputs;
    matmul.n = out;
    matmul.k = paddedIn * taps;
    break;
  case ConvolutionPart::InputGradient:
    // With a stride, an element of the input is in fewer windows.
    matmul.m = inputs;
    matmul.n = paddedIn;
    matmul.k = std::max(1.0, out * taps / multiply(desc.stride));
    break;
  case ConvolutionPart::FilterGradient:
    matmul.m = out;
    matmul.n = paddedIn * taps;
    matmul.k = outputs;
    break;
  }
  double rate = desc.type == INGOT_F64    ? machine.convolutionF64
                : desc.type == INGOT_BF16 ? machine.convolutionBf16
                : desc.type == INGOT_F16  ? machine.convolutionF16
                : matmul.isTf32           ? machine.convolutionBf16 / 2
                                          : machine.convolutionF32;
  NodeTime time = finish(getTileTime(matmul, rate), Limit::Compute, traffic);
  time.flops = 2 * outputs * groups * out * in * taps;
  return time;
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

NodeTime GpuModel::getAttention(const Attention &attention,
                                Traffic traffic) const {
  // A block computes a tile of queries, a tile of keys after the other.
  constexpr double side = 128;
  double tiles = divideUp(attention.queries, side);
  double keyTiles = divideUp(attention.keys, side);
  // Of all blocks on average, and of the shortest.
  double pairs = keyTiles, fewest = keyTiles;
  if (attention.isCausal) {
    pairs = (std::min(tiles, keyTiles) + 1) / 2;
    fewest = 1;
  }
  // Long blocks begin first, so that multiprocessors end within one of the
  // shortest of each other.
  double blocks = attention.batch * attention.heads * tiles;
  double waves = divideUp(blocks, gpu.multiprocessors);
  double share = blocks * pairs / gpu.multiprocessors;
  double longest = std::max(keyTiles, divideUp(share, fewest) * fewest);
  // The rate is that of heads of 128 columns.
  constexpr double columns = 128;
  double filled = (attention.size + attention.valueSize) / (2 * columns);
  double perPair =
      4 * side * side * columns *
      (gpu.attentionSoftmaxShare + (1 - gpu.attentionSoftmaxShare) * filled);
  double rate = clock * (attention.type == INGOT_F16 ? machine.attentionF16
                                                     : machine.attentionBf16);
  double perTile = gpu.attentionTileSeconds;
  double flops = attention.isCausal ? 0.5 : 1.0;
  flops *= 2 * attention.batch * attention.heads * attention.queries *
           attention.keys * (attention.size + attention.valueSize);
  if (attention.isGradient) {
    // Five matmuls in place of two; the result of a tile is summed in memory.
    constexpr double gradientFlops = 2.5, gradientTile = 3.2;
    perPair *= gradientFlops;
    flops *= gradientFlops;
    perTile *= gradientTile;
    rate *= gpu.attentionGradientShare;
    if (attention.isOrdered)
      rate *= gpu.attentionOrderedShare;
  }
  double seconds =
      longest * perPair * gpu.multiprocessors / rate + waves * perTile;
  double busy = share * perPair * gpu.multiprocessors / rate +
                blocks / gpu.multiprocessors * perTile;
  NodeTime time =
      finish({seconds, std::min(busy, seconds)}, Limit::Compute, traffic);
  time.flops = flops;
  return time;
}

//===----------------------------------------------------------------------===//
// Kernels and exchanges
//===----------------------------------------------------------------------===//

double GpuModel::countResident(const KernelWork &work) {
  // The threads of a multiprocessor that registers leave room for, and its
  // shared memory.
  constexpr double threads = 1024, shared = 200e3;
  double resident = std::max(1.0, std::floor(threads / work.threadsPerBlock));
  if (work.sharedBytes > 0)
    resident = std::max(
        1.0, std::min(resident, std::floor(shared / work.sharedBytes)));
  return resident;
}

double GpuModel::getShareInFlight(const KernelWork &work) const {
  return std::min(1.0, countResident(work) * gpu.multiprocessors / work.blocks);
}

NodeTime GpuModel::getKernel(const KernelWork &work, Traffic traffic) const {
  double resident = countResident(work);
  double waves = divideUp(work.blocks, resident * gpu.multiprocessors);
  // A few multiprocessors, or few threads on each, do not reach the rate.
  double all = work.blocks * work.threadsPerBlock;
  constexpr double enough = 512;
  double busy = std::min(1.0, all / (gpu.multiprocessors * enough));
  double issue = all * work.instructions / (machine.vectorF32 * busy);
  double latency = waves * work.waits * gpu.latencySeconds;
  // Threads that wait take the room of others.
  double filled = work.blocks / (waves * resident * gpu.multiprocessors);
  double taken = std::max(issue * busy, latency * filled);
  return issue >= latency ? finish({issue, taken}, Limit::Compute, traffic)
                          : finish({latency, taken}, Limit::Latency, traffic);
}

NodeTime GpuModel::getExchange(double bytes) const {
  NodeTime time;
  // The limit of rings for many ranks: each byte leaves a rank twice.
  time.seconds = machine.linkSeconds + 2 * bytes / machine.linkBandwidth;
  time.limit = Limit::Memory;
  return time;
}

double GpuModel::getSpeedTogether(const NodeTime &a, const NodeTime &b) const {
  // Blocks take turns on multiprocessors without loss; accesses of two kernels
  // to memory and cache get in each other's way.
  double share = gpu.concurrentShare > 0 ? gpu.concurrentShare : 1;
  return 1 /
         std::max({1.0, a.multiprocessors + b.multiprocessors,
                   (a.memory + b.memory) / share, (a.cache + b.cache) / share});
}

double GpuModel::getPeak(int32_t type, bool isTf32) const {
  if (type == INGOT_BF16 || type == INGOT_F16)
    return gpu.peakBf16;
  if (type == INGOT_F8E4M3 || type == INGOT_F8E5M2)
    return gpu.peakF8;
  return isTf32 ? gpu.peakTf32 : gpu.peakF32;
}
