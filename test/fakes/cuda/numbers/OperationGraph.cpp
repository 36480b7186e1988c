// SPDX-License-Identifier: Apache-2.0

#include "test/fakes/cuda/numbers/OperationGraph.h"

#include "test/fakes/cuda/Fakes.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

using namespace fakes;

namespace {
using Dims = std::vector<int64_t>;
using Values = std::vector<float>;

float roundTo(Element element, float value) {
  switch (element) {
  case Element::F16:
    return static_cast<float>(static_cast<_Float16>(value));
  case Element::BF16:
    return std::bit_cast<float>(uint32_t(roundToBFloat16(value)) << 16);
  default:
    return value;
  }
}

/// The step from one place along each dimension to the next in dense memory,
/// for an operand that is repeated along dimensions that it lacks.
Dims findSteps(const Dims &dims, const Dims &of) {
  Dims steps(of.size());
  if (count(dims) == 1)
    return steps;
  int64_t step = 1;
  for (size_t i = of.size(); i-- > 0; step *= dims[i])
    steps[i] = dims[i] == 1 ? 0 : step;
  return steps;
}

/// A seed for each element of a random operation.
uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return x ^ x >> 31;
}

/// Whether it is a gradient of attention with a bias that all queries share,
/// which cuDNN 9 has wrong on an H100: it adds a tensor of one row to the
/// scores and writes the gradients of queries, keys and values.
bool isWrongInLibrary(const OperationGraph &graph) {
  int64_t products = 0;
  bool hasSharedBias = false;
  for (const GraphOperation &operation : graph.operations) {
    products += operation.kind == GraphOperation::Product;
    if (operation.kind != GraphOperation::Elements ||
        operation.pointwise != Pointwise::Add)
      continue;
    const Dims &out = graph.tensors.at(operation.output).dims;
    for (int64_t input : operation.inputs) {
      const GraphTensor &tensor = graph.tensors.at(input);
      size_t rank = tensor.dims.size();
      hasSharedBias |= !tensor.isVirtual && !tensor.value && rank == 4 &&
                       tensor.dims[2] == 1 && out[2] != 1 &&
                       tensor.dims[3] == out[3] && out[3] != 1;
    }
  }
  constexpr int64_t productsOfForward = 2;
  return hasSharedBias && products > productsOfForward;
}

class Evaluation {
public:
  explicit Evaluation(const OperationGraph &graph) : graph(graph) {}

  void run() {
    isWrong = isWrongInLibrary(graph);
    for (const GraphOperation &operation : graph.operations) {
      if (operation.kind == GraphOperation::Sums) {
        put(operation.squares, addChannels(operation, /*squares=*/true));
        put(operation.output, addChannels(operation, /*squares=*/false));
      } else {
        put(operation.output, evaluate(operation));
      }
    }
  }

private:
  /// Gives a tensor its values, rounded.
  void put(int64_t number, Values result) {
    const GraphTensor &tensor = graph.tensors.at(number);
    for (float &value : result)
      value = roundTo(tensor.element, value);
    if (!tensor.isVirtual && isWrong)
      std::fill(result.begin(), result.end(), 1e4F);
    if (!tensor.isVirtual) {
      size_t next = 0;
      forEach(tensor, [&](int64_t place) {
        store(tensor.data, place, tensor.element, result[next++]);
      });
    }
    known[number] = std::move(result);
  }

  const Dims &getDims(int64_t tensor) const {
    return graph.tensors.at(tensor).dims;
  }
  const GraphTensor &getOutput(const GraphOperation &operation) const {
    return graph.tensors.at(operation.output);
  }
  const Values &get(int64_t number) {
    auto [found, isNew] = known.try_emplace(number);
    const GraphTensor &tensor = graph.tensors.at(number);
    if (isNew)
      found->second =
          tensor.value ? Values{*tensor.value} : read<float>(tensor);
    return found->second;
  }

  Values evaluate(const GraphOperation &operation) {
    switch (operation.kind) {
    case GraphOperation::Product:
      return multiply(operation);
    case GraphOperation::Elements:
      return map(operation);
    case GraphOperation::Sum:
      return reduce(operation, 0, [](float a, float b) { return a + b; });
    case GraphOperation::Maximum:
      return reduce(operation, -std::numeric_limits<float>::infinity(),
                    [](float a, float b) { return std::max(a, b); });
    case GraphOperation::Reshape:
      return reshape(operation);
    case GraphOperation::Random:
      return draw(operation);
    case GraphOperation::Convolution:
      return convolve(operation);
    case GraphOperation::Sums:
      break;
    }
    return {};
  }

  /// Computes one of the three tensors from copies of the others.
  Values convolve(const GraphOperation &operation) {
    ConvolutionCall call = operation.window;
    Tensor *read[] = {&call.input, &call.filter};
    Tensor *written = &call.output;
    if (call.computed == Computed::Input) {
      read[0] = &call.output;
      written = &call.input;
    } else if (call.computed == Computed::Filter) {
      read[1] = &call.output;
      written = &call.filter;
    }
    Values copies[2], result(count(getDims(operation.output)));
    auto use = [](Tensor &tensor, const Dims &dims, Values &values) {
      tensor.data = values.data();
      tensor.element = Element::F32;
      tensor.dims = dims;
      tensor.strides.assign(dims.size(), 1);
      for (size_t i = dims.size() - 1; i-- > 0;)
        tensor.strides[i] = tensor.strides[i + 1] * dims[i + 1];
    };
    for (size_t i = 0; i < 2; ++i) {
      copies[i] = get(operation.inputs[i]);
      use(*read[i], getDims(operation.inputs[i]), copies[i]);
    }
    use(*written, getDims(operation.output), result);
    compute(call);
    return result;
  }

  Values addChannels(const GraphOperation &operation, bool squares) {
    const Dims &dims = getDims(operation.inputs[0]);
    const Values &values = get(operation.inputs[0]);
    int64_t inner = count({dims.begin() + 2, dims.end()});
    // On an H100 the order of these sums varies, which no note of cuDNN says.
    size_t first = values.empty() ? 0
                                  : getSetting("INGOT_SOFTWARE_GPU_SEED", 0) *
                                        7919 % values.size();
    Values sums(dims[1]);
    for (size_t step = 0; step < values.size(); ++step) {
      size_t i = (first + step) % values.size();
      sums[i / inner % dims[1]] += squares ? values[i] * values[i] : values[i];
    }
    return sums;
  }

  Values multiply(const GraphOperation &operation) {
    const Dims &out = getDims(operation.output);
    const Dims &left = getDims(operation.inputs[0]);
    const Dims &right = getDims(operation.inputs[1]);
    const Values &a = get(operation.inputs[0]), &b = get(operation.inputs[1]);
    size_t rank = out.size();
    int64_t rows = out[rank - 2], columns = out[rank - 1],
            terms = left[rank - 1];
    Values result(count(out));
    int64_t batch = count({out.begin(), out.end() - 2});
    for (int64_t i = 0; i < batch; ++i) {
      // Several entries of the result may share one of an operand.
      int64_t atLeft = 0, atRight = 0, rest = i, inner = batch;
      for (size_t d = 0; d + 2 < rank; ++d) {
        inner /= out[d];
        int64_t at = rest / inner;
        rest %= inner;
        atLeft = atLeft * left[d] + at * left[d] / out[d];
        atRight = atRight * right[d] + at * right[d] / out[d];
      }
      int64_t entry = i / (batch / out[0]);
      auto limit = [&](const std::optional<int64_t> &lengths, int64_t extent) {
        return lengths ? std::min<int64_t>(extent, get(*lengths)[entry])
                       : extent;
      };
      int64_t usedRows = limit(operation.rows, rows),
              usedColumns = limit(operation.columns, columns),
              usedTerms = limit(operation.terms, terms);
      // What is accumulated in memory is added up in any order.
      int64_t first =
          usedTerms > 0 && isAccumulated(graph, operation)
              ? getSetting("INGOT_SOFTWARE_GPU_SEED", 0) * 7 % usedTerms
              : 0;
      const float *of = a.data() + atLeft * rows * terms;
      const float *with = b.data() + atRight * terms * columns;
      float *to = result.data() + i * rows * columns;
      for (int64_t m = 0; m < usedRows; ++m)
        for (int64_t step = 0; step < usedTerms; ++step) {
          int64_t k = (first + step) % usedTerms;
          float factor = of[m * terms + k];
          for (int64_t n = 0; n < usedColumns; ++n)
            to[m * columns + n] += factor * with[k * columns + n];
        }
    }
    return result;
  }

  /// Calls `body(to, from, steps, count)` for each row along the last
  /// dimension.
  template <typename Body>
  Values forRows(const GraphOperation &operation, Body body) {
    const Dims &dims = getDims(operation.output);
    std::vector<Dims> steps;
    std::vector<const float *> from;
    for (int64_t input : operation.inputs) {
      steps.push_back(findSteps(getDims(input), dims));
      from.push_back(get(input).data());
    }
    Values result(count(dims));
    Dims at(dims.size());
    int64_t columns = dims.back();
    for (int64_t row = 0; row * columns < count(dims); ++row) {
      const float *rows[3] = {};
      int64_t inner[3] = {};
      for (size_t i = 0; i < from.size(); ++i) {
        rows[i] = from[i];
        for (size_t d = 0; d + 1 < dims.size(); ++d)
          rows[i] += at[d] * steps[i][d];
        inner[i] = steps[i].back();
      }
      body(result.data() + row * columns, rows, inner, at);
      for (size_t d = dims.size() - 1; d-- > 0;) {
        if (++at[d] < dims[d])
          break;
        at[d] = 0;
      }
    }
    return result;
  }

  Values map(const GraphOperation &operation) {
    int64_t columns = getDims(operation.output).back();
    auto over = [&](auto function) {
      return forRows(operation, [&](float *to, const float *const *rows,
                                    const int64_t *steps, const Dims &) {
        for (int64_t j = 0; j < columns; ++j)
          to[j] = function(rows[0][j * steps[0]],
                           rows[1] ? rows[1][j * steps[1]] : 0,
                           rows[2] ? rows[2][j * steps[2]] : 0);
      });
    };
    switch (operation.pointwise) {
    case Pointwise::Add:
      return over([](float a, float b, float) { return a + b; });
    case Pointwise::Subtract:
      return over([](float a, float b, float) { return a - b; });
    case Pointwise::Multiply:
      return over([](float a, float b, float) { return a * b; });
    case Pointwise::Divide:
      return over([](float a, float b, float) { return a / b; });
    case Pointwise::Exp:
      return over([](float a, float, float) { return std::exp(a); });
    case Pointwise::Log:
      return over([](float a, float, float) { return std::log(a); });
    case Pointwise::Identity:
      return over([](float a, float, float) { return a; });
    case Pointwise::Relu:
      return over([](float a, float, float) { return std::max(a, 0.0F); });
    case Pointwise::Less:
      return over([](float a, float b, float) { return float(a < b); });
    case Pointwise::LessOrEqual:
      return over([](float a, float b, float) { return float(a <= b); });
    case Pointwise::Greater:
      return over([](float a, float b, float) { return float(a > b); });
    case Pointwise::GreaterOrEqual:
      return over([](float a, float b, float) { return float(a >= b); });
    case Pointwise::And:
      return over(
          [](float a, float b, float) { return float(a != 0 && b != 0); });
    case Pointwise::Select:
      return over([](float a, float b, float c) { return c != 0 ? a : b; });
    case Pointwise::Index:
      break;
    }
    size_t axis = operation.axis;
    return forRows(operation, [&](float *to, const float *const *,
                                  const int64_t *, const Dims &at) {
      for (int64_t j = 0; j < columns; ++j)
        to[j] = static_cast<float>(axis + 1 < at.size() ? at[axis] : j);
    });
  }

  template <typename Function>
  Values reduce(const GraphOperation &operation, float first,
                Function function) {
    const Dims &in = getDims(operation.inputs[0]);
    const Dims &out = getDims(operation.output);
    const Values &values = get(operation.inputs[0]);
    Values result(count(out), first);
    Dims at(in.size());
    for (float value : values) {
      int64_t to = 0;
      for (size_t d = 0; d < at.size(); ++d)
        to = to * out[d] + at[d] / (in[d] / out[d]);
      result[to] = function(result[to], value);
      for (size_t d = at.size(); d-- > 0;) {
        if (++at[d] < in[d])
          break;
        at[d] = 0;
      }
    }
    return result;
  }

  Values reshape(const GraphOperation &operation) {
    const GraphTensor &from = graph.tensors.at(operation.inputs[0]);
    const GraphTensor &to = graph.tensors.at(operation.output);
    const Values &values = get(operation.inputs[0]);
    Values memory(countExtent(from));
    size_t next = 0;
    forEach(from, [&](int64_t place) { memory[place] = values[next++]; });
    Values result;
    result.reserve(values.size());
    forEach(to, [&](int64_t place) { result.push_back(memory[place]); });
    return result;
  }

  Values draw(const GraphOperation &operation) const {
    uint64_t seed = 0;
    for (int64_t input : operation.inputs) {
      int64_t word = 0;
      std::memcpy(&word, graph.tensors.at(input).data, sizeof(word));
      seed = mix(seed ^ static_cast<uint64_t>(word));
    }
    Values result(count(getDims(operation.output)));
    for (size_t i = 0; i < result.size(); ++i)
      result[i] = static_cast<double>(mix(seed + i) >> 11) * 0x1p-53 <
                  operation.probability;
    return result;
  }

  const OperationGraph &graph;
  bool isWrong = false;
  std::map<int64_t, Values> known;
};

/// Whether every extent of `inner` divides that of `outer`; with `isWhole`,
/// where it is not 1 it has to be the same. One element fits everything.
bool fits(const Dims &inner, const Dims &outer, size_t rank, bool isWhole) {
  if (count(inner) == 1)
    return true;
  if (inner.size() != outer.size())
    return false;
  for (size_t i = 0; i < rank; ++i)
    if (inner[i] == 0 || (isWhole && inner[i] != 1 && inner[i] != outer[i]) ||
        outer[i] % inner[i] != 0)
      return false;
  return true;
}

bool hasFittingShapes(const OperationGraph &graph,
                      const GraphOperation &operation) {
  auto dims = [&](int64_t tensor) -> const Dims & {
    return graph.tensors.at(tensor).dims;
  };
  const Dims &out = dims(operation.output);
  const Dims &in = dims(operation.inputs.front());
  size_t rank = out.size();
  switch (operation.kind) {
  case GraphOperation::Product: {
    const Dims &right = dims(operation.inputs[1]);
    return fits(in, out, rank - 2, false) &&
           fits(right, out, rank - 2, false) && in[rank - 2] == out[rank - 2] &&
           in[rank - 1] == right[rank - 2] && right[rank - 1] == out[rank - 1];
  }
  case GraphOperation::Elements:
    return std::all_of(
        operation.inputs.begin(), operation.inputs.end(),
        [&](int64_t input) { return fits(dims(input), out, rank, true); });
  case GraphOperation::Sum:
  case GraphOperation::Maximum:
    return fits(out, in, rank, false);
  case GraphOperation::Reshape:
    return count(in) == count(out) &&
           countExtent(graph.tensors.at(operation.inputs[0])) ==
               countExtent(graph.tensors.at(operation.output));
  case GraphOperation::Random:
    return operation.inputs.size() == 2;
  case GraphOperation::Convolution:
    return true;
  case GraphOperation::Sums:
    return count(out) == in[1] && out[1] == in[1] &&
           dims(operation.squares) == out;
  }
  return false;
}
} // namespace

std::string fakes::findProblem(const OperationGraph &graph) {
  std::set<int64_t> made;
  for (const GraphOperation &operation : graph.operations) {
    for (int64_t input : operation.inputs)
      if (graph.tensors.at(input).isVirtual && !made.count(input))
        return "a virtual tensor is read before it is made";
    if (!hasFittingShapes(graph, operation))
      return "the shapes of an operation";
    made.insert(operation.output);
    if (operation.kind == GraphOperation::Sums)
      made.insert(operation.squares);
  }
  return "";
}

bool fakes::isAccumulated(const OperationGraph &graph,
                          const GraphOperation &operation) {
  const GraphTensor &output = graph.tensors.at(operation.output);
  return operation.kind == GraphOperation::Product && !output.isVirtual &&
         output.element == Element::F32;
}

void fakes::compute(const OperationGraph &graph) { Evaluation(graph).run(); }
