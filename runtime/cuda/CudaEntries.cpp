// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The entry points of Abi.h on a GPU.
//
//===----------------------------------------------------------------------===//

#include "runtime/abi/Epilogue.h"
#include "runtime/comm/Communicator.h"
#include "runtime/core/DType.h"
#include "runtime/core/Error.h"
#include "runtime/cuda/CudaDevice.h"
#include "runtime/cuda/libraries/BlasLt.h"
#include "runtime/cuda/libraries/Dnn.h"
#include "runtime/cuda/libraries/DnnAttention.h"

#include <utility>

using namespace ingot::runtime;

/// Runs `body(device)` as one call of the step. Calls enqueue their work.
template <typename Body>
static void enqueue(ingot_context *context, const char *name, int64_t kernel,
                    Body body, bool isExchange = false) {
  auto &device = static_cast<CudaDevice &>(*context->device);
  device.guard(*context, name, [&] {
    CudaDevice::Call call(device, *context, kernel, isExchange);
    body(device);
  });
}

char *const *ingot_shards(ingot_context *context) {
  return context->shards.data();
}

void ingot_launch_grid(ingot_context *context, const ingot_grid_kernel *kernel,
                       void *const *buffers) {
  enqueue(context, kernel->name, kernel->index, [&](CudaDevice &device) {
    device.launch(*context, *kernel, buffers);
  });
}

static int64_t countBytes(const ingot_matmul_desc &desc) {
  return desc.batch * desc.m * desc.n * getSize(getDType(desc.c_type));
}

static void multiply(CudaDevice &device, ingot_context &context,
                     const ingot_matmul_desc &desc,
                     const BlasLt::Factors &factors, void *c, void *scratch) {
  if (desc.k == 0)
    return device.clear(c, countBytes(desc));
  device.getBlasLt().multiply(context, desc, factors, c, scratch);
}

void ingot_matmul(ingot_context *context, const ingot_matmul_desc *desc,
                  const void *a, const void *b, const void *a_scales,
                  const void *b_scales, void *c, void *scratch) {
  enqueue(context, "matmul", desc->index, [&](CudaDevice &device) {
    if (countBytes(*desc) != 0)
      multiply(device, *context, *desc, {a, b, a_scales, b_scales}, c, scratch);
  });
}

void ingot_matmul_grid(ingot_context *context,
                       const ingot_matmul_grid_desc *desc, const void *a,
                       const void *b, void *const *buffers) {
  enqueue(context, "matmul", desc->matmul.index,
          [&](CudaDevice &device) { device.launch(*desc, a, b, buffers); });
}

void ingot_matmul_epilogue_grid(ingot_context *context,
                                const ingot_matmul_epilogue_grid_desc *desc,
                                const void *a, const void *b,
                                const void *a_scales, const void *b_scales,
                                void *c, void *scratch, void *const *buffers) {
  const ingot_matmul_desc &matmul = desc->matmul;
  BlasLt::Factors factors = {a, b, a_scales, b_scales};
  enqueue(context, "matmul", matmul.index, [&](CudaDevice &device) {
    if (countBytes(matmul) == 0)
      return;
    auto separately = [&](bool tunesLaunches) {
      multiply(device, *context, matmul, factors, c, scratch);
      launchEpilogueKernels(
          *desc, buffers,
          [&](const ingot_grid_kernel &kernel, void *const *taken) {
            device.launch(*context, kernel, taken, tunesLaunches);
          });
    };
    bool isDone = matmul.k != 0 && device.getBlasLt().multiply(
                                       *context, *desc, factors, scratch,
                                       buffers, [&] { separately(false); });
    if (!isDone)
      separately(true);
  });
}

/// Computes one of a convolution's tensors from the others.
static void convolve(ingot_context *context, const ingot_conv_desc *desc,
                     ConvolutionResult result,
                     const ConvolutionTensors &tensors, void *scratch) {
  enqueue(context, "convolution", desc->index, [&](CudaDevice &device) {
    int64_t in = desc->batch * desc->in_channels;
    int64_t out = desc->batch * desc->out_channels;
    int64_t taps = desc->out_channels * (desc->in_channels / desc->groups);
    for (int64_t i = 0; i < desc->spatial_rank; ++i) {
      in *= desc->in[i];
      out *= desc->out[i];
      taps *= desc->kernel[i];
    }
    // The library refuses sums without terms.
    if (in == 0 || out == 0 || taps == 0) {
      auto [written, elements] = result == ConvolutionResult::Output
                                     ? std::pair(tensors.output, out)
                                 : result == ConvolutionResult::InputGrad
                                     ? std::pair(tensors.input, in)
                                     : std::pair(tensors.filter, taps);
      if (elements != 0)
        device.clear(const_cast<void *>(written),
                     elements * getSize(getDType(desc->type)));
      for (const void *sums : {tensors.sums, tensors.squares})
        if (sums && desc->out_channels != 0)
          device.clear(const_cast<void *>(sums),
                       desc->out_channels * sizeof(float));
      return;
    }
    device.getDnn().convolve(*desc, result, tensors, scratch);
  });
}

void ingot_conv(ingot_context *context, const ingot_conv_desc *desc,
                const void *input, const void *filter, void *output,
                void *scratch) {
  convolve(context, desc, ConvolutionResult::Output, {input, filter, output},
           scratch);
}

void ingot_conv_input_grad(ingot_context *context, const ingot_conv_desc *desc,
                           const void *output_grad, const void *filter,
                           void *input_grad, void *scratch) {
  convolve(context, desc, ConvolutionResult::InputGrad,
           {input_grad, filter, output_grad}, scratch);
}

void ingot_conv_filter_grad(ingot_context *context, const ingot_conv_desc *desc,
                            const void *output_grad, const void *input,
                            void *filter_grad, void *scratch) {
  convolve(context, desc, ConvolutionResult::FilterGrad,
           {input, filter_grad, output_grad}, scratch);
}

void ingot_conv_statistics(ingot_context *context, const ingot_conv_desc *desc,
                           const void *input, const void *filter,
                           const void *scale, const void *shift, void *output,
                           float *sums, float *squares, void *scratch) {
  convolve(context, desc, ConvolutionResult::Output,
           {input, filter, output, scale, shift, sums, squares}, scratch);
}

void ingot_conv_scaled_filter_grad(ingot_context *context,
                                   const ingot_conv_desc *desc,
                                   const void *output_grad, const void *input,
                                   const void *scale, const void *shift,
                                   void *filter_grad, void *scratch) {
  convolve(context, desc, ConvolutionResult::FilterGrad,
           {input, filter_grad, output_grad, scale, shift}, scratch);
}

// The compiler calls these for attention without a mask only.

void ingot_attention(ingot_context *context, const ingot_attention_desc *desc,
                     const void *query, const void *key, const void *value,
                     const float *bias, const void *, const int32_t *lengths,
                     const int64_t *seed, const int64_t *step, void *result,
                     float *lse, void *scratch) {
  enqueue(context, "attention", desc->index, [&](CudaDevice &device) {
    device.getAttention().forward(
        *context, *desc,
        {{query, key, value}, {bias, lengths, seed, step}, result, lse},
        scratch);
  });
}

void ingot_attention_grad(
    ingot_context *context, const ingot_attention_desc *desc, const void *query,
    const void *key, const void *value, const void *output, const float *lse,
    const void *cotangent, const float *bias, const void *,
    const int32_t *lengths, const int64_t *seed, const int64_t *step,
    void *query_grad, void *key_grad, void *value_grad, void *scratch) {
  enqueue(context, "attention", desc->index, [&](CudaDevice &device) {
    device.getAttention().backward(*context, *desc,
                                   {{query, key, value},
                                    {bias, lengths, seed, step},
                                    output,
                                    lse,
                                    cotangent,
                                    query_grad,
                                    key_grad,
                                    value_grad},
                                   scratch);
  });
}

static bool isAlone(const ingot_context *context) {
  return !context->ranks ||
         !static_cast<CudaDevice &>(*context->device).exchanges();
}

/// Runs `body(nccl, stream)` if there are several ranks. Failures keep their
/// hints.
template <typename Desc, typename Body>
static void exchange(ingot_context *context, const char *name, const Desc &desc,
                     Body body) {
  if (isAlone(context))
    return;
  enqueue(
      context, name, desc.index,
      [&](CudaDevice &device) {
        try {
          Nccl &nccl = device.getNccl(*context->ranks);
          if (std::string note = nccl.takeNote(); !note.empty())
            context->notes.push_back(note);
          body(nccl, device.getStream());
        } catch (const Error &error) {
          context->fail(error);
        }
      },
      /*isExchange=*/true);
}

using Start = void (Nccl::*)(const Nccl::Bucket &, CUstream);

static Nccl::Bucket getBucket(const ingot_bucket_desc &desc, void *data) {
  return {data,        desc.elements, desc.type,
          desc.number, desc.axes,     desc.reduction};
}

static void startBucket(ingot_context *context, const char *name,
                        const ingot_bucket_desc &desc, void *bucket,
                        Start start) {
  exchange(context, name, desc, [&](Nccl &nccl, CUstream stream) {
    (nccl.*start)(getBucket(desc, bucket), stream);
  });
}

template <typename Desc>
static void waitForBucket(ingot_context *context, const char *name,
                          const Desc &desc) {
  exchange(context, name, desc, [&](Nccl &nccl, CUstream stream) {
    nccl.join(desc.number, stream);
  });
}

void ingot_all_reduce_start(ingot_context *context,
                            const ingot_bucket_desc *desc, void *bucket) {
  startBucket(context, "all-reduce", *desc, bucket, &Nccl::startAllReduce);
}

void ingot_all_reduce_wait(ingot_context *context,
                           const ingot_bucket_desc *desc, void *) {
  waitForBucket(context, "all-reduce", *desc);
}

void ingot_gather_messages_start(ingot_context *context,
                                 const ingot_message_desc *desc,
                                 const void *message, void *messages) {
  constexpr const char *name = "all-gather of payloads";
  if (isAlone(context))
    return enqueue(context, name, desc->index, [&](CudaDevice &device) {
      device.copy(messages, message, desc->bytes);
    });
  exchange(context, name, *desc, [&](Nccl &nccl, CUstream stream) {
    nccl.startGather(message, messages, desc->bytes, desc->number, desc->axes,
                     stream);
  });
}

void ingot_gather_messages_wait(ingot_context *context,
                                const ingot_message_desc *desc, void *) {
  waitForBucket(context, "all-gather of payloads", *desc);
}

void ingot_reduce_scatter_start(ingot_context *context,
                                const ingot_bucket_desc *desc, void *bucket) {
  startBucket(context, "reduce-scatter", *desc, bucket,
              &Nccl::startReduceScatter);
}

void ingot_reduce_scatter_wait(ingot_context *context,
                               const ingot_bucket_desc *desc, void *) {
  waitForBucket(context, "reduce-scatter", *desc);
}

void ingot_all_gather_start(ingot_context *context,
                            const ingot_bucket_desc *desc, void *bucket) {
  if (!desc->deferred)
    return startBucket(context, "all-gather", *desc, bucket,
                       &Nccl::startAllGather);
  exchange(context, "all-gather", *desc,
           [&](Nccl &nccl, CUstream) { nccl.defer(getBucket(*desc, bucket)); });
}

void ingot_all_gather_wait(ingot_context *context,
                           const ingot_bucket_desc *desc, void *) {
  waitForBucket(context, "all-gather", *desc);
}

using Exchange = void (Nccl::*)(const void *, void *,
                                const ingot_exchange_desc &, CUstream);

/// Exchanges a tensor within the group of a descriptor; alone, a rank has its
/// own elements.
static void exchangeTensor(ingot_context *context, const char *name,
                           const ingot_exchange_desc &desc, const void *input,
                           void *result, Exchange run) {
  if (isAlone(context) || desc.ranks == 1)
    return enqueue(context, name, desc.index, [&](CudaDevice &device) {
      device.copy(result, input, desc.elements * getSize(getDType(desc.type)));
    });
  exchange(context, name, desc, [&](Nccl &nccl, CUstream stream) {
    (nccl.*run)(input, result, desc, stream);
  });
}

void ingot_all_reduce(ingot_context *context, const ingot_exchange_desc *desc,
                      const void *input, void *result) {
  exchangeTensor(context, "all-reduce", *desc, input, result, &Nccl::allReduce);
}

void ingot_all_gather(ingot_context *context, const ingot_exchange_desc *desc,
                      const void *input, void *result) {
  exchangeTensor(context, "all-gather", *desc, input, result, &Nccl::allGather);
}

void ingot_reduce_scatter(ingot_context *context,
                          const ingot_exchange_desc *desc, const void *input,
                          void *result) {
  exchangeTensor(context, "reduce-scatter", *desc, input, result,
                 &Nccl::reduceScatter);
}

void ingot_all_to_all(ingot_context *context, const ingot_exchange_desc *desc,
                      const void *input, void *result) {
  exchangeTensor(context, "all-to-all", *desc, input, result, &Nccl::allToAll);
}

/// Runs `body(sides)` where regions run concurrently with other calls.
template <typename Body>
static void changeStream(ingot_context *context, Body body) {
  guardLibraryCall(context, "streams", [&] {
    auto &device = static_cast<CudaDevice &>(*context->device);
    if (SideStream *sides = device.getSides())
      body(*sides);
  });
}

/// Tells the device that a region begins or ends, recorded or not.
static void setBeside(ingot_context *context, bool is) {
  static_cast<CudaDevice &>(*context->device).setBeside(is);
}

void ingot_side_start(ingot_context *context, const ingot_side_desc *desc) {
  setBeside(context, true);
  changeStream(context, [&](SideStream &sides) { sides.start(desc->number); });
}

void ingot_side_end(ingot_context *context, const ingot_side_desc *desc) {
  setBeside(context, false);
  changeStream(context, [&](SideStream &sides) { sides.end(desc->number); });
}

void ingot_side_wait(ingot_context *context, const ingot_side_desc *desc) {
  changeStream(context, [&](SideStream &sides) { sides.wait(desc->number); });
}

void ingot_copy(ingot_context *context, const ingot_copy_desc *desc,
                const void *from, void *to) {
  int64_t size = desc->element_bytes;
  ElementRange range = getElements(context, desc, desc->bytes / size);
  enqueue(context, "copy", desc->index, [&](CudaDevice &device) {
    if (range.getCount() != 0)
      device.copy(static_cast<char *>(to) + range.begin * size,
                  static_cast<const char *>(from) + range.begin * size,
                  range.getCount() * size);
  });
}

bool ingot::runtime::canRun(const Manifest &) { return true; }

std::unique_ptr<Device> ingot::runtime::openDevice(const ingot_module_t &module,
                                                   const Manifest &manifest,
                                                   int64_t ranks) {
  manifest.checkTarget("cuda");
  return std::make_unique<CudaDevice>(module, manifest, ranks);
}
