// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// ingot_attention and ingot_attention_grad (Abi.h).
//
//===----------------------------------------------------------------------===//

#include "runtime/abi/Abi.h"
#include "runtime/core/Context.h"
#include "runtime/cpu/attention/FlashAttention.h"
#include "runtime/cpu/gemm/RunGemm.h"
#include "runtime/cpu/threads/ThreadPool.h"
#include "runtime/cpu/vectors/TileUnits.h"

#include <stdexcept>

using namespace ingot::runtime;

namespace {

/// Makes views of operands whose strides are in elements.
class RowsOf {
public:
  explicit RowsOf(const ingot_attention_desc &desc)
      : bytes(gemm::getElementBytes(desc.type)) {}

  ReadRows operator()(const void *data, const int64_t (&strides)[3]) const {
    return view(static_cast<const char *>(data), strides);
  }
  WrittenRows operator()(void *data, const int64_t (&strides)[3]) const {
    return view(static_cast<char *>(data), strides);
  }

private:
  template <typename T>
  HeadsView<T> view(T *data, const int64_t (&strides)[3]) const {
    return {data, strides[0] * bytes, strides[2] * bytes, strides[1] * bytes};
  }

  int64_t bytes;
};

} // namespace

template <typename T>
static HeadsView<const T> pairs(const void *data, const int64_t (&strides)[3]) {
  return {static_cast<const T *>(data), strides[0], strides[1], strides[2]};
}

static AttentionShape shapeOf(const ingot_attention_desc &d, const float *bias,
                              const void *mask, const int32_t *lengths,
                              const int64_t *seed, const int64_t *step) {
  if (d.type == INGOT_F64)
    throw std::invalid_argument("elements must be f32, bf16 or f16");
  return {d.batch,
          d.heads,
          d.key_heads,
          d.queries,
          d.keys,
          d.size,
          d.value_size,
          static_cast<float>(d.scale),
          d.left,
          d.right,
          pairs<float>(bias, d.bias_strides),
          pairs<unsigned char>(mask, d.mask_strides),
          d.type,
          d.math != INGOT_MATH_EXACT && hasTileUnits(),
          lengths,
          seed ? Dropout(d.ratio, *seed, *step, d.stream) : Dropout()};
}

void ingot_attention(ingot_context *context, const ingot_attention_desc *desc,
                     const void *query, const void *key, const void *value,
                     const float *bias, const void *mask,
                     const int32_t *lengths, const int64_t *seed,
                     const int64_t *step, void *result, float *lse,
                     void *scratch) {
  ProfileScope scope(context, desc->index);
  guardLibraryCall(context, "attention", [&] {
    AttentionShape shape = shapeOf(*desc, bias, mask, lengths, seed, step);
    RowsOf rows(*desc);
    size_t bytes = flashAttentionScratch(shape) * getThreadCount();
    flashAttention(
        shape, rows(query, desc->query_strides), rows(key, desc->key_strides),
        rows(value, desc->value_strides), rows(result, desc->result_strides),
        lse, context->getScratch(bytes, scratch, desc->scratch_bytes));
  });
}

void ingot_attention_grad(
    ingot_context *context, const ingot_attention_desc *desc, const void *query,
    const void *key, const void *value, const void *output, const float *lse,
    const void *cotangent, const float *bias, const void *mask,
    const int32_t *lengths, const int64_t *seed, const int64_t *step,
    void *query_grad, void *key_grad, void *value_grad, void *scratch) {
  ProfileScope scope(context, desc->index);
  guardLibraryCall(context, "attention gradient", [&] {
    AttentionShape shape = shapeOf(*desc, bias, mask, lengths, seed, step);
    RowsOf rows(*desc);
    size_t bytes = flashAttentionScratch(shape) * getThreadCount();
    size_t perQuery = desc->batch * desc->heads * desc->queries * sizeof(float);
    char *memory =
        context->getScratch(bytes + perQuery, scratch, desc->scratch_bytes);
    flashAttentionGrad(
        shape, rows(query, desc->query_strides), rows(key, desc->key_strides),
        rows(value, desc->value_strides), rows(output, desc->result_strides),
        lse, rows(cotangent, desc->result_strides),
        rows(query_grad, desc->query_strides),
        rows(key_grad, desc->key_strides),
        rows(value_grad, desc->value_strides),
        reinterpret_cast<float *>(memory + bytes), memory);
  });
}
