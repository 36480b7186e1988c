// SPDX-License-Identifier: Apache-2.0

#include "tools/ingotc/checks/ModelChecks.h"

#include "dialects/exec/Exec.h"
#include "dialects/ingot/ir/Diagnostics.h"
#include "dialects/ingot/ir/Dialect.h"
#include "dialects/ingot/ir/Signature.h"
#include "dialects/ingot/ir/States.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/options/OptionValues.h"
#include "runtime/core/Error.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace ingot;

void ingot::checkTrainable(ModuleOp module, const CompilerOptions &options) {
  const auto &[freeze, trainable] =
      std::tie(options.import.freeze, options.import.trainable);
  bool hasParameter = false;
  module.walk([&](StateOp state) {
    hasParameter |= state.getRole() == Role::Parameter;
  });
  if (hasParameter || (freeze.empty() && trainable.empty()))
    return;
  bool isFrozen = !freeze.empty();
  const std::string &text = (isFrozen ? freeze : trainable).getText();
  throw runtime::usageError(
      isFrozen ? "--freeze" : "--trainable",
      "'" + text + "' leaves nothing to train",
      "parameters go by the names of the ONNX initializers; the expression is "
      "found anywhere in them, ^ and $ mark their ends");
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

namespace {
/// The names that regular expressions select from, each once.
struct Names {
  llvm::SetVector<StringRef> trained, initializers;
  llvm::SetVector<StringAttr> nodes;
};
} // namespace

static Names collectNames(ModuleOp module) {
  Names names;
  module.walk([&](StateOp state) {
    StringRef name = state.getSymName();
    if (state.getRole() == Role::Parameter)
      names.trained.insert(name);
    if (state.getRole() == Role::Parameter || state.getRole() == Role::Frozen ||
        state.getRole() == Role::Running)
      names.initializers.insert(name);
  });
  Builder builder(module.getContext());
  module.walk([&](func::FuncOp function) {
    function.walk([&](Operation *op) {
      if (op != function && !op->hasTrait<OpTrait::IsTerminator>())
        for (const std::string &name : nodeNames(op->getLoc()))
          names.nodes.insert(builder.getStringAttr(name));
    });
  });
  // What computes the loss goes by this name.
  names.nodes.insert(builder.getStringAttr("loss"));
  return names;
}

/// The names that resemble the text most, for a hint.
static std::string listClosest(SmallVector<StringRef> names, StringRef text) {
  constexpr size_t listed = 4;
  llvm::stable_sort(names, [&](StringRef a, StringRef b) {
    return a.edit_distance(text) < b.edit_distance(text);
  });
  std::string list;
  for (StringRef name : ArrayRef(names).take_front(listed))
    list += (list.empty() ? "'" : ", '") + name.str() + "'";
  if (names.size() > listed)
    list += " and " + std::to_string(names.size() - listed) + " more";
  return list;
}

/// Throws if the expression finds none of the names.
static void checkName(StringRef option, const NamePattern &pattern,
                      const SmallVector<StringRef> &names, StringRef kind) {
  if (pattern.empty() ||
      llvm::any_of(names, [&](StringRef name) { return pattern.match(name); }))
    return;
  // Distances to long texts take long, and say nothing.
  StringRef text = pattern.getText();
  StringRef start = text.take_front(100);
  throwUserError(makeOptionError(
      option, "'" + text + "' matches no " + kind + " of the model",
      names.empty() ? "the model has none; --allow-unmatched accepts this"
                    : "it has " + listClosest(names, start) +
                          "; --allow-unmatched accepts what matches nothing"));
}

/// Throws if no expression of --remat finds a node. Of several, which are
/// wishes for many models, those that find none are noted.
static void checkRemat(const PipelineOptions &options,
                       const SmallVector<StringRef> &nodes) {
  ArrayRef<RematRule> rules = options.remat;
  auto isUnmatched = [&](const RematRule &rule) {
    return llvm::none_of(
        nodes, [&](StringRef name) { return rule.pattern.match(name); });
  };
  std::vector<RematRule> unmatched;
  llvm::copy_if(rules, std::back_inserter(unmatched), isUnmatched);
  for (const RematRule &rule : unmatched) {
    if (unmatched.size() == rules.size())
      checkName("remat", rule.pattern, nodes, "node");
    llvm::errs() << printableLine("note: --remat: '" + Twine(rule.getText()) +
                                  "' matches no node of the model")
                 << "\n";
  }
}

void ingot::checkNames(ModuleOp module, const CompilerOptions &options) {
  const PipelineOptions &pipeline = *options.pipeline;
  Names names = collectNames(module);
  SmallVector<StringRef> trained(names.trained.begin(), names.trained.end());
  SmallVector<StringRef> initializers(names.initializers.begin(),
                                      names.initializers.end());
  SmallVector<StringRef> nodes;
  for (StringAttr name : names.nodes)
    nodes.push_back(name.getValue());
  RematNames remat = unwrap(RematNames::combine(
      pipeline.remat.getName(), ArrayRef<RematRule>(pipeline.remat)));
  for (StringRef name : nodes)
    if (remat.save.match(name) && remat.recompute.match(name))
      throwUserError(makeOptionError(
          pipeline.remat.getName(),
          "both save and recompute match the node '" + name + "'",
          "give expressions that exclude each other"));
  if (options.allowUnmatched)
    return;
  checkName("freeze", options.import.freeze, initializers, "parameter");
  checkName("trainable", options.import.trainable, initializers, "parameter");
  if (pipeline.noDecay.getText() != kNormsAndBiases)
    checkName("no-decay", pipeline.noDecay, trained, "trained parameter");
  checkName("keep-fp32", pipeline.keepFp32, nodes, "node");
  checkName("force-low", pipeline.forceLow, nodes, "node");
  checkRemat(pipeline, nodes);
}

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

/// Returns why a batch of `batch` samples cannot be read into a tensor of this
/// shape; empty if it can.
static std::string describeMisfit(ArrayRef<int64_t> shape, int64_t batch) {
  if (shape.empty())
    return "is a scalar, which has no dimension that counts samples";
  if (llvm::is_contained(shape, 0))
    return "has no elements";
  if (shape.front() != batch)
    return "has " + std::to_string(shape.front()) +
           " as its first dimension, the batch is " + std::to_string(batch);
  return "";
}

static int64_t getBatch(ModuleOp module) {
  auto batch = module->getAttrOfType<IntegerAttr>(kBatchAttr);
  return batch ? batch.getInt() : 0;
}

void ingot::checkInputs(ModuleOp module, const CompilerOptions &options) {
  module.walk([&](func::FuncOp forward) {
    Signature signature(forward);
    int64_t batch = getBatch(forward->getParentOfType<ModuleOp>());
    bool hasData = false;
    for (unsigned i = 0; i < signature.numInputs(); ++i) {
      if (signature.argumentKind(i) != "data")
        continue;
      hasData = true;
      auto type = cast<RankedTensorType>(forward.getArgumentTypes()[i]);
      if (std::string misfit = describeMisfit(type.getShape(), batch);
          !misfit.empty())
        throw runtime::badInput(
            options.model,
            "the input '" + signature.argumentName(i).str() + "' " + misfit,
            "trainers read samples along the first dimension of every input: "
            "make a constant of it with --value " +
                signature.argumentName(i).str() +
                "=0 (a state that starts at zero, for example), or export the "
                "model with samples along its first dimension");
    }
    if (!hasData)
      throw runtime::badInput(options.model, "no input reaches the outputs",
                              "a trainer reads its samples into inputs: export "
                              "the model with an input that it uses");
  });
}

void ingot::checkLabels(ModuleOp module) {
  for (auto step : module.getOps<exec::StepOp>()) {
    // Variants may have batches of their own, which their data inputs have.
    int64_t batch = getBatch(module);
    for (auto input : step.getInputs().getAsRange<exec::ValueAttr>())
      if (input.getKind() == "data" && input.getType().getRank() > 0)
        batch = input.getType().getDimSize(0);
    for (auto input : step.getInputs().getAsRange<exec::ValueAttr>()) {
      if (input.getKind() != "labels")
        continue;
      std::string misfit = describeMisfit(input.getType().getShape(), batch);
      if (!misfit.empty())
        throw runtime::usageError(
            "--loss", "the tensor of labels " + misfit,
            "the first dimension of the output that is compared with labels "
            "has to count the samples");
    }
  }
}
