// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Verification of the attributes that modules carry: what the manifest and the
// passes read of them is there, and has the type that they expect.
//
//===----------------------------------------------------------------------===//

#include "dialects/ingot/encoding/EncodingOps.h"
#include "dialects/ingot/exchange/Mesh.h"
#include "dialects/ingot/ir/Adapters.h"
#include "dialects/ingot/ir/Dialect.h"
#include "dialects/ingot/ir/Quantizers.h"
#include "dialects/ingot/partition/Partition.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringSet.h"
#include <cmath>

using namespace mlir;
using namespace ingot;

static InFlightDiagnostic emitInvalid(Operation *op, NamedAttribute attribute) {
  return op->emitOpError("F8: ")
         << attribute.getName().getValue() << " must be ";
}

static LogicalResult verifyString(Operation *op, NamedAttribute attribute) {
  if (isa<StringAttr>(attribute.getValue()))
    return success();
  return emitInvalid(op, attribute) << "a string, got " << attribute.getValue();
}

/// Numbers that count something are positive.
static LogicalResult verifyCount(Operation *op, NamedAttribute attribute) {
  auto number = dyn_cast<IntegerAttr>(attribute.getValue());
  if (number && number.getValue().isStrictlyPositive())
    return success();
  return emitInvalid(op, attribute)
         << "a positive integer, got " << attribute.getValue();
}

static LogicalResult verifyNames(Operation *op, NamedAttribute attribute) {
  auto names = dyn_cast<ArrayAttr>(attribute.getValue());
  if (!names || !llvm::all_of(names, llvm::IsaPred<StringAttr>))
    return emitInvalid(op, attribute)
           << "an array of strings, got " << attribute.getValue();
  llvm::StringSet<> seen;
  for (auto name : names.getAsRange<StringAttr>())
    if (!seen.insert(name.getValue()).second)
      return emitInvalid(op, attribute)
             << "different names, got " << name << " twice";
  return success();
}

static LogicalResult verifyLossTerms(Operation *op, NamedAttribute attribute) {
  auto terms = dyn_cast<ArrayAttr>(attribute.getValue());
  if (terms && !terms.empty() &&
      llvm::all_of(terms, llvm::IsaPred<LossTermAttr>))
    return success();
  return emitInvalid(op, attribute)
         << "an array of #ingot.loss_term, got " << attribute.getValue();
}

static LogicalResult verifyHyperparameters(Operation *op,
                                           NamedAttribute attribute) {
  auto list = dyn_cast<ArrayAttr>(attribute.getValue());
  llvm::StringSet<> seen;
  auto isValid = [&](Attribute entry) {
    auto fields = dyn_cast<DictionaryAttr>(entry);
    if (!fields || fields.size() != 2)
      return false;
    auto name = fields.getAs<StringAttr>("name");
    return name && fields.getAs<FloatAttr>("default") &&
           seen.insert(name.getValue()).second;
  };
  if (list && llvm::all_of(list, isValid))
    return success();
  return emitInvalid(op, attribute)
         << "an array of {name = string, default = float} with different "
            "names, got "
         << attribute.getValue();
}

static LogicalResult verifyAdapters(Operation *op, NamedAttribute attribute) {
  auto list = dyn_cast<ArrayAttr>(attribute.getValue());
  auto isValid = [](Attribute entry) {
    auto fields = dyn_cast<DictionaryAttr>(entry);
    auto hasAll = [&]<typename Type>(std::initializer_list<StringRef> names) {
      return llvm::all_of(
          names, [&](StringRef name) { return fields.getAs<Type>(name); });
    };
    return fields &&
           hasAll.operator()<FlatSymbolRefAttr>({"weight", "a", "b"}) &&
           hasAll.operator()<FloatAttr>({"scale", "alpha", "dropout"}) &&
           hasAll.operator()<StringAttr>({"module", "bias"});
  };
  if (list && llvm::all_of(list, isValid))
    return success();
  return emitInvalid(op, attribute)
         << "an array of adapters, got " << attribute.getValue();
}

static LogicalResult verifyQuantizers(Operation *op, NamedAttribute attribute) {
  auto list = dyn_cast<ArrayAttr>(attribute.getValue());
  auto isValid = [](Attribute entry) {
    auto fields = dyn_cast<DictionaryAttr>(entry);
    return fields && fields.getAs<FlatSymbolRefAttr>("scale") &&
           fields.getAs<IntegerAttr>("block") &&
           fields.getAs<FloatAttr>("least") &&
           fields.getAs<FloatAttr>("greatest");
  };
  if (list && llvm::all_of(list, isValid))
    return success();
  return emitInvalid(op, attribute)
         << "an array of quantizers, got " << attribute.getValue();
}

/// F10: the least value of a parameter.
static LogicalResult verifyLeast(Operation *op, NamedAttribute attribute) {
  auto least = dyn_cast<FloatAttr>(attribute.getValue());
  auto state = dyn_cast<StateOp>(op);
  if (state && state.getRole() == Role::Parameter && least &&
      least.getValue().isFinite())
    return success();
  return op->emitOpError("F10: ")
         << attribute.getName().getValue()
         << " must be a finite number on a parameter, got "
         << attribute.getValue();
}

/// F10: the bound of the values that a run draws.
static LogicalResult verifyUniform(Operation *op, NamedAttribute attribute) {
  auto bound = dyn_cast<FloatAttr>(attribute.getValue());
  auto state = dyn_cast<StateOp>(op);
  if (state && isa<FloatType>(state.getTensorType().getElementType()) &&
      bound && bound.getValue().isFinite() && !bound.getValue().isNegative())
    return success();
  return op->emitOpError("F10: ")
         << attribute.getName().getValue()
         << " must be a finite number on a state of floats, got "
         << attribute.getValue();
}

/// F11: the encoding of a state.
static LogicalResult verifyEncoding(Operation *op, NamedAttribute attribute) {
  auto state = dyn_cast<StateOp>(op);
  auto fields = dyn_cast<DictionaryAttr>(attribute.getValue());
  auto fail = [&](const Twine &what) {
    return op->emitOpError("F11: ")
           << attribute.getName().getValue() << " must " << what << ", got "
           << attribute.getValue();
  };
  if (!state || !fields ||
      !isa<Float32Type, Float16Type, BFloat16Type>(
          state.getTensorType().getElementType()))
    return fail("be a dictionary on a state in f32, f16 or bf16");
  auto kind = fields.getAs<StringAttr>("kind");
  auto block = fields.getAs<IntegerAttr>("block");
  auto parts = fields.getAs<ArrayAttr>("parts");
  if (!kind || !block || !parts ||
      !llvm::all_of(parts, llvm::IsaPred<FlatSymbolRefAttr>))
    return fail("have a kind, a block and the symbols of parts");
  auto encoding =
      parseEncoding(kind.getValue(), block.getInt(), parts.size() == 3);
  if (!encoding || parts.size() < 2 || parts.size() > 3)
    return fail("be one that docs/spec/encoding.md has");
  return success();
}

/// F12: the elements of a bucket that an element of a state is of.
static LogicalResult verifyBlock(Operation *op, NamedAttribute attribute) {
  auto block = dyn_cast<IntegerAttr>(attribute.getValue());
  if (isa<StateOp>(op) && block && block.getType().isSignlessInteger(64) &&
      block.getInt() > 0)
    return success();
  return op->emitOpError("F12: ")
         << attribute.getName().getValue()
         << " must be a positive i64 on a state, got " << attribute.getValue();
}

static LogicalResult verifyMesh(Operation *op, NamedAttribute attribute) {
  std::string problem = checkMesh(attribute.getValue());
  if (problem.empty())
    return success();
  return emitInvalid(op, attribute)
         << problem << ", got " << attribute.getValue();
}

/// F9: the partition of a state.
static LogicalResult verifyPartition(Operation *op, NamedAttribute attribute) {
  auto state = dyn_cast<StateOp>(op);
  std::string problem =
      state ? Partition::check(attribute.getValue(), state.getWholeType(),
                               Mesh::of(op))
            : "on a state, an argument or a result";
  if (problem.empty())
    return success();
  return op->emitOpError("F9: ")
         << attribute.getName().getValue() << " must be " << problem << ", got "
         << attribute.getValue();
}

static LogicalResult verifyBatches(Operation *op, NamedAttribute attribute) {
  auto batches = dyn_cast<DenseI64ArrayAttr>(attribute.getValue());
  if (!batches || llvm::any_of(batches.asArrayRef(),
                               [](int64_t batch) { return batch <= 0; }))
    return emitInvalid(op, attribute)
           << "an array of positive integers, got " << attribute.getValue();
  auto variants = op->getAttrOfType<ArrayAttr>(kVariantsAttr);
  if (variants && static_cast<int64_t>(variants.size()) == batches.size())
    return success();
  return emitInvalid(op, attribute)
         << "one number for each of " << kVariantsAttr << ", got "
         << attribute.getValue();
}

LogicalResult LossTermAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                   StringRef kind, FloatAttr factor,
                                   StringRef output, StringRef labels,
                                   std::optional<int64_t> classAxis,
                                   bool probabilities, bool wholeBatch) {
  if (kind.empty())
    return emitError() << "a term of the loss must have a kind";
  if (factor && !factor.getValue().isFinite())
    return emitError() << "the factor of a term must be finite, got " << factor;
  if (wholeBatch ? output.empty() || !labels.empty() : labels.empty())
    return emitError() << "a term must have labels, or the output that is the "
                          "loss of a whole batch";
  if (classAxis && (*classAxis < 1 || probabilities || wholeBatch))
    return emitError() << "the axis " << *classAxis
                       << " of classes must be one of labels that are classes, "
                          "after that of the samples";
  return success();
}

static LogicalResult verifySplitRows(Operation *op, NamedAttribute attribute) {
  auto axis = dyn_cast<StringAttr>(attribute.getValue());
  if (isa<FunctionOpInterface>(op) && axis && symbolizeAxis(axis.getValue()))
    return success();
  return op->emitOpError("F10: ")
         << attribute.getName() << " must be an axis, of a function, got "
         << attribute.getValue();
}

LogicalResult IngotDialect::verifyOperationAttribute(Operation *op,
                                                     NamedAttribute attribute) {
  using Verify = LogicalResult (*)(Operation *, NamedAttribute);
  StringRef name = attribute.getName();
  Verify verify = nullptr;
  if (name == kPartitionAttr)
    return verifyPartition(op, attribute);
  if (name == kSplitRowsAttr)
    return verifySplitRows(op, attribute);
  if (name == kEncodingAttr)
    return verifyEncoding(op, attribute);
  if (name == kBlockAttr)
    return verifyBlock(op, attribute);
  if (name == kUniformAttr)
    return verifyUniform(op, attribute);
  if (name == kLeastAttr)
    return verifyLeast(op, attribute);
  if (name == kModelAttr || name == kLossAttr || name == kPrecisionAttr ||
      name == kOptimizerAttr)
    verify = verifyString;
  else if (name == kBatchAttr || name == kGradAccumulationAttr ||
           name == kUncompressedStepsAttr)
    verify = verifyCount;
  else if (name == kMetricsAttr || name == kTrainMetricsAttr ||
           name == kShiftedLabelsAttr || name == kVariantsAttr)
    verify = verifyNames;
  else if (name == kLossTermsAttr)
    verify = verifyLossTerms;
  else if (name == kAdaptersAttr)
    verify = verifyAdapters;
  else if (name == kQuantizersAttr)
    verify = verifyQuantizers;
  else if (name == kHyperparametersAttr)
    verify = verifyHyperparameters;
  else if (name == kBatchesAttr)
    verify = verifyBatches;
  else if (name == kMeshAttr)
    verify = verifyMesh;
  if (!verify)
    return success();
  if (!isa<ModuleOp>(op))
    return op->emitOpError("F8: ")
           << attribute.getName().getValue() << " belongs to a module";
  return verify(op, attribute);
}
