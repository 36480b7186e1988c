// SPDX-License-Identifier: Apache-2.0

#include "test/fakes/cuda/dnn/BackendDescriptor.h"

#include <limits>

using namespace fakes;
using namespace fakes::dnn;

namespace {
std::optional<Pointwise> findPointwise(int64_t mode) {
  switch (mode) {
  case CUDNN_POINTWISE_ADD:
    return Pointwise::Add;
  case CUDNN_POINTWISE_SUB:
    return Pointwise::Subtract;
  case CUDNN_POINTWISE_MUL:
    return Pointwise::Multiply;
  case CUDNN_POINTWISE_DIV:
    return Pointwise::Divide;
  case CUDNN_POINTWISE_EXP:
    return Pointwise::Exp;
  case CUDNN_POINTWISE_LOG:
    return Pointwise::Log;
  case CUDNN_POINTWISE_IDENTITY:
    return Pointwise::Identity;
  case CUDNN_POINTWISE_RELU_FWD:
    return Pointwise::Relu;
  case CUDNN_POINTWISE_CMP_LT:
    return Pointwise::Less;
  case CUDNN_POINTWISE_CMP_LE:
    return Pointwise::LessOrEqual;
  case CUDNN_POINTWISE_CMP_GT:
    return Pointwise::Greater;
  case CUDNN_POINTWISE_CMP_GE:
    return Pointwise::GreaterOrEqual;
  case CUDNN_POINTWISE_LOGICAL_AND:
    return Pointwise::And;
  case CUDNN_POINTWISE_BINARY_SELECT:
    return Pointwise::Select;
  case CUDNN_POINTWISE_GEN_INDEX:
    return Pointwise::Index;
  default:
    return std::nullopt;
  }
}

/// Reads the operations of a graph one by one.
class GraphReader {
public:
  explicit GraphReader(const Descriptor *pack) : pack(pack) {}

  /// False if the operation is one that is not computed.
  bool add(const Descriptor &described) {
    operation = GraphOperation();
    source = &described;
    if (described.type == CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR) {
      addAttention();
      return true;
    }
    if (!readKind())
      return false;
    graph.operations.push_back(std::move(operation));
    return true;
  }
  OperationGraph &get() { return graph; }

private:
  bool readKind() {
    if (isConvolution(*source)) {
      auto [computed, x, w, y] = getConvolutionTensors(*source);
      operation.kind = GraphOperation::Convolution;
      operation.window = makeWindow(*source);
      operation.inputs = {use(computed == Computed::Input ? y : x),
                          use(computed == Computed::Filter ? y : w)};
      operation.output = use(computed == Computed::Output  ? y
                             : computed == Computed::Input ? x
                                                           : w);
      return true;
    }
    switch (source->type) {
    case CUDNN_BACKEND_OPERATION_GEN_STATS_DESCRIPTOR:
      operation.kind = GraphOperation::Sums;
      operation.inputs = {use(CUDNN_ATTR_OPERATION_GENSTATS_XDESC)};
      operation.output = use(CUDNN_ATTR_OPERATION_GENSTATS_SUMDESC);
      operation.squares = use(CUDNN_ATTR_OPERATION_GENSTATS_SQSUMDESC);
      return true;
    case CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR:
      operation.kind = GraphOperation::Product;
      operation.inputs = {use(CUDNN_ATTR_OPERATION_MATMUL_ADESC),
                          use(CUDNN_ATTR_OPERATION_MATMUL_BDESC)};
      operation.output = use(CUDNN_ATTR_OPERATION_MATMUL_CDESC);
      operation.rows =
          useIfSet(CUDNN_ATTR_OPERATION_MATMUL_GEMM_M_OVERRIDE_DESC);
      operation.columns =
          useIfSet(CUDNN_ATTR_OPERATION_MATMUL_GEMM_N_OVERRIDE_DESC);
      operation.terms =
          useIfSet(CUDNN_ATTR_OPERATION_MATMUL_GEMM_K_OVERRIDE_DESC);
      return true;
    case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR:
      return readPointwise();
    case CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR:
      return readReduction();
    case CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR:
      operation.kind = GraphOperation::Reshape;
      operation.inputs = {use(CUDNN_ATTR_OPERATION_RESHAPE_XDESC)};
      operation.output = use(CUDNN_ATTR_OPERATION_RESHAPE_YDESC);
      return true;
    case CUDNN_BACKEND_OPERATION_RNG_DESCRIPTOR:
      return readRandom();
    default:
      return false;
    }
  }

  bool readPointwise() {
    const Descriptor &how =
        *source->parts.at(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
    auto found = findPointwise(getNumber(how, CUDNN_ATTR_POINTWISE_MODE));
    for (auto name : {CUDNN_ATTR_OPERATION_POINTWISE_ALPHA1,
                      CUDNN_ATTR_OPERATION_POINTWISE_ALPHA2})
      if (source->reals.count(name) && source->reals.at(name) != 1)
        return false;
    if (!found || source->parts.count(CUDNN_ATTR_OPERATION_POINTWISE_DYDESC))
      return false;
    operation.kind = GraphOperation::Elements;
    operation.pointwise = *found;
    operation.axis = getNumber(how, CUDNN_ATTR_POINTWISE_AXIS);
    operation.inputs = {use(CUDNN_ATTR_OPERATION_POINTWISE_XDESC)};
    for (auto name : {CUDNN_ATTR_OPERATION_POINTWISE_BDESC,
                      CUDNN_ATTR_OPERATION_POINTWISE_TDESC})
      if (auto input = useIfSet(name))
        operation.inputs.push_back(*input);
    operation.output = use(CUDNN_ATTR_OPERATION_POINTWISE_YDESC);
    return true;
  }

  bool readReduction() {
    int64_t how =
        getNumber(*source->parts.at(CUDNN_ATTR_OPERATION_REDUCTION_DESC),
                  CUDNN_ATTR_REDUCTION_OPERATOR);
    if (how != CUDNN_REDUCE_TENSOR_ADD && how != CUDNN_REDUCE_TENSOR_MAX)
      return false;
    operation.kind = how == CUDNN_REDUCE_TENSOR_ADD ? GraphOperation::Sum
                                                    : GraphOperation::Maximum;
    operation.inputs = {use(CUDNN_ATTR_OPERATION_REDUCTION_XDESC)};
    operation.output = use(CUDNN_ATTR_OPERATION_REDUCTION_YDESC);
    return true;
  }

  bool readRandom() {
    const Descriptor &how = *source->parts.at(CUDNN_ATTR_OPERATION_RNG_DESC);
    if (getNumber(how, CUDNN_ATTR_RNG_DISTRIBUTION) !=
        CUDNN_RNG_DISTRIBUTION_BERNOULLI)
      return false;
    operation.kind = GraphOperation::Random;
    operation.probability =
        how.reals.at(CUDNN_ATTR_RNG_BERNOULLI_DIST_PROBABILITY);
    operation.inputs = {use(CUDNN_ATTR_OPERATION_RNG_SEED),
                        use(CUDNN_ATTR_OPERATION_RNG_OFFSET_DESC)};
    operation.output = use(CUDNN_ATTR_OPERATION_RNG_YDESC);
    return true;
  }

  /// Attention as one operation, which has lengths at most, becomes its parts.
  void addAttention() {
    int64_t query = use(CUDNN_ATTR_OPERATION_SDPA_FWD_QDESC),
            key = use(CUDNN_ATTR_OPERATION_SDPA_FWD_KDESC),
            value = use(CUDNN_ATTR_OPERATION_SDPA_FWD_VDESC),
            result = use(CUDNN_ATTR_OPERATION_SDPA_FWD_ODESC);
    const GraphTensor &keys = graph.tensors.at(key);
    std::vector<int64_t> scores = graph.tensors.at(query).dims;
    scores[3] = keys.dims[2];
    std::vector<int64_t> rows = scores;
    rows[3] = 1;
    // The library multiplies by the transpose.
    int64_t transposed = addVirtual(keys.dims, keys.element);
    GraphTensor &transpose = graph.tensors.at(transposed);
    transpose.strides = keys.strides;
    std::swap(transpose.dims[2], transpose.dims[3]);
    std::swap(transpose.strides[2], transpose.strides[3]);
    apply(GraphOperation::Reshape, {key}, transposed);
    int64_t at = addVirtual(scores);
    apply(GraphOperation::Product, {query, transposed}, at);
    if (auto scale = useIfSet(CUDNN_ATTR_OPERATION_SDPA_FWD_SCALEDESC))
      at = apply(Pointwise::Multiply, {at, *scale}, scores);
    if (auto lengths = useIfSet(CUDNN_ATTR_OPERATION_SDPA_FWD_SEQ_LEN_KVDESC)) {
      int64_t index = apply(Pointwise::Index, {at}, scores);
      graph.operations.back().axis = 3;
      int64_t isThere = apply(Pointwise::Less, {index, *lengths}, scores);
      int64_t never = addVirtual({1, 1, 1, 1});
      graph.tensors.at(never).isVirtual = false;
      graph.tensors.at(never).value = -std::numeric_limits<float>::infinity();
      at = apply(Pointwise::Select, {at, never, isThere}, scores);
    }
    int64_t most = addVirtual(rows), sum = addVirtual(rows);
    apply(GraphOperation::Maximum, {at}, most);
    at = apply(Pointwise::Subtract, {at, most}, scores);
    at = apply(Pointwise::Exp, {at}, scores);
    apply(GraphOperation::Sum, {at}, sum);
    if (auto stats = useIfSet(CUDNN_ATTR_OPERATION_SDPA_FWD_STATSDESC)) {
      int64_t logarithm = apply(Pointwise::Log, {sum}, rows);
      apply(GraphOperation::Elements, {most, logarithm}, *stats);
      graph.operations.back().pointwise = Pointwise::Add;
    }
    int64_t weights = addVirtual(scores, keys.element);
    apply(GraphOperation::Elements, {at, sum}, weights);
    graph.operations.back().pointwise = Pointwise::Divide;
    apply(GraphOperation::Product, {weights, value}, result);
  }

  /// A dense tensor that no descriptor names.
  int64_t addVirtual(const std::vector<int64_t> &dims,
                     Element element = Element::F32) {
    GraphTensor tensor;
    tensor.element = element;
    tensor.dims = dims;
    tensor.strides = {dims[1] * dims[2] * dims[3], dims[2] * dims[3], dims[3],
                      1};
    tensor.isVirtual = true;
    // The numbers of described tensors are positive.
    int64_t number = -1 - static_cast<int64_t>(graph.tensors.size());
    graph.tensors.emplace(number, tensor);
    return number;
  }
  void apply(GraphOperation::Kind kind, std::vector<int64_t> inputs,
             int64_t output) {
    GraphOperation made;
    made.kind = kind;
    made.inputs = std::move(inputs);
    made.output = output;
    graph.operations.push_back(std::move(made));
  }
  int64_t apply(Pointwise pointwise, std::vector<int64_t> inputs,
                const std::vector<int64_t> &dims) {
    int64_t output = addVirtual(dims);
    apply(GraphOperation::Elements, std::move(inputs), output);
    graph.operations.back().pointwise = pointwise;
    return output;
  }

  /// The number of a tensor, which becomes one of the graph.
  int64_t use(cudnnBackendAttributeName_t name) {
    const Descriptor &described = *source->parts.at(name);
    int64_t number = getNumber(described, CUDNN_ATTR_TENSOR_UNIQUE_ID);
    auto [found, isNew] = graph.tensors.try_emplace(number);
    if (!isNew)
      return number;
    GraphTensor &tensor = found->second;
    static_cast<Tensor &>(tensor) = makeTensor(described, pack);
    tensor.isVirtual = getNumber(described, CUDNN_ATTR_TENSOR_IS_VIRTUAL) != 0;
    // It is read when the call is made.
    if (getNumber(described, CUDNN_ATTR_TENSOR_IS_BY_VALUE) && tensor.data)
      tensor.value = static_cast<float>(load(tensor.data, 0, tensor.element));
    return number;
  }
  std::optional<int64_t> useIfSet(cudnnBackendAttributeName_t name) {
    if (!source->parts.count(name))
      return std::nullopt;
    return use(name);
  }

  const Descriptor *pack;
  OperationGraph graph;
  const Descriptor *source = nullptr;
  GraphOperation operation;
};

/// Whether a graph writes apart from what it reads, as it has to: its kernels
/// read and write in an order of their own.
bool isApart(const OperationGraph &graph) {
  auto getEnd = [](const GraphTensor &tensor) {
    return static_cast<const char *>(tensor.data) +
           countExtent(tensor) * int64_t(getSize(tensor.element));
  };
  std::map<int64_t, bool> written;
  for (const GraphOperation &operation : graph.operations) {
    written[operation.output] = true;
    if (operation.kind == GraphOperation::Sums)
      written[operation.squares] = true;
  }
  for (auto &[to, a] : graph.tensors)
    for (auto &[from, b] : graph.tensors)
      if (written.count(to) && !written.count(from) && a.data && b.data &&
          !b.value && a.data < getEnd(b) && b.data < getEnd(a))
        return false;
  return true;
}
} // namespace

std::optional<OperationGraph> dnn::makeGraph(const Descriptor &graph,
                                             const Descriptor *pack) {
  GraphReader reader(pack);
  for (const Descriptor *operation : graph.operations)
    if (!reader.add(*operation)) {
      record("violation", " cuDNN: operation %d is not computed",
             static_cast<int>(operation->type));
      return std::nullopt;
    }
  std::string problem = findProblem(reader.get());
  if (!problem.empty())
    record("violation", " cuDNN: %s", problem.c_str());
  if (pack && !isApart(reader.get()))
    record("violation", " cudnnBackendExecute: a result overlaps an operand");
  return problem.empty() ? std::optional(reader.get()) : std::nullopt;
}
