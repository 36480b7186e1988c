// SPDX-License-Identifier: Apache-2.0

#include "runtime/cuda/libraries/DnnAttention.h"

#include "runtime/core/Error.h"

#include <cstdlib>
#include <stdexcept>

#define NV_CUDNN_FRONTEND_USE_DYNAMIC_LOADING
#include <cudnn_frontend.h>

using namespace ingot::runtime;
namespace fe = cudnn_frontend;

// The handle by which the graph library finds cuDNN.
namespace cudnn_frontend {
void *cudnn_dlhandle = nullptr;
} // namespace cudnn_frontend

/// Lets the graph library load CUDA's runtime library by its name, unless the
/// user has named another. It reads the name from the environment, which is as
/// before afterwards.
static void loadGraphRuntime(const std::string &name) {
  constexpr const char *variable = "CUDNN_FRONTEND_CUDART_LIB_NAME";
  bool isNamed = std::getenv(variable);
  if (!isNamed)
    (void)setenv(variable, name.c_str(), /*overwrite=*/0);
  try {
    (void)fe::detail::get_cuda_symbol(fe::detail::CudaLibrary::CUDART,
                                      "cudaGetErrorString");
  } catch (const std::runtime_error &) {
    // Its first use says what is missing.
  }
  if (!isNamed)
    (void)unsetenv(variable);
}

DnnAttention::DnnAttention(const Dnn &dnn, const Driver &driver,
                           CUstream stream, bool isDeterministic)
    : dnn(dnn), driver(driver), stream(stream),
      isDeterministic(isDeterministic),
      cudart(Library::ofToolkit("libcudart", driver.getMajor())) {
  fe::cudnn_dlhandle = dnn.getLibrary().getHandle();
  loadGraphRuntime(cudart.getName());
}

struct DnnAttention::Plan {
  explicit Plan(const Driver &driver) : driver(driver) {}
  ~Plan() {
    for (CUdeviceptr block : {workspace, queryCounts})
      if (block)
        (void)driver.cuMemFree(block);
  }

  const Driver &driver;
  fe::graph::Graph graph;
  /// The algorithm's workspace, if it is larger than the planned scratch
  /// memory.
  CUdeviceptr workspace = 0;
  int64_t workspaceBytes = 0;
  /// The query sequence lengths, which the library requires with key sequence
  /// lengths: all queries of each sample.
  CUdeviceptr queryCounts = 0;
  std::vector<int32_t> hostCounts;
};

namespace {
/// The numbers of tensors in graphs.
enum Number : int64_t {
  kQuery = 1,
  kKey,
  kValue,
  kBias,
  kQueryCounts,
  kLengths,
  kSeed,
  kStep,
  kResult,
  kLse,
  kCotangent,
  kQueryGrad,
  kKeyGrad,
  kValueGrad,
};
} // namespace

/// The addresses of a call's tensors.
class DnnAttention::Pointers {
public:
  Pointers(const Inputs &inputs, const Terms &terms) {
    add(kQuery, inputs.query);
    add(kKey, inputs.key);
    add(kValue, inputs.value);
    add(kBias, terms.bias);
    add(kLengths, terms.lengths);
    add(kSeed, terms.seed);
    add(kStep, terms.step);
  }
  void add(Number number, const void *place) {
    if (place)
      places[number] = const_cast<void *>(place);
  }
  std::unordered_map<int64_t, void *> &get() { return places; }

private:
  std::unordered_map<int64_t, void *> places;
};

using Tensor = std::shared_ptr<fe::graph::Tensor_attributes>;

static void check(fe::error_t status, const char *action) {
  if (status.is_bad())
    throw failure("cuDNN", std::string(action) + ": " + status.get_message(),
                  "install a later cuDNN, or compile with --precision fp32");
}

/// Makes the attributes that the forward pass and the gradient have in common.
template <typename Attributes>
static Attributes makeAttributes(const ingot_attention_desc &desc) {
  Attributes attributes;
  attributes.set_name("attention")
      .set_attn_scale(static_cast<float>(desc.scale));
  if (desc.right >= 0)
    attributes.set_diagonal_alignment(fe::DiagonalAlignment_t::TOP_LEFT)
        .set_diagonal_band_right_bound(static_cast<int>(desc.right));
  // The library's left bound includes the diagonal.
  if (desc.left >= 0)
    attributes.set_diagonal_band_left_bound(static_cast<int>(desc.left + 1));
  return attributes;
}

namespace {

/// Describes an attention as a graph of the library, whose tensors are [batch,
/// heads, rows, columns].
class GraphBuilder {
public:
  GraphBuilder(fe::graph::Graph &graph, const ingot_attention_desc &desc,
               const DnnAttentionTerms &terms)
      : graph(graph), desc(desc), terms(terms) {
    graph
        .set_io_data_type(desc.type == INGOT_BF16 ? fe::DataType_t::BFLOAT16
                                                  : fe::DataType_t::HALF)
        .set_intermediate_data_type(fe::DataType_t::FLOAT)
        .set_compute_data_type(fe::DataType_t::FLOAT);
  }

  void addForward() {
    Tensor query = add(kQuery, getQuery()), key = add(kKey, getKey()),
           value = add(kValue, getValue());
    auto attributes = makeAttributes<fe::graph::SDPA_attributes>(desc);
    attributes.set_generate_stats(true);
    addTerms(attributes);
    auto [result, lse] = graph.sdpa(query, key, value, attributes);
    addOutput(kResult, result, getResult());
    addOutput(kLse, lse, getLse());
  }

  void addBackward(bool isDeterministic) {
    Tensor query = add(kQuery, getQuery()), key = add(kKey, getKey()),
           value = add(kValue, getValue());
    Tensor output = add(kResult, getResult()), lse = add(kLse, getLse());
    Tensor cotangent = add(kCotangent, getResult());
    auto attributes = makeAttributes<fe::graph::SDPA_backward_attributes>(desc);
    attributes.set_deterministic_algorithm(isDeterministic);
    addTerms(attributes);
    auto [queryGrad, keyGrad, valueGrad] = graph.sdpa_backward(
        query, key, value, output, cotangent, lse, attributes);
    addOutput(kQueryGrad, queryGrad, getQuery());
    addOutput(kKeyGrad, keyGrad, getKey());
    addOutput(kValueGrad, valueGrad, getValue());
  }

private:
  using Attributes = fe::graph::Tensor_attributes;

  /// Describes a tensor; `strides` are those of batch, row and head.
  static Attributes describe(int64_t batch, int64_t heads, int64_t rows,
                             int64_t columns, const int64_t *strides) {
    return Attributes()
        .set_dim({batch, heads, rows, columns})
        .set_stride({strides[0], strides[2], strides[1], 1});
  }
  Attributes getQuery() const {
    return describe(desc.batch, desc.heads, desc.queries, desc.size,
                    desc.query_strides);
  }
  Attributes getKey() const {
    return describe(desc.batch, desc.key_heads, desc.keys, desc.size,
                    desc.key_strides);
  }
  Attributes getValue() const {
    return describe(desc.batch, desc.key_heads, desc.keys, desc.value_size,
                    desc.value_strides);
  }
  Attributes getResult() const {
    return describe(desc.batch, desc.heads, desc.queries, desc.value_size,
                    desc.result_strides);
  }
  Attributes getLse() const {
    int64_t strides[] = {desc.heads * desc.queries, 1, desc.queries};
    return describe(desc.batch, desc.heads, desc.queries, 1, strides)
        .set_data_type(fe::DataType_t::FLOAT);
  }

  template <typename Operation> void addTerms(Operation &operation) {
    if (terms.bias)
      operation.set_bias(add(kBias, getBias()));
    if (terms.lengths)
      operation.set_padding_mask(true)
          .set_seq_len_q(add(kQueryCounts, getCounts()))
          .set_seq_len_kv(add(kLengths, getCounts()));
    if (terms.seed)
      operation.set_dropout(static_cast<float>(desc.ratio),
                            add(kSeed, getScalar()), add(kStep, getScalar()));
  }
  Attributes getBias() const {
    std::vector<int64_t> dims = {desc.batch, desc.heads, desc.queries,
                                 desc.keys};
    for (size_t i = 0; i < 3; ++i)
      if (desc.bias_strides[i] == 0)
        dims[i] = 1;
    std::vector<int64_t> strides = {dims[1] * dims[2] * dims[3],
                                    dims[2] * dims[3], dims[3], 1};
    return Attributes().set_dim(dims).set_stride(strides).set_data_type(
        fe::DataType_t::FLOAT);
  }
  Attributes getCounts() const {
    return Attributes()
        .set_dim({desc.batch, 1, 1, 1})
        .set_stride({1, 1, 1, 1})
        .set_data_type(fe::DataType_t::INT32);
  }
  static Attributes getScalar() {
    return Attributes()
        .set_dim({1, 1, 1, 1})
        .set_stride({1, 1, 1, 1})
        .set_data_type(fe::DataType_t::INT64);
  }

  Tensor add(Number number, Attributes attributes) {
    return graph.tensor(attributes.set_uid(number));
  }
  static void addOutput(Number number, const Tensor &tensor,
                        const Attributes &as) {
    tensor->set_output(true)
        .set_uid(number)
        .set_dim(as.get_dim())
        .set_stride(as.get_stride())
        .set_data_type(as.get_data_type());
  }

  fe::graph::Graph &graph;
  const ingot_attention_desc &desc;
  DnnAttentionTerms terms;
};

} // namespace

static void describe(fe::graph::Graph &graph, const ingot_attention_desc &desc,
                     const DnnAttentionTerms &terms, bool isGradient,
                     bool isDeterministic) {
  GraphBuilder builder(graph, desc, terms);
  if (isGradient)
    builder.addBackward(isDeterministic);
  else
    builder.addForward();
}

DnnAttention::~DnnAttention() = default;

std::unique_ptr<DnnAttention::Plan>
DnnAttention::plan(const ingot_attention_desc &desc,
                   const DnnAttentionTerms &terms, bool isGradient) const {
  auto plan = std::make_unique<Plan>(driver);
  describe(plan->graph, desc, terms, isGradient, isDeterministic);
  check(plan->graph.build(dnn.getHandle(), {fe::HeurMode_t::A}),
        "planning attention");
  int64_t bytes = 0;
  check(plan->graph.get_workspace_size(bytes), "planning attention");
  if (bytes > desc.scratch_bytes) {
    CUresult result = driver.cuMemAlloc(&plan->workspace, bytes);
    if (result == CUDA_ERROR_OUT_OF_MEMORY)
      throw failure("GPU memory",
                    "cuDNN's attention needs " + std::to_string(bytes) +
                        " bytes in addition to the planned ones",
                    "compile with a smaller --batch or --memory-budget, or "
                    "free memory of the GPU");
    driver.check(result, "allocating memory of the GPU for attention");
    plan->workspaceBytes = bytes;
  }
  if (terms.lengths) {
    plan->hostCounts.assign(desc.batch, static_cast<int32_t>(desc.queries));
    size_t size = desc.batch * sizeof(int32_t);
    driver.check(driver.cuMemAlloc(&plan->queryCounts, size),
                 "allocating memory of the GPU for attention");
    driver.check(driver.cuMemcpyHtoDAsync(
                     plan->queryCounts, plan->hostCounts.data(), size, stream),
                 "copying the query sequence lengths");
  }
  return plan;
}

std::string ingot::runtime::findAttentionProblem(
    const Library &cudnn, const ingot_attention_desc &desc,
    const DnnAttentionTerms &terms, bool isGradient, const std::string &device,
    int architecture) {
  fe::cudnn_dlhandle = cudnn.getHandle();
  auto properties = std::make_shared<fe::DeviceProperties>();
  check(properties->deserialize({device.begin(), device.end()}),
        "reading the properties of a GPU");
  fe::graph::Graph graph;
  graph.set_device_properties(properties).set_sm_version(architecture);
  describe(graph, desc, terms, isGradient, /*isDeterministic=*/true);
  fe::error_t status = graph.build({fe::HeurMode_t::A});
  // This failure means that kernels were chosen, and that there is no driver to
  // compile them.
  bool isChosen = status.get_message().find("libcuda") != std::string::npos;
  return status.is_good() || isChosen ? "" : status.get_message();
}

void DnnAttention::run(const Plan &plan, Pointers pointers,
                       void *scratch) const {
  pointers.add(kQueryCounts, reinterpret_cast<void *>(plan.queryCounts));
  void *workspace =
      plan.workspace ? reinterpret_cast<void *>(plan.workspace) : scratch;
  check(plan.graph.execute(dnn.getHandle(), pointers.get(), workspace),
        "computing attention");
}

/// Returns the operands without seed and step where the dropout ratio is 0.
static DnnAttention::Terms usedTerms(const ingot_attention_desc &desc,
                                     DnnAttention::Terms terms) {
  if (desc.ratio == 0)
    terms.seed = terms.step = nullptr;
  return terms;
}

/// Distinguishes the plans of one descriptor.
static int getVariant(const DnnAttentionTerms &terms, bool isGradient) {
  return terms.bias | terms.lengths << 1 | terms.seed << 2 | isGradient << 3;
}

static DnnAttentionTerms termsOf(const DnnAttention::Terms &terms) {
  return {terms.bias != nullptr, terms.lengths != nullptr,
          terms.seed != nullptr};
}

const DnnAttention::Plan &
DnnAttention::getPlan(ingot_context &context, const ingot_attention_desc &desc,
                      const DnnAttentionTerms &terms, bool isGradient) {
  return plans.get(desc, getVariant(terms, isGradient), [&] {
    auto made = plan(desc, terms, isGradient);
    if (made->workspaceBytes != 0)
      context.notes.push_back(
          "cuDNN's attention takes " + std::to_string(made->workspaceBytes) +
          " bytes of the GPU's memory in addition to the planned ones");
    return made;
  });
}

void DnnAttention::forward(ingot_context &context,
                           const ingot_attention_desc &desc,
                           const Forward &operands, void *scratch) {
  Terms terms = usedTerms(desc, operands.terms);
  const Plan &planned =
      getPlan(context, desc, termsOf(terms), /*isGradient=*/false);
  Pointers pointers(operands.inputs, terms);
  pointers.add(kResult, operands.result);
  pointers.add(kLse, operands.lse);
  run(planned, pointers, scratch);
}

void DnnAttention::backward(ingot_context &context,
                            const ingot_attention_desc &desc,
                            const Backward &operands, void *scratch) {
  Terms terms = usedTerms(desc, operands.terms);
  const Plan &planned =
      getPlan(context, desc, termsOf(terms), /*isGradient=*/true);
  Pointers pointers(operands.inputs, terms);
  pointers.add(kResult, operands.output);
  pointers.add(kLse, operands.lse);
  pointers.add(kCotangent, operands.cotangent);
  pointers.add(kQueryGrad, operands.queryGrad);
  pointers.add(kKeyGrad, operands.keyGrad);
  pointers.add(kValueGrad, operands.valueGrad);
  run(planned, pointers, scratch);
}
