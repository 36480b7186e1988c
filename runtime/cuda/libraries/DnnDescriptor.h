// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The objects with which cuDNN's backend describes graphs and plans.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CUDA_LIBRARIES_DNNDESCRIPTOR_H
#define INGOT_RUNTIME_CUDA_LIBRARIES_DNNDESCRIPTOR_H

#include "runtime/cuda/libraries/DnnLibrary.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace ingot::runtime {

/// An object of the library, with its attributes.
class DnnDescriptor {
public:
  DnnDescriptor() = default;
  DnnDescriptor(const DnnLibrary &dnn, cudnnBackendDescriptorType_t type)
      : dnn(&dnn) {
    dnn.check(dnn.cudnnBackendCreateDescriptor(type, &handle),
              "describing a convolution");
  }
  DnnDescriptor(DnnDescriptor &&other) noexcept { *this = std::move(other); }
  DnnDescriptor &operator=(DnnDescriptor &&other) noexcept {
    std::swap(dnn, other.dnn);
    std::swap(handle, other.handle);
    return *this;
  }
  ~DnnDescriptor() {
    if (handle)
      (void)dnn->cudnnBackendDestroyDescriptor(handle);
  }

  cudnnBackendDescriptor_t get() const { return handle; }

  template <typename T>
  void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
           const T *values, int64_t count) {
    dnn->check(dnn->cudnnBackendSetAttribute(handle, name, type, count, values),
               "describing a convolution");
  }
  void set(cudnnBackendAttributeName_t name, const DnnDescriptor &other) {
    set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, &other.handle, 1);
  }
  void set(cudnnBackendAttributeName_t name, int64_t value) {
    set(name, CUDNN_TYPE_INT64, &value, 1);
  }
  void set(cudnnBackendAttributeName_t name,
           const std::vector<int64_t> &values) {
    set(name, CUDNN_TYPE_INT64, values.data(),
        static_cast<int64_t>(values.size()));
  }
  /// How many values there are; fills in `values` as far as they go.
  template <typename T>
  int64_t read(cudnnBackendAttributeName_t name,
               cudnnBackendAttributeType_t type, T *values,
               int64_t count) const {
    int64_t found = 0;
    dnn->check(dnn->cudnnBackendGetAttribute(handle, name, type, count, &found,
                                             values),
               "asking cuDNN");
    return found;
  }
  cudnnStatus_t tryFinish() { return dnn->cudnnBackendFinalize(handle); }
  void finish() { dnn->check(tryFinish(), "describing a convolution"); }

private:
  const DnnLibrary *dnn = nullptr;
  cudnnBackendDescriptor_t handle = nullptr;
};

/// The numbers of tensors in plans: those of ConvolutionTensors in their order,
/// and those that are in no memory.
enum DnnTensorId : int64_t {
  InputId = 1,
  FilterId,
  OutputId,
  ScaleId,
  ShiftId,
  SumsId,
  SquaresId,
  ScaledId,
  ShiftedId,
  NormalizedId
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CUDA_LIBRARIES_DNNDESCRIPTOR_H
