// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// cuDNN's functions, loaded on demand.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CUDA_LIBRARIES_DNNLIBRARY_H
#define INGOT_RUNTIME_CUDA_LIBRARIES_DNNLIBRARY_H

#include "runtime/cuda/driver/Library.h"

#include <cudnn.h>

#define INGOT_DNN_FUNCTIONS(X)                                                 \
  X(cudnnCreate)                                                               \
  X(cudnnDestroy)                                                              \
  X(cudnnGetErrorString)                                                       \
  X(cudnnGetVersion)                                                           \
  X(cudnnSetStream)                                                            \
  X(cudnnBackendCreateDescriptor)                                              \
  X(cudnnBackendDestroyDescriptor)                                             \
  X(cudnnBackendExecute)                                                       \
  X(cudnnBackendFinalize)                                                      \
  X(cudnnBackendGetAttribute)                                                  \
  X(cudnnBackendSetAttribute)

namespace ingot::runtime {

class DnnLibrary {
public:
  /// Loads the library. Throws failure if there is none.
  DnnLibrary();

  const Library &getLibrary() const { return library; }
  /// Throws failure, naming the action, unless the status is success.
  void check(cudnnStatus_t status, const char *action) const;

#define INGOT_DECLARE(name) decltype(::name) *name;
  INGOT_DNN_FUNCTIONS(INGOT_DECLARE)
#undef INGOT_DECLARE

private:
  Library library;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CUDA_LIBRARIES_DNNLIBRARY_H
