// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// ExposeValues: returns every value of a function as a result, to compare
// builds value by value.
//
//===----------------------------------------------------------------------===//

#include "dialects/ingot/analysis/TensorLevel.h"
#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/ir/Diagnostics.h"
#include "dialects/ingot/ir/Signature.h"
#include "passes/graph/Passes.h"
#include "llvm/Support/FormatVariadic.h"

namespace ingot {
#define GEN_PASS_DEF_EXPOSEVALUES
#include "passes/graph/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;

namespace {
struct ExposeValues : ingot::impl::ExposeValuesBase<ExposeValues> {
  void runOnOperation() override {
    func::FuncOp func = getOperation();
    if (func.isDeclaration())
      return;
    if (failed(verifyTensorLevel(func, getArgument())))
      return signalPassFailure();
    Signature signature(func);
    ResultList results = ResultList::of(signature);
    Operation *loss = nullptr;
    if (std::optional<unsigned> index = signature.findResult("loss"))
      loss = results.entries[*index].value.getDefiningOp();
    ResultList exposed;
    StringRef part = "forward";
    for (Operation &op : func.getBody().front().without_terminator()) {
      SmallVector<std::string> nodes = nodeNames(op.getLoc());
      std::string node = nodes.empty() ? "" : nodes.back();
      bool isFloat = llvm::all_of(op.getResults(), [](Value value) {
        return isa<FloatType>(tensorType(value).getElementType());
      });
      if (isFloat && !isa<ConstantOp>(op))
        for (Value value : op.getResults())
          exposed.addNamed(llvm::formatv("{0,0+6}|{1}|{2}|{3}",
                                         exposed.entries.size(), part, node,
                                         op.getName().stripDialect())
                               .str(),
                           value);
      if (&op == loss)
        part = "backward";
    }
    // The values are appended after the loss, which stays the first result.
    auto place = results.entries.empty() ? results.entries.end()
                                         : std::next(results.entries.begin());
    results.entries.insert(place, exposed.entries.begin(),
                           exposed.entries.end());
    results.apply(signature);
  }
};
} // namespace
