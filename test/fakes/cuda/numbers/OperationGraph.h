// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Graphs of operations as cuDNN's backend describes them, for the fake of
// cuDNN: attention is one, of products, reductions and pointwise operations.
// Each operation is computed in fp32 and rounded to the type of its tensor, be
// it in memory or virtual.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_TEST_FAKES_CUDA_NUMBERS_OPERATIONGRAPH_H
#define INGOT_TEST_FAKES_CUDA_NUMBERS_OPERATIONGRAPH_H

#include "test/fakes/cuda/numbers/Convolution.h"

#include <map>
#include <optional>
#include <string>

namespace fakes {

/// A function of pointwise operations.
enum class Pointwise {
  Add,
  Subtract,
  Multiply,
  Divide,
  Exp,
  Log,
  Identity,
  Relu,
  Less,
  LessOrEqual,
  Greater,
  GreaterOrEqual,
  And,
  /// The first input where the third one is not 0, else the second one.
  Select,
  /// The place along an axis.
  Index
};

struct GraphOperation {
  /// A reshape reads the memory of its input with its own strides. A random
  /// operation gives 1 with a probability, else 0.
  /// The inputs of a convolution are the two tensors that it reads. Sums are
  /// those of each channel and of the squares of its elements.
  enum Kind {
    Product,
    Elements,
    Sum,
    Maximum,
    Reshape,
    Random,
    Convolution,
    Sums
  };
  Kind kind = Elements;
  /// The numbers of tensors. Those of a random operation are the seed and the
  /// offset.
  std::vector<int64_t> inputs;
  int64_t output = 0;
  Pointwise pointwise = Pointwise::Identity;
  int64_t axis = 0;
  double probability = 0;
  /// For products, tensors with the rows, columns and terms that each entry of
  /// the batch has.
  std::optional<int64_t> rows, columns, terms;
  /// For convolutions, the window, and which tensor is computed.
  ConvolutionCall window = {};
  /// For sums, the tensor for the squares.
  int64_t squares = 0;
};

struct GraphTensor : Tensor {
  /// Virtual tensors have no memory.
  bool isVirtual = false;
  /// The value of a scalar that the host passes.
  std::optional<float> value = {};
};

struct OperationGraph {
  std::map<int64_t, GraphTensor> tensors;
  /// Each one after those that it reads.
  std::vector<GraphOperation> operations;
};

/// Returns what is wrong with the shapes of a graph, or with its order; empty
/// if nothing is.
std::string findProblem(const OperationGraph &graph);

/// Whether an operation is a product that is accumulated in memory, in fp32.
bool isAccumulated(const OperationGraph &graph,
                   const GraphOperation &operation);

void compute(const OperationGraph &graph);

} // namespace fakes

#endif // INGOT_TEST_FAKES_CUDA_NUMBERS_OPERATIONGRAPH_H
