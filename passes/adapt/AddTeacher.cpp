// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// AddTeacher: the model that another one learns from is checked and frozen.
//
// Assumes a module as it is imported: a teacher's function has the attributes
// of a forward function.
//
//===----------------------------------------------------------------------===//

#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/ir/Diagnostics.h"
#include "dialects/ingot/ir/EncodedState.h"
#include "dialects/ingot/ir/Signature.h"
#include "dialects/ingot/ir/Teacher.h"
#include "dialects/ingot/support/InferenceForms.h"
#include "dialects/ingot/support/Remarks.h"
#include "passes/adapt/Passes.h"
#include "llvm/ADT/StringExtras.h"

namespace ingot {
#define GEN_PASS_DEF_ADDTEACHER
#include "passes/adapt/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;

namespace {
struct AddTeacher : public ingot::impl::AddTeacherBase<AddTeacher> {
  using AddTeacherBase::AddTeacherBase;

  void runOnOperation() override {
    teacher = findFunction(getOperation(), kTeacherName);
    func::FuncOp forward = findFunction(getOperation(), kForwardName);
    if (!teacher && distill.empty())
      return;
    if (!teacher || !forward) {
      (void)emitOptionError(&getContext(), "distill",
                            teacher ? "the model comes with its backward pass"
                                    : "there is no teacher",
                            teacher ? "compile an ONNX file that holds a "
                                      "forward graph"
                                    : "name its ONNX file with --teacher");
      return signalPassFailure();
    }
    student = forward;
    stopTraining();
    if (failed(checkInputs()) || failed(checkPairs()) || failed(freeze()))
      return signalPassFailure();
  }

private:
  LogicalResult fail(const Twine &what, const Twine &hint) {
    return emitOptionError(&getContext(), "teacher", what, hint);
  }
  /// Ops have their inference forms, and states are not updated.
  void stopTraining();
  LogicalResult checkInputs();
  LogicalResult checkPairs();
  LogicalResult freeze();

  func::FuncOp teacher, student;
};
} // namespace

/// Prints a type as errors have it, such as f32[8x4].
static std::string print(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

void AddTeacher::stopTraining() {
  useInferenceForms(teacher);
  Signature signature(teacher);
  ResultList results;
  for (const ResultList::Entry &entry : ResultList::of(signature).entries)
    if (!entry.state())
      results.entries.push_back(entry);
  results.apply(signature);
  signature.eraseUnused();
}

LogicalResult AddTeacher::checkInputs() {
  Signature from(teacher), of(student);
  SmallVector<std::string> names;
  for (unsigned i = 0; i < of.numInputs(); ++i)
    names.push_back(("'" + of.argumentName(i) + "'").str());
  for (unsigned i = 0; i < from.numInputs(); ++i) {
    StringRef name = from.argumentName(i);
    BlockArgument found;
    for (unsigned k = 0; k < of.numInputs(); ++k)
      if (of.argumentName(k) == name)
        found = student.getArgument(k);
    if (!found)
      return fail("its input '" + name + "' is none of the student's",
                  "the student has " + llvm::join(names, ", ") +
                      ": export the teacher with the same names, or make a "
                      "constant of it with --value");
    if (Type type = teacher.getArgument(i).getType(); type != found.getType())
      return fail("its input '" + name + "' is " + print(type) +
                      ", the student's is " + print(found.getType()),
                  "both models read the same samples: export them for inputs "
                  "of the same shape and type");
  }
  return success();
}

LogicalResult AddTeacher::checkPairs() {
  Signature from(teacher), of(student);
  for (unsigned i = 0; i < from.getReturn()->getNumOperands(); ++i) {
    StringRef name = from.resultName(i);
    if (!isPaired(name))
      continue;
    std::optional<unsigned> k = of.findResult(name);
    if (!k)
      return fail("'" + name + "' is no result of the student",
                  "results distill.N are of both functions");
    auto want = cast<RankedTensorType>(student.getResultTypes()[*k]);
    auto got = cast<RankedTensorType>(teacher.getResultTypes()[i]);
    if (want.getShape() == got.getShape())
      continue;
    size_t number = 0;
    std::string which = name.str();
    if (!name.drop_front(kPairPrefix.size()).getAsInteger(10, number) &&
        number < distill.pairs.size())
      which = distill.pairs[number].first + ":" + distill.pairs[number].second;
    return emitOptionError(
        &getContext(), "distill",
        "the pair '" + which + "' is " + print(want) + " and " + print(got),
        "pairs have one shape: choose values of the same width");
  }
  return success();
}

LogicalResult AddTeacher::freeze() {
  ModuleOp module = getOperation();
  Signature signature(teacher);
  int64_t weights = 0, elements = 0, bytes = 0;
  for (BlockArgument argument : teacher.getArguments()) {
    FlatSymbolRefAttr symbol = signature.argumentState(argument.getArgNumber());
    StateOp state = symbol ? findState(module, symbol) : StateOp();
    if (!state)
      continue;
    if (state.getRole() != Role::Frozen && state.getRole() != Role::Parameter &&
        state.getRole() != Role::Running)
      return fail("it draws random numbers",
                  "export it for inference: its output has to be that of its "
                  "inputs");
    state.setRole(Role::Frozen);
    ++weights;
    elements += state.getTensorType().getNumElements();
    bytes += byteSize(state.getTensorType());
  }
  // What only training would have read.
  auto used = signature.mapStates();
  DenseSet<Attribute> parts;
  for (StateOp state : module.getOps<StateOp>())
    if (getEncoding(state))
      for (FlatSymbolRefAttr part : getParts(state))
        parts.insert(part);
  for (StateOp state : llvm::make_early_inc_range(module.getOps<StateOp>())) {
    auto symbol = FlatSymbolRefAttr::get(state.getSymNameAttr());
    if (state.getSymName().starts_with(kTeacherPrefix) &&
        !used.contains(symbol) && !parts.contains(symbol) &&
        !Signature(student).findArgument(symbol))
      state.erase();
  }
  remark::passed(teacher.getLoc(), remarkOptions(getArgument(), "Teacher"))
      << remark::metric("weights", weights)
      << remark::metric("elements", elements) << remark::metric("bytes", bytes)
      << remark::metric("temperature", distill.temperature)
      << remark::metric("alpha", distill.alpha)
      << remark::metric("pairs", static_cast<int64_t>(distill.pairs.size()));
  return success();
}
