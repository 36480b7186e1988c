// SPDX-License-Identifier: Apache-2.0

#include "passes/targets/cpu/CpuMachine.h"

#include "llvm/ADT/STLExtras.h"

using namespace ingot;
using llvm::ArrayRef;
using llvm::StringRef;

Machine ingot::describeProcessor(ArrayRef<std::string> features,
                                 unsigned threads) {
  auto has = [&](StringRef feature) {
    return llvm::is_contained(features, feature);
  };
  Machine machine;
  machine.threads = threads;
  double scale = threads * (has("avx512f") ? 1.0
                            : has("avx2")  ? 0.6
                            : has("neon")  ? 0.4
                                           : 0.2);
  double multiplyAdds = 65e9 * scale;
  machine.convolutionF32 = 50e9 * scale;
  // Exponentials, and tiles of scores that are computed twice, are not counted.
  machine.attentionF32 = machine.attentionBf16 = machine.attentionF16 =
      0.4 * multiplyAdds;
  machine.vectorF32 = 20e9 * scale;
  machine.vectorF64 = 10e9 * scale;
  machine.matmulF64 = machine.convolutionF64 = 1.5e9 * scale;
  machine.multipliesBf16 = has("avx512bf16");
  bool hasTiles =
      has("avx512bw") && has("avx512vl") && has("amx-tile") && has("amx-bf16");
  machine.tilesHalves = machine.tilesF32 = hasTiles;
  if (hasTiles)
    machine.attentionBf16 = machine.attentionF16 = 1.2 * multiplyAdds;
  machine.matmulF32 = (hasTiles ? 1.6 : 1) * multiplyAdds;
  // 16-bit elements are converted where the CPU cannot multiply them: those of
  // matmuls and convolutions as they are read, for Winograd's algorithm before.
  machine.matmulBf16 = (hasTiles                 ? 6
                        : machine.multipliesBf16 ? 2
                                                 : 1) *
                       multiplyAdds;
  machine.convolutionBf16 = (hasTiles ? 10 : 1) * machine.convolutionF32;
  machine.matmulF16 = (hasTiles ? 2.3 : 1) * multiplyAdds;
  machine.convolutionF16 = (hasTiles ? 2 : 1) * machine.convolutionF32;
  // AVX2 on AMD's Zen 4. Of CPUs with AVX-512 some gain and some lose, and
  // nobody has measured AArch64 (docs/performance/gemm.md).
  if (!has("avx512f") && !has("neon"))
    machine.strassenShare = 0.96;
  machine.memoryBandwidth = std::min(8e9 * threads, 100e9);
  machine.cacheBandwidth = 40e9 * threads;
  machine.cacheBytes = 1048576.0 * threads;
  return machine;
}
