// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Tests that the fake cuDNN has the faults of cuDNN on an H100, and no others.
//
//===----------------------------------------------------------------------===//

#include "test/fakes/cuda/numbers/OperationGraph.h"

#include <gtest/gtest.h>

using namespace fakes;

namespace {
constexpr int64_t tokens = 4;

Tensor makeTensor(std::vector<float> &values, std::vector<int64_t> dims) {
  std::vector<int64_t> strides(dims.size(), 1);
  for (size_t i = dims.size() - 1; i-- > 0;)
    strides[i] = strides[i + 1] * dims[i + 1];
  values.assign(count(dims), 0.5F);
  return {values.data(), Element::F32, std::move(dims), std::move(strides)};
}

/// Multiplies queries and keys, adds a bias of `rows` rows, and multiplies the
/// scores with values `products` - 1 times.
float computeAttention(int64_t rows, int products) {
  std::vector<float> matrix, bias, scores, biased, result;
  std::vector<int64_t> square = {1, 1, tokens, tokens};
  OperationGraph graph;
  graph.tensors[1] = {makeTensor(matrix, square)};
  graph.tensors[2] = {makeTensor(scores, square), /*isVirtual=*/true};
  graph.tensors[3] = {makeTensor(bias, {1, 1, rows, tokens})};
  graph.tensors[4] = {makeTensor(biased, square), /*isVirtual=*/true};
  graph.tensors[5] = {makeTensor(result, square)};
  graph.operations.push_back({GraphOperation::Product, {1, 1}, 2});
  graph.operations.push_back(
      {GraphOperation::Elements, {2, 3}, 4, Pointwise::Add});
  for (int i = 1; i < products; ++i)
    graph.operations.push_back({GraphOperation::Product, {4, 1}, 5});
  EXPECT_EQ(findProblem(graph), "");
  compute(graph);
  return result[0];
}

TEST(LibraryFaults, GradientsOfAttentionWithABiasThatAllQueriesShare) {
  float right = computeAttention(tokens, 3);
  EXPECT_EQ(computeAttention(tokens, 2), right);
  EXPECT_EQ(computeAttention(1, 2), right) << "the forward pass is right";
  EXPECT_NE(computeAttention(1, 3), right);
}

/// The first element of the gradient by the filter of a convolution of 4
/// channels.
float computeFilterGradient(int64_t groups, int64_t before, int64_t after) {
  std::vector<float> input, filter, output;
  int64_t extent = 5 + before + after - 1;
  ConvolutionCall call = {makeTensor(input, {1, 4, 5, 5}),
                          makeTensor(filter, {4, 4 / groups, 2, 2}),
                          makeTensor(output, {1, 4, extent, extent}),
                          {before, before},
                          {after, after},
                          {1, 1},
                          {1, 1},
                          Computed::Filter};
  compute(call);
  return filter[0];
}

TEST(LibraryFaults, GradientsByFiltersInGroupsWithUnevenPadding) {
  float right = computeFilterGradient(1, 1, 0);
  EXPECT_EQ(computeFilterGradient(4, 1, 1), computeFilterGradient(1, 1, 1));
  EXPECT_NE(computeFilterGradient(4, 1, 0), right);
}
} // namespace
