// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A fake libcublasLt (Fakes.h).
//
//===----------------------------------------------------------------------===//

#include "test/fakes/cuda/Fakes.h"
#include "test/fakes/cuda/numbers/MatmulCall.h"

#include <cublasLt.h>
#include <map>
#include <optional>
#include <set>
#include <unistd.h>
#include <utility>

using fakes::fails;
using fakes::record;

namespace {
struct Layout {
  cudaDataType type;
  unsigned long long rows, columns;
  long long leading;
  std::map<int, long long> attributes;
};
struct Product {
  std::map<int, long long> attributes;
  cublasComputeType_t compute = CUBLAS_COMPUTE_32F;
};
std::set<const void *> living;
constexpr int algorithms = 3;
/// A, B, C and D, and the alignments that algorithms are chosen for.
constexpr int matrices = 4;
constexpr cublasLtMatmulPreferenceAttributes_t alignments[matrices] = {
    CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES,
    CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
    CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES,
    CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES};

template <typename Made, typename Handle> cublasStatus_t make(Handle *handle) {
  auto *made = new Made{};
  living.insert(made);
  *handle = reinterpret_cast<Handle>(made);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t destroy(const void *handle) {
  bool lived = living.erase(handle) != 0;
  if (!lived)
    record("violation", " an object of cuBLASLt is destroyed twice");
  return lived ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}
const Layout &get(cublasLtMatrixLayout_t layout) {
  return *reinterpret_cast<const Layout *>(layout);
}
long long getAttribute(cublasLtMatmulDesc_t product, int name) {
  auto &attributes = reinterpret_cast<Product *>(product)->attributes;
  auto found = attributes.find(name);
  return found == attributes.end() ? 0 : found->second;
}
int getEpilogue(cublasLtMatmulDesc_t product) {
  auto set =
      static_cast<int>(getAttribute(product, CUBLASLT_MATMUL_DESC_EPILOGUE));
  return set == 0 ? CUBLASLT_EPILOGUE_DEFAULT : set;
}

std::optional<fakes::Element> getElement(cudaDataType type) {
  switch (type) {
  case CUDA_R_64F:
    return fakes::Element::F64;
  case CUDA_R_32F:
    return fakes::Element::F32;
  case CUDA_R_16BF:
    return fakes::Element::BF16;
  case CUDA_R_16F:
    return fakes::Element::F16;
  case CUDA_R_8F_E4M3:
    return fakes::Element::F8E4M3;
  case CUDA_R_8F_E5M2:
    return fakes::Element::F8E5M2;
  default:
    return std::nullopt;
  }
}

bool isFloat8(cudaDataType type) {
  return type == CUDA_R_8F_E4M3 || type == CUDA_R_8F_E5M2;
}

/// Whether cublasLtMatmul's table of types has the combination.
bool isSupported(cublasComputeType_t compute, cudaDataType a, cudaDataType b,
                 cudaDataType c) {
  bool isHalf = a == CUDA_R_16BF || a == CUDA_R_16F;
  if (isFloat8(a) && isFloat8(b))
    return compute == CUBLAS_COMPUTE_32F &&
           (a == CUDA_R_8F_E4M3 || b == CUDA_R_8F_E4M3) &&
           (c == CUDA_R_16BF || c == CUDA_R_16F || c == CUDA_R_32F);
  if (a != b)
    return false;
  if (compute == CUBLAS_COMPUTE_64F)
    return a == CUDA_R_64F && c == CUDA_R_64F;
  if (compute == CUBLAS_COMPUTE_32F)
    return isHalf ? c == a || c == CUDA_R_32F
                  : a == CUDA_R_32F && c == CUDA_R_32F;
  return compute == CUBLAS_COMPUTE_32F_FAST_TF32 && a == CUDA_R_32F &&
         c == CUDA_R_32F;
}

fakes::Matrix makeMatrix(const Layout &layout, const void *data) {
  auto get = [&](int name, long long standard) {
    auto found = layout.attributes.find(name);
    return found == layout.attributes.end() ? standard : found->second;
  };
  return {data,
          *getElement(layout.type),
          static_cast<int64_t>(layout.rows),
          static_cast<int64_t>(layout.columns),
          layout.leading,
          get(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, 0)};
}

/// Whether the GPU has all that a matrix names.
void checkPlace(const fakes::Matrix &matrix, int64_t batch, const char *name) {
  auto isOnDevice =
      fakes::findInDriver<fakes::IsOnDevice>("ingotFakeIsOnDevice");
  if (isOnDevice && !isOnDevice(matrix.data, matrix.getBytes(batch)))
    record("violation", " cublasLtMatmul: %s is not on the GPU", name);
}

/// Checks the rules of the library for matmuls of 8-bit floats:
/// "cublasLtMatmul()" and "Narrow Precision Data Types Usage".
void checkFloat8(const fakes::MatmulCall &call) {
  auto violate = [](const char *what) {
    record("violation", " cublasLtMatmul of 8-bit floats: %s", what);
  };
  constexpr long ada = 89, hopper = 90, blackwell = 100, smallBlackwell = 120;
  long arch = fakes::getSetting("INGOT_FAKE_ARCH", hopper);
  if (arch < ada)
    violate("the GPU has none");
  if ((arch < blackwell || arch >= smallBlackwell) &&
      (!call.transposesA || call.transposesB))
    violate("not in the format TN");
  int64_t k = call.transposesA ? call.a.rows : call.a.columns;
  for (int64_t size : {call.d.rows, call.d.columns, k})
    if (size % 16 != 0)
      violate("sizes");
  for (const void *data : {call.a.data, call.b.data, call.c.data,
                           static_cast<const void *>(call.d.data)})
    if (reinterpret_cast<uintptr_t>(data) % 16 != 0)
      violate("alignment");
  auto a = call.aScales.mode, b = call.bScales.mode;
  auto isSquares = [](auto mode) {
    return mode == CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F;
  };
  auto isRuns = [&](auto mode) {
    return mode == CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F || isSquares(mode);
  };
  if (a != b && !(isRuns(a) && isRuns(b)))
    violate("scale modes of A and B");
  if (isSquares(a) && isSquares(b))
    violate("squares of A and of B");
  if (isRuns(a) && arch != hopper)
    violate("scale mode of another GPU");
  if (a == CUBLASLT_MATMUL_MATRIX_SCALE_VEC32_UE8M0 && arch < blackwell)
    violate("scale mode of another GPU");
  auto isOnDevice =
      fakes::findInDriver<fakes::IsOnDevice>("ingotFakeIsOnDevice");
  for (auto [scales, rows] : {std::pair(&call.aScales, call.d.rows),
                              {&call.bScales, call.d.columns}}) {
    bool isScalar = scales->mode == CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F;
    if (!scales->data) {
      if (!isScalar)
        violate("no scales");
      continue;
    }
    if (isOnDevice && !isOnDevice(scales->data, scales->getBytes(rows, k)))
      violate("scales are not on the GPU");
    if (!isScalar && reinterpret_cast<uintptr_t>(scales->data) % 16 != 0)
      violate("alignment of scales");
  }
}

/// Whether the library has the epilogue for 8-bit floats: not those of
/// gradients.
bool hasFloat8Epilogue(int epilogue) {
  constexpr int gradients =
      (CUBLASLT_EPILOGUE_DRELU | CUBLASLT_EPILOGUE_DGELU |
       CUBLASLT_EPILOGUE_DRELU_BGRAD | CUBLASLT_EPILOGUE_BGRADA |
       CUBLASLT_EPILOGUE_BGRADB) &
      ~128;
  return (epilogue & gradients) == 0;
}

/// The library's rules for what epilogues read and write beside the result.
void checkEpilogue(cublasLtMatmulDesc_t product, const Layout &c,
                   const void *result, bool narrow) {
  constexpr int sumsOperand =
      CUBLASLT_EPILOGUE_BGRADA | CUBLASLT_EPILOGUE_BGRADB;
  constexpr int sums =
      sumsOperand | (CUBLASLT_EPILOGUE_DRELU_BGRAD & ~CUBLASLT_EPILOGUE_DRELU);
  constexpr int hasBias = CUBLASLT_EPILOGUE_BIAS | sums, hasAux = 128;
  constexpr int isRelu = CUBLASLT_EPILOGUE_RELU | CUBLASLT_EPILOGUE_DRELU;
  auto get = [&](int name) { return getAttribute(product, name); };
  int epilogue = getEpilogue(product);
  long long bias = get(CUBLASLT_MATMUL_DESC_BIAS_POINTER);
  // With an f32 result, the bias of 8-bit floats is in bf16.
  cudaDataType biasType = narrow && c.type == CUDA_R_32F ? CUDA_R_16BF : c.type;
  if ((epilogue & hasBias) != 0 &&
      (bias == 0 || get(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE) != biasType))
    record("violation", " cublasLtMatmul: bias");
  // What is summed up goes where nothing else is.
  auto first = reinterpret_cast<long long>(result);
  auto bytes = static_cast<long long>(
      c.rows * c.columns * (c.type == CUDA_R_32F ? sizeof(float) : 2));
  if ((epilogue & sums) != 0 && bias >= first && bias < first + bytes)
    record("violation", " cublasLtMatmul: a bias's gradient in the result");
  auto batch = c.attributes.find(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT);
  if ((epilogue & sums) != 0 && batch != c.attributes.end() &&
      batch->second != 1)
    record("violation",
           " cublasLtMatmul: a bias's gradient of several products");
  // Signs are bits.
  int multiple = (epilogue & isRelu & ~hasAux) != 0 ? 128 : 8;
  long long leading = get(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD);
  if ((epilogue & hasAux) != 0 &&
      (!get(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER) ||
       leading < static_cast<long long>(c.rows) || leading % multiple != 0))
    record("violation", " cublasLtMatmul: auxiliary matrix");
}
} // namespace

extern "C" {

cublasStatus_t cublasLtCreate(cublasLtHandle_t *handle) {
  fakes::Turn turn;
  if (record(__func__))
    return CUBLAS_STATUS_NOT_INITIALIZED;
  return make<char>(handle);
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  fakes::Turn turn;
  destroy(handle);
  record(__func__, " objects=%zu", living.size());
  return CUBLAS_STATUS_SUCCESS;
}
const char *cublasLtGetStatusString(cublasStatus_t) {
  return "as the test wants";
}
size_t cublasLtGetVersion() {
  return fakes::getSetting("INGOT_FAKE_BLASLT_VERSION", 130000);
}
cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *product,
                                        cublasComputeType_t compute,
                                        cudaDataType_t) {
  fakes::Turn turn;
  if (fails(__func__))
    return CUBLAS_STATUS_INTERNAL_ERROR;
  record(__func__, " compute=%d", static_cast<int>(compute));
  make<Product>(product);
  reinterpret_cast<Product *>(*product)->compute = compute;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t product) {
  fakes::Turn turn;
  return destroy(product);
}
cublasStatus_t
cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t product,
                               cublasLtMatmulDescAttributes_t name,
                               const void *value, size_t bytes) {
  fakes::Turn turn;
  if (fails(__func__))
    return CUBLAS_STATUS_INTERNAL_ERROR;
  long long number = 0;
  std::memcpy(&number, value, bytes);
  constexpr size_t firstWithModes = 120800;
  if ((name == CUBLASLT_MATMUL_DESC_A_SCALE_MODE ||
       name == CUBLASLT_MATMUL_DESC_B_SCALE_MODE) &&
      cublasLtGetVersion() < firstWithModes)
    return CUBLAS_STATUS_INVALID_VALUE;
  reinterpret_cast<Product *>(product)->attributes[name] = number;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *layout,
                                          cudaDataType type, uint64_t rows,
                                          uint64_t columns, int64_t leading) {
  fakes::Turn turn;
  if (fails(__func__))
    return CUBLAS_STATUS_INTERNAL_ERROR;
  make<Layout>(layout);
  *reinterpret_cast<Layout *>(*layout) = {type, rows, columns, leading, {}};
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  fakes::Turn turn;
  return destroy(layout);
}
cublasStatus_t
cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                 cublasLtMatrixLayoutAttribute_t name,
                                 const void *value, size_t bytes) {
  fakes::Turn turn;
  if (fails(__func__))
    return CUBLAS_STATUS_INTERNAL_ERROR;
  long long number = 0;
  std::memcpy(&number, value, bytes);
  reinterpret_cast<Layout *>(layout)->attributes[name] = number;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t
cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *preference) {
  fakes::Turn turn;
  if (fails(__func__))
    return CUBLAS_STATUS_INTERNAL_ERROR;
  return make<Product>(preference);
}
cublasStatus_t
cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  fakes::Turn turn;
  return destroy(preference);
}
cublasStatus_t
cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                     cublasLtMatmulPreferenceAttributes_t name,
                                     const void *value, size_t bytes) {
  fakes::Turn turn;
  if (fails(__func__))
    return CUBLAS_STATUS_INTERNAL_ERROR;
  long long number = 0;
  std::memcpy(&number, value, bytes);
  reinterpret_cast<Product *>(preference)->attributes[name] = number;
  return CUBLAS_STATUS_SUCCESS;
}
/// Algorithms 1 to 3, as many as are asked for, each for the alignments of the
/// preference.
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(
    cublasLtHandle_t, cublasLtMatmulDesc_t product, cublasLtMatrixLayout_t a,
    cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
    cublasLtMatmulPreference_t preference, int most,
    cublasLtMatmulHeuristicResult_t *results, int *found) {
  fakes::Turn turn;
  *found = 0;
  if (record(__func__))
    return CUBLAS_STATUS_SUCCESS;
  bool isPlain = getEpilogue(product) == CUBLASLT_EPILOGUE_DEFAULT;
  if (!isPlain && fakes::getSetting("INGOT_FAKE_NO_EPILOGUES", 0) == 1)
    return CUBLAS_STATUS_SUCCESS;
  if (isFloat8(get(a).type) && !hasFloat8Epilogue(getEpilogue(product)))
    return CUBLAS_STATUS_SUCCESS;
  for (; *found < most && *found < algorithms; ++*found) {
    results[*found] = {};
    results[*found].algo.data[0] = *found + 1;
    for (int i = 0; i < matrices; ++i)
      results[*found].algo.data[1 + i] =
          reinterpret_cast<Product *>(preference)->attributes[alignments[i]];
  }
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t
cublasLtMatmulAlgoCheck(cublasLtHandle_t, cublasLtMatmulDesc_t,
                        cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                        cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                        const cublasLtMatmulAlgo_t *algorithm,
                        cublasLtMatmulHeuristicResult_t *result) {
  fakes::Turn turn;
  if (fails(__func__))
    return CUBLAS_STATUS_INTERNAL_ERROR;
  record(__func__);
  *result = {};
  bool isKnown = algorithm->data[0] >= 1 && algorithm->data[0] <= algorithms;
  return isKnown ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}

/// Checks that the shapes fit each other, in the library's terms.
cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t product,
                              const void *alpha, const void *aData,
                              cublasLtMatrixLayout_t aLayout, const void *bData,
                              cublasLtMatrixLayout_t bLayout, const void *beta,
                              const void *cData, cublasLtMatrixLayout_t cLayout,
                              void *result, cublasLtMatrixLayout_t,
                              const cublasLtMatmulAlgo_t *algorithm,
                              void *workspace, size_t workspaceBytes,
                              cudaStream_t stream) {
  fakes::Turn turn;
  if (long slow = fakes::getSetting("INGOT_FAKE_SLOW", 0))
    usleep(slow * 1000);
  const Layout &a = get(aLayout), &b = get(bLayout), &c = get(cLayout);
  bool transposesA =
      getAttribute(product, CUBLASLT_MATMUL_DESC_TRANSA) == CUBLAS_OP_T;
  bool transposesB =
      getAttribute(product, CUBLASLT_MATMUL_DESC_TRANSB) == CUBLAS_OP_T;
  auto m = transposesA ? a.columns : a.rows,
       k = transposesA ? a.rows : a.columns;
  auto n = transposesB ? b.rows : b.columns;
  auto inner = transposesB ? b.columns : b.rows;
  bool fits = m == c.rows && n == c.columns && k == inner &&
              a.leading == static_cast<long long>(a.rows) &&
              b.leading == static_cast<long long>(b.rows) &&
              c.leading == static_cast<long long>(c.rows);
  if (!fits)
    record("violation", " cublasLtMatmul: shapes");
  if (workspaceBytes != 0 &&
      (!workspace || reinterpret_cast<uintptr_t>(workspace) % 256 != 0))
    record("violation", " cublasLtMatmul: workspace");
  const void *addresses[matrices] = {aData, bData, cData, result};
  for (int i = 0; i < matrices; ++i)
    if (auto alignment = algorithm->data[1 + i];
        alignment == 0 ||
        reinterpret_cast<uintptr_t>(addresses[i]) % alignment != 0)
      record("violation", " cublasLtMatmul: alignment of matrix %d", i);
  bool narrow = isFloat8(a.type);
  checkEpilogue(product, c, result, narrow);
  if (getEpilogue(product) != CUBLASLT_EPILOGUE_DEFAULT &&
      fakes::getSetting("INGOT_FAKE_NO_EPILOGUES", 0) == 2) {
    record("refused", " %s", __func__);
    return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  bool accumulates =
      c.type != CUDA_R_64F && *static_cast<const float *>(beta) != 0;
  if (!isSupported(reinterpret_cast<Product *>(product)->compute, a.type,
                   b.type, c.type))
    record("violation", " cublasLtMatmul: types");
  if (record(__func__,
             " m=%llu n=%llu k=%llu type=%d epilogue=%d beta=%d algorithm=%d "
             "fast=%lld on=%lld operands=%d,%d",
             m, n, k, c.type, getEpilogue(product), accumulates,
             static_cast<int>(algorithm->data[0]),
             getAttribute(product, CUBLASLT_MATMUL_DESC_FAST_ACCUM),
             getAttribute(product, CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET),
             a.type, b.type))
    return fakes::lacksMemory() ? CUBLAS_STATUS_ALLOC_FAILED
                                : CUBLAS_STATUS_EXECUTION_FAILED;
  fakes::MatmulCall call{makeMatrix(a, aData), makeMatrix(b, bData),
                         makeMatrix(c, cData), makeMatrix(c, result)};
  auto batch = c.attributes.find(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT);
  call.batch = batch == c.attributes.end() ? 1 : batch->second;
  for (auto [matrix, name] : {std::pair(&call.a, "A"),
                              {&call.b, "B"},
                              {&call.c, "C"},
                              {&call.d, "D"}})
    checkPlace(*matrix, call.batch, name);
  call.transposesA = transposesA;
  call.transposesB = transposesB;
  auto getScales = [&](int pointer, int mode) {
    return fakes::Scales{
        reinterpret_cast<const void *>(getAttribute(product, pointer)),
        static_cast<cublasLtMatmulMatrixScale_t>(getAttribute(product, mode))};
  };
  call.aScales = getScales(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER,
                           CUBLASLT_MATMUL_DESC_A_SCALE_MODE);
  call.bScales = getScales(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER,
                           CUBLASLT_MATMUL_DESC_B_SCALE_MODE);
  if (narrow)
    checkFloat8(call);
  else if (call.aScales.data || call.bScales.data)
    record("violation", " cublasLtMatmul: scales of wide matrices");
  if (!fakes::computes())
    return CUBLAS_STATUS_SUCCESS;
  bool isDouble = c.type == CUDA_R_64F;
  auto scale = [&](const void *factor) {
    return isDouble ? *static_cast<const double *>(factor)
                    : *static_cast<const float *>(factor);
  };
  call.roundsToTF32 = reinterpret_cast<Product *>(product)->compute ==
                      CUBLAS_COMPUTE_32F_FAST_TF32;
  call.alpha = scale(alpha);
  call.beta = scale(beta);
  call.epilogue = static_cast<cublasLtEpilogue_t>(getEpilogue(product));
  auto attribute = [&](int name) { return getAttribute(product, name); };
  call.bias =
      reinterpret_cast<void *>(attribute(CUBLASLT_MATMUL_DESC_BIAS_POINTER));
  // The type of the result unless it is set, which is checked.
  call.biasElement =
      *getElement(narrow && c.type == CUDA_R_32F ? CUDA_R_16BF : c.type);
  call.biasStride = attribute(CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE);
  call.auxiliary = reinterpret_cast<void *>(
      attribute(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER));
  call.auxiliaryLeading = attribute(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD);
  call.auxiliaryStride =
      attribute(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE);
  fakes::submitWork(stream, [call, workspace, workspaceBytes] {
    auto note = [](const void *place, size_t bytes, bool isWritten) {
      fakes::noteAccess("cublasLtMatmul", place, bytes, isWritten);
    };
    fakes::forEachAccess(call, note);
    note(workspace, workspaceBytes, /*isWritten=*/true);
    // Nothing may be kept there.
    if (workspace)
      std::memset(workspace, 0xa7, std::min<size_t>(workspaceBytes, 1 << 16));
    fakes::compute(call);
    return true;
  });
  return CUBLAS_STATUS_SUCCESS;
}

} // extern "C"
