// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The features of the CPU: whether it has the features that a module was
// compiled for, and which build of a kernel it runs. The environment variable
// INGOT_MAX_ISA hides what a level (abi::CpuLevel) does not have.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CORE_MACHINE_FEATURES_H
#define INGOT_RUNTIME_CORE_MACHINE_FEATURES_H

#include "runtime/abi/Processor.h"

#include <string>
#include <vector>

namespace ingot::runtime {

/// Returns those of `features` (LLVM's names) that this CPU or its operating
/// system lacks, that INGOT_MAX_ISA hides, or that are unknown here. Throws
/// Error if INGOT_MAX_ISA names no level.
std::vector<std::string>
findMissingFeatures(const std::vector<std::string> &features);

/// Returns the level above which INGOT_MAX_ISA hides features; the last one if
/// it is not set.
abi::CpuLevel getMaxCpuLevel();

/// Returns the highest level all of whose features this CPU has. The last
/// level is that of CPUs with tile registers for bf16 (AMX).
abi::CpuLevel getCpuLevel();

/// The builds of a kernel for vector units, which differ in the width of a
/// vector: any CPU (four lanes), AVX2 with FMA and F16C (eight), AVX-512
/// (sixteen).
template <typename Kernels> struct VectorBuilds {
  const Kernels &baseline, &avx2, &avx512;

  /// The widest build that this CPU runs.
  const Kernels &get() const {
    abi::CpuLevel level = getCpuLevel();
    return level >= abi::CpuLevel::V4   ? avx512
           : level >= abi::CpuLevel::V3 ? avx2
                                        : baseline;
  }
};

/// Chooses the widest of the builds genericKernels, avx2Kernels and
/// avx512Kernels in scope that this CPU runs. CPUs other than x86-64 have
/// genericKernels only. In a trainer for a higher level, tables of these names
/// have no address and are only chosen from: one that a higher level reads,
/// too, has another name (tools/ingotc/compile/Link.cpp, findUnusedKernels).
#ifdef __x86_64__
#define INGOT_CHOOSE_KERNELS()                                                 \
  ::ingot::runtime::VectorBuilds{genericKernels, avx2Kernels, avx512Kernels}   \
      .get()
#else
#define INGOT_CHOOSE_KERNELS() genericKernels
#endif

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CORE_MACHINE_FEATURES_H
