// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Convolutions by cuDNN's graphs, loaded on demand.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CUDA_LIBRARIES_DNN_H
#define INGOT_RUNTIME_CUDA_LIBRARIES_DNN_H

#include "runtime/abi/Abi.h"
#include "runtime/core/Context.h"
#include "runtime/cuda/Tuner.h"
#include "runtime/cuda/libraries/Library.h"

#include <cudnn.h>
#include <memory>
#include <string>
#include <vector>

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

/// Which of the three tensors of a convolution is computed from the others.
enum class ConvolutionResult { Output, InputGrad, FilterGrad };

/// How cuDNN computes a convolution.
struct ConvolutionChoice {
  int64_t workspaceBytes = 0;
  bool onTensorCores = false;
  /// The engine and its settings, as --tune keeps them.
  std::string name;
};

class Dnn {
public:
  /// Works on `stream`. Takes the first algorithm that the library proposes,
  /// the fastest of some if there is a tuner. Throws failure if there is no
  /// library.
  explicit Dnn(CUstream_st *stream, Tuner *tuner = nullptr);
  /// Only plans, for a GPU that need not be there: `device` is cuDNN's
  /// description of it (CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION).
  explicit Dnn(const std::string &device);
  ~Dnn();

  /// Puts a convolution (Abi.h) or one of its gradients into the stream.
  /// Throws failure.
  void convolve(ingot_context &context, const ingot_conv_desc &desc,
                ConvolutionResult result, const void *input, const void *filter,
                const void *output, void *scratch);

  /// What `convolve` would take. Throws failure if there is nothing.
  ConvolutionChoice choose(const ingot_conv_desc &desc,
                           ConvolutionResult result) const;
  /// What it would time with a tuner, best first as the library has it; with a
  /// name only what has that.
  std::vector<ConvolutionChoice> list(const ingot_conv_desc &desc,
                                      ConvolutionResult result,
                                      const std::string &name) const;

  const Library &getLibrary() const { return library; }
  cudnnHandle_t getHandle() const { return handle; }

private:
  class Descriptor;
  struct Algorithm;
  struct Plan;
  struct Engine;
  /// Input, filter and output.
  using Tensors = const void *[3];

  /// Loads the library.
  Dnn();
  /// A plan without an algorithm.
  std::unique_ptr<Plan> describe(const ingot_conv_desc &desc,
                                 ConvolutionResult result) const;
  /// At most that many that fit, as in `list`.
  std::vector<Algorithm> findAlgorithms(const Plan &plan,
                                        const ingot_conv_desc &desc,
                                        size_t most,
                                        const std::string &name = "") const;
  /// The first. Throws failure if there is none.
  Algorithm findFirst(const Plan &plan, const ingot_conv_desc &desc) const;
  std::unique_ptr<Plan> plan(const ingot_conv_desc &desc,
                             ConvolutionResult result, const Tensors &tensors,
                             void *scratch) const;
  /// Takes the fastest, as measured now or before.
  void tune(Plan &plan, const ingot_conv_desc &desc, ConvolutionResult result,
            const Tensors &tensors, void *scratch) const;
  cudnnStatus_t run(const Algorithm &algorithm, const Tensors &tensors,
                    void *scratch) const;
  /// `dims` begin with batch and channels, or with those of a filter.
  Descriptor describeTensor(int64_t id, int32_t type,
                            const std::vector<int64_t> &dims,
                            bool channelsLast) const;
  /// The convolution as an operation on three tensors.
  Descriptor describeOperation(const ingot_conv_desc &desc,
                               ConvolutionResult result) const;
  /// The engine of a configuration, and the name of both.
  Engine getEngine(const Descriptor &config) const;
  std::string getName(const Descriptor &config) const;
  void check(cudnnStatus_t status, const char *action) const;

  Library library;
#define INGOT_DECLARE(name) decltype(::name) *name;
  INGOT_DNN_FUNCTIONS(INGOT_DECLARE)
#undef INGOT_DECLARE
  cudnnHandle_t handle = nullptr;
  Tuner *tuner = nullptr;
  /// In place of the handle, where there is no GPU.
  std::unique_ptr<Descriptor> properties;
};

/// Which kernels cuDNN has for a convolution or its gradients on a GPU that is
/// described (see Dnn), not there. Throws failure if there are none.
[[gnu::visibility("default")]] ConvolutionChoice
chooseConvolution(const ingot_conv_desc &desc, ConvolutionResult result,
                  const std::string &device);
/// All that --tune would time there, or what has that name.
[[gnu::visibility("default")]] std::vector<ConvolutionChoice>
listConvolutions(const ingot_conv_desc &desc, ConvolutionResult result,
                 const std::string &device, const std::string &name = "");

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CUDA_LIBRARIES_DNN_H
