#include "runtime/cuda/BlasLt.h"

#include "runtime/core/Error.h"

using namespace ingot::runtime;

BlasLt::BlasLt()
    : library("libcublasLt.so." + std::to_string(CUBLAS_VER_MAJOR),
              "install CUDA's libraries, or have LD_LIBRARY_PATH name their "
              "folder") {
#define INGOT_LOAD(name) library.load(name, #name);
  INGOT_BLASLT_FUNCTIONS(INGOT_LOAD)
#undef INGOT_LOAD
  check(cublasLtCreate(&handle), "starting cuBLASLt");
}

BlasLt::~BlasLt() {
  if (handle)
    (void)cublasLtDestroy(handle);
}

void BlasLt::check(cublasStatus_t status, const char *action) const {
  if (status != CUBLAS_STATUS_SUCCESS)
    throw failure("cuBLASLt",
                  std::string(action) + ": " + cublasLtGetStatusString(status),
                  "check the GPU with nvidia-smi");
}

/// A product with its algorithm.
struct BlasLt::Plan : ingot_context::Cached {
  explicit Plan(const BlasLt &blas) : blas(blas) {}
  ~Plan() override {
    for (cublasLtMatrixLayout_t layout : {a, b, c})
      if (layout)
        (void)blas.cublasLtMatrixLayoutDestroy(layout);
    if (product)
      (void)blas.cublasLtMatmulDescDestroy(product);
  }

  const BlasLt &blas;
  cublasLtMatmulDesc_t product = nullptr;
  cublasLtMatrixLayout_t a = nullptr, b = nullptr, c = nullptr;
  cublasLtMatmulAlgo_t algorithm = {};
  bool isDouble = false;
};

static cudaDataType_t getDataType(int32_t type) {
  switch (type) {
  case INGOT_F64:
    return CUDA_R_64F;
  case INGOT_BF16:
    return CUDA_R_16BF;
  case INGOT_F16:
    return CUDA_R_16F;
  default:
    return CUDA_R_32F;
  }
}

// The library's matrices are column-major: a row-major matrix is the transpose
// of one, and c^T = b^T a^T.
std::unique_ptr<BlasLt::Plan> BlasLt::plan(const ingot_matmul_desc &desc) {
  auto plan = std::make_unique<Plan>(*this);
  plan->isDouble = desc.c_type == INGOT_F64;
  // Full f32: what users compare with has TF32 off.
  check(cublasLtMatmulDescCreate(&plan->product,
                                 plan->isDouble ? CUBLAS_COMPUTE_64F
                                                : CUBLAS_COMPUTE_32F,
                                 plan->isDouble ? CUDA_R_64F : CUDA_R_32F),
        "describing a product");
  auto transpose = [&](cublasLtMatmulDescAttributes_t which, bool is) {
    cublasOperation_t operation = is ? CUBLAS_OP_T : CUBLAS_OP_N;
    check(cublasLtMatmulDescSetAttribute(plan->product, which, &operation,
                                         sizeof(operation)),
          "describing a product");
  };
  transpose(CUBLASLT_MATMUL_DESC_TRANSA, desc.transpose_b);
  transpose(CUBLASLT_MATMUL_DESC_TRANSB, desc.transpose_a);

  auto lay = [&](cublasLtMatrixLayout_t &layout, int32_t type, int64_t rows,
                 int64_t columns) {
    check(cublasLtMatrixLayoutCreate(&layout, getDataType(type), columns, rows,
                                     columns),
          "describing a matrix");
    int32_t batch = static_cast<int32_t>(desc.batch);
    int64_t stride = rows * columns;
    check(cublasLtMatrixLayoutSetAttribute(layout,
                                           CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT,
                                           &batch, sizeof(batch)),
          "describing a matrix");
    check(cublasLtMatrixLayoutSetAttribute(
              layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride,
              sizeof(stride)),
          "describing a matrix");
  };
  if (desc.transpose_b)
    lay(plan->a, desc.b_type, desc.n, desc.k);
  else
    lay(plan->a, desc.b_type, desc.k, desc.n);
  if (desc.transpose_a)
    lay(plan->b, desc.a_type, desc.k, desc.m);
  else
    lay(plan->b, desc.a_type, desc.m, desc.k);
  lay(plan->c, desc.c_type, desc.m, desc.n);

  cublasLtMatmulPreference_t preference = nullptr;
  check(cublasLtMatmulPreferenceCreate(&preference), "choosing an algorithm");
  auto prefer = [&](cublasLtMatmulPreferenceAttributes_t what, auto value) {
    return cublasLtMatmulPreferenceSetAttribute(preference, what, &value,
                                                sizeof(value));
  };
  uint64_t workspace = desc.scratch_bytes;
  uint32_t alignment = INGOT_ALIGNMENT;
  cublasStatus_t status =
      prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, workspace);
  for (auto which : {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES,
                     CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
                     CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES,
                     CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
    if (status == CUBLAS_STATUS_SUCCESS)
      status = prefer(which, alignment);
  cublasLtMatmulHeuristicResult_t best = {};
  int found = 0;
  if (status == CUBLAS_STATUS_SUCCESS)
    status = cublasLtMatmulAlgoGetHeuristic(handle, plan->product, plan->a,
                                            plan->b, plan->c, plan->c,
                                            preference, 1, &best, &found);
  (void)cublasLtMatmulPreferenceDestroy(preference);
  check(status, "choosing an algorithm");
  check(found == 0 ? CUBLAS_STATUS_NOT_SUPPORTED : best.state,
        "choosing an algorithm");
  plan->algorithm = best.algo;
  return plan;
}

void BlasLt::multiply(ingot_context &context, const ingot_matmul_desc &desc,
                      const void *a, const void *b, void *c, void *scratch,
                      CUstream_st *stream) {
  const Plan &plan = context.getCached<Plan>(&desc, /*kind=*/0,
                                             [&] { return this->plan(desc); });
  const double one = 1, zero = 0;
  const float oneF32 = 1, zeroF32 = 0;
  const void *alpha = &oneF32, *beta = &zeroF32;
  if (plan.isDouble) {
    alpha = &one;
    beta = &zero;
  }
  check(cublasLtMatmul(handle, plan.product, alpha, b, plan.a, a, plan.b, beta,
                       c, plan.c, c, plan.c, &plan.algorithm, scratch,
                       desc.scratch_bytes, stream),
        "multiplying matrices");
}
