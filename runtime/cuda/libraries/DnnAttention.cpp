#include "runtime/cuda/libraries/DnnAttention.h"

#include "runtime/core/Error.h"

#include <cstdlib>

#define NV_CUDNN_FRONTEND_USE_DYNAMIC_LOADING
#include <cudnn_frontend.h>

using namespace ingot::runtime;
namespace fe = cudnn_frontend;

// Where the graph library looks for cuDNN.
namespace cudnn_frontend {
void *cudnn_dlhandle = nullptr;
} // namespace cudnn_frontend

DnnAttention::DnnAttention(const Dnn &dnn, const Driver &driver)
    : dnn(dnn), driver(driver),
      cudart("libcudart.so." + std::to_string(CUDART_VERSION / 1000),
             "install CUDA's libraries, or have LD_LIBRARY_PATH name their "
             "folder") {
  fe::cudnn_dlhandle = dnn.getLibrary().getHandle();
  // The graph library looks for CUDA's by name; this one is loaded.
  (void)setenv("CUDNN_FRONTEND_CUDART_LIB_NAME", cudart.getName().c_str(),
               /*overwrite=*/0);
}

struct DnnAttention::Plan : ingot_context::Cached {
  explicit Plan(const Driver &driver) : driver(driver) {}
  ~Plan() override {
    if (workspace)
      (void)driver.cuMemFree(workspace);
  }

  const Driver &driver;
  fe::graph::Graph graph;
  /// Operands have the numbers 1, 2, ... in the order of their struct, a bias
  /// even if there is none.
  int64_t operands = 0;
  /// What the algorithm wants, if that is more than was planned.
  CUdeviceptr workspace = 0;
};

using Tensor = std::shared_ptr<fe::graph::Tensor_attributes>;

static void check(fe::error_t status, const char *action) {
  if (status.is_bad())
    throw failure("cuDNN", std::string(action) + ": " + status.get_message(),
                  "install a later cuDNN, or compile with --precision fp32");
}

/// What both directions have in common.
template <typename Attributes>
static Attributes makeAttributes(const ingot_attention_desc &desc) {
  Attributes attributes;
  attributes.set_name("attention")
      .set_attn_scale(static_cast<float>(desc.scale));
  if (desc.right >= 0)
    attributes.set_diagonal_alignment(fe::DiagonalAlignment_t::TOP_LEFT)
        .set_diagonal_band_right_bound(static_cast<int>(desc.right));
  // The library counts the diagonal.
  if (desc.left >= 0)
    attributes.set_diagonal_band_left_bound(static_cast<int>(desc.left + 1));
  return attributes;
}

namespace {

/// Describes an attention to the library, whose tensors are [batch, heads,
/// rows, columns].
class GraphBuilder {
public:
  GraphBuilder(fe::graph::Graph &graph, const ingot_attention_desc &desc,
               bool hasBias)
      : graph(graph), desc(desc), hasBias(hasBias) {
    graph
        .set_io_data_type(desc.type == INGOT_BF16 ? fe::DataType_t::BFLOAT16
                                                  : fe::DataType_t::HALF)
        .set_intermediate_data_type(fe::DataType_t::FLOAT)
        .set_compute_data_type(fe::DataType_t::FLOAT);
  }

  /// Returns how many operands there are: they have the numbers 1, 2, ...
  int64_t addForward() {
    Tensor query = add(getQuery()), key = add(getKey()),
           value = add(getValue());
    auto attributes = makeAttributes<fe::graph::SDPA_attributes>(desc);
    attributes.set_generate_stats(true);
    addBias(attributes);
    auto [result, lse] = graph.sdpa(query, key, value, attributes);
    addOutput(result, getResult());
    addOutput(lse, getLse());
    return number;
  }

  int64_t addBackward() {
    Tensor query = add(getQuery()), key = add(getKey()),
           value = add(getValue());
    Tensor output = add(getResult()), lse = add(getLse());
    Tensor cotangent = add(getResult());
    auto attributes = makeAttributes<fe::graph::SDPA_backward_attributes>(desc);
    attributes.set_deterministic_algorithm(true);
    addBias(attributes);
    auto [queryGrad, keyGrad, valueGrad] = graph.sdpa_backward(
        query, key, value, output, cotangent, lse, attributes);
    addOutput(queryGrad, getQuery());
    addOutput(keyGrad, getKey());
    addOutput(valueGrad, getValue());
    return number;
  }

private:
  using Attributes = fe::graph::Tensor_attributes;

  /// `strides`: of batch, row and head.
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

  /// The bias has a number even if there is none.
  template <typename Operation> void addBias(Operation &operation) {
    int64_t uid = ++number;
    if (!hasBias)
      return;
    std::vector<int64_t> dims = {desc.batch, desc.heads, desc.queries,
                                 desc.keys};
    for (size_t i = 0; i < 3; ++i)
      if (desc.bias_strides[i] == 0)
        dims[i] = 1;
    std::vector<int64_t> strides = {dims[1] * dims[2] * dims[3],
                                    dims[2] * dims[3], dims[3], 1};
    operation.set_bias(graph.tensor(Attributes()
                                        .set_uid(uid)
                                        .set_dim(dims)
                                        .set_stride(strides)
                                        .set_data_type(fe::DataType_t::FLOAT)));
  }

  Tensor add(Attributes attributes) {
    return graph.tensor(attributes.set_uid(++number));
  }
  void addOutput(const Tensor &tensor, const Attributes &as) {
    tensor->set_output(true)
        .set_uid(++number)
        .set_dim(as.get_dim())
        .set_stride(as.get_stride())
        .set_data_type(as.get_data_type());
  }

  fe::graph::Graph &graph;
  const ingot_attention_desc &desc;
  bool hasBias;
  int64_t number = 0;
};

} // namespace

/// Returns the number of operands.
static int64_t describe(fe::graph::Graph &graph,
                        const ingot_attention_desc &desc, bool hasBias,
                        bool isGradient) {
  GraphBuilder builder(graph, desc, hasBias);
  return isGradient ? builder.addBackward() : builder.addForward();
}

std::unique_ptr<DnnAttention::Plan>
DnnAttention::plan(const ingot_attention_desc &desc, bool hasBias,
                   bool isGradient) const {
  auto plan = std::make_unique<Plan>(driver);
  plan->operands = describe(plan->graph, desc, hasBias, isGradient);
  check(plan->graph.build(dnn.getHandle(), {fe::HeurMode_t::A}),
        "planning attention");
  int64_t bytes = 0;
  check(plan->graph.get_workspace_size(bytes), "planning attention");
  if (bytes > desc.scratch_bytes)
    driver.check(driver.cuMemAlloc(&plan->workspace, bytes),
                 "allocating memory of the GPU for attention");
  return plan;
}

std::string ingot::runtime::findAttentionProblem(
    const Library &cudnn, const ingot_attention_desc &desc, bool hasBias,
    bool isGradient, const std::string &device, int architecture) {
  fe::cudnn_dlhandle = cudnn.getHandle();
  auto properties = std::make_shared<fe::DeviceProperties>();
  check(properties->deserialize({device.begin(), device.end()}),
        "reading the properties of a device");
  fe::graph::Graph graph;
  graph.set_device_properties(properties).set_sm_version(architecture);
  (void)describe(graph, desc, hasBias, isGradient);
  fe::error_t status = graph.build({fe::HeurMode_t::A});
  // Kernels were chosen, and there is no driver to compile them with.
  bool isChosen = status.get_message().find("libcuda") != std::string::npos;
  return status.is_good() || isChosen ? "" : status.get_message();
}

void DnnAttention::run(const Plan &plan, const void *const *operands,
                       void *scratch) const {
  std::unordered_map<int64_t, void *> pointers;
  for (int64_t i = 0; i < plan.operands; ++i)
    if (operands[i])
      pointers[i + 1] = const_cast<void *>(operands[i]);
  void *workspace =
      plan.workspace ? reinterpret_cast<void *>(plan.workspace) : scratch;
  check(plan.graph.execute(dnn.getHandle(), pointers, workspace),
        "computing attention");
}

void DnnAttention::forward(ingot_context &context,
                           const ingot_attention_desc &desc,
                           const Forward &operands, void *scratch) {
  const Plan &planned = context.getCached<Plan>(&desc, /*kind=*/0, [&] {
    return plan(desc, operands.bias, /*isGradient=*/false);
  });
  const void *pointers[] = {operands.query, operands.key,    operands.value,
                            operands.bias,  operands.result, operands.lse};
  run(planned, pointers, scratch);
}

void DnnAttention::backward(ingot_context &context,
                            const ingot_attention_desc &desc,
                            const Backward &operands, void *scratch) {
  const Plan &planned = context.getCached<Plan>(&desc, /*kind=*/1, [&] {
    return plan(desc, operands.bias, /*isGradient=*/true);
  });
  const void *pointers[] = {
      operands.query,   operands.key,       operands.value, operands.output,
      operands.lse,     operands.cotangent, operands.bias,  operands.queryGrad,
      operands.keyGrad, operands.valueGrad};
  run(planned, pointers, scratch);
}
