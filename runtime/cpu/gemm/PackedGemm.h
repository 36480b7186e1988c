// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Packed GEMM, used by matmul and by convolution as a GEMM (im2col).
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CPU_GEMM_PACKEDGEMM_H
#define INGOT_RUNTIME_CPU_GEMM_PACKEDGEMM_H

#include "runtime/cpu/gemm/kernels/GemmKernels.h"

#include <cstddef>

struct ingot_context;

namespace ingot::runtime {

/// An epilogue, which ingot_epilogue_fn describes, with its buffers.
struct Epilogue {
  ingot_epilogue_fn run = nullptr;
  void *const *buffers = nullptr;
};

/// Computes c = a x b with sums in f32, on tile units or else on vector units,
/// which convert 16-bit operands as they pack them. A 16-bit result is rounded
/// as parts of it are complete. `planned` holds desc.scratch_bytes.
void multiplyPacked(ingot_context *context, const ingot_matmul_desc &desc,
                    bool onTiles, const void *a, const void *b, void *c,
                    void *planned, Epilogue epilogue = {});
/// Computes c = a x b where b may be encoded.
void multiplyPacked(ingot_context *context, const ingot_matmul_desc &desc,
                    bool onTiles, const void *a, gemm::Elements b, void *c,
                    void *planned, Epilogue epilogue = {});

/// Bytes of scratch memory that multiplyPacked needs.
size_t getPackedScratchBytes(const ingot_matmul_desc &desc, bool onTiles);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CPU_GEMM_PACKEDGEMM_H
