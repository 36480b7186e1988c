// SPDX-License-Identifier: Apache-2.0

#include "runtime/cuda/driver/Driver.h"

#include "runtime/core/Error.h"
#include "runtime/cuda/driver/Switches.h"

using namespace ingot::runtime;

// The name after cuda.h's redirection. Drivers from before the latest version
// of a function have it under its plain name.
#define INGOT_SYMBOL_OF(name) #name
#define INGOT_SYMBOL(name) INGOT_SYMBOL_OF(name)

Driver::Driver()
    : library("libcuda.so.1",
              "install the NVIDIA driver, or compile with --target cpu") {
#define INGOT_LOAD(name) library.load(name, INGOT_SYMBOL(name), #name);
  INGOT_CUDA_DRIVER_FUNCTIONS(INGOT_LOAD)
#undef INGOT_LOAD
  CUresult result = cuInit(0);
  if (result != CUDA_SUCCESS)
    throw failure("CUDA", "no GPU can be used: " + describe(result),
                  "check with nvidia-smi, or compile with --target cpu");
  int version = 0;
  check(cuDriverGetVersion(&version), "asking for the driver's version");
  major = version / 1000;
  if (major < kOldestToolkit)
    throw failure("CUDA",
                  "the driver is for CUDA " + std::to_string(version / 1000) +
                      "." + std::to_string(version % 1000 / 10) +
                      ", the trainer needs " + std::to_string(kOldestToolkit),
                  "install a later NVIDIA driver");
}

CUstream Driver::makeStream(Priority priority) const {
  // Streams have the lowest priority unless they ask for another one.
  int lowest = 0, highest = 0;
  check(cuCtxGetStreamPriorityRange(&lowest, &highest), "making a stream");
  CUstream stream = nullptr;
  bool isHighest =
      priority == Priority::Highest || !getSwitches().hasPriorities;
  check(cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING,
                                   isHighest ? highest : lowest),
        "making a stream");
  return stream;
}

std::string Driver::describe(CUresult result) const {
  const char *name = nullptr, *text = nullptr;
  if (cuGetErrorName(result, &name) != CUDA_SUCCESS ||
      cuGetErrorString(result, &text) != CUDA_SUCCESS)
    return "error " + std::to_string(result);
  return std::string(text) + " (" + name + ")";
}

void Driver::check(CUresult result, const char *action) const {
  if (result == CUDA_SUCCESS)
    return;
  // The plan fits; contexts, code and graphs come to it.
  if (result == CUDA_ERROR_OUT_OF_MEMORY)
    throw failure("GPU memory", std::string(action) + ": " + describe(result),
                  kMemoryHint);
  throw failure("CUDA", std::string(action) + ": " + describe(result),
                "check the GPU with nvidia-smi; INGOT_CUDA_GRAPH=0 launches "
                "kernels one by one");
}
