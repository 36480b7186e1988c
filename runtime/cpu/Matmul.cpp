//===----------------------------------------------------------------------===//
//
// ingot_matmul (Abi.h): our own product for f32 where the processor has
// AVX-512, oneDNN for other processors and for half precision in hardware, and
// a plain loop for f64.
//
//===----------------------------------------------------------------------===//

#include "runtime/cpu/HalfPrecision.h"
#include "runtime/cpu/OneDnn.h"
#include "runtime/cpu/ThreadPool.h"
#include "runtime/cpu/gemm/Gemm.h"

#include <cstring>
#include <memory>

using namespace ingot::runtime;
using dnnl::memory;

static size_t alignUp(size_t bytes) {
  return (bytes + INGOT_ALIGNMENT - 1) / INGOT_ALIGNMENT * INGOT_ALIGNMENT;
}

static void matmulF64(const ingot_matmul_desc &d, const double *a,
                      const double *b, double *c) {
  int64_t aRow = d.transpose_a ? 1 : d.k, aInner = d.transpose_a ? d.m : 1;
  int64_t bInner = d.transpose_b ? 1 : d.n, bColumn = d.transpose_b ? d.k : 1;
  parallelFor(d.batch * d.m, /*grain=*/1, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const double *aRowData = a + row / d.m * d.m * d.k + row % d.m * aRow;
      const double *bData = b + row / d.m * d.k * d.n;
      for (int64_t column = 0; column < d.n; ++column) {
        double sum = 0;
        for (int64_t i = 0; i < d.k; ++i)
          sum += aRowData[i * aInner] * bData[i * bInner + column * bColumn];
        c[row * d.n + column] = sum;
      }
    }
  });
}

namespace {
/// What finishes the elements of a product.
struct Epilogue {
  ingot_epilogue_fn run = nullptr;
  void *const *buffers = nullptr;
};
} // namespace

/// Multiplies in f32; operands in half precision are converted. Returns whether
/// the epilogue has run.
static bool matmulF32(ingot_context *context, const ingot_matmul_desc &d,
                      const void *a, const void *b, void *c, void *planned,
                      Epilogue epilogue) {
  Gemm gemm = {d.batch,
               d.m,
               d.n,
               d.k,
               static_cast<const float *>(a),
               d.m * d.k,
               d.transpose_a ? 1 : d.k,
               d.transpose_a ? d.m : 1,
               static_cast<const float *>(b),
               d.k * d.n,
               d.transpose_b ? 1 : d.n,
               d.transpose_b ? d.k : 1,
               static_cast<float *>(c),
               d.m * d.n,
               d.n};
  size_t used = alignUp(getGemmScratchBytes(gemm));
  auto reserve = [&](int32_t type, int64_t elements) {
    size_t offset = used;
    if (type != INGOT_F32)
      used += alignUp(elements * sizeof(float));
    return offset;
  };
  int64_t aElements = d.batch * d.m * d.k, bElements = d.batch * d.k * d.n;
  int64_t cElements = d.batch * d.m * d.n;
  size_t aOffset = reserve(d.a_type, aElements);
  size_t bOffset = reserve(d.b_type, bElements);
  size_t cOffset = reserve(d.c_type, cElements);
  char *scratch = context->getScratch(used, planned, d.scratch_bytes);
  auto place = [&](size_t offset) {
    return reinterpret_cast<float *>(scratch + offset);
  };
  if (d.a_type != INGOT_F32) {
    convertToF32(a, d.a_type, place(aOffset), aElements);
    gemm.a = place(aOffset);
  }
  if (d.b_type != INGOT_F32) {
    convertToF32(b, d.b_type, place(bOffset), bElements);
    gemm.b = place(bOffset);
  }
  if (d.c_type == INGOT_F32) {
    gemm.epilogue = epilogue.run;
    gemm.buffers = epilogue.buffers;
    runGemm(gemm, scratch);
    return true;
  }
  gemm.c = place(cOffset);
  runGemm(gemm, scratch);
  convertFromF32(gemm.c, c, d.c_type, cElements);
  return false;
}

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
  // An f32 result of half precision is the library's own accumulator.
  int32_t type = getComputeType(d.a_type);
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

/// Returns whether the epilogue has run.
static bool multiply(ingot_context *context, const ingot_matmul_desc &desc,
                     const void *a, const void *b, void *c, void *scratch,
                     Epilogue epilogue) {
  if (desc.c_type == INGOT_F64) {
    matmulF64(desc, static_cast<const double *>(a),
              static_cast<const double *>(b), static_cast<double *>(c));
    return false;
  }
  if (desc.k == 0) {
    // A sum of no terms, which the library does not write.
    size_t size = memory::data_type_size(getDnnlType(desc.c_type));
    std::memset(c, 0, desc.batch * desc.m * desc.n * size);
    return false;
  }
  if (getComputeType(desc.a_type) == INGOT_F32 && canRunGemm())
    return matmulF32(context, desc, a, b, c, scratch, epilogue);
  context->getCached<DnnlCall>(&desc, /*kind=*/0, [&] { return build(desc); })
      .run(context, {a, b, c}, scratch, desc.scratch_bytes);
  return false;
}

static void matmul(ingot_context *context, const ingot_matmul_desc &desc,
                   const void *a, const void *b, void *c, void *scratch,
                   Epilogue epilogue) {
  ProfileScope scope(context, desc.index);
  guardLibraryCall(context, "matmul", [&] {
    int64_t rows = desc.batch * desc.m;
    if (rows == 0 || desc.n == 0)
      return;
    bool isFinished = multiply(context, desc, a, b, c, scratch, epilogue);
    if (!isFinished && epilogue.run)
      parallelFor(rows, /*grain=*/8, [&](int64_t begin, int64_t end) {
        epilogue.run(epilogue.buffers, begin, end, 0, desc.n);
      });
  });
}

void ingot_matmul(ingot_context *context, const ingot_matmul_desc *desc,
                  const void *a, const void *b, void *c, void *scratch) {
  matmul(context, *desc, a, b, c, scratch, {});
}

void ingot_matmul_epilogue(ingot_context *context,
                           const ingot_matmul_epilogue_desc *desc,
                           const void *a, const void *b, void *c, void *scratch,
                           void *const *buffers) {
  matmul(context, desc->matmul, a, b, c, scratch, {desc->epilogue, buffers});
}
