// SPDX-License-Identifier: Apache-2.0

#include "frontends/onnx/LinkTeacher.h"

#include "dialects/ingot/ir/Diagnostics.h"
#include "dialects/ingot/ir/InputAttributes.h"
#include "dialects/ingot/ir/Signature.h"
#include "dialects/ingot/ir/Teacher.h"
#include "mlir/IR/AttrTypeSubElements.h"

using namespace mlir;
using namespace ingot;

/// Gives states, references to them, and nodes their prefix.
static void rename(ModuleOp teacher) {
  MLIRContext *context = teacher.getContext();
  auto prefixed = [&](StringRef name) {
    return StringAttr::get(context, kTeacherPrefix + name);
  };
  DenseSet<StringAttr> states;
  for (StateOp state : teacher.getOps<StateOp>())
    states.insert(state.getSymNameAttr());
  AttrTypeReplacer replacer;
  replacer.addReplacement(
      [&](FlatSymbolRefAttr symbol) -> std::optional<Attribute> {
        if (!states.contains(symbol.getAttr()))
          return std::nullopt;
        return FlatSymbolRefAttr::get(prefixed(symbol.getValue()));
      });
  // The path of a module within the location of a node keeps its name.
  replacer.addReplacement(
      [&](NameLoc node) -> std::optional<std::pair<Attribute, WalkResult>> {
        return std::pair<Attribute, WalkResult>(
            NameLoc::get(prefixed(node.getName()), node.getChildLoc()),
            WalkResult::skip());
      });
  replacer.recursivelyReplaceElementsIn(teacher, /*replaceAttrs=*/true,
                                        /*replaceLocs=*/true);
  for (StateOp state : teacher.getOps<StateOp>())
    state.setSymNameAttr(prefixed(state.getSymName()));
}

/// Takes the smaller number of classes of inputs that both models have: the
/// trainer checks data by it.
static void limitClasses(func::FuncOp student, func::FuncOp teacher) {
  Signature of(student), from(teacher);
  for (unsigned i = 0; i < from.numInputs(); ++i)
    for (unsigned k = 0; k < of.numInputs(); ++k) {
      auto limit = teacher.getArgAttrOfType<IntegerAttr>(i, kClassesAttr);
      auto known = student.getArgAttrOfType<IntegerAttr>(k, kClassesAttr);
      if (limit && from.argumentName(i) == of.argumentName(k) &&
          (!known || limit.getInt() < known.getInt()))
        student.setArgAttr(k, kClassesAttr, limit);
    }
}

LogicalResult onnx_import::linkTeacher(ModuleOp module, ModuleOp teacher) {
  for (ModuleOp model : {module, teacher})
    for (auto function : model.getOps<func::FuncOp>())
      if (function.getName() != kForwardName)
        return emitUserError(
            model.getLoc(), "the model comes with its backward pass",
            "--teacher takes two ONNX files that hold a forward graph");
  rename(teacher);
  func::FuncOp student = findFunction(module, kForwardName);
  func::FuncOp function = findFunction(teacher, kForwardName);
  function.setName(kTeacherName);
  limitClasses(student, function);
  for (StateOp state : llvm::make_early_inc_range(teacher.getOps<StateOp>()))
    state->moveBefore(student);
  function->moveAfter(student);
  return success();
}
