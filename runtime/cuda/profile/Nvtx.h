// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Names what the host does for NVIDIA's tools: ranges of the NVTX library, in
// the domain "ingot". Without a tool that listens, as Nsight Systems, a range
// costs a comparison.
//
// The library is a header, which loads the tool that NVTX_INJECTION64_PATH
// names: https://github.com/NVIDIA/NVTX.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CUDA_PROFILE_NVTX_H
#define INGOT_RUNTIME_CUDA_PROFILE_NVTX_H

namespace ingot::runtime {

/// Opens a range of the calling thread within the one that is open.
void pushNvtxRange(const char *name);
/// Closes the range that was opened last.
void popNvtxRange();
/// Whether a tool listens. The first call loads it.
bool isNvtxActive();

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CUDA_PROFILE_NVTX_H
