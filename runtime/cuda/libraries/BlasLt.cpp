// SPDX-License-Identifier: Apache-2.0

#include "runtime/cuda/libraries/BlasLt.h"

#include "runtime/abi/Align.h"
#include "runtime/core/DType.h"
#include "runtime/core/Error.h"
#include "runtime/cuda/driver/Switches.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>

using namespace ingot::runtime;
namespace abi = ingot::abi;

BlasLt::BlasLt(const Driver &driver, CUstream stream, Tuner *tuner)
    : library(Library::ofToolkit("libcublasLt", driver.getMajor())),
      stream(stream), tuner(tuner) {
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
                  status == CUBLAS_STATUS_ALLOC_FAILED
                      ? kMemoryHint
                      : "check the GPU with nvidia-smi");
}

/// A matmul with its algorithm.
struct BlasLt::Plan : ingot_context::Cached {
  explicit Plan(const BlasLt &blas) : blas(blas) {}
  ~Plan() override {
    for (cublasLtMatrixLayout_t layout : {a, b, c})
      if (layout)
        (void)blas.cublasLtMatrixLayoutDestroy(layout);
    if (matmul)
      (void)blas.cublasLtMatmulDescDestroy(matmul);
  }

  const BlasLt &blas;
  cublasLtMatmulDesc_t matmul = nullptr;
  cublasLtMatrixLayout_t a = nullptr, b = nullptr, c = nullptr;
  cublasLtMatmulAlgo_t algorithm = {};
  cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  bool isDouble = false, isSupported = false;
  /// A text that distinguishes the matmul from others of its shape.
  std::string variant;
  /// The addresses of a bias and of auxiliary data.
  std::vector<const void *> vectors;
};

static cudaDataType_t getDataType(int32_t type) {
  if (type == INGOT_F8E4M3)
    return CUDA_R_8F_E4M3;
  if (type == INGOT_F8E5M2)
    return CUDA_R_8F_E5M2;
  DType dtype = getDType(type);
  switch (dtype) {
  case DType::F64:
    return CUDA_R_64F;
  case DType::F32:
    return CUDA_R_32F;
  case DType::BF16:
    return CUDA_R_16BF;
  case DType::F16:
    return CUDA_R_16F;
  default:
    throw std::invalid_argument("cuBLASLt does not take elements of type " +
                                std::string(getName(dtype)));
  }
}

// The library's matrices are column-major. A row-major matrix is the transpose
// of a column-major one, and c^T = b^T a^T.
std::unique_ptr<BlasLt::Plan> BlasLt::describe(const ingot_matmul_desc &desc,
                                               const Factors &factors) const {
  auto plan = std::make_unique<Plan>(*this);
  plan->isDouble = desc.c_type == INGOT_F64;
  check(cublasLtMatmulDescCreate(&plan->matmul,
                                 plan->isDouble ? CUBLAS_COMPUTE_64F
                                 : desc.math == INGOT_MATH_TF32
                                     ? CUBLAS_COMPUTE_32F_FAST_TF32
                                     : CUBLAS_COMPUTE_32F,
                                 plan->isDouble ? CUDA_R_64F : CUDA_R_32F),
        "describing a matmul");
  auto transpose = [&](cublasLtMatmulDescAttributes_t which, bool is) {
    cublasOperation_t operation = is ? CUBLAS_OP_T : CUBLAS_OP_N;
    check(cublasLtMatmulDescSetAttribute(plan->matmul, which, &operation,
                                         sizeof(operation)),
          "describing a matmul");
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
  describeScales(*plan, desc, factors);
  describeSwitches(*plan, desc);
  return plan;
}

static int32_t getScaleMode(int32_t scaling) {
  switch (scaling) {
  case INGOT_SCALE_RUNS:
    return CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F;
  case INGOT_SCALE_SQUARES:
    return CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F;
  case INGOT_SCALE_TILES:
    return CUBLASLT_MATMUL_MATRIX_SCALE_VEC32_UE8M0;
  default:
    return CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F;
  }
}

// The library's A is b, and its B is a.
void BlasLt::describeScales(Plan &plan, const ingot_matmul_desc &desc,
                            const Factors &factors) const {
  auto set = [&](cublasLtMatmulDescAttributes_t which, auto value) {
    check(cublasLtMatmulDescSetAttribute(plan.matmul, which, &value,
                                         sizeof(value)),
          "describing scales");
  };
  // A scale for the whole matrix is the default, and versions before 12.8 have
  // no attribute for others.
  auto setMode = [&](cublasLtMatmulDescAttributes_t which, int32_t scaling) {
    int32_t mode = getScaleMode(scaling);
    if (mode != CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F)
      set(which, mode);
  };
  if (factors.bScales) {
    setMode(CUBLASLT_MATMUL_DESC_A_SCALE_MODE, desc.b_scaling);
    set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, factors.bScales);
  }
  if (factors.aScales) {
    setMode(CUBLASLT_MATMUL_DESC_B_SCALE_MODE, desc.a_scaling);
    set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, factors.aScales);
  }
}

void BlasLt::describeSwitches(Plan &plan, const ingot_matmul_desc &desc) const {
  auto set = [&](cublasLtMatmulDescAttributes_t which, auto value) {
    check(cublasLtMatmulDescSetAttribute(plan.matmul, which, &value,
                                         sizeof(value)),
          "describing a matmul");
  };
  const Switches &switches = getSwitches();
  using Accumulation = Switches::Accumulation;
  auto isFloat8 = [](int32_t type) {
    return type == INGOT_F8E4M3 || type == INGOT_F8E5M2;
  };
  bool isForward = desc.a_type == INGOT_F8E4M3 && desc.b_type == INGOT_F8E4M3;
  if (isFloat8(desc.a_type) && isFloat8(desc.b_type) &&
      (switches.accumulation == Accumulation::Fast ||
       (switches.accumulation == Accumulation::FastForward && isForward))) {
    set(CUBLASLT_MATMUL_DESC_FAST_ACCUM, int8_t(1));
    plan.variant += " fast";
  }
  if (isBeside && switches.sideMultiprocessors != 0) {
    set(CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET,
        int32_t(switches.sideMultiprocessors));
    plan.variant += " on " + std::to_string(switches.sideMultiprocessors);
  }
}

static cublasLtEpilogue_t
getEpilogue(const ingot_matmul_epilogue_grid_desc &desc) {
  bool hasBias = desc.bias >= 0, sums = desc.bias_grad >= 0;
  switch (desc.activation) {
  case INGOT_RELU:
    return hasBias ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_RELU;
  case INGOT_GELU:
    if (desc.auxiliary >= 0)
      return hasBias ? CUBLASLT_EPILOGUE_GELU_AUX_BIAS
                     : CUBLASLT_EPILOGUE_GELU_AUX;
    return hasBias ? CUBLASLT_EPILOGUE_GELU_BIAS : CUBLASLT_EPILOGUE_GELU;
  case INGOT_GELU_GRAD:
    return sums ? CUBLASLT_EPILOGUE_DGELU_BGRAD : CUBLASLT_EPILOGUE_DGELU;
  case INGOT_RELU_GRAD:
    return sums ? CUBLASLT_EPILOGUE_DRELU_BGRAD : CUBLASLT_EPILOGUE_DRELU;
  default:
    // The operands are exchanged.
    if (sums)
      return desc.summed == INGOT_SUM_OF_A ? CUBLASLT_EPILOGUE_BGRADB
                                           : CUBLASLT_EPILOGUE_BGRADA;
    return hasBias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
  }
}

// Addresses do not change from one step to the next. They belong to the
// description, because their alignment matters for the choice of an algorithm.
void BlasLt::describe(Plan &plan, const ingot_matmul_epilogue_grid_desc &desc,
                      void *const *buffers) const {
  auto set = [&](cublasLtMatmulDescAttributes_t which, auto value) {
    check(cublasLtMatmulDescSetAttribute(plan.matmul, which, &value,
                                         sizeof(value)),
          "describing an epilogue");
  };
  plan.epilogue = getEpilogue(desc);
  set(CUBLASLT_MATMUL_DESC_EPILOGUE, plan.epilogue);
  if (int32_t bias = std::max(desc.bias, desc.bias_grad); bias >= 0) {
    plan.vectors.push_back(buffers[bias]);
    set(CUBLASLT_MATMUL_DESC_BIAS_POINTER,
        static_cast<const void *>(buffers[bias]));
    set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE,
        static_cast<int32_t>(getDataType(desc.matmul.c_type)));
  }
  if (desc.auxiliary >= 0) {
    plan.vectors.push_back(buffers[desc.auxiliary]);
    set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, buffers[desc.auxiliary]);
    int64_t unit = desc.activation == INGOT_RELU_GRAD ? INGOT_SIGN_BITS : 1;
    int64_t row = abi::alignTo(desc.matmul.n, unit);
    set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, row);
    set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE, desc.matmul.m * row);
  }
}

/// Whether the library says that it has no such matmul. With some epilogues it
/// reports sizes that it does not have as invalid values.
static bool isRefusal(cublasStatus_t status, cublasLtEpilogue_t epilogue) {
  return status == CUBLAS_STATUS_NOT_SUPPORTED ||
         (status == CUBLAS_STATUS_INVALID_VALUE &&
          epilogue != CUBLASLT_EPILOGUE_DEFAULT);
}

/// Returns the alignment of an address, as far as it matters to the library.
static uint32_t getAlignment(const void *address) {
  constexpr uintptr_t most = 256;
  auto bits = reinterpret_cast<uintptr_t>(address) | most;
  return static_cast<uint32_t>(bits & -bits);
}

/// The addresses of the library's matrices A, B, C and D.
static std::array<const void *, 4> listMatrices(const BlasLt::Factors &factors,
                                                const void *addend,
                                                const void *result) {
  return {factors.b, factors.a, addend ? addend : result, result};
}

std::vector<cublasLtMatmulAlgo_t>
BlasLt::listAlgorithms(const Plan &plan, const ingot_matmul_desc &desc,
                       const Operands &operands) const {
  cublasLtMatmulPreference_t preference = nullptr;
  check(cublasLtMatmulPreferenceCreate(&preference), "choosing an algorithm");
  auto prefer = [&](cublasLtMatmulPreferenceAttributes_t what, auto value) {
    return cublasLtMatmulPreferenceSetAttribute(preference, what, &value,
                                                sizeof(value));
  };
  uint64_t workspace = desc.scratch_bytes;
  cublasStatus_t status =
      prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, workspace);
  // Addresses do not change from one step to the next.
  constexpr cublasLtMatmulPreferenceAttributes_t alignments[] = {
      CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES,
      CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
      CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES,
      CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES};
  auto matrices =
      listMatrices(operands.factors, operands.addend, operands.result);
  for (size_t i = 0; i < matrices.size(); ++i)
    if (status == CUBLAS_STATUS_SUCCESS)
      status = prefer(alignments[i], getAlignment(matrices[i]));
  // The number of candidates bounds the time that --tune takes.
  int candidates = getSwitches().candidates;
  std::vector<cublasLtMatmulHeuristicResult_t> results(tuner ? candidates : 1);
  int found = 0;
  if (status == CUBLAS_STATUS_SUCCESS)
    status = cublasLtMatmulAlgoGetHeuristic(
        handle, plan.matmul, plan.a, plan.b, plan.c, plan.c, preference,
        static_cast<int>(results.size()), results.data(), &found);
  (void)cublasLtMatmulPreferenceDestroy(preference);
  if (status == CUBLAS_STATUS_SUCCESS)
    status = found == 0 ? CUBLAS_STATUS_NOT_SUPPORTED : results.front().state;
  if (isRefusal(status, plan.epilogue))
    return {};
  check(status, "choosing an algorithm");
  std::vector<cublasLtMatmulAlgo_t> algorithms;
  for (int i = 0; i < found; ++i)
    if (results[i].state == CUBLAS_STATUS_SUCCESS)
      algorithms.push_back(results[i].algo);
  return algorithms;
}

/// The numbers of a matmul that the choice of an algorithm depends on.
static std::string describeMatmul(const ingot_matmul_desc &desc,
                                  cublasLtEpilogue_t epilogue,
                                  bool accumulates) {
  std::string text;
  for (int64_t number :
       {desc.batch, desc.m, desc.n, desc.k, int64_t(desc.transpose_a),
        int64_t(desc.transpose_b), int64_t(desc.a_type), int64_t(desc.b_type),
        int64_t(desc.c_type), int64_t(desc.math), int64_t(desc.a_scaling),
        int64_t(desc.b_scaling), desc.scratch_bytes, int64_t(epilogue),
        int64_t(accumulates)})
    text += (text.empty() ? "" : " ") + std::to_string(number);
  return text;
}

static std::string toHex(const cublasLtMatmulAlgo_t &algorithm) {
  std::string text;
  for (uint64_t word : algorithm.data) {
    char digits[17];
    std::snprintf(digits, sizeof(digits), "%016llx",
                  static_cast<unsigned long long>(word));
    text += digits;
  }
  return text;
}

static std::optional<cublasLtMatmulAlgo_t> fromHex(const std::string &text) {
  constexpr size_t digits = 16;
  cublasLtMatmulAlgo_t algorithm = {};
  size_t words = sizeof(algorithm.data) / sizeof(algorithm.data[0]);
  if (text.size() != words * digits ||
      text.find_first_not_of("0123456789abcdef") != std::string::npos)
    return std::nullopt;
  for (size_t i = 0; i < words; ++i)
    algorithm.data[i] =
        std::strtoull(text.substr(i * digits, digits).c_str(), nullptr, 16);
  return algorithm;
}

std::string BlasLt::describeKind(const Plan &plan,
                                 const ingot_matmul_desc &desc,
                                 const Operands &operands) const {
  std::string text =
      "by cuBLASLt " + std::to_string(cublasLtGetVersion()) + ": " +
      describeMatmul(desc, plan.epilogue, operands.addend != nullptr);
  for (const void *matrix :
       listMatrices(operands.factors, operands.addend, operands.result))
    text += " " + std::to_string(getAlignment(matrix));
  for (const void *vector : plan.vectors)
    text += " " + std::to_string(getAlignment(vector));
  return text + plan.variant;
}

BlasLt::Choice &BlasLt::chooseAlgorithm(Plan &plan,
                                        const ingot_matmul_desc &desc,
                                        const Operands &operands) {
  std::string kind = describeKind(plan, desc, operands);
  auto [found, isNew] = choices.try_emplace(kind);
  Choice &choice = found->second;
  if (isNew && tuner)
    choice.algorithm = findKept(plan, desc, "matmul " + kind);
  if (isNew && !choice.algorithm) {
    std::vector<cublasLtMatmulAlgo_t> algorithms =
        listAlgorithms(plan, desc, operands);
    if (!algorithms.empty())
      choice.algorithm = algorithms.front();
    if (tuner && choice.algorithm) {
      auto fastest = measure(plan, algorithms, operands, "matmul " + kind);
      if (fastest)
        choice.algorithm = fastest;
      tuner->keep("matmul " + kind, toHex(*choice.algorithm),
                  fastest.has_value());
    }
  }
  plan.isSupported = choice.algorithm.has_value();
  if (plan.isSupported)
    plan.algorithm = *choice.algorithm;
  return choice;
}

std::optional<cublasLtMatmulAlgo_t>
BlasLt::findKept(const Plan &plan, const ingot_matmul_desc &desc,
                 const std::string &key) const {
  std::optional<cublasLtMatmulAlgo_t> kept =
      fromHex(tuner->find(key).value_or(""));
  cublasLtMatmulHeuristicResult_t result = {};
  bool isKnown = kept && cublasLtMatmulAlgoCheck(
                             handle, plan.matmul, plan.a, plan.b, plan.c,
                             plan.c, &*kept, &result) == CUBLAS_STATUS_SUCCESS;
  if (!isKnown ||
      result.workspaceSize > static_cast<size_t>(desc.scratch_bytes))
    return std::nullopt;
  return kept;
}

std::optional<cublasLtMatmulAlgo_t>
BlasLt::measure(Plan &plan, const std::vector<cublasLtMatmulAlgo_t> &algorithms,
                const Operands &operands, const std::string &key) {
  // Repeated runs are safe, because inputs are not overwritten.
  Tuner::Search search(*tuner, key);
  std::optional<size_t> fastest = search.findFastest(
      algorithms.size(),
      [&](size_t i) {
        plan.algorithm = algorithms[i];
        return run(plan, operands) == CUBLAS_STATUS_SUCCESS;
      },
      [&](size_t i) { return toHex(algorithms[i]); });
  return fastest ? std::optional(algorithms[*fastest]) : std::nullopt;
}

bool BlasLt::isFasterApart(const Plan &plan, const ingot_matmul_desc &desc,
                           const Operands &operands,
                           const std::function<void()> &separately) const {
  std::string key = "epilogue " + describeKind(plan, desc, operands);
  const char *names[] = {"library", "kernels"};
  std::string kept = tuner->find(key).value_or("");
  if (kept == names[0] || kept == names[1])
    return kept == names[1];
  Tuner::Search search(*tuner, key);
  std::optional<size_t> fastest = search.findFastest(
      2,
      [&](size_t i) {
        if (i == 0)
          return run(plan, operands) == CUBLAS_STATUS_SUCCESS;
        separately();
        return true;
      },
      [&](size_t i) { return std::string(names[i]); });
  size_t choice = fastest.value_or(0);
  tuner->keep(key, names[choice], fastest.has_value());
  return choice == 1;
}

cublasStatus_t BlasLt::run(const Plan &plan, const Operands &operands) const {
  const double one = 1, zero = 0;
  const float oneF32 = 1, zeroF32 = 0;
  bool accumulates = operands.addend != nullptr;
  const void *alpha = &oneF32, *beta = accumulates ? &oneF32 : &zeroF32;
  if (plan.isDouble) {
    alpha = &one;
    beta = accumulates ? &one : &zero;
  }
  return cublasLtMatmul(handle, plan.matmul, alpha, operands.factors.b, plan.a,
                        operands.factors.a, plan.b, beta,
                        accumulates ? operands.addend : operands.result, plan.c,
                        operands.result, plan.c, &plan.algorithm,
                        operands.scratch, operands.scratchBytes, stream);
}

void BlasLt::multiply(ingot_context &context, const ingot_matmul_desc &desc,
                      const Factors &factors, void *c, void *scratch) {
  Operands operands = {factors, /*addend=*/nullptr, c, scratch,
                       desc.scratch_bytes};
  const Plan &plan = context.getCached<Plan>(&desc, /*kind=*/0, [&] {
    auto made = describe(desc, factors);
    if (!chooseAlgorithm(*made, desc, operands).algorithm)
      check(CUBLAS_STATUS_NOT_SUPPORTED, "choosing an algorithm");
    return made;
  });
  check(run(plan, operands), "multiplying matrices");
}

/// Names the matmul as the compiler's report does.
static std::string describeLack(const ingot_matmul_epilogue_grid_desc &desc) {
  const ingot_matmul_desc &matmul = desc.matmul;
  std::string epilogue;
  if (desc.addend >= 0)
    epilogue += " and addend";
  if (desc.bias >= 0)
    epilogue += " and bias";
  switch (desc.activation) {
  case INGOT_RELU:
    epilogue += " and relu";
    break;
  case INGOT_GELU:
    epilogue += " and gelu";
    break;
  case INGOT_GELU_GRAD:
    epilogue += " and gelu's gradient";
    break;
  case INGOT_RELU_GRAD:
    epilogue += " and relu's gradient";
    break;
  default:
    break;
  }
  if (desc.bias_grad >= 0)
    epilogue += " and a bias's gradient";
  return "cuBLASLt has no matmul of " + std::to_string(matmul.m) + " x " +
         std::to_string(matmul.k) + " and " + std::to_string(matmul.k) + " x " +
         std::to_string(matmul.n) + " elements with" + epilogue.substr(4) +
         ": separate kernels apply the epilogue";
}

bool BlasLt::multiply(ingot_context &context,
                      const ingot_matmul_epilogue_grid_desc &desc,
                      const Factors &factors, void *scratch,
                      void *const *buffers,
                      const std::function<void()> &separately) {
  const ingot_matmul_desc &matmul = desc.matmul;
  if (desc.activation < 0)
    return false;
  Operands operands = {factors,
                       desc.addend >= 0 ? buffers[desc.addend] : nullptr,
                       buffers[desc.result], scratch, matmul.scratch_bytes};
  Plan &plan = context.getCached<Plan>(&desc, /*kind=*/1, [&] {
    auto made = describe(matmul, factors);
    describe(*made, desc, buffers);
    Choice &choice = chooseAlgorithm(*made, matmul, operands);
    if (!choice.algorithm) {
      context.notes.push_back(describeLack(desc));
    } else if (tuner) {
      if (!choice.isFasterApart)
        choice.isFasterApart =
            isFasterApart(*made, matmul, operands, separately);
      made->isSupported = !*choice.isFasterApart;
    }
    return made;
  });
  if (!plan.isSupported)
    return false;
  cublasStatus_t status = run(plan, operands);
  // An algorithm may refuse although the library proposed it.
  if (isRefusal(status, plan.epilogue)) {
    plan.isSupported = false;
    context.notes.push_back(describeLack(desc));
    return false;
  }
  check(status, "multiplying matrices");
  return true;
}
