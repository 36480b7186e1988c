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
#include "dialects/ingot/support/Remarks.h"
#include "dialects/ingot/support/Views.h"
#include "dialects/ingot/target/Target.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "passes/adapt/Passes.h"
#include "passes/graph/Projection.h"
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
    if (base.empty())
      return;
    forward = findFunction(getOperation(), "forward");
    if (!forward) {
      (void)emitOptionError(&getContext(), "base",
                            "the model comes with its backward pass",
                            "compile an ONNX file that holds a forward graph");
      return signalPassFailure();
    }
    findBases();
    bool isAny = false;
    for (auto &[argument, found] : bases) {
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
    if (!isAny) {
      (void)emitOptionError(
          &getContext(), "base",
          "'" + base.getText() + "' finds no weight that can be encoded",
          "it takes frozen weights of linear layers: add --adapter, or freeze "
          "some with --freeze; --remarks says why weights are left out");
      return signalPassFailure();
    }
    Signature(forward).eraseUnused();
  }

private:
  void findBases();
  StringRef whyNot(BlockArgument argument, Matrix &found);
  void encode(BlockArgument argument, Matrix &found);
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
    found.isHead |= llvm::any_of(
        Signature(forward).getReturn()->getOperands(), [&](Value output) {
          return skipReshapes(output) == skipReshapes(use->result);
        });
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
  if (!type.getElementType().isF32())
    return "it is not in fp32";
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

void EncodeBase::encode(BlockArgument argument, Matrix &found) {
  ModuleOp module = getOperation();
  Builder builder(&getContext());
  StateOp weight = found.weight;
  std::string name = weight.getSymName().str();
  RankedTensorType type = weight.getTensorType();
  auto encoding = *parseEncoding(base.kind, base.block, base.isDouble);
  std::string storage;
  StringRef bytes = stateBytes(weight, storage);
  quantization::Encoded encoded = quantization::encode(
      encoding, reinterpret_cast<const float *>(bytes.data()),
      type.getNumElements());
  ArrayRef<char> content[] = {
      {reinterpret_cast<const char *>(encoded.codes.data()),
       encoded.codes.size()},
      {reinterpret_cast<const char *>(encoded.scales.data()),
       encoded.scales.size()},
      {reinterpret_cast<const char *>(encoded.nested.data()),
       encoded.nested.size() * sizeof(float)}};
  constexpr StringRef suffixes[] = {"/codes", ".absmax", ".nested_absmax"};

  Signature signature(forward);
  SmallVector<Value> parts;
  SmallVector<Attribute> symbols;
  SmallVector<RankedTensorType> types =
      getPartTypes(&getContext(), encoding, type.getNumElements());
  int64_t stored = 0;
  for (auto [i, part] : llvm::enumerate(types)) {
    FlatSymbolRefAttr symbol =
        addState(module, name + suffixes[i].str(), Role::Frozen, part);
    findState(module, symbol)
        .setInitialAttr(makeAttribute(symbol.getValue(), part, content[i]));
    symbols.push_back(symbol);
    parts.push_back(signature.addState(symbol, part));
    stored += byteSize(part);
  }
  for (MatmulOp matmul : found.uses) {
    OpBuilder at(matmul);
    Value decoded = DecodedMatmulOp::create(
        at, matmul.getLoc(), matmul.getType(), matmul.getLhs(), parts[0],
        parts[1], parts.size() > 2 ? parts[2] : Value(),
        matmul.getTransposeRhs(), base.kind, base.block);
    matmul.replaceAllUsesWith(decoded);
    matmul.erase();
  }
  // What others have the value of has none of its own.
  weight.setInitialAttr(cast<ElementsAttr>(
      DenseElementsAttr::get(type, builder.getF32FloatAttr(0).getValue())));
  weight->setAttr(
      kEncodingAttr,
      builder.getDictionaryAttr(
          {builder.getNamedAttr("kind", builder.getStringAttr(base.kind)),
           builder.getNamedAttr("block", builder.getI64IntegerAttr(base.block)),
           builder.getNamedAttr("parts", builder.getArrayAttr(symbols))}));
  ++numEncoded;
  remark::passed(weight.getLoc(), remarkOptions(getArgument(), "EncodedWeight"))
      << remark::metric("weight", name) << remark::metric("kind", base.kind)
      << remark::metric("bytes", stored)
      << remark::metric("bytes_saved", byteSize(type) - stored);
}
