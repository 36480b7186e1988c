// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// GPUs that cuDNN, if it is installed, plans for without their being there.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_TEST_RUNTIME_CUDA_LIBRARIES_DESCRIBEDGPUS_H
#define INGOT_TEST_RUNTIME_CUDA_LIBRARIES_DESCRIBEDGPUS_H

#include "runtime/core/Error.h"
#include "runtime/cuda/driver/Library.h"

#include <cudnn.h>
#include <optional>
#include <string>

namespace ingot::testing {

/// An H100 (SXM), and an A100 where it differs.
inline std::string describeGpu(bool isHopper) {
  std::string text = R"({"driverVersion": 13000,
    "maxGridSize": [2147483647, 65535, 65535],
    "maxBlockSize": [1024, 1024, 64], "regsPerBlock": 65536, "warpSize": 32,
    "maxSharedMemoryPerBlock": 49152, "reservedSharedMemoryPerBlock": 1024,
    "maxRegistersPerSM": 65536, "maxCtasPerSM": 32, "maxThreadsPerBlock": 1024,
    "maxThreadsPerSM": 2048, "pciDeviceId": 0, "isTccDriver": 0,
    "supportCoopLaunch": 1, "cudaDeviceId": 0, "totalGlobalMem": 85028765696,
    "driverVer": 13000, )";
  return text + (isHopper ? R"("deviceVer": 900, "multiProcessorCount": 132,
    "smClockRateKHz": 1980000, "memClockRateKHz": 2619000,
    "l2CacheSize": 52428800, "maxSharedMemoryPerBlockOptin": 232448,
    "deviceName": "NVIDIA H100 80GB HBM3"})"
                          : R"("deviceVer": 800, "multiProcessorCount": 108,
    "smClockRateKHz": 1410000, "memClockRateKHz": 1593000,
    "l2CacheSize": 41943040, "maxSharedMemoryPerBlockOptin": 166912,
    "deviceName": "NVIDIA A100-SXM4-80GB"})");
}

inline std::optional<runtime::Library> findDnn() {
  try {
    return runtime::Library("libcudnn.so." + std::to_string(CUDNN_MAJOR), "");
  } catch (const runtime::Error &) {
    return std::nullopt;
  }
}

} // namespace ingot::testing

#endif // INGOT_TEST_RUNTIME_CUDA_LIBRARIES_DESCRIBEDGPUS_H
