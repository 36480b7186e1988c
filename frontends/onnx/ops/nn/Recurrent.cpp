// SPDX-License-Identifier: Apache-2.0

// RNN, GRU and LSTM. The products of the inputs with their weights are one
// matmul for all steps; the steps themselves are a loop, or unrolled.

#include "dialects/ingot/builders/Loops.h"
#include "dialects/ingot/support/Remarks.h"
#include "frontends/onnx/model/Node.h"
#include "mlir/IR/Matchers.h"
#include <cmath>
#include <limits>
#include <map>

using namespace mlir;
using namespace ingot;
using namespace ingot::onnx_import;

namespace {

/// More than any sequence has.
constexpr int64_t kMaxSteps = 1 << 20;

/// An activation function of the cell, with its parameters.
struct Activation {
  std::string name;
  double alpha, beta;
};

/// The parameters that an activation function takes if none are given; NaN
/// where it takes none.
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
const std::map<std::string, std::pair<double, double>> kDefaults = {
    {"affine", {1.0, 0.0}},
    {"elu", {1.0, kNone}},
    {"hardsigmoid", {0.2, 0.5}},
    {"leakyrelu", {0.01, kNone}},
    {"relu", {kNone, kNone}},
    {"scaledtanh", {1.0, 1.0}},
    {"sigmoid", {kNone, kNone}},
    {"softplus", {kNone, kNone}},
    {"softsign", {kNone, kNone}},
    {"tanh", {kNone, kNone}},
    {"thresholdedrelu", {1.0, kNone}},
};

/// The sizes and attributes that the three operators share.
struct Cell {
  int64_t gates, steps, batch, hidden, directions;
  bool batchFirst;
  double clip;
  /// One set of functions for each direction.
  std::vector<Activation> activations;
  size_t functions;
  /// Whether sequence b has a step t: a boolean [steps, batch]; null if all
  /// have all steps.
  Value isPresent;
};

Value activate(Node &node, const Activation &f, Value x) {
  auto positive = [&] { return node.compare(Predicate::GT, x, 0.0); };
  // e^x - 1 where x is negative; its branch is finite everywhere.
  auto grown = [&] {
    Value safe = node.binary<MinOp>(x, 0.0);
    return node.binary<SubOp>(node.unary<ExpOp>(safe), 1.0);
  };
  if (f.name == "tanh")
    return node.unary<TanhOp>(x);
  if (f.name == "sigmoid")
    return node.unary<LogisticOp>(x);
  if (f.name == "relu")
    return node.binary<MaxOp>(x, 0.0);
  if (f.name == "affine")
    return node.binary<AddOp>(node.binary<MulOp>(x, f.alpha), f.beta);
  if (f.name == "leakyrelu")
    return node.select(positive(), x, node.binary<MulOp>(x, f.alpha));
  if (f.name == "thresholdedrelu")
    return node.select(node.compare(Predicate::GT, x, f.alpha), x,
                       node.splatOf(x, 0.0));
  if (f.name == "scaledtanh")
    return node.binary<MulOp>(node.unary<TanhOp>(node.binary<MulOp>(x, f.beta)),
                              f.alpha);
  if (f.name == "hardsigmoid") {
    Value line = node.binary<AddOp>(node.binary<MulOp>(x, f.alpha), f.beta);
    return node.binary<MinOp>(node.binary<MaxOp>(line, 0.0), 1.0);
  }
  if (f.name == "elu")
    return node.select(positive(), x, node.binary<MulOp>(grown(), f.alpha));
  if (f.name == "softsign")
    return node.binary<DivOp>(x, node.binary<AddOp>(node.unary<AbsOp>(x), 1.0));
  // Softplus: log(1 + e^x) without overflow.
  Value falling = node.unary<NegOp>(node.unary<AbsOp>(x));
  Value tail = node.unary<Log1pOp>(node.unary<ExpOp>(falling));
  return node.binary<AddOp>(node.binary<MaxOp>(x, 0.0), tail);
}

/// Returns the activation of a gate, whose input is clipped.
Value apply(Node &node, const Cell &cell, const Activation &f, Value x) {
  if (cell.clip > 0)
    x = node.binary<MinOp>(node.binary<MaxOp>(x, -cell.clip), cell.clip);
  return activate(node, f, x);
}

/// Reads the activation functions: `otherwise` for each direction where none
/// are given.
LogicalResult readActivations(Node &node, Cell &cell,
                              ArrayRef<StringRef> otherwise) {
  std::vector<std::string> names;
  if (const onnx::AttributeProto *given = node.find("activations"))
    names.assign(given->strings().begin(), given->strings().end());
  cell.functions = otherwise.size();
  size_t wanted = otherwise.size() * cell.directions;
  if (names.empty())
    for (size_t i = 0; i < wanted; ++i)
      names.push_back(otherwise[i % otherwise.size()].str());
  if (names.size() != wanted)
    return node.malformed(Twine(names.size()) + " activations instead of " +
                          Twine(wanted));
  auto parameters = [&](StringRef name) {
    std::vector<double> values;
    if (const onnx::AttributeProto *given = node.find(name))
      values.assign(given->floats().begin(), given->floats().end());
    return values;
  };
  std::vector<double> alphas = parameters("activation_alpha"),
                      betas = parameters("activation_beta");
  // Functions without a parameter take none of the list.
  auto take = [](std::vector<double> &from, double fallback) {
    if (std::isnan(fallback) || from.empty())
      return fallback;
    double value = from.front();
    from.erase(from.begin());
    return value;
  };
  for (const std::string &given : names) {
    std::string name = StringRef(given).lower();
    auto known = kDefaults.find(name);
    if (known == kDefaults.end())
      return node.unsupported("activation '" + given + "'");
    double alpha = take(alphas, known->second.first);
    double beta = take(betas, known->second.second);
    cell.activations.push_back({name, alpha, beta});
  }
  return success();
}

/// Fails unless the input has this shape, if it is given.
LogicalResult requireShape(Node &node, size_t i, ArrayRef<int64_t> shape,
                           StringRef what) {
  if (!node.has(i) || node.shape(i) == shape)
    return success();
  return node.malformed(what + " has shape " + shapeText(node.shape(i)) +
                        " instead of " + shapeText(shape));
}

/// Reads what the operators share. The input is returned as [steps, batch,
/// size].
FailureOr<Value> readCell(Node &node, Cell &cell, int64_t gates,
                          ArrayRef<StringRef> activations) {
  for (size_t i : {0, 1, 2})
    if (!node.has(i) || failed(node.requireFloat(i)) || node.rank(i) != 3)
      return node.malformed("input " + Twine(i) + " is not of rank 3");
  cell.gates = gates;
  cell.batchFirst = node.intAttr("layout", 0);
  Value x = node.in(0);
  if (cell.batchFirst)
    x = node.transpose(x, {1, 0, 2});
  ArrayRef<int64_t> shape = tensorType(x).getShape();
  cell.steps = shape[0];
  cell.batch = shape[1];
  cell.hidden = node.shape(2)[2];
  cell.clip = node.floatAttr("clip", 0.0);
  std::string direction = node.stringAttr("direction", "forward");
  if (direction != "forward" && direction != "reverse" &&
      direction != "bidirectional")
    return node.malformed("direction is '" + direction + "'");
  cell.directions = direction == "bidirectional" ? 2 : 1;
  if (cell.steps < 1 || cell.steps > kMaxSteps)
    return node.unsupported("a sequence of " + Twine(cell.steps) + " steps");
  int64_t rows = gates * cell.hidden;
  if (node.intAttr("hidden_size", cell.hidden) != cell.hidden)
    return node.malformed("hidden_size contradicts the weights");
  Shape state = {cell.directions, cell.batch, cell.hidden};
  if (cell.batchFirst)
    std::swap(state[0], state[1]);
  if (failed(requireShape(node, 1, {cell.directions, rows, shape[2]}, "W")) ||
      failed(
          requireShape(node, 2, {cell.directions, rows, cell.hidden}, "R")) ||
      failed(requireShape(node, 3, {cell.directions, 2 * rows}, "B")) ||
      failed(requireShape(node, 4, {cell.batch}, "sequence_lens")) ||
      failed(requireShape(node, 5, state, "initial_h")) ||
      failed(readActivations(node, cell, activations)))
    return failure();
  if (node.has(4)) {
    Value lengths = node.in(4);
    Type element = tensorType(lengths).getElementType();
    if (!element.isInteger())
      return node.malformed("sequence_lens are not integers");
    Shape steps = {cell.steps, cell.batch};
    Value time = node.iota(steps, element, 0);
    Value isPresent =
        node.compare(Predicate::LT, time, node.alongDim(lengths, steps, 1));
    DenseElementsAttr known;
    bool all = matchPattern(lengths, m_Constant(&known));
    if (all)
      for (const APInt &length : known.getValues<APInt>())
        all &= length.getSExtValue() >= cell.steps;
    if (!all)
      cell.isPresent = isPresent;
  }
  return x;
}

/// Returns one direction of an input [directions, ...] (or [batch, directions,
/// ...]), without that dimension.
Value ofDirection(Node &node, Value value, int64_t direction, int64_t dim = 0) {
  Value part = node.sliceDim(value, dim, direction, direction + 1);
  Shape shape(tensorType(part).getShape());
  shape.erase(shape.begin() + dim);
  return node.reshape(part, shape);
}

Value initialState(Node &node, const Cell &cell, size_t input,
                   int64_t direction) {
  if (node.has(input))
    return ofDirection(node, node.in(input), direction,
                       cell.batchFirst ? 1 : 0);
  auto type = RankedTensorType::get({cell.batch, cell.hidden},
                                    node.type(0).getElementType());
  return splat(node.b, node.loc, type, 0.0);
}

/// Computes x * weights^T for weights [n, k].
Value project(Node &node, Value x, Value weights) {
  auto type = RankedTensorType::get(
      {tensorType(x).getDimSize(0), tensorType(weights).getDimSize(0)},
      tensorType(x).getElementType());
  return MatmulOp::create(node.b, node.loc, type, x, weights, nullptr,
                          node.b.getUnitAttr());
}

/// Returns gates [first, first + count) of values whose last dimension is that
/// of all gates.
Value gatesOf(Node &node, const Cell &cell, Value value, int64_t first,
              int64_t count = 1) {
  return node.sliceDim(value, tensorType(value).getRank() - 1,
                       first * cell.hidden, (first + count) * cell.hidden);
}

Value addBias(Node &node, Value x, Value bias) {
  return node.binary<AddOp>(x, node.broadcast(bias, tensorType(x).getShape()));
}

/// The operands of one direction: products of all inputs [steps, batch, gates],
/// and weights of the state.
struct Direction {
  Value inputs, recurrent, recurrentBias, hidden;
  ArrayRef<Activation> activations;
  bool isReversed;
};

/// Prepares a direction. The state's bias is added to the inputs' products,
/// except for the last `separate` gates.
Direction prepare(Node &node, const Cell &cell, Value x, int64_t d,
                  int64_t separate) {
  Direction direction;
  int64_t rows = cell.gates * cell.hidden;
  int64_t size = tensorType(x).getDimSize(2);
  Value flat = node.reshape(x, {cell.steps * cell.batch, size});
  Value products = project(node, flat, ofDirection(node, node.in(1), d));
  if (node.has(3)) {
    Value bias = ofDirection(node, node.in(3), d);
    Value ofInputs = node.sliceDim(bias, 0, 0, rows);
    Value ofState = node.sliceDim(bias, 0, rows, 2 * rows);
    int64_t together = rows - separate * cell.hidden;
    Value sum = node.binary<AddOp>(node.sliceDim(ofInputs, 0, 0, together),
                                   node.sliceDim(ofState, 0, 0, together));
    if (separate) {
      sum = node.concat({sum, node.sliceDim(ofInputs, 0, together, rows)}, 0);
      direction.recurrentBias = node.sliceDim(ofState, 0, together, rows);
    }
    products = addBias(node, products, sum);
  }
  direction.inputs = node.reshape(products, {cell.steps, cell.batch, rows});
  direction.recurrent = ofDirection(node, node.in(2), d);
  direction.hidden = initialState(node, cell, 5, d);
  direction.activations =
      ArrayRef(cell.activations).slice(d * cell.functions, cell.functions);
  direction.isReversed =
      d == 1 || node.stringAttr("direction", "forward") == "reverse";
  return direction;
}

/// Executes `step(inputs, states)` for each step in the direction's order, as
/// one op or one step after the other; it returns the new states, the first of
/// which is the result of the step. Sequences that have ended keep their
/// states, and their results are 0. `states` become the last ones; the results
/// of all steps are returned as [steps, 1, batch, hidden].
template <typename Step>
Value iterate(Node &node, const Cell &cell, const Direction &direction,
              SmallVector<Value> &states, Step step) {
  Shape shape = {cell.batch, cell.hidden};
  // Returns the new states, then the result.
  auto advance = [&](Value inputs, Value isPresent, ArrayRef<Value> old) {
    SmallVector<Value> next = step(inputs, old);
    Value result = next.front();
    if (isPresent) {
      Value present = node.alongDim(isPresent, shape, 0);
      result = node.select(present, result, node.splatOf(result, 0.0));
      for (auto [value, before] : llvm::zip_equal(next, old))
        value = node.select(present, value, before);
    }
    next.push_back(result);
    return next;
  };
  // About as many nodes as a cell has.
  int64_t nodes = 4 * cell.gates;
  if (node.graph.rollsLoop(cell.steps, nodes, node.loc)) {
    SmallVector<Value> sequences = {direction.inputs};
    if (cell.isPresent)
      sequences.push_back(cell.isPresent);
    LoopBuilder loop(node.loc, cell.steps, direction.isReversed, states,
                     sequences);
    SmallVector<Value> yielded;
    {
      OpBuilder::InsertionGuard guard(node.b);
      node.b.setInsertionPointToEnd(&loop.getBlock());
      ValueRange slices = loop.getSlices();
      yielded = advance(slices[0], cell.isPresent ? slices[1] : Value(),
                        SmallVector<Value>(loop.getCarried()));
    }
    LoopOp rolled = loop.finish(node.b, yielded);
    remark::passed(node.loc, remarkOptions("import-onnx", "RolledLoop"))
        << remark::metric("iterations", cell.steps)
        << remark::metric("nodes", nodes);
    states = SmallVector<Value>(rolled.getFinals());
    return node.reshape(rolled.getOutputs().front(),
                        {cell.steps, 1, cell.batch, cell.hidden});
  }
  SmallVector<Value> results(cell.steps);
  for (int64_t i = 0; i < cell.steps; ++i) {
    int64_t t = direction.isReversed ? cell.steps - 1 - i : i;
    Value inputs = ofDirection(node, direction.inputs, t);
    Value isPresent =
        cell.isPresent ? ofDirection(node, cell.isPresent, t) : Value();
    states = advance(inputs, isPresent, states);
    results[t] = states.pop_back_val();
  }
  for (Value &result : results)
    result = node.reshape(result, {1, 1, cell.batch, cell.hidden});
  return node.concat(results, 0);
}

/// Sets the outputs: all steps of all directions, and the last states.
void setOutputs(Node &node, const Cell &cell, ArrayRef<Value> results,
                ArrayRef<SmallVector<Value>> states) {
  if (node.wants(0)) {
    Value all = node.concat(results, 1);
    node.set(0, cell.batchFirst ? node.transpose(all, {2, 0, 1, 3}) : all);
  }
  for (size_t k = 0; k < states.front().size(); ++k) {
    if (!node.wants(k + 1))
      continue;
    SmallVector<Value> parts;
    for (const SmallVector<Value> &last : states)
      parts.push_back(node.reshape(last[k], {1, cell.batch, cell.hidden}));
    Value all = node.concat(parts, 0);
    node.set(k + 1, cell.batchFirst ? node.transpose(all, {1, 0, 2}) : all);
  }
}

LogicalResult importRNN(Node &node) {
  Cell cell;
  FailureOr<Value> x = readCell(node, cell, 1, {"Tanh"});
  if (failed(x))
    return failure();
  SmallVector<Value> results;
  SmallVector<SmallVector<Value>> last;
  for (int64_t d = 0; d < cell.directions; ++d) {
    Direction direction = prepare(node, cell, *x, d, /*separate=*/0);
    SmallVector<Value> states = {direction.hidden};
    results.push_back(iterate(
        node, cell, direction, states, [&](Value inputs, ArrayRef<Value> old) {
          Value sum = node.binary<AddOp>(
              inputs, project(node, old[0], direction.recurrent));
          return SmallVector<Value>{
              apply(node, cell, direction.activations[0], sum)};
        }));
    last.push_back(states);
  }
  setOutputs(node, cell, results, last);
  return success();
}

/// Gates are z (update), r (reset) and h (candidate).
LogicalResult importGRU(Node &node) {
  Cell cell;
  FailureOr<Value> x = readCell(node, cell, 3, {"Sigmoid", "Tanh"});
  if (failed(x))
    return failure();
  bool afterProduct = node.intAttr("linear_before_reset", 0);
  SmallVector<Value> results;
  SmallVector<SmallVector<Value>> last;
  for (int64_t d = 0; d < cell.directions; ++d) {
    Direction direction =
        prepare(node, cell, *x, d, /*separate=*/afterProduct ? 1 : 0);
    Value all = direction.recurrent;
    Value ofGates = node.sliceDim(all, 0, 0, 2 * cell.hidden);
    Value ofCandidate = node.sliceDim(all, 0, 2 * cell.hidden, 3 * cell.hidden);
    const Activation &f = direction.activations[0],
                     &g = direction.activations[1];
    SmallVector<Value> states = {direction.hidden};
    results.push_back(iterate(
        node, cell, direction, states, [&](Value inputs, ArrayRef<Value> old) {
          Value hidden = old[0];
          Value products = project(node, hidden, afterProduct ? all : ofGates);
          Value gates =
              apply(node, cell, f,
                    node.binary<AddOp>(gatesOf(node, cell, inputs, 0, 2),
                                       gatesOf(node, cell, products, 0, 2)));
          Value update = gatesOf(node, cell, gates, 0);
          Value reset = gatesOf(node, cell, gates, 1);
          Value more;
          if (afterProduct) {
            more = gatesOf(node, cell, products, 2);
            if (direction.recurrentBias)
              more = addBias(node, more, direction.recurrentBias);
            more = node.binary<MulOp>(reset, more);
          } else {
            more =
                project(node, node.binary<MulOp>(reset, hidden), ofCandidate);
          }
          Value candidate =
              apply(node, cell, g,
                    node.binary<AddOp>(gatesOf(node, cell, inputs, 2), more));
          // (1 - z) * candidate + z * hidden.
          Value change =
              node.binary<MulOp>(update, node.binary<SubOp>(hidden, candidate));
          return SmallVector<Value>{node.binary<AddOp>(candidate, change)};
        }));
    last.push_back(states);
  }
  setOutputs(node, cell, results, last);
  return success();
}

/// Gates are i (input), o (output), f (forget) and c (cell).
LogicalResult importLSTM(Node &node) {
  Cell cell;
  FailureOr<Value> x = readCell(node, cell, 4, {"Sigmoid", "Tanh", "Tanh"});
  if (failed(x))
    return failure();
  Shape state = {cell.directions, cell.batch, cell.hidden};
  if (cell.batchFirst)
    std::swap(state[0], state[1]);
  if (failed(requireShape(node, 6, state, "initial_c")) ||
      failed(requireShape(node, 7, {cell.directions, 3 * cell.hidden}, "P")))
    return failure();
  bool isCoupled = node.intAttr("input_forget", 0);
  SmallVector<Value> results;
  SmallVector<SmallVector<Value>> last;
  for (int64_t d = 0; d < cell.directions; ++d) {
    Direction direction = prepare(node, cell, *x, d, /*separate=*/0);
    Value peepholes = node.has(7) ? ofDirection(node, node.in(7), d) : Value();
    const Activation &f = direction.activations[0],
                     &g = direction.activations[1],
                     &h = direction.activations[2];
    SmallVector<Value> states = {direction.hidden,
                                 initialState(node, cell, 6, d)};
    auto peep = [&](Value gate, int64_t number, Value from) {
      if (!peepholes)
        return gate;
      Value weights = gatesOf(node, cell, peepholes, number);
      return node.binary<AddOp>(
          gate,
          node.binary<MulOp>(
              node.broadcast(weights, tensorType(from).getShape()), from));
    };
    results.push_back(iterate(
        node, cell, direction, states, [&](Value inputs, ArrayRef<Value> old) {
          Value gates = node.binary<AddOp>(
              inputs, project(node, old[0], direction.recurrent));
          auto gate = [&](int64_t i) { return gatesOf(node, cell, gates, i); };
          Value in = apply(node, cell, f, peep(gate(0), 0, old[1]));
          Value forget = isCoupled
                             ? node.binary<SubOp>(node.splatOf(in, 1.0), in)
                             : apply(node, cell, f, peep(gate(2), 2, old[1]));
          Value candidate = apply(node, cell, g, gate(3));
          Value kept = node.binary<AddOp>(node.binary<MulOp>(forget, old[1]),
                                          node.binary<MulOp>(in, candidate));
          Value out = apply(node, cell, f, peep(gate(1), 1, kept));
          // As in ONNX Runtime, the state is not clipped.
          Value output = activate(node, h, kept);
          return SmallVector<Value>{node.binary<MulOp>(out, output), kept};
        }));
    last.push_back(states);
  }
  setOutputs(node, cell, results, last);
  return success();
}

} // namespace

void onnx_import::registerRecurrent(Registry &registry) {
  registry.add("RNN", importRNN);
  registry.add("GRU", importGRU);
  registry.add("LSTM", importLSTM);
}
