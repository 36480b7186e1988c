// SPDX-License-Identifier: Apache-2.0

#include "test/fakes/cuda/dnn/BackendDescriptor.h"

#include <algorithm>
#include <numeric>
#include <string_view>

using namespace fakes;
using namespace fakes::dnn;

namespace {
/// The names of the attributes of an operation.
struct OperationNames {
  cudnnBackendDescriptorType_t type;
  Computed computed;
  cudnnBackendAttributeName_t convolution, input, filter, output;
};
constexpr OperationNames operations[] = {
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR, Computed::Output,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y},
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
     Computed::Input, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY},
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
     Computed::Filter, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY}};

const OperationNames *findNames(const Descriptor &descriptor) {
  for (const OperationNames &names : operations)
    if (descriptor.type == names.type)
      return &names;
  return nullptr;
}

/// Where a dense tensor has its channels.
const char *findChannels(const Descriptor &tensor) {
  const std::vector<int64_t> &dims =
      tensor.numbers.at(CUDNN_ATTR_TENSOR_DIMENSIONS);
  auto isDense = [&](const std::vector<size_t> &order) {
    int64_t stride = 1;
    for (size_t i = order.size(); i-- > 0; stride *= dims[order[i]])
      if (tensor.numbers.at(CUDNN_ATTR_TENSOR_STRIDES).at(order[i]) != stride)
        return false;
    return true;
  };
  std::vector<size_t> order(dims.size());
  std::iota(order.begin(), order.end(), 0);
  if (isDense(order))
    return "first";
  std::rotate(order.begin() + 1, order.begin() + 2, order.end());
  if (isDense(order))
    return "last";
  record("violation", " cuDNN: the strides of a tensor");
  return "nowhere";
}

} // namespace

void dnn::checkConvolution(const Descriptor &operation) {
  auto [type, computed, convolution, x, w, y] = *findNames(operation);
  auto dims = [&](cudnnBackendAttributeName_t name) {
    return operation.parts.at(name)->numbers.at(CUDNN_ATTR_TENSOR_DIMENSIONS);
  };
  auto &numbers = operation.parts.at(convolution)->numbers;
  std::vector<int64_t> in = dims(x), filter = dims(w), out = dims(y);
  bool fits = in.size() == out.size() && in.size() == filter.size() &&
              in.size() >= 4 && in[0] == out[0] && filter[0] == out[1] &&
              in[1] % filter[1] == 0;
  for (size_t i = 2; fits && i < in.size(); ++i) {
    auto at = [&](cudnnBackendAttributeName_t name) {
      return numbers.at(name).at(i - 2);
    };
    int64_t window = at(CUDNN_ATTR_CONVOLUTION_DILATIONS) * (filter[i] - 1) + 1;
    int64_t padded = in[i] + at(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS) +
                     at(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS);
    fits = (padded - window) / at(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES) + 1 ==
           out[i];
  }
  if (!fits)
    record("violation", " cuDNN: the shapes of a convolution");
  record("convolution", " channels data=%s filter=%s result=%s",
         findChannels(*operation.parts.at(x)),
         findChannels(*operation.parts.at(w)),
         findChannels(*operation.parts.at(y)));
}

bool dnn::isConvolution(const Descriptor &operation) {
  return findNames(operation) != nullptr;
}

ConvolutionCall dnn::makeWindow(const Descriptor &operation) {
  const OperationNames &names = *findNames(operation);
  auto &numbers = operation.parts.at(names.convolution)->numbers;
  return {{},
          {},
          {},
          numbers.at(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS),
          numbers.at(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS),
          numbers.at(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES),
          numbers.at(CUDNN_ATTR_CONVOLUTION_DILATIONS),
          names.computed};
}

ConvolutionTensors dnn::getConvolutionTensors(const Descriptor &operation) {
  const OperationNames &names = *findNames(operation);
  return {names.computed, names.input, names.filter, names.output};
}

std::optional<bool> dnn::isSupportedFusion(const Descriptor &graph) {
  const Descriptor *convolution = nullptr;
  size_t before = 0, after = 0;
  for (const Descriptor *operation : graph.operations) {
    if (isConvolution(*operation))
      convolution = operation;
    else
      ++(convolution ? after : before);
  }
  if (!convolution)
    return std::nullopt;
  const OperationNames &names = *findNames(*convolution);
  long arch = getSetting("INGOT_FAKE_ARCH", 90);
  // Scale, shift and ReLU, or nothing; sums, or nothing.
  bool normalizes = before == 3;
  bool isForward = names.computed == Computed::Output;
  bool isKnown = (before == 0 || normalizes) && after <= 1 &&
                 names.computed != Computed::Input &&
                 (isForward || (normalizes && after == 0));
  // From sm_90 on a normalized input is read only where there are sums.
  isKnown &= arch < 90 || !isForward || after == 1;
  // Later ones add up in an order that varies, or are none.
  isKnown &= arch >= 80 && arch < 100;
  for (auto name : {names.input, names.filter, names.output}) {
    const Descriptor &tensor = *convolution->parts.at(name);
    isKnown &=
        getNumber(tensor, CUDNN_ATTR_TENSOR_DATA_TYPE) == CUDNN_DATA_HALF;
    isKnown &= std::string_view(findChannels(tensor)) == "last";
    auto &dims = tensor.numbers.at(CUDNN_ATTR_TENSOR_DIMENSIONS);
    isKnown &= dims.size() == 4 && dims[1] % 8 == 0;
    if (name == names.filter)
      isKnown &= dims[0] % 8 == 0 && dims[2] <= 5 && dims[3] <= 5;
  }
  auto channels = [&](cudnnBackendAttributeName_t name) {
    return convolution->parts.at(name)->numbers.at(
        CUDNN_ATTR_TENSOR_DIMENSIONS)[1];
  };
  isKnown &= channels(names.filter) == channels(names.input);
  auto &numbers = convolution->parts.at(names.convolution)->numbers;
  isKnown &= numbers.at(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS) ==
             numbers.at(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS);
  for (const Descriptor *operation : graph.operations)
    if (operation->parts.count(CUDNN_ATTR_OPERATION_POINTWISE_BDESC))
      isKnown &=
          getNumber(*operation->parts.at(CUDNN_ATTR_OPERATION_POINTWISE_BDESC),
                    CUDNN_ATTR_TENSOR_DATA_TYPE) == CUDNN_DATA_HALF;
  return isKnown;
}

ConvolutionCall dnn::makeConvolution(const Descriptor &operation,
                                     const Descriptor &pack) {
  const OperationNames &names = *findNames(operation);
  auto &numbers = operation.parts.at(names.convolution)->numbers;
  return {makeTensor(*operation.parts.at(names.input), &pack),
          makeTensor(*operation.parts.at(names.filter), &pack),
          makeTensor(*operation.parts.at(names.output), &pack),
          numbers.at(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS),
          numbers.at(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS),
          numbers.at(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES),
          numbers.at(CUDNN_ATTR_CONVOLUTION_DILATIONS),
          names.computed};
}
