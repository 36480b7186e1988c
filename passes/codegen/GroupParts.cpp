// SPDX-License-Identifier: Apache-2.0

#include "passes/codegen/GroupParts.h"

#include "dialects/ingot/ir/Dialect.h"
#include "mlir/IR/OperationSupport.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::codegen;

SmallVector<GroupPart> codegen::outlineParts(exec::KernelOp group) {
  Block &body = group.getBody().front();
  OpBuilder builder(group);
  SmallVector<GroupPart> parts;
  SmallVector<exec::KernelOp> kernels;
  unsigned firstResult = 0;
  for (auto loop : body.getOps<FusionOp>()) {
    GroupPart &part = parts.emplace_back();
    unsigned numResults = loop->getNumResults();
    SmallVector<int64_t> aliases;
    for (Value input : loop.getInputs()) {
      unsigned argument = cast<BlockArgument>(input).getArgNumber();
      int64_t alias = group.getAliases()[argument];
      aliases.push_back(alias < 0 ? -1 : alias - firstResult);
      assert(aliases.back() < numResults && "another loop's result");
      part.buffers.push_back(argument);
    }
    for (unsigned i = 0; i < numResults; ++i)
      part.buffers.push_back(body.getNumArguments() + firstResult + i);
    firstResult += numResults;

    auto equal = llvm::find_if(kernels, [&](exec::KernelOp kernel) {
      return kernel.getAliases() == ArrayRef(aliases) &&
             OperationEquivalence::isRegionEquivalentTo(
                 &kernel.getBody(), &loop.getBody(),
                 OperationEquivalence::IgnoreLocations);
    });
    if (equal != kernels.end()) {
      part.kernel = *equal;
      continue;
    }
    part.kernel = exec::KernelOp::create(
        builder, loop.getLoc(),
        (group.getSymName() + "_part_" + Twine(kernels.size())).str(),
        stringifyFusionKind(loop.getKind()), aliases);
    part.kernel.getBody().takeBody(loop.getBody());
    kernels.push_back(part.kernel);
  }
  return parts;
}
