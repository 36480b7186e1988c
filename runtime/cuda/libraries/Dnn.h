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
#include "runtime/cuda/libraries/DnnDescriptor.h"
#include "runtime/cuda/libraries/PlanCache.h"
#include "runtime/cuda/libraries/Tuner.h"

#include <cudnn.h>
#include <memory>
#include <string>
#include <vector>

namespace ingot::runtime {

/// Which of the three tensors of a convolution is computed from the others.
enum class ConvolutionResult { Output, InputGrad, FilterGrad };

/// The work that is fused into a convolution: a normalization of the input, and
/// the sums of the result and of its squares.
struct ConvolutionFusion {
  bool normalizes = false, sums = false;
};

/// The addresses of a convolution's tensors; null for those that it does not
/// have.
struct ConvolutionTensors {
  const void *input, *filter, *output;
  /// The input is max(input scale + shift, 0), by channel.
  const void *scale = nullptr, *shift = nullptr;
  /// Sums over each channel of the output.
  const void *sums = nullptr, *squares = nullptr;

  ConvolutionFusion getFusion() const {
    return {scale != nullptr, sums != nullptr};
  }
};

/// How cuDNN computes a convolution.
struct ConvolutionChoice {
  int64_t workspaceBytes = 0;
  bool onTensorCores = false;
  /// The engine and its settings, as --tune keeps them.
  std::string name;
};

class Dnn : DnnLibrary {
public:
  /// Works on `stream`. Uses the first algorithm that the library proposes, or
  /// the fastest of several if there is a tuner. Throws failure if there is no
  /// library.
  explicit Dnn(CUstream_st *stream, Tuner *tuner = nullptr);
  /// Works on another stream from now on. Throws failure.
  void setStream(CUstream_st *current);
  /// Plans only, for a GPU that need not be present: `device` is cuDNN's
  /// description of it (CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION).
  explicit Dnn(const std::string &device);
  ~Dnn();

  /// Enqueues a convolution (Abi.h) or one of its gradients. Throws failure.
  void convolve(const ingot_conv_desc &desc, ConvolutionResult result,
                const ConvolutionTensors &tensors, void *scratch);

  /// Returns the algorithm that `convolve` would use without a tuner. Throws
  /// failure if there is none.
  ConvolutionChoice choose(const ingot_conv_desc &desc,
                           ConvolutionResult result,
                           ConvolutionFusion fusion) const;
  /// Returns the algorithms that `convolve` would measure with a tuner, in the
  /// library's order, best first; with a name, only the one of that name.
  std::vector<ConvolutionChoice> list(const ingot_conv_desc &desc,
                                      ConvolutionResult result,
                                      const std::string &name) const;

  using DnnLibrary::getLibrary;
  cudnnHandle_t getHandle() const { return handle; }

private:
  using Descriptor = DnnDescriptor;
  struct Algorithm;
  struct Plan;
  struct Engine;
  /// A plan without an algorithm.
  std::unique_ptr<Plan> describe(const ingot_conv_desc &desc,
                                 ConvolutionResult result,
                                 ConvolutionFusion fusion) const;
  /// Returns at most `most` algorithms that fit into the scratch memory, as in
  /// `list`.
  std::vector<Algorithm> findAlgorithms(const Plan &plan,
                                        const ingot_conv_desc &desc,
                                        size_t most,
                                        const std::string &name = "") const;
  /// Returns the first algorithm. Throws failure if there is none.
  Algorithm findFirst(const Plan &plan, const ingot_conv_desc &desc) const;
  std::unique_ptr<Plan> plan(const ingot_conv_desc &desc,
                             ConvolutionResult result,
                             const ConvolutionTensors &tensors,
                             void *scratch) const;
  /// Takes the fastest algorithm, as measured now or before.
  void tune(Plan &plan, const ingot_conv_desc &desc, ConvolutionResult result,
            const ConvolutionTensors &tensors, void *scratch) const;
  cudnnStatus_t run(const Algorithm &algorithm,
                    const ConvolutionTensors &tensors, void *scratch) const;
  /// Describes a tensor, whose `dims` begin with batch and channels, or with
  /// the output and input channels of a filter.
  Descriptor describeTensor(int64_t id, int32_t type,
                            const std::vector<int64_t> &dims, bool channelsLast,
                            bool isVirtual = false) const;
  /// Describes y = mode(x), or y = mode(x, with), in f32.
  Descriptor describePointwise(cudnnPointwiseMode_t mode, const Descriptor &x,
                               const Descriptor *with,
                               const Descriptor &y) const;
  Descriptor describeSums(const Descriptor &x, const Descriptor &sums,
                          const Descriptor &squares) const;
  /// Describes the convolution as an operation on three tensors, with those
  /// around it.
  std::vector<Descriptor> describeOperations(const ingot_conv_desc &desc,
                                             ConvolutionResult result,
                                             ConvolutionFusion fusion) const;
  /// Returns the engine of a configuration.
  Engine getEngine(const Descriptor &config) const;
  /// Returns a name of a configuration and its engine.
  std::string getName(const Descriptor &config) const;

  cudnnHandle_t handle = nullptr;
  CUstream_st *stream = nullptr;
  Tuner *tuner = nullptr;
  PlanCache<Plan> plans;
  /// Replaces the handle where there is no GPU.
  std::unique_ptr<Descriptor> properties;
};

/// Returns cuDNN's choice for a convolution or its gradients on a GPU that is
/// described but need not be present (see Dnn). Throws failure if there is
/// none.
[[gnu::visibility("default")]] ConvolutionChoice
chooseConvolution(const ingot_conv_desc &desc, ConvolutionResult result,
                  const std::string &device, ConvolutionFusion fusion = {});
/// Returns all choices that --tune would measure there, or the one of that
/// name.
[[gnu::visibility("default")]] std::vector<ConvolutionChoice>
listConvolutions(const ingot_conv_desc &desc, ConvolutionResult result,
                 const std::string &device, const std::string &name = "");

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CUDA_LIBRARIES_DNN_H
