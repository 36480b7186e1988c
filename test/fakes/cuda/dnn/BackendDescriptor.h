// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Descriptors of the fake of cuDNN, and what they describe.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_TEST_FAKES_CUDA_DNN_BACKENDDESCRIPTOR_H
#define INGOT_TEST_FAKES_CUDA_DNN_BACKENDDESCRIPTOR_H

#include "test/fakes/cuda/Fakes.h"
#include "test/fakes/cuda/numbers/Convolution.h"
#include "test/fakes/cuda/numbers/OperationGraph.h"

#include <cudnn.h>
#include <map>
#include <optional>
#include <vector>

namespace fakes::dnn {

struct Descriptor {
  cudnnBackendDescriptorType_t type;
  bool isFinished = false;
  /// Attributes of engines and what they are part of.
  int64_t engine = 0;
  std::map<cudnnBackendAttributeName_t, std::vector<int64_t>> numbers = {};
  std::map<cudnnBackendAttributeName_t, double> reals = {};
  std::map<cudnnBackendAttributeName_t, Descriptor *> parts = {};
  /// The operations of graphs.
  std::vector<const Descriptor *> operations = {};
  /// The graph that the descriptor is part of.
  const Descriptor *graph = nullptr;
};

/// The first one; 0 if there is none.
int64_t getNumber(const Descriptor &descriptor,
                  cudnnBackendAttributeName_t name);

/// Returns a tensor as it is in memory. Without a pack of addresses it has
/// none.
Tensor makeTensor(const Descriptor &tensor, const Descriptor *pack);

/// Whether an operation is a convolution or one of its gradients.
bool isConvolution(const Descriptor &operation);
/// Checks that the extents of a convolution fit each other, and writes down in
/// which order its dimensions are.
void checkConvolution(const Descriptor &operation);
ConvolutionCall makeConvolution(const Descriptor &operation,
                                const Descriptor &pack);
/// A convolution without its tensors.
ConvolutionCall makeWindow(const Descriptor &operation);
struct ConvolutionTensors {
  Computed computed;
  cudnnBackendAttributeName_t input, filter, output;
};
ConvolutionTensors getConvolutionTensors(const Descriptor &operation);

/// Whether a graph is a convolution with normalizations around it that the
/// library has an engine for on this GPU (cuDNN 9.19, as it plans for described
/// GPUs); nothing if it is another graph.
std::optional<bool> isSupportedFusion(const Descriptor &graph);

/// Nothing, and a violation, if the graph has what the fake does not compute.
std::optional<OperationGraph> makeGraph(const Descriptor &graph,
                                        const Descriptor *pack);

} // namespace fakes::dnn

#endif // INGOT_TEST_FAKES_CUDA_DNN_BACKENDDESCRIPTOR_H
