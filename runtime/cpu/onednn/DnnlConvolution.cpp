// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Convolutions by oneDNN. Operands are row-major; where channels come first,
// the library picks its own layouts, and operands are reordered in scratch
// memory where that pays. Filters are always reordered.
//
//===----------------------------------------------------------------------===//

#include "runtime/abi/ConvolutionScratch.h"
#include "runtime/cpu/VendorLibrary.h"
#include "runtime/cpu/gemm/RunGemm.h"
#include "runtime/cpu/onednn/DnnlCall.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <string_view>

using namespace ingot::runtime;
using dnnl::memory;
using ingot::abi::ConvKind;

namespace {

/// A convolution as the library describes it.
struct Description {
  explicit Description(const ingot_conv_desc &d);

  dnnl::convolution_forward::primitive_desc getForward() const {
    return {getDnnlEngine(),
            dnnl::prop_kind::forward_training,
            dnnl::algorithm::convolution_direct,
            inputAny,
            filterAny,
            outputAny,
            strides,
            dilations,
            padLow,
            padHigh,
            attributes};
  }

  memory::desc input, filter, output;
  /// The tensors with a layout that the library chooses.
  memory::desc inputAny, filterAny, outputAny;
  memory::dims strides, dilations, padLow, padHigh;
  dnnl::primitive_attr attributes;
};

/// The strides of a dense tensor whose dimensions are in memory in `order`.
memory::dims getStrides(const memory::dims &dims,
                        const std::vector<size_t> &order) {
  memory::dims strides(dims.size(), 1);
  int64_t stride = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    strides[order[i]] = stride;
    stride *= dims[order[i]];
  }
  return strides;
}

} // namespace

Description::Description(const ingot_conv_desc &d) {
  memory::dims inputDims = {d.batch, d.in_channels};
  memory::dims outputDims = {d.batch, d.out_channels};
  memory::dims filterDims = {d.out_channels, d.in_channels};
  if (d.groups != 1)
    filterDims = {d.groups, d.out_channels / d.groups,
                  d.in_channels / d.groups};
  for (int64_t i = 0; i < d.spatial_rank; ++i) {
    inputDims.push_back(d.in[i]);
    outputDims.push_back(d.out[i]);
    filterDims.push_back(d.kernel[i]);
    strides.push_back(d.stride[i]);
    dilations.push_back(d.dilation[i] - 1);
    padLow.push_back(d.pad_low[i]);
    padHigh.push_back(d.pad_high[i]);
  }
  memory::data_type type = getDnnlType(d.type);
  auto plain = [&](const memory::dims &dims, bool channelsLast,
                   int64_t channelDim = 1) {
    std::vector<size_t> order(dims.size());
    std::iota(order.begin(), order.end(), 0);
    auto channel = order.begin() + channelDim;
    if (channelsLast)
      std::rotate(channel, channel + 1, order.end());
    return memory::desc(dims, type, getStrides(dims, order));
  };
  auto any = [&](const memory::dims &dims) {
    return memory::desc(dims, type, memory::format_tag::any);
  };
  input = plain(inputDims, d.channels_last);
  output = plain(outputDims, d.channels_last);
  filter = plain(filterDims, d.filter_channels_last,
                 /*channelDim=*/d.groups != 1 ? 2 : 1);
  // The library has good kernels for channels that come last.
  inputAny = d.channels_last ? input : any(inputDims);
  outputAny = d.channels_last ? output : any(outputDims);
  filterAny = any(filterDims);
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
}

/// Whether an implementation multiplies on tile units, if there are any and
/// its operands have 16 bits. The library was built without the GEMM kernels
/// that some of its other implementations call, which are slow without them.
static bool isWorthCalling(const ingot_conv_desc &desc,
                           const dnnl::primitive_desc_base &primitive) {
  return desc.type == INGOT_F32 || !hasTileUnits() ||
         std::string_view(primitive.impl_info_str()).find("amx") !=
             std::string_view::npos;
}

/// Returns a call without a primitive if it is not worth calling.
static std::unique_ptr<DnnlCall> build(const ingot_conv_desc &desc,
                                       ConvKind kind) {
  useAllThreads();
  Description d(desc);
  auto call = std::make_unique<DnnlCall>();
  dnnl::convolution_forward::primitive_desc forward = d.getForward();
  if (kind == ConvKind::Forward) {
    if (!isWorthCalling(desc, forward))
      return call;
    call->addInput(DNNL_ARG_SRC, d.input, forward.src_desc());
    call->addInput(DNNL_ARG_WEIGHTS, d.filter, forward.weights_desc());
    call->addOutput(DNNL_ARG_DST, d.output, forward.dst_desc());
    call->setPrimitive(dnnl::convolution_forward(forward),
                       forward.scratchpad_desc());
    return call;
  }
  if (kind == ConvKind::InputGrad) {
    dnnl::convolution_backward_data::primitive_desc backward(
        getDnnlEngine(), dnnl::algorithm::convolution_direct, d.inputAny,
        d.filterAny, d.outputAny, d.strides, d.dilations, d.padLow, d.padHigh,
        forward, d.attributes);
    if (!isWorthCalling(desc, backward))
      return call;
    call->addInput(DNNL_ARG_DIFF_DST, d.output, backward.diff_dst_desc());
    call->addInput(DNNL_ARG_WEIGHTS, d.filter, backward.weights_desc());
    call->addOutput(DNNL_ARG_DIFF_SRC, d.input, backward.diff_src_desc());
    call->setPrimitive(dnnl::convolution_backward_data(backward),
                       backward.scratchpad_desc());
    return call;
  }
  dnnl::convolution_backward_weights::primitive_desc backward(
      getDnnlEngine(), dnnl::algorithm::convolution_direct, d.inputAny,
      d.filterAny, d.outputAny, d.strides, d.dilations, d.padLow, d.padHigh,
      forward, d.attributes);
  if (!isWorthCalling(desc, backward))
    return call;
  call->addInput(DNNL_ARG_DIFF_DST, d.output, backward.diff_dst_desc());
  call->addInput(DNNL_ARG_SRC, d.input, backward.src_desc());
  call->addOutput(DNNL_ARG_DIFF_WEIGHTS, d.filter,
                  backward.diff_weights_desc());
  call->setPrimitive(dnnl::convolution_backward_weights(backward),
                     backward.scratchpad_desc());
  return call;
}

bool ingot_vendor_convolve(ingot_context *context, const ingot_conv_desc *desc,
                           int32_t kind, const void *first, const void *second,
                           void *result, void *scratch) {
  DnnlCall &call = context->getCached<DnnlCall>(
      desc, kind, [&] { return build(*desc, static_cast<ConvKind>(kind)); });
  if (!call.hasPrimitive())
    return false;
  call.run(context, {first, second, result}, scratch, desc->scratch_bytes);
  return true;
}
