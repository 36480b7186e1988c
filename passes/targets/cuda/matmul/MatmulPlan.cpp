// SPDX-License-Identifier: Apache-2.0

#include "passes/targets/cuda/matmul/MatmulPlan.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cmath>

using namespace ingot;
using namespace ingot::codegen;

int64_t MatmulPlan::countTiles(const ingot_matmul_desc &desc) const {
  return desc.batch * llvm::divideCeil(desc.m, tileM) *
         llvm::divideCeil(desc.n, tileN);
}

llvm::StringRef MatmulPlan::refuse(const ingot_matmul_desc &desc,
                                   llvm::StringRef arch) {
  if (arch != "sm_90a")
    return "generated matmuls are for sm_90a";
  bool isHalf = desc.a_type == INGOT_BF16 || desc.a_type == INGOT_F16;
  if (!isHalf || desc.a_type != desc.b_type || desc.c_type == INGOT_F64)
    return "its matrices are not in bf16 or fp16";
  if (desc.batch * desc.m * desc.n * desc.k == 0)
    return "it is empty";
  // The tensor memory accelerator requires strides of multiples of 16 bytes.
  constexpr int64_t unit = 16 / kElementBytes;
  int64_t rowOfA = desc.transpose_a ? desc.m : desc.k;
  int64_t rowOfB = desc.transpose_b ? desc.k : desc.n;
  if (rowOfA % unit != 0 || rowOfB % unit != 0)
    return "rows of its matrices are not of multiples of 16 bytes";
  constexpr int64_t most = int64_t(1) << 30;
  if (desc.batch > most || desc.m > most || desc.n > most || desc.k > most)
    return "its sizes do not fit in 32 bits";
  return "";
}

MatmulPlan MatmulPlan::choose(const ingot_matmul_desc &desc,
                              const Machine &machine) {
  MatmulPlan wide, narrow;
  narrow.tileN = 128;
  narrow.stages = 6;
  // A narrow tile takes half as long, and a tenth more for what it loads.
  auto waves = [&](const MatmulPlan &plan) {
    auto tiles = static_cast<double>(plan.countTiles(desc));
    return std::ceil(tiles / std::max(1.0, machine.getGpu().multiprocessors));
  };
  constexpr double narrowShare = 1.1 / 2;
  return waves(narrow) * narrowShare < waves(wide) ? narrow : wide;
}
