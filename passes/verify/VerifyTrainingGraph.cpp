// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// VerifyTrainingGraph: what fusion and the schedule assume of a training graph.
//
//===----------------------------------------------------------------------===//

#include "dialects/ingot/exchange/ExchangeOps.h"
#include "dialects/ingot/ir/Quantizers.h"
#include "dialects/ingot/ir/Signature.h"
#include "passes/verify/Passes.h"
#include "llvm/ADT/StringSet.h"

namespace ingot {
#define GEN_PASS_DEF_VERIFYTRAININGGRAPH
#include "passes/verify/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;

static LogicalResult verifyArguments(Signature signature) {
  func::FuncOp func = signature.getFunction();
  llvm::StringSet<> names, states;
  for (unsigned i = 0; i < func.getNumArguments(); ++i) {
    StringRef name = signature.argumentName(i);
    if (FlatSymbolRefAttr state = signature.argumentState(i)) {
      if (!states.insert(state.getValue()).second)
        return func.emitOpError("two arguments are the state ") << state;
    } else if (name.empty() || signature.argumentKind(i).empty()) {
      return func.emitOpError("argument ")
             << i << " is neither a state nor an input with a name and a kind";
    } else if (!names.insert(name).second) {
      return func.emitOpError("two arguments are called '") << name << "'";
    } else if (signature.argumentKind(i) == kCotangentKind) {
      return func.emitOpError("argument ")
             << i << " is a cotangent: the gradient is not complete";
    }
  }
  return success();
}

static LogicalResult verifyResults(Signature signature, bool updatesStates) {
  func::FuncOp func = signature.getFunction();
  llvm::StringSet<> names, states;
  for (unsigned i = 0; i < func.getNumResults(); ++i) {
    if (FlatSymbolRefAttr parameter = signature.resultGradient(i))
      return func.emitOpError("result ")
             << i << " is the gradient of " << parameter
             << ", which no optimizer has taken";
    if (FlatSymbolRefAttr state = signature.resultState(i)) {
      if (!updatesStates)
        return func.emitOpError("updates the state ") << state;
      if (!states.insert(state.getValue()).second)
        return func.emitOpError("updates the state ") << state << " twice";
    } else if (signature.resultName(i).empty()) {
      return func.emitOpError("result ")
             << i << " is neither a state nor an output with a name";
    } else if (!names.insert(signature.resultName(i)).second) {
      return func.emitOpError("two results are called '")
             << signature.resultName(i) << "'";
    }
  }
  return success();
}

static LogicalResult verifyBody(func::FuncOp func) {
  for (Operation &op : func.getBody().front()) {
    // Sums over data are those of gradients.
    auto exchange = dyn_cast<Exchange>(op);
    if (exchange && (!isa<LibraryCall>(op) ||
                     llvm::is_contained(exchange.getExchangeAxes(),
                                        static_cast<int64_t>(Axis::Data))))
      return op.emitOpError("is left, which no bucket has taken");
    auto end = dyn_cast<BucketEnd>(op);
    if (end && end.getBucket().getDefiningOp() == &op &&
        !llvm::hasSingleElement(end.getBucket().getUsers()))
      return op.emitOpError("is waited for by ")
             << llvm::range_size(end.getBucket().getUsers())
             << " ops, want one";
  }
  return success();
}

namespace {
struct VerifyTrainingGraph
    : ingot::impl::VerifyTrainingGraphBase<VerifyTrainingGraph> {
  void runOnOperation() override {
    if (failed(verifyModule(getOperation())))
      return signalPassFailure();
    markAllAnalysesPreserved();
  }

private:
  static LogicalResult verifyModule(ModuleOp module) {
    if (func::FuncOp forward = findFunction(module, kForwardName))
      return forward.emitOpError("is left beside the steps made of it");
    if (!findFunction(module, kTrainStepName))
      return module.emitOpError("has no function @") << kTrainStepName;
    for (auto func : module.getOps<func::FuncOp>()) {
      if (func.isDeclaration())
        continue;
      bool updatesStates = func.getName() != kEvalStepName &&
                           func.getName() != kPredictName &&
                           func.getName() != kObserveName;
      Signature signature(func);
      if (failed(verifyArguments(signature)) ||
          failed(verifyResults(signature, updatesStates)) ||
          failed(verifyBody(func)))
        return failure();
    }
    return success();
  }
};
} // namespace
