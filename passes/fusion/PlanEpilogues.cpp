// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// Plans the epilogues of the library calls in a FusionPlan.
//===----------------------------------------------------------------------===//

#include "dialects/ingot/analysis/RowSpace.h"
#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/support/Remarks.h"
#include "passes/fusion/FusionPlan.h"

#include <cmath>

using namespace mlir;
using namespace ingot;

//===----------------------------------------------------------------------===//
// Epilogues
//===----------------------------------------------------------------------===//

static void noteNoEpilogue(Operation *call, StringRef reason) {
  remark::missed(call->getLoc(), remarkOptions("form-fusions", "Epilogue"))
      << remark::reason("{0}", reason);
}

/// Returns why the node `reader` cannot be the epilogue of the call `anchor`;
/// empty if it can.
StringRef FusionPlan::refuseEpilogue(unsigned anchor, unsigned reader) const {
  const FusionNode &node = nodes[reader];
  Operation *call = nodes[anchor].roots.front();
  if (node.kind == FusionKind::Row || node.kind == FusionKind::Reduction)
    return "a reduction reads whole rows or columns of the result";
  if (node.kind != FusionKind::Loop)
    return "no loop reads the result";
  if (graph.reaches(anchor, reader, /*skipDirect=*/true))
    return "the loop also waits for another reader";
  SmallVector<Operation *> ops(node.ops);
  ops.insert(ops.begin(), call);
  SmallVector<Value> results;
  for (Operation *root : node.roots)
    llvm::append_range(results, root->getResults());
  RowSpace space = RowSpace::ofResult(call);
  if (RowReads(space, ops, results, call).getConflict())
    return "the loop visits the elements in another order";
  RankedTensorType type = tensorType(call->getResult(0));
  bool hasPlace = false;
  for (Value result : results) {
    RankedTensorType other = tensorType(result);
    hasPlace |= other.getElementType() == type.getElementType() &&
                other.getNumElements() == type.getNumElements();
    // An update would overwrite a state while the bias gradient is being
    // computed.
    for (Value input : node.inputs)
      if (llvm::is_contained(result.getUsers(), block.getTerminator()) &&
          isa<BlockArgument>(input) && input.getType() == other)
        return "the loop overwrites one of its inputs";
  }
  return hasPlace ? "" : "no result of the loop can hold the call's result";
}

/// Returns the library call of a node that has no kernel yet, if it takes an
/// epilogue.
Operation *FusionPlan::findAnchor(unsigned node) const {
  if (nodes[node].kind || nodes[node].roots.empty())
    return nullptr;
  auto anchor = dyn_cast<EpilogueAnchor>(nodes[node].roots.front());
  return anchor && anchor.takesEpilogue() ? anchor.getOperation() : nullptr;
}

/// Loops over the elements of a library call's result become its epilogue.
void FusionPlan::formEpilogues() {
  for (unsigned i = 0; i < nodes.size(); ++i) {
    Operation *call = findAnchor(i);
    if (!call)
      continue;
    StringRef reason = "the result is not read";
    for (unsigned reader : llvm::to_vector(graph.getSuccessors(i))) {
      reason = refuseEpilogue(i, reader);
      if (!reason.empty())
        continue;
      absorb(i, reader, FusionKind::Epilogue);
      break;
    }
    if (!reason.empty())
      noteNoEpilogue(call, reason);
  }
}

//===----------------------------------------------------------------------===//
// Generated matmuls
//===----------------------------------------------------------------------===//

/// Returns why the matmul `anchor` and the loop `reader` do not become one
/// generated kernel; empty if they do. `reader` may be the matmul itself, which
/// then has no epilogue.
StringRef FusionPlan::refuseMatmulKernel(unsigned anchor, unsigned reader,
                                         MatmulKernel &kernel) const {
  const FusionNode &node = nodes[reader];
  if (anchor != reader)
    if (StringRef reason = refuseEpilogue(anchor, reader); !reason.empty())
      return reason;
  Operation *call = nodes[anchor].roots.front();
  int64_t read = 0, written = 0;
  for (Operation *root : node.roots)
    for (Value result : root->getResults()) {
      if (shards.lookup(result))
        return "a rank has only a shard of it";
      written += anchor == reader ? 0 : byteSize(tensorType(result));
    }
  for (Value input : node.inputs)
    if (anchor != reader && input != call->getResult(0))
      read += byteSize(tensorType(input));
  kernel = limits.kernels->describeMatmulKernel(cast<LibraryCall>(call), read,
                                                written);
  if (!kernel.reason.empty())
    return kernel.reason;
  return limits.forcesKernels || kernel.seconds < kernel.librarySeconds
             ? ""
             : "the library and a kernel are faster by the model";
}

/// Matmuls without an epilogue of the library become generated kernels where
/// these are faster.
void FusionPlan::formMatmulKernels() {
  auto tell = [](Operation *call, const MatmulKernel &kernel,
                 StringRef reason) {
    constexpr double micro = 1e6;
    auto microseconds = [&](double seconds) {
      return static_cast<int64_t>(std::lround(seconds * micro));
    };
    auto add = [&](auto &&text) {
      if (!reason.empty())
        text << remark::reason("{0}", reason);
      if (kernel.seconds > 0)
        text << remark::metric("kernel_us", microseconds(kernel.seconds))
             << remark::metric("library_us",
                               microseconds(kernel.librarySeconds));
    };
    remark::RemarkOpts options = remarkOptions("form-fusions", "MatmulKernel");
    if (reason.empty())
      add(remark::passed(call->getLoc(), options));
    else
      add(remark::missed(call->getLoc(), options));
  };
  for (unsigned i = 0; i < nodes.size(); ++i) {
    Operation *call = findAnchor(i);
    if (!call)
      continue;
    MatmulKernel kernel;
    std::string reason = "nothing follows the matmul";
    unsigned taken = i;
    bool isTaken = false;
    auto consider = [&](unsigned reader) {
      kernel = MatmulKernel();
      reason = refuseMatmulKernel(i, reader, kernel).str();
      isTaken = reason.empty();
      taken = reader;
    };
    for (unsigned reader : llvm::to_vector(graph.getSuccessors(i)))
      if (!isTaken)
        consider(reader);
    if (!isTaken && limits.forcesKernels)
      consider(i);
    tell(call, kernel, reason);
    if (!isTaken)
      continue;
    if (taken != i) {
      absorb(i, taken, FusionKind::Epilogue);
      continue;
    }
    nodes[i].kind = FusionKind::Epilogue;
    gather(nodes[i]);
  }
}

//===----------------------------------------------------------------------===//
// Library epilogues
//===----------------------------------------------------------------------===//

/// Returns true if stored values other than those of the epilogue are computed
/// from the matmul: its result would have to be in memory.
bool FusionPlan::hasOtherReaders(Value matmul,
                                 const LibraryEpilogue &epilogue) const {
  auto isWithin = [&](Value value) {
    return value == epilogue.result || value == epilogue.auxiliary;
  };
  if (epilogue.auxiliary == matmul)
    return false;
  SmallVector<Value> work = {matmul};
  DenseSet<Value> seen;
  while (!work.empty()) {
    Value value = work.pop_back_val();
    for (Operation *user : value.getUsers()) {
      if (user->getNumResults() == 1 && isWithin(user->getResult(0)))
        continue;
      if (isStored(user))
        return true;
      for (Value result : user->getResults())
        if (seen.insert(result).second)
          work.push_back(result);
    }
  }
  return false;
}

/// Stores the results of matmuls with a library epilogue. Other decisions
/// follow.
void FusionPlan::chooseLibraryEpilogues() {
  for (Operation &op : block) {
    if (!isa<EpilogueAnchor>(op))
      continue;
    StringRef reason;
    auto match = [&](bool activations) {
      LibraryEpilogueRules rules;
      auto isStoredOp = [&](Operation *def) { return isStored(def); };
      rules.isStored = isStoredOp;
      rules.activations = activations;
      std::optional<LibraryEpilogue> found =
          limits.library->match(&op, rules, reason);
      if (found && hasOtherReaders(op.getResult(0), *found)) {
        reason = "the matmul's result has other readers";
        found = std::nullopt;
      }
      return found;
    };
    std::optional<LibraryEpilogue> found = match(/*activations=*/true);
    if (found && found->activation == Activation::Gelu && found->auxiliary &&
        limits.tiles && isReadByTiles(found->result)) {
      reason = "a kernel computes its gelu with what is made of it, and would "
               "read it instead of the pre-activation";
      found = std::nullopt;
    }
    if (!found) {
      StringRef first = reason;
      found = match(/*activations=*/false);
      reason = first;
    }
    MatmulSums sums;
    sums.call = &op;
    sums.reason = reason;
    for (const BiasGradient &sum :
         limits.library->findBiasGradients(&op, found))
      if (isStored(sum.sum))
        sums.candidates.push_back(sum);
    matmulSums.push_back(std::move(sums));
    if (!found)
      continue;
    for (Value value :
         {found->bias, found->addend, found->auxiliary, found->result})
      // The operand of a view is stored.
      for (Operation *def = value ? value.getDefiningOp() : nullptr; def;
           def = def->hasTrait<SameBytes>() ? def->getOperand(0).getDefiningOp()
                                            : nullptr)
        store(def);
    libraryEpilogues.push_back({&op, *found});
  }
}

/// Returns why not; empty if it is done.
StringRef FusionPlan::formLibraryEpilogue(Operation *call,
                                          const LibraryEpilogue &epilogue) {
  unsigned anchor = nodeOf[call];
  unsigned reader = nodeOf[epilogue.result.getDefiningOp()];
  bool writesMore = epilogue.activation == Activation::Gelu &&
                    epilogue.auxiliary &&
                    epilogue.auxiliary != call->getResult(0);
  if (writesMore) {
    unsigned other = nodeOf[epilogue.auxiliary.getDefiningOp()];
    unsigned earlier = std::min(reader, other), later = std::max(reader, other);
    if (earlier != later) {
      if (nodes[earlier].kind != FusionKind::Loop ||
          nodes[later].kind != FusionKind::Loop ||
          getIterationSpace(nodes[earlier]) !=
              getIterationSpace(nodes[later]) ||
          graph.reaches(earlier, later, /*skipDirect=*/true) ||
          graph.reaches(later, earlier, /*skipDirect=*/false))
        return "the pre-activation of its gelu is not computed with the result";
      absorb(earlier, later, FusionKind::Loop);
    }
    reader = later;
  }
  if (StringRef reason = refuseEpilogue(anchor, reader); !reason.empty())
    return reason;
  absorb(anchor, reader, FusionKind::Epilogue);
  nodes[reader].library = epilogue;
  return "";
}

/// Lets the call of `matmul` compute the values of the node `extra`, too;
/// returns false if the two depend on each other.
bool FusionPlan::mergeExtra(unsigned matmul, unsigned extra) {
  if (graph.reaches(matmul, extra, /*skipDirect=*/true) ||
      graph.reaches(extra, matmul, /*skipDirect=*/false))
    return false;
  unsigned earlier = std::min(matmul, extra), later = std::max(matmul, extra);
  std::optional<LibraryEpilogue> library = nodes[matmul].library;
  absorb(earlier, later, FusionKind::Epilogue);
  nodes[earlier].library = std::nullopt;
  nodes[later].library = library;
  return true;
}

/// Returns why not; empty if it is done.
StringRef FusionPlan::formBiasGradient(Operation *call,
                                       const BiasGradient &gradient) {
  unsigned matmul = nodeOf[call], sum = nodeOf[gradient.sum];
  LibraryEpilogue epilogue;
  if (nodes[matmul].library)
    epilogue = *nodes[matmul].library;
  else
    epilogue.result = epilogue.sum = epilogue.activated = call->getResult(0);
  if (epilogue.biasGrad)
    return "the matmul already computes another bias gradient";
  if (!gradient.reason.empty())
    return gradient.reason;
  // The result of an activation's gradient is summed itself.
  bool ofResult = gradient.summed == Summed::Result;
  if (!ofResult &&
      (epilogue.bias || epilogue.activation != Activation::Identity))
    return "the matmul has another library epilogue";
  if (ofResult && !nodes[matmul].library)
    return "the library does not compute the value that is reduced";
  if (shards.lookup(gradient.sum->getResult(0)) ||
      shards.lookup(call->getResult(0)))
    return "a rank has only a shard of it";
  for (auto [i, node] : llvm::enumerate(nodes)) {
    if (i == sum || node.roots.empty() ||
        llvm::none_of(nodes[sum].inputs,
                      [&](Value v) { return node.inputs.contains(v); }))
      continue;
    unsigned other = i;
    if (mergedKind(std::min(other, sum), std::max(other, sum)))
      return "another kernel computes it in the same pass";
  }
  if (!mergeExtra(matmul, sum))
    return "the matmul and the reduction depend on each other";
  epilogue.biasGrad = gradient.sum->getResult(0);
  epilogue.summed = gradient.summed;
  nodes[nodeOf[call]].library = epilogue;
  return "";
}

/// Assigns each reduction to the first matmul that supports it.
void FusionPlan::formBiasGradients() {
  DenseSet<Operation *> taken;
  llvm::MapVector<Operation *, StringRef> refused;
  for (const MatmulSums &sums : matmulSums)
    for (const BiasGradient &gradient : sums.candidates) {
      if (taken.contains(gradient.sum))
        continue;
      StringRef reason = formBiasGradient(sums.call, gradient);
      if (reason.empty())
        taken.insert(gradient.sum);
      else
        refused.insert({gradient.sum, reason});
    }
  for (auto [sum, reason] : refused)
    if (!taken.contains(sum))
      remark::missed(sum->getLoc(),
                     remarkOptions("form-fusions", "BiasGradient"))
          << remark::reason("{0}", reason);
}

/// Runs before other nodes are merged: a library epilogue cannot include other
/// work.
void FusionPlan::formLibraryEpilogues() {
  llvm::DenseMap<Operation *, StringRef> refused;
  for (const auto &[call, epilogue] : libraryEpilogues)
    refused[call] = formLibraryEpilogue(call, epilogue);
  formBiasGradients();
  for (const MatmulSums &sums : matmulSums) {
    StringRef reason = refused.lookup(sums.call);
    if (!nodes[nodeOf[sums.call]].library)
      noteNoEpilogue(sums.call, reason.empty() ? sums.reason : reason);
  }
}
