// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Decompose: replaces composite ops by primitives.
//
//===----------------------------------------------------------------------===//

#include "passes/graph/Passes.h"

#include "dialects/ingot/target/Target.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace ingot {
#define GEN_PASS_DEF_DECOMPOSE
#include "passes/graph/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;

namespace {
struct Decompose : public ingot::impl::DecomposeBase<Decompose> {
  using DecomposeBase::DecomposeBase;

  void runOnOperation() override {
    target = Target::of(getOperation());
    // The decomposition of a composite may contain composites, which are
    // decomposed next.
    SmallVector<Decomposable> composites;
    getOperation().walk([&](Decomposable op) { add(op, composites); });
    while (!composites.empty()) {
      Decomposable op = composites.pop_back_val();
      replace(op, composites);
      ++numDecomposed;
    }
  }

private:
  void add(Decomposable op, SmallVectorImpl<Decomposable> &composites) {
    auto call = dyn_cast<LibraryCall>(*op);
    if (!keepAnchors || !call || !target->getCalls().getSupport(call))
      composites.push_back(op);
  }

  void replace(Decomposable op, SmallVectorImpl<Decomposable> &next) {
    Operation *before = op->getPrevNode();
    OpBuilder builder(op);
    op->replaceAllUsesWith(op.decompose(builder));
    Block::iterator first =
        before ? std::next(before->getIterator()) : op->getBlock()->begin();
    // For example, statistics without uses.
    SmallVector<Operation *> built;
    for (Operation &part : llvm::make_range(first, op->getIterator()))
      built.push_back(&part);
    op->erase();
    for (Operation *part : llvm::reverse(built))
      if (isOpTriviallyDead(part))
        part->erase();
      else if (auto composite = dyn_cast<Decomposable>(part))
        add(composite, next);
  }

  std::shared_ptr<const Target> target;
};
} // namespace
