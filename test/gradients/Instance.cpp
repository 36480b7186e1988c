// SPDX-License-Identifier: Apache-2.0

#include "test/gradients/Instance.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::testing;
using reference::Tensor;

Tensor ingot::testing::randomTensor(RankedTensorType type, Chooser &choose,
                                    Domain domain) {
  Tensor tensor(type);
  for (int64_t i = 0; i < tensor.size(); ++i)
    tensor.real(i) = choose.inDomain(domain);
  tensor.roundToElementType();
  return tensor;
}

namespace ingot::testing {
/// Makes every operand an argument of the function.
class Recorder : public Source {
public:
  Recorder(OpBuilder &builder, Chooser &choose, FloatType element,
           Instance &instance)
      : Source(builder, choose, element), instance(instance) {}

  Value real(ArrayRef<int64_t> shape, Domain domain) override {
    return argument(randomTensor(realType(shape), choose, domain));
  }

  Value number(RankedTensorType type, Domain domain) override {
    return argument(randomTensor(type, choose, domain));
  }

  Value indices(RankedTensorType type, int64_t limit) override {
    Tensor tensor(type);
    for (int64_t i = 0; i < tensor.size(); ++i)
      tensor.integer(i) = choose.between(-1, limit);
    return argument(std::move(tensor));
  }

  Value integer(RankedTensorType type, int64_t low, int64_t high) override {
    Tensor tensor(type);
    for (int64_t i = 0; i < tensor.size(); ++i)
      tensor.integer(i) = choose.between(low, high);
    return argument(std::move(tensor));
  }

  Value boolean(ArrayRef<int64_t> shape) override {
    Tensor tensor(RankedTensorType::get(shape, builder.getI1Type()));
    for (int64_t i = 0; i < tensor.size(); ++i)
      tensor.integer(i) = choose.chance(0.5);
    return argument(std::move(tensor));
  }

private:
  Value argument(Tensor tensor) {
    Value value = instance.function.getBody().front().addArgument(
        tensor.getType(), loc());
    instance.arguments.push_back(std::move(tensor));
    return value;
  }

  Instance &instance;
};
} // namespace ingot::testing

Instance::Instance(MLIRContext &context, const Entry &entry, uint64_t seed,
                   FloatType element) {
  OpBuilder builder(&context);
  Location loc = builder.getUnknownLoc();
  module = ModuleOp::create(loc);
  builder.setInsertionPointToStart(module->getBody());
  function =
      func::FuncOp::create(builder, loc, "f", builder.getFunctionType({}, {}));
  builder.setInsertionPointToStart(function.addEntryBlock());
  Chooser choose(seed);
  Recorder source(builder, choose, element, *this);
  op = entry.build(source);
  func::ReturnOp::create(builder, loc);
  setResults(function, op->getResults());
}

int64_t Instance::getArgumentOf(unsigned i) {
  auto argument = dyn_cast<BlockArgument>(op->getOperand(i));
  if (!argument || !isa<FloatType>(tensorType(argument).getElementType()))
    return -1;
  return argument.getArgNumber();
}

std::pair<func::FuncOp, Operation *>
ingot::testing::copyFunction(Instance &from, StringRef name) {
  OpBuilder builder(from.getFunction());
  IRMapping mapping;
  auto copy = cast<func::FuncOp>(
      builder.clone(*from.getFunction().getOperation(), mapping));
  copy.setName(name);
  return {copy, mapping.lookup(from.getOp())};
}

void ingot::testing::setResults(func::FuncOp function, ValueRange values) {
  Block &block = function.getBody().front();
  block.getTerminator()->setOperands(values);
  function.setType(FunctionType::get(
      function.getContext(), block.getArgumentTypes(), values.getTypes()));
}
