// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// FormFusions: rewrites ops to `ingot.fusion` regions according to the plan
// (FusionPlan).
//===----------------------------------------------------------------------===//

#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/support/Remarks.h"
#include "dialects/ingot/target/Target.h"
#include "mlir/IR/IRMapping.h"
#include "passes/fusion/FusionPlan.h"
#include "passes/fusion/Passes.h"
#include "llvm/ADT/StringExtras.h"

namespace ingot {
#define GEN_PASS_DEF_FORMFUSIONS
#include "passes/fusion/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;

namespace {

/// Returns the attribute with the numbers of inputs and results that it refers
/// to; null if the result of the epilogue is not read.
LibraryEpilogueAttr describe(const LibraryEpilogue &epilogue,
                             ArrayRef<Value> inputs, ArrayRef<Value> results) {
  auto number = [](Value value,
                   ArrayRef<Value> values) -> std::optional<int64_t> {
    const auto *found = value ? llvm::find(values, value) : values.end();
    return found == values.end()
               ? std::nullopt
               : std::optional<int64_t>(found - values.begin());
  };
  bool isGradient = epilogue.activation == Activation::GeluGrad ||
                    epilogue.activation == Activation::ReluGrad;
  std::optional<int64_t> result = number(epilogue.result, results);
  if (!result)
    return {};
  return LibraryEpilogueAttr::get(
      epilogue.result.getContext(), epilogue.activation,
      number(epilogue.bias, inputs), number(epilogue.addend, inputs),
      number(epilogue.auxiliary, isGradient ? inputs : results), *result,
      number(epilogue.biasGrad, results),
      epilogue.biasGrad ? std::optional(epilogue.summed) : std::nullopt);
}

/// Returns the parts as remarks list them, such as "addend bias gelu".
std::string listParts(const LibraryEpilogue &epilogue) {
  SmallVector<StringRef> parts;
  if (epilogue.addend)
    parts.push_back("addend");
  if (epilogue.bias)
    parts.push_back("bias");
  if (epilogue.activation != Activation::Identity)
    parts.push_back(stringifyActivation(epilogue.activation));
  if (epilogue.biasGrad)
    parts.push_back("bias-gradient");
  return llvm::join(parts, " ");
}

struct FormFusions : ingot::impl::FormFusionsBase<FormFusions> {
  using FormFusionsBase::FormFusionsBase;

  void runOnOperation() override {
    func::FuncOp func = getOperation();
    if (func.isDeclaration())
      return;
    Block &block = func.getBody().front();
    FailureOr<Shards> shards = Shards::of(func);
    if (failed(shards))
      return signalPassFailure();
    splitWideConcats(block);
    std::unique_ptr<const Target> target = Target::of(func);
    const Machine &machine = target->getMachine();
    const TargetKernels &kernels = target->getKernels();
    MatmulChoice choice = kernels.getMatmulChoice();
    double opsOfLaunch = kernels.repeatsColumns()
                             ? machine.vectorF32 * machine.launchSeconds
                             : 0;
    FusionPlan plan(
        block, *shards,
        FusionLimits{each, rows, epilogues, kernels.getEpilogueLibrary(),
                     choice == MatmulChoice::Never ? nullptr : &kernels,
                     kernels.hasTiles(),
                     /*forcesKernels=*/choice == MatmulChoice::Always, maxOps,
                     maxInputs, maxRootOps, opsOfLaunch,
                     kernels.splitsReductions(), [&](const RowSpace &space) {
                       return kernels.sumsRows(space.rows, space.length);
                     }});

    SmallVector<Operation *> originals = llvm::to_vector_of<Operation *>(
        llvm::make_pointer_range(block.without_terminator()));
    OpBuilder builder(block.getTerminator());
    IRMapping stored;
    llvm::SmallPtrSet<Operation *, 32> kept;
    for (const FusionNode &node : plan.getNodes()) {
      if (node.kind) {
        fuse(node, builder, stored);
        continue;
      }
      Operation *op = node.roots.front();
      for (OpOperand &operand : op->getOpOperands())
        operand.set(stored.lookupOrDefault(operand.get()));
      kept.insert(op);
      if (op != block.getTerminator())
        op->moveBefore(block.getTerminator());
    }
    for (Operation *op : llvm::reverse(originals))
      if (!kept.contains(op))
        op->erase();
  }

  /// An element of a concatenation tests one input after the other, and a
  /// kernel has a parameter for each.
  void splitWideConcats(Block &block) {
    for (auto concat : llvm::make_early_inc_range(block.getOps<ConcatOp>())) {
      if (maxParts < 2 || concat.getInputs().size() <= maxParts)
        continue;
      OpBuilder builder(concat);
      SmallVector<Value> values(concat.getInputs());
      while (values.size() > 1) {
        SmallVector<Value> joined;
        for (ArrayRef<Value> rest = values; !rest.empty();) {
          ArrayRef<Value> next = rest.take_front(maxParts);
          rest = rest.drop_front(next.size());
          joined.push_back(next.size() == 1
                               ? next.front()
                               : ConcatOp::create(builder, concat.getLoc(),
                                                  next, concat.getDim()));
        }
        values = std::move(joined);
      }
      concat.replaceAllUsesWith(values.front());
      concat.erase();
    }
  }

  void fuse(const FusionNode &node, OpBuilder &builder, IRMapping &stored) {
    SmallVector<Location> locations;
    SmallVector<Type> types;
    SmallVector<Value> results, inputs;
    for (Operation *op : node.ops)
      if (isa<EpilogueAnchor>(op) && !llvm::is_contained(node.roots, op))
        locations.push_back(op->getLoc());
    for (Operation *root : node.roots) {
      locations.push_back(root->getLoc());
      llvm::append_range(results, root->getResults());
    }
    for (Value result : results)
      types.push_back(result.getType());
    for (Value input : node.inputs)
      inputs.push_back(stored.lookupOrDefault(input));
    Location loc = FusedLoc::get(builder.getContext(), locations);

    auto fusion = FusionOp::create(
        builder, loc, types,
        FusionKindAttr::get(builder.getContext(), *node.kind), inputs,
        node.library
            ? describe(*node.library, node.inputs.getArrayRef(), results)
            : LibraryEpilogueAttr());
    OpBuilder::InsertionGuard guard(builder);
    Block *body = builder.createBlock(&fusion.getBody());
    IRMapping within;
    for (Value input : node.inputs)
      within.map(input, body->addArgument(input.getType(), input.getLoc()));
    for (Operation *op : node.ops)
      builder.clone(*op, within);
    SmallVector<Value> yielded;
    for (Value result : results)
      yielded.push_back(within.lookup(result));
    YieldOp::create(builder, loc, yielded);
    stored.map(results, fusion.getResults());

    numFusions += 1;
    numFused += node.ops.size();
    if (node.library)
      remark::passed(loc, remarkOptions(getArgument(), "Epilogue"))
          << remark::metric("library", listParts(*node.library));
    if (node.ops.size() > 1)
      remark::passed(loc, remarkOptions(getArgument(), "Fusion"))
          << remark::metric("ops", node.ops.size())
          << remark::metric("inputs", inputs.size())
          << remark::metric("results", results.size());
  }
};

} // namespace
