// SPDX-License-Identifier: Apache-2.0

#include "test/random-graphs/RandomGraph.h"

#include "dialects/ingot/exchange/ExchangeOps.h"
#include "dialects/reference/Interpreter.h"
#include "test/random-graphs/catalogue/Catalogue.h"

#include <cmath>
#include <optional>
#include <random>

using namespace mlir;
using namespace ingot;
using namespace ingot::testing;
using reference::Tensor;

namespace {
/// Takes operands from what the function has computed so far, brought into
/// shape, or from new arguments and constants.
class Pool : public Source {
public:
  Pool(OpBuilder &builder, Chooser &choose, FloatType element, Block &block,
       std::vector<Tensor> &arguments)
      : Source(builder, choose, element), block(block), arguments(arguments) {}

  Value real(ArrayRef<int64_t> shape, Domain domain) override {
    RankedTensorType type = realType(shape);
    if (choose.chance(0.3))
      return fresh(type, [&] { return choose.inDomain(domain); });
    return intoDomain(existing(type), domain);
  }

  Value number(RankedTensorType type, Domain domain) override {
    if (type.getElementType() == element)
      return real(type.getShape(), domain);
    for (Value value : llvm::reverse(values))
      if (value.getType() == type && choose.chance(0.7))
        return value;
    int64_t low = type.getElementType().isUnsignedInteger() ? 0 : -9;
    return fresh(type, [&] { return choose.between(low, 9); });
  }

  Value indices(RankedTensorType type, int64_t limit) override {
    return fresh(type, [&] { return choose.between(-1, limit); });
  }

  Value integer(RankedTensorType type, int64_t low, int64_t high) override {
    return fresh(type, [&] { return choose.between(low, high); });
  }

  Value boolean(ArrayRef<int64_t> shape) override {
    auto type = RankedTensorType::get(shape, builder.getI1Type());
    for (Value value : llvm::reverse(values))
      if (value.getType() == type && choose.chance(0.7))
        return value;
    return fresh(type, [&] { return choose.between(0, 1); });
  }

  Type numberElement() override {
    if (choose.chance(0.7))
      return element;
    return integerElement();
  }

  void add(ValueRange results) { llvm::append_range(values, results); }

private:
  /// A new argument, a constant, or a constant of one value.
  template <typename Draw> Value fresh(RankedTensorType type, Draw draw) {
    Tensor tensor(type);
    double kind = choose.real(0, 1);
    double repeated = draw();
    for (int64_t i = 0; i < tensor.size(); ++i) {
      double value = kind < 0.2 ? repeated : draw();
      if (tensor.isFloat())
        tensor.real(i) = value;
      else
        tensor.integer(i) = static_cast<int64_t>(value);
    }
    tensor.roundToElementType();
    if (kind < 0.5)
      return ConstantOp::create(builder, loc(), type, tensor.toAttribute());
    arguments.push_back(std::move(tensor));
    return block.addArgument(type, loc());
  }

  /// A computed value, cut or padded and reshaped to the type.
  Value existing(RankedTensorType type) {
    SmallVector<Value> reals;
    for (Value value : values)
      if (tensorType(value).getElementType() == element) {
        reals.push_back(value);
        if (value.getType() == type && choose.chance(0.5))
          return value;
      }
    if (reals.empty())
      return fresh(type, [&] { return choose.inDomain(Domain::Any); });
    Value value = choose.pick(reals);
    int64_t want = type.getNumElements();
    int64_t have = tensorType(value).getNumElements();
    value = reshapeTo(builder, loc(), value, {have});
    if (have > want)
      value = SliceOp::create(builder, loc(), realType({want}), value, {0},
                              {want}, {1});
    else if (have < want)
      value = PadOp::create(builder, loc(), realType({want}), value, {0},
                            {want - have}, {0}, APFloat(0.75));
    return reshapeTo(builder, loc(), value, type.getShape());
  }

  /// Bounded, so that chains of exponentials stay finite.
  Value intoDomain(Value value, Domain domain) {
    if (domain == Domain::Any && choose.chance(0.7))
      return value;
    value = TanhOp::create(builder, loc(), value.getType(), value);
    if (domain == Domain::Any)
      return value;
    return AddOp::create(builder, loc(), value.getType(), value,
                         splatLike(builder, value, 1.5));
  }

  Block &block;
  std::vector<Tensor> &arguments;
  SmallVector<Value> values;
};
} // namespace

RandomGraph ingot::testing::makeRandomGraph(MLIRContext &context, uint64_t seed,
                                            int64_t size, FloatType element,
                                            int64_t stretch) {
  RandomGraph graph;
  OpBuilder builder(&context);
  Location loc = builder.getUnknownLoc();
  graph.module = ModuleOp::create(loc);
  builder.setInsertionPointToStart(graph.module->getBody());
  auto function =
      func::FuncOp::create(builder, loc, "f", builder.getFunctionType({}, {}));
  Block &block = *function.addEntryBlock();
  builder.setInsertionPointToStart(&block);

  Chooser choose(seed, stretch);
  Pool pool(builder, choose, element, block, graph.arguments);
  // Exchanges among one rank are their operand.
  ArrayRef<Entry> entries = catalogue().take_until([](const Entry &entry) {
    return entry.opNames.front() == AllReduceOp::getOperationName();
  });
  for (int64_t i = 0; i < size; ++i)
    pool.add(choose.pick(entries).build(pool)->getResults());

  SmallVector<Value> results;
  for (Operation &op : block)
    if (llvm::any_of(op.getResults(), [](Value r) { return r.use_empty(); }))
      llvm::append_range(results, op.getResults());
  func::ReturnOp::create(builder, loc, results);
  function.setType(builder.getFunctionType(block.getArgumentTypes(),
                                           ValueRange(results).getTypes()));
  return graph;
}

bool ingot::testing::hasHalves(ModuleOp module) {
  return module
      .walk([](CastOp cast) {
        Type element = cast.getType().getElementType();
        return element.isBF16() || element.isF16() ? WalkResult::interrupt()
                                                   : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Returns the function's results with noise; nothing if an op fails.
static std::optional<std::vector<Tensor>> evaluateWithNoise(RandomGraph &graph,
                                                            double noise) {
  auto function = graph.module->lookupSymbol<func::FuncOp>("f");
  Block &block = function.getBody().front();
  DenseMap<Value, Tensor> values;
  for (auto [argument, value] :
       llvm::zip(block.getArguments(), graph.arguments))
    values.try_emplace(argument, value);
  std::mt19937_64 random(0);
  std::uniform_real_distribution<double> draw(-1, 1);
  for (Operation &op : block.without_terminator()) {
    SmallVector<const Tensor *> operands;
    for (Value operand : op.getOperands())
      operands.push_back(&values.find(operand)->second);
    auto results = reference::evaluateOp(&op, operands);
    if (!results) {
      llvm::consumeError(results.takeError());
      return std::nullopt;
    }
    for (auto [value, result] : llvm::zip(op.getResults(), *results)) {
      for (int64_t i = 0; i < result.size() && result.isFloat(); ++i)
        if (!operands.empty())
          result.real(i) +=
              noise * draw(random) * std::max(1.0, std::abs(result.real(i)));
      values.try_emplace(value, std::move(result));
    }
  }
  std::vector<Tensor> results;
  for (Value value : block.getTerminator()->getOperands())
    results.push_back(values.find(value)->second);
  return results;
}

bool ingot::testing::isStable(RandomGraph &graph, double noise,
                              double tolerance) {
  auto exact = evaluateWithNoise(graph, 0),
       off = evaluateWithNoise(graph, noise);
  return exact && off &&
         llvm::all_of(llvm::zip(*exact, *off), [&](const auto &pair) {
           return reference::distance(std::get<0>(pair), std::get<1>(pair)) <=
                  tolerance;
         });
}
