// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// EncodeBase: weights of linear layers that are not trained are stored as
// codes.
//
// Assumes a simplified forward function, and that what is trained is known.
//
//===----------------------------------------------------------------------===//

#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/encoding/EncodingOps.h"
#include "dialects/ingot/ir/Diagnostics.h"
#include "dialects/ingot/ir/Signature.h"
#include "dialects/ingot/ir/States.h"
#include "dialects/ingot/partition/Partition.h"
#include "dialects/ingot/support/ElementTypes.h"
#include "dialects/ingot/support/Remarks.h"
#include "dialects/ingot/support/Views.h"
#include "dialects/ingot/target/Target.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "passes/adapt/LayerKinds.h"
#include "passes/adapt/Passes.h"
#include "passes/graph/Projection.h"
#include "runtime/core/DType.h"
#include "llvm/ADT/MapVector.h"

namespace ingot {
#define GEN_PASS_DEF_ENCODEBASE
#include "passes/adapt/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;

namespace {

/// A matrix that is not trained, and the layers that multiply by it.
struct Matrix {
  StateOp weight;
  SmallVector<MatmulOp, 1> uses;
  bool isHead = false;
};

struct EncodeBase : ingot::impl::EncodeBaseBase<EncodeBase> {
  using EncodeBaseBase::EncodeBaseBase;

  void runOnOperation() override {
    bool comesWithCodes =
        llvm::any_of(getOperation().getOps<StateOp>(),
                     [](StateOp state) { return bool(getEncoding(state)); });
    if (base.empty() && !comesWithCodes)
      return;
    forward = findFunction(getOperation(), function);
    if (!forward && !base.empty()) {
      (void)emitOptionError(&getContext(), "base",
                            "the model comes with its backward pass",
                            "compile an ONNX file that holds a forward graph");
      return signalPassFailure();
    }
    if (!forward)
      return;
    findBases();
    bool isAny = false;
    for (auto &[argument, found] : bases) {
      if (getEncoding(found.weight)) {
        isAny |= useCodes(argument, found);
        continue;
      }
      if (base.empty())
        continue;
      StringRef reason = whyNot(argument, found);
      if (reason.empty()) {
        encode(argument, found);
        isAny = true;
      } else {
        remark::missed(found.weight.getLoc(),
                       remarkOptions(getArgument(), "EncodedWeight"))
            << remark::metric("weight", found.weight.getSymName())
            << remark::reason("{0}", reason);
      }
    }
    decodeOthers();
    if (!isAny && !base.empty()) {
      bool isTeacher = function != kForwardName;
      (void)emitOptionError(
          &getContext(), isTeacher ? "distill" : "base",
          "'" + base.getText() + "' finds no weight that can be encoded" +
              (isTeacher ? " in the teacher" : ""),
          isTeacher ? "it takes weights of linear layers but the last one: "
                      "leave out precision; --remarks says why weights are "
                      "left out"
                    : "it takes frozen weights of linear layers: add "
                      "--adapter, or freeze some with --freeze; --remarks says "
                      "why weights are left out");
      return signalPassFailure();
    }
    Signature(forward).eraseUnused();
  }

private:
  void findBases();
  StringRef whyNot(BlockArgument argument, Matrix &found);
  void encode(BlockArgument argument, Matrix &found);
  /// Multiplies by the codes of a matrix that comes with them. Returns false
  /// where something else reads it.
  bool useCodes(BlockArgument argument, Matrix &found);
  /// Replaces the matmuls of a matrix by those of its parts.
  void replaceUses(Matrix &found, ArrayRef<Value> parts);
  /// Gives the matrices that come with codes, and whose numbers are read, these
  /// numbers.
  void decodeOthers();
  ElementsAttr makeAttribute(StringRef name, RankedTensorType type,
                             ArrayRef<char> bytes);

  func::FuncOp forward;
  llvm::MapVector<BlockArgument, Matrix> bases;
};

} // namespace

void EncodeBase::findBases() {
  forward.walk([&](MatmulOp matmul) {
    std::optional<Projection> use = Projection::of(matmul);
    if (!use || use->weight.getOwner() != &forward.front())
      return;
    auto symbol = Signature(forward).argumentState(use->weight.getArgNumber());
    StateOp state = symbol ? findState(getOperation(), symbol) : StateOp();
    if (!state)
      return;
    Matrix &found = bases[use->weight];
    found.weight = state;
    found.uses.push_back(matmul);
    found.isHead |= isOutput(forward, use->result);
  });
}

/// Returns why the weight stays as it is; empty if it is encoded.
StringRef EncodeBase::whyNot(BlockArgument argument, Matrix &found) {
  // Scales and tables cost as much as codes of fewer would save.
  constexpr int64_t least = 1024;
  RankedTensorType type = found.weight.getTensorType();
  if (found.weight.getRole() != Role::Frozen)
    return "it is trained";
  if (!base.match(found.weight.getSymName()))
    return "--base does not name it";
  if (!isa<FloatType>(type.getElementType()) || type.getElementType().isF64())
    return "it is not in fp32, fp16 or bf16";
  if (found.isHead)
    return "it is that of the head of the model";
  for (Operation *user : argument.getUsers())
    if (!llvm::is_contained(found.uses, user))
      return "something else reads it, such as a lookup";
  if (splatValue(found.weight))
    return "all of its elements are equal";
  if (found.weight.getWhole() || found.weight->hasAttr(kPartitionAttr))
    return "ranks have parts of it";
  return type.getNumElements() < least ? "it is small" : "";
}

/// Returns the attribute of a part; large ones are not hashed.
ElementsAttr EncodeBase::makeAttribute(StringRef name, RankedTensorType type,
                                       ArrayRef<char> bytes) {
  constexpr size_t most = 1 << 16;
  if (bytes.size() < most)
    return DenseElementsAttr::getFromRawBuffer(type, bytes);
  return DenseResourceElementsAttr::get(
      type, name,
      HeapAsmResourceBlob::allocateAndCopyWithAlign(bytes, sizeof(float)));
}

void EncodeBase::replaceUses(Matrix &found, ArrayRef<Value> parts) {
  DictionaryAttr encoding = getEncoding(found.weight);
  bool isTransposed = hasTransposedParts(found.weight);
  for (MatmulOp matmul : found.uses) {
    OpBuilder at(matmul);
    Value decoded = DecodedMatmulOp::create(
        at, matmul.getLoc(), matmul.getType(), matmul.getLhs(), parts[0],
        parts[1], parts.size() > 2 ? parts[2] : Value(),
        matmul.getTransposeRhs() != isTransposed,
        encoding.getAs<StringAttr>("kind").getValue(),
        encoding.getAs<IntegerAttr>("block").getInt());
    matmul.replaceAllUsesWith(decoded);
    matmul.erase();
  }
}

bool EncodeBase::useCodes(BlockArgument argument, Matrix &found) {
  auto isUse = [&](Operation *user) {
    return llvm::is_contained(found.uses, user);
  };
  if (!encodesBases || !llvm::all_of(argument.getUsers(), isUse))
    return false;
  Signature signature(forward);
  SmallVector<Value> parts;
  int64_t stored = 0;
  for (FlatSymbolRefAttr symbol : getParts(found.weight)) {
    RankedTensorType type = findState(getOperation(), symbol).getTensorType();
    parts.push_back(signature.addState(symbol, type));
    stored += byteSize(type);
  }
  replaceUses(found, parts);
  ++numEncoded;
  remark::passed(found.weight.getLoc(),
                 remarkOptions(getArgument(), "EncodedWeight"))
      << remark::metric("weight", found.weight.getSymName())
      << remark::metric(
             "kind",
             getEncoding(found.weight).getAs<StringAttr>("kind").getValue())
      << remark::metric("bytes", stored)
      << remark::metric("bytes_saved",
                        byteSize(found.weight.getTensorType()) - stored);
  return true;
}

void EncodeBase::decodeOthers() {
  for (BlockArgument argument : forward.getArguments()) {
    auto symbol = Signature(forward).argumentState(argument.getArgNumber());
    StateOp state = symbol ? findState(getOperation(), symbol) : StateOp();
    if (!state || !getEncoding(state) || argument.use_empty())
      continue;
    std::string storage;
    StringRef bytes = stateBytes(state, storage);
    SmallVector<FlatSymbolRefAttr> parts = getParts(state);
    state->removeAttr(kEncodingAttr);
    state.setInitialAttr(makeAttribute(state.getSymName(),
                                       state.getTensorType(),
                                       ArrayRef(bytes.data(), bytes.size())));
    for (FlatSymbolRefAttr part : parts)
      findState(getOperation(), part).erase();
    remark::missed(state.getLoc(),
                   remarkOptions(getArgument(), "EncodedWeight"))
        << remark::metric("weight", state.getSymName())
        << remark::reason("{0}", encodesBases
                                     ? "something else than a linear layer "
                                       "reads its numbers"
                                     : "ranks with parts of weights, and "
                                       "devices, have no codes yet");
  }
}

void EncodeBase::encode(BlockArgument argument, Matrix &found) {
  ModuleOp module = getOperation();
  StateOp weight = found.weight;
  std::string name = weight.getSymName().str();
  RankedTensorType type = weight.getTensorType();
  auto encoding = *parseEncoding(base.kind, base.block, base.isDouble);
  std::string storage;
  StringRef bytes = stateBytes(weight, storage);
  std::vector<float> widened;
  if (!type.getElementType().isF32()) {
    widened.resize(type.getNumElements());
    runtime::convert(bytes.data(), getDType(type.getElementType()),
                     widened.data(), runtime::DType::F32,
                     type.getNumElements());
  }
  const float *numbers = widened.empty()
                             ? reinterpret_cast<const float *>(bytes.data())
                             : widened.data();
  // Blocks are in rows of outputs, as other programs have them.
  bool isTransposed = !found.uses.front().getTransposeRhs();
  std::vector<float> transposed;
  if (isTransposed) {
    int64_t rows = type.getDimSize(0), columns = type.getDimSize(1);
    transposed.resize(rows * columns);
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t k = 0; k < columns; ++k)
        transposed[k * rows + i] = numbers[i * columns + k];
    numbers = transposed.data();
  }
  quantization::Encoded encoded =
      quantization::encode(encoding, numbers, type.getNumElements());
  ArrayRef<char> content[] = {
      {reinterpret_cast<const char *>(encoded.codes.data()),
       encoded.codes.size()},
      {reinterpret_cast<const char *>(encoded.scales.data()),
       encoded.scales.size()},
      {reinterpret_cast<const char *>(encoded.nested.data()),
       encoded.nested.size() * sizeof(float)}};

  Signature signature(forward);
  SmallVector<Value> parts;
  SmallVector<Attribute> symbols;
  SmallVector<RankedTensorType> types =
      getPartTypes(&getContext(), encoding, type.getNumElements());
  int64_t stored = 0;
  for (auto [i, part] : llvm::enumerate(types)) {
    FlatSymbolRefAttr symbol =
        addState(module, getPartName(name, i), Role::Frozen, part);
    findState(module, symbol)
        .setInitialAttr(makeAttribute(symbol.getValue(), part, content[i]));
    symbols.push_back(symbol);
    parts.push_back(signature.addState(symbol, part));
    stored += byteSize(part);
  }
  // Nobody reads the numbers again, which may be a range of a file in memory.
  if (auto old = dyn_cast<DenseResourceElementsAttr>(weight.getInitial()))
    old.getRawHandle().getResource()->setBlob(AsmResourceBlob());
  setEncoding(weight, encoding, symbols, isTransposed);
  replaceUses(found, parts);
  ++numEncoded;
  remark::passed(weight.getLoc(), remarkOptions(getArgument(), "EncodedWeight"))
      << remark::metric("weight", name) << remark::metric("kind", base.kind)
      << remark::metric("bytes", stored)
      << remark::metric("bytes_saved", byteSize(type) - stored);
}
