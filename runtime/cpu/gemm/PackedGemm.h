//===----------------------------------------------------------------------===//
//
// Packed GEMM, used by matmul and by convolution as a GEMM (im2col).
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CPU_GEMM_PACKEDGEMM_H
#define INGOT_RUNTIME_CPU_GEMM_PACKEDGEMM_H

#include "runtime/abi/Abi.h"

struct ingot_context;

namespace ingot::runtime {

/// What finishes the elements of a product.
struct Epilogue {
  ingot_epilogue_fn run = nullptr;
  void *const *buffers = nullptr;
};

/// Adds up in f32. Vector units convert operands in half precision as they pack
/// them; a result in half precision is rounded as parts of it are complete.
/// `planned` holds desc.scratch_bytes.
void multiplyPacked(ingot_context *context, const ingot_matmul_desc &desc,
                    bool onTiles, const void *a, const void *b, void *c,
                    void *planned, Epilogue epilogue = {});

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CPU_GEMM_PACKEDGEMM_H
