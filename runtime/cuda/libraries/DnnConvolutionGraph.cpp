// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Convolutions, alone or with normalizations around them, as cuDNN's backend
// describes them.
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/libraries/Dnn.h"

#include "runtime/core/DType.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>

using namespace ingot::runtime;

static cudnnDataType_t getDataType(int32_t type) {
  DType dtype = getDType(type);
  switch (dtype) {
  case DType::F64:
    return CUDNN_DATA_DOUBLE;
  case DType::F32:
    return CUDNN_DATA_FLOAT;
  case DType::BF16:
    return CUDNN_DATA_BFLOAT16;
  case DType::F16:
    return CUDNN_DATA_HALF;
  default:
    throw std::invalid_argument("cuDNN does not take elements of type " +
                                std::string(getName(dtype)));
  }
}

Dnn::Descriptor Dnn::describeTensor(int64_t id, int32_t type,
                                    const std::vector<int64_t> &dims,
                                    bool channelsLast, bool isVirtual) const {
  std::vector<size_t> order(dims.size());
  std::iota(order.begin(), order.end(), 0);
  if (channelsLast)
    std::rotate(order.begin() + 1, order.begin() + 2, order.end());
  std::vector<int64_t> strides(dims.size());
  int64_t stride = 1;
  for (size_t i = dims.size(); i-- > 0; stride *= dims[order[i]])
    strides[order[i]] = stride;
  cudnnDataType_t dataType = getDataType(type);
  Descriptor tensor(*this, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  tensor.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, id);
  tensor.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, &dataType, 1);
  tensor.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, int64_t(INGOT_ALIGNMENT));
  tensor.set(CUDNN_ATTR_TENSOR_DIMENSIONS, dims);
  tensor.set(CUDNN_ATTR_TENSOR_STRIDES, strides);
  if (isVirtual)
    tensor.set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, &isVirtual, 1);
  tensor.finish();
  return tensor;
}

namespace {
/// The names of the attributes of an operation.
struct OperationNames {
  cudnnBackendDescriptorType_t type;
  cudnnBackendAttributeName_t convolution, input, filter, output, alpha, beta;
};
} // namespace

static const OperationNames &getNames(ConvolutionResult result) {
  static const OperationNames forward = {
      CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
      CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
      CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
      CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
      CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
      CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
      CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA};
  static const OperationNames inputGrad = {
      CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA};
  static const OperationNames filterGrad = {
      CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA};
  return result == ConvolutionResult::Output      ? forward
         : result == ConvolutionResult::InputGrad ? inputGrad
                                                  : filterGrad;
}

Dnn::Descriptor Dnn::describePointwise(cudnnPointwiseMode_t mode,
                                       const Descriptor &x,
                                       const Descriptor *with,
                                       const Descriptor &y) const {
  cudnnDataType_t computeType = CUDNN_DATA_FLOAT;
  Descriptor how(*this, CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  how.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, &mode, 1);
  how.set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, &computeType,
          1);
  how.finish();
  Descriptor operation(*this, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, how);
  operation.set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x);
  if (with)
    operation.set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, *with);
  operation.set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y);
  operation.finish();
  return operation;
}

Dnn::Descriptor Dnn::describeSums(const Descriptor &x, const Descriptor &sums,
                                  const Descriptor &squares) const {
  cudnnDataType_t computeType = CUDNN_DATA_FLOAT;
  cudnnGenStatsMode_t mode = CUDNN_GENSTATS_SUM_SQSUM;
  Descriptor operation(*this, CUDNN_BACKEND_OPERATION_GEN_STATS_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_GENSTATS_MODE, CUDNN_TYPE_GENSTATS_MODE,
                &mode, 1);
  operation.set(CUDNN_ATTR_OPERATION_GENSTATS_MATH_PREC, CUDNN_TYPE_DATA_TYPE,
                &computeType, 1);
  operation.set(CUDNN_ATTR_OPERATION_GENSTATS_XDESC, x);
  operation.set(CUDNN_ATTR_OPERATION_GENSTATS_SUMDESC, sums);
  operation.set(CUDNN_ATTR_OPERATION_GENSTATS_SQSUMDESC, squares);
  operation.finish();
  return operation;
}

std::vector<Dnn::Descriptor>
Dnn::describeOperations(const ingot_conv_desc &desc, ConvolutionResult result,
                        ConvolutionFusion fusion) const {
  // The library requires at least two spatial dimensions.
  int64_t rank = desc.spatial_rank, extra = rank < 2 ? 2 - rank : 0;
  auto spatial = [&](const int64_t *values, int64_t fill) {
    std::vector<int64_t> all(extra, fill);
    all.insert(all.end(), values, values + rank);
    return all;
  };
  auto dims = [&](int64_t first, int64_t second, const int64_t *extents) {
    std::vector<int64_t> all = {first, second};
    for (int64_t extent : spatial(extents, 1))
      all.push_back(extent);
    return all;
  };
  bool isDouble = desc.type == INGOT_F64;
  cudnnDataType_t computeType = isDouble ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT;
  cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
  Descriptor convolution(*this, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  convolution.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE,
                  &computeType, 1);
  convolution.set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE,
                  &mode, 1);
  convolution.set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, rank + extra);
  convolution.set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS,
                  spatial(desc.pad_low, 0));
  convolution.set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS,
                  spatial(desc.pad_high, 0));
  convolution.set(CUDNN_ATTR_CONVOLUTION_DILATIONS, spatial(desc.dilation, 1));
  convolution.set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES,
                  spatial(desc.stride, 1));
  convolution.finish();

  auto describeInput = [&](int64_t id, int32_t type, bool isVirtual = false) {
    return describeTensor(id, type, dims(desc.batch, desc.in_channels, desc.in),
                          desc.channels_last, isVirtual);
  };
  auto describeVector = [&](int64_t id, int32_t type, int64_t channels) {
    std::vector<int64_t> all(2 + rank + extra, 1);
    all[1] = channels;
    return describeTensor(id, type, all, desc.channels_last);
  };
  std::vector<Descriptor> operations;
  Descriptor input = describeInput(InputId, desc.type);
  if (fusion.normalizes) {
    Descriptor scaled = describeInput(ScaledId, INGOT_F32, /*isVirtual=*/true);
    Descriptor shifted =
        describeInput(ShiftedId, INGOT_F32, /*isVirtual=*/true);
    Descriptor normalized =
        describeInput(NormalizedId, desc.type, /*isVirtual=*/true);
    Descriptor scale = describeVector(ScaleId, desc.type, desc.in_channels);
    Descriptor shift = describeVector(ShiftId, desc.type, desc.in_channels);
    operations.push_back(
        describePointwise(CUDNN_POINTWISE_MUL, input, &scale, scaled));
    operations.push_back(
        describePointwise(CUDNN_POINTWISE_ADD, scaled, &shift, shifted));
    operations.push_back(describePointwise(CUDNN_POINTWISE_RELU_FWD, shifted,
                                           nullptr, normalized));
    input = std::move(normalized);
  }
  Descriptor filter = describeTensor(
      FilterId, desc.type,
      dims(desc.out_channels, desc.in_channels / desc.groups, desc.kernel),
      desc.filter_channels_last);
  Descriptor output = describeTensor(
      OutputId, desc.type, dims(desc.batch, desc.out_channels, desc.out),
      desc.channels_last);
  const OperationNames &names = getNames(result);
  Descriptor operation(*this, names.type);
  operation.set(names.convolution, convolution);
  operation.set(names.input, input);
  operation.set(names.filter, filter);
  operation.set(names.output, output);
  const double alpha = 1, beta = 0;
  const float alphaF32 = 1, betaF32 = 0;
  if (isDouble) {
    operation.set(names.alpha, CUDNN_TYPE_DOUBLE, &alpha, 1);
    operation.set(names.beta, CUDNN_TYPE_DOUBLE, &beta, 1);
  } else {
    operation.set(names.alpha, CUDNN_TYPE_FLOAT, &alphaF32, 1);
    operation.set(names.beta, CUDNN_TYPE_FLOAT, &betaF32, 1);
  }
  operation.finish();
  operations.push_back(std::move(operation));
  if (fusion.sums)
    operations.push_back(describeSums(
        output, describeVector(SumsId, INGOT_F32, desc.out_channels),
        describeVector(SquaresId, INGOT_F32, desc.out_channels)));
  return operations;
}
