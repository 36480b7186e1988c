// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// PruneWeights: chooses the weights that are pruned, and in which pattern.
//
// Assumes a forward function whose layers are where the model has them, and
// that it is known what is trained.
//
//===----------------------------------------------------------------------===//

#include "dialects/ingot/ir/Diagnostics.h"
#include "dialects/ingot/ir/Pruning.h"
#include "dialects/ingot/ir/Signature.h"
#include "dialects/ingot/support/ModulePath.h"
#include "dialects/ingot/support/Remarks.h"
#include "passes/adapt/LayerKinds.h"
#include "passes/adapt/Passes.h"
#include "llvm/ADT/MapVector.h"

namespace ingot {
#define GEN_PASS_DEF_PRUNEWEIGHTS
#include "passes/adapt/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;

namespace {

/// A parameter, and the layers that multiply by it.
struct Candidate {
  StateOp weight;
  BlockArgument argument;
  /// The path of its layer; empty if it is the weight of none.
  std::string path = {};
  /// The dimensions of outputs and inputs, where layers agree on them.
  std::optional<std::pair<int64_t, int64_t>> dims = {};
  /// The products with the weight.
  SmallVector<Operation *, 1> products = {};
  bool areDimsDifferent = false;

  bool isOfLayer() const { return !products.empty(); }
  StringRef getName() const { return StateOp(weight).getSymName(); }
};

struct PruneWeights : public ingot::impl::PruneWeightsBase<PruneWeights> {
  using PruneWeightsBase::PruneWeightsBase;

  void runOnOperation() override {
    if (prune.empty())
      return;
    forward = findFunction(getOperation(), "forward");
    if (!forward) {
      (void)emitOptionError(&getContext(), "prune",
                            "the model comes with its backward pass",
                            "compile an ONNX file that holds a forward graph");
      return signalPassFailure();
    }
    findCandidates();
    // Of each rule, the first weight that it names and cannot take.
    SmallVector<std::string> reasons(prune.size());
    SmallVector<bool> isMatched(prune.size()), isUsed(prune.size());
    for (Candidate &candidate : candidates) {
      bool isDecided = false;
      for (auto [i, rule] : llvm::enumerate(prune)) {
        if (!matches(rule, candidate))
          continue;
        isMatched[i] = true;
        if (std::exchange(isDecided, true))
          continue;
        std::string reason = whyNot(rule, candidate);
        if (reason.empty()) {
          isUsed[i] = true;
          take(rule, candidate);
        } else {
          if (reasons[i].empty())
            reasons[i] = "'" + candidate.getName().str() + "': " + reason;
          remark::missed(candidate.weight.getLoc(),
                         remarkOptions(getArgument(), "PrunedWeight"))
              << remark::metric("weight", candidate.getName())
              << remark::reason("{0}", reason);
        }
      }
    }
    for (auto [i, rule] : llvm::enumerate(prune))
      if (!isUsed[i] && failed(failUnused(rule, isMatched[i], reasons[i])))
        return signalPassFailure();
  }

private:
  void findCandidates();
  static bool matches(const PruneRule &rule, const Candidate &candidate);
  /// Returns why a rule cannot take a weight that it names; empty if it can.
  static std::string whyNot(const PruneRule &rule, const Candidate &candidate);
  void take(const PruneRule &rule, Candidate &candidate);
  LogicalResult failUnused(const PruneRule &rule, bool isMatched,
                           const std::string &reason);

  func::FuncOp forward;
  SmallVector<Candidate> candidates;
};

} // namespace

void PruneWeights::findCandidates() {
  llvm::MapVector<BlockArgument, Candidate> found;
  Signature signature(forward);
  for (BlockArgument argument : forward.getArguments()) {
    auto symbol = signature.argumentState(argument.getArgNumber());
    StateOp state = symbol ? findState(getOperation(), symbol) : StateOp();
    if (state && isa<FloatType>(state.getTensorType().getElementType()) &&
        (state.getRole() == Role::Parameter || state.getRole() == Role::Frozen))
      found[argument] = {state, argument};
  }
  for (const LayerKind *kind : getLayerKinds())
    forward.walk([&](Operation *op) {
      std::optional<LayerUse> use = kind->match(op);
      auto place = use ? found.find(use->weight) : found.end();
      auto dims = use ? kind->getMatrixDims(*use) : std::nullopt;
      if (place == found.end() || !dims)
        return;
      Candidate &candidate = place->second;
      if (!candidate.isOfLayer()) {
        auto bias = use->bias ? found.find(use->bias) : found.end();
        candidate.dims = dims;
        candidate.path =
            findLayerPath(op->getLoc(), candidate.getName(),
                          bias == found.end() ? "" : bias->second.getName());
      }
      candidate.areDimsDifferent |= candidate.dims != dims;
      candidate.products.push_back(op);
    });
  for (auto &[argument, candidate] : found)
    candidates.push_back(std::move(candidate));
}

bool PruneWeights::matches(const PruneRule &rule, const Candidate &candidate) {
  if (rule.pattern.empty())
    return candidate.isOfLayer();
  if (candidate.isOfLayer())
    return rule.pattern.match(candidate.getName()) ||
           rule.pattern.match(candidate.path);
  // The expression for a layer would find its bias.
  auto whole =
      NamePattern::parse("prune", "^(" + rule.pattern.getText() + ")$");
  if (!whole) {
    llvm::consumeError(whole.takeError());
    return false;
  }
  return whole->match(candidate.getName());
}

std::string PruneWeights::whyNot(const PruneRule &rule,
                                 const Candidate &candidate) {
  if (StateOp(candidate.weight).getRole() != Role::Parameter)
    return "it is not trained";
  bool isReadElsewhere =
      llvm::any_of(candidate.argument.getUsers(), [&](Operation *user) {
        return !llvm::is_contained(candidate.products, user);
      });
  if (rule.pattern.empty() && isReadElsewhere)
    return "something else than layers reads it, such as a lookup";
  if (!rule.needsLayer())
    return "";
  if (!candidate.isOfLayer())
    return "it has no outputs and inputs: it is the weight of no linear layer "
           "or convolution";
  if (candidate.areDimsDifferent)
    return "layers read it as it is, and as its transpose";
  ArrayRef<int64_t> shape =
      StateOp(candidate.weight).getTensorType().getShape();
  auto check = [&](int64_t dim, int64_t multiple, StringRef what) {
    int64_t size = shape[dim];
    return size % multiple == 0 ? ""
                                : (Twine(size) + " " + what +
                                   " are no multiple of " + Twine(multiple))
                                      .str();
  };
  if (rule.group)
    return check(candidate.dims->second, rule.group, "inputs");
  std::string reason = check(candidate.dims->first, rule.rows, "outputs");
  return reason.empty() ? check(candidate.dims->second, rule.columns, "inputs")
                        : reason;
}

void PruneWeights::take(const PruneRule &rule, Candidate &candidate) {
  Builder builder(&getContext());
  StateOp weight = candidate.weight;
  int64_t elements = weight.getTensorType().getNumElements();
  int64_t size = rule.hasBlocks() ? rule.rows * rule.columns : 1;
  SmallVector<NamedAttribute> fields;
  auto set = [&](StringRef name, Attribute value) {
    fields.push_back(builder.getNamedAttr(name, value));
  };
  auto setNumber = [&](StringRef name, int64_t value) {
    set(name, builder.getI64IntegerAttr(value));
  };
  set("weight", FlatSymbolRefAttr::get(weight.getSymNameAttr()));
  set("share", builder.getF64FloatAttr(rule.share));
  setNumber("blocks", elements / size);
  if (rule.needsLayer()) {
    setNumber("output_dim", candidate.dims->first);
    setNumber("input_dim", candidate.dims->second);
    setNumber("rows", std::max<int64_t>(rule.rows, 1));
    setNumber("columns", std::max<int64_t>(rule.columns, 1));
    setNumber("group", rule.group);
  }
  setNumber("begin", rule.begin);
  setNumber("end", rule.end);
  setNumber("every", rule.every);
  weight->setAttr(kPruningAttr, builder.getDictionaryAttr(fields));
  ++numPruned;
  remark::passed(weight.getLoc(), remarkOptions(getArgument(), "PrunedWeight"))
      << remark::metric("weight", candidate.getName())
      << remark::metric("module", candidate.path)
      << remark::metric("rule", rule.getText())
      << remark::metric("share", rule.share)
      << remark::metric("elements", elements);
}

LogicalResult PruneWeights::failUnused(const PruneRule &rule, bool isMatched,
                                       const std::string &reason) {
  if (!reason.empty())
    return emitOptionError(&getContext(), "prune",
                           "'" + rule.getText() +
                               "' can take no weight: " + reason,
                           "--remarks lists the reasons of all");
  if (isMatched)
    return emitOptionError(&getContext(), "prune",
                           "'" + rule.getText() + "' takes no weight",
                           "rules before it have all that it names");
  constexpr size_t listed = 4;
  StringRef text = StringRef(rule.pattern.getText()).take_front(100);
  SmallVector<StringRef> names;
  for (const Candidate &candidate : candidates)
    if (candidate.isOfLayer() || !rule.pattern.empty())
      names.push_back(candidate.getName());
  llvm::stable_sort(names, [&](StringRef a, StringRef b) {
    return a.edit_distance(text) < b.edit_distance(text);
  });
  std::string list;
  for (StringRef name : ArrayRef(names).take_front(listed))
    list += (list.empty() ? "'" : ", '") + name.str() + "'";
  if (names.size() > listed)
    list += " and " + std::to_string(names.size() - listed) + " more";
  if (rule.pattern.empty())
    return emitOptionError(&getContext(), "prune",
                           "'" + rule.getText() +
                               "' finds no linear layer and no convolution " +
                               (names.empty() ? "" : "that is left"),
                           "name other parameters, as in 0.5@NAME");
  return emitOptionError(&getContext(), "prune",
                         "'" + rule.pattern.getText() +
                             "' matches no parameter of the model",
                         "it has " + list +
                             "; the expression is found anywhere in the name "
                             "of a layer's weight, and is the whole name of "
                             "another parameter");
}
