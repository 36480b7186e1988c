//===----------------------------------------------------------------------===//
//
// Convolutions by cuDNN's graphs, loaded on demand.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CUDA_DNN_H
#define INGOT_RUNTIME_CUDA_DNN_H

#include "runtime/abi/Abi.h"
#include "runtime/core/Context.h"
#include "runtime/cuda/Library.h"

#include <cudnn.h>
#include <memory>
#include <vector>

#define INGOT_DNN_FUNCTIONS(X)                                                 \
  X(cudnnCreate)                                                               \
  X(cudnnDestroy)                                                              \
  X(cudnnGetErrorString)                                                       \
  X(cudnnSetStream)                                                            \
  X(cudnnBackendCreateDescriptor)                                              \
  X(cudnnBackendDestroyDescriptor)                                             \
  X(cudnnBackendExecute)                                                       \
  X(cudnnBackendFinalize)                                                      \
  X(cudnnBackendGetAttribute)                                                  \
  X(cudnnBackendSetAttribute)

namespace ingot::runtime {

/// Which of the three tensors of a convolution is computed from the others.
enum class ConvolutionResult { Output, InputGrad, FilterGrad };

class Dnn {
public:
  /// Works on `stream`. Throws failure if there is none.
  explicit Dnn(CUstream_st *stream);
  ~Dnn();

  /// Puts a convolution (Abi.h) or one of its gradients into the stream.
  /// Throws failure.
  void convolve(ingot_context &context, const ingot_conv_desc &desc,
                ConvolutionResult result, const void *input, const void *filter,
                const void *output, void *scratch);

  const Library &getLibrary() const { return library; }
  cudnnHandle_t getHandle() const { return handle; }

private:
  class Descriptor;
  struct Plan;

  std::unique_ptr<Plan> plan(const ingot_conv_desc &desc,
                             ConvolutionResult result) const;
  Descriptor describeTensor(int64_t id, int32_t type,
                            const std::vector<int64_t> &dims) const;
  /// The convolution as an operation on three tensors.
  Descriptor describeOperation(const ingot_conv_desc &desc,
                               ConvolutionResult result) const;
  /// Whether an engine computes in the operands' precision, and the same bits
  /// every time.
  bool isExact(const Descriptor &config, bool isHalf) const;
  void check(cudnnStatus_t status, const char *action) const;

  Library library;
#define INGOT_DECLARE(name) decltype(::name) *name;
  INGOT_DNN_FUNCTIONS(INGOT_DECLARE)
#undef INGOT_DECLARE
  cudnnHandle_t handle = nullptr;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CUDA_DNN_H
