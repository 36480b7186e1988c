// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The functions of the CUDA driver API that trainers use, loaded on demand.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CUDA_DRIVER_DRIVER_H
#define INGOT_RUNTIME_CUDA_DRIVER_DRIVER_H

#include "runtime/cuda/driver/Library.h"

#include <cuda.h>

// Names that cuda.h redirects to their latest versions.
#define INGOT_CUDA_DRIVER_FUNCTIONS(X)                                         \
  X(cuInit)                                                                    \
  X(cuDriverGetVersion)                                                        \
  X(cuGetErrorName)                                                            \
  X(cuGetErrorString)                                                          \
  X(cuDeviceGet)                                                               \
  X(cuDeviceGetCount)                                                          \
  X(cuDeviceGetName)                                                           \
  X(cuDeviceGetAttribute)                                                      \
  X(cuDevicePrimaryCtxRetain)                                                  \
  X(cuDevicePrimaryCtxRelease)                                                 \
  X(cuCtxSetCurrent)                                                           \
  X(cuCtxGetStreamPriorityRange)                                               \
  X(cuMemGetInfo)                                                              \
  X(cuMemAlloc)                                                                \
  X(cuMemFree)                                                                 \
  X(cuMemHostAlloc)                                                            \
  X(cuMemFreeHost)                                                             \
  X(cuMemsetD8Async)                                                           \
  X(cuMemcpyHtoDAsync)                                                         \
  X(cuMemcpyDtoHAsync)                                                         \
  X(cuMemcpyDtoDAsync)                                                         \
  X(cuStreamCreateWithPriority)                                                \
  X(cuStreamDestroy)                                                           \
  X(cuStreamSynchronize)                                                       \
  X(cuStreamWaitEvent)                                                         \
  X(cuStreamBeginCapture)                                                      \
  X(cuStreamEndCapture)                                                        \
  X(cuGraphInstantiate)                                                        \
  X(cuGraphLaunch)                                                             \
  X(cuGraphDestroy)                                                            \
  X(cuGraphExecDestroy)                                                        \
  X(cuEventCreate)                                                             \
  X(cuEventQuery)                                                              \
  X(cuEventRecord)                                                             \
  X(cuEventSynchronize)                                                        \
  X(cuEventElapsedTime)                                                        \
  X(cuEventDestroy)                                                            \
  X(cuModuleLoadDataEx)                                                        \
  X(cuModuleGetFunction)                                                       \
  X(cuModuleUnload)                                                            \
  X(cuFuncSetAttribute)                                                        \
  X(cuTensorMapEncodeTiled)                                                    \
  X(cuLaunchKernel)

namespace ingot::runtime {

class Driver {
public:
  /// Loads and initializes the driver. Throws failure if there is no driver
  /// that is recent enough.
  Driver();

#define INGOT_DECLARE(name) decltype(::name) *name;
  INGOT_CUDA_DRIVER_FUNCTIONS(INGOT_DECLARE)
#undef INGOT_DECLARE

  /// The priority of a stream: the step waits for it, or nothing does yet.
  enum class Priority { Highest, Lowest };
  /// Makes a stream that does not wait for the default one. Throws failure.
  CUstream makeStream(Priority priority) const;

  /// The major version of CUDA that the driver is for.
  int getMajor() const { return major; }
  /// Throws failure naming `action` unless `result` is success.
  void check(CUresult result, const char *action) const;
  /// Returns the driver's description of `result`.
  std::string describe(CUresult result) const;

private:
  Library library;
  int major = 0;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CUDA_DRIVER_DRIVER_H
