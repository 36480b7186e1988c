// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// The results of an imported graph: outputs, or the loss and gradients of a
// training graph, and new values of states.
//===----------------------------------------------------------------------===//

#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/ir/Diagnostics.h"
#include "dialects/ingot/ir/Quantizers.h"
#include "dialects/ingot/ir/Signature.h"
#include "dialects/ingot/ir/Teacher.h"
#include "dialects/ingot/support/Remarks.h"
#include "frontends/onnx/import/Graph.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::onnx_import;

void GraphImporter::reportParameters() {
  SmallVector<std::string> trained;
  int64_t elements = 0;
  for (auto &[name, state] : stateValues) {
    if (state.role != Role::Parameter)
      continue;
    trained.push_back(name.str());
    elements += ingot::tensorType(state.argument).getNumElements();
  }
  remark::analysis(file, remarkOptions("import-onnx", "TrainedParameters")
                             .function(forward.getName()))
      << remark::metric("count", trained.size())
      << remark::metric("elements", elements)
      << remark::metric("names", llvm::join(trained, ", "));
}

void GraphImporter::addResult(Value value, StringRef attribute,
                              Attribute name) {
  results.push_back(value);
  resultAttrs.push_back(
      builder.getDictionaryAttr(builder.getNamedAttr(attribute, name)));
}

LogicalResult GraphImporter::addOutputs() {
  for (const onnx::ValueInfoProto &output : graph.output()) {
    Location where =
        NameLoc::get(StringAttr::get(module.getContext(), output.name()));
    const Binding *binding = lookup(output.name(), where);
    if (!binding)
      return failure();
    if (!binding->value)
      return emitUserError(where, "this output is not a tensor",
                           "export the model with tensor outputs");
    addResult(binding->value, kNameAttr, builder.getStringAttr(output.name()));
  }
  return success();
}

LogicalResult GraphImporter::addPaired() {
  for (auto [i, name] : llvm::enumerate(options.paired)) {
    bool isKnown = bindings.contains(name) || initializers.contains(name);
    const Binding *binding = isKnown ? lookup(name, file) : nullptr;
    if (isKnown && !binding)
      return failure();
    if (!binding || !binding->value ||
        !isa<FloatType>(ingot::tensorType(binding->value).getElementType()))
      return emitUserError(
          file, "--distill: it has no tensor of floats '" + name + "'",
          "pairs=STUDENT:TEACHER names outputs of nodes of the two ONNX files, "
          "as a viewer of them shows them");
    addResult(binding->value, kNameAttr,
              builder.getStringAttr(kPairPrefix + Twine(i)));
  }
  return success();
}

/// The results of a training step before the optimizer: those that
/// --ingot-differentiate would add.
LogicalResult GraphImporter::addLossAndGradients() {
  MLIRContext *context = module.getContext();
  Location where = NameLoc::get(StringAttr::get(context, "loss"));
  const Binding *loss = lookup(meaning.training->loss, where);
  if (!loss)
    return failure();
  auto type = loss->value ? ingot::tensorType(loss->value) : RankedTensorType();
  if (!type || type.getNumElements() != 1 ||
      !isa<FloatType>(type.getElementType()))
    return emitUserError(file,
                         "its first output, '" + meaning.training->loss +
                             "', is not a scalar loss",
                         "generate the artifacts with a loss");
  builder.setInsertionPointToEnd(body);
  Value scalar = reshapeTo(builder, where, loss->value, {});
  addResult(castTo(builder, where, scalar, builder.getF32Type()), kNameAttr,
            builder.getStringAttr("loss"));
  for (const auto &[parameter, value] : meaning.training->gradients) {
    auto role = roles.find(parameter);
    if (role == roles.end() || role->second != Role::Parameter)
      continue;
    Location at = NameLoc::get(StringAttr::get(context, parameter));
    const Binding *trained = lookup(parameter, at);
    const Binding *gradient = trained ? lookup(value, at) : nullptr;
    if (!gradient)
      return failure();
    if (!gradient->value ||
        gradient->value.getType() != trained->value.getType())
      return emitUserError(at,
                           "the gradient '" + value +
                               "' has another type than the parameter",
                           "the model contradicts itself; generate the "
                           "artifacts again");
    addResult(gradient->value, kGradientAttr,
              FlatSymbolRefAttr::get(context, parameter));
  }
  return success();
}

void GraphImporter::sayOverride(Location node, bool isWarning, StringRef what,
                                StringRef remedy) {
  auto known = llvm::find_if(
      overrides, [&](const Override &other) { return other.what == what; });
  if (known == overrides.end()) {
    overrides.push_back({isWarning, what.str(), remedy.str(), {}});
    known = std::prev(overrides.end());
  }
  known->nodes.insert(LocationAttr(node));
}

void GraphImporter::reportOverrides() {
  for (const Override &entry : overrides) {
    std::string nodes =
        describeLocation(Location(cast<LocationAttr>(entry.nodes.front())));
    if (entry.nodes.size() > 1)
      nodes += " and " + std::to_string(entry.nodes.size() - 1) + " more";
    std::string text = nodes + ": " + entry.what;
    if (entry.isWarning)
      emitUserWarning(file, text, entry.remedy);
    else
      file.getContext()->getDiagEngine().emit(file, DiagnosticSeverity::Note)
          << printableLine(text + "; " + entry.remedy);
  }
}

void GraphImporter::addObserved() {
  SmallVector<Attribute> described;
  for (const auto &[scale, value] : observed) {
    const Quantizer &quantizer = *findQuantizer(scale);
    addResult(value, kObservedAttr, builder.getStringAttr(scale));
    SmallVector<NamedAttribute> fields;
    auto set = [&](StringRef name, Attribute attribute) {
      fields.push_back(builder.getNamedAttr(name, attribute));
    };
    auto setState = [&](StringRef name, const std::string &state) {
      if (stateValues.contains(state))
        set(name, FlatSymbolRefAttr::get(module.getContext(), state));
    };
    setState("scale", scale);
    setState("zero_point", quantizer.zeroPoint);
    setState("low", quantizer.getLow());
    setState("high", quantizer.getHigh());
    if (quantizer.axis)
      set("axis", builder.getI64IntegerAttr(*quantizer.axis));
    set("block", builder.getI64IntegerAttr(quantizer.block));
    set("least", builder.getF64FloatAttr(quantizer.least));
    set("greatest", builder.getF64FloatAttr(quantizer.greatest));
    if (quantizer.isLearned)
      set("learned", builder.getUnitAttr());
    described.push_back(builder.getDictionaryAttr(fields));
  }
  if (!described.empty())
    module->setAttr(kQuantizersAttr, builder.getArrayAttr(described));
}

LogicalResult GraphImporter::finish() {
  if (failed(meaning.training ? addLossAndGradients() : addOutputs()) ||
      failed(addPaired()))
    return failure();
  for (auto &[name, state] : stateValues)
    if (name.starts_with(kTeacherPrefix))
      return emitUserError(
          file, "its weight '" + name + "' has a name that teachers' have",
          "rename the weight: names do not begin with " + kTeacherPrefix);
  countClasses();
  countRows();
  for (auto &[name, state] : stateValues) {
    if (state.current == state.argument)
      continue;
    addResult(state.current, kStateAttr,
              FlatSymbolRefAttr::get(module.getContext(), name));
  }
  addObserved();
  builder.setInsertionPointToEnd(body);
  func::ReturnOp::create(builder, file, results);

  // Erases ops that only computed shapes, and states without uses.
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(*body)))
    if (isOpTriviallyDead(&op))
      op.erase();
  llvm::BitVector unused(body->getNumArguments());
  SmallVector<DictionaryAttr> usedAttrs;
  // What is read by other functions of the module, or updated by a gradient.
  llvm::StringSet<> needed;
  for (auto function : module.getOps<func::FuncOp>())
    if (function != forward)
      for (unsigned i = 0; i < function.getNumArguments(); ++i)
        if (auto state =
                function.getArgAttrOfType<FlatSymbolRefAttr>(i, kStateAttr))
          needed.insert(state.getValue());
  llvm::StringSet<> updated;
  for (DictionaryAttr attributes : resultAttrs)
    if (auto parameter = attributes.getAs<FlatSymbolRefAttr>(kGradientAttr))
      updated.insert(parameter.getValue());
  for (BlockArgument argument : body->getArguments()) {
    auto name = arguments.find(argument);
    if (name == arguments.end() || !argument.use_empty() ||
        updated.contains(name->second)) {
      usedAttrs.push_back(argumentAttrs[argument.getArgNumber()]);
      continue;
    }
    unused.set(argument.getArgNumber());
    stateValues.erase(stateValues.find(name->second));
    if (needed.contains(name->second))
      continue;
    symbols.erase(symbols.lookup(name->second));
    states.erase(name->second);
  }
  body->eraseArguments(unused);
  forward.setType(builder.getFunctionType(body->getArgumentTypes(),
                                          ValueRange(results).getTypes()));
  forward.setAllArgAttrs(usedAttrs);
  forward.setAllResultAttrs(resultAttrs);
  // A model of scalars, or of empty inputs, has none.
  if (batch > 0)
    module->setAttr(kBatchAttr, builder.getI64IntegerAttr(batch));
  reportParameters();
  reportOverrides();
  return success();
}
