// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Fallback epilogue kernels of a matmul on a GPU, for epilogues that the
// library does not have.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_ABI_EPILOGUE_H
#define INGOT_RUNTIME_ABI_EPILOGUE_H

#include "runtime/abi/Abi.h"

namespace ingot::runtime {

/// Calls `launch(kernel, buffers)` for each kernel of the epilogue, in order.
template <typename Launch>
void launchEpilogueKernels(const ingot_matmul_epilogue_grid_desc &desc,
                           void *const *buffers, Launch launch) {
  if (desc.finish.name)
    launch(desc.finish, buffers);
  buffers += desc.finish.buffers;
  for (const ingot_grid_kernel &kernel : desc.extra) {
    if (!kernel.name)
      return;
    launch(kernel, buffers);
    buffers += kernel.buffers - 1;
  }
}

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_ABI_EPILOGUE_H
