// SPDX-License-Identifier: Apache-2.0

#include "runtime/cuda/libraries/DnnLibrary.h"

#include "runtime/core/Error.h"

#include <string>

using namespace ingot::runtime;

DnnLibrary::DnnLibrary()
    : library("libcudnn.so." + std::to_string(CUDNN_MAJOR),
              "install cuDNN, or have LD_LIBRARY_PATH name its folder") {
#define INGOT_LOAD(name) library.load(name, #name);
  INGOT_DNN_FUNCTIONS(INGOT_LOAD)
#undef INGOT_LOAD
}

void DnnLibrary::check(cudnnStatus_t status, const char *action) const {
  if (status != CUDNN_STATUS_SUCCESS)
    throw failure("cuDNN",
                  std::string(action) + ": " + cudnnGetErrorString(status),
                  "check the GPU with nvidia-smi");
}
