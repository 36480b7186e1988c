// SPDX-License-Identifier: Apache-2.0

#include "runtime/cpu/ThreadPool.h"
#include "runtime/cpu/VendorLibrary.h"
#include "runtime/cpu/onednn/DnnlCall.h"

#include <memory>

using namespace ingot::runtime;
using dnnl::memory;

/// A [batch, rows, columns] matrix, stored transposed or not.
static memory::desc describe(int64_t batch, int64_t rows, int64_t columns,
                             int32_t type, bool transposed) {
  memory::dims strides = transposed ? memory::dims{rows * columns, 1, rows}
                                    : memory::dims{rows * columns, columns, 1};
  memory::dims dims = {batch, rows, columns};
  if (batch == 1) {
    dims.erase(dims.begin());
    strides.erase(strides.begin());
  }
  return memory::desc(dims, getDnnlType(type), strides);
}

static std::unique_ptr<DnnlCall> build(const ingot_matmul_desc &d) {
  // An f32 result of 16-bit operands is the library's own accumulator.
  int32_t type = vendor::getComputeType(d.a_type);
  int32_t resultType = type == d.a_type ? d.c_type : INGOT_F32;
  memory::desc a = describe(d.batch, d.m, d.k, type, d.transpose_a);
  memory::desc b = describe(d.batch, d.k, d.n, type, d.transpose_b);
  memory::desc c = describe(d.batch, d.m, d.n, resultType, false);
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  dnnl::matmul::primitive_desc primitive(getDnnlEngine(), a, b, c, attributes);
  auto call = std::make_unique<DnnlCall>();
  call->addInput(DNNL_ARG_SRC, d.a_type, a, primitive.src_desc());
  call->addInput(DNNL_ARG_WEIGHTS, d.b_type, b, primitive.weights_desc());
  call->addOutput(DNNL_ARG_DST, d.c_type, c, primitive.dst_desc());
  call->setPrimitive(dnnl::matmul(primitive), primitive.scratchpad_desc());
  return call;
}

void vendor::multiply(ingot_context *context, const ingot_matmul_desc &desc,
                      const void *a, const void *b, void *c, void *scratch) {
  SingleThread one(desc.batch * desc.m * desc.n * desc.k <= kSmallCall);
  context->getCached<DnnlCall>(&desc, /*kind=*/0, [&] { return build(desc); })
      .run(context, {a, b, c}, scratch, desc.scratch_bytes);
}
