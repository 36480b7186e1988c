// SPDX-License-Identifier: Apache-2.0

#include "passes/schedule/place/StepKernels.h"

#include "mlir/IR/AsmState.h"
#include "mlir/IR/IRMapping.h"
#include "passes/schedule/graph/LibraryCalls.h"

using namespace mlir;
using namespace ingot;

StepKernels::Extra StepKernels::takeExtra(FusionOp fusion, ValueRange inputs,
                                          SmallVectorImpl<Value> &outputs) {
  SmallVector<Operation *> ops = fusion.getExtraOps();
  if (ops.empty())
    return {};
  auto number = *fusion.getLibraryAttr().getBiasGrad();
  Operation *yield = fusion.getBody().front().getTerminator();
  Value result = yield->getOperand(number);
  Extra extra;
  extra.output = outputs[number];
  SetVector<Value> read;
  for (Operation *op : ops)
    for (Value operand : op->getOperands())
      if (!llvm::is_contained(ops, operand.getDefiningOp()))
        read.insert(operand);
  for (Value value : read) {
    if (auto argument = dyn_cast<BlockArgument>(value))
      extra.inputs.push_back(inputs[argument.getArgNumber()]);
    else
      extra.inputs.push_back(outputs[llvm::find(yield->getOperands(), value) -
                                     yield->getOperands().begin()]);
  }
  // The fusion is temporary, until its kernel is created.
  OpBuilder builder(fusion);
  auto part = FusionOp::create(
      builder, fusion.getLoc(), result.getType(),
      isa<Reduction>(ops.back()) ? FusionKind::Reduction : FusionKind::Loop,
      ValueRange(), /*library=*/LibraryEpilogueAttr());
  Block *body = builder.createBlock(&part.getBody());
  IRMapping within;
  for (Value value : read)
    within.map(value, body->addArgument(value.getType(), value.getLoc()));
  for (Operation *op : ops)
    builder.clone(*op, within);
  YieldOp::create(builder, fusion.getLoc(), within.lookup(result));
  extra.name =
      FlatSymbolRefAttr::get(get(part, SmallVector<int64_t>(read.size(), -1)));
  part.erase();
  yield->eraseOperand(number);
  outputs.erase(outputs.begin() + number);
  for (Operation *op : llvm::reverse(ops))
    if (op->use_empty())
      op->erase();
  return extra;
}

/// Returns `library` in terms of the call's table.
static LibraryEpilogueAttr
placeEpilogue(LibraryEpilogueAttr library, ValueRange inputs,
              ValueRange results, const DenseMap<Value, int64_t> &places) {
  if (!library)
    return {};
  auto find = [&](std::optional<int64_t> number,
                  ValueRange buffers) -> std::optional<int64_t> {
    auto place = number ? places.find(buffers[*number]) : places.end();
    return place == places.end() ? std::nullopt : std::optional(place->second);
  };
  return LibraryEpilogueAttr::get(
      library.getContext(), library.getActivation(),
      find(library.getBias(), inputs), find(library.getAddend(), inputs),
      find(library.getAuxiliary(), library.readsAuxiliary() ? inputs : results),
      find(library.getResult(), results).value_or(-1),
      find(library.getBiasGrad(), results), library.getSummed());
}

void StepKernels::callWithEpilogue(FusionOp fusion, ArrayRef<Value> inputs,
                                   ValueRange results, Value scratch,
                                   int64_t flops, const Target &target,
                                   OpBuilder &builder) {
  LibraryEpilogueAttr library = fusion.getLibraryAttr();
  unsigned productResult = *fusion.getAnchorResult();
  SmallVector<Value> outputs(results);
  Extra extra = takeExtra(fusion, inputs, outputs);
  Operation *anchor = fusion.getAnchor();
  Block &body = fusion.getBody().front();
  SmallVector<Value> operands, others;
  for (Value operand : anchor->getOperands())
    operands.push_back(inputs[cast<BlockArgument>(operand).getArgNumber()]);
  CallDescriptor descriptor = describeCall(cast<LibraryCall>(anchor), target);
  Value result = anchor->getResult(0);
  result.replaceAllUsesWith(
      body.insertArgument(0u, result.getType(), result.getLoc()));
  anchor->remove();
  anchor->dropAllReferences();
  int64_t product =
      llvm::find(outputs, results[productResult]) - outputs.begin();
  SmallVector<int64_t> aliases = {product};
  // The table: the matmul's result, inputs that the kernel reads, outputs,
  // and the buffers of the extra kernel.
  DenseMap<Value, int64_t> places;
  for (unsigned i = 0, e = inputs.size(); i < e; ++i) {
    if (body.getArgument(others.size() + 1).use_empty()) {
      body.eraseArgument(others.size() + 1);
      continue;
    }
    others.push_back(inputs[i]);
    places[inputs[i]] = static_cast<int64_t>(others.size());
  }
  for (auto [i, output] : llvm::enumerate(outputs))
    places[output] = 1 + static_cast<int64_t>(others.size() + i);
  if (extra.output)
    places[extra.output] =
        1 + static_cast<int64_t>(others.size() + outputs.size() +
                                 extra.inputs.size());
  aliases.append(others.size(), -1);
  FlatSymbolRefAttr finish;
  if (!llvm::all_of(body.getTerminator()->getOperands(),
                    llvm::IsaPred<BlockArgument>))
    finish = FlatSymbolRefAttr::get(get(fusion, aliases));
  createEpilogueCall(cast<LibraryCall>(anchor), descriptor, operands,
                     {finish, others, outputs, extra.name, extra.inputs,
                      extra.output, static_cast<unsigned>(product), flops,
                      placeEpilogue(library, inputs, results, places)},
                     scratch, builder);
  anchor->destroy();
}

StringAttr StepKernels::get(FusionOp fusion, ArrayRef<int64_t> aliases) {
  std::string key;
  llvm::raw_string_ostream os(key);
  os << stringifyFusionKind(fusion.getKind()) << " ";
  llvm::interleaveComma(aliases, os);
  llvm::interleaveComma(fusion.getBody().getArgumentTypes(), os);
  OpPrintingFlags flags;
  // Whatever the command line prints: no locations, and every constant.
  flags.printGenericOpForm().useLocalScope().enableDebugInfo(false);
  flags.elideLargeElementsAttrs(std::numeric_limits<int64_t>::max());
  AsmState state(fusion, flags);
  for (Operation &op : fusion.getBody().front())
    op.print(os, state);
  StringAttr &name = kernels[key];
  if (name)
    return name;

  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  name = builder.getStringAttr("kernel_" + std::to_string(kernels.size() - 1));
  auto kernel = exec::KernelOp::create(
      builder, fusion.getLoc(), name,
      builder.getStringAttr(stringifyFusionKind(fusion.getKind())),
      builder.getDenseI64ArrayAttr(aliases));
  kernel.getBody().takeBody(fusion.getBody());
  return name;
}
